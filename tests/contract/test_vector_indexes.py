"""The promises of every VectorIndex, checked for the exact one, the graph and a real Chroma server."""

import contextlib
import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.chroma_run import PLACE, Server, chroma, needs_chroma, shared
from vaultmem.vectors.exact import VectorIndex

if sys.version_info >= (3, 13):  # hnswlib has no wheel there
    pytest.importorskip("hnswlib")
from vaultmem.notes.blocks import text_hash
from vaultmem.vectors.hnsw import HnswIndex
from vaultmem.vectors.shared_index import Health
from vaultmem.vectors.vectors import VectorStore

DIMENSIONS, ROWS = 24, 3000

__all__ = ["chroma"]  # a fixture
NUMBERS = itertools.count()
Make = Callable[[VectorStore], VectorIndex]
INDEXES: dict[str, Make] = {
    "exact": VectorIndex,
    "graph": lambda store: HnswIndex(store, narrow=50),
}


def normalised(seed: int, count: int) -> NDArray[np.float32]:
    drawn = np.random.default_rng(seed).standard_normal((count, DIMENSIONS))
    return (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)


def hashes(start: int, end: int) -> list[bytes]:
    return [text_hash(f"text {number}") for number in range(start, end)]


@pytest.fixture(params=[*INDEXES, pytest.param("chroma", marks=needs_chroma)])
def make(request: pytest.FixtureRequest) -> Iterator[Make]:
    if request.param in INDEXES:
        yield INDEXES[request.param]
        return
    with contextlib.ExitStack() as opened:
        yield lambda store: opened.enter_context(
            published(store, request.getfixturevalue("chroma"))
        )


@contextlib.contextmanager
def published(store: VectorStore, server: Server) -> Iterator[VectorIndex]:
    """All rows of a store on the server, in their own collection."""
    with shared(store, server, f"test-{next(NUMBERS)}", narrow=50) as index:
        known = store.known(hashes(0, ROWS))
        index.publish(dict.fromkeys(known, PLACE), whole=True)
        assert index.health() == Health(None, 0)
        yield index


@pytest.fixture
def store(tmp_path: Path) -> Iterator[VectorStore]:
    with contextlib.closing(VectorStore(tmp_path / "model", DIMENSIONS)) as opened:
        opened.append(hashes(0, ROWS), normalised(1, ROWS))
        yield opened


@pytest.fixture
def index(make: Make, store: VectorStore) -> VectorIndex:
    made = make(store)
    made.prepare()
    return made


def brute_force(
    store: VectorStore, query: NDArray[np.float32], k: int, allowed: list[int]
) -> list[int]:
    cosines = store.matrix() @ query
    return sorted(allowed, key=lambda row: (-cosines[row], row))[:k]


def test_hits_are_rows_with_their_cosines_nearest_first(
    index: VectorIndex, store: VectorStore
) -> None:
    for query in normalised(2, 20):
        hits = index.search(query, 10)
        assert len(hits) == len({row for row, _ in hits}) == 10
        assert hits == sorted(hits, key=lambda hit: (-hit[1], hit[0]))
        for row, cosine in hits:
            assert cosine == pytest.approx(float(store.matrix()[row] @ query), abs=1e-5)


def test_nearly_all_of_the_nearest_are_found(index: VectorIndex, store: VectorStore) -> None:
    right = 0
    for query in normalised(3, 30):
        found = {row for row, _ in index.search(query, 10)}
        right += len(found & set(brute_force(store, query, 10, list(range(ROWS)))))
    assert right >= 0.95 * 300


@pytest.mark.parametrize("step", [2, 500])
def test_only_allowed_rows_are_hit_and_as_many_as_there_are(
    index: VectorIndex, store: VectorStore, step: int
) -> None:
    rows = list(range(0, ROWS, step))
    mask = np.zeros(ROWS, dtype=np.bool_)
    mask[rows] = True
    query = normalised(4, 1)[0]
    for allowed in (rows, np.array(rows), mask):
        hits = index.search(query, 10, allowed)
        assert {row for row, _ in hits} <= set(rows)
        assert len(hits) == min(10, len(rows))
    assert index.search(query, 10, rows)[0][0] == brute_force(store, query, 1, rows)[0]


def test_nothing_is_found_where_nothing_may_be(index: VectorIndex) -> None:
    query = normalised(5, 1)[0]
    assert index.search(query, 10, []) == []
    assert index.search(query, 10, [ROWS + 5, -1]) == []
    assert index.search(query, 0) == []


def test_asking_for_more_than_there_is_gives_all(index: VectorIndex) -> None:
    assert {row for row, _ in index.search(normalised(6, 1)[0], ROWS * 2)} == set(range(ROWS))


def test_rows_that_come_later_are_found_before_the_next_preparing(
    index: VectorIndex, store: VectorStore
) -> None:
    late = normalised(7, 5)
    store.append(hashes(ROWS, ROWS + 5), late)
    for number, vector in enumerate(late):
        assert index.search(vector, 1)[0][0] == ROWS + number


def test_a_query_of_another_model_is_refused(index: VectorIndex) -> None:
    with pytest.raises(ValueError, match="shape"):
        index.search(np.ones(DIMENSIONS + 1, dtype=np.float32), 3, [1, 2])
