"""The vectors of one model, found by the hash of the text that each stands for.

    <folder named after the model>/g<N>/vectors.f32   rows of normalised little-endian float32
                                       /rows.db       hash of the text -> row
                                       /hnsw.*        a graph over the rows, when there are many

Rows are on disk before their hashes, so that every known hash has the right vector, whenever a process dies. Nothing
is overwritten in place: compacting writes the next generation beside the old one and renames it. The highest
generation counts. The folder can be deleted at any time.
"""

from __future__ import annotations

import contextlib
import itertools
import shutil
import sqlite3
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from vaultmem.errors import StateError
from vaultmem.paths import flush_names, keep_private, make_private
from vaultmem.text.values import OnError
from vaultmem.vectors.exact import ExactIndex, RowFile, VectorIndex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray


# Which row holds the vector of which text: rows.db, one table of SQLite.

FORMAT = 1
AT_ONCE = 500  # hashes in one query of SQLite
WAIT = 10.0  # seconds for another process to finish its batch


class Rows:
    """The hash of each row. Raises sqlite3.DatabaseError for a damaged file."""

    def __init__(self, path: Path, dimensions: int) -> None:
        self._path = path
        self._db = sqlite3.connect(
            keep_private(str(path)), timeout=WAIT, isolation_level=None, check_same_thread=False
        )
        with OnError(self._db.close):
            self._prepare(dimensions)

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def is_in_place(self) -> bool:
        """Whether the file still exists; it may have been deleted while it was open."""
        return self._path.exists()

    def count(self) -> int:
        """One more than the highest row that has a hash."""
        return int(self._db.execute("SELECT coalesce(max(row), -1) + 1 FROM rows").fetchone()[0])

    def find(self, hashes: Iterable[bytes]) -> dict[bytes, int]:
        """The rows of the hashes that have one, by hash."""
        result: dict[bytes, int] = {}
        remaining = iter(hashes)
        while part := list(itertools.islice(remaining, AT_ONCE)):
            marks = ",".join("?" * len(part))
            query = f"SELECT hash, row FROM rows WHERE hash IN ({marks})"  # noqa: S608 - only marks
            result.update(self._db.execute(query, part))
        return result

    def hash_at(self, row: int) -> bytes | None:
        """The hash of a row."""
        row_found = self._db.execute("SELECT hash FROM rows WHERE row = ?", (row,)).fetchone()
        return bytes(row_found[0]) if row_found else None

    def listed_from(self, row: int) -> list[tuple[bytes, int]]:
        """The hashes of this row and all after it."""
        rows = self._db.execute("SELECT hash, row FROM rows WHERE row >= ?", (row,))
        return [(bytes(key), int(number)) for key, number in rows]

    def insert(self, first: int, hashes: Iterable[bytes]) -> None:
        """Store the hashes of the rows from `first` on."""
        self._db.executemany("INSERT INTO rows (row, hash) VALUES (?, ?)", enumerate(hashes, first))

    def drop_from(self, row: int) -> None:
        """Delete this row and all after it."""
        self._db.execute("DELETE FROM rows WHERE row >= ?", (row,))

    @contextmanager
    def writing(self) -> Iterator[None]:
        """An exclusive write transaction, rolled back when the body raises."""
        self._db.execute("BEGIN IMMEDIATE")
        with OnError(self._db.rollback):
            yield
        self._db.execute("COMMIT")

    def _prepare(self, dimensions: int) -> None:
        # With a write-ahead log a search never waits for a batch that is being stored. A power cut
        # may lose the last batches; their texts are then embedded again.
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        made_for = self._db.execute("PRAGMA user_version").fetchone()[0]
        expected = FORMAT << 16 | dimensions
        if made_for == expected:
            return
        if made_for:
            raise sqlite3.DatabaseError(f"made for another model or format ({made_for})")
        with self.writing():
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS rows"
                " (row INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE)"
            )
            self._db.execute(f"PRAGMA user_version = {expected}")


HNSW_THRESHOLD = 50_000  # below it exact search takes a few milliseconds
COPIED_AT_ONCE = 16_384  # rows
T = TypeVar("T")
_graphs: WeakKeyDictionary[VectorStore, VectorIndex] = WeakKeyDictionary()
_opening = threading.Lock()


class VectorStore:
    """The vectors under `folder`. Opening repairs what a crash or a deletion has left behind.

    Thread-safe; a second process waits for its turn to write. Rows are renumbered when `generation` changes: call
    `known` again. `notice` says in one line what had to be discarded, if anything. Raises StateError when the folder
    cannot be used.
    """

    generation: int
    _rows: Rows
    _file: RowFile
    _count: int

    def __init__(self, folder: Path | str, dimensions: int) -> None:
        self.folder = Path(folder)
        self.dimensions = dimensions
        self.notice: str | None = None
        self._lock = threading.RLock()
        try:
            make_private(str(self.folder))
            self._open(max(self._generations(), default=1))
        except OSError as error:
            raise self._unusable(error) from error

    def __len__(self) -> int:
        return self._count

    @property
    def path(self) -> Path:
        """The folder of the generation in use."""
        return self.folder / f"g{self.generation}"

    def known(self, hashes: Iterable[bytes]) -> dict[bytes, int]:
        """The rows of the hashes whose vectors are stored, by hash."""
        digests = list(hashes)

        def find() -> dict[bytes, int]:
            self._count = self._file.whole(self._rows.count())
            return {key: row for key, row in self._rows.find(digests).items() if row < self._count}

        return self._ask(find)

    def missing(self, hashes: Iterable[bytes]) -> list[bytes]:
        """The hashes without a vector, each once, in their order."""
        digests = dict.fromkeys(hashes)
        stored = self.known(digests)
        return [key for key in digests if key not in stored]

    def hash_at(self, row: int) -> bytes | None:
        """The hash of the text whose vector is in this row."""
        return self._ask(lambda: self._rows.hash_at(row))

    def rows_from(self, row: int) -> dict[bytes, int]:
        """The hashes of this row and all after it, with their rows."""
        return self._ask(
            lambda: {key: n for key, n in self._rows.listed_from(row) if n < self._count}
        )

    def append(self, hashes: Sequence[bytes], vectors: NDArray[np.float32]) -> None:
        """Store one vector per hash; a hash that is known already keeps the vector it has.

        Durable when it returns. ValueError for vectors of another shape or with NaN in them.
        """
        block = np.asarray(vectors, dtype=np.float32)
        if block.shape != (len(hashes), self.dimensions):
            raise ValueError(f"{len(hashes)} hashes, but vectors of shape {block.shape}")
        if not np.isfinite(block).all():
            raise ValueError("a vector holds numbers that are not finite")
        self._ask(lambda: self._append(hashes, block))

    def matrix(self) -> NDArray[np.float32]:
        """All rows, read-only, mapped from the file. Call it before each use, see RowFile."""
        with self._lock:
            return self._file.matrix(self._count)

    def compact(self, live: Iterable[bytes], seen: int | None = None) -> bool:
        """Keep only the vectors of the `live` texts, if these are less than half of all. Returns whether rows were
        renumbered. `seen` is the number of rows when `live` was listed: rows added since are kept."""
        digests = list(live)
        return self._ask(lambda: self._compact(digests, seen))

    def close(self) -> None:
        """Close the files; arrays that were returned stay valid."""
        with self._lock:
            self._rows.close()
            self._file.close()

    def _generations(self) -> list[int]:
        names = [entry.name for entry in self.folder.iterdir()]
        return [int(name[1:]) for name in names if name[0] == "g" and name[1:].isdecimal()]

    def _open(self, generation: int) -> None:
        path = self.folder / f"g{generation}"
        make_private(str(path))
        try:
            rows = Rows(path / "rows.db", self.dimensions)
        except sqlite3.OperationalError as error:
            raise self._unusable(error) from error
        except sqlite3.DatabaseError as error:
            self._say(f"the list was damaged ({error})")
            self._open(generation + 1)
            return
        self.generation, self._rows = generation, rows
        self._file = RowFile(path / "vectors.f32", self.dimensions)
        self._ask(self._mend)
        for old in self._generations():
            if old < self.generation:
                shutil.rmtree(self.folder / f"g{old}", ignore_errors=True)

    def _mend(self) -> None:
        """Truncate rows without a hash and delete hashes without a row. Checks before it takes the lock."""
        self._count = self._rows.count()
        if self._file.ends_at(self._count):
            return
        with self._rows.writing():
            self._count = self._drop_cut_off()
            self._file.cut(self._count)

    def _drop_cut_off(self) -> int:
        """Delete hashes whose rows are not in the file. Returns the number of rows left."""
        listed = self._rows.count()
        there = self._file.whole(listed)
        if there < listed:
            self._say(f"{listed - there} were cut off")
            self._rows.drop_from(there)
        return there

    def _start_over(self, why: str) -> None:
        """Switch to the generation that another process made, or to a new one."""
        self.close()
        make_private(str(self.folder))
        newest = max(self._generations(), default=0)
        if newest <= self.generation:
            self._say(why)
            newest = self.generation + 1
        self._open(newest)

    def _ask(self, question: Callable[[], T]) -> T:
        """Run a function that reads or writes; a damaged list is replaced by an empty one, once."""
        with self._lock:
            try:
                try:
                    return question()
                except sqlite3.OperationalError:
                    raise
                except sqlite3.DatabaseError as error:
                    self._start_over(f"the list was damaged ({error})")
                    return question()
            except (OSError, sqlite3.Error) as error:
                raise self._unusable(error) from error

    def _say(self, what: str) -> None:
        model = self.folder.name
        self.notice = f"Of the vectors of {model}, {what}; the next sync computes them again."

    def _unusable(self, error: Exception) -> StateError:
        return StateError(
            f"The vectors in {self.folder} cannot be used: {error}. "
            "Free some space or make the folder writable; it may also be deleted."
        )

    def _append(self, hashes: Sequence[bytes], block: NDArray[np.float32]) -> None:
        self._stay_in_place()
        with self._rows.writing():
            start = self._drop_cut_off()
            stored = self._rows.find(dict.fromkeys(hashes))
            places = {key: place for place, key in enumerate(hashes) if key not in stored}
            self._file.write(start, block[list(places.values())])
            self._rows.insert(start, places)
        self._count = start + len(places)

    def _stay_in_place(self) -> None:
        """Start over if somebody has deleted the open files."""
        if not (self._file.is_in_place() and self._rows.is_in_place()):
            self._start_over("the files were deleted")

    def _compact(self, live: list[bytes], seen: int | None) -> bool:
        before = self.generation
        self._stay_in_place()
        if self.generation != before:
            return True
        target = self.folder / f"g{before + 1}"
        with self._rows.writing():  # nobody may add to a generation that is about to be replaced
            self._count = self._drop_cut_off()
            rows = self._rows.find(live)
            if seen is not None:
                rows.update(self._rows.listed_from(seen))
            live_rows = sorted((row, key) for key, row in rows.items())
            if len(live_rows) * 2 >= self._count or target.exists():
                return False
            for left in self.folder.glob(".new-*"):  # left by a process that was killed here
                shutil.rmtree(left, ignore_errors=True)
            fresh = Path(tempfile.mkdtemp(prefix=".new-", dir=self.folder))
            try:
                self._copy(live_rows, fresh)
                fresh.rename(target)
            finally:
                shutil.rmtree(fresh, ignore_errors=True)
            flush_names(self.folder)
        self.close()
        self._open(before + 1)
        return True

    def _copy(self, live_rows: list[tuple[int, bytes]], fresh: Path) -> None:
        matrix = self._file.matrix(self._count)
        numbers = np.array([row for row, _ in live_rows], dtype=np.int64)
        with contextlib.closing(RowFile(fresh / "vectors.f32", self.dimensions)) as file:
            for first in range(0, len(numbers), COPIED_AT_ONCE):
                file.write(first, matrix[numbers[first : first + COPIED_AT_ONCE]])
        with contextlib.closing(Rows(fresh / "rows.db", self.dimensions)) as rows, rows.writing():
            rows.insert(0, (key for _, key in live_rows))
        flush_names(fresh)


def open_index(store: VectorStore, threshold: int = HNSW_THRESHOLD) -> VectorIndex:
    """The index that suits the number of vectors: exact below `threshold`, a graph above it when hnswlib is
    installed. Call `prepare` on it where time does not matter. A graph is read once per store, so opening again is
    free."""
    if len(store) < threshold or hnsw_missing():
        return ExactIndex(store)
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
