"""A job that nobody watches asks before it archives much, or when the clock is strange."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.index_dump import other_state
from vaultmem.agent import jobs
from vaultmem.api import Vault
from vaultmem.index.state import State
from vaultmem.ledger import reads
from vaultmem.ledger.ledger import Ledger, Run, Runs
from vaultmem.memories.draft import HALTED

DAY = 86_400.0
HOUR = 3_600.0


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("VAULTMEM_EMBEDDING_MODEL", "off")
    monkeypatch.setenv("VAULTMEM_MEMORIES_HISTORY", "off")
    with other_state(tmp_path / "state"):
        yield


class Machine:
    """A computer with a clock that can be wrong, and the jobs of one vault."""

    def __init__(self, vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.vault = vault
        self.now = 1_795_000_000.0
        monkeypatch.setattr("time.time", lambda: self.now)

    def write(self, count: int, first: int = 0) -> None:
        with Vault(str(self.vault)) as opened:
            for number in range(first, first + count):
                opened.write(
                    f"Word{number} of the roof{number} and of boiler{number}",
                    memory_type="episodic",
                )
            opened.sync()

    def run(self, name: str) -> Run:
        with Vault(str(self.vault)) as opened:
            runs = Runs(jobs.ledger(str(self.vault)), lambda: self.now)
            runs.remember([name])
            return runs.carry_out(name, lambda: jobs.JOBS[name].run(opened))

    def archived(self) -> int:
        return len(list(self.vault.glob("vaultmem/archive/*.md")))

    def asks(self) -> list[dict[str, Any]]:
        with Vault(str(self.vault)) as opened:
            opened.ask("notify")
            found = opened.ask("pending")["items"]
        return [one for one in found if "tick if that is right" in one["text"]]

    def tick(self) -> None:
        page = self.vault / "vaultmem" / "pending.md"
        lines = page.read_text("utf-8").splitlines(keepends=True)
        ticked = [
            line.replace("- [ ]", "- [x]") if "tick if that is right" in line else line
            for line in lines
        ]
        assert ticked != lines
        page.write_text("".join(ticked), "utf-8")
        self.now += 60
        with Vault(str(self.vault)) as opened:
            opened.ask("notify")


@pytest.fixture
def machine(vault: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(vault, monkeypatch)


@pytest.mark.parametrize("name", ["expire", "consolidate"])
def test_a_clock_that_is_weeks_ahead_archives_nothing(machine: Machine, name: str) -> None:
    machine.write(3)
    assert machine.run(name).ok
    machine.now += 400 * DAY
    for _ in range(3):  # the wrong time does not become the usual one
        run = machine.run(name)
        assert not run.ok
        assert "the clock says 2027-12-2" in str(run.result)
        machine.now += 2 * HOUR
    assert machine.archived() == 0
    (asked,) = machine.asks()
    assert "ran last on 2026-11-18" in asked["text"]
    ledger = Ledger(State(str(machine.vault)).path("ledger.db"))
    (question,) = reads.findings(ledger, HALTED)
    del question["others"]  # as earlier versions wrote it
    reads.keep_findings(ledger, [HALTED], [question], machine.now)
    machine.now -= 400 * DAY
    assert machine.run(name).ok
    assert machine.asks() == []
    assert machine.archived() == 0


def test_a_computer_that_was_off_for_weeks_goes_on_when_a_person_says_so(machine: Machine) -> None:
    machine.write(3)
    for name in ("expire", "consolidate"):
        assert machine.run(name).ok
    machine.now += 60 * DAY
    assert not machine.run("expire").ok
    assert not machine.run("consolidate").ok
    assert len(machine.asks()) == 1
    machine.tick()
    assert machine.run("consolidate").ok
    assert machine.run("expire").ok
    assert machine.archived() == 3
    assert machine.asks() == []
    machine.now += 60 * DAY
    assert not machine.run("expire").ok, "one answer is for one time"


def test_a_job_takes_back_no_question_of_another(machine: Machine) -> None:
    """Of two that ran last on the same day the one that was due sooner is late, the other not yet."""
    machine.write(3)
    for name in ("expire", "consolidate"):
        assert machine.run(name).ok
    machine.now += 14 * DAY + 2 * HOUR
    for _ in range(2):
        assert not machine.run("expire").ok
        (asked,) = machine.asks()
        assert machine.run("consolidate").ok
        assert machine.asks() == [asked]
    machine.tick()
    assert machine.run("expire").ok


def test_a_job_that_would_archive_too_much_asks_first(machine: Machine) -> None:
    machine.write(20)
    machine.now += 10 * DAY  # past the end of the inbox's patience, within that of the clock
    run = machine.run("expire")
    assert run.ok is None, "it waits, and has not failed"
    assert "expire would archive 20 of 20 memories at once" in str(run.result)
    assert machine.archived() == 0
    (asked,) = machine.asks()
    assert "20 of 20" in asked["text"]
    machine.tick()
    assert machine.run("expire").ok
    assert machine.archived() == 20


def test_archiving_a_few_or_by_command_asks_nothing(machine: Machine) -> None:
    machine.write(4)
    machine.now += 10 * DAY
    machine.write(20, first=4)
    assert machine.run("expire").ok
    assert machine.archived() == 4
    machine.now += 10 * DAY
    with Vault(str(machine.vault)) as opened:
        opened.expire()
    assert machine.archived() == 24
