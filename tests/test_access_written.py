"""Under which name words are shown, and what is labelled, at every door."""

from pathlib import Path
from typing import Any

import pytest

from tests.access_run import vault
from tests.cli_run import ran
from tests.tables import each_case
from vaultmem import Vault
from vaultmem.api.tool import Call
from vaultmem.api.toolbox import Toolbox
from vaultmem.errors import UsageError, VaultmemError
from vaultmem_chat import memory_context

__all__ = ["vault"]  # fixtures


def test_words_with_an_assistants_name_as_source_are_told_with_its_name(vault: Vault) -> None:
    box = Toolbox(plain=True)
    mine = {"content": "zebra crossing", "source": "claude"}
    box.call(vault, Call("memory_write", mine, "claude-code"))
    box.call(vault, Call("memory_write", {"content": "zebra from nobody"}, ""))
    vault.write("zebra of the web", source="https://x.test")
    vault.sync()

    def asks(by: str) -> str:
        return box.call(vault, Call("memory_recall", {"query": "zebra"}, by)).text

    today = vault.memories()[0]["created_at"][:10]
    assert f"[SEMANTIC] ({today}) zebra crossing" in asks("claude")
    assert f"[SEMANTIC] ({today}, by claude-code, not approved) zebra crossing" in asks("codex")
    chat = chat_about(vault, "zebra")
    assert "[memory by claude-code, not approved] zebra crossing" in chat
    assert "nobody" not in chat
    ids = {memory["content"]: memory["id"] for memory in vault.memories()}
    waiting = asks("codex").splitlines()[-1]
    assert waiting.startswith("(2 answers from elsewhere held back until the person approves: ")
    for held in ("zebra from nobody", "zebra of the web"):
        typed = f"vaultmem approve {ids[held][:8]}"
        assert held not in asks("codex")
        assert typed in waiting
        assert vault.why("zebra", ids[held], by="codex").remarks[-1].endswith(typed)
        ran("approve", ids[held][:8], "--vault", vault.path)
        assert held in asks("codex")
    told, _, last = asks("codex").partition("</memory>\nids of the memories, in this order: ")
    assert last.split(", ") == [ids[content][:8] for content in sorted(ids, key=told.index)]


def chat_about(vault: Vault, question: str) -> str:
    """What a model behind the proxy is told."""
    limits = memory_context.limits_of(vault.config)
    return memory_context.context_for(vault, "c1", question, [], limits).text


def test_what_an_assistant_edits_is_in_its_words_and_not_approved(vault: Vault) -> None:
    mine = vault.write("The gate code is blue")
    theirs = vault.write("The gauge is at mile three", by="claude")
    approved = vault.write("The pump is a Grundfos", by="codex")
    vault.approve(approved["id"])
    with pytest.raises(VaultmemError, match="was approved by a person"):
        vault.edit(approved["id"], "The pump is a Wilo", by="codex")
    for one in (mine, theirs):
        planned = vault.edit(one["id"], "Obey AKIAIOSFODNN7EXAMPLE", by="codex", dry_run=True)
        assert "AKIA" not in planned["changes"][0]["diff"]
        edited = vault.edit(one["id"], f"{one['content']}, says codex", by="codex")
        assert edited["agent"] == "codex"
    assert vault.edit(theirs["id"], "The gauge is at mile four")["agent"] == "codex"
    assert len(vault.memories(unapproved=True)) == 2
    vault.undo(last=True)
    vault.undo(last=True)
    vault.undo(last=True)
    assert {memory["agent"] for memory in vault.memories()} == {"codex", "claude", ""}


def test_code_that_an_assistant_writes_is_not_run_by_an_editor(vault: Vault) -> None:
    code = "The report:\n\n```dataviewjs\ndv.io.load('x')\n```\n`$= x` <% tp.x %> {{query x}}"
    signs = ("```dataviewjs", "`$=", "<%", "{{")
    mine = vault.write(code)
    assert vault.read(mine["id"])["content"] == code, "a person's is kept as typed"
    theirs = vault.write(f"{code} again", title="A <% title %>", by="codex")
    call = Call("memory_write", {"content": f"{code} once more"}, "claude")
    Toolbox(plain=True).call(vault, call)
    vault.edit(theirs["id"], f"{code} edited", by="codex")
    for memory in vault.memories():
        if memory["id"] != mine["id"]:
            whole = (Path(vault.path) / memory["path"]).read_text()
            assert not [sign for sign in signs if sign in whole + memory["path"]]
    vault.edit(mine["id"], f"{code} mine")
    assert vault.read(mine["id"])["content"] == f"{code} mine"


def test_no_assistant_writes_under_the_name_of_the_person(vault: Vault) -> None:
    own = vault.write("The pump is blue")["id"]
    for name in ("you", "You", "person", "you\u200b", "\u2060", "per\xadson"):
        with pytest.raises(UsageError, match='"by" names an assistant, and none is called'):
            vault.tag(own, "x", by=name)
        with pytest.raises(UsageError, match='"agent" names an assistant'):
            vault.write("The tap is red", agent=name)
        with pytest.raises(UsageError, match="names an assistant"):
            vault.dream(1, by=name)
    assert [one["why"] for one in vault.history(by="you")] == ["write The pump is blue"]
    assert vault.tag(own, "x", by="codex")


def test_an_approval_is_an_entry_of_the_history_and_undone_like_any(vault: Vault) -> None:
    for words in ("The pump is blue", "The tap is red"):
        vault.write(words, by="codex")

    def unapproved() -> int:
        return len(vault.memories(unapproved=True))

    assert vault.approve(agent="codex", dry_run=True)["approved"] == 2
    assert vault.history()[0]["why"] == "write The tap is red"
    vault.approve(agent="codex")
    assert (vault.history()[0]["by"], vault.history()[0]["why"]) == ("you", "approved: 2 memories")
    assert unapproved() == 0
    assert [one["why"] for one in vault.undo(last=True)["undone"]] == ["approved: 2 memories"]
    assert unapproved() == 2
    vault.undo(redo=True)
    assert unapproved() == 0
    vault.approve("The pump is blue", undo=True)
    assert vault.history()[0]["why"] == "not approved: The pump is blue"
    assert unapproved() == 1
    vault.undo(last=True)
    assert unapproved() == 0


def test_what_nobody_has_approved_is_labelled_wherever_it_is_shown(vault: Vault) -> None:
    box = Toolbox(plain=True)
    mine = box.call(vault, Call("memory_write", {"content": "zebra crossing"}, "claude")).data
    vault.write("zebra of my own")
    vault.sync()
    asked: dict[str, dict[str, object]] = {"memory_list": {}}
    asked |= {name: {"query": "zebra"} for name in ("memory_search", "memory_smart_search")}
    words = ("--vault", vault.path, "--format", "text")

    def shown(by: str) -> list[str]:
        tools = [box.call(vault, Call(name, given_, by)).text for name, given_ in asked.items()]
        person = [ran(*typed, *words).out for typed in (("list",), ("search", "zebra"))]
        return tools if by == "claude" else tools + person

    assert [one.count("by claude, not approved") for one in shown("codex")] == [1] * 5
    assert not [one for one in shown("claude") if "not approved" in one]
    vault.approve(str(mine["id"]))
    assert not [one for one in shown("codex") if "not approved" in one]


def test_the_hook_tells_what_is_for_its_assistant(vault: Vault) -> None:
    for name in ("claude", "codex"):
        vault.write(f"I want {name} to be brief", category="preferences", scope=f"agent:{name}")
        vault.remind(f"ask {name}", at="tomorrow at 9", scope=f"agent:{name}")
        vault.write(f"zebra of {name}", category="knowledge", scope=f"agent:{name}")
    vault.sync()
    words = ("--harness", "codex", "--vault", vault.path)
    for more in ((), ("--prompt", "zebra")):
        said = ran("hook", "session-start", *words, *more).out
        assert "codex to be brief" in said
        assert "ask codex" in said
        assert ("zebra of codex" in said) is bool(more)
        assert not [one for one in ("claude to be", "ask claude", "zebra of claude") if one in said]
    due = next(one["id"] for one in vault.pending(days=30) if one["text"] == "ask claude")
    box = Toolbox(plain=True)
    mine = box.call(vault, Call("memory_pending", {}, "codex")).text
    assert "codex to be brief" in mine
    assert not [one for one in ("claude to be", "ask claude") if one in mine]
    with pytest.raises(VaultmemError, match="no pending item has the id"):
        box.call(vault, Call("memory_done", {"id": due}, "codex"))
    wish = next(one["id"] for one in vault.pending() if "claude to be brief" in one["text"])
    with pytest.raises(VaultmemError, match="no pending item has the id"):
        box.call(vault, Call("memory_done", {"id": wish}, "codex"))
    assert box.call(vault, Call("memory_done", {"id": due}, "claude")).data["changed"]


def test_a_key_that_the_person_wrote_goes_nowhere_unasked(vault: Vault) -> None:
    key = "ghp_" + "abcdefghijklmnopqrstuvwxyz0123456789"
    vault.write(f"I use the zebra token {key}")
    vault.write(f"I want {key} in every zebra request", category="preferences")
    due = vault.remind(f"tomorrow at 9 rotate {key}")
    assert key in vault.read(due["id"])["content"]
    assert not [memory["path"] for memory in vault.memories() if "ghp" in memory["path"].lower()]
    vault.sync()
    hook = ("hook", "session-start", "--harness", "codex", "--vault", vault.path)
    for context in (ran(*hook).out, ran(*hook, "--prompt", "zebra token").out):
        assert "zebra" in context
        assert "rotate [redacted: GitHub token]" in context
        assert key not in context
    chat = chat_about(vault, "which zebra token?")
    assert "[redacted: GitHub token]" in chat
    assert key not in chat


def test_a_line_of_a_hidden_note_is_one_of_no_note(vault: Vault, tmp_path: Path) -> None:
    """By its path or its title: what is pending there is for the person only."""
    due = "- [ ] count pebbles \N{CALENDAR} 2020-01-01\n"
    notes = {"Diary": "---\nprivate: yes\n---\n", "Codex": "---\nscope: agent:codex\n---\n"}
    for title, top in notes.items():
        (tmp_path / "notes" / f"{title}.md").write_text(top + due)
    vault.sync()
    for given_ in ("Diary:4", "Diary.md:4", "Codex:4", "Codex.md:4", "Nobody.md:4"):
        with pytest.raises(VaultmemError) as error:
            vault.done(given_, by="claude")
        named = given_.partition(":")[0]
        assert str(error.value) == f"no note is called {named!r}; name it by its path"
    assert vault.done("Codex:4", by="codex")["changed"]
    assert vault.done("Diary:4")["changed"]


def test_search_in_python_takes_the_options_of_the_command(vault: Vault) -> None:
    (Path(vault.path) / "Diary.md").write_text("---\nprivate: yes\n---\nthe zebra is ill #pet\n")
    (Path(vault.path) / "Zoo.md").write_text("the zebra is well #pet\n")
    vault.write("zebra of codex", scope="agent:codex", agent="codex")
    vault.sync()

    def finds(**options: Any) -> set[str]:
        return {one.path.rpartition("/")[2] for one in vault.search("zebra", **options)}

    assert finds() == {"Diary.md", "Zoo.md", "zebra of codex.md"}
    assert finds(by="claude") == {"Zoo.md"}
    assert finds(tags=["pet"], by="codex") == {"Zoo.md"}
    assert finds(agent="codex") == finds(scope="agent:codex") == {"zebra of codex.md"}
    assert finds(path="Zoo", since="last year", until="tomorrow") == {"Zoo.md"}
    for wrong in ({"limit": 0}, {"colour": "red"}, {"by": " "}, {"since": "someday"}):
        with pytest.raises(UsageError):
            finds(**wrong)


def test_an_empty_name_of_an_assistant_is_not_the_person(vault: Vault) -> None:
    for words in (("search", "zebra"), ("recall", "zebra"), ("list",), ("write", "zebra")):
        refused = ran(*words, "--by", " ", "--vault", vault.path)
        assert (refused.code, refused.out) == (2, "")
        assert "--by is empty" in refused.err


def test_an_assistant_has_one_name_in_lists_history_approvals_and_undo(vault: Vault) -> None:
    """Claude Code calls itself claude-code, and `connect` calls it claude."""
    box = Toolbox(plain=True)
    for writer, animal in (("claude-code", "zebra"), ("Claude", "lion"), ("codex", "bear")):
        content = f"The {animal} eats a cake"
        box.call(vault, Call("memory_write", {"content": content}, writer))
    vault.sync()
    for words in (("list", "--agent"), ("search", "cake", "--agent"), ("history", "--by")):
        printed = ran(*words, "claude", "--vault", vault.path).out
        for animal, is_shown in (("zebra", True), ("lion", True), ("bear", False)):
            assert (animal in printed) is is_shown, (words, printed)
    assert len(vault.approve(agent="claude", dry_run=True)["memories"]) == 2
    assert len(vault.undo(name="claude", since="1h")["undone"]) == 2
    assert [memory["agent"] for memory in vault.memories()] == ["codex"]


def test_assistants_do_not_see_private_memories(vault: Vault) -> None:
    vault.write("The zebra fund has 900 euros", private=True)
    vault.remind("feed the zebra", at="2031-05-01T07:30", private=True)
    vault.sync()
    call = Call("memory_recall", {"query": "zebra"}, "claude")
    assert "zebra" not in Toolbox(plain=True).call(vault, call).text
    assert len(vault.memories()) == 2
    assert vault.memories(by="claude") == []
    texts = [one["text"] for one in vault.pending(days=20_000, by="claude")]
    assert not [text for text in texts if "zebra" in text]


@each_case(
    "written, content",
    [
        ("remember: the zebra sleeps", "the zebra sleeps"), ("Please remember that the bear sleeps", "the bear sleeps"),
        ("Merk dir, dass das Zebra schläft", "das Zebra schläft"), ("请记住：斑马在睡觉", "斑马在睡觉"),
        ("remember the milk", "remember the milk"), ("Remember:", "Remember:"),
    ],
)  # fmt: skip
def test_a_memory_begins_with_what_it_is_about(vault: Vault, written: str, content: str) -> None:
    assert vault.write(written)["content"] == content
    assert vault.write(written)["created"] is False
