"""How a long job tells how far it is."""

from __future__ import annotations

from typing import Protocol


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
