"""Entries of conversations on real folders: written once, put away and not lost, nobody else's, whatever people do by hand."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.agent_run import agent_on
from tests.conftest import Write
from tests.kill_points import kill_everywhere
from tests.laws import examples
from vaultmem import Vault
from vaultmem.errors import NoteNotFoundError, UsageError, VaultmemError
from vaultmem.memories.entries import ConversationFiles
from vaultmem.vault import pages

KEY = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"


@pytest.fixture
def opened(vault: Path) -> Iterator[Vault]:
    with Vault(str(vault)) as found:
        yield found


def said(id_: str, content: str = "hello", role: str = "user", **more: object) -> dict[str, object]:
    """An entry to be written."""
    return {"id": id_, "role": role, "content": content, **more}


def fact(id_: str, content: str) -> dict[str, object]:
    return said(id_, content, "memory")


def final(content: str, **more: object) -> dict[str, object]:
    return {"role": "summary", "name": "L3/final", "content": content, **more}


def notes(vault: Path) -> dict[str, str]:
    """All notes by path."""
    return {
        one.relative_to(vault).as_posix(): one.read_text() for one in sorted(vault.rglob("*.md"))
    }


def ids(vault: Vault, conversation: str, **how: Any) -> list[str]:
    return [one["id"] for one in vault.entries(conversation, **how)]


# --- Writing


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
    assert [one["role"] for one in opened.entries("work")][:2] == ["user", "assistant"], (
        "the user speaks first"
    )
    assert opened.memories() == []


def test_saying_it_again_changes_nothing(vault: Path, opened: Vault) -> None:
    new = [said("u1"), said("a1", "hi", "assistant"), fact("f1", "x"), final("sum")]
    first = opened.converse("c", new=new)
    before = notes(vault)
    again = opened.converse("c", new=new)
    assert again["written"] == []
    assert again["known"] == first["written"]
    assert again["batch"] is None
    opened.converse("c", retire=[{"id": "f1"}])
    assert opened.converse("c", new=[fact("f1", "x")], retire=[{"id": "f1"}])["known"] == ["f1"]
    assert ids(opened, "c") == ["u1", "a1", first["written"][3]]
    assert len(notes(vault)) == len(before)
    assert len(opened.history()) == 2


def test_a_summary_is_replaced_where_it_is_and_its_old_words_are_in_the_history(
    vault: Path, opened: Vault
) -> None:
    opened.converse("c", new=[final("the old words", properties={"input_tokens": 5})])
    done = opened.converse("c", new=[final("the new words", properties={"input_tokens": 9})])
    assert len(done["written"]) == 1
    [one] = opened.entries("c", ["summaries"])
    assert (one["content"], one["properties"]["input_tokens"], one["id"]) == (
        "the new words",
        9,
        done["written"][0],
    )
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
    assert (one["why"], one["by"], one["kind"]) == (
        "turn of conversation c",
        "conversation:c",
        "assistant",
    )
    opened.undo(one["commit"])
    assert opened.entries("c") == []
    assert sorted(ids(opened, "c", deleted=True)) == ["a1", "u1"]
    assert opened.converse("c", new=[said("u1")])["known"] == ["u1"], (
        "and does not come back by itself"
    )


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
        with pytest.raises(NoteNotFoundError, match="no entry of the conversation"):
            opened.converse("two", **wish)
    assert notes(vault) == before
    assert opened.converse("two", new=[said(memory["id"])])["known"] == [memory["id"]]


@pytest.mark.parametrize(
    ("wish", "says"),
    [
        ({"new": [{"role": "robot", "content": "x"}]}, "unknown role"),
        ({"new": [{"content": "x"}]}, '"role" is missing'),
        ({"new": [{"role": "user"}]}, '"content" must be text'),
        ({"new": [said("../../x")]}, "can be no id"),
        ({"new": [said("a/b")]}, "can be no id"),
        ({"new": [said("x" * 300)]}, "short text"),
        ({"new": [said("x", colour="red")]}, "unknown"),
        ({"new": [said("x", name="L1/chunk_0")]}, "summary"),
        ({"new": [final("x") | {"name": "../../x"}]}, "summary"),
        ({"new": [final("x") | {"name": "L9/x"}]}, "summary"),
        ({"new": [{"role": "summary", "content": "x"}]}, "summary"),
        ({"new": [said("x", properties={"scope": "global"})]}, "no property"),
        ({"new": [said("x", properties={"Conversation-Id": "y"})]}, "no property"),
        ({"new": [said("x", properties={"agent": "claude"})]}, "no property"),
        ({"new": [said("x", properties={"Title": "y"})]}, "no property"),
        ({"new": [said("x", properties={"decay-policy": "y"})]}, "no property"),
        ({"new": [said("x", properties={"by": "you"})]}, "no property"),
        ({"new": [said("x", properties={"content_hash": "y"})]}, "no property"),
        ({"new": [said("x", properties={"a\nb": 1})]}, "no property"),
        ({"new": [said("x", properties=[1])]}, "not an object"),
        ({"new": [said("x", of="u1")]}, "list of ids"),
        ({"new": ["x"]}, "must be an object"),
        ({"retire": [{"id": "x", "replaced_by": "../y"}]}, "no entry"),
        ({"mark": [{}]}, "no entry"),
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


@settings(
    deadline=None,
    max_examples=examples(40),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
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


# --- Reading


def test_kinds_limits_and_what_was_put_away(opened: Vault) -> None:
    for number in range(5):
        opened.converse(
            "c",
            new=[
                said(f"u{number}", created_at=f"2026-11-22T10:0{number}:00Z"),
                fact(f"f{number}", str(number)),
            ],
        )
    opened.converse("c", retire=[{"id": "f1"}])
    assert ids(opened, "c", kinds=["turns"]) == [f"u{number}" for number in range(5)]
    assert ids(opened, "c", kinds="turns", limit=2) == ["u3", "u4"]
    assert "f1" not in ids(opened, "c")
    assert "f1" in ids(opened, "c", kinds=["facts"], deleted=True)
    with pytest.raises(UsageError, match="unknown kind"):
        opened.entries("c", ["fact"])
    assert opened.entries("nobody") == []


def test_conversations_are_listed_the_one_that_spoke_last_first(opened: Vault) -> None:
    assert opened.conversations() == []
    opened.converse("old", new=[said("u1", created_at="2020-01-01T00:00:00Z")])
    opened.converse("new", new=[said("u2"), fact("f2", "x")])
    first, second = opened.conversations()
    assert (first["conversation_id"], first["turns"], first["facts"]) == ("new", 1, 1)
    assert second["conversation_id"] == "old"
    assert second["created_at"] == "2020-01-01T00:00:00Z"


# --- By hand


def test_what_people_do_by_hand_is_believed(vault: Path, opened: Vault) -> None:
    opened.converse("c", new=[said(f"u{number}", f"turn {number}") for number in range(4)])
    paths = [vault / one["path"] for one in opened.entries("c")]
    paths[0].write_text(paths[0].read_text().replace("turn 0", "edited"))
    paths[1].rename(paths[1].with_name("my name.md"))
    paths[2].unlink()
    paths[3].rename(vault / "vaultmem" / "entries" / "c" / "loose.md")
    found = {one["id"]: one for one in opened.entries("c")}
    assert found["u0"]["content"] == "edited"
    assert found["u1"]["title"] == "my name"
    assert found["u3"]["role"] == "user"
    assert "u2" not in found
    done = opened.converse(
        "c", retire=[{"id": "u1"}], new=[said("u0"), said("u1"), said("u2", "again")]
    )
    assert (done["known"], done["written"], done["retired"]) == (["u0", "u1"], ["u2"], ["u1"])
    assert (vault / "vaultmem/entries/c/.records/deleted/turns/user/my name.md").exists()


def test_what_is_no_entry_is_passed_over_and_told(vault: Path, opened: Vault, write: Write) -> None:
    opened.converse("c", new=[said("u1")])
    inner = "vaultmem/entries/c"
    write(f"{inner}/facts/no id.md", "words")
    write(f"{inner}/facts/broken.md", "---\nid: [\n---\nwords")
    write(f"{inner}/facts/bytes.md", b"\xff\xfe\x00\x01\x02")
    write(f"{inner}/facts/copy.md", (vault / opened.entries("c")[0]["path"]).read_text())
    write(f"{inner}/stray.md", "---\nid: s1\n---\nwords")
    write(f"{inner}/turns/robot/x.md", "---\nid: s2\n---\nwords")
    write(f"{inner}/image.png", b"\x89PNG")
    write("vaultmem/entries/loose.md", "---\nid: s3\n---\nwords")
    write("vaultmem/entries/Not Plain/facts/x.md", "---\nid: s4\n---\nwords")
    os.mkfifo(vault / inner / "facts" / "pipe.md")
    assert ids(opened, "c") == ["u1"]
    told = dict(opened.ask("conversations")["troubles"])
    assert "no id" in told[f"{inner}/facts/no id.md"]
    assert f"{inner}/facts/broken.md" in told
    assert "has the id of" in " ".join(told.values())
    assert "no folder of turns" in told[f"{inner}/stray.md"]
    assert "another conversation" in told["vaultmem/entries/Not Plain/facts/x.md"]
    assert f"{inner}/facts/pipe.md" in told
    assert opened.memories() == []


def test_no_link_is_followed(vault: Path, opened: Vault, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "facts").mkdir(parents=True)
    (outside / "facts" / "x.md").write_text("---\nid: o1\n---\nwords")
    opened.converse("c", new=[said("u1")])
    (vault / "vaultmem/entries/c/.records/facts").symlink_to(outside / "facts")
    (vault / "vaultmem/entries/linked").symlink_to(outside)
    assert ids(opened, "c") == ["u1"]
    assert opened.entries("linked") == []
    done = opened.converse("c", new=[fact("f1", "x")])
    assert done["written"] == []
    assert "link" in done["skipped"][0][1]
    assert opened.converse("linked", new=[said("u9")])["written"] == []
    assert [one.name for one in (outside / "facts").iterdir()] == ["x.md"]


def test_copies_of_sync_programs_are_no_entries(vault: Path, opened: Vault) -> None:
    opened.converse("c", new=[said("u1"), final("sum")])
    for one in opened.entries("c"):
        path = vault / one["path"]
        copy = path.with_name(f"{path.stem}.sync-conflict-20261103-081512-ABCDEFG.md")
        copy.write_text(path.read_text().replace(one["id"], f"x{one['id']}"))
    assert len(opened.entries("c")) == 2
    assert len(opened.conversations()) == 1


def test_files_are_read_again_only_when_they_change(
    vault: Path, opened: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened.converse("c", new=[said(f"u{number}") for number in range(20)])
    for one in opened.entries("c"):
        os.utime(vault / one["path"], (1e9, 1e9))
    files = ConversationFiles(str(vault), "vaultmem", lambda _: "frontmatter")
    assert len(files.entries("c")) == 20
    reads: list[object] = []
    real = ConversationFiles._read

    def read(self: ConversationFiles, *told: Any) -> Any:
        reads.append(told)
        return real(self, *told)

    monkeypatch.setattr(ConversationFiles, "_read", read)
    assert len(files.entries("c")) == 20
    assert reads == []
    path = vault / files.entries("c")[0].path
    path.write_text(path.read_text() + "more")
    assert [one.content for one in files.entries("c") if "more" in one.content] == ["hello\nmore"]
    assert len(reads) == 1
    path.unlink()
    assert len(files.entries("c")) == 19
    assert len(files._known) == 19


@pytest.mark.parametrize("dialect", ["obsidian", "logseq"])
def test_a_summary_that_a_person_has_edited_is_not_overwritten(
    vault: Path, dialect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAULTMEM_DIALECT", dialect)
    with Vault(str(vault)) as opened:
        opened.converse("c", new=[final("They spoke of Lisbon.\n\n- And more: of Porto.")])
        again = final("They spoke of boats.\n\n- And nets.")
        assert opened.converse("c", new=[again])["skipped"] == [], "what we wrote is ours"
        [one] = opened.entries("c")
        path = vault / one["path"]
        path.write_text(path.read_text().replace("boats", "ships"))
        report = opened.converse("c", new=[final("They spoke of the harbour.")])
        assert report["written"] == []
        assert [why for _, why in report["skipped"]] == [
            "a person has edited it, and their words stay"
        ]
        assert "ships" in opened.entries("c")[0]["content"]


# --- Promote and forget


def test_a_fact_becomes_a_memory_of_the_vault_and_undo_takes_it_back(opened: Vault) -> None:
    opened.converse("c", new=[said("u1"), fact("fact-1", "Anne prefers trains to planes")])
    made = opened.promote_fact("fact-1", category="people")
    assert (made["created"], made["promoted"], made["category"], made["scope"]) == (
        True,
        "fact-1",
        "people",
        "global",
    )
    assert made["content"] == "Anne prefers trains to planes"
    assert made["agent"] == ""
    assert made["path"] == "vaultmem/people/Anne prefers trains to planes.md"
    gone = opened.entries("c", ["facts"], deleted=True)[0]
    assert gone["properties"]["replaced_by"] == made["id"]
    assert made["links"] == [f"Chat {str(gone['created_at'])[:10]} c"]
    opened.undo(last=True)
    assert ids(opened, "c") == ["u1", "fact-1"]
    assert opened.memories() == []


def test_a_memory_tells_the_sentence_of_the_turn_and_goes_with_it(
    vault: Path, opened: Vault
) -> None:
    turn = "It rained all day. By the way, Anne prefers trains to planes! See you."
    learned = {**fact("fact-1", "Anne prefers trains to planes"), "of": ["u1"]}
    other = {**fact("fact-2", "It rained"), "of": ["u1"]}
    opened.converse("c", new=[said("u1", turn), learned, other, said("u2"), fact("fact-3", "Bo")])
    assert [(one.get("of"), one.get("sentence")) for one in opened.entries("c", ["facts"])] == [
        ("u1", "By the way, Anne prefers trains to planes!"), ("u1", "It rained all day."), (None, None),
    ]  # fmt: skip
    made = opened.promote_fact("fact-1")["id"]
    origin = opened.ask("read", id=made, provenance=True)["drawn_from"]
    assert (origin["conversation"], origin["entry"]) == ("c", "u1")
    assert origin["sentence"] == "By the way, Anne prefers trains to planes!"
    before = notes(vault)
    opened.forget("u1", derived=True, dry_run=True)
    assert notes(vault) == before
    opened.forget("u1", derived=True)
    assert ids(opened, "c") == ["u2", "fact-3"]
    assert not opened.memories()
    assert opened.ask("read", id=made, deleted=True)["deleted"]
    opened.undo(last=True)
    assert {one["id"] for one in opened.memories()} == {made}
    assert sorted(ids(opened, "c")) == ["fact-2", "fact-3", "u1", "u2"]


def test_a_private_fact_stays_private_as_a_memory(vault: Path, opened: Vault) -> None:
    for own in ("fact-1", "fact-2"):
        private = {"properties": {"private": True}}
        opened.converse("c", new=[{**fact(own, f"Anne's diagnosis is {own}"), **private}])
    made = opened.promote_fact("fact-1")
    assert pages.read("frontmatter", notes(vault)[made["path"]]).properties["private"] is True
    opened.write("Anne's diagnosis is fact-2")
    with pytest.raises(VaultmemError, match="the fact is private"):
        opened.promote_fact("fact-2")
    assert ids(opened, "c") == ["fact-2"]


def test_what_is_forgotten_is_told_on_by_no_summary_from_then_on(opened: Vault) -> None:
    until = {"covers_until": "2026-11-22T10:00:00.000Z"}
    session = {"compression_source": True, "links": ["[[2026-11-22T09-00-00Z__turn-1]]"]}
    opened.converse("c", new=[
        said("turn-1", created_at="2026-11-22T09:00:00Z"), said("turn-2", created_at="2026-11-22T11:00:00Z"),
        {**fact("session", "They spoke."), "properties": session}, final("They spoke.", properties=until),
    ])  # fmt: skip
    opened.forget("turn-2")
    assert len(ids(opened, "c")) == 3, "the summary is older than that"
    opened.forget("turn-1")
    assert ids(opened, "c") == []
    assert opened.undo(last=True)["refused"] == []
    assert len(ids(opened, "c")) == 3


def test_only_facts_that_live_can_be_promoted_and_entries_be_forgotten(opened: Vault) -> None:
    opened.converse("c", new=[said("turn-1"), said("turn-2"), fact("fact-1", "x y z")])
    with pytest.raises(VaultmemError, match="only a fact"):
        opened.promote_fact("turn-1")
    with pytest.raises(NoteNotFoundError, match="several"):
        opened.forget("turn")
    with pytest.raises(NoteNotFoundError, match="no entry"):
        opened.forget("nobody")
    done = opened.forget("turn-1")
    assert (done["id"], done["deleted"], done["content"]) == ("turn-1", True, "hello")
    with pytest.raises(NoteNotFoundError, match="put away already"):
        opened.forget("turn-1")
    assert opened.forget("fact", dry_run=True)["changes"]
    assert ids(opened, "c") == ["turn-2", "fact-1"]
    opened.undo(last=True)
    assert ids(opened, "c") == ["turn-1", "turn-2", "fact-1"]


# --- Together


def test_dreams_and_jobs_see_no_entries(vault: Path, opened: Vault) -> None:
    opened.converse(
        "c", new=[fact(f"f{number}", "Anne likes tea very much") for number in range(3)]
    )
    before = notes(vault)
    for level in (1, 2, 3):
        opened.dream(level)
    opened.consolidate()
    found = {path: text for path, text in notes(vault).items() if "/entries/" in path}
    after = {path: text for path, text in found.items() if "/Chat " not in path}  # made of them
    assert after == before


def test_killed_at_any_call_a_batch_is_done_or_said_again(vault: Path) -> None:
    wish: dict[str, Any] = {
        "new": [said("u1", "words"), fact("f2", "new"), final("sum")],
        "retire": [{"id": "f1", "replaced_by": "f2"}],
        "mark": [{"id": "u0", "properties": {"compressed": True}}],
    }

    def begin() -> None:
        with Vault(str(vault)) as opened:
            opened.converse("c", new=[said("u0"), fact("f1", "old")])

    def work() -> None:
        with Vault(str(vault)) as opened:
            opened.converse("c", **wish)

    def check() -> None:
        with Vault(str(vault)) as opened:
            opened.converse("c", **wish)
            found = {one["id"]: one for one in opened.entries("c", deleted=True)}
            sums = [one["content"] for one in found.values() if one["role"] == "summary"]
            assert sums == ["sum"]
            assert found["f1"]["properties"]["replaced_by"] == "f2"
            assert found["u0"]["properties"]["compressed"] is True
            assert sorted(ids(opened, "c", kinds=["turns", "facts"])) == ["f2", "u0", "u1"]
            assert len(notes(vault)) == 5
        for path in vault.rglob("*.md"):
            path.unlink()
        begin()

    begin()
    assert kill_everywhere(work, check, step=4) > 40


def test_the_same_through_an_agent_which_finds_them_at_once(vault: Path) -> None:
    with agent_on(vault) as agent, Vault(str(vault)) as opened:
        agent.watches()
        opened.converse("My Chat", new=[said("u1", "the zebra sleeps"), fact("f1", "zebras exist")])
        assert ids(opened, "My Chat") == ["u1", "f1"]
        query = "zebra path:vaultmem/entries"
        agent.finds(query, *[one["path"] for one in opened.entries("My Chat")][:2])
        opened.converse("My Chat", retire=[{"id": "u1"}], new=[said("big", "words " * 40_000)])
        agent.finds(query, *[one["path"] for one in opened.entries("My Chat", ["facts"])])
        found = opened.recall("zebra", scope="conversation:My Chat", by="conversation:My Chat")
        assert [one["id"] for one in found["memories"]] == ["f1"]
        with pytest.raises(VaultmemError, match="no entry of the conversation"):
            opened.converse("other", retire=[{"id": "f1"}])
