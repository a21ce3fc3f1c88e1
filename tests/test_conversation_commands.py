"""vaultmem add and vaultmem conversations, as a person types them; what status and doctor say about waiting turns."""

import time
from pathlib import Path

import pytest

from tests.cli_run import Ran, one_line, ran
from tests.conftest import fill
from tests.tables import each_case
from vaultmem import Vault
from vaultmem_chat.learning.turn_queue import FOLDER, Turns


@pytest.fixture
def here(vault: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VAULTMEM_EMBEDDING_MODEL", "off")
    monkeypatch.setenv("VAULTMEM_VAULT", str(vault))
    return vault


def text(*words: str, stdin: bytes = b"") -> Ran:
    return ran(*words, "--format", "text", stdin=stdin)


def turns_of(vault: Path) -> Turns:
    with Vault(str(vault)) as opened:
        return Turns(opened.state.path(FOLDER))


@pytest.mark.usefixtures("here")
def test_facts_are_added_updated_and_known() -> None:
    assert text("add", "I live in Lisbon", "My sister is Anne").out.splitlines() == [
        "added: I live in Lisbon",
        "added: My sister is Anne",
    ]
    assert text("add", "I live in Porto").out == "updated: I live in Lisbon → I live in Porto\n"
    assert text("add", "I live in Porto").out == "known already\n"
    shown = text("add", "I live in Rome", "--dry-run").out
    assert shown == "would be updated: I live in Porto → I live in Rome\n"
    as_is = text("add", "--as-is", "--conversation", "work", "-1 is a number").out
    assert as_is == "added: -1 is a number\n"
    found = ran("add", "I have a cat", "I live in Rome", "--json").data
    assert (found["conversation"], found["by_model"]) == ("default", False)
    assert (found["added"], found["updated"]) == (
        ["I have a cat"],
        [["I live in Porto", "I live in Rome"]],
    )


@pytest.mark.usefixtures("here")
def test_facts_come_from_stdin_a_line_each_and_an_assistant_is_named() -> None:
    assert (
        text("add", "-", "--by", "claude", stdin="I have a cat\n\n我住在上海\n".encode()).code == 0
    )
    found = ran("conversations", "show", "default", "--json").data["entries"]
    assert {one["content"] for one in found} == {"I have a cat", "我住在上海"}
    assert {one["properties"]["agent"] for one in found} == {"claude"}
    assert ran("history", "--json").data["history"][0]["by"] == "claude"


@each_case(
    "words, stdin, says",
    [
        (["add", " "], b"", "nothing to add"),
        (["add", "-"], b"\xff\xfe", "UTF-8"),
        (["add", "-"], b"x\n" * 300, "too many"),
        (["add", "x", "--conversation", "y" * 10_000], b"", "10,000 characters"),
        (["add", "x", "--conversation", "a\nb"], b"", "invisible characters"),
        (["conversations", "show"], b"", "name a conversation"),
        (["conversations", "show", "nope"], b"", "no conversation has the id 'nope'"),
        (["conversations", "promote"], b"", "name an entry"),
        (["conversations", "promote", "nobody"], b"", "no entry"),
        (["conversations", "list", "x"], b"", "takes no ID"),
        (["conversations", "dance"], b"", "must be one of"),
        (["conversations", "--by", "codex"], b"", "only you see"),
        (["conversations", "show", "x", "--facts", "--by", "codex"], b"", "only you see"),
        (["conversations", "show", "x", "-n", "0"], b"", "--limit"),
    ],
)
def test_invalid_input_is_one_line(here: Path, words: list[str], stdin: bytes, says: str) -> None:
    ended = text(*words, stdin=stdin)
    assert ended.code in (1, 2)
    assert says in one_line(ended)
    assert not list(here.rglob("*.md"))


@pytest.mark.usefixtures("here")
def test_conversations_are_listed_shown_promoted_forgotten_and_undone() -> None:
    text("add", "Anne prefers trains", "Bob likes tea")
    text("add", "--conversation", "../../x", "elsewhere it rains")
    listed = text("conversations")
    names = [line.split("  ")[-1].strip() for line in listed.out.splitlines()]
    assert names == ["../../x", "default"]
    assert ran("conversations", "--json").data["conversations"][1]["facts"] == 2
    shown = ran("conversations", "show", "default", "--facts", "--limit", "5", "--json").data
    anne, bob = (one["id"] for one in sorted(shown["entries"], key=lambda one: one["content"]))
    made = text("conversations", "promote", anne[:8], "--category", "people")
    assert made.out.startswith("promoted: Anne prefers trains (")
    assert text("conversations", "forget", bob, "--dry-run").out.startswith("would be archived: ")
    assert text("conversations", "forget", bob).out.startswith("put away: Bob likes tea (")
    assert ran("conversations", "show", "default", "--json").data["count"] == 0
    assert ran("conversations", "show", "default", "--deleted", "--json").data["count"] == 2
    assert text("undo", "--last").code == 0
    assert "fact: Bob likes tea" in text("conversations", "show", "default").out
    assert ran("conversations", "show", "../../x", "--json").data["count"] == 1


def talked(vault: Path) -> dict[str, str]:
    """A chat that has learned something and then a correction. Returns the ids by text."""
    with Vault(str(vault)) as opened:
        turns = Turns(opened.state.path(FOLDER))
        for words in ("I live in Lisbon.", "I live in Porto."):
            turns.finish(turns.begin("c", words, time.time()), "Nice.", time.time())
    assert text("conversations", "learn").code == 0
    found = ran("conversations", "show", "c", "--json").data["entries"]
    gone = ran("conversations", "show", "c", "--deleted", "--json").data["entries"]
    return {one["content"]: one["id"] for one in (*found, *gone)}


def test_history_and_undo_name_what_conversations_did(here: Path) -> None:
    assert text("history").err == "vaultmem: the history has no such entries\n"
    assert "conversations" not in one_line(text("undo", "--last"))
    talked(here)
    plain = text("history")
    assert (plain.out, ran("history", "--json").data["count"]) == ("", 0)
    assert "--conversations shows" in plain.err
    assert "--conversations" not in text("history", "--by", "nobody").err
    assert "--conversations" not in text("history", "--since", "2199-01-01").err
    assert "vaultmem history --conversations" in one_line(text("undo", "--last"))
    found = ran("history", "--conversations", "--json").data["history"]
    assert {one["by"] for one in found} == {"conversation:c"}
    last = next(one for one in found if one["why"].startswith("learned"))
    assert text("undo", last["commit"]).code == 0
    assert "fact: I live in Lisbon" in text("conversations", "show", "c", "--facts").out


def test_history_takes_ids_of_entries_of_conversations(here: Path) -> None:
    ids = talked(here)
    whys = {}
    for said, named in ids.items():
        by_id = ran("history", named, "--json").data["history"]
        assert by_id, said
        assert ran("history", named[:8], "--json").data["history"] == by_id
        whys[said] = [one["files"][0]["why"] for one in by_id]
    assert whys["I live in Lisbon"][0].startswith("replaced by")
    assert len(whys["I live in Lisbon"]) == 2
    assert len(whys["I live in Porto"]) == 1
    assert "Memory not found" in one_line(text("history", "nobody"))
    with Vault(str(here)) as opened:
        opened.converse(
            "d", new=[{"role": "user", "id": f"abcd{at}", "content": "hi"} for at in "12"]
        )
    assert "abcd1, abcd2" in one_line(text("history", "abcd"))


def test_words_of_many_lines_are_shown_line_by_line_and_steer_no_terminal(here: Path) -> None:
    with Vault(str(here)) as opened:
        opened.converse("c", new=[{"role": "user", "content": "one\n\n  two"}])
        path = here / opened.entries("c")[0]["path"]
        path.write_text(path.read_text() + "\x1b[31mred\u202e")
    out = text("conversations", "show", "c", "--turns").out
    assert "user: one\n\n      two\n" in out
    assert "\x1b" not in out
    assert "\u202e" not in out


def test_status_counts_waiting_turns_which_are_learned_later(here: Path) -> None:
    turns = turns_of(here)
    assert ran("status", "--json").data["turns_waiting"] == 0
    turns.finish(turns.begin("c", "I live in Lisbon.", time.time()), "Nice.", time.time())
    assert ran("status", "--json").data["turns_waiting"] == 1
    assert "waiting turns" in text("status").out
    findings = [one["what"] for one in ran("doctor", "--json").data["findings"]]
    assert "1 turn of conversations waits to be remembered" in findings
    assert "1 turn waited, 0 remembered" in text("conversations", "learn", "--dry-run").out
    ended = text("conversations", "learn")
    assert ended.out.splitlines()[-1] == "1 turn waited, 1 remembered"
    assert "Lisbon" in ended.out
    nothing = {"waiting": 0, "remembered": 0, "learned": []}
    assert ran("conversations", "learn", "--json").data == nothing
    assert ran("conversations", "show", "c", "--json").data["count"] == 3
    assert "waiting turns" not in text("status").out


def test_doctor_tells_of_what_is_no_entry_and_of_turns_set_aside(here: Path) -> None:
    with Vault(str(here)) as opened:
        opened.converse("c", new=[{"role": "user", "content": "x"}])
    fill(here, {"vaultmem/entries/c/facts/mine.md": "words"})
    turns = turns_of(here)
    turns.put_aside(turns.begin("c", "x", 1.0), "a test")
    findings = {one["what"]: one for one in ran("doctor", "--json").data["findings"]}
    assert "no id" in findings["1 file in the folders of conversations skipped"]["places"][0]
    assert findings["1 turn of conversations could not be remembered"]["places"] == turns.broken()
