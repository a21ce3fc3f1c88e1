"""Conversations on real folders: where they are stored; entries are written once, removed without loss, only their owner's,
whatever people do by hand."""

import asyncio
import itertools
import re
import string
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conversed import fact, final, ids, notes, said
from tests.laws import examples
from tests.tables import each_case
from vaultmem import MemoryClient, Vault
from vaultmem.errors import NoteNotFoundError, UsageError, VaultmemError
from vaultmem.memories.access import SCOPE
from vaultmem.memories.conversation import (
    entry_of,
    folder_of,
    in_folder,
    is_away,
    put_away,
    scope_of,
)
from vaultmem.notes import pages
from vaultmem.settings import SETTINGS
from vaultmem.text.titles import conversation_problem
from vaultmem_chat.proxy.chats import Chats

HOSTILE = (
    "../../x", "a/b", "a\\b", "..", ".", "-", "CON", "con.txt", "nul", "com1", "LPT9.md", "Chat", "chat", "CHAT", "a.", "a ", ".hidden",
    "日記", "🎉🎉", "👨‍👩‍👧", "x" * 64, "x" * 180, "a:b", "a*?b", "[[x]]", "a|b", "# x", "1.0", "true", "null", "2026-11-22", "é",
    "e\u0301", "a-12345678", "entries", "deleted", "con-1a2b3c4d",
)  # fmt: skip
SAFE = set(string.ascii_lowercase + string.digits + "._-")
TEXT = st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=60)


@pytest.mark.parametrize("conversation", HOSTILE)
def test_every_file_system_takes_the_folder_of_any_id(conversation: str) -> None:
    name = folder_of(conversation)
    assert name
    assert set(name) <= SAFE
    assert name[0] not in ".-"
    assert name[-1] not in ". "
    assert len(name) <= 64
    assert not re.fullmatch(r"con|prn|aux|nul|com\d|lpt\d", name.partition(".")[0])


@given(TEXT, TEXT)
def test_each_id_has_its_own_folder_without_regard_to_case(one: str, other: str) -> None:
    if one != other:
        assert folder_of(one).lower() != folder_of(other).lower()


@given(TEXT)
def test_an_id_without_a_problem_makes_a_scope_and_comes_back_from_its_folder(given: str) -> None:
    if conversation_problem(given):
        return
    assert SCOPE.fullmatch(scope_of(given))
    assert in_folder(folder_of(given), given) == given


@pytest.mark.parametrize("given", ["x" * 181, "a\nb", ":a", "a\u200bb", "a\u202eb", "\ud800"])
def test_invalid_conversation_ids_are_refused_everywhere(given: str, vault: Path) -> None:
    assert conversation_problem(given)
    check = SETTINGS["conversations.id"].check
    assert check is not None
    with pytest.raises(ValueError, match="one line"):
        check(given)
    with MemoryClient(str(vault), model="m") as client, pytest.raises(UsageError, match="the id"):
        client.search("x", conversation=given)
    body = b'{"model": "m", "messages": [{"role": "user", "content": "hello"}]}'
    parts: Any = SimpleNamespace(conversation="default", holder="")
    for named, wanted in ((given, None), ("👨‍👩‍👧", "👨‍👩‍👧"), ("", "default")):
        header = named.encode("utf-8", "surrogatepass")
        asked = asyncio.run(Chats(parts).read([(b"x-conversation-id", header)], body))
        expected = "���" if named == "\ud800" else wanted
        if expected is None:
            assert isinstance(asked, str)
            assert asked.startswith("none: the conversation id ")
        else:
            assert not isinstance(asked, str)
            assert asked[0] == expected, "no character in a header is a mark for one"


def test_an_entry_belongs_to_a_conversation_that_fits_its_folder() -> None:
    own = folder_of("My Chat")
    assert in_folder(own, "My Chat") == "My Chat"
    assert in_folder(own, "Other") == ""
    assert in_folder("default", "Other") == "default", "a renamed folder, or one made by hand"
    assert in_folder("default", None) == "default"
    assert in_folder("Default", None) == ""


def test_what_is_put_away_stays_there_and_other_notes_are_no_entries() -> None:
    away = "entries/c/deleted/facts/x.md"
    assert put_away(away) == away
    assert is_away(away)
    assert not is_away("entries/c/facts/deleted/x.md")
    assert not is_away("archive/x.md")
    assert put_away("people/Anne.md") == ""
    assert put_away("entries/stray.md") == ""
    assert entry_of("entries/stray.md", {"role": "user"}) == ("", "")


KEY = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"


def test_entries_are_notes_in_the_folders_of_the_seeds(vault: Path, opened: Vault) -> None:
    at = {"created_at": "2026-11-22T10:00:00.250Z"}
    done = opened.converse(
        "work",
        new=[said("u1", "I live in Lisbon", **at), said("a1", "Nice", "assistant", of=["u1"], **at),
             {**fact("f1", "User lives in Lisbon"), "of": ["u1"], **at}, final("They spoke of Lisbon", **at),
             {**final("A part"), "name": "L1/chunk_0"}],
        by="conversation:work",
    )  # fmt: skip
    assert (done["skipped"], done["known"], done["redacted"]) == ([], [], [])
    assert done["written"][:3] == ["u1", "a1", "f1"]
    inner, day = "vaultmem/entries/work/.records", "2026-11-22T10-00-00Z"
    found = notes(vault)
    assert [*found] == [
        f"{inner}/{path}.md"
        for path in (
            f"facts/{day}__f1", "summaries/L1/chunk_0", "summaries/L3/final", f"turns/assistant/{day}__a1", f"turns/user/{day}__u1",
        )
    ]  # fmt: skip
    page = pages.read("frontmatter", found[f"{inner}/facts/{day}__f1.md"])
    wanted = {
        "id": "f1", "role": "memory", "phase": "inbox", "category": "inbox", "scope": "conversation:work",
        "conversation_id": "work", "created_at": at["created_at"], "links": [f"[[{day}__u1]]"],
    }  # fmt: skip
    assert wanted.items() <= page.properties.items()
    assert "agent" not in page.properties
    assert page.content == "User lives in Lisbon\n"
    assert ids(opened, "work")[:2] == ["u1", "a1"], "the user speaks first"
    assert opened.memories() == []


def test_a_new_summary_leaves_the_old_one_in_the_history(vault: Path, opened: Vault) -> None:
    opened.converse("c", new=[final("the old words", properties={"input_tokens": 5})])
    done = opened.converse("c", new=[final("the new words", properties={"input_tokens": 9})])
    assert len(done["written"]) == 1
    [one] = opened.entries("c", ["summaries"])
    assert (one["content"], one["id"]) == ("the new words", done["written"][0])
    assert one["properties"]["input_tokens"] == 9
    assert one["updated_at"] > one["created_at"]
    assert [*notes(vault)] == ["vaultmem/entries/c/.records/summaries/L3/final.md"]
    opened.undo(last=True)
    assert opened.entries("c")[0]["content"] == "the old words"


def test_putting_away_moves_a_file_and_says_why_and_who(vault: Path, opened: Vault) -> None:
    opened.converse("d", new=[said("d1")])
    both = opened.converse("d", retire=[{"id": "d1"}], mark=[{"id": "d1", "properties": {"compressed": True}}])  # fmt: skip
    assert (both["retired"], both["marked"], both["skipped"]) == (["d1"], [], [])
    assert opened.entries("d", deleted=True)[0]["properties"]["compressed"] is True
    opened.converse("c", new=[said("u1"), fact("f1", "old")])
    done = opened.converse(
        "c", new=[fact("f2", "new")], retire=[{"id": "f1", "replaced_by": "f2"}], mark=[{"id": "u1", "properties": {"compressed": True}}],
        why="learned",
    )  # fmt: skip
    assert (done["written"], done["retired"], done["marked"]) == (["f2"], ["f1"], ["u1"])
    [gone] = [one for one in opened.entries("c", deleted=True) if one["deleted"]]
    assert gone["path"].startswith("vaultmem/entries/c/.records/deleted/facts/")
    assert gone["properties"]["replaced_by"] == "f2"
    assert gone["properties"]["by"] == "you"
    assert gone["properties"]["deleted_at"]
    assert opened.entries("c", ["turns"])[0]["properties"]["compressed"] is True
    entry = opened.history()[0]
    assert (entry["why"], len(entry["files"])) == ("learned", 3)
    assert opened.undo(last=True)["refused"] == []
    left = {one["id"]: one for one in opened.entries("c", deleted=True)}
    assert not left["f1"]["deleted"]
    assert left["f2"]["deleted"], "what is undone is put away where the conversation keeps such"
    assert "replaced_by" not in left["f1"]["properties"]
    assert "compressed" not in left["u1"]["properties"]
    assert not list((vault / "vaultmem").glob("archive/*"))


def test_a_turn_is_one_entry_of_the_history_and_undone_as_one(opened: Vault) -> None:
    opened.converse("c", new=[said("u1"), said("a1", "hi", "assistant")], by="conversation:c")
    [one] = opened.history(conversations=True)
    assert one["why"] == "turn of conversation c"
    assert (one["by"], one["kind"]) == ("conversation:c", "assistant")
    opened.undo(one["commit"])
    assert opened.entries("c") == []
    assert sorted(ids(opened, "c", deleted=True)) == ["a1", "u1"]
    again = opened.converse("c", new=[said("u1")])
    assert again["known"] == ["u1"], "and does not come back by itself"


def test_a_conversation_touches_no_entry_but_its_own(vault: Path, opened: Vault) -> None:
    memory = opened.write("Anne likes tea")
    opened.converse("one", new=[said("u1")])
    before = notes(vault)
    for wish in (
        {"retire": [{"id": "u1"}]},
        {"mark": [{"id": "u1", "properties": {"x": 1}}]},
        {"retire": [{"id": memory["id"]}]},
        {"mark": [{"id": memory["id"], "properties": {"x": 1}}]},
        {"new": [said("u2")], "retire": [{"id": "nobody"}]},
    ):
        with pytest.raises(NoteNotFoundError, match="not an entry of the conversation"):
            opened.converse("two", **wish)
    assert notes(vault) == before
    assert opened.converse("two", new=[said(memory["id"])])["known"] == [memory["id"]]


@each_case(
    "wish, says",
    [
        ({"new": [{"role": "robot", "content": "x"}]}, "unknown role"),
        ({"new": [{"content": "x"}]}, '"role" is missing'),
        ({"new": [{"role": "user"}]}, '"content" must be text'),
        ({"new": [said("../../x")]}, "is not a valid id"),
        ({"new": [said("x" * 300)]}, "short text"),
        ({"new": [said("x", colour="red")]}, "unknown"),
        ({"new": [final("x") | {"name": "../../x"}]}, "summary"),
        ({"new": [said("x", properties={"Conversation-Id": "y"})]}, "is not a property"),
        ({"new": [said("x", properties={"a\nb": 1})]}, "is not a property"),
        ({"new": [said("x", properties=[1])]}, "not an object"),
        ({"new": [said("x", of="u1")]}, "list of ids"),
        ({"new": ["x"]}, "must be an object"),
        ({"retire": [{"id": "x", "replaced_by": "../y"}]}, "is not an entry"),
        ({"by": "a\nb"}, "one line"),
    ],
)
def test_nonsense_is_refused_in_one_line(vault: Path, opened: Vault, wish: Any, says: str) -> None:
    with pytest.raises(VaultmemError, match=says) as caught:
        opened.converse("c", **wish)
    assert "\n" not in str(caught.value)
    assert notes(vault) == {}


@each_case("conversation", ["", "x" * 10_000, "a\nb", "\ud800", ":x"])
def test_an_id_that_can_be_none_is_refused_everywhere(opened: Vault, conversation: str) -> None:
    for ask in (lambda: opened.converse(conversation, new=[said("x")]), lambda: opened.entries(conversation)):  # fmt: skip
        with pytest.raises(UsageError) as caught:
            ask()
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 200


@pytest.fixture(scope="module", params=["obsidian", "logseq"])
def shared(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Vault]]:
    """A vault of each dialect, whose tests have conversations of their own."""
    folder = tmp_path_factory.mktemp("said")
    (folder / (".obsidian" if request.param == "obsidian" else "logseq")).mkdir()
    with Vault(str(folder)) as opened:
        yield request.param, opened


NUMBERS = itertools.count()


@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.text(st.characters(codec="utf-8"), max_size=80))
def test_what_was_said_is_read_as_it_was_said(shared: tuple[str, Vault], content: str) -> None:
    (dialect, opened), own = shared, f"c{next(NUMBERS)}"
    done = opened.converse(own, new=[said(own, content)])
    found = opened.entries(own)
    if not found:
        assert done["skipped"] == [[own, "it is empty"]]
        return
    text = content.replace("\r\n", "\n").replace("\r", "\n")
    kept = re.sub("[\x00-\x08\x0b-\x1f\x7f]", "\ufffd", text)
    if dialect == "obsidian":
        assert found[0]["content"].split() == kept.split()
    assert done["skipped"] == []


@each_case(
    "content",
    ["---\nid: evil\n---\nbody", "a\x00b\x1b[31m", "\ud800 half", "key:: value\nid:: evil", "- [ ] task 📅 2026-12-01", "\ufeffx", "```\ncode\n", "[[link]] #tag"],
)  # fmt: skip
def test_no_words_can_become_properties(shared: tuple[str, Vault], content: str) -> None:
    opened, own = shared[1], f"c{next(NUMBERS)}"
    assert opened.converse(own, new=[said(own, content)])["written"] == [own]
    [one] = opened.entries(own)
    assert (one["id"], one["role"], one["conversation_id"]) == (own, "user", own)
    assert one["properties"].keys() <= {"id", "phase", "category", "scope", "decay_policy", "conversation_id", "role", "created_at", "updated_at", "title"}  # fmt: skip


def test_secrets_are_cut_out_books_cut_empty_words_skipped(vault: Path, opened: Vault) -> None:
    done = opened.converse("c", new=[said("u1", f"my key is {KEY}"), said("u2", " \n "), said("u3", "")])  # fmt: skip
    assert done["redacted"] == ["OpenAI key"]
    assert [one[0] for one in done["skipped"]] == ["u2", "u3"]
    assert KEY not in "".join(notes(vault).values())
    opened.converse("book", new=[said("b1", "日本" * 200_000)])
    [one] = opened.entries("book")
    assert one["content"].endswith("more characters were said]")
    assert 150_000 < len(one["content"].encode()) < 170_000


def test_a_dry_run_shows_and_writes_nothing(vault: Path, opened: Vault) -> None:
    opened.converse("c", new=[fact("f1", "old")])
    before = notes(vault)
    shown = opened.converse("c", new=[fact("f2", "new")], retire=[{"id": "f1"}], dry_run=True)
    assert (shown["dry_run"], shown["written"], shown["retired"]) == (True, ["f2"], ["f1"])
    assert len(shown["changes"]) == 2
    assert "+new" in shown["changes"][0]["diff"]
    assert notes(vault) == before


def test_kinds_limits_and_what_was_put_away(opened: Vault) -> None:
    for number in range(5):
        turn = said(f"u{number}", created_at=f"2026-11-22T10:0{number}:00Z")
        opened.converse("c", new=[turn, fact(f"f{number}", str(number))])
    opened.converse("c", retire=[{"id": "f1"}])
    assert ids(opened, "c", kinds=["turns"]) == [f"u{number}" for number in range(5)]
    assert ids(opened, "c", kinds="turns", limit=2) == ["u3", "u4"]
    assert "f1" not in ids(opened, "c")
    assert "f1" in ids(opened, "c", kinds=["facts"], deleted=True)
    with pytest.raises(UsageError, match="unknown kind"):
        opened.entries("c", ["fact"])
    assert opened.entries("nobody") == []
