"""Memories on real folders: dreams, manual changes and proposals; and hostile and damaged vaults, where memories stay where
their path says, and a person's notes stay unchanged."""

import os
import shutil
import time
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.conftest import Write, fill
from tests.memories_run import FACTS, files
from tests.stand_in_agent import agent_for
from vaultmem import Vault
from vaultmem.errors import StateError, VaultmemError
from vaultmem.ledger import reads
from vaultmem.ledger.ledger import Ledger
from vaultmem.memories.draft import Finding
from vaultmem.memories.item_answers import finding_id
from vaultmem.progress import report_to
from vaultmem.service import doctor

PLAIN = "We decided to use Postgres for billing instead of MySQL"


@pytest.mark.parametrize("kind", ["symlink", "hard link", "own note", "folder", "fifo"])
def test_what_changed_is_written_over_nothing_of_a_person(
    vault: Path, opened: Vault, write: Write, kind: str
) -> None:
    diary = write("Diary.md", "mine\n")
    (vault / "vaultmem").mkdir()
    place = vault / "vaultmem" / "What changed.md"
    if kind == "symlink":
        place.symlink_to("../Diary.md")
    elif kind == "hard link":
        os.link(diary, place)
    elif kind == "own note":
        place.write_text("also mine\n")
    elif kind == "folder":
        place.mkdir()
    else:
        os.mkfifo(place)
    opened.write(PLAIN)
    assert len(opened.dream(1)["changes"]) == 1
    assert diary.read_text() == "mine\n"
    if kind == "own note":
        assert place.read_text() == "also mine\n"
    assert not opened.dream(1)["changes"]


@pytest.mark.parametrize("page", ["What changed", "Memory"])
def test_copies_that_sync_programs_leave_of_pages_are_removed(
    vault: Path, opened: Vault, write: Write, page: str
) -> None:
    """And the history does not say that the person made and moved them."""
    generated = f"---\ngenerated: vaultmem\n---\n\n# {page}\n"
    stray = f"{page}.sync-conflict-20261122-101500-ABCDEFG.md"
    write(f"vaultmem/{stray}", generated)
    own = write(f"vaultmem/{page} (conflicted copy 2026-11-21).md", "mine\n")
    opened.write(PLAIN)
    opened.dream(1)
    assert not (vault / "vaultmem" / stray).exists()
    assert opened.history()
    assert stray not in str(opened.history())
    assert not (vault / "vaultmem" / "archive" / stray).exists()
    assert own.read_text() == "mine\n"


def test_a_hard_link_into_the_memory_folder_leaves_the_note_outside_alone(
    vault: Path, opened: Vault, write: Write
) -> None:
    note = write("Notes/Roof.md", "We decided to use slate instead of tin.\n")
    os.utime(note, (1_700_000_000, 1_700_000_000))
    inside = vault / "vaultmem" / "inbox" / "R.md"
    inside.parent.mkdir(parents=True)
    os.link(note, inside)
    opened.dream(1)
    opened.tag("R", "roof")
    opened.delete("R")
    assert note.read_text() == "We decided to use slate instead of tin.\n"
    assert [memory["title"] for memory in opened.memories(deleted=True)] == ["R"]


@pytest.mark.parametrize("link", ["vaultmem", "vaultmem/inbox", "vaultmem/archive"])
def test_a_linked_folder_is_refused_before_anything_is_written(
    vault: Path, opened: Vault, write: Write, link: str
) -> None:
    write("Notes/Roof.md", "mine\n")
    if link == "vaultmem/archive":
        opened.write(PLAIN)
    (vault / link).parent.mkdir(parents=True, exist_ok=True)
    (vault / link).symlink_to(vault / "Notes")
    with pytest.raises(VaultmemError, match="is a link"):
        opened.delete(PLAIN) if link == "vaultmem/archive" else opened.write(PLAIN)
    assert [*(vault / "Notes").iterdir()] == [vault / "Notes" / "Roof.md"]
    if link == "vaultmem/archive":
        assert opened.read(PLAIN)["content"] == PLAIN


def test_a_time_that_no_calendar_has_hurts_only_itself(opened: Vault, write: Write) -> None:
    moments = ("9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00", "9999-12-31", "soon")
    keys = ("created_at", "updated_at", "expires_at", "last_reinforced_at")
    odd = [(key, moment) for key in keys for moment in moments]
    for number, (key, moment) in enumerate(odd):
        text = f'---\nid: odd-{number}\n{key}: "{moment}"\n---\nText {number} of it\n'
        write(f"vaultmem/knowledge/Odd {number}.md", text)
    opened.write(PLAIN)
    assert len(opened.memories(since="2001-01-01")) >= 1
    for number in range(len(odd)):
        assert opened.read(f"Odd {number}")["content"] == f"Text {number} of it"
    opened.dream(3)
    opened.consolidate()
    for memory in opened.memories():
        opened.delete(memory["id"])


@pytest.mark.parametrize("kind", ["folder", "fifo", "dangling link"])
def test_what_is_no_note_takes_no_name_away(vault: Path, opened: Vault, kind: str) -> None:
    for folder in ("inbox", "archive"):
        place = vault / "vaultmem" / folder / "Hello there.md"
        place.parent.mkdir(parents=True)
        if kind == "folder":
            place.mkdir()
        elif kind == "fifo":
            os.mkfifo(place)
        else:
            place.symlink_to("nowhere")
    one = opened.write("Hello there")
    assert one["title"] != "Hello there"
    assert opened.delete(one["id"])["deleted"]


def test_undo_takes_nothing_of_a_person_for_a_memory(vault: Path, opened: Vault) -> None:
    one = opened.write("Groceries list", by="claude")
    (vault / "Notes").mkdir()
    (vault / one["path"]).rename(vault / "Notes" / "Groceries list.md")
    (vault / one["path"]).write_text("my own groceries\n")
    said = opened.undo(name="claude", since="1h")
    assert (vault / one["path"]).read_text() == "my own groceries\n"
    assert (vault / "Notes" / "Groceries list.md").exists()
    assert not said["changes"]
    assert said["refused"]


def test_undo_of_what_a_person_did_is_for_the_person(vault: Path, opened: Vault) -> None:
    opened.write(PLAIN, by="claude")
    assert len(opened.history()) == 1
    fill(vault, {"vaultmem/people/Carl.md": "Carl likes pears\n"})
    assert opened.history()[0]["by"] == "you"
    assert opened.undo(last=True, dry_run=True)["undone"][0]["by"] == "claude"
    with pytest.raises(VaultmemError, match="nothing to undo"):
        opened.undo(name="you", since="1h")
    assert (vault / "vaultmem/people/Carl.md").exists()


def test_reading_never_waits_for_a_fifo(vault: Path, opened: Vault) -> None:
    one = opened.write(PLAIN)
    opened.tag(one["id"], "x")
    (vault / one["path"]).unlink()
    os.mkfifo(vault / one["path"])
    assert opened.undo(last=True)["refused"]


def test_scopes_do_not_leak_into_what_contradicts(opened: Vault) -> None:
    opened.write("The deploy branch is main", scope="agent:claude")
    said = opened.write("The deploy branch is release", scope="agent:codex")
    assert said["contradicts"] == []
    seen = opened.write("The deploy branch is trunk", scope="agent:codex")
    assert [one["id"] for one in seen["contradicts"]] == [said["id"]]


def test_times_are_those_of_the_person_s_clock(
    opened: Vault, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import time

    monkeypatch.setenv("TZ", "Asia/Shanghai")
    time.tzset()
    try:
        said = opened.write("Ends in the evening", expires="2199-01-01T20:00")
    finally:
        monkeypatch.undo()
        time.tzset()
    assert said["expires_at"] == "2199-01-01T12:00:00Z"
    assert (vault / said["path"]).exists()


def test_what_was_written_is_not_called_a_failure_when_the_state_is_full_afterwards(
    vault: Path, opened: Vault, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever repeats an undo that is done undoes one change more."""

    def full(*_: object) -> None:
        raise StateError("ledger.db cannot be used: free some space")

    opened.write(PLAIN)
    opened.write("Anne's birthday is 3 May")
    with monkeypatch.context() as patch:
        patch.setattr(reads, "leave", full)
        written = opened.write("Lesson learned: never deploy on a Friday afternoon")
        assert (vault / written["path"]).exists()
        assert "free some space" in caplog.text
    opened.tag(written["id"], "work")
    with monkeypatch.context() as patch:
        patch.setattr(reads, "leave", full)
        assert opened.undo(last=True)["undone"]
    assert opened.read(written["id"])["tags"] == []
    assert opened.history()[0]["why"].startswith("undo: tag")


def texts(vault: Path) -> str:
    """All text in memories, live or archived."""
    return "\n".join(data.decode() for data in files(vault, "vaultmem").values())


def test_a_dream_files_what_is_plain_and_says_why(vault: Path, opened: Vault, write: Write) -> None:
    write("Mine.md", "[[Nowhere]] and dark mode")
    opened.sync()
    outside = {
        path: data for path, data in files(vault).items() if not path.startswith("vaultmem/")
    }
    for fact in FACTS:
        opened.write(fact)
    before = files(vault)
    shown = opened.dream(1, dry_run=True)
    assert files(vault) == before
    done = opened.dream(1)
    assert [c["target"] for c in done["changes"]] == [c["target"] for c in shown["changes"]]
    filed = {m["content"]: m["category"] for m in opened.memories()}
    assert filed[FACTS[0]] == "preferences"
    assert filed[FACTS[1]] == "decisions"
    assert filed[FACTS[3]] == "lessons"
    assert all(change["why"] for change in done["changes"])
    assert not opened.dream(1)["changes"]
    assert not opened.dream(3)["changes"]
    now = files(vault)
    assert {path: now[path] for path in outside} == outside


def test_what_was_undone_is_not_done_again(opened: Vault, vault: Path) -> None:
    one = opened.write(FACTS[0])
    opened.dream(1)
    opened.undo(last=True)
    assert not opened.dream(1)["changes"]
    assert opened.read(one["id"])["category"] == "inbox"
    opened.tag(one["id"], "ui")
    (vault / one["path"]).write_text((vault / one["path"]).read_text() + "more of it\n")
    os.utime(vault / one["path"], (time.time() - 86_400,) * 2)
    assert opened.dream(1)["changes"]


class Heard:
    """A Progress that remembers its stages: name, total, done."""

    def __init__(self) -> None:
        self.stages: list[tuple[str, int, int]] = []

    def stage(self, name: str, total: int) -> None:
        self.stages.append((name, total, 0))

    def advance(self, count: int = 1) -> None:
        name, total, done = self.stages[-1]
        self.stages[-1] = (name, total, done + count)


@pytest.mark.parametrize("by_agent", [False, True])
def test_a_dream_reports_its_progress(vault: Path, opened: Vault, by_agent: bool) -> None:
    for fact in FACTS[:3]:
        opened.write(fact)
    heard = Heard()
    with agent_for(vault) if by_agent else nullcontext(), report_to(heard):
        opened.dream(2)
    names = {name for name, _, _ in heard.stages}
    if by_agent:  # which does not forward every line
        assert names
    else:
        assert names == {"filing", "comparing", "writing"}
        assert all(done == total for _, total, done in heard.stages)


def test_findings_without_ids_of_an_earlier_version_stop_no_dream(opened: Vault) -> None:
    one = opened.write(FACTS[0])
    ledger = Ledger(opened.state.path("ledger.db"))
    old: Finding = {"kind": "unsure", "subject": one["path"], "said": "nothing tells", "others": []}
    reads.keep_findings(ledger, ["unsure"], [old], 0.0)
    opened.dream(3)
    assert all(row["ids"] for row in reads.findings(ledger))


def test_merging_keeps_every_word_and_every_link(vault: Path, opened: Vault) -> None:
    text = "The release needs a tag, a changelog, a green build and two reviews before it goes out, and a cake for all"
    a = opened.write(text, category="project")
    b = opened.write(text + "\n\nand somebody has to hum\n", category="project", tags=["hum"])
    c = opened.write(f"See [[{b['title']}]] before Friday", category="project")
    words = set(texts(vault).split())
    opened.read(a["id"])
    opened.dream(2)
    alive = {m["id"]: m for m in opened.memories()}
    assert set(alive) == {a["id"], c["id"]}
    assert "somebody has to hum" in alive[a["id"]]["content"]
    assert alive[a["id"]]["tags"] == ["hum"]
    assert a["id"] in alive[c["id"]]["links"] or a["title"] in alive[c["id"]]["content"]
    assert {word for word in words if word.isalpha()} <= set(texts(vault).split())
    assert not opened.dream(2)["changes"]


def test_a_memory_folder_that_was_deleted_by_mistake_comes_back(opened: Vault, vault: Path) -> None:
    paths = [opened.write(words)["path"] for words in ("Anne prefers trains", "Bob plays go")]
    before = {path: (vault / path).read_bytes() for path in paths}
    opened.sync()
    shutil.rmtree(vault / "vaultmem")
    (gone,) = (each for each in doctor.examine(opened) if "with the memories is gone" in each.what)
    assert "vaultmem undo" in gone.advice
    with pytest.raises(VaultmemError, match="brings it back"):
        opened.read("Anne prefers trains")
    with pytest.raises(VaultmemError, match="nothing has the id, title or path"):
        opened.edit("Anne prefers trains", "Anne prefers planes")
    assert {each["path"] for each in opened.memories(deleted=True)} == {*paths}
    removal = opened.history()[0]
    assert removal["why"] == "removed outside vaultmem"
    opened.undo(removal["commit"])
    assert {path: (vault / path).read_bytes() for path in paths} == before


def test_a_contradiction_waits_until_it_is_answered_or_edited(
    opened: Vault, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dream compares only what is a few days old, but its earlier findings must stay."""
    monkeypatch.setenv("VAULTMEM_NOW", str(time.time() - 60))
    older = opened.write("Project Atlas uses Postgres 14.")["id"]
    monkeypatch.delenv("VAULTMEM_NOW")
    newer = opened.write("Project Atlas uses Postgres 16.")["id"]
    opened.dream(3)
    for days in (10, 40):
        monkeypatch.setenv("VAULTMEM_NOW", str(time.time() + days * 86_400))
        opened.dream(3)
        assert [one["id"] for one in opened.waiting()["findings"]] == [newer]
        path = vault / opened.read(newer)["path"]
        path.rename(path.with_name(f"Renamed {days}.md"))
        opened.sync()
        assert opened.waiting()["findings"][0]["subject"].endswith(f"/Renamed {days}.md")
    (finding,) = opened.waiting()["findings"]
    question = finding_id({"kind": "contradiction", "subject": "", "ids": [newer, older]})
    for state, is_open in (("dropped", False), ("open", True)):
        opened.ask("answer", id=question, state=state)
        assert opened.waiting()["findings"] == [finding] * is_open
    opened.delete(older)
    assert not opened.waiting()["findings"]
    opened.restore(older)
    assert opened.waiting()["findings"] == [finding]
    opened.edit(newer, "Project Birch uses Postgres 16.")
    opened.dream(3)
    assert not opened.waiting()["findings"]


def test_a_conflict_copy_that_differs_only_in_what_is_counted_needs_no_person(
    vault: Path, opened: Vault
) -> None:
    one = opened.write("Anne prefers trains", category="people")
    path = vault / one["path"]
    written = path.read_text()
    counted, edited = (path.with_name(f"{path.stem} (conflicted copy 2026-11-2{day}).md") for day in "12")  # fmt: skip
    counted.write_text(written.replace("\n---", "\naccess_count: 7\n---", 1))
    edited.write_text(written.replace("trains", "trains and buses"))
    copies = {each: each.read_text() for each in (counted, edited)}
    for file in (path, *copies):
        os.utime(file, (time.time() - 3_600,) * 2)
    (done,) = opened.dream(1)["changes"]
    assert done["target"] == f"vaultmem/archive/notes/vaultmem/people/{counted.name}"
    assert (counted.exists(), edited.exists()) == (False, True)
    assert [memory["id"] for memory in opened.memories()] == [one["id"]]
    assert not opened.dream(1)["changes"]
    opened.undo(last=True)
    assert {each: each.read_text() for each in copies} == copies
    assert path.read_text() == written
    assert not opened.dream(1)["changes"], "what was undone is not done again"


def test_copies_count_for_the_limit_of_a_dream(vault: Path, opened: Vault) -> None:
    path = vault / opened.write("Anne prefers trains", category="people")["path"]
    os.utime(path, (time.time() - 3_600,) * 2)
    for day in "123":
        shutil.copy2(path, path.with_name(f"{path.stem} (conflicted copy 2026-11-2{day}).md"))
    for limit, left in ((2, 1), (1, 0)):
        done = opened.ask("dream", level=1, limit=limit)
        assert (len(done["changes"]), done["left"]) == (limit, left)


def test_copies_follow_their_memory_to_the_archive(vault: Path, opened: Vault) -> None:
    path = vault / opened.write("Anne prefers trains", category="people")["path"]
    for ending in (" (conflicted copy 2026-11-21)", " 2"):
        shutil.copy2(path, path.with_name(f"{path.stem}{ending}.md"))
    opened.delete(path.stem)
    for file in vault.rglob("Anne*.md"):
        os.utime(file, (time.time() - 3_600,) * 2)
    assert not opened.memories()
    opened.sync()
    assert not opened.recall("trains")["memories"]
    assert len(opened.dream(1)["changes"]) == 2
