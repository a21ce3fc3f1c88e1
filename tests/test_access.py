"""Who sees what: one rule, as a table, checked at every door; its marks are read from a note as its parser reads them."""

import json
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.access_run import vault
from tests.cli_run import ran
from tests.mcp_run import line
from vaultmem import Vault
from vaultmem.api.mcp import Protocol, Settled
from vaultmem.api.tool import Call
from vaultmem.api.toolbox import Toolbox, ToolService
from vaultmem.errors import NoteNotFoundError, VaultmemError
from vaultmem.memories import access
from vaultmem.memories.access import ALL, CONNECTED, OWN, viewer
from vaultmem.notes import pages
from vaultmem.search.query import Ask
from vaultmem.settings import SETTINGS
from vaultmem_assistants.anthropic_memory import MemoryFiles
from vaultmem_assistants.programs import HARNESSES

__all__ = ["vault"]  # fixtures

SCOPES = ("global", "agent:claude", "agent:codex", "conversation:c1", "user:anne", "private")


# Who asks, the scope that they name (if any), and what they see of SCOPES.
READERS: dict[tuple[str, str], set[str]] = {
    ("", ""): {*SCOPES},
    ("claude", ""): {"global", "agent:claude"},
    ("claude-code", ""): {"global", "agent:claude"},
    ("codex", ""): {"global", "agent:codex"},
    ("codex", "agent:claude"): {"global", "agent:codex"},
    ("codex", "user:anne"): {"global", "agent:codex", "user:anne"},
    ("codex", "conversation:c1"): {"global", "agent:codex", "conversation:c1"},
    ("assistant", ""): {"global"},
    ("claudette", ""): {"global"},
    ("conversation:c1", ""): {"global", "conversation:c1"},
    ("conversation:C1", ""): {"global"},
    ("user:anne", ""): {"global", "user:anne"},
}


@pytest.mark.parametrize("reader", READERS)
def test_the_table(reader: tuple[str, str]) -> None:
    who = viewer(reader[0], [reader[1]])
    marks = {one: {"private": True} if one == "private" else {"scope": one} for one in SCOPES}
    seen = {one for one in SCOPES if not access.hidden(marks[one], who, memory=True)}
    assert seen == READERS[reader]


def test_a_word_that_is_no_scope_limits_memories_alone() -> None:
    odd = {"Scope": "work"}
    assert access.hidden(odd, viewer("claude"), memory=True) == access.OTHER_SCOPE
    assert access.hidden(odd, viewer("claude"), memory=False) == ""
    assert access.hidden({"Scope": "agent:codex"}, viewer("claude"), memory=False)


@given(st.text(max_size=20), st.sampled_from(SCOPES), st.booleans())
def test_the_person_sees_all_and_nobody_private_notes(name: str, scope: str, private: bool) -> None:
    assert access.reason(scope, access.PERSON, private=private) == ""
    if name:
        assert access.reason(scope, viewer(name), private=True) == access.PRIVATE
        assert not access.reason("global", viewer(name), private=False)


def test_every_program_that_is_connected_is_a_known_assistant() -> None:
    assert HARNESSES.keys() <= {*access.KNOWN_ASSISTANTS}, "its memories would come from elsewhere"
    assert SETTINGS["recall.trust"].default == CONNECTED
    others = {"codex-mcp-client": "codex", "gemini-cli-mcp-client": "gemini", "github-copilot": "copilot", "Me": "me"}  # fmt: skip
    titles = {harness.title: name for name, harness in HARNESSES.items()}
    for title, name in {**titles, **others}.items():
        assert access.canonical_name(title) == name


WEB, MINE = {"source": "https://x.test"}, {"agent": "claude", "source": "claude"}
TRUSTED = [
    # properties, who asks, and the settings under which it is shown
    ({}, "codex", {CONNECTED, OWN, ALL}),
    (MINE, "claude", {CONNECTED, OWN, ALL}),
    ({"source": "claude"}, "claude", {CONNECTED, OWN, ALL}),
    ({"source": "Claude Code"}, "", {CONNECTED, OWN, ALL}),
    ({"source": "claude"}, "codex", {CONNECTED, ALL}),
    ({"source": "claude", "source_path": "CLAUDE.md"}, "codex", {ALL}),  # ingested
    ({"agent": "my-bot", "source": "my-bot"}, "codex", {CONNECTED, ALL}),
    ({"agent": "claude", **WEB}, "claude", {CONNECTED, OWN, ALL}),
    ({"agent": "claude", **WEB}, "codex", {ALL}),
    ({"agent": "claude", "url": "https://x.test"}, "codex", {ALL}),
    ({"agent": "assistant"}, "codex", {ALL}),
    ({"agent": "assistant"}, "", {CONNECTED, OWN, ALL}),
    ({"agent": "conversation:c1"}, "codex", {ALL}),
    (WEB, "", {ALL}),
    (WEB, "codex", {ALL}),
    ({"source": "meeting"}, "codex", {ALL}),
    ({"source": "dream"}, "codex", {CONNECTED, OWN, ALL}),
]


@pytest.mark.parametrize(("properties", "by", "under"), TRUSTED)
def test_trust_decides_whose_unapproved_memories_are_recalled(
    properties: dict[str, object], by: str, under: set[str]
) -> None:
    one = access.origin(properties)
    assert {trust for trust in access.TRUST if access.is_trusted(one, viewer(by), trust)} == under


def content_of(scope: str) -> str:
    return f"zebra {scope.replace(':', ' ')} pasture"


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VAULTMEM_STATE", str(tmp_path_factory.mktemp("state")))
        patch.setenv("VAULTMEM_EMBEDDING_MODEL", "off")
        folder = tmp_path_factory.mktemp("doors") / "vault"
        (folder / ".obsidian").mkdir(parents=True)
        with Vault(str(folder)) as vault:
            for scope in SCOPES:
                where = None if scope == "private" else scope
                title = scope.replace(":", " ")
                found = vault.write(
                    content_of(scope), scope=where, title=title, category="knowledge"
                )  # type: ignore[arg-type]
                if scope == "private":
                    path = folder / found["path"]
                    path.write_text(path.read_text().replace("---\n", "---\nprivate: yes\n", 1))
            vault.sync()
        yield folder


def told(text: str) -> set[str]:
    return {scope for scope in SCOPES if content_of(scope) in text}


Door_ = Callable[[Vault, str, str], str]


def tool(name: str, **given_: object) -> Door_:
    def ask(vault: Vault, by: str, scope: str) -> str:
        named = {"scope": scope} if scope and name != "memory_related" else {}
        outcome = Toolbox(plain=True).call(vault, Call(name, {**given_, **named}, by))
        return outcome.text + json.dumps(outcome.data)

    return ask


def read_each(vault: Vault, by: str, scope: str) -> str:
    said, refused = "", []
    for each in SCOPES:
        title = each.replace(":", " ")
        try:
            said += tool("memory_read", id=title)(vault, by, scope)
        except VaultmemError as error:
            refused.append(str(error).replace(repr(title), ""))
    unseen = {each.replace(":", " ") for each in {*SCOPES} - told(said)}
    assert not [one for one in refused for title in unseen if title in one]
    return said


def search(vault: Vault, by: str, scope: str) -> str:
    found = vault.answer(Ask("zebra", 50, viewer=viewer(by, [scope]), talks=True)).results
    return "\n".join(one.content for one in found)


def listed(vault: Vault, by: str, _: str) -> str:
    return "\n".join(one["content"] for one in vault.ask("list", by=by or None)["memories"])


def recalled(vault: Vault, by: str, scope: str) -> str:
    found = vault.recall(
        "zebra", by=by or None, scope=[scope] if scope else None, top_k=50, without=["meaning"]
    )
    return "\n".join(one["content"] for one in found["memories"])


def spoken(vault: Vault, by: str, scope: str) -> str:
    """MCP: the asker is what the client called itself in `initialize`."""
    protocol = Protocol(ToolService(Toolbox(plain=True), lambda: nullcontext(vault)))
    client = {"name": by, "version": "1"}
    hello = line("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
    _, settled = protocol.answer(hello, Settled())
    arguments = {"query": "zebra", "top_k": 50, **({"scope": scope} if scope else {})}
    said, _ = protocol.answer(
        line("tools/call", name="memory_recall", arguments=arguments), settled
    )
    return str(json.loads(said[0])["result"]["content"][0]["text"])


def command(*words: str) -> Door_:
    def ask(vault: Vault, by: str, scope: str) -> str:
        named = ("--scope", scope) if scope and words[0] == "recall" else ()
        return ran(*words, *named, "--by", by, "--vault", vault.path, "--format", "json").out

    return ask


def stdin(vault: Vault, by: str, scope: str) -> str:
    params = {"query": "zebra", "top_k": 50, **({"scope": scope} if scope else {})}
    words = ("agent", "--client", by, "--vault", vault.path, "--format", "json")
    return ran(*words, stdin=json.dumps({"name": "memory_recall", "params": params}).encode()).out


def files(vault: Vault, by: str, _: str) -> str:
    found = MemoryFiles(vault, by=by).view("/memories/knowledge")
    shown = (scope for scope in SCOPES if f"/{scope.replace(':', ' ')}.md" in found)
    return "\n".join(map(content_of, shown))


NAMES_A_SCOPE = {"search": search, "recall": recalled, "read": read_each, "mcp": spoken, "stdin": stdin,
                 "vaultmem recall": command("recall", "zebra", "--top-k", "50")}  # fmt: skip
DOORS: dict[str, Door_] = {
    **NAMES_A_SCOPE, "list": listed, "memory_list": tool("memory_list", limit=100),
    "memory_search": tool("memory_search", query="zebra", limit=50),
    "memory_smart_search": tool("memory_smart_search", query="zebra", limit=50),
    "memory_recall": tool("memory_recall", query="zebra", top_k=50),
    "vaultmem list": command("list"), "vaultmem search": command("search", "zebra"), "memory tool": files,
}  # fmt: skip

TOOLS = ("mcp", "stdin", "read")  # its clients are assistants, whatever they call themselves
FILTERS = ("memory_list", "memory_search", "memory_smart_search")  # its scope also narrows


@pytest.mark.parametrize("door", DOORS)
def test_every_door_asks_the_one_rule(filled: Path, door: str) -> None:
    with Vault(str(filled)) as vault:
        for (by, scope), expected in READERS.items():
            if not by or (scope and door not in (*NAMES_A_SCOPE, *FILTERS)):
                continue
            if ":" in by and (door in TOOLS or door.startswith("memory_")):
                continue
            wanted = expected & {scope} if scope and door in FILTERS else expected
            assert told(DOORS[door](vault, by, scope)) == wanted, (by, scope)


def test_the_person_sees_memories_of_every_scope(filled: Path) -> None:
    with Vault(str(filled)) as vault:
        assert told(search(vault, "", "")) == {*SCOPES}
        assert told(listed(vault, "", "")) == {*SCOPES}
        assert {vault.read(scope.replace(":", " "))["content"] for scope in SCOPES} == {
            content_of(scope) for scope in SCOPES
        }
        assert told(recalled(vault, "", "")) == {"global"}, "a recall is put before an assistant"
        assert told(recalled(vault, "", "agent:claude")) == {"global", "agent:claude"}


def test_why_says_what_is_hidden_and_for_what_reason(filled: Path) -> None:
    remarks = {"agent claude": "it is of another scope", "private": "it is private"}
    with Vault(str(filled)) as vault:
        assert vault.why("zebra", "agent claude", by="claude").rank is not None
        for name, reason in remarks.items():
            hidden = vault.why("zebra", name, by="codex")
            assert (hidden.rank, hidden.remarks) == (None, [f"hidden from codex: {reason}"])
            assert vault.why("zebra", name).rank is not None
    by = ("--by", "codex", "--vault", str(filled), "--format", "text")
    assert "hidden from codex: it is of another scope" in ran("why", "zebra", "user anne", *by).out
    explained = ran("recall", "zebra", "--explain", *by)
    assert "memories and notes of scope global, agent:codex" in explained.err


@pytest.mark.parametrize(
    ("mark", "why"), [("private: true", access.PRIVATE), ("scope: agent:claude", access.OTHER_SCOPE)]
)  # fmt: skip
def test_what_a_person_hides_is_hidden_at_once(vault: Vault, mark: str, why: str) -> None:
    opened, folder = vault, Path(vault.path)
    memory = opened.write("zebra pasture", category="knowledge")["path"]
    (folder / "Zoo.md").write_text("zebra in the zoo\n")
    opened.sync()
    doors = [search, recalled, tool("memory_search", query="zebra", limit=50)]
    assert all(word in door(opened, "codex", "") for door in doors for word in ("pasture", "zoo"))
    note = (folder / memory).read_text()
    (folder / memory).write_text(note.replace("---\n", f"---\n{mark}\n", 1))
    (folder / "Zoo.md").write_text(f"---\n{mark}\n---\nzebra in the zoo\n")
    for door in doors:
        assert not any(word in door(opened, "codex", "") for word in ("pasture", "zoo"))
    for name in ("Zoo", "Zo", "zoo in"):
        for door in (tool("memory_read", id=name), tool("memory_related", id=name)):
            with pytest.raises(NoteNotFoundError, match=r"is called '[^']*'\Z"):
                door(opened, "codex", "")
    for name in (memory, "Zoo"):
        told_why = opened.why("zebra", name, by="codex")
        assert told_why.remarks == [f"hidden from codex: it is {why}"]
        assert not told_why.fields
        assert opened.why("zebra", name).fields
    assert bool(search(opened, "claude", "")) is (why == access.OTHER_SCOPE)


def test_a_word_that_only_hidden_notes_have_corrects_no_spelling_of_others(vault: Vault) -> None:
    folder = Path(vault.path)
    (folder / "Zoo.md").write_text("---\nprivate: true\n---\nThe pangolin is ill.\n")
    (folder / "Trip.md").write_text("The wombat is well.\n")
    vault.sync()
    for door in (tool("memory_recall", query="pangolyn"), tool("memory_search", query="pangolyn")):
        assert "pangolin" not in door(vault, "codex", "")
    assert vault.answer(Ask("pangolyn")).remarks == ['no note has "pangolyn"; searched pangolin']
    for name in ("memory_recall", "memory_search"):
        assert "wombat is" in tool(name, query="wombet", notes=True)(vault, "codex", "")


def test_a_task_is_hidden_before_the_index_knows(vault: Vault) -> None:
    note, task = Path(vault.path, "Zoo.md"), "- [ ] feed the okapi 📅 2026-01-01\n"
    note.write_text(task)
    vault.sync()
    words = ("pending", "--all", "--by", "codex", "--vault", vault.path)
    assert "okapi" in ran(*words).out
    (item,) = vault.ask("pending", by="codex")["items"]
    for mark in ("private: true", r'"priv\u0061te": true'):
        for encoding in ("utf-8", "utf-16"):
            note.write_text(f"---\n{mark}\n---\n{task}", encoding=encoding)
            assert "okapi" not in ran(*words).out
            assert vault.ask("pending", by="codex")["items"] == []
            with pytest.raises(NoteNotFoundError, match="no pending item"):
                tool("memory_done", id=item["id"])(vault, "codex", "")


def test_the_words_of_an_answered_item_are_told_to_no_other_assistant(vault: Vault) -> None:
    vault.ask("remind", content="feed the okapi", at="in 2 days", scope="agent:claude")
    (item,) = vault.ask("pending")["items"]
    vault.ask("answer", id=item["id"], state="done")
    with pytest.raises(VaultmemError) as refused:
        tool("memory_done", id=item["id"])(vault, "codex", "")
    assert item["id"] in str(refused.value)
    assert "okapi" not in str(refused.value)


KEY = st.sampled_from(["scope", "Scope", "'private'", "private ", "vaultmem", "? scope\n", "a", r'"sc\u006fpe"', '"priv\\\nate"', "? private # c\n", "a: &k private\n*k "])  # fmt: skip
SIGN = st.sampled_from([": ", ":: ", ":\n  ", "=", ": >-\n  ", ": !!str "])
VALUE = st.sampled_from(
    [
        "agent:claude",
        "global",
        "user:x",
        "'no'",
        "no way",
        "true",
        "id scope=user:x v=1",
        "{b: 1}",
        "",
        "|",
    ]
)
LINES = st.lists(st.tuples(st.sampled_from(["", "  ", "{", "- "]), KEY, SIGN, VALUE, st.sampled_from(["", "}", " # c"])).map("".join), max_size=3)  # fmt: skip
OPENING, END = (
    st.sampled_from(["", "---\n", "--- \n", "\ufeff---\n"]),
    st.sampled_from(["", "\n---\n", "\n--- \n"]),
)


@example("---\n", "vaultmem: abc scope=agent:claude version=1", "\n---\n", False)
@example("---\n", "? private\n: true", "\n---\n", False)
@example("--- \n", "'scope ' : agent:claude", "\n---\n", False)
@example("---\n", "scope: agent:claude\nscope: global", "\n---\n", False)
@example("---\n", "scope: global\nscope: agent:claude", "\n---\n", False)
@example("", "a:: 1\n\nscope:: agent:claude", "", False)
@example("---\n", "a:\n  private: true", "\n---\n", False)
@example("---\n", r'"sc\u006fpe": agent:claude', "\n---\n", False)
@example("\ufeff---\r\n", r'"priv\x61te": true', "\r\n---\r\n", False)
@example("---\n", "? private # c\n: true", "\n---\n", False)
@example("---\n", "a: &k private\n*k : true", "\n---\n", False)
@given(OPENING, LINES.map("\n".join), END, st.booleans())
def test_marks_are_read_as_by_its_parser(opening: str, lines: str, end: str, memory: bool) -> None:
    text, cursor = f"{opening}{lines}{end}body\n", access.viewer("cursor")
    readings = [
        pages.read(style, text.removeprefix("\ufeff")).properties for style in ("", "outline")
    ]
    parsed = any(access.hidden(one, cursor, memory=memory) for one in readings)
    assert bool(access.hidden_now(text, cursor, memory=memory)) == parsed


def test_the_marks_of_a_memory_need_no_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "read", pytest.fail)
    text = "---\nid: x\nscope: agent:claude\nprivate: true\n---\nThe scope is wide, private too.\n"
    assert access.marks(text) == {"scope": "agent:claude", "private": "true"}
