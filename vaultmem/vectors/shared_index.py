"""The port for an index of vectors outside this machine, which many vaults and machines share.

A package brings a server by the entry point `vaultmem.indexes`: a function of the settings, the key of the model and
the seconds that somebody waits. The rest is done by `mirror`: the vectors of a vault stay in its own files as well, a
shared index answers what it can, and nothing is lost while it is away.
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


class AwayError(VaultmemError):
    """A server does not answer, or refuses."""


class Record(NamedTuple):
    """A text on a server: by its hash, with its place and facts, and itself where it may lie there."""

    hash: bytes
    metadata: Mapping[str, Fact]
    text: str | None = None


class Near(NamedTuple):
    """A record that is near to a vector."""

    record: Record
    cosine: float


class Server(Protocol):
    """A collection of records of many vaults, all with vectors of one model. Any thread may use it. Methods raise
    AwayError."""

    place: str  # where it is; another place has been given nothing
    texts: bool  # whether texts may lie there

    def beat(self) -> str:
        """See whether it answers, and fits; its name of the collection, another one when it was made again."""

    def nearest(self, vector: list[float], count: int, vault: str) -> list[bytes]:
        """The hashes of the nearest texts of a vault."""

    def search(self, vector: list[float], count: int, facts: Mapping[str, Fact]) -> list[Near]:
        """The nearest records of all vaults that have these facts, nearest first."""

    def put(self, vault: str, records: Sequence[Record], vectors: list[list[float]]) -> None:
        """Write records with their vectors, whether they are there or not."""

    def remove(self, vault: str, hashes: Sequence[bytes]) -> None:
        """Delete records, whether they are there or not."""

    def listed(self, vault: str) -> Iterator[tuple[bytes, int]]:
        """The hash and the fact `seal` of each record of a vault."""

    def close(self) -> None:
        """Let go of connections."""


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


def open_server(config: Config, model: str, patience: float = ANSWER) -> Server:
    """The server that `index.backend` names, for vectors of a model. Raises ConfigError."""
    name = config.text("index.backend")
    if name not in plugins.registered(ENTRY_POINTS):
        known = ", ".join([LOCAL, *plugins.registered(ENTRY_POINTS)])
        raise ConfigError(f"index.backend: there is no index {name!r}; installed: {known}")
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
