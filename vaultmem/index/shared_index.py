"""The port for an index of vectors outside this machine, which many vaults and machines share.

A package brings one by the entry point `vaultmem.indexes`: a function of Setup that gives a SharedIndex. The vectors of
a vault stay in its own files as well: a shared index answers what it can, and nothing is lost while it is away.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from vaultmem import plugins
from vaultmem.config import Config
from vaultmem.errors import ConfigError
from vaultmem.index.exact import VectorIndex
from vaultmem.index.vectors import VectorStore

ENTRY_POINTS = "vaultmem.indexes"
LOCAL = "local"
Fact = str | int | float | bool


class Place(NamedTuple):
    """Where a text stands in the vault, and what it can be filtered by."""

    path: str
    line: int
    end_line: int
    facts: Mapping[str, Fact]


class Health(NamedTuple):
    """How a shared index is: why it does not answer, and how many vectors wait to be written to it."""

    problem: str | None
    waiting: int


class SharedIndex(VectorIndex, Protocol):
    """A VectorIndex whose rows also lie elsewhere. Any thread may use it; no method raises because it is away."""

    def publish(self, places: Mapping[bytes, Place | None], *, whole: bool) -> None:
        """Write the texts by their hashes: what is new or has changed. Nothing of a text whose place is None stays
        there, nor, when `places` are all of the vault (`whole`), of one that is not among them. What cannot be written
        now is written by a later call."""

    def health(self) -> Health:
        """Ask it whether it is well."""

    def close(self) -> None:
        """Let go of connections."""


class Setup(NamedTuple):
    """What a shared index is made of."""

    store: VectorStore
    config: Config
    vault: str  # what the vault is called there, the same on all machines
    text: Callable[[Place, bytes], str]  # the text that stands there; "" where it is gone


def open_shared(setup: Setup) -> SharedIndex | None:
    """The index that `index.backend` names; None for the one on this machine. Raises ConfigError."""
    name = setup.config.text("index.backend")
    if name == LOCAL:
        return None
    if name not in plugins.registered(ENTRY_POINTS):
        known = ", ".join([LOCAL, *plugins.registered(ENTRY_POINTS)])
        raise ConfigError(f"index.backend: there is no index {name!r}; installed: {known}")
    index: SharedIndex = plugins.load(ENTRY_POINTS, name)(setup)
    return index
