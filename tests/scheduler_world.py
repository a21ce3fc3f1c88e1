"""A person, a machine, their clocks and a scheduler, for tests."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from vaultmem.agent.scheduler import Scheduler, Timing
from vaultmem.ledger.ledger import CUT_SHORT, Ledger, Run
from vaultmem.text.times import Planned

PATIENCE = 60.0  # seconds for what takes milliseconds
DAY = 86_400.0
NOW = datetime(2026, 6, 10, 12, 0, tzinfo=UTC).timestamp()


class World:
    """A person, a machine and their clocks, advanced by hand."""

    def __init__(self, path: Path, at: float = NOW) -> None:
        self.wall = at
        self.steady = 0.0
        self.is_typing = self.battery = False
        self.is_idle = True
        self.busy = 0.0
        self.done: list[str] = []
        self.ledger = Ledger(str(path / "ledger.db"))
        self.work: Callable[[str], str] = lambda name: f"{name} done"
        self.ran = threading.Condition()
        self.timing = Timing(
            now=lambda: self.wall, monotonic=lambda: self.steady, timezone=UTC, jitter=0.0, retry=0.02,
            heartbeat=3_600.0,
        )  # fmt: skip

    def typing(self) -> bool:
        return self.is_typing

    def idle(self) -> bool:
        return self.is_idle

    def on_battery(self) -> bool:
        return self.battery

    def load(self) -> float:
        return self.busy

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
    def clock(self, *jobs: Planned, timing: Timing | None = None) -> Iterator[Scheduler]:
        before = set(threading.enumerate())
        clock = Scheduler(jobs, self.run, self.ledger, self, timing or self.timing)
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


NIGHTLY = Planned("nightly", "0 3 * * *")
OFTEN = Planned("often", "5m")
