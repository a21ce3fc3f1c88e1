"""Made-up vectors whose correct value follows from their hash, and their invariants."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import numpy as np
import pytest
from numpy.typing import NDArray

from vaultmem.notes.blocks import text_hash
from vaultmem.vectors.exact import VectorIndex
from vaultmem.vectors.vectors import VectorStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from vaultmem.vectors import exact
    from vaultmem.vectors.hnsw import HnswIndex

DIMENSIONS = 16
Vectors = NDArray[np.float32]


def vector_of(key: bytes, dimensions: int = DIMENSIONS) -> Vectors:
    """The one correct vector of a hash."""
    drawn = np.random.default_rng(int.from_bytes(key, "big")).standard_normal(dimensions)
    return (drawn / np.linalg.norm(drawn)).astype(np.float32)


def vectors_of(keys: list[bytes]) -> Vectors:
    return np.array([vector_of(key) for key in keys], np.float32).reshape(-1, DIMENSIONS)


def keys(start: int, end: int) -> list[bytes]:
    return [text_hash(f"text {number}") for number in range(start, end)]


def assert_right(store: VectorStore, wanted: list[bytes]) -> dict[bytes, int]:
    """Every known hash has its own vector, in its own row."""
    known = store.known(wanted)
    assert len(set(known.values())) == len(known)
    for key, row in known.items():
        assert np.array_equal(store.matrix()[row], vector_of(key))
    return known


@contextlib.contextmanager
def opened(folder: Path) -> Iterator[VectorStore]:
    store = VectorStore(folder, DIMENSIONS)
    try:
        yield store
    finally:
        store.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "a-model"


@pytest.fixture
def store(folder: Path) -> Iterator[VectorStore]:
    with opened(folder) as store:
        store.append(keys(0, 1000), vectors_of(keys(0, 1000)))
        yield store


def recall(index: HnswIndex, store: VectorStore, allowed: exact.Allowed | None = None) -> float:
    sure, hits = VectorIndex(store), 0
    queries = np.random.default_rng(2).standard_normal((50, DIMENSIONS)).astype(np.float32)
    for query in queries / np.linalg.norm(queries, axis=1, keepdims=True):
        expected = {row for row, _ in sure.search(query, 10, allowed)}
        found = index.search(query, 10, allowed)
        assert len(found) == len(expected)
        cosines = [cosine for _, cosine in found]
        assert cosines == sorted(cosines, reverse=True)
        assert np.allclose(store.matrix()[[row for row, _ in found]] @ query, cosines, atol=1e-6)
        hits += len(expected & {row for row, _ in found})
    return hits / 500
