"""Laws of the vector files: what is known is right, come what may, and an exact search equals brute force."""

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cli_run import started
from tests.conftest import disk_full, fill
from tests.laws import examples
from tests.vector_samples import (
    DIMENSIONS,
    Vectors,
    assert_right,
    folder,
    keys,
    opened,
    store,
    vector_of,
    vectors_of,
)
from vaultmem.errors import StateError
from vaultmem.notes.blocks import text_hash
from vaultmem.vectors import exact
from vaultmem.vectors.exact import RowFile, VectorIndex, nearest, row_numbers
from vaultmem.vectors.vectors import VectorStore

__all__ = ["folder", "store"]  # fixtures


# The store


@settings(max_examples=examples(25))
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


def test_many_hashes_are_distinguished_even_if_they_begin_alike(folder: Path) -> None:
    many = [bytes(8) + key[8:] if n % 50 < 3 else key for n, key in enumerate(keys(0, 5000))]
    with opened(folder) as store:
        store.append(many[:4500], vectors_of(many[:4500]))
    with opened(folder) as store, opened(folder) as again:
        again.append(many[4500:4900], vectors_of(many[4500:4900]))
        for one in (store, again):
            assert set(assert_right(one, many)) == set(many[:4900])
            assert one.missing(many) == many[4900:]
            assert one.known([]) == {}


def test_vectors_of_another_shape_or_with_nan_are_refused(store: VectorStore) -> None:
    with pytest.raises(ValueError, match="shape"):
        store.append(keys(1000, 1002), vectors_of(keys(1000, 1001)))
    with pytest.raises(ValueError, match="not finite"):
        store.append(keys(1000, 1001), np.full((1, DIMENSIONS), np.nan, np.float32))
    assert store.missing(keys(1000, 1002)) == keys(1000, 1002)


KILLED = """
import sys, itertools
from collections.abc import Callable
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from tests.vector_samples import keys, vectors_of, DIMENSIONS
from vaultmem.vectors.vectors import VectorStore
store = VectorStore(Path(sys.argv[1]), DIMENSIONS)
start = len(store)
for number in itertools.count(start, 40):
    store.append(keys(number, number + 40), vectors_of(keys(number, number + 40)))
    if number == start + 40:
        print("ready", flush=True)
    if number % 400 == 0:
        store.compact(keys(number - 100, number + 40))
"""


def test_kill_at_any_moment_leaves_only_right_vectors(folder: Path) -> None:
    rng = random.Random(5)
    most = 0
    for _ in range(6):
        with started(
            [sys.executable, "-c", KILLED, str(folder), str(Path(__file__).parents[1])],
            stdout=subprocess.PIPE,
        ) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == b"ready\n"
            time.sleep(rng.uniform(0.01, 0.25))
            child.send_signal(signal.SIGKILL)
        with opened(folder) as store:
            # Arguments of the store itself: how far the child came depends on the machine.
            hashes = [store.hash_at(row) for row in range(len(store))]
            known = assert_right(store, [key for key in hashes if key is not None])
            assert len(known) == len(hashes)
            most = max(most, len(known))
    assert most > 40


FLOATS, HASHES = "vectors.f32", "hashes"
DAMAGES: dict[str, tuple[str, Callable[[bytes], bytes | None], int]] = {
    "an interrupted write of vectors": (FLOATS, lambda data: data + b"\x7f" * 1000, 1000),
    "an interrupted write of hashes": (HASHES, lambda data: data + b"\x7f" * 1000, 1000),
    "emptied": (FLOATS, lambda _: b"", 0),
    "cut within the first row": (FLOATS, lambda data: data[:63], 0),
    "cut after the first row": (FLOATS, lambda data: data[:64], 1),
    "cut within a row": (FLOATS, lambda data: data[: 500 * 64 + 1], 500),
    "cut within the last row": (FLOATS, lambda data: data[:-1], 999),
    "deleted vectors": (FLOATS, lambda _: None, 0),
    "deleted hashes": (HASHES, lambda _: None, 0),
    "garbled hashes": (HASHES, lambda data: random.Random(3).randbytes(len(data)), 0),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_of_a_damaged_file_only_what_is_right_is_known_and_the_rest_can_be_written_again(
    folder: Path, store: VectorStore, damage: str
) -> None:
    store.close()
    name, change, left = DAMAGES[damage]
    path = folder / "g1" / name
    data = change(path.read_bytes())
    path.unlink()
    if data is not None:
        path.write_bytes(data)
    for known in (left, 1003):
        with opened(folder) as again:
            assert set(assert_right(again, keys(0, 1003))) == set(keys(0, known))
            again.append(keys(0, 1003), vectors_of(keys(0, 1003)))
            assert len(assert_right(again, keys(0, 1003))) == 1003


def test_a_file_cut_off_while_open_ends_no_process(folder: Path, store: VectorStore) -> None:
    index = VectorIndex(store)
    assert index.search(vector_of(keys(9, 10)[0]), 1)[0][0] == 9
    os.truncate(folder / "g1" / "vectors.f32", 100 * 64 + 5)
    assert index.search(vector_of(keys(9, 10)[0]), 1000)[0][0] == 9
    assert set(assert_right(store, keys(0, 1000))) == set(keys(0, 100))
    store.append(keys(500, 600), vectors_of(keys(500, 600)))
    assert len(assert_right(store, keys(0, 1000))) == 200


@pytest.mark.parametrize("lost", ["", "g1", "g1/vectors.f32", "g1/hashes"])
def test_files_deleted_while_open_are_remade(folder: Path, store: VectorStore, lost: str) -> None:
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


def test_a_folder_that_cannot_be_used_is_an_error_of_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StateError, match="a file is in its place") as caught:
        VectorStore(tmp_path / "file", DIMENSIONS)
    assert "\n" not in str(caught.value)


def test_no_hash_is_known_before_its_bytes_are_on_disk(
    store: VectorStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    new, seen, fsync = keys(1000, 1010), [], os.fsync

    def watching(descriptor: int) -> None:
        seen.append([os.path.getsize(store.path / name) for name in ("vectors.f32", "hashes")])
        fsync(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", watching)
        store.append(new, vectors_of(new))
    rows = DIMENSIONS * 4
    assert seen == [[1010 * rows, 1000 * 16], [1010 * rows, 1010 * 16]]
    assert len(assert_right(store, keys(0, 1010))) == 1010


def test_a_write_that_fails_leaves_everything_as_it_was(
    store: VectorStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", disk_full)
        with pytest.raises(StateError, match="No space left"):
            store.append(keys(1000, 1010), vectors_of(keys(1000, 1010)))
    assert len(assert_right(store, keys(0, 1010))) == 1000
    store.append(keys(1000, 1010), vectors_of(keys(1000, 1010)))
    assert len(assert_right(store, keys(0, 1010))) == 1010


def test_a_generation_that_cannot_be_opened_leaves_the_one_in_use(
    folder: Path, store: VectorStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(folder) as other:
        assert other.compact(keys(0, 10))
    with monkeypatch.context() as patch:
        patch.setattr(RowFile, "__init__", disk_full)
        with pytest.raises(StateError, match="No space left"):
            store.append(keys(1000, 1010), vectors_of(keys(1000, 1010)))
    assert len(assert_right(store, keys(0, 1010))) == 1000
    store.append(keys(1000, 1010), vectors_of(keys(1000, 1010)))
    assert set(assert_right(store, keys(0, 1010))) == {*keys(0, 10), *keys(1000, 1010)}


# Compacting


def test_opening_waits_until_the_other_is_done(folder: Path, store: VectorStore) -> None:
    found = []

    def read() -> None:
        with opened(folder) as other:
            found.append((other.generation, len(assert_right(other, keys(0, 1000)))))

    reading = threading.Thread(target=read)
    with store._writing():
        reading.start()
        reading.join(0.2)
        assert reading.is_alive()
        (folder / "g1").rename(folder / "g2")
    reading.join()
    assert found == [(2, 1000)]
    assert set(os.listdir(folder)) == {".lock", "g2"}


@settings(max_examples=20)
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
        assert len(os.listdir(name)) == 2  # and the lock


def test_leftovers_of_killed_compacting_are_swept(folder: Path, store: VectorStore) -> None:
    fill(folder, {".new-left/vectors.f32": b"x" * 1000})
    (folder / "g0").mkdir()
    assert store.compact(keys(0, 10))
    assert set(os.listdir(folder)) == {".lock", "g2"}


# --- Exact search


def brute_force(
    matrix: Vectors, query: Vectors, k: int, rows: list[int]
) -> list[tuple[int, float]]:
    scored = [(row, float(np.dot(matrix[row].astype(float), query))) for row in rows]
    return sorted(scored, key=lambda hit: (-hit[1], hit[0]))[:k]


@settings(max_examples=examples(60))
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


def test_rows_that_are_not_numbers_come_last() -> None:
    matrix = np.eye(3, dtype=np.float32)
    matrix[0] = np.nan
    assert nearest(matrix, np.array([1, 0, 0], np.float32), 3, None)[-1] == (0, -1.0)


FLAT = """
import resource, sys
import numpy as np
from pathlib import Path
from vaultmem.vectors.exact import nearest
from vaultmem.vectors.exact import RowFile
rows = 100_000
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
    os.truncate(path, 100_000 * 384 * 4)  # a hole: no disk space is used
    said = subprocess.check_output([sys.executable, "-c", FLAT, str(path)], timeout=60)
    size, grown = map(int, said.split())
    assert size > 140
    assert grown < 60


def test_lost_rows_are_not_taken_for_others_when_a_write_dies(
    folder: Path, store: VectorStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dying(file: RowFile, start: int, data: bytes) -> None:
        write(file, start, data)
        if len(data) == 10 * DIMENSIONS * 4:
            raise KeyboardInterrupt

    store.close()
    os.truncate(folder / "g1" / "vectors.f32", 500 * DIMENSIONS * 4)
    write = RowFile.write
    with opened(folder) as again, monkeypatch.context() as patch:
        patch.setattr(RowFile, "write", dying)
        with pytest.raises(KeyboardInterrupt):
            again.append(keys(1000, 1010), vectors_of(keys(1000, 1010)))
    with opened(folder) as again:
        assert len(assert_right(again, keys(0, 1010))) == 500
