"""The port for an index of vectors outside this machine, which many vaults and machines share.

A package adds a server by the entry point `vaultmem.indexes`: a function of the settings, the model's key and a
timeout in seconds. `Mirror` does the rest: the vectors of a vault stay in its own files as well, a shared index
answers what it can, and nothing is lost while it is unavailable.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from vaultmem import plugins
from vaultmem.config import Config
from vaultmem.errors import ConfigError, VaultmemError
from vaultmem.index import LOCAL
from vaultmem.light import NamedTuple, Protocol
from vaultmem.vectors.exact import Allowed, Hits, VectorIndex, nearest, row_numbers
from vaultmem.vectors.vectors import VectorStore

log = logging.getLogger("vaultmem.search.shared")

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


def open_shared(setup: Setup) -> Mirror | None:
    """The index that `index.backend` names; None for the one on this machine. Raises ConfigError."""
    if setup.config.text("index.backend") == LOCAL:
        return None
    model = setup.store.folder.name
    servers = [open_server(setup.config, model, patience) for patience in (ANSWER, ACCEPT)]
    return Mirror(setup, servers[0], servers[1])


# Mirrors a vault's vectors to a server, and searches there.


AT_ONCE = 1_000  # records in one request
NARROW = 10_000  # up to this many rows comparing them here is as fast
NARROW_SHARE = 20  # and below one allowed row in this many the server would mostly find others
SPARE = 2  # factor by which more rows are requested when there is a filter
SILENCE = 20.0  # seconds during which searches skip a server that did not answer
MOST = 4_000  # hits in one request


class Mirror(VectorIndex):
    """An index whose rows are also stored on a server, which only proposes rows: their cosines come from the
    vault's own file, and rows that the server lacks (private notes, unwritten rows) are compared here; all of them
    while it is unavailable. Thread-safe; no method raises because of that."""

    def __init__(self, setup: Setup, server: Server, writer: Server, narrow: int = NARROW) -> None:
        """`writer` is the same server, for writes: they may take longer than a search waits."""
        self._setup, self._server, self._writer, self._narrow = setup, server, writer, narrow
        super().__init__(weakref.proxy(setup.store))
        self._published = Published(setup.store, server.place)
        self._writing = threading.Lock()
        # Whether the seals were compared with the server's list since it was last unavailable.
        self._is_sure = False
        self._away_until = 0.0
        self._logged = ""

    def search(self, query: NDArray[np.float32], k: int, allowed: Allowed | None = None) -> Hits:
        """See VectorIndex."""
        matrix = self._store.matrix()
        rows = row_numbers(allowed, len(matrix))
        proposed = self._candidates(query, k, rows, len(matrix))
        if proposed is None:
            return nearest(matrix, query, k, rows)
        hidden = np.flatnonzero(self._published.seals()[: len(matrix)] < FIRST_SEAL)
        here = hidden if rows is None else np.intersect1d(hidden, rows, assume_unique=True)
        both = np.union1d(proposed[proposed < len(matrix)], here)
        return nearest(matrix, query, k, both)

    def prepare(self) -> None:
        """Compare the recorded seals with what the server has."""
        with self._writing:
            try:
                self._compare()
            except UnavailableError as error:
                self._fail(error)

    def publish(self, places: Mapping[bytes, Place | None], *, whole: bool) -> None:
        """Write new and changed texts, by their hashes. A text whose place is None is removed, and, when `places`
        cover the whole vault (`whole`), so is any text that is not among them. What cannot be written now is written
        by a later call."""
        with self._writing:
            self._plan(places, whole=whole)
            try:
                if not self._is_sure or self._published.is_new or self._writer.beat() != self._seen:
                    self._compare()
                    self._plan(places, whole=whole)
                self._remove()
                self._write(places)
                self._logged = ""
            except UnavailableError as error:
                self._fail(error)

    def health(self) -> Health:
        """Check the server."""
        problem = None
        try:
            self._server.beat()
        except UnavailableError as error:
            problem = f"{error}; searches run on this machine, and new vectors wait"
        seals = self._published.seals()
        return Health(problem, int(np.isin(seals, (UNKNOWN, LEAVING)).sum()))

    def close(self) -> None:
        """Close the connections."""
        self._server.close()
        self._writer.close()

    # --- searching

    def _candidates(
        self, query: NDArray[np.float32], k: int, rows: NDArray[np.int64] | None, total: int
    ) -> NDArray[np.int64] | None:
        """At least `k` allowed rows near the query according to the server; None if comparing here is better."""
        count = total if rows is None else len(rows)
        fits = query.shape == (self._store.dimensions,) and k > 0
        if not fits or count <= self._narrow or count * NARROW_SHARE < total:
            return None
        there = self._published.seals()[:total] >= FIRST_SEAL
        inside = int(there.sum()) if rows is None else int(there[rows].sum())
        limit, size = min(k, inside), k if rows is None else SPARE * k * total // count
        while limit and size <= MOST and time.monotonic() >= self._away_until:
            try:
                hashes = self._server.nearest(query.tolist(), size, self._setup.vault)
            except UnavailableError as error:
                self._fail(error)
                return None
            near = np.array(sorted(self._store.known(hashes).values()), dtype=np.int64)
            if rows is not None:
                near = np.intersect1d(near, rows, assume_unique=True)
            if len(near) >= limit:
                return near
            if len(hashes) < size:
                self._is_sure = False  # it has fewer rows than were written to it
                return None
            size *= 4
        return None

    def _fail(self, error: UnavailableError) -> None:
        self._away_until, self._is_sure = time.monotonic() + SILENCE, False
        if str(error) != self._logged:
            log.warning("%s; searches run on this machine", error)
        self._logged = str(error)

    # --- writing

    def _compare(self) -> None:
        """Replace the seals by the server's list: others write there, too, and it may have lost a write."""
        listed = dict(self._writer.listed(self._setup.vault))
        stored = self._store.known(listed)
        seals = self._published.seals()
        truth = np.full(len(seals), UNKNOWN, dtype=seals.dtype)
        for digest, row in stored.items():
            if row < len(truth):
                truth[row] = max(listed[digest], FIRST_SEAL)
        changed = np.flatnonzero((truth != seals) & ((truth != UNKNOWN) | (seals != WITHHELD)))
        keep = seals[changed] == LEAVING
        self._published.mark(changed[~keep], truth[changed[~keep]])
        self._published.is_new = False
        self._is_sure, self._seen = True, self._writer.beat()

    def _plan(self, places: Mapping[bytes, Place | None], *, whole: bool) -> None:
        """Mark the rows to write and those to remove, so that a kill forgets neither."""
        rows = self._store.known(places)
        seals = self._published.seals()
        total = len(seals)
        live_rows = np.array([row for key, row in rows.items() if places[key]], dtype=np.int64)
        unwanted = np.array([row for key, row in rows.items() if not places[key]], dtype=np.int64)
        if whole:
            unwanted = np.setdiff1d(np.arange(total), live_rows)
        live_rows, unwanted = live_rows[live_rows < total], unwanted[unwanted < total]
        self._published.mark(live_rows[seals[live_rows] == WITHHELD], UNKNOWN)
        is_there = seals[unwanted] >= FIRST_SEAL
        self._published.mark(unwanted[seals[unwanted] == UNKNOWN], WITHHELD)
        self._published.mark(unwanted[is_there], LEAVING)

    def _remove(self) -> None:
        """Remove private and deleted texts from the server."""
        leaving = np.flatnonzero(self._published.seals() == LEAVING)
        for start in range(0, len(leaving), AT_ONCE):
            part = leaving[start : start + AT_ONCE]
            hashes = [self._store.hash_at(int(row)) for row in part]
            self._writer.remove(self._setup.vault, [hash_ for hash_ in hashes if hash_ is not None])
            self._published.mark(part, WITHHELD)

    def _write(self, places: Mapping[bytes, Place | None]) -> None:
        seals = self._published.seals()
        todo: list[tuple[int, int, Record, Place]] = []
        for digest, row in self._store.known(places).items():
            place = places[digest]
            if place is None or row >= len(seals):
                continue
            metadata: dict[str, Fact] = {
                **place.facts, "vault": self._setup.vault, "path": place.path, "line": place.line,
                "end_line": place.end_line,
            }  # fmt: skip
            seal = seal_of(metadata | {"texts": self._server.texts})
            if int(seals[row]) != seal:
                todo.append((row, seal, Record(digest, metadata | {"seal": seal}), place))
        for start in range(0, len(todo), AT_ONCE):
            part = sorted(todo[start : start + AT_ONCE], key=lambda pair: pair[0])
            rows = [row for row, _, _, _ in part]
            # An existing record would keep facts that no longer hold.
            changed = [record.hash for row, _, record, _ in part if seals[row] >= FIRST_SEAL]
            if changed:
                self._writer.remove(self._setup.vault, changed)
            records = [self._with_text(record, place) for _, _, record, place in part]
            self._writer.put(self._setup.vault, records, self._store.matrix()[rows].tolist())
            self._published.mark(rows, [seal for _, seal, _, _ in part])

    def _with_text(self, record: Record, place: Place) -> Record:
        if not self._server.texts:
            return record
        return record._replace(text=self._setup.text(place, record.hash) or " ")


# Which rows of a vault's vectors were written to the server, and with which facts: one number for each row, in
# <generation of the vectors>/shared-<place>.seals, little-endian uint64, mapped. A row that was written has the seal
# of its record. The file may be lost: it is restored from the server's own list.

UNKNOWN, WITHHELD, LEAVING = 0, 1, 2  # not written; not to be written; to be removed
FIRST_SEAL = 16
_SEAL = np.dtype("<u8")


def seal_of(metadata: Mapping[str, Fact]) -> int:
    """A digest of a record's place and facts, of 52 bits because servers store numbers as floats."""
    text = json.dumps(metadata, sort_keys=True, ensure_ascii=False).encode("utf-8", "replace")
    number = int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big") >> 12
    return number + FIRST_SEAL


class Published:
    """The seals of a store's rows. Any thread may use it; one process writes."""

    def __init__(self, store: VectorStore, name: str) -> None:
        self._store, self._name = store, hashlib.blake2b(name.encode(), digest_size=6).hexdigest()
        self._lock = threading.Lock()
        self._generation = -1
        self.is_new = True  # whether there was no file yet
        self._seals: NDArray[np.uint64] = np.zeros(0, dtype=_SEAL)

    def seals(self) -> NDArray[np.uint64]:
        """The seal of each row that exists now."""
        with self._lock:
            self._look()
            return self._seals[: len(self._store)]

    def mark(self, rows: Sequence[int] | NDArray[np.int64], seals: object) -> None:
        """Set the seals of these rows."""
        with self._lock:
            self._look()
            if isinstance(self._seals, np.memmap) and len(rows):
                self._seals[np.asarray(rows, dtype=np.int64)] = seals
                self._seals.flush()

    def _look(self) -> None:
        """Map the file of the generation in use, with room for all rows."""
        count = max(1, len(self._store))
        if self._generation == self._store.generation and len(self._seals) >= count:
            return
        path = self._store.path / f"shared-{self._name}.seals"
        is_another = self._generation != self._store.generation
        self.is_new = not path.exists() and (self.is_new or is_another)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        with open(handle, "r+b") as file:
            file.truncate(max(os.path.getsize(path), (count + 4_096) * _SEAL.itemsize))
            self._seals = np.memmap(file, dtype=_SEAL, mode="r+")
        self._generation = self._store.generation
