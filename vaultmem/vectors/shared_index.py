"""The port for an index of vectors outside this machine, which many vaults and machines share.

A package adds a server by the entry point `vaultmem.indexes`: a function of the settings, the model's key and a
timeout in seconds. `mirror` does the rest: the vectors of a vault stay in its own files as well, a shared index
answers what it can, and nothing is lost while it is unavailable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from vaultmem import plugins
from vaultmem.config import Config
from vaultmem.errors import ConfigError, VaultmemError
from vaultmem.index import LOCAL
from vaultmem.light import NamedTuple, Protocol
from vaultmem.vectors.exact import VectorIndex
from vaultmem.vectors.vectors import VectorStore

ENTRY_POINTS = "vaultmem.indexes"
ANSWER, ACCEPT = 3.0, 60.0  # seconds that a search waits for a server, and a write
Fact = str | int | float | bool


class UnavailableError(VaultmemError):
    """A server does not answer, or refuses the request."""


class Record(NamedTuple):
    """A text on a server: its hash, its place and facts, and the text itself where texts may be stored there."""

    hash: bytes
    metadata: Mapping[str, Fact]
    text: str | None = None


class Near(NamedTuple):
    """A record near a vector."""

    record: Record
    cosine: float


class Server(Protocol):
    """A collection of records of many vaults, all with vectors of one model. Thread-safe. Methods raise AwayError."""

    place: str  # its address; nothing was written to any other
    texts: bool  # whether texts may be stored there

    def beat(self) -> str:
        """Check that the server answers and fits. Returns its id of the collection, which changes when the collection
        was created again."""

    def nearest(self, vector: list[float], count: int, vault: str) -> list[bytes]:
        """The hashes of the nearest texts of a vault."""

    def search(self, vector: list[float], count: int, facts: Mapping[str, Fact]) -> list[Near]:
        """The nearest records of all vaults that have these facts, nearest first."""

    def put(self, vault: str, records: Sequence[Record], vectors: list[list[float]]) -> None:
        """Write records with their vectors, new or existing."""

    def remove(self, vault: str, hashes: Sequence[bytes]) -> None:
        """Delete records; missing ones are ignored."""

    def listed(self, vault: str) -> Iterator[tuple[bytes, int]]:
        """The hash and the fact `seal` of each record of a vault."""

    def close(self) -> None:
        """Close the connections."""


class Place(NamedTuple):
    """The position of a text in the vault, and the facts that it can be filtered by."""

    path: str
    line: int
    end_line: int
    facts: Mapping[str, Fact]


class Health(NamedTuple):
    """The state of a shared index: why it does not answer, and how many vectors wait to be written to it."""

    problem: str | None
    waiting: int


class SharedIndex(VectorIndex, Protocol):
    """A VectorIndex whose rows are also stored on a server. Thread-safe; no method raises because the server is
    unavailable."""

    def publish(self, places: Mapping[bytes, Place | None], *, whole: bool) -> None:
        """Write new and changed texts, by their hashes. A text whose place is None is removed, and, when `places`
        cover the whole vault (`whole`), so is any text that is not among them. What cannot be written now is written
        by a later call."""

    def health(self) -> Health:
        """Check the server."""

    def close(self) -> None:
        """Close the connections."""


class Setup(NamedTuple):
    """What is needed to open a shared index."""

    store: VectorStore
    config: Config
    vault: str  # the name of the vault there, the same on all machines
    text: Callable[[Place, bytes], str]  # the text at a place; "" if it is gone


def open_server(config: Config, model: str, patience: float = ANSWER) -> Server:
    """The server that `index.backend` names, for vectors of a model. Raises ConfigError."""
    name = config.text("index.backend")
    if name not in plugins.registered(ENTRY_POINTS):
        names = ", ".join([LOCAL, *plugins.registered(ENTRY_POINTS)])
        raise ConfigError(f"index.backend: unknown index {name!r}; installed: {names}")
    try:
        server: Server = plugins.load(ENTRY_POINTS, name)(config, model, patience)
    except VaultmemError as error:
        raise ConfigError(f"index.backend: {name}: {error}") from error
    return server


def open_shared(setup: Setup) -> SharedIndex | None:
    """The index that `index.backend` names; None for the one on this machine. Raises ConfigError."""
    from vaultmem.vectors.mirror import Mirror

    if setup.config.text("index.backend") == LOCAL:
        return None
    model = setup.store.folder.name
    servers = [open_server(setup.config, model, patience) for patience in (ANSWER, ACCEPT)]
    return Mirror(setup, servers[0], servers[1])
