"""Entries of conversations on real folders: written once, removed without loss, only their owner's, whatever people
do by hand."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conversed import fact, final, ids, notes, said
from tests.laws import examples
from vaultmem import Vault
from vaultmem.errors import NoteNotFoundError, UsageError, VaultmemError
from vaultmem.notes import pages

KEY = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"


def test_turns_facts_and_summaries_are_notes_in_the_folders_of_the_seeds(
    vault: Path, opened: Vault
) -> None:
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
    inner = "vaultmem/entries/work/.records"
    found = notes(vault)
    assert [*found] == [
        f"{inner}/facts/2026-11-22T10-00-00Z__f1.md",
        f"{inner}/summaries/L1/chunk_0.md",
        f"{inner}/summaries/L3/final.md",
        f"{inner}/turns/assistant/2026-11-22T10-00-00Z__a1.md",
        f"{inner}/turns/user/2026-11-22T10-00-00Z__u1.md",
    ]
    page = pages.read("frontmatter", found[f"{inner}/facts/2026-11-22T10-00-00Z__f1.md"])
    wanted = {
        "id": "f1", "role": "memory", "phase": "inbox", "category": "inbox", "scope": "conversation:work",
        "conversation_id": "work", "created_at": "2026-11-22T10:00:00.250Z",
        "links": ["[[2026-11-22T10-00-00Z__u1]]"],
    }  # fmt: skip
    assert wanted.items() <= page.properties.items()
    assert "agent" not in page.properties
    assert page.content == "User lives in Lisbon\n"
    assert [entry["role"] for entry in opened.entries("work")][:2] == ["user", "assistant"], (
        "the user speaks first"
    )
    assert opened.memories() == []


def test_a_summary_is_replaced_where_it_is_and_its_old_words_are_in_the_history(
    vault: Path, opened: Vault
) -> None:
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


def test_putting_away_moves_a_file_and_says_by_whom_and_for_what(
    vault: Path, opened: Vault
) -> None:
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
    [entry, _] = opened.history()
    assert (entry["why"], len(entry["files"])) == ("learned", 3)
    assert opened.undo(last=True)["refused"] == []
    left = {one["id"]: one for one in opened.entries("c", deleted=True)}
    assert not left["f1"]["deleted"]
    assert left["f2"]["deleted"], "what is undone is put away where the conversation keeps such"
    assert "replaced_by" not in left["f1"]["properties"]
    assert "compressed" not in left["u1"]["properties"]
    assert not list((vault / "vaultmem").glob("archive/*"))


def test_put_away_and_marked_at_once(opened: Vault) -> None:
    opened.converse("c", new=[said("u1")])
    done = opened.converse(
        "c", retire=[{"id": "u1"}], mark=[{"id": "u1", "properties": {"compressed": True}}]
    )
    assert (done["retired"], done["marked"], done["skipped"]) == (["u1"], [], [])
    assert opened.entries("c", deleted=True)[0]["properties"]["compressed"] is True


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


@pytest.mark.parametrize(
    ("wish", "says"),
    [
        ({"new": [{"role": "robot", "content": "x"}]}, "unknown role"),
        ({"new": [{"content": "x"}]}, '"role" is missing'),
        ({"new": [{"role": "user"}]}, '"content" must be text'),
        ({"new": [said("../../x")]}, "is not a valid id"),
        ({"new": [said("x" * 300)]}, "short text"),
        ({"new": [said("x", colour="red")]}, "unknown"),
        ({"new": [said("x", name="L1/chunk_0")]}, "summary"),
        ({"new": [final("x") | {"name": "../../x"}]}, "summary"),
        ({"new": [said("x", properties={"scope": "global"})]}, "is not a property"),
        ({"new": [said("x", properties={"Conversation-Id": "y"})]}, "is not a property"),
        ({"new": [said("x", properties={"by": "you"})]}, "is not a property"),
        ({"new": [said("x", properties={"a\nb": 1})]}, "is not a property"),
        ({"new": [said("x", properties=[1])]}, "not an object"),
        ({"new": [said("x", of="u1")]}, "list of ids"),
        ({"new": ["x"]}, "must be an object"),
        ({"retire": [{"id": "x", "replaced_by": "../y"}]}, "is not an entry"),
        ({"mark": [{}]}, "is not an entry"),
        ({"by": "a\nb"}, "one line"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line_and_nothing_is_written(
    vault: Path, opened: Vault, wish: Any, says: str
) -> None:
    with pytest.raises(VaultmemError, match=says) as caught:
        opened.converse("c", **wish)
    assert "\n" not in str(caught.value)
    assert notes(vault) == {}


@pytest.mark.parametrize("conversation", ["", " ", "x" * 10_000, "a\nb", "\x00", "\ud800", ":x"])
def test_an_id_that_can_be_none_is_refused_everywhere(
    vault: Path, opened: Vault, conversation: str
) -> None:
    for ask in (
        lambda: opened.converse(conversation, new=[said("x")]),
        lambda: opened.entries(conversation),
    ):
        with pytest.raises(UsageError) as caught:
            ask()
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 200
    assert notes(vault) == {}


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    content=st.text(st.characters(codec="utf-8"), max_size=80),
    style=st.sampled_from(["obsidian", "logseq"]),
)
def test_what_was_said_is_read_as_it_was_said(
    tmp_path_factory: pytest.TempPathFactory, content: str, style: str
) -> None:
    folder = tmp_path_factory.mktemp("said")
    (folder / (".obsidian" if style == "obsidian" else "logseq")).mkdir()
    with Vault(str(folder)) as opened:
        done = opened.converse("c", new=[said("u1", content)])
        found = opened.entries("c")
    if not found:
        assert done["skipped"] == [["u1", "it is empty"]]
        return
    text = content.replace("\r\n", "\n").replace("\r", "\n")
    kept = "".join(
        "\ufffd" if (ord(one) < 32 and one not in "\t\n") or ord(one) == 127 else one
        for one in text
    )
    if style == "obsidian":
        assert found[0]["content"].split() == kept.split()
    assert done["skipped"] == []


@pytest.mark.parametrize(
    "content",
    ["---\nid: evil\n---\nbody", "a\x00b\x1b[31m", "\ud800 half", "key:: value\nid:: evil", "- [ ] task 📅 2026-12-01", "\ufeffx", "a\r\nb\rc", "```\ncode\n", "[[link]] #tag", "\u202eevil"],
)  # fmt: skip
@pytest.mark.parametrize("dialect", ["obsidian", "logseq"])
def test_no_words_can_become_properties(
    vault: Path, content: str, dialect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAULTMEM_DIALECT", dialect)
    with Vault(str(vault)) as opened:
        assert opened.converse("c", new=[said("u1", content)])["written"] == ["u1"]
        [one] = opened.entries("c")
        assert (one["id"], one["role"], one["conversation_id"]) == ("u1", "user", "c")
        assert one["properties"].keys() <= {"id", "phase", "category", "scope", "decay_policy", "conversation_id", "role", "created_at", "updated_at", "title"}  # fmt: skip


def test_secrets_are_taken_out_and_empty_words_are_skipped(vault: Path, opened: Vault) -> None:
    done = opened.converse(
        "c", new=[said("u1", f"my key is {KEY}"), said("u2", " \n "), said("u3", "")]
    )
    assert done["redacted"] == ["OpenAI key"]
    assert [one[0] for one in done["skipped"]] == ["u2", "u3"]
    assert KEY not in "".join(notes(vault).values())


def test_a_book_that_was_pasted_is_kept_in_part_and_that_is_said(opened: Vault) -> None:
    opened.converse("c", new=[said("u1", "日本" * 200_000)])
    [one] = opened.entries("c")
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
