"""The ledger survives what the index does not: rebuilds, damage, kills, a full disk."""

import contextlib
import os
import random
import sqlite3
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from unittest.mock import Mock

import pytest

from vaultmem.errors import StateError, VaultmemError
from vaultmem.ledger.ledger import CUT_SHORT, MOST_KNOWN, Ledger, Run, Runs, take, taken_hashes

NOW = 1_780_000_000.0


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(str(tmp_path / "state" / "ledger.db"))


def begun(name: str, at: float) -> Run:
    return Run(name, at, None, at, False, CUT_SHORT)


def test_only_a_changed_file_is_checked(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    connects = Mock(wraps=sqlite3.connect)
    monkeypatch.setattr(sqlite3, "connect", connects)
    ledger.write_runs([Run("a", NOW)], NOW)
    connects.reset_mock()
    ledger.write_runs([Run("b", NOW)], NOW)
    connects.assert_called_once()
    Path(ledger.path).write_bytes(Path(ledger.path).read_bytes()[:5_000] + bytes(20_000))
    ledger.write_runs([Run("c", NOW)], NOW)
    assert ledger.runs() == {"c": Run("c", NOW)}
    assert "damaged" in ledger.notices()[0][1]


def test_a_run_from_its_first_plan_to_its_end(ledger: Ledger) -> None:
    clock = [NOW]
    runs = Runs(ledger, lambda: clock[0])
    runs.remember(["a", "b"])
    assert ledger.runs() == {"a": Run("a", NOW), "b": Run("b", NOW)}
    clock[0] = NOW + 50
    Runs(ledger, lambda: clock[0]).remember(["a", "b"])
    assert ledger.runs() == {"a": Run("a", NOW), "b": Run("b", NOW)}
    for clock[0] in (NOW + 60, NOW + 70):
        runs.waiting("a")
    assert ledger.runs()["a"] == Run("a", NOW, NOW + 60)
    clock[0] = NOW + 80
    seen: list[Run] = []

    def work() -> str:
        seen.append(ledger.runs()["a"])
        return "fine"

    good = runs.carry_out("a", work)
    assert seen == [Run("a", NOW, None, NOW + 80, False, CUT_SHORT)]
    assert good == Run("a", NOW, None, NOW + 80, True, "fine", good.seconds, NOW + 80)
    assert ledger.runs()["a"] == good
    clock[0] = NOW + 90

    def failing() -> str:
        raise VaultmemError("no")

    bad = runs.carry_out("a", failing)
    assert bad == Run("a", NOW, None, NOW + 90, False, "no", bad.seconds, NOW + 80)
    assert ledger.runs()["a"] == bad
    assert ledger.runs()["b"] == Run("b", NOW)


def whole(ledger: Ledger) -> bytes:
    ledger.write_runs([begun("a", NOW), Run("b", NOW)], NOW)
    return Path(ledger.path).read_bytes()


VALUES = """
CREATE TABLE other (name, seen, waiting, last_run, ok, result, seconds, last_ok);
INSERT INTO other VALUES ('a', {0}, 'x', x'ff', 'y', x'ff', 'z', {0});
DROP TABLE runs; ALTER TABLE other RENAME TO runs;
"""
DAMAGE: list[Callable[[bytes], bytes] | str] = [
    lambda _: b"not a database at all" * 100,
    lambda data: data[: len(data) // 2],
    lambda data: b"\0" * 100 + data[100:],
    lambda data: data[:100] + b"\xff" * (len(data) - 100),
    "DROP TABLE runs; CREATE TABLE runs (wrong TEXT)",
    *(VALUES.format(value) for value in ("x'ff00'", "'soon'", "NULL", "9e999")),
]


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_replaced(ledger: Ledger, damage: Callable[[bytes], bytes] | str) -> None:
    """Also one with values that nobody wrote."""
    data = whole(ledger)
    if isinstance(damage, str):
        with closing(sqlite3.connect(ledger.path)) as db:
            db.executescript(damage)
    else:
        Path(ledger.path).write_bytes(damage(data))
    broken = Path(ledger.path).read_bytes()
    assert ledger.runs() == {}
    assert Path(ledger.path).read_bytes() == broken, "looking changes nothing"
    ledger.write_runs([Run("a", NOW + 9)], NOW + 9)
    assert ledger.runs() == {"a": Run("a", NOW + 9)}
    ((at, said),) = ledger.notices()
    assert at == NOW + 9
    assert "damaged" in said
    assert isinstance(damage, str) or Path(ledger.path + ".damaged").read_bytes() == broken
    ledger.write_runs([begun("a", NOW + 10)], NOW + 10)
    assert len(ledger.notices()) == 1


def test_random_damage_never_surprises(ledger: Ledger) -> None:
    data = whole(ledger)
    chance = random.Random(7)
    written: list[int] = []
    for turn in range(60):
        broken = bytearray(data)
        for _ in range(chance.randrange(1, 40)):
            broken[chance.randrange(len(broken))] = chance.randrange(256)
        Path(ledger.path).write_bytes(broken)
        # A header that says "made by a later SQLite" may be read but not written.
        with contextlib.suppress(StateError):
            ledger.runs()
            ledger.write_runs([Run("c", NOW + turn)], NOW + turn)
            written.append(turn)
            assert ledger.runs()["c"] == Run("c", NOW + turn)
    assert len(written) > 30


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no disk that is always full")
def test_a_full_disk_is_told(ledger: Ledger) -> None:
    whole(ledger)
    code = (
        "import resource, signal, sys\n"
        "from vaultmem.errors import StateError\nfrom vaultmem.ledger.ledger import Ledger, Run\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "ledger = Ledger(sys.argv[1])\nprint(sorted(ledger.runs()))\n"
        "try:\n    ledger.write_runs([Run('a', 5.0)], 5.0)\nexcept StateError as error:\n    print(error)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, ledger.path], capture_output=True, text=True, check=True
    )
    names, said = ended.stdout.splitlines()
    assert names == "['a', 'b']", "it can be read all the same"
    assert "ledger.db cannot be used" in said
    assert "free some space" in said
    ledger.write_runs([begun("a", NOW + 1)], NOW + 1)
    assert ledger.runs()["a"].last_run == NOW + 1
    assert ledger.notices() == []


@pytest.mark.parametrize("what", ["folder", "file above"])
def test_what_is_in_the_way_is_told(tmp_path: Path, what: str) -> None:
    path = tmp_path / "state" / "ledger.db"
    if what == "folder":
        path.mkdir(parents=True)
    else:
        (tmp_path / "state").write_text("")
    with pytest.raises(
        StateError, match=r"ledger\.db cannot be used|cannot create the state folder"
    ):
        Ledger(str(path)).write_runs([begun("a", NOW)], NOW)


def test_readers_and_writers_at_once(ledger: Ledger) -> None:
    ledger.write_runs([Run(name, NOW) for name in "012"], NOW)

    def write(name: str) -> None:
        for turn in range(15):
            ledger.write_runs([begun(name, NOW + turn)], NOW)
            done = Run(name, NOW, None, NOW + turn, True, "fine", 0.1, NOW + turn)
            ledger.write_runs([done], NOW)

    with ThreadPoolExecutor(3) as pool:
        writers = [pool.submit(write, name) for name in "012"]
        while not all(writer.done() for writer in writers):
            for run in ledger.runs().values():
                assert run.last_run is None or run.result in ("fine", CUT_SHORT)
    assert not any(writer.exception() for writer in writers)
    assert {run.last_run for run in ledger.runs().values()} == {NOW + 14}


def test_a_vanishing_journal_is_no_end(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    Runs(ledger, lambda: NOW).remember(["a"])
    tries: list[str] = []

    class Shaky(sqlite3.Connection):
        def execute(self, statement: str, *values: object) -> sqlite3.Cursor:
            tries.append(statement)
            if len(tries) < 3:
                error = sqlite3.OperationalError("disk I/O error")
                error.sqlite_errorname = "SQLITE_IOERR_READ"
                raise error
            return super().execute(statement, *values)  # type: ignore[arg-type]

    real = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **how: real(*a, factory=Shaky, **how))
    assert list(ledger.runs()) == ["a"]
    assert len(tries) > 3


def test_a_large_table_takes_no_memory_between_two_requests(ledger: Ledger) -> None:
    def memory_after(number: int) -> int:
        take(ledger, (str(each) for each in range(number)), NOW)
        tracemalloc.start()
        try:
            assert len(taken_hashes(ledger)) == number
            return tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()

    assert memory_after(MOST_KNOWN) > 100_000
    assert memory_after(MOST_KNOWN + 1) < 50_000
