"""How a long job tells how far it is."""

from __future__ import annotations

from _contextvars import ContextVar  # what contextvars is, without the price of another file
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from vaultmem.light import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from typing import TypeVar

    _T = TypeVar("_T")


class Progress(Protocol):
    """Hears how far a long job is."""

    def stage(self, name: str, total: int) -> None:
        """A stage begins; total is 0 when unknown."""

    def advance(self, count: int = 1) -> None:
        """That many more are done."""


class Silent:
    """A Progress that says nothing."""

    def stage(self, name: str, total: int) -> None:
        """Nothing."""

    def advance(self, count: int = 1) -> None:
        """Nothing."""


# Who hears of the work that is being done now, however deep in it a loop is.
_listener: ContextVar[Progress] = ContextVar("listener")
_SILENT = Silent()


def listener() -> Progress:
    """Who hears of it."""
    return _listener.get(_SILENT)


@contextmanager
def heard_by(progress: Progress) -> Iterator[None]:
    """Let loops in the block report to this one."""
    token = _listener.set(progress)
    try:
        yield
    finally:
        _listener.reset(token)


def counted(name: str, items: Sequence[_T]) -> Iterator[_T]:
    """The items, one after the other; listeners hear how many of them are done."""
    heard = listener()
    heard.stage(name, len(items))
    for item in items:
        yield item
        heard.advance()
