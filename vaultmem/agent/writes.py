"""What was written through the agent and is not in the index yet: whoever searches has it indexed first.

A write pays nothing for it. Many writes in a row are indexed together, when it is quiet or when somebody looks.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import NamedTuple

from vaultmem.agent.vanish_guard import Pace, Touch
from vaultmem.errors import VaultmemError
from vaultmem.index import sync
from vaultmem.progress import Progress

LONG_AGO = (
    0.0  # a file that we have written is complete, and need not be quiet for a while to be believed
)


class Writes:
    """Paths that we have written or moved away. `wake` wakes the thread that indexes them."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._changed = threading.Condition()
        self._pace = Pace()
        self._written = self._taken = self._indexed = 0  # how many writes
        self._waiting = 0  # how many searches

    def add(self, paths: Iterable[str]) -> None:
        """These were written just now."""
        now = time.monotonic()
        with self._changed:
            for path in paths:
                self._pace.touch(path, now)
            self._written += 1
        self._wake()

    def wait(self, within: float) -> bool:
        """Have all that was written until now indexed; whether it was, within so many seconds."""
        with self._changed:
            wanted = self._written
            if self._indexed >= wanted:
                return True
            self._waiting += 1
        try:
            self._wake()
            with self._changed:
                return self._changed.wait_for(lambda: self._indexed >= wanted, within)
        finally:
            with self._changed:
                self._waiting -= 1

    def is_awaited(self) -> bool:
        """Whether a search waits for them."""
        return self._waiting > 0

    def is_behind(self) -> bool:
        """Whether any of them is not in the index."""
        return self._indexed < self._written

    # For the thread that indexes them

    def due(self, *, now: bool = False) -> float | None:
        """When they are to be taken; None when there are none."""
        with self._changed:
            return LONG_AGO if len(self._pace) and (now or self._waiting) else self._pace.due()

    def take(self) -> list[Touch]:
        """Take all of them."""
        with self._changed:
            self._taken = self._written
            taken = self._pace.take(math.inf)
        return [touch._replace(first=LONG_AGO, last=LONG_AGO) for touch in taken]

    def done(self) -> None:
        """What was taken is in the index, or cannot be."""
        with self._changed:
            self._indexed = self._taken
            self._changed.notify_all()


# What the reconciler is told to do, and who hears what it did.


class Stopped(BaseException):
    """The agent ends."""


class Order(NamedTuple):
    """A look at the whole vault that somebody waits for."""

    done: Future[sync.Report]
    progress: Progress
    rebuild: bool
    confirmed: bool

    def obey(self, work: Callable[[], sync.Report]) -> None:
        """Do it, unless nobody waits any more."""
        if not self.done.set_running_or_notify_cancel():
            return
        try:
            report = work()
        except BaseException as error:
            self.done.set_exception(_ending() if isinstance(error, Stopped) else error)
            raise
        self.done.set_result(report)

    def refuse(self) -> None:
        """It is too late for it."""
        if self.done.set_running_or_notify_cancel():
            self.done.set_exception(_ending())


def _ending() -> VaultmemError:
    return VaultmemError("the agent is ending; try again")


class Listeners(NamedTuple):
    """Who hears what the reconciler did."""

    committed: Callable[[Iterable[int]], None]  # these notes are searchable as they are now
    replaced: Callable[[], None]  # another index is in force
    touched: Callable[[str], None]  # something happened at a path; "" for anywhere
