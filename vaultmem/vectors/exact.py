"""Exact search by cosine over the rows of a file, in chunks, so that memory use stays constant."""

from __future__ import annotations

import contextlib
import mmap
import os
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vaultmem.light import TYPE_CHECKING
from vaultmem.paths import flush_names

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from vaultmem.vectors.vectors import VectorStore


Hits = list[tuple[int, float]]
Allowed = NDArray[np.bool_] | NDArray[np.integer] | Sequence[int]

ROWS_AT_ONCE = 8_192
PICKED_AT_ONCE = 2_048  # rows copied out of the file one by one
WORTH_PICKING = 4  # reading a single row costs about four times as much as reading it in sequence
MOST_MAPPED = 64 << 20  # bytes of the file that may count as memory of this process


class VectorIndex:
    """Finds the rows nearest to a vector. This one compares every allowed row, which is always right, and fastest up to
    some ten thousand rows; others extend it."""

    def __init__(self, store: VectorStore) -> None:
        self._store = store

    def search(self, query: NDArray[np.float32], k: int, allowed: Allowed | None = None) -> Hits:
        """The `k` nearest of the allowed rows and their cosines, nearest first, ties by row.

        `query` is normalised. `allowed` is row numbers, or one boolean per row; None is all rows.
        Rows that do not exist are ignored.
        """
        matrix = self._store.matrix()
        return nearest(matrix, query, k, row_numbers(allowed, len(matrix)))

    def prepare(self) -> None:
        """Do the slow work, if any, that makes later searches fast. May take minutes; searches from other threads go on
        meanwhile."""


def nearest(
    matrix: NDArray[np.float32],
    query: NDArray[np.float32],
    k: int,
    rows: NDArray[np.int64] | None,
    first: int = 0,
) -> Hits:
    """The `k` rows of highest cosine among `rows` that are not below `first`.

    `rows` are sorted; None is all.
    """
    if query.shape != matrix.shape[1:]:
        raise ValueError(f"a query of shape {query.shape} for rows of {matrix.shape[1:]}")
    best_rows = np.empty(0, dtype=np.int64)
    best = np.empty(0, dtype=np.float32)
    if k < 1:
        return []
    for numbers, cosines in _pieces(matrix, query.astype(np.float32), rows, first):
        # A damaged file may hold NaN, which would count as the largest number.
        np.nan_to_num(cosines, copy=False, nan=-1.0, posinf=-1.0, neginf=-1.0)
        best_rows, best = _best(
            np.concatenate((best_rows, numbers)), np.concatenate((best, cosines)), k
        )
    return [
        (int(row), float(cosine))
        for row, cosine in zip(best_rows, np.clip(best, -1.0, 1.0), strict=True)
    ]


def row_numbers(allowed: Allowed | None, count: int) -> NDArray[np.int64] | None:
    """A filter as sorted, unique row numbers below `count`; None stays None."""
    if allowed is None:
        return None
    rows = np.asarray(allowed)
    if rows.dtype == np.bool_:
        return np.flatnonzero(rows[:count]).astype(np.int64)
    numbers = np.unique(rows.astype(np.int64))
    return numbers[(numbers >= 0) & (numbers < count)]


def _best(
    rows: NDArray[np.int64], cosines: NDArray[np.float32], k: int
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    if len(rows) > k:
        # All that are as near as the k-th, so that ties are broken by row and not by chance.
        limit = np.partition(cosines, len(cosines) - k)[len(cosines) - k]
        near = np.flatnonzero(cosines >= limit)
        rows, cosines = rows[near], cosines[near]
    order = np.lexsort((rows, -cosines))[:k]
    return rows[order], cosines[order]


def _pieces(
    matrix: NDArray[np.float32],
    query: NDArray[np.float32],
    rows: NDArray[np.int64] | None,
    first: int,
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
    """Yield row numbers and cosines, a bounded number at a time."""
    if rows is not None and len(rows) * WORTH_PICKING < len(matrix) - first:
        rows = rows[np.searchsorted(rows, first) :]
        for start in range(0, len(rows), PICKED_AT_ONCE):
            picked = rows[start : start + PICKED_AT_ONCE]
            yield picked, matrix[picked] @ query
            _release(matrix, 0, len(matrix))
    else:
        for start in range(first, len(matrix), ROWS_AT_ONCE):
            end = min(start + ROWS_AT_ONCE, len(matrix))
            cosines = matrix[start:end] @ query
            if rows is None:
                yield np.arange(start, end), cosines
            else:
                inside = rows[np.searchsorted(rows, start) : np.searchsorted(rows, end)]
                yield inside, cosines[inside - start]
            _release(matrix, start, end)


def _release(matrix: NDArray[np.float32], first: int, end: int) -> None:
    """Give pages that were read back to the system, which keeps them cached anyway."""
    row = matrix.shape[1] * matrix.itemsize
    if matrix.nbytes <= MOST_MAPPED:
        return
    pages = _mapping(matrix)
    if pages is None:
        return
    start = first * row // mmap.PAGESIZE * mmap.PAGESIZE
    with contextlib.suppress(OSError):
        pages.madvise(mmap.MADV_DONTNEED, start, end * row - start)


def _mapping(matrix: NDArray[np.float32]) -> mmap.mmap | None:
    holder: object = matrix
    while isinstance(holder, np.ndarray):
        holder = holder.base
    holder = holder.obj if isinstance(holder, memoryview) else holder
    return holder if isinstance(holder, mmap.mmap) else None


# A file of rows of equal length, one after the other, append-only.

FLOAT = np.dtype("<f4")


class RowFile:
    """The rows in the file `path`, each of `width` floats, or items of another size. The file is created when it is
    missing. Raises OSError."""

    def __init__(self, path: Path, width: int, size: int = FLOAT.itemsize) -> None:
        self._path, self._width = path, width
        self._stride = width * size
        self._file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b", buffering=0)
        self._matrix: NDArray[np.float32] | None = None
        flush_names(path.parent)

    def close(self) -> None:
        """Close the file; arrays that were returned stay valid."""
        self._file.close()

    def count(self) -> int:
        """How many rows are complete in the file."""
        return os.fstat(self._file.fileno()).st_size // self._stride

    def is_in_place(self) -> bool:
        """Whether the path still refers to the open file."""
        try:
            return self._path.stat().st_ino == os.fstat(self._file.fileno()).st_ino
        except FileNotFoundError:
            return False

    def matrix(self, count: int) -> NDArray[np.float32]:
        """The first `count` rows, or as many as there are, mapped and read-only. Call it before each use: reading a
        mapped row that was truncated meanwhile would crash the process."""
        rows = min(count, self.count())
        if self._matrix is None or len(self._matrix) != rows:
            self._matrix = self._map(rows)
        return self._matrix

    def read(self, start: int, end: int) -> bytes:
        """The bytes of the rows [start, end)."""
        return os.pread(self._file.fileno(), (end - start) * self._stride, start * self._stride)

    def write(self, start: int, data: bytes) -> None:
        """Write the bytes of rows from row `start` on, in place of whatever follows. Durable on return."""
        target = self._file.fileno()
        os.ftruncate(target, start * self._stride)
        view, done = memoryview(data), 0
        while done < len(view):
            done += os.pwrite(target, view[done:], start * self._stride + done)
        os.fsync(target)

    def _map(self, count: int) -> NDArray[np.float32]:
        if not count:
            return np.empty((0, self._width), dtype=FLOAT)
        pages = mmap.mmap(self._file.fileno(), count * self._stride, access=mmap.ACCESS_READ)
        return np.frombuffer(pages, dtype=FLOAT).reshape(count, self._width)
