"""Laws of the vector files: what is known is right, come what may; search equals brute force."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from vaultmem.errors import StateError
from vaultmem.store import exact, hnsw
from vaultmem.store.exact import nearest, row_numbers
from vaultmem.store.hnsw import HnswIndex
from vaultmem.store.row_file import RowFile
from vaultmem.store.vectors import (
    ExactIndex,
    VectorStore,
    hnsw_missing,
    open_index,
    text_hash,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DIMENSIONS = 16
Vectors = NDArray[np.float32]


def vector_of(key: bytes, dimensions: int = DIMENSIONS) -> Vectors:
    """The one right vector of a hash."""
    drawn = np.random.default_rng(int.from_bytes(key, "big")).standard_normal(dimensions)
    return (drawn / np.linalg.norm(drawn)).astype(np.float32)


def vectors_of(keys: list[bytes]) -> Vectors:
    return np.array([vector_of(key) for key in keys], np.float32).reshape(-1, DIMENSIONS)


def keys(start: int, end: int) -> list[bytes]:
    return [text_hash(f"text {number}") for number in range(start, end)]


def assert_right(store: VectorStore, wanted: list[bytes]) -> dict[bytes, int]:
    """Every hash that is known has its own vector, in a row of its own."""
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


def test_the_hash_is_16_bytes_of_exactly_this_text() -> None:
    assert text_hash("a") == text_hash("a") != text_hash("a ")
    assert {len(text_hash(text)) for text in ("", "a", "\ud800", "é" * 1000)} == {16}


# The store


@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(st.integers(0, 30), max_size=12), max_size=6))
def test_what_is_appended_is_known_after_reopening(batches: list[list[int]]) -> None:
    universe = keys(0, 31)
    with tempfile.TemporaryDirectory() as name:
        expected: set[bytes] = set()
        for batch in batches:
            wanted = [universe[number] for number in batch]
            with opened(Path(name)) as store:
                assert store.missing(wanted) == [
                    key for key in dict.fromkeys(wanted) if key not in expected
                ]
                store.append(wanted, vectors_of(wanted))
                expected.update(wanted)
                assert set(assert_right(store, universe)) == expected
        with opened(Path(name)) as store:
            assert set(assert_right(store, universe)) == expected
            assert len(store) == len(store.matrix()) == len(expected)
            assert {store.hash_at(row) for row in range(len(store))} == expected
            assert store.notice is None


def test_a_known_hash_keeps_its_vector(store: VectorStore) -> None:
    store.append(keys(0, 2), vectors_of(keys(5, 7)))
    assert len(assert_right(store, keys(0, 1000))) == 1000
    assert len(store) == 1000


def test_vectors_of_another_shape_or_with_nan_are_refused(store: VectorStore) -> None:
    with pytest.raises(ValueError, match="shape"):
        store.append(keys(1000, 1002), vectors_of(keys(1000, 1001)))
    with pytest.raises(ValueError, match="not finite"):
        store.append(keys(1000, 1001), np.full((1, DIMENSIONS), np.nan, np.float32))
    assert store.missing(keys(1000, 1002)) == keys(1000, 1002)


def test_the_matrix_cannot_be_written(store: VectorStore) -> None:
    with pytest.raises(ValueError, match="read-only"):
        store.matrix()[0, 0] = 1


KILLED = """
import sys, itertools
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from test_vectors import keys, vectors_of, DIMENSIONS
from vaultmem.store.vectors import VectorStore
store = VectorStore(Path(sys.argv[1]), DIMENSIONS)
start = len(store)
print("ready", flush=True)
for number in itertools.count(start, 40):
    store.append(keys(number, number + 40), vectors_of(keys(number, number + 40)))
    if number % 400 == 0:
        store.compact(keys(number - 100, number + 40))
"""


def test_kill_at_any_moment_leaves_only_right_vectors(folder: Path) -> None:
    rng = random.Random(5)
    most = 0
    for _ in range(6):
        with subprocess.Popen(
            [sys.executable, "-c", KILLED, str(folder), str(Path(__file__).parent)],
            stdout=subprocess.PIPE,
        ) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == b"ready\n"
            time.sleep(rng.uniform(0.01, 0.25))
            child.send_signal(signal.SIGKILL)
        with opened(folder) as store:
            # Asked of the store itself: how far the child came depends on the machine.
            hashes = [store.hash_at(row) for row in range(len(store))]
            known = assert_right(store, [key for key in hashes if key is not None])
            assert len(known) == len(hashes)
            assert store.notice is None
            assert os.path.getsize(store.path / "vectors.f32") == len(store) * DIMENSIONS * 4
            most = max(most, len(known))
    assert most > 40


def test_an_interrupted_write_is_cut_and_written_over(folder: Path, store: VectorStore) -> None:
    store.close()
    with (folder / "g1" / "vectors.f32").open("ab") as file:
        file.write(b"\x7f" * 1000)
    with opened(folder) as again:
        assert again.notice is None
        again.append(keys(1000, 1003), vectors_of(keys(1000, 1003)))
        assert len(assert_right(again, keys(0, 1003))) == 1003


@pytest.mark.parametrize("size", [0, 1, 63, 64, 500 * 64 + 1, 1000 * 64 - 1])
def test_a_file_that_was_cut_off_loses_only_what_is_gone(
    folder: Path, store: VectorStore, size: int
) -> None:
    store.close()
    os.truncate(folder / "g1" / "vectors.f32", size)
    with opened(folder) as again:
        assert set(assert_right(again, keys(0, 1000))) == set(keys(0, size // 64))
        assert again.notice is not None
        assert f"{1000 - size // 64} were cut off" in again.notice
        again.append(keys(0, 1000), vectors_of(keys(0, 1000)))
        assert len(assert_right(again, keys(0, 1000))) == 1000


def test_a_file_cut_off_while_it_is_open_does_not_end_the_process(
    folder: Path, store: VectorStore
) -> None:
    index = ExactIndex(store)
    assert index.search(vector_of(keys(9, 10)[0]), 1)[0][0] == 9
    os.truncate(folder / "g1" / "vectors.f32", 100 * 64 + 5)
    assert index.search(vector_of(keys(9, 10)[0]), 1000)[0][0] == 9
    assert set(assert_right(store, keys(0, 1000))) == set(keys(0, 100))
    store.append(keys(500, 600), vectors_of(keys(500, 600)))
    assert len(assert_right(store, keys(0, 1000))) == 200


def garble(path: Path) -> None:
    path.write_bytes(random.Random(3).randbytes(path.stat().st_size))


def garble_pages(path: Path) -> None:
    """The first page still looks right."""
    content = path.read_bytes()
    path.write_bytes(content[:4096] + random.Random(3).randbytes(len(content) - 4096))


@pytest.mark.parametrize(
    ("name", "damage"),
    [("vectors.f32", Path.unlink), ("rows.db", Path.unlink), ("rows.db", garble),
     ("rows.db", garble_pages)],
)  # fmt: skip
def test_damaged_or_deleted_files_are_made_anew(
    folder: Path, store: VectorStore, name: str, damage: Callable[[Path], None]
) -> None:
    store.close()
    damage(folder / "g1" / name)
    with opened(folder) as again:
        again.known(keys(0, 1000))
        again.append(keys(0, 1000), vectors_of(keys(0, 1000)))
        assert len(assert_right(again, keys(0, 1000))) == 1000
    with opened(folder) as again:
        assert len(assert_right(again, keys(0, 1000))) == 1000


@pytest.mark.parametrize("lost", ["", "g1", "g1/vectors.f32", "g1/rows.db"])
def test_files_deleted_while_open_are_made_anew(
    folder: Path, store: VectorStore, lost: str
) -> None:
    path = folder / lost
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
    store.known(keys(0, 10))
    store.append(keys(1000, 1010), vectors_of(keys(1000, 1010)))
    assert set(assert_right(store, keys(0, 1010))) == set(keys(1000, 1010))
    with opened(folder) as again:
        assert set(assert_right(again, keys(0, 1010))) == set(keys(1000, 1010))


def test_vectors_of_other_dimensions_do_not_mix(folder: Path, store: VectorStore) -> None:
    store.close()
    with contextlib.closing(VectorStore(folder, 8)) as other:
        assert len(other) == 0
        assert other.known(keys(0, 10)) == {}


def test_a_folder_that_cannot_be_used_is_an_error_of_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StateError, match="cannot be used") as caught:
        VectorStore(tmp_path / "file", DIMENSIONS)
    assert "\n" not in str(caught.value)


def test_no_hash_is_known_before_its_bytes_are_on_disk(
    folder: Path, store: VectorStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    new, seen, fsync = keys(1000, 1010), [], os.fsync

    def watching(descriptor: int) -> None:
        with contextlib.closing(sqlite3.connect(folder / "g1" / "rows.db")) as db:
            seen.append(db.execute("SELECT count(*) FROM rows").fetchone()[0])
        fsync(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", watching)
        store.append(new, vectors_of(new))
    assert seen == [1000]
    assert len(assert_right(store, keys(0, 1010))) == 1010


def test_a_write_that_fails_leaves_everything_as_it_was(
    store: VectorStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        with pytest.raises(StateError, match="No space left"):
            store.append(keys(1000, 1010), vectors_of(keys(1000, 1010)))
    assert len(assert_right(store, keys(0, 1010))) == 1000
    store.append(keys(1000, 1010), vectors_of(keys(1000, 1010)))
    assert len(assert_right(store, keys(0, 1010))) == 1010


ADDING = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from test_vectors import keys, vectors_of, DIMENSIONS
from vaultmem.store.vectors import VectorStore
store = VectorStore(Path(sys.argv[1]), DIMENSIONS)
for number in range(0, 300, 10):
    store.append(keys(number, number + 20), vectors_of(keys(number, number + 20)))
store.close()
"""


def test_processes_that_add_at_once_do_not_disturb_each_other(folder: Path) -> None:
    command = [sys.executable, "-c", ADDING, str(folder), str(Path(__file__).parent)]
    started = [subprocess.Popen(command) for _ in range(3)]
    assert [process.wait(60) for process in started] == [0, 0, 0]
    with opened(folder) as store:
        assert len(assert_right(store, keys(0, 310))) == len(store) == 310


def test_a_writer_waits_until_the_other_is_done(folder: Path, store: VectorStore) -> None:
    new, path = keys(1000, 1010), folder / "g1" / "vectors.f32"
    with opened(folder) as other:
        waiting = threading.Thread(target=other.append, args=(new, vectors_of(new)))
        with store._rows.writing():
            waiting.start()
            waiting.join(0.2)
            assert waiting.is_alive()
            assert path.stat().st_size == 1000 * DIMENSIONS * 4
        waiting.join()
        assert len(assert_right(other, keys(0, 1010))) == 1010


# Compacting


@settings(max_examples=20, deadline=None)
@given(st.sets(st.integers(0, 59)), st.integers(0, 50))
def test_compacting_keeps_what_lives_when_most_is_dead(live: set[int], count: int) -> None:
    universe = keys(0, 60)
    with tempfile.TemporaryDirectory() as name, opened(Path(name)) as store:
        store.append(universe[:count], vectors_of(universe[:count]))
        kept = {universe[number] for number in live if number < count}
        done = store.compact([universe[number] for number in sorted(live)])
        assert done == (len(kept) * 2 < count)
        assert set(assert_right(store, universe)) == (kept if done else set(universe[:count]))
        store.append(universe, vectors_of(universe))
        assert len(assert_right(store, universe)) == 60
        assert len(os.listdir(name)) == 1


def test_whoever_reads_while_another_compacts_keeps_a_consistent_view(
    folder: Path, store: VectorStore
) -> None:
    index = ExactIndex(store)
    with opened(folder) as other:
        assert other.compact(keys(900, 950))
        assert len(assert_right(other, keys(0, 1000))) == 50
    assert len(assert_right(store, keys(0, 1000))) == 1000
    assert index.search(vector_of(keys(3, 4)[0]), 1)[0][0] == 3
    store.append(keys(2000, 2010), vectors_of(keys(2000, 2010)))
    assert set(assert_right(store, keys(0, 3000))) == {*keys(900, 950), *keys(2000, 2010)}
    assert store.notice is None


def test_compacting_that_dies_before_the_swap_changes_nothing(
    folder: Path, store: VectorStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dying(*_: object) -> Path:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", dying)
        with pytest.raises(KeyboardInterrupt):
            store.compact(keys(0, 10))
    assert os.listdir(folder) == ["g1"]
    assert len(assert_right(store, keys(0, 1000))) == 1000
    with opened(folder) as again:
        assert len(assert_right(again, keys(0, 1000))) == 1000


def test_leftovers_of_killed_compacting_are_swept(folder: Path, store: VectorStore) -> None:
    (folder / ".new-left").mkdir()
    (folder / ".new-left" / "vectors.f32").write_bytes(b"x" * 1000)
    (folder / "g0").mkdir()
    assert store.compact(keys(0, 10))
    assert os.listdir(folder) == ["g2"]


# Exact search


def brute_force(
    matrix: Vectors, query: Vectors, k: int, rows: list[int]
) -> list[tuple[int, float]]:
    scored = [(row, float(np.dot(matrix[row].astype(float), query))) for row in rows]
    return sorted(scored, key=lambda hit: (-hit[1], hit[0]))[:k]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_exact_search_equals_brute_force(data: st.DataObject) -> None:
    count = data.draw(st.integers(0, 60))
    k = data.draw(st.integers(0, 70))
    matrix = vectors_of(keys(0, count))
    query = vector_of(text_hash("question"))
    allowed = data.draw(st.none() | st.lists(st.integers(-3, 80)))
    inside = range(count) if allowed is None else sorted({n for n in allowed if 0 <= n < count})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact, "ROWS_AT_ONCE", data.draw(st.integers(1, 20)))
        patch.setattr(exact, "PICKED_AT_ONCE", data.draw(st.integers(1, 5)))
        forms: list[exact.Allowed | None] = [allowed]
        if allowed is not None:
            mask = np.zeros(count, dtype=np.bool_)
            mask[list(inside)] = True
            forms += [np.array(allowed, dtype=np.int64), mask]
        for form in forms:
            found = nearest(matrix, query, k, row_numbers(form, count))
            expected = brute_force(matrix, query, k, list(inside))
            assert [row for row, _ in found] == [row for row, _ in expected]
            assert np.allclose([c for _, c in found], [c for _, c in expected], atol=1e-6)


def test_equal_vectors_come_in_the_order_of_their_rows() -> None:
    matrix = np.repeat(np.eye(2, dtype=np.float32), 50, axis=0)
    found = nearest(matrix, np.array([0, 1], np.float32), 7, None)
    assert found == [(row, 1.0) for row in range(50, 57)]


def test_a_nearer_row_is_not_lost_behind_equal_ones() -> None:
    matrix = np.repeat(np.eye(2, dtype=np.float32), [50, 1], axis=0)
    found = nearest(matrix, np.array([0.6, 0.8], np.float32), 3, None)
    assert [row for row, _ in found] == [50, 0, 1]


def test_rows_that_are_not_numbers_come_last() -> None:
    matrix = np.eye(3, dtype=np.float32)
    matrix[0] = np.nan
    assert nearest(matrix, np.array([1, 0, 0], np.float32), 3, None)[-1] == (0, -1.0)


def test_a_query_of_another_model_is_refused(store: VectorStore) -> None:
    for index in (ExactIndex(store), HnswIndex(store, narrow=10)):
        index.prepare()
        with pytest.raises(ValueError, match="shape"):
            index.search(np.ones(DIMENSIONS + 1, np.float32), 3)


def test_an_index_sees_what_is_added_and_compacted(store: VectorStore) -> None:
    indexes = (ExactIndex(store), HnswIndex(store, narrow=10))
    for index in indexes:
        index.prepare()
    new = keys(5000, 5001)
    store.append(new, vectors_of(new))
    assert [index.search(vector_of(new[0]), 1)[0][0] for index in indexes] == [1000, 1000]
    store.compact(new)
    assert [[row for row, _ in index.search(vector_of(new[0]), 9)] for index in indexes] == [
        [0]
    ] * 2


FLAT = """
import resource, sys
import numpy as np
from pathlib import Path
from vaultmem.store.exact import nearest
from vaultmem.store.row_file import RowFile
rows = 250_000
file = RowFile(Path(sys.argv[1]), 384)
matrix = file.matrix(rows)
query = np.ones(384, np.float32)
nearest(matrix[:100], query, 3, None)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
nearest(matrix, query, 10, None)
nearest(matrix, query, 10, np.arange(0, rows, 5))
nearest(matrix, query, 10, np.arange(0, rows, 2))
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print(matrix.nbytes >> 20, peak >> (20 if sys.platform == "darwin" else 10))
"""


def test_memory_stays_flat_however_large_the_file(tmp_path: Path) -> None:
    path = tmp_path / "vectors.f32"
    path.touch()
    os.truncate(path, 250_000 * 384 * 4)  # a hole: no disk space is used
    said = subprocess.check_output([sys.executable, "-c", FLAT, str(path)], timeout=60)
    size, grown = map(int, said.split())
    assert size > 350
    assert grown < 60


# The graph


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """4,000 rows in clusters, as texts are, with a saved graph."""
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


def recall(index: HnswIndex, store: VectorStore, allowed: exact.Allowed | None = None) -> float:
    sure, hits = ExactIndex(store), 0
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


@pytest.fixture
def no_exact(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows each exact comparison of the graph index had to look at."""
    looked: list[int] = []

    def counting(
        matrix: Vectors, query: Vectors, k: int, rows: NDArray[np.int64] | None, first: int = 0
    ) -> exact.Hits:
        looked.append(len(matrix) - first if rows is None else int((rows >= first).sum()))
        return nearest(matrix, query, k, rows, first)

    monkeypatch.setattr(hnsw, "nearest", counting)
    return looked


def test_a_saved_graph_finds_nearly_all_without_looking_at_all(
    crowded: VectorStore, no_exact: list[int]
) -> None:
    index = HnswIndex(crowded)
    assert index.rows == 4000
    assert recall(index, crowded) >= 0.95
    assert max(no_exact) <= 10


@pytest.mark.parametrize("share", [2, 3, 10])
def test_a_wide_filter_acts_inside_and_gives_as_many(
    crowded: VectorStore, no_exact: list[int], share: int
) -> None:
    allowed = np.arange(0, 4000, share)
    assert recall(HnswIndex(crowded, narrow=100), crowded, allowed) >= 0.95
    assert np.mean(no_exact) < 250


def test_a_filter_of_far_rows_still_gives_as_many(crowded: VectorStore) -> None:
    """The rows nearest to the query are all excluded."""
    query = np.array(crowded.matrix()[7])
    order = [row for row, _ in ExactIndex(crowded).search(query, 4000)]
    allowed = np.array(order[2500:])
    found = HnswIndex(crowded, narrow=100).search(query, 10, allowed)
    assert found == ExactIndex(crowded).search(query, 10, allowed)


def test_a_narrow_filter_is_exact(crowded: VectorStore, no_exact: list[int]) -> None:
    allowed = list(range(0, 4000, 80))
    assert recall(HnswIndex(crowded, narrow=100), crowded, allowed) == 1.0
    assert set(no_exact) == {50}


def test_asking_for_nothing_or_for_all(crowded: VectorStore) -> None:
    index, query = HnswIndex(crowded, narrow=10), vector_of(b"q")
    assert index.search(query, 0) == index.search(query, 5, []) == []
    assert len(index.search(query, 5000)) == 4000


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


def test_searches_go_on_while_the_graph_is_built(store: VectorStore) -> None:
    index, query = HnswIndex(store, narrow=10), vector_of(b"q")
    expected = ExactIndex(store).search(query, 5)
    building = threading.Thread(target=index.prepare)
    building.start()
    while building.is_alive():
        assert len(index.search(query, 5)) == 5
    building.join()
    assert index.rows == 1000
    assert index.search(query, 1) == expected[:1]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "cut": lambda content: content[:-1],
    "longer": lambda content: content + b"\0",
    "header": lambda content: b"\xff" * 96 + content[96:],
    "one bit": lambda content: content[:5000] + bytes([content[5000] ^ 1]) + content[5001:],
    "noise": lambda content: random.Random(1).randbytes(len(content)),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_graph_is_not_loaded_but_built_again(crowded: VectorStore, damage: str) -> None:
    path = crowded.path / "hnsw.bin"
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    index = HnswIndex(crowded)
    assert index.rows == 0
    assert recall(index, crowded) == 1.0
    index.prepare()
    assert HnswIndex(crowded).rows == 4000


@pytest.mark.parametrize(
    "note", [None, "", "[]", "null", '{"rows": "many"}', '{"rows": -4}', {"model": "other"},
             {"rows": 3999}, {"rows": 10**9}, {"last": "00"}, {"dimensions": 17}, {"format": 0}],
)  # fmt: skip
def test_a_graph_whose_note_does_not_fit_is_not_loaded(
    crowded: VectorStore, note: str | dict[str, object] | None
) -> None:
    path = crowded.path / "hnsw.json"
    if note is None:
        path.unlink()
    elif isinstance(note, str):
        path.write_text(note)
    else:
        path.write_text(json.dumps(json.loads(path.read_text()) | note))
    assert HnswIndex(crowded).rows == 0


def test_a_graph_of_rows_that_were_cut_off_is_not_loaded(crowded: VectorStore) -> None:
    folder, path = crowded.folder, crowded.path
    crowded.close()
    os.truncate(path / "vectors.f32", 3000 * DIMENSIONS * 4)
    with opened(folder) as store:
        assert HnswIndex(store).rows == 0
        store.append(keys(7000, 8500), vectors_of(keys(7000, 8500)))
        assert HnswIndex(store).rows == 0
        assert len(store) == 4500


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
    """The graph is in place, its note is still the old one."""
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


def test_the_size_decides(store: VectorStore) -> None:
    assert isinstance(open_index(store, 1001), ExactIndex)
    assert isinstance(open_index(store, 1000), HnswIndex)
    assert isinstance(open_index(store), ExactIndex)
    assert hnsw_missing() is None


def test_a_graph_is_read_once_per_store_and_goes_with_it(crowd: Path, folder: Path) -> None:
    shutil.copytree(crowd, folder)
    store = VectorStore(folder, DIMENSIONS)
    index = weakref.ref(open_index(store, 1000))
    assert open_index(store, 1000) is index()
    store.close()
    del store
    gc.collect()
    assert index() is None


def test_without_hnswlib_search_is_exact_and_says_what_to_install(
    store: VectorStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "hnswlib", None)
    assert isinstance(open_index(store, 1), ExactIndex)
    message = hnsw_missing()
    assert message is not None
    assert "pip install hnswlib" in message


def test_the_row_file_gives_what_is_there(tmp_path: Path) -> None:
    with contextlib.closing(RowFile(tmp_path / "vectors.f32", DIMENSIONS)) as file:
        assert file.matrix(5).shape == (0, DIMENSIONS)
        file.write(0, vectors_of(keys(0, 5)))
        file.write(3, vectors_of(keys(7, 8)))
        assert np.array_equal(file.matrix(9), vectors_of([*keys(0, 3), *keys(7, 8)]))


def test_sqlite_here_keeps_the_log_that_the_store_relies_on(store: VectorStore) -> None:
    with contextlib.closing(sqlite3.connect(store.path / "rows.db")) as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
