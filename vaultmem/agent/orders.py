"""What the reconciler is told to do, and who hears what it did."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import NamedTuple

from vaultmem import sync
from vaultmem.progress import Progress


class Stopped(BaseException):
    """The agent ends."""


class Order(NamedTuple):
    """A look at the whole vault that somebody waits for."""

    done: Future[sync.Report]
    progress: Progress
    rebuild: bool
    confirmed: bool


class Listeners(NamedTuple):
    """Who hears what the reconciler did."""

    committed: Callable[[Iterable[int]], None]  # these notes are searchable as they are now
    replaced: Callable[[], None]  # another index is in force
    touched: Callable[[str], None]  # something happened at a path; "" for anywhere
