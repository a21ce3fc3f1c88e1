"""A person, a machine, their clocks and a scheduler, for tests."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from vaultmem.agent.scheduler import Scheduler, Timing
from vaultmem.ledger.ledger import CUT_SHORT, Ledger, Run

PATIENCE = 60.0  # seconds for what takes milliseconds
DAY = 86_400.0
NOW = datetime(2026, 6, 10, 12, 0, tzinfo=UTC).timestamp()


class World:
    """A person, a machine and their clocks, advanced by hand."""

    def __init__(self, path: Path, at: float = NOW) -> None:
        self.wall = at
        self.steady = 0.0
        self.reason: str | None = None  # for which the job "gentle" waits
        self.done: list[str] = []
        self.ledger = Ledger(str(path / "ledger.db"))
        self.work: Callable[[str], str] = lambda name: f"{name} done"
        self.ran = threading.Condition()
        self.timing = Timing(
            now=lambda: self.wall, monotonic=lambda: self.steady, timezone=UTC, jitter=0.0, retry=0.02,
            heartbeat=3_600.0,
        )  # fmt: skip

    def reason_to_wait(self, name: str) -> str | None:
        return self.reason if name != "often" else None

    def run(self, name: str) -> str:
        try:
            return self.work(name)
        finally:
            with self.ran:
                self.done.append(name)
                self.ran.notify_all()

    def await_runs(self, *names: str) -> None:
        with self.ran:
            assert self.ran.wait_for(lambda: len(self.done) >= len(names), PATIENCE), self.done
        assert sorted(self.done) == sorted(names)

    def pass_(self, seconds: float, clock: Scheduler) -> None:
        """Let the computer sleep."""
        self.wall += seconds
        clock.beat()

    @contextmanager
    def clock(self, *jobs: dict[str, str], timing: Timing | None = None) -> Iterator[Scheduler]:
        before = set(threading.enumerate())
        schedules = {name: schedule for job in jobs for name, schedule in job.items()}
        reason, timing = self.reason_to_wait, timing or self.timing
        clock = Scheduler(schedules, self.run, self.ledger, reason, timing)
        clock.start()
        try:
            yield clock
        finally:
            clock.stop()
            for thread in set(threading.enumerate()) - before:
                thread.join(PATIENCE)
                assert not thread.is_alive(), thread


def settled(clock: Scheduler, name: str) -> float:
    """When a job that has run is next planned."""
    end = time.monotonic() + PATIENCE
    while clock.status(name).running and time.monotonic() < end:
        time.sleep(0.005)
    due = clock.status(name).next_run
    assert due is not None
    return due


def ran_at(world: World, name: str, at: float) -> None:
    world.ledger.write_runs([Run(name, at, None, at, False, CUT_SHORT)], at)


NIGHTLY, OFTEN = {"nightly": "0 3 * * *"}, {"often": "5m"}
