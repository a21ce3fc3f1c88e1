"""How a long job reports its progress."""

from __future__ import annotations

from _contextvars import ContextVar  # what contextvars provides, without importing another file
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from vaultmem.light import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from typing import TypeVar

    _T = TypeVar("_T")


class Progress(Protocol):
    """Receives the progress of a long job."""

    def stage(self, name: str, total: int) -> None:
        """Begin a stage; total is 0 if unknown."""

    def advance(self, count: int = 1) -> None:
        """Count items as done."""


class Silent:
    """A Progress that ignores everything."""

    def stage(self, name: str, total: int) -> None:
        """Do nothing."""

    def advance(self, count: int = 1) -> None:
        """Do nothing."""


# The receiver of progress for the current context, for loops at any depth.
_listener: ContextVar[Progress] = ContextVar("listener")
_SILENT = Silent()


def current_progress() -> Progress:
    """The current receiver of progress."""
    return _listener.get(_SILENT)


@contextmanager
def report_to(progress: Progress) -> Iterator[None]:
    """Make loops in the block report to `progress`."""
    token = _listener.set(progress)
    try:
        yield
    finally:
        _listener.reset(token)


def track(name: str, items: Sequence[_T]) -> Iterator[_T]:
    """Yield the items, reporting how many are done."""
    heard = current_progress()
    heard.stage(name, len(items))
    for item in items:
        yield item
        heard.advance()
