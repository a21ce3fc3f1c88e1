"""A record of answers with its ledger and its page."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.index_dump import other_state
from vaultmem.index.state import State
from vaultmem.ledger.ledger import Ledger
from vaultmem.memories.item_answers import Answer, item_ids
from vaultmem.pending.record import Record
from vaultmem.synclog.log_entries import Entry, Notified, Page, collect, of_kind, read, render
from vaultmem.synclog.log_folder import LogFolder, answers_in, machine_name
from vaultmem.text.times import seconds

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
