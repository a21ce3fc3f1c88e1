"""The vectors of one model by the hash of the text they stand for, stored in two append-only files.

`vectors.f32` has one row per text, `hashes` its hash. Vectors are on disk before their hashes are, and a row counts
when both files have it: so a known hash always has the right vector, whatever was killed or cut off, and what follows
is overwritten by the next batch. No counted row is overwritten: compacting writes the next generation beside the old
one and renames it. The highest generation counts. The folder can be deleted at any time.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from vaultmem.errors import StateError
from vaultmem.paths import FolderLock, flush_names, make_private
from vaultmem.vectors.exact import FLOAT, RowFile, VectorIndex

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

HASH = 16  # bytes, see notes.blocks.text_hash
HNSW_THRESHOLD = 50_000  # below it exact search takes a few milliseconds
COPIED_AT_ONCE = 16_384  # rows
SORTED_AT_ONCE = 4_096  # rows
_graphs: WeakKeyDictionary[VectorStore, VectorIndex] = WeakKeyDictionary()
_opening = threading.Lock()


class _Files:
    def __init__(self, folder: Path, dimensions: int) -> None:
        make_private(str(folder))
        self.vectors = RowFile(folder / "vectors.f32", dimensions)
        self.hashes = RowFile(folder / "hashes", HASH, 1)

    def count(self) -> int:
        """How many rows both files have."""
        return min(self.vectors.count(), self.hashes.count())

    def is_in_place(self) -> bool:
        """Whether both still exist; they may have been deleted or replaced while open."""
        return self.vectors.is_in_place() and self.hashes.is_in_place()

    def listed(self, start: int, end: int) -> list[bytes]:
        """The hashes of the rows [start, end)."""
        data = self.hashes.read(start, end)
        return [data[at : at + HASH] for at in range(0, len(data), HASH)]

    def close(self) -> None:
        """Close both."""
        self.vectors.close()
        self.hashes.close()


class _Rows:
    """The row of each hash in a file, each of which has one.

    Sorted numbers take a fifth of the memory of a dict and are read at once. Those of the newest rows are in a dict.
    """

    def __init__(self) -> None:
        self.count = 0
        self._newest: dict[bytes, int] = {}
        self._sort(b"")

    def _sort(self, hashes: bytes) -> None:
        halves = np.frombuffer(hashes, dtype="<u8", count=len(hashes) // HASH * 2).reshape(-1, 2)
        self._order = np.argsort(halves[:, 0])
        self._first, self._second = halves[self._order].T.copy()

    def extend(self, files: _Files, count: int) -> None:
        """Add the rows up to `count`."""
        if count - len(self._order) > SORTED_AT_ONCE:
            self._sort(files.hashes.read(0, count))
            self._newest = {}
        else:
            self._newest.update(
                zip(files.listed(self.count, count), range(self.count, count), strict=False)
            )
        self.count = count

    def known(self, hashes: Iterable[bytes]) -> dict[bytes, int]:
        """The rows of the hashes that have one."""
        keys = list(hashes)
        rows = self._sorted_rows(keys) if len(self._order) else dict[bytes, int]()
        if self._newest:
            rows |= {key: self._newest[key] for key in keys if key in self._newest}
        return rows

    def _sorted_rows(self, keys: list[bytes]) -> dict[bytes, int]:
        first, second = np.frombuffer(b"".join(keys), dtype="<u8").reshape(-1, 2).T
        least = np.searchsorted(self._first, first)
        at = np.searchsorted(self._first, first, side="right") - 1
        while True:  # two hashes may have the same first half
            other = np.flatnonzero((at >= least) & (self._second[at] != second))
            if not len(other):
                break
            at[other] -= 1
        rows = np.where(at >= least, self._order[at], -1).tolist()
        return {key: row for key, row in zip(keys, rows, strict=True) if row >= 0}


class VectorStore:
    """The vectors under `folder`.

    Thread-safe; a second process waits for its turn to write. Rows are renumbered when `generation` changes: call
    `known` again. Raises StateError when the folder cannot be used.
    """

    def __init__(self, folder: Path | str, dimensions: int) -> None:
        self.folder = Path(folder)
        self.dimensions = dimensions
        self._lock = threading.RLock()
        with self._usable():
            make_private(str(self.folder))
            with FolderLock(str(self.folder)):  # nobody may remove what is being opened
                self._open(max(self._generations(), default=1))

    def __len__(self) -> int:
        return self._rows.count

    @property
    def path(self) -> Path:
        """The folder of the generation in use."""
        return self.folder / f"g{self.generation}"

    def known(self, hashes: Iterable[bytes]) -> dict[bytes, int]:
        """The rows of the hashes whose vectors are stored, by hash."""
        with self._usable():
            self._look()
            return self._rows.known(hashes)

    def missing(self, hashes: Iterable[bytes]) -> list[bytes]:
        """The hashes without a vector, each once, in their order."""
        digests = dict.fromkeys(hashes)
        stored = self.known(digests)
        return [key for key in digests if key not in stored]

    def hash_at(self, row: int) -> bytes | None:
        """The hash of the text whose vector is in this row."""
        with self._usable():
            is_counted = 0 <= row < len(self)
            return next(iter(self._files.listed(row, row + 1)), None) if is_counted else None

    def rows_from(self, row: int) -> dict[bytes, int]:
        """The hashes of this row and all after it, with their rows."""
        with self._usable():
            return {key: n for n, key in enumerate(self._files.listed(row, len(self)), row)}

    def append(self, hashes: Sequence[bytes], vectors: NDArray[np.float32]) -> None:
        """Store one vector per hash; a hash that is known already keeps the vector it has.

        Durable when it returns. ValueError for vectors of another shape or with NaN in them.
        """
        block = np.asarray(vectors, dtype=np.float32)
        if block.shape != (len(hashes), self.dimensions):
            raise ValueError(f"{len(hashes)} hashes, but vectors of shape {block.shape}")
        if not np.isfinite(block).all():
            raise ValueError("a vector holds numbers that are not finite")
        with self._writing():
            known = self._rows.known(hashes)
            places = {key: place for place, key in enumerate(hashes) if key not in known}
            _write(self._files, len(self), [*places], block[list(places.values())])
            self._look()

    def matrix(self) -> NDArray[np.float32]:
        """All rows, read-only, mapped from the file. Call it before each use, see RowFile."""
        with self._lock:
            return self._files.vectors.matrix(len(self))

    def compact(self, live: Iterable[bytes], seen: int | None = None) -> bool:
        """Keep only the vectors of the `live` texts, if these are less than half of all. Returns whether rows were
        renumbered. `seen` is the number of rows when `live` was listed: rows added since are kept."""
        digests, before = list(live), self.generation
        with self._writing():
            if self.generation != before:
                return True
            rows = self._rows.known(digests)
            if seen is not None:
                rows |= self.rows_from(seen)
            target = self.folder / f"g{before + 1}"
            if len(rows) * 2 >= len(self) or target.exists():
                return False
            for left in self.folder.glob(".new-*"):  # left by a process that was killed here
                shutil.rmtree(left, ignore_errors=True)
            fresh = Path(tempfile.mkdtemp(prefix=".new-", dir=self.folder))
            try:
                self._copy(rows, fresh)
                fresh.rename(target)
            finally:
                shutil.rmtree(fresh, ignore_errors=True)
            flush_names(self.folder)
            self._move_on(before + 1)
        return True

    def close(self) -> None:
        """Close the files; arrays that were returned stay valid."""
        with self._lock:
            self._files.close()

    def _generations(self) -> list[int]:
        names = [entry.name for entry in self.folder.iterdir()]
        return [int(name[1:]) for name in names if name[0] == "g" and name[1:].isdecimal()]

    def _move_on(self, generation: int) -> None:
        """Use another generation; if that fails, the one in use stays."""
        before = self._files
        self._open(generation)
        before.close()

    def _open(self, generation: int) -> None:
        self._files = _Files(self.folder / f"g{generation}", self.dimensions)
        self.generation = generation
        self._rows = _Rows()
        self._look()
        for old in self._generations():
            if old < generation:
                shutil.rmtree(self.folder / f"g{old}", ignore_errors=True)

    def _look(self) -> None:
        """Take in the rows that another process has added; all of them again if some are gone."""
        count = self._files.count()
        if count < len(self):
            self._rows = _Rows()
        self._rows.extend(self._files, count)

    @contextmanager
    def _usable(self) -> Iterator[None]:
        """Hold the lock of this process, and say in one line why the files cannot be used."""
        with self._lock:
            try:
                yield
            except OSError as error:
                raise StateError(
                    f"The vectors in {self.folder} cannot be used: {error}. "
                    "Free some space or make the folder writable; it may also be deleted."
                ) from error

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Hold the lock of all processes, with all rows known: those of a later generation, if another process has made
        one, and none if somebody has deleted the open files."""
        with self._usable():
            make_private(str(self.folder))
            with FolderLock(str(self.folder)):
                newest = max(self._generations(), default=0)
                if newest > self.generation or not self._files.is_in_place():
                    self._move_on(max(newest, self.generation + 1))
                self._look()
                yield

    def _copy(self, rows: dict[bytes, int], folder: Path) -> None:
        """Write the vectors in these rows into other files."""
        keys = sorted(rows, key=rows.__getitem__)
        matrix = self._files.vectors.matrix(len(self))
        with contextlib.closing(_Files(folder, self.dimensions)) as files:
            for first in range(0, len(keys), COPIED_AT_ONCE):
                part = keys[first : first + COPIED_AT_ONCE]
                _write(files, first, part, matrix[[rows[key] for key in part]])
        flush_names(folder)


def _write(files: _Files, start: int, keys: list[bytes], vectors: NDArray[np.float32]) -> None:
    if files.hashes.count() > start:  # hashes of rows that are lost must not get others
        files.hashes.write(start, b"")
    files.vectors.write(start, vectors.astype(FLOAT).tobytes())
    files.hashes.write(start, b"".join(keys))


def open_index(store: VectorStore, threshold: int = HNSW_THRESHOLD) -> VectorIndex:
    """The index that suits the number of vectors: exact below `threshold`, a graph above it when hnswlib is
    installed. Call `prepare` on it where time does not matter. A graph is read once per store, so opening again is
    free."""
    if len(store) < threshold or hnsw_missing():
        return VectorIndex(store)
    from vaultmem.vectors.hnsw import HnswIndex

    with _opening:
        if store not in _graphs:
            _graphs[store] = HnswIndex(store)
        return _graphs[store]


def hnsw_missing() -> str | None:
    """Why searches over very many vectors stay exact, and what to install; None when hnswlib is available."""
    try:
        import hnswlib  # noqa: F401 - only whether it can be
    except ImportError as error:
        return (
            f"hnswlib cannot be imported ({error}), so search by meaning compares every block, "
            "which is slow above some 100,000. "
            "With a C++ compiler, pip install 'vaultmem[hnsw]' adds it"
        )
    return None
