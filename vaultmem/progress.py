"""How a long job reports its progress, to receivers registered with report_to(), and where a problem is logged."""

from __future__ import annotations

from _contextvars import ContextVar  # what contextvars provides, without importing another file
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from vaultmem.errors import StateError
from vaultmem.light import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from logging import Logger
    from typing import TypeVar

    _T = TypeVar("_T")


class Progress(Protocol):
    """Receives the progress of a long job. One that is false in a condition needs no news from the agent."""

    def stage(self, name: str, total: int) -> None:
        """Begin a stage; total is 0 if unknown."""

    def advance(self, count: int = 1) -> None:
        """Count items as done."""


class Silent:
    """A Progress that ignores everything; false in a condition."""

    def __bool__(self) -> bool:
        return False

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


# What went wrong, or was done, in the log.


class _Late:
    """A logger that is looked up when something is logged."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, method: str) -> object:
        from logging import getLogger

        found = getLogger(self._name)
        write = getattr(found, method)
        if found.hasHandlers():
            return write
        # Python prints it as it is, among what a command prints.
        return lambda text, *values, **how: write(f"vaultmem: {text}", *values, **how)


def logger(name: str) -> Logger:
    """Like logging.getLogger(); logging, which imports a dozen modules, is imported when something is logged."""
    return cast("Logger", _Late(name))


@contextmanager
def following_up(log: Logger) -> Iterator[None]:
    """What is recorded about a change after it was made: if that fails, as on a full disk, it becomes a warning, as the
    change is done and its answer must say so. Later commands catch up."""
    try:
        yield
    except StateError as error:
        log.warning("%s", error)
