"""Made-up vectors, to time a search by meaning without the embedding.

Every block gets a random direction with a share that is the same for all, so that, as with a real
model, hundreds of blocks are near enough to any question to be candidates.
"""

from __future__ import annotations

import zlib

import numpy as np
from numpy.typing import NDArray

from vaultmem.search.search import Searcher
from vaultmem.vectors.vectors import open_index

AT_ONCE = 8192
SHARED = 0.8  # of each vector, with a random part of length 1: cosines are around 0.4


class StandIn:
    """Embeds a question at once: the shared direction and a random one chosen by its text."""

    is_local = False  # embeds no blocks

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions

    def load(self) -> None:
        """Nothing is to be loaded."""

    def query(self, text: str) -> NDArray[np.float32]:
        """A normalised vector, always the same for a text."""
        rng = np.random.default_rng(zlib.crc32(text.encode()))
        vector: NDArray[np.float32] = directions(rng, 1, self.dimensions)[0]
        return vector


def directions(rng: np.random.Generator, count: int, dimensions: int) -> NDArray[np.float32]:
    """Rows of length 1."""
    rows = rng.standard_normal((count, dimensions), dtype=np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    rows[:, 0] += SHARED
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def store_vectors(searcher: Searcher) -> int:
    """Give every block a vector, and the searcher a StandIn. Returns the number of vectors."""
    meaning = searcher.meaning()
    found = searcher.catalog.db.execute("SELECT DISTINCT hash FROM blocks ORDER BY hash")
    hashes = meaning.store.missing(row[0] for row in found.fetchall())
    rng = np.random.default_rng(1)
    for start in range(0, len(hashes), AT_ONCE):
        portion = hashes[start : start + AT_ONCE]
        meaning.store.append(portion, directions(rng, len(portion), meaning.store.dimensions))
    open_index(meaning.store, searcher.config.number("vectors.hnsw_threshold")).prepare()
    meaning.embedder = StandIn(meaning.store.dimensions)  # type: ignore[assignment] # only these are called
    return len(meaning.store)
