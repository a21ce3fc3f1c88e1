"""A file of rows: float32 numbers, little-endian, one row after the other, only ever added to."""

from __future__ import annotations

import mmap
import os
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

FLOAT = np.dtype("<f4")


class RowFile:
    """The rows of `path`, which is made when it is missing. Raises OSError."""

    def __init__(self, path: Path, dimensions: int) -> None:
        self._path = path
        self._dimensions = dimensions
        self._stride = dimensions * FLOAT.itemsize
        self._file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b", buffering=0)
        self._matrix: NDArray[np.float32] | None = None
        sync_folder(path.parent)

    def close(self) -> None:
        """Let go of the file; arrays given out stay valid."""
        self._file.close()

    def whole(self, count: int) -> int:
        """How many of `count` rows are there in full."""
        return min(count, self._size() // self._stride)

    def ends_at(self, count: int) -> bool:
        """Whether the file holds exactly `count` rows."""
        return self._size() == count * self._stride

    def is_in_place(self) -> bool:
        """Whether the path still leads to the file that is open."""
        try:
            return self._path.stat().st_ino == os.fstat(self._file.fileno()).st_ino
        except FileNotFoundError:
            return False

    def matrix(self, count: int) -> NDArray[np.float32]:
        """The first `count` rows, or as many as there are, mapped and read-only. Ask before each
        use: to touch a mapped row that was cut off meanwhile would end the process."""
        rows = self.whole(count)
        if self._matrix is None or len(self._matrix) != rows:
            self._matrix = self._mapped(rows)
        return self._matrix

    def write(self, start: int, block: NDArray[np.float32]) -> None:
        """Make `block` the rows from `start` on, the last ones of the file; on disk on return."""
        target = self._file.fileno()
        self.cut(start)
        data, done = memoryview(block.astype(FLOAT).tobytes()), 0
        while done < len(data):
            done += os.pwrite(target, data[done:], start * self._stride + done)
        os.fsync(target)

    def cut(self, count: int) -> None:
        """Drop what follows the first `count` rows, such as the rest of an interrupted write."""
        if self._size() > count * self._stride:
            os.ftruncate(self._file.fileno(), count * self._stride)

    def _mapped(self, count: int) -> NDArray[np.float32]:
        if not count:
            return np.empty((0, self._dimensions), dtype=FLOAT)
        pages = mmap.mmap(self._file.fileno(), count * self._stride, access=mmap.ACCESS_READ)
        return np.frombuffer(pages, dtype=FLOAT).reshape(count, self._dimensions)

    def _size(self) -> int:
        return os.fstat(self._file.fileno()).st_size


def sync_folder(path: Path) -> None:
    """Make new names in a folder survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
