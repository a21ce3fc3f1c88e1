"""Entries as files: manual edits, facts that become memories, kills, and an agent."""

import os
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Write, fill
from tests.conversed import fact, final, ids, notes, said
from tests.kill_points import kill_everywhere
from vaultmem import Vault
from vaultmem.errors import NoteNotFoundError, VaultmemError
from vaultmem.notes import pages
from vaultmem.operations import reading


def test_what_people_do_by_hand_is_believed(vault: Path, opened: Vault) -> None:
    opened.converse("c", new=[said(f"u{number}", f"turn {number}") for number in range(4)])
    paths = [vault / entry["path"] for entry in opened.entries("c")]
    paths[0].write_text(paths[0].read_text().replace("turn 0", "edited"))
    paths[1].rename(paths[1].with_name("my name.md"))
    paths[2].unlink()
    paths[3].rename(vault / "vaultmem" / "entries" / "c" / "loose.md")
    found = {entry["id"]: entry for entry in opened.entries("c")}
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
    vault: Path, opened: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn = "It rained all day. By the way, Anne prefers trains to planes! See you."
    learned = {**fact("fact-1", "Anne prefers trains to planes"), "of": ["u1"]}
    other = {**fact("fact-2", "It rained"), "of": ["u1"]}
    opened.converse("c", new=[said("u1", turn), learned, other, said("u2"), fact("fact-3", "Bo")])
    assert [(entry.get("of"), entry.get("sentence")) for entry in opened.entries("c", ["facts"])] == [
        ("u1", "By the way, Anne prefers trains to planes!"), ("u1", "It rained all day."), (None, None),
    ]  # fmt: skip
    with monkeypatch.context() as known:
        known.setattr(reading, "topic_words", None)  # each listing has them without comparing words
        assert opened.entries("c", ["facts"])[0]["of"] == "u1"
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
    assert {memory["id"] for memory in opened.memories()} == {made}
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
    with pytest.raises(NoteNotFoundError, match="already put away"):
        opened.forget("turn-1")
    assert opened.forget("fact", dry_run=True)["changes"]
    assert ids(opened, "c") == ["turn-2", "fact-1"]
    opened.undo(last=True)
    assert ids(opened, "c") == ["turn-1", "turn-2", "fact-1"]


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
            found = {entry["id"]: entry for entry in opened.entries("c", deleted=True)}
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


def test_no_link_is_followed(vault: Path, opened: Vault, tmp_path: Path) -> None:
    outside = fill(tmp_path / "outside", {"facts/x.md": "---\nid: o1\n---\nwords"})
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


def test_dreams_and_jobs_see_no_entries(vault: Path, opened: Vault) -> None:
    opened.converse(
        "c", new=[fact(f"f{number}", "Anne likes tea very much") for number in range(3)]
    )
    before = notes(vault)
    for level in (1, 2, 3):
        opened.dream(level)
    opened.consolidate()
    found = {path: text for path, text in notes(vault).items() if "/entries/" in path}
    after = {path: text for path, text in found.items() if "/Chat " not in path}  # made from them
    assert after == before


def test_copies_of_sync_programs_are_no_entries(vault: Path, opened: Vault) -> None:
    opened.converse("c", new=[said("u1"), final("sum")])
    for entry in opened.entries("c"):
        path = vault / entry["path"]
        copy = path.with_name(f"{path.stem}.sync-conflict-20261103-081512-ABCDEFG.md")
        copy.write_text(path.read_text().replace(entry["id"], f"x{entry['id']}"))
    assert len(opened.entries("c")) == 2
    assert len(opened.conversations()) == 1


def test_a_copy_does_not_outlive_what_is_forgotten(vault: Path, opened: Vault) -> None:
    """Such a name may also be a person's own, so it counts as a copy by its id alone."""
    opened.converse("c", new=[said("u1"), said("u2")])
    first, second = opened.entries("c")
    for entry in (first, second):
        path = vault / entry["path"]
        path.with_name(f"{path.stem} 2.md").write_bytes(path.read_bytes())
    assert [entry["path"] for entry in opened.entries("c")] == [first["path"], second["path"]]
    opened.forget(first["id"])
    assert [entry["id"] for entry in opened.entries("c")] == [second["id"]]
    opened.undo(last=True)
    assert [entry["path"] for entry in opened.entries("c")] == [first["path"], second["path"]]
