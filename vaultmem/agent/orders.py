"""What the reconciler is told to do, and who hears what it did."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import NamedTuple

from vaultmem import sync
from vaultmem.errors import VaultmemError
from vaultmem.progress import Progress


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
