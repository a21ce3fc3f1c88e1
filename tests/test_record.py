"""Answers are in the ledger and in the sync logs: any two machines agree, and no page of whatever kind loses one."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.record_run import (
    ANSWERS,
    AT,
    DONE,
    EVERYTHING,
    IDS,
    NOW,
    SNOOZED,
    TOLD,
    Machine,
    answers_of,
    file,
    machine,
    page_of,
    second,
)
from vaultmem.ledger import reads
from vaultmem.memories.item_answers import Answer
from vaultmem.pending.record import union
from vaultmem.synclog import log_folder
from vaultmem.synclog.log_entries import Notified, Page, of_kind
from vaultmem.synclog.log_folder import answers_in
from vaultmem.text.times import stamp

__all__ = ["file", "machine", "second"]  # fixtures

DAY = 86_400.0


@pytest.mark.parametrize("style", ["frontmatter", "outline"])
def test_what_is_added_is_in_the_ledger_and_on_the_page(vault: Path, style: str) -> None:
    machine = Machine(vault, style)
    machine.record.add(ANSWERS.values(), TOLD.values(), NOW)
    assert machine.file.read_text("utf-8") == page_of(EVERYTHING, machine.pages.machine, style)
    assert machine.kept() == machine.record.answers() == ANSWERS
    assert of_kind(answers_in(machine.ledger), Notified) == machine.record.notified() == TOLD
    before = machine.file.stat().st_mtime_ns
    machine.settle()
    machine.add()
    assert machine.file.stat().st_mtime_ns == before


def test_the_ledger_has_it_before_the_page(machine: Machine, file: Path) -> None:
    file.mkdir(parents=True)
    machine.add(DONE)
    assert machine.record.answers() == {DONE.id: DONE}
    assert "is no file" in machine.record.settle(set(), NOW)[0]
    file.rmdir()
    assert machine.record.settle(set(), NOW) == []
    assert DONE.id in file.read_text("utf-8")


def test_a_clock_that_is_off_by_a_year_loses_nothing_and_is_told(
    machine: Machine, second: Machine
) -> None:
    now = time.time()
    late = DONE._replace(at=stamp(now + 365 * DAY))
    told = Notified(IDS[4], stamp(now + 365 * DAY))
    second.record.add([late, SNOOZED], [told], now)
    [problem] = machine.record.settle(set(IDS), now)
    assert f"the clock of {second.pages.machine} is 365 days ahead" in problem
    machine.record.add([DONE._replace(state="open", at=stamp(now))], [], now)
    assert second.record.settle(set(IDS), now) == []
    for one in (machine, second):
        assert one.record.answers()[DONE.id].state == "open"
        assert one.record.answers()[SNOOZED.id] == SNOOZED


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
    both = {DONE.id: DONE, SNOOZED.id: SNOOZED}
    assert machine.record.answers() == second.record.answers() == both
    for one in (machine, second):
        one.settle()
    assert machine.kept() == second.kept() == both
    before = file.stat().st_mtime_ns, second.file.stat().st_mtime_ns
    for one in (machine, second, machine):
        one.settle()
    assert (file.stat().st_mtime_ns, second.file.stat().st_mtime_ns) == before
    file.unlink()
    second.file.unlink()
    second.settle()
    assert machine.record.notified() == TOLD
    assert answers_of(second.file.read_text("utf-8")) == both


def test_the_pages_are_read_again_only_when_they_change(
    machine: Machine, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.add(DONE)
    os.utime(file, (NOW - DAY, NOW - DAY))
    machine.record.answers()
    reads_of: list[str] = []
    real = log_folder.read

    def spy(text: str, latest: str = "") -> Page | None:
        reads_of.append(text)
        return real(text, latest)

    monkeypatch.setattr(log_folder, "read", spy)
    machine.record.answers()
    machine.record.notified()
    assert not reads_of
    file.write_text(page_of(EVERYTHING, machine.pages.machine), "utf-8")
    assert machine.record.answers() == ANSWERS
    assert len(reads_of) >= 1


def test_what_is_old_and_waits_no_longer_is_forgotten(
    machine: Machine, second: Machine, file: Path
) -> None:
    machine.record.add(ANSWERS.values(), TOLD.values(), NOW)
    second.settle()
    machine.record.settle({IDS[0]}, NOW + 59 * DAY)
    assert machine.record.answers() == ANSWERS
    for one in (machine, second):
        one.record.settle({IDS[0]}, NOW + 61 * DAY)
        one.record.settle(None, NOW + 61 * DAY)
        assert set(one.kept()) == {IDS[0]}
    assert set(answers_of(file.read_text("utf-8"))) == {IDS[0]}
    new = Answer(IDS[5], "done", stamp(NOW + 61 * DAY))
    machine.record.add([new], [], NOW + 61 * DAY)
    machine.record.settle({IDS[0]}, NOW + 62 * DAY)
    assert set(machine.kept()) == {IDS[0], IDS[5]}


def test_in_a_vault_that_is_not_there_only_the_ledger_is_written(
    machine: Machine, file: Path
) -> None:
    machine.record.ledger_only = True
    machine.record.add(ANSWERS.values(), TOLD.values(), NOW)
    machine.record.settle(set(), NOW)
    assert not file.exists()
    machine.record.ledger_only = False
    machine.record.settle(None, NOW)
    assert answers_of(file.read_text("utf-8")) == ANSWERS


def test_reads_of_all_machines_count_once(machine: Machine, second: Machine) -> None:
    def settle() -> None:
        for one in (machine, second, machine):
            one.settle()
            os.utime(one.file, (NOW - DAY, NOW - DAY)) if one.file.exists() else None

    def counted(one: Machine) -> dict[str, int]:
        return {id_: count.number for id_, count in reads.counts(one.ledger).items()}

    machine.add(DONE)
    second.add(SNOOZED)
    settle()
    assert reads.add(machine.ledger, {"m1": 40}, NOW) == {"m1": 41}
    settle()
    reads.add(machine.ledger, {"m1": 40}, NOW + 1)
    reads.add(second.ledger, {"m1": 40, "m2": 0}, NOW + 2)
    settle()
    settle()
    assert counted(machine) == counted(second) == {"m1": 43, "m2": 1}
    assert reads.counts(machine.ledger)["m1"].last == NOW + 2
    assert reads.add(second.ledger, {"m1": 43}, NOW + 3) == {"m1": 44}
    os.unlink(machine.ledger.path)
    settle()
    settle()
    assert counted(machine) == counted(second) == {"m1": 44, "m2": 1}


def test_reads_alone_are_no_reason_to_write(machine: Machine, second: Machine, file: Path) -> None:
    now = time.time()
    reads.add(machine.ledger, {"m1": 0}, now - 3600)
    machine.settle()
    assert not file.exists()  # a machine of one day
    reads.add(machine.ledger, {"m2": 0}, now - 2 * DAY)
    machine.settle()
    assert file.exists()
    reads.add(machine.ledger, {"m1": 0}, now)
    for age, is_written in ((3600, False), (2 * DAY, True)):  # alone, once a day
        os.utime(file, (now - age, now - age))
        machine.settle()
        assert ("m1 read 2x" in file.read_text()) == is_written
    second.add(DONE)
    reads.add(machine.ledger, {"m1": 0}, now)
    for age, is_written in ((60, False), (400, True)):  # beside another one, every five minutes
        os.utime(file, (now - age, now - age))
        machine.settle()
        assert ("m1 read 3x" in file.read_text()) == is_written


def test_what_was_decided_here_is_not_proposed_there(machine: Machine, second: Machine) -> None:
    made = {"3f2a9c01b7de": {"kind": "mention"}, "99aa": {"kind": "orphan"}}
    reads.replace_open(machine.ledger, made, NOW)
    reads.decide(machine.ledger, "3f2a9c01b7de", reads.REJECTED, NOW + 5)
    reads.reinforce(machine.ledger, {"m1": AT}, NOW)
    machine.settle()
    second.settle()
    assert reads.replace_open(second.ledger, made, NOW + 9) == 1
    assert {one.id: one.state for one in reads.kept_proposals(second.ledger)} == {
        "3f2a9c01b7de": reads.REJECTED,
        "99aa": reads.OPEN,
    }
    assert reads.reinforced_at(second.ledger) == {"m1": AT}
