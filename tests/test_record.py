"""Answers are in the ledger and on answers.md: any two machines agree, and no page of whatever kind loses one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.index_dump import other_state
from vaultmem.index.state import State
from vaultmem.memories.item_answers import Answer, item_ids
from vaultmem.memories.ledger import Ledger
from vaultmem.reminders import record
from vaultmem.reminders.record import Entries, Notified, Record, plain, read, render, union
from vaultmem.text.times import seconds, stamp
from vaultmem.vault import write

AT = "2026-11-22T10:00:00Z"
NOW = seconds(AT) or 0.0
DAY = 86_400.0
IDS = item_ids([("a.md", str(number)) for number in range(8)])
DONE = Answer(IDS[0], "done", AT, "you", "", "call Anne")
DROPPED = Answer(IDS[1], "dropped", AT, "claude", "", "笔记")
SNOOZED = Answer(IDS[2], "snoozed", AT, "you", "2026-11-25T09:00", "pay: until Friday")
BACK = Answer(IDS[3], "open", AT)
ANSWERS = {each.id: each for each in (DONE, DROPPED, SNOOZED, BACK)}
TOLD = {
    each.id: each for each in (Notified(IDS[0], AT), Notified(IDS[4], AT, 3, "2026-11-22T09:00"))
}
STYLES = ["frontmatter", "outline"]


def page_of(answers: Iterable[Answer], told: Iterable[Notified], style: str) -> str:
    return render(Entries({one.id: one for one in answers}, {one.id: one for one in told}), style)


def entries(text: str) -> Entries:
    found = read(text)
    assert found is not None
    return found


PAGE = page_of(ANSWERS.values(), TOLD.values(), "frontmatter")


class Machine:
    """A record with its ledger."""

    def __init__(self, vault: Path, style: str = "frontmatter") -> None:
        self.ledger = Ledger(State(str(vault)).path("ledger.db"))
        self.record = Record(str(vault), "vaultmem", self.ledger, style)

    def add(self, *answers: Answer) -> None:
        self.record.add(answers, [], NOW)


def in_ledger(machine: Machine) -> Entries:
    return machine.record._in_ledger()


@pytest.fixture
def machine(vault: Path) -> Machine:
    return Machine(vault)


@pytest.fixture
def file(vault: Path) -> Path:
    return vault / "vaultmem/answers.md"


@pytest.fixture
def second(vault: Path, machine: Machine, tmp_path: Path) -> Iterator[Machine]:  # noqa: ARG001 - after the first
    with other_state(tmp_path / "second"):
        yield Machine(vault)


# --- Lines

NAMES = st.text(max_size=30)
WHEN = st.integers(0, 5_000_000_000).map(lambda s: stamp(s + 946_684_800))
GIVEN = st.builds(
    Answer,
    st.sampled_from(IDS),
    st.sampled_from(["open", "done", "dropped", "snoozed"]),
    WHEN,
    NAMES,
    st.sampled_from(["", "2026-11-25", "2026-11-25T09:00", "soon", "2026-11-25 by x"]),
    st.text(max_size=200),
)


@given(GIVEN)
@settings(max_examples=400, deadline=None)
def test_a_line_says_all_of_an_answer(given: Answer) -> None:
    answer = plain(given)
    assert plain(answer) == answer
    assert entries(page_of([answer], [], "frontmatter")).answers == {answer.id: answer}


@given(st.lists(GIVEN, max_size=6), st.sampled_from(STYLES), st.data())
@settings(max_examples=200, deadline=None)
def test_what_is_cut_off_or_mixed_in_never_beats_what_is_whole(
    given: list[Answer], style: str, data: st.DataObject
) -> None:
    whole = union(*({each.id: plain(each)} for each in given))
    text = page_of(whole.values(), TOLD.values(), style)
    cut = text[: data.draw(st.integers(0, len(text)))]
    other = f"<<<<<<< a\n{cut}\n=======\r\n{text.replace(chr(10), chr(13) + chr(10))}>>>>>>> b\n"
    assert entries(other).answers == whole
    assert union(whole, (read(cut) or Entries({}, {})).answers) == whole
    assert entries(other).notified == TOLD


@pytest.mark.parametrize("style", STYLES)
def test_the_page_can_be_read_by_people(style: str) -> None:
    page = page_of(ANSWERS.values(), TOLD.values(), style)
    assert f"- {IDS[0]} done 2026-11-22T10:00:00Z by you: call Anne\n" in page
    assert f"- {IDS[4]} told 2026-11-22T10:00:00Z 3x for 2026-11-22T09:00\n" in page
    said = entries(page)
    assert said == Entries(ANSWERS, TOLD)
    assert page == page_of(reversed(ANSWERS.values()), reversed(TOLD.values()), style)


@pytest.mark.parametrize(
    "line",
    [
        f"{IDS[0]} done {AT}",
        f"- {IDS[0]} done 2026-13-22T10:00:00Z",
        f"- {IDS[0]} done 9999-11-22T10:00:00Z by you",
        f"- {IDS[0]} finished {AT} by you",
        f"- {IDS[0]} done {AT} until tomorrow by you",
        f"- vm-a done {AT} by you",
        f"- {IDS[0]} told {AT} x",
    ],
)
def test_what_is_no_line_of_ours_says_nothing(line: str) -> None:
    said = entries(f"generated: vaultmem\n{line}\n")
    assert not said.answers
    assert not said.notified
    assert read(f"{line}\n") is None


# --- The record


def test_nothing_to_say_makes_no_file(machine: Machine, vault: Path) -> None:
    machine.add()
    assert machine.record.settle(set(), NOW) == []
    assert machine.record.answers() == {}
    assert not (vault / "vaultmem").exists()


def test_what_is_added_is_in_the_ledger_and_on_the_page(machine: Machine, file: Path) -> None:
    machine.record.add(ANSWERS.values(), TOLD.values(), NOW)
    assert file.read_text("utf-8") == PAGE
    assert in_ledger(machine).answers == machine.record.answers() == ANSWERS
    assert in_ledger(machine).notified == machine.record.notified() == TOLD
    before = file.stat().st_mtime_ns
    machine.record.settle(set(IDS), NOW)
    machine.add()
    assert file.stat().st_mtime_ns == before


def test_the_ledger_has_it_before_the_page(machine: Machine, file: Path) -> None:
    file.mkdir(parents=True)
    machine.add(DONE)
    assert machine.record.answers() == {DONE.id: DONE}
    assert "is no file" in machine.record.settle(set(), NOW)[0]
    file.rmdir()
    assert machine.record.settle(set(), NOW) == []
    assert DONE.id in file.read_text("utf-8")


def test_a_later_answer_counts_whatever_the_clocks_say(machine: Machine) -> None:
    ahead = DONE._replace(at="2031-01-01T00:00:00Z")
    machine.add(ahead)
    machine.add(DONE._replace(state="open"))
    assert machine.record.answers()[DONE.id].state == "open"


def test_of_two_answers_the_later_one_counts_in_any_order() -> None:
    early = Answer("vm-aaaaaa", "done", "2026-11-22T10:00:00Z")
    late = Answer("vm-aaaaaa", "open", "2026-11-22T10:00:01Z")
    same = early._replace(state="snoozed", until="2026-11-30")
    for one, other, wanted in ((early, late, late), (early, same, same)):
        assert union({one.id: one}, {other.id: other}) == {one.id: wanted}
        assert union({other.id: other}, {one.id: one}) == {one.id: wanted}


def test_two_machines_hear_of_each_other_and_are_silent_then(
    machine: Machine, second: Machine, file: Path
) -> None:
    machine.add(DONE)
    second.record.add([SNOOZED], TOLD.values(), NOW)
    assert (
        machine.record.answers() == second.record.answers() == {DONE.id: DONE, SNOOZED.id: SNOOZED}
    )
    for one in (machine, second):
        one.record.settle(set(IDS), NOW)
    before = file.stat().st_mtime_ns
    for one in (machine, second, machine):
        one.record.settle(set(IDS), NOW)
    assert file.stat().st_mtime_ns == before
    file.unlink()
    assert in_ledger(machine).answers == in_ledger(second).answers
    second.record.settle(set(IDS), NOW)
    assert machine.record.notified() == TOLD


def test_the_page_is_read_again_only_when_it_changes(
    machine: Machine, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.add(DONE)
    os.utime(file, (NOW - DAY, NOW - DAY))
    machine.record.answers()
    reads: list[str] = []
    real = record.read

    def spy(text: str) -> Entries | None:
        reads.append(text)
        return real(text)

    monkeypatch.setattr(record, "read", spy)
    machine.record.answers()
    machine.record.notified()
    assert not reads
    file.write_text(PAGE, "utf-8")
    assert machine.record.answers() == ANSWERS
    assert len(reads) >= 1


def test_what_is_old_and_waits_no_longer_is_forgotten(machine: Machine, file: Path) -> None:
    machine.record.add(ANSWERS.values(), TOLD.values(), NOW)
    machine.record.settle({IDS[0]}, NOW + 59 * DAY)
    assert machine.record.answers() == ANSWERS
    machine.record.settle({IDS[0]}, NOW + 61 * DAY)
    assert set(in_ledger(machine).answers) == {IDS[0]}
    assert set(in_ledger(machine).notified) == {IDS[0]}
    new = Answer(IDS[5], "done", stamp(NOW + 61 * DAY))
    machine.record.add([new], [], NOW + 61 * DAY)
    machine.record.settle({IDS[0]}, NOW + 61 * DAY)
    assert {IDS[0], IDS[5]} == set(entries(file.read_text("utf-8")).answers)
    machine.record.settle({IDS[0]}, NOW + 62 * DAY)
    assert set(in_ledger(machine).answers) == {IDS[0], IDS[5]}


def test_in_a_vault_that_is_not_there_only_the_ledger_is_written(
    machine: Machine, file: Path
) -> None:
    machine.record.ledger_only = True
    machine.record.add(ANSWERS.values(), TOLD.values(), NOW)
    machine.record.settle(set(), NOW)
    assert not file.exists()
    machine.record.ledger_only = False
    machine.record.settle(None, NOW)
    assert entries(file.read_text("utf-8")).answers == ANSWERS


@pytest.mark.parametrize(
    "damaged",
    [
        b"",
        b"\0" * 500,
        PAGE.encode("utf-16"),
        b"\xef\xbb\xbf" + PAGE.replace("\n", "\r\n").encode(),
        PAGE.replace("---\n", "<<<<<<< a\n---\n=======\n").encode(),
        PAGE[:300].encode(),
        PAGE.encode()[:303] + b"\xff\xfe\0",
        PAGE.replace("generated: vaultmem", 'generated: "vaultmem"').encode(),
        ("".join(line + "\n" for line in PAGE.split("\n") if IDS[0] in line)).encode(),
        PAGE.encode() + b"\n- unknown line of a newer version\n" * 100_000,
    ],
)
def test_a_damaged_page_loses_nothing(machine: Machine, file: Path, damaged: bytes) -> None:
    machine.record.add(ANSWERS.values(), TOLD.values(), NOW)
    file.write_bytes(damaged)
    later = DONE._replace(state="open", at="2026-11-22T11:00:00Z")
    machine.add(later)
    assert machine.record.answers() == {**ANSWERS, later.id: later}
    assert machine.record.settle(set(IDS), NOW) == []
    said = entries(file.read_text("utf-8"))
    assert said.answers == {**ANSWERS, later.id: later}


def test_a_note_of_a_person_stays_as_it_is(machine: Machine, file: Path) -> None:
    file.parent.mkdir()
    own = f"# Answers to life\n- {DONE.id} done {AT} by you: quoted\n"
    file.write_text(own)
    machine.add(SNOOZED)
    assert machine.record.answers() == {SNOOZED.id: SNOOZED}
    assert "is a note of yours" in machine.record.settle(set(), NOW)[0]
    assert file.read_text() == own


def test_a_link_is_not_written_through(machine: Machine, file: Path, tmp_path: Path) -> None:
    file.parent.mkdir()
    outside = tmp_path / "outside.md"
    outside.write_text(PAGE)
    file.symlink_to(outside)
    machine.add(Answer(IDS[5], "done", AT))
    assert "is a link" in machine.record.settle(set(), NOW)[0]
    assert outside.read_text() == PAGE
    assert set(machine.record.answers()) == {IDS[5]}


def test_a_file_that_cannot_be_written_is_told(machine: Machine, file: Path) -> None:
    machine.add(DONE)
    file.chmod(0o444)
    machine.add(SNOOZED)
    assert "read-only" in machine.record.settle(set(IDS), NOW)[0]
    assert set(machine.record.answers()) == {DONE.id, SNOOZED.id}
    file.chmod(0o644)
    assert machine.record.settle(set(IDS), NOW) == []


@pytest.mark.parametrize(
    "name",
    [
        "answers (conflicted copy).md",
        "answers.sync-conflict-20261122-101500-ABCDEFG.md",
        "answers 2.md",
    ],
)
def test_conflict_copies_are_read_and_put_away(machine: Machine, file: Path, name: str) -> None:
    machine.add(DONE)
    copy = file.with_name(name)
    copy.write_text(page_of([SNOOZED], TOLD.values(), "frontmatter"), "utf-8")
    own = file.with_name("answers 3.md")
    own.write_text("mine")
    assert set(machine.record.answers()) == {DONE.id, SNOOZED.id}
    machine.record.settle(set(IDS), NOW)
    assert not copy.exists()
    assert (file.parent / "archive" / name).exists()
    assert own.read_text() == "mine"
    assert entries(file.read_text("utf-8")).answers == machine.record.answers()
    assert set(in_ledger(machine).answers) == {DONE.id, SNOOZED.id}


def test_what_came_onto_the_page_since_is_not_written_over(
    machine: Machine, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.add(DONE)
    real = write.change

    def change(*given: object, **options: object) -> object:
        file.write_text(page_of([DONE, DROPPED], [], "frontmatter"), "utf-8")
        return real(*given, **options)  # type: ignore[arg-type] # passed on as it came

    monkeypatch.setattr(write, "change", change)
    machine.add(SNOOZED)
    assert set(entries(file.read_text("utf-8")).answers) == {
        DONE.id,
        DROPPED.id,
        SNOOZED.id,
    }
