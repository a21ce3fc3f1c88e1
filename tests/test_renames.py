"""Answers and notifications stay with an item whose place changes, and with nothing else."""

from datetime import datetime, timedelta
from pathlib import Path
from unittest.mock import Mock
from zoneinfo import ZoneInfo

import pytest

from tests.conftest import Write
from tests.index_dump import synced
from vaultmem.api import Vault
from vaultmem.index.catalog import Catalog
from vaultmem.memories.item_answers import (
    DONE,
    OPEN,
    SNOOZED,
    Answer,
    completion_id,
)
from vaultmem.pending.open_store import open_store
from vaultmem.pending.pending import Pending
from vaultmem.pending.record import Record
from vaultmem.reminders.due import TASK, Due
from vaultmem.reminders.renames import KEEP_FOR, Entries, Moved, Renames
from vaultmem.synclog.log_entries import Notified
from vaultmem.text.times import stamp

AT = "2026-11-20T10:00:00Z"
DAY = "2026-11-22"
NOW = datetime(2026, 11, 22, 10, tzinfo=ZoneInfo("Europe/Berlin"))
HEARD = {"vm-old": Notified("vm-old", AT, 1, DAY)}


def due(
    id_: str, text: str = "call Anne", path: str = "a.md", line: int = 3, day: str = DAY
) -> Due:
    return Due(id_, TASK, text, day, day, path, line, "A")


def entry(state: str, id_: str = "vm-old") -> dict[str, Answer]:
    return {id_: Answer(id_, state, AT, until="2027-01-01" if state == SNOOZED else "")}


def in_process(vault: Path) -> tuple[Pending, Catalog]:
    """As a new process has them, with an up-to-date index."""
    synced(vault)
    opened = Vault(str(vault))
    return open_store(opened.state, opened.config).pending, opened.searcher().catalog


def looked(vault: Path) -> tuple[Record, list[Due]]:
    waiting, catalog = in_process(vault)
    waiting.refresh(catalog, NOW)
    return waiting.record, waiting.dues(catalog, NOW)


OLD = due("vm-old")


def moved_entries(after: list[Due], entries: Entries, vault: str = "") -> Moved:
    renames = Renames("", vault)
    renames.follow([OLD], entries, 0.0)
    return renames.follow(after, entries, 1.0)


@pytest.mark.parametrize(
    ("new", "state", "answered", "notified"),
    [
        ([OLD, due("vm-new", path="b.md")], DONE, False, True),  # a copy
        ([due("vm-new", "call Anna")], SNOOZED, True, True),  # a line that was mended
        ([due("vm-new", "call Anna")], DONE, False, True),
        ([due("vm-new", "buy some milk")], DONE, False, False),
        ([due("vm-new", day="2026-11-23")], DONE, False, False),
        ([due("vm-new", "call Anna", line=4)], DONE, False, False),
    ],
)
def test_another_thing_is_not_done(
    new: list[Due], state: str, answered: bool, notified: bool
) -> None:
    moved = moved_entries(new, Entries(entry(state), HEARD))
    assert ("vm-new" in moved.answers, "vm-new" in moved.notified) == (answered, notified)


def test_it_is_known_after_a_restart_and_for_a_while(tmp_path: Path) -> None:
    file = str(tmp_path / "pending.dues")
    new = [due("vm-new", path="b.md")]
    first = Renames(file, "")
    assert not first.follow([OLD], Entries(entry(DONE), HEARD), 0.0).notified
    first.keep([OLD], Entries(entry(DONE), HEARD))
    assert Renames(file, "").follow(new, Entries(entry(DONE), HEARD), 5.0).notified
    slow = Renames(str(tmp_path / "other"), "")
    slow.follow([OLD], Entries(entry(DONE), HEARD), 0.0)
    slow.follow([], Entries(entry(DONE), HEARD), 1.0)
    assert slow.follow(new, Entries(entry(DONE), HEARD), KEEP_FOR).answers
    late = Renames(str(tmp_path / "third"), "")
    for dues, now in (([OLD], 0.0), ([], 1.0), ([], 3 * KEEP_FOR)):
        late.follow(dues, Entries(entry(DONE), HEARD), now)
        late.keep(dues, Entries(entry(DONE), HEARD))
    assert not late.follow(new, Entries(entry(DONE), HEARD), 3 * KEEP_FOR).answers


@pytest.mark.parametrize("damaged", ["", "{", "[1, [2]]", '[["vm-old", 1]]', '[["vm-old"]]', "\0"])
def test_a_damaged_file_is_none(tmp_path: Path, damaged: str) -> None:
    file = tmp_path / "pending.dues"
    file.write_text(damaged)
    assert (
        not Renames(str(file), "")
        .follow([due("vm-new")], Entries(entry(DONE), HEARD), 0.0)
        .notified
    )


def test_a_note_that_is_renamed_neither_rings_nor_asks_again(
    vault: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAULTMEM_NOTIFY_METHOD", "file")
    write("One.md", f"- [ ] call Anne 📅 {DAY}\n- [ ] sweep 📅 2026-11-20\n")
    for name in ("Tour", "Trip"):  # due by their properties, under their own names
        write(f"{name}.md", f"---\nremind: {DAY}\n---\n{name}\n")
    write("Week.md", "---\nremind: 2026-11-20\nrepeat: every week\n---\n")

    def looked(*done: str) -> tuple[list[str], list[str]]:
        waiting, catalog = in_process(vault)
        for one in waiting.dues(catalog, NOW):
            if one.text in done:
                waiting.record.add([Answer(one.id, DONE, AT)], [], NOW.timestamp())
        waiting.refresh(catalog, NOW)
        told = waiting.notify(catalog, NOW).alarms
        return [one.title for one in told], [
            one.text for one in waiting.at(catalog, NOW).items() if one.section != "review"
        ]

    told, listed = looked("sweep", "Tour", "Week")
    assert (sorted(told), sorted(listed)) == (["Trip", "call Anne"], ["Trip", "Week", "call Anne"])
    for name in ("One", "Tour", "Trip", "Week"):
        (vault / f"{name}.md").rename(vault / f"New {name}.md")
    told, listed = looked()
    assert (told, sorted(listed)) == ([], ["New Trip", "New Week", "call Anne"])


def test_a_kill_before_the_answers_are_recorded_costs_none(
    vault: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("One.md", f"- [ ] sweep 📅 {DAY}\n")

    record, [sweep] = looked(vault)
    record.add([Answer(sweep.id, DONE, AT)], [], NOW.timestamp())
    looked(vault)
    (vault / "One.md").rename(vault / "Two.md")
    with monkeypatch.context() as killed:
        killed.setattr(Record, "add", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            looked(vault)
    record, [moved] = looked(vault)
    assert (moved.path, record.answers()[moved.id].state) == ("Two.md", DONE)


def test_the_consent_to_tick_tasks_of_a_note_goes_where_the_note_goes_and_with_no_task(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.md").touch()
    consent = entry(DONE, completion_id("a.md"))
    in_folder, elsewhere = due("vm-old", path="x/a.md"), due("vm-new", path="b.md")
    for new in (in_folder, elsewhere):
        moved = moved_entries([new], Entries(consent, {})).answers
        assert [*moved] == [completion_id(new.path)]
        assert not moved_entries([new], Entries(consent, {}), str(tmp_path)).answers


def test_a_note_of_the_same_name_takes_no_answers(vault: Path, write: Write) -> None:
    """While there are two, their tasks' ids depend on the paths."""
    at = NOW

    def looked(*done: str, state: str = DONE) -> list[str]:
        nonlocal at
        at += timedelta(minutes=20)
        pending, catalog = in_process(vault)
        for due in pending.dues(catalog, at):
            if due.path in done:
                until = "2026-12-24" if state == SNOOZED else ""
                answer = Answer(due.id, state, stamp(at.timestamp()), until=until)
                pending.record.add([answer], [], at.timestamp())
        pending.refresh(catalog, at)
        items = pending.at(catalog, at).items()
        return [item.source for item in items if item.section == "today"]

    review = f"- [ ] weekly review 📅 {DAY}\n"
    write("A/Plan.md", review)
    assert looked("A/Plan.md") == []
    write("B/Plan.md", review)
    assert looked() == ["B/Plan.md:1"]
    (vault / "B/Plan.md").unlink()
    assert looked() == []
    write("B/Plan.md", review)
    assert looked() == ["B/Plan.md:1"]
    (vault / "A/Plan.md").unlink()
    assert looked() == ["B/Plan.md:1"]
    assert looked("B/Plan.md", state=SNOOZED) == []
    write("C/Plan.md", review)
    assert looked("B/Plan.md", state=OPEN) == ["B/Plan.md:1", "C/Plan.md:1"]
    (vault / "C/Plan.md").unlink()
    assert looked() == ["B/Plan.md:1"]
    assert looked("B/Plan.md") == []


@pytest.mark.parametrize(("paths", "follows"), [("b.md c.md", 0), ("b.md x/a.md", 1), ("b.md", 1)])
def test_at_most_one_new_note_takes_the_answer(tmp_path: Path, paths: str, follows: int) -> None:
    """The nearest by path; if that may be either, both are open, as a task that is hidden by mistake is missed."""
    after = [due(f"vm-{path}", path=path) for path in paths.split()]
    renames = Renames(str(tmp_path / "pending.dues"), "")
    entries = Entries(entry(DONE), {})
    renames.follow([due("vm-old")], entries, 0.0)
    assert [*renames.follow(after, entries, 1.0).answers] == [after[-1].id] * follows


def test_an_earlier_copy_does_not_keep_an_answer_from_a_note_that_moves(tmp_path: Path) -> None:
    old, copy, new = (due(f"vm-{folder}", path=f"{folder}/a.md") for folder in "xyz")
    renames = Renames(str(tmp_path / "dues"), "")
    entries = Entries(entry(DONE, old.id), {})
    renames.follow([old], entries, 0.0)
    assert not renames.follow([old, copy], entries, 30.0).answers
    assert [*renames.follow([copy, new], entries, 60.0).answers] == [new.id]


@pytest.mark.parametrize("arrive", [0.0, 30.0])
@pytest.mark.parametrize("after", [["w/Plan.md"], []])
def test_an_answer_goes_to_no_other_note(tmp_path: Path, arrive: float, after: list[str]) -> None:
    """Neither if it is renamed nor if it is deleted, though all are new."""
    one, *others = (
        due(f"vm-{path}", path=path) for path in ("x/Plan.md", "y/Plan.md", "z/Plan.md")
    )
    renamed = [due(f"vm-{path}", path=path) for path in after]
    entries = Entries(entry(DONE, one.id), {})
    renames = Renames(str(tmp_path / "pending.dues"), "")
    looks = [([], 0.0), ([others[0]], 1.0), ([one, *others], 1.0 + arrive)]
    for dues, now in looks:
        renames.follow(dues, entries, now)
    moved = renames.follow([*others, *renamed], entries, 60.0)
    assert [*moved.answers] == [new.id for new in renamed]


def test_in_a_renamed_folder_each_same_task_keeps_its_answer(vault: Path, write: Write) -> None:
    for name in ("Anne/Todo", "Ben/Todo", "Cleo"):
        write(f"Clients/{name}.md", f"- [ ] send the invoice 📅 {DAY}\n")
    record, dues = looked(vault)
    done = [due.id for due in dues if due.path in ("Clients/Anne/Todo.md", "Clients/Cleo.md")]
    record.add([Answer(id_, DONE, AT) for id_ in done], [], NOW.timestamp())
    looked(vault)
    (vault / "Clients").rename(vault / "Customers")
    record, dues = looked(vault)
    assert {due.path for due in dues if due.id in record.answers()} == {
        "Customers/Anne/Todo.md",
        "Customers/Cleo.md",
    }


def test_a_list_without_an_agent_follows_renamed_notes(vault: Path, write: Write) -> None:
    write("One.md", f"- [ ] sweep 📅 {DAY}\n- [ ] dust 📅 {DAY}\n")
    record, dues = looked(vault)
    [sweep] = (due for due in dues if due.text == "sweep")
    record.add([Answer(sweep.id, DONE, AT)], [], NOW.timestamp())
    looked(vault)
    (vault / "One.md").rename(vault / "Two.md")
    pending, catalog = in_process(vault)
    before = pending.record.answers()
    items = [item for item in pending.at(catalog, NOW).items() if item.section == "today"]
    assert [(item.text, item.source) for item in items] == [("dust", "Two.md:2")]
    assert pending.record.answers() == before
