"""The graph finds nearly what exact search finds, and a damaged graph is never loaded."""

import gc
import json
import random
import shutil
import sys
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.vector_samples import (
    DIMENSIONS,
    Vectors,
    folder,
    keys,
    opened,
    recall,
    store,
    vector_of,
    vectors_of,
)

if sys.version_info >= (3, 13):  # there is no wheel for it
    pytest.importorskip("hnswlib")
from vaultmem.vectors import exact, hnsw
from vaultmem.vectors.exact import VectorIndex, nearest
from vaultmem.vectors.hnsw import HnswIndex
from vaultmem.vectors.vectors import VectorStore, hnsw_missing, open_index

__all__ = ["folder", "store"]  # fixtures


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """4,000 rows in clusters, like texts, with a saved graph."""
    folder = tmp_path_factory.mktemp("crowd") / "a-model"
    rng = np.random.default_rng(11)
    centres = rng.standard_normal((60, DIMENSIONS))
    drawn = centres[rng.integers(0, 60, 4000)] + rng.standard_normal((4000, DIMENSIONS))
    rows = (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)
    with opened(folder) as store:
        store.append(keys(0, 4000), rows)
        HnswIndex(store).prepare()
    return folder


@pytest.fixture
def crowded(crowd: Path, folder: Path) -> Iterator[VectorStore]:
    shutil.copytree(crowd, folder)
    with opened(folder) as store:
        yield store


@pytest.fixture
def no_exact(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows each exact comparison of the graph index had to compare."""
    looked: list[int] = []

    def counting(
        matrix: Vectors, query: Vectors, k: int, rows: NDArray[np.int64] | None, first: int = 0
    ) -> exact.Hits:
        looked.append(len(matrix) - first if rows is None else int((rows >= first).sum()))
        return nearest(matrix, query, k, rows, first)

    monkeypatch.setattr(hnsw, "nearest", counting)
    return looked


@pytest.mark.parametrize("share", [2, 3, 10])
def test_a_wide_filter_acts_inside(crowded: VectorStore, no_exact: list[int], share: int) -> None:
    allowed = np.arange(0, 4000, share)
    assert recall(HnswIndex(crowded, narrow=100), crowded, allowed) >= 0.95
    assert np.mean(no_exact) < 250


def test_rows_that_came_later_are_found_exactly(crowded: VectorStore, no_exact: list[int]) -> None:
    new = keys(9000, 9100)
    crowded.append(new, vectors_of(new))
    index = HnswIndex(crowded)
    assert index.rows == 4000
    for number, key in enumerate(new):
        assert index.search(vector_of(key), 3)[0][0] == 4000 + number
        assert index.search(vector_of(key), 3, range(4050))[0][0] in {4000 + number, *range(4050)}
    assert max(no_exact) <= 4050
    index.prepare()
    assert index.rows == 4000  # so short a tail is not worth a new graph
    more = keys(9100, 9500)
    crowded.append(more, vectors_of(more))
    index.prepare()
    assert index.rows == 4500
    assert HnswIndex(crowded).rows == 4500
    assert recall(index, crowded) >= 0.95


def noted(note: dict[str, object]) -> Callable[[bytes], bytes]:
    """Changes fields of the note beside the graph."""
    return lambda content: json.dumps(json.loads(content) | note).encode()


GRAPH, NOTE = "hnsw.bin", "hnsw.json"
DAMAGES: dict[str, tuple[str, Callable[[bytes], bytes | None]]] = {
    "an empty graph": (GRAPH, lambda _: b""),
    "a cut graph": (GRAPH, lambda content: content[:-1]),
    "a longer graph": (GRAPH, lambda content: content + b"\0"),
    "another header": (GRAPH, lambda content: b"\xff" * 96 + content[96:]),
    "one bit": (GRAPH, lambda content: content[:5000] + bytes([content[5000] ^ 1]) + content[5001:]),
    "noise": (GRAPH, lambda content: random.Random(1).randbytes(len(content))),
    "no note": (NOTE, lambda _: None),
    "an empty note": (NOTE, lambda _: b""),
    "a note that is a list": (NOTE, lambda _: b"[]"),
    "a note of words": (NOTE, lambda _: b'{"rows": "many"}'),
    "fewer than no rows": (NOTE, lambda _: b'{"rows": -4}'),
    "another model": (NOTE, noted({"model": "other"})),
    "a row too few": (NOTE, noted({"rows": 3999})),
    "far too many rows": (NOTE, noted({"rows": 10**9})),
    "another last row": (NOTE, noted({"last": "00"})),
    "other dimensions": (NOTE, noted({"dimensions": 17})),
    "another format": (NOTE, noted({"format": 0})),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_graph_that_does_not_fit_is_built_again(crowded: VectorStore, damage: str) -> None:
    name, change = DAMAGES[damage]
    path = crowded.path / name
    data = change(path.read_bytes())
    path.unlink()
    if data is not None:
        path.write_bytes(data)
    index = HnswIndex(crowded)
    assert index.rows == 0
    if damage == "another header":  # what follows is the same for all
        assert recall(index, crowded) == 1.0
        index.prepare()
        assert HnswIndex(crowded).rows == 4000


def test_a_graph_in_use_is_left_when_rows_are_renumbered(crowded: VectorStore) -> None:
    index = HnswIndex(crowded)
    assert crowded.compact(keys(0, 1500))
    assert index.rows == 0
    assert recall(index, crowded) == 1.0
    more = keys(10_000, 13_000)  # as many rows again as the old graph covers
    crowded.append(more, vectors_of(more))
    assert index.rows == 0
    assert recall(index, crowded) == 1.0
    index.prepare()
    assert index.rows == 4500


def test_a_killed_save_leaves_no_graph_that_loads_wrongly(
    crowded: VectorStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The graph is in place, but its note is still the old one."""
    new = keys(9000, 10_000)
    crowded.append(new, vectors_of(new))
    index = HnswIndex(crowded)
    replace = Path.replace

    def dying(path: Path, target: Path) -> Path:
        if path.name == "hnsw.json":
            raise KeyboardInterrupt
        return replace(path, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", dying)
        with pytest.raises(KeyboardInterrupt):
            index.prepare()
    assert HnswIndex(crowded).rows == 0


# The choice


def test_without_hnswlib_search_is_exact_and_says_what_to_install(
    store: VectorStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "hnswlib", None)
    assert type(open_index(store, 1)) is VectorIndex
    message = hnsw_missing()
    assert message is not None
    assert "pip install 'vaultmem[hnsw]'" in message


def test_a_filter_of_far_rows_still_gives_as_many(crowded: VectorStore) -> None:
    """The rows nearest to the query are all excluded."""
    query = np.array(crowded.matrix()[7])
    order = [row for row, _ in VectorIndex(crowded).search(query, 4000)]
    allowed = np.array(order[2500:])
    found = HnswIndex(crowded, narrow=100).search(query, 10, allowed)
    assert found == VectorIndex(crowded).search(query, 10, allowed)


def test_a_graph_is_read_once_per_store_and_goes_with_it(crowd: Path, folder: Path) -> None:
    shutil.copytree(crowd, folder)
    store = VectorStore(folder, DIMENSIONS)
    index = weakref.ref(open_index(store, 1000))
    assert open_index(store, 1000) is index()
    store.close()
    del store
    gc.collect()
    assert index() is None
