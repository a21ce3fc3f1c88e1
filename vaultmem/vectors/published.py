"""Which rows of a vault's vectors the server has been given, and with which facts: one number for each row.

    <generation of the vectors>/shared-<place>.seals   little-endian uint64, mapped

A row that was written has the seal of its record. The file may be lost: the server's own list fills it again.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from vaultmem.vectors.shared_index import Fact
from vaultmem.vectors.vectors import VectorStore

UNKNOWN, WITHHELD, LEAVING = 0, 1, 2  # not written; not to be written; to be removed
FIRST_SEAL = 16
_SEAL = np.dtype("<u8")


def seal_of(metadata: Mapping[str, Fact]) -> int:
    """A number that another place or other facts change. It has 52 bits: servers keep numbers as floats."""
    text = json.dumps(metadata, sort_keys=True, ensure_ascii=False).encode("utf-8", "replace")
    number = int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big") >> 12
    return number + FIRST_SEAL


class Published:
    """The seals of a store's rows. Any thread may use it; one process writes."""

    def __init__(self, store: VectorStore, name: str) -> None:
        self._store, self._name = store, hashlib.blake2b(name.encode(), digest_size=6).hexdigest()
        self._lock = threading.Lock()
        self._generation = -1
        self.is_new = True  # whether there is no file of before
        self._seals: NDArray[np.uint64] = np.zeros(0, dtype=_SEAL)

    def seals(self) -> NDArray[np.uint64]:
        """One for each row that there is now."""
        with self._lock:
            self._look()
            return self._seals[: len(self._store)]

    def mark(self, rows: Sequence[int] | NDArray[np.int64], seals: object) -> None:
        """Remember what was done with these rows."""
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
