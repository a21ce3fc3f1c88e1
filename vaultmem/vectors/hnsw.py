"""A graph over the rows (HNSW by hnswlib) for searches over very many vectors.

The file of rows stays authoritative: the graph only proposes rows, their cosines come from the file. A damaged graph
can crash the process that loads it, so it is loaded only when its checksum matches, and otherwise rebuilt.
"""

from __future__ import annotations

import json
import tempfile
import threading
import weakref
from pathlib import Path

import hnswlib
import numpy as np

from vaultmem.light import TYPE_CHECKING, NamedTuple, Protocol
from vaultmem.paths import flush, flush_names, sha256_of
from vaultmem.vectors.exact import VectorIndex, nearest, row_numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from vaultmem.vectors.exact import Allowed, Hits
    from vaultmem.vectors.vectors import VectorStore

FORMAT = 1
LINKS = 16  # per row; hnswlib's M
BUILD_EFFORT = 100  # ef_construction: 20,000 rows in 2.6 s, twice that adds nothing to the recall
SEARCH_EFFORT = 128  # ef; hnswlib takes k instead when that is more
NARROW = 10_000  # up to this many allowed rows exact search is as fast
NARROW_SHARE = 20  # and below one allowed row in this many the graph would mostly find others
SPARE = 2  # factor by which more rows are requested with a filter
STALE_SHARE = 10  # a tail of more than one row in this many is added to the graph
ADDED_AT_ONCE = 4_096


class Graph(Protocol):
    """The part of hnswlib.Index that is used."""

    def add_items(
        self, data: NDArray[np.float32], ids: NDArray[np.int64], num_threads: int
    ) -> None: ...
    def knn_query(
        self, data: NDArray[np.float32], k: int, num_threads: int
    ) -> tuple[NDArray[np.uint64], NDArray[np.float32]]: ...
    def save_index(self, path: str) -> None: ...
    def set_ef(self, ef: int) -> None: ...


class Built(NamedTuple):
    """A graph over the first `rows` rows of a generation."""

    graph: Graph
    rows: int
    generation: int


class HnswIndex(VectorIndex):
    """Nearly exact, and much faster above some ten thousand rows. Thread-safe.

    Without a graph yet (see `prepare`), with a narrow filter, and for rows that came after the
    graph, it compares exactly.
    """

    def __init__(self, store: VectorStore, narrow: int = NARROW) -> None:
        super().__init__(
            weakref.proxy(store)
        )  # the store may keep its index, which would be a cycle
        self._narrow = narrow
        self._preparing = threading.Lock()
        self._built = _load(store, len(store))

    @property
    def rows(self) -> int:
        """How many rows the graph covers."""
        built = self._current(len(self._store))
        return built.rows if built else 0

    def search(self, query: NDArray[np.float32], k: int, allowed: Allowed | None = None) -> Hits:
        """See VectorIndex."""
        matrix = self._store.matrix()
        rows = row_numbers(allowed, len(matrix))
        built = self._current(len(matrix))
        narrow = rows is not None and len(rows) <= max(self._narrow, len(matrix) / NARROW_SHARE)
        result = None if narrow or not built else self._candidates(built, query, k, rows)
        if built is None or result is None:
            return nearest(matrix, query, k, rows)
        near = nearest(matrix, query, k, result)
        tail = nearest(matrix, query, k, rows, first=built.rows)
        return sorted(near + tail, key=lambda hit: (-hit[1], hit[0]))[: max(k, 0)]

    def prepare(self) -> None:
        """Build the graph, or add the rows that it lacks once there are many, and save it."""
        with self._preparing:
            generation, matrix = self._store.generation, self._store.matrix()
            missing = len(matrix) - self.rows
            if not missing or missing * STALE_SHARE < len(matrix):
                return
            # A second graph is built beside the one in use: no search may see one being resized.
            start = _load(self._store, len(matrix)) or _empty(len(matrix), matrix.shape[1])
            for first in range(start.rows, len(matrix), ADDED_AT_ONCE):
                end = min(first + ADDED_AT_ONCE, len(matrix))
                rows = np.nan_to_num(matrix[first:end])
                start.graph.add_items(rows, np.arange(first, end), num_threads=2)
            self._built = Built(start.graph, len(matrix), generation)
            if generation == self._store.generation:
                _save(self._store, self._built)

    def _current(self, count: int) -> Built | None:
        """The graph, if it covers the current generation and at most `count` rows; else None."""
        built = self._built
        fits = built and built.generation == self._store.generation and built.rows <= count
        return built if fits else None

    def _candidates(
        self, built: Built, query: NDArray[np.float32], k: int, rows: NDArray[np.int64] | None
    ) -> NDArray[np.int64] | None:
        """At least `k` allowed rows near the query, sorted; None when the graph does not find enough.

        A filter inside the graph would call Python at every step, so more rows than needed are requested and those
        that are not allowed are dropped.
        """
        inside = built.rows if rows is None else int(np.searchsorted(rows, built.rows))
        count_wanted = min(k, inside)
        count = k if rows is None else SPARE * k * built.rows // max(inside, 1)
        while count_wanted > 0 and count * 2 < built.rows:
            result = _ask(built.graph, query, count)
            if result is None:
                return None
            if rows is not None:
                result = result[np.isin(result, rows[:inside], assume_unique=True)]
            if len(result) >= count_wanted:
                return result
            count *= 4
        return None if count_wanted > 0 else np.empty(0, dtype=np.int64)


def _ask(graph: Graph, query: NDArray[np.float32], k: int) -> NDArray[np.int64] | None:
    try:
        labels, _ = graph.knn_query(query.reshape(1, -1), k=k, num_threads=1)
    except RuntimeError:  # parts of the graph are unreachable from its entry: fewer than k rows
        return None
    result: NDArray[np.int64] = labels[0].astype(np.int64)
    return np.sort(result)


def _empty(capacity: int, dimensions: int) -> Built:
    graph = hnswlib.Index(space="ip", dim=dimensions)
    graph.init_index(max_elements=capacity, M=LINKS, ef_construction=BUILD_EFFORT)
    graph.set_ef(SEARCH_EFFORT)
    return Built(graph, 0, 0)


def _load(store: VectorStore, capacity: int) -> Built | None:
    """The saved graph, if it is intact and belongs to these rows, with room for `capacity` rows; else None."""
    path = store.path / "hnsw.bin"
    try:
        note = json.loads((store.path / "hnsw.json").read_text(encoding="utf-8"))
        if note != _note(store, note["rows"], sha256_of(path)) or not 0 < note["rows"] <= capacity:
            return None
    except (OSError, ValueError, KeyError, TypeError):
        return None
    graph = hnswlib.Index(space="ip", dim=store.dimensions)
    try:
        graph.load_index(str(path), max_elements=capacity)
    except RuntimeError:
        return None
    if graph.get_current_count() != note["rows"]:
        return None
    graph.set_ef(SEARCH_EFFORT)
    return Built(graph, note["rows"], store.generation)


def _save(store: VectorStore, built: Built) -> None:
    """Save the graph, then the note with its checksum; a crash in between costs one rebuild."""
    with tempfile.TemporaryDirectory(prefix=".hnsw-", dir=store.path) as fresh:
        graph, note = Path(fresh) / "hnsw.bin", Path(fresh) / "hnsw.json"
        built.graph.save_index(str(graph))
        note.write_text(json.dumps(_note(store, built.rows, sha256_of(graph))), encoding="utf-8")
        for path in (graph, note):
            path.chmod(0o600)
            flush(path)
            path.replace(store.path / path.name)
        flush_names(store.path)


def _note(store: VectorStore, rows: int, checksum: str) -> dict[str, int | str]:
    """The facts about the rows that must match for a graph to be theirs."""
    last = store.hash_at(rows - 1)
    return {
        "format": FORMAT,
        "model": store.folder.name,
        "dimensions": store.dimensions,
        "rows": rows,
        "last": last.hex() if last else "",
        "sha256": checksum,
    }
