"""Laws of the vector files: what is known is right, come what may."""

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cli_run import started
from tests.laws import examples
from tests.vector_samples import (
    DIMENSIONS,
    assert_right,
    folder,
    keys,
    opened,
    store,
    vector_of,
    vectors_of,
)
from vaultmem.errors import StateError
from vaultmem.vectors.exact import RowFile, VectorIndex
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
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from tests.vector_samples import keys, vectors_of, DIMENSIONS
from vaultmem.vectors.vectors import VectorStore
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


@pytest.mark.parametrize("name", ["vectors.f32", "hashes"])
def test_an_interrupted_write_is_cut_and_written_over(
    folder: Path, store: VectorStore, name: str
) -> None:
    store.close()
    with (folder / "g1" / name).open("ab") as file:
        file.write(b"\x7f" * 1000)
    with opened(folder) as again:
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
        again.append(keys(0, 1000), vectors_of(keys(0, 1000)))
        assert len(assert_right(again, keys(0, 1000))) == 1000


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


@pytest.mark.parametrize("name", ["vectors.f32", "hashes"])
def test_deleted_files_are_made_anew(folder: Path, store: VectorStore, name: str) -> None:
    store.close()
    (folder / "g1" / name).unlink()
    for _ in range(2):
        with opened(folder) as again:
            again.append(keys(0, 1000), vectors_of(keys(0, 1000)))
            assert len(assert_right(again, keys(0, 1000))) == 1000


def test_hashes_that_were_garbled_are_known_no_more(folder: Path, store: VectorStore) -> None:
    store.close()
    path = folder / "g1" / "hashes"
    path.write_bytes(random.Random(3).randbytes(path.stat().st_size))
    with opened(folder) as again:
        assert again.known(keys(0, 1000)) == {}
        again.append(keys(0, 1000), vectors_of(keys(0, 1000)))
        assert len(assert_right(again, keys(0, 1000))) == 1000


def test_a_file_cut_off_while_it_is_open_does_not_end_the_process(
    folder: Path, store: VectorStore
) -> None:
    index = VectorIndex(store)
    assert index.search(vector_of(keys(9, 10)[0]), 1)[0][0] == 9
    os.truncate(folder / "g1" / "vectors.f32", 100 * 64 + 5)
    assert index.search(vector_of(keys(9, 10)[0]), 1000)[0][0] == 9
    assert set(assert_right(store, keys(0, 1000))) == set(keys(0, 100))
    store.append(keys(500, 600), vectors_of(keys(500, 600)))
    assert len(assert_right(store, keys(0, 1000))) == 200


@pytest.mark.parametrize("lost", ["", "g1", "g1/vectors.f32", "g1/hashes"])
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
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        with pytest.raises(StateError, match="No space left"):
            store.append(keys(1000, 1010), vectors_of(keys(1000, 1010)))
    assert len(assert_right(store, keys(0, 1010))) == 1000
    store.append(keys(1000, 1010), vectors_of(keys(1000, 1010)))
    assert len(assert_right(store, keys(0, 1010))) == 1010


def test_a_generation_that_cannot_be_opened_leaves_the_one_in_use(
    folder: Path, store: VectorStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with opened(folder) as other:
        assert other.compact(keys(0, 10))
    with monkeypatch.context() as patch:
        patch.setattr(RowFile, "__init__", full)
        with pytest.raises(StateError, match="No space left"):
            store.append(keys(1000, 1010), vectors_of(keys(1000, 1010)))
    assert len(assert_right(store, keys(0, 1010))) == 1000
    store.append(keys(1000, 1010), vectors_of(keys(1000, 1010)))
    assert set(assert_right(store, keys(0, 1010))) == {*keys(0, 10), *keys(1000, 1010)}


ADDING = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from tests.vector_samples import keys, vectors_of, DIMENSIONS
from vaultmem.vectors.vectors import VectorStore
store = VectorStore(Path(sys.argv[1]), DIMENSIONS)
for number in range(0, 300, 10):
    store.append(keys(number, number + 20), vectors_of(keys(number, number + 20)))
store.close()
"""


def test_processes_that_add_at_once_do_not_disturb_each_other(folder: Path) -> None:
    command = [sys.executable, "-c", ADDING, str(folder), str(Path(__file__).parents[1])]
    started = [subprocess.Popen(command) for _ in range(3)]
    assert [process.wait(60) for process in started] == [0, 0, 0]
    with opened(folder) as store:
        assert len(assert_right(store, keys(0, 310))) == len(store) == 310


def test_a_writer_waits_until_the_other_is_done(folder: Path, store: VectorStore) -> None:
    new, path = keys(1000, 1010), folder / "g1" / "vectors.f32"
    with opened(folder) as other:
        waiting = threading.Thread(target=other.append, args=(new, vectors_of(new)))
        with store._writing():
            waiting.start()
            waiting.join(0.2)
            assert waiting.is_alive()
            assert path.stat().st_size == 1000 * DIMENSIONS * 4
        waiting.join()
        assert len(assert_right(other, keys(0, 1010))) == 1010


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


def test_whoever_reads_while_another_compacts_keeps_a_consistent_view(
    folder: Path, store: VectorStore
) -> None:
    index = VectorIndex(store)
    with opened(folder) as other:
        assert other.compact(keys(900, 950))
        assert len(assert_right(other, keys(0, 1000))) == 50
    assert len(assert_right(store, keys(0, 1000))) == 1000
    assert index.search(vector_of(keys(3, 4)[0]), 1)[0][0] == 3
    store.append(keys(2000, 2010), vectors_of(keys(2000, 2010)))
    assert set(assert_right(store, keys(0, 3000))) == {*keys(900, 950), *keys(2000, 2010)}


def test_compacting_that_dies_before_the_swap_changes_nothing(
    folder: Path, store: VectorStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dying(*_: object) -> Path:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", dying)
        with pytest.raises(KeyboardInterrupt):
            store.compact(keys(0, 10))
    assert set(os.listdir(folder)) == {".lock", "g1"}
    assert len(assert_right(store, keys(0, 1000))) == 1000
    with opened(folder) as again:
        assert len(assert_right(again, keys(0, 1000))) == 1000


def test_leftovers_of_killed_compacting_are_swept(folder: Path, store: VectorStore) -> None:
    (folder / ".new-left").mkdir()
    (folder / ".new-left" / "vectors.f32").write_bytes(b"x" * 1000)
    (folder / "g0").mkdir()
    assert store.compact(keys(0, 10))
    assert set(os.listdir(folder)) == {".lock", "g2"}
