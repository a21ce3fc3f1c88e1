"""Answers are in the ledger and in the sync logs: any two machines agree, and no page of any kind loses one."""

import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from tests.index_dump import other_state
from vaultmem.index.state import State
from vaultmem.ledger import reads
from vaultmem.ledger.ledger import Ledger
from vaultmem.memories.item_answers import Answer, item_ids
from vaultmem.pending.record import Record
from vaultmem.synclog.log_entries import Entry, Notified, Page, collect, of_kind, read, render
from vaultmem.synclog.log_folder import LogFolder, answers_in, machine_name
from vaultmem.text.times import seconds, stamp
from vaultmem.vault import write

AT = "2026-11-22T10:00:00Z"
NOW = seconds(AT) or 0.0
IDS = item_ids([("a.md", str(number)) for number in range(8)])
DONE = Answer(IDS[0], "done", AT, "you", "", "call Anne")
DROPPED = Answer(IDS[1], "dropped", AT, "claude", "", "笔记")
SNOOZED = Answer(IDS[2], "snoozed", AT, "you", "2026-11-25T09:00", "pay: until Friday")
BACK = Answer(IDS[3], "open", AT)
ANSWERS = {each.id: each for each in (DONE, DROPPED, SNOOZED, BACK)}
TOLD = {
    each.id: each for each in (Notified(IDS[0], AT), Notified(IDS[4], AT, 3, "2026-11-22T09:00"))
}


def page_of(entries: Iterable[Entry], machine: str = "", style: str = "frontmatter") -> str:
    return render(Page(machine, "", collect(entries)), style)


def answers_of(text: str) -> dict[str, Answer]:
    page = read(text)
    assert page is not None
    return of_kind(page.entries, Answer)


EVERYTHING = [*ANSWERS.values(), *TOLD.values()]


class Machine:
    """A record with its ledger and its page."""

    def __init__(self, vault: Path, style: str = "frontmatter") -> None:
        state = State(str(vault))
        self.ledger = Ledger(state.path("ledger.db"))
        self.pages = LogFolder(str(vault), "vaultmem", style, lambda: machine_name(self.ledger))
        self.record = Record(self.ledger, self.pages)
        self.file = vault / self.pages.path

    def add(self, *answers: Answer) -> None:
        self.record.add(answers, [], NOW)

    def settle(self) -> list[str]:
        return self.record.settle(set(IDS), NOW)

    def kept(self) -> dict[str, Answer]:
        return of_kind(answers_in(self.ledger), Answer)


@pytest.fixture
def machine(vault: Path) -> Machine:
    return Machine(vault)


@pytest.fixture
def file(machine: Machine) -> Path:
    return machine.file


@pytest.fixture
def second(vault: Path, machine: Machine, tmp_path: Path) -> Iterator[Machine]:  # noqa: ARG001 - after the first
    with other_state(tmp_path / "second"):
        yield Machine(vault)


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


def test_a_clock_off_by_a_year_loses_nothing(machine: Machine, second: Machine) -> None:
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
        assert [*collect([one, other]).values()] == [wanted]
        assert [*collect([other, one]).values()] == [wanted]


def test_what_is_old_and_over_is_forgotten(machine: Machine, second: Machine, file: Path) -> None:
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


def test_without_a_vault_only_the_ledger_is_written(machine: Machine, file: Path) -> None:
    machine.record.ledger_only = True
    machine.record.add(ANSWERS.values(), TOLD.values(), NOW)
    machine.record.settle(set(), NOW)
    assert not file.exists()
    machine.record.ledger_only = False
    machine.record.settle(None, NOW)
    assert answers_of(file.read_text("utf-8")) == ANSWERS


# --- The pages: damaged, linked, copied, taken over, being synced


@pytest.mark.parametrize(
    "damage",
    [
        lambda _: b"",
        lambda _: os.urandom(300),
        lambda page: b"\xef\xbb\xbf" + page.replace("\n", "\r\n").encode(),
        lambda page: page.replace("---\n", "<<<<<<< a\n---\n=======\n").encode(),
        lambda page: page.encode()[:303] + b"\xff\xfe\0",
        lambda page: "".join(f"{line}\n" for line in page.split("\n") if IDS[0] in line).encode(),
        lambda page: page.encode() + b"\n- unknown line of a newer version\n" * 100_000,
        lambda _: b"# Not a log\n- but a note of a person\n",
    ],
)
def test_damage_loses_nothing(machine: Machine, file: Path, damage: Callable[[str], bytes]) -> None:
    machine.record.add(ANSWERS.values(), TOLD.values(), NOW)
    file.write_bytes(damage(file.read_text("utf-8")))
    later = DONE._replace(state="open", at="2026-11-22T11:00:00Z")
    machine.add(later)
    assert machine.record.answers() == {**ANSWERS, later.id: later}
    assert machine.settle() == []
    assert answers_of(file.read_text("utf-8")) == {**ANSWERS, later.id: later}


def test_what_is_no_page_of_ours_stays_as_it_is(machine: Machine, file: Path) -> None:
    own = file.with_name("life.md")
    own.parent.mkdir(parents=True)
    own.write_text(f"# Answers to life\n- {DONE.id} done {AT} by you: quoted\n")
    machine.add(SNOOZED)
    assert machine.record.answers() == {SNOOZED.id: SNOOZED}
    assert machine.settle() == []
    assert "to life" in own.read_text()


@pytest.mark.parametrize("what", ["the page", "the folder"])
def test_a_link_leads_nowhere(machine: Machine, file: Path, tmp_path: Path, what: str) -> None:
    outside = tmp_path / "outside" / file.name
    outside.parent.mkdir()
    outside.write_text(page_of(EVERYTHING, machine.pages.machine))
    if what == "the page":
        file.parent.mkdir(parents=True)
        file.symlink_to(outside)
    else:
        file.parent.parent.mkdir()
        file.parent.symlink_to(outside.parent)
    machine.add(Answer(IDS[5], "done", AT))
    assert "is a link" in machine.record.settle(set(), NOW)[0]
    assert outside.read_text() == page_of(EVERYTHING, machine.pages.machine)
    assert set(machine.record.answers()) == {IDS[5]}


@pytest.mark.parametrize("what", ["read-only", "download it", "is not a file"])
def test_a_locked_page_is_told_the_ledger_has_it(machine: Machine, file: Path, what: str) -> None:
    """Closed, taken away by iCloud, or a folder: nothing is written beside it."""
    machine.add(DONE)
    aside = file.with_name(f".{file.name}.{'icloud' if what == 'download it' else 'aside'}")
    if what == "read-only":
        file.chmod(0o444)
    else:
        file.rename(aside)
    if what == "is not a file":
        file.mkdir()
    machine.add(SNOOZED)
    assert what in machine.settle()[0]
    assert file.is_file() == (what == "read-only")
    assert set(machine.record.answers()) == {DONE.id, SNOOZED.id}
    if what == "is not a file":
        file.rmdir()
    if aside.exists():
        aside.rename(file)
    file.chmod(0o644)
    assert machine.settle() == []
    assert set(answers_of(file.read_text("utf-8"))) == {DONE.id, SNOOZED.id}


@pytest.mark.parametrize(
    "ending", [" (conflicted copy)", ".sync-conflict-20261122-101500-ABCDEFG", " 2"]
)
def test_copies_of_the_own_page_are_read_and_put_away(
    machine: Machine, second: Machine, file: Path, ending: str
) -> None:
    machine.add(DONE)
    second.add(DROPPED)
    copy = file.with_name(f"{file.stem}{ending}.md")
    copy.write_text(page_of([SNOOZED], machine.pages.machine), "utf-8")
    of_other = second.file.with_name(f"{second.file.stem}{ending}.md")
    of_other.write_bytes(second.file.read_bytes())
    machine.settle()
    assert not copy.exists()
    assert not list(file.parents[1].glob("archive/*")), "all that it says is on the page"
    assert of_other.exists()
    assert set(answers_of(file.read_text("utf-8"))) == {DONE.id, SNOOZED.id}
    assert set(machine.kept()) == {DONE.id, DROPPED.id, SNOOZED.id}


def test_what_came_onto_the_page_since_is_not_written_over(
    machine: Machine, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.add(DONE)
    real = write.change

    def change(*given: object, **options: object) -> object:
        file.write_text(page_of([DONE, DROPPED], machine.pages.machine), "utf-8")
        return real(*given, **options)  # type: ignore[arg-type] # passed on as it came

    monkeypatch.setattr(write, "change", change)
    machine.add(SNOOZED)
    assert set(answers_of(file.read_text("utf-8"))) == {DONE.id, DROPPED.id, SNOOZED.id}


def test_a_page_on_its_way_and_one_of_another_machine(machine: Machine, second: Machine) -> None:
    reads.add(second.ledger, {"m1": 0}, NOW)
    second.add(DONE)
    coming = second.file.with_name("server-000001.md")
    coming.write_bytes(b"")
    machine.settle()
    assert coming.exists()
    machine.file.write_bytes(second.file.read_bytes())
    machine.add(SNOOZED)
    assert " read " not in machine.file.read_text()
    for one in (machine, second, machine):
        one.settle()
    assert reads.counts(machine.ledger)["m1"].number == 1
