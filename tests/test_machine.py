"""What the machine reports about itself, and that no report is an answer too; the clock for tests."""

import os
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from tests.cli_run import one_line, process
from vaultmem import machine, now
from vaultmem.errors import UsageError


@pytest.mark.parametrize(
    ("battery", "wanted"),
    [
        (None, None),
        (SimpleNamespace(power_plugged=None), None),
        (SimpleNamespace(power_plugged=True), False),
        (SimpleNamespace(power_plugged=False), True),
    ],
)
def test_battery(monkeypatch: pytest.MonkeyPatch, battery: object, wanted: bool | None) -> None:
    monkeypatch.setattr(psutil, "sensors_battery", lambda: battery, raising=False)
    assert machine.on_battery() is wanted


def fail(error: BaseException) -> object:
    def failing(*_: object) -> object:
        raise error

    return failing


@pytest.mark.parametrize("error", [OSError("no"), RuntimeError("no"), psutil.AccessDenied(1)])
def test_without_permission_values_are_unknown(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    monkeypatch.setattr(psutil, "sensors_battery", fail(error), raising=False)
    monkeypatch.setattr(psutil, "getloadavg", fail(error))
    assert machine.on_battery() is None
    assert machine.load() == 0.0
    monkeypatch.setattr(psutil.Process, "memory_info", fail(psutil.AccessDenied(1)))
    assert machine.resident_bytes() is None


def test_no_other_file_system_is_awaited(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A slow USB stick may have gigabytes to write."""
    flushed: list[str] = []
    monkeypatch.setattr(os, "sync", lambda: flushed.append("all"))
    calls: dict[str, Callable[[int], int]] = {}
    monkeypatch.setattr(machine, "_call", calls.get)
    machine.flush_file_system(str(tmp_path))
    assert flushed.pop() == "all"
    inode = tmp_path.stat().st_ino
    calls["syncfs"] = lambda handle: int(os.fstat(handle).st_ino != inode)
    machine.flush_file_system(str(tmp_path))
    assert not flushed
    calls["syncfs"] = lambda _: -1
    with pytest.raises(OSError, match="cannot be flushed"):
        machine.flush_file_system(str(tmp_path))


@pytest.mark.skipif(
    sys.platform != "linux", reason="elsewhere a priority belongs to the whole process"
)
def test_only_the_thread_that_asks_lowers_its_priority() -> None:
    def work() -> int:
        machine.lower_priority_of_thread()
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    before = os.getpriority(os.PRIO_PROCESS, 0)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(work).result() == max(machine.NICE, before)
    assert os.getpriority(os.PRIO_PROCESS, 0) == before


def test_the_clock_starts_where_it_is_set_and_runs_on(monkeypatch: pytest.MonkeyPatch) -> None:
    assert time.time() <= now.seconds() <= time.time()
    monkeypatch.setenv("VAULTMEM_NOW", "2031-05-06T07:08")
    first = now.seconds()
    assert now.local().isoformat().startswith("2031-05-06T07:08")
    assert 0 <= now.seconds() - first < 60
    monkeypatch.setenv("VAULTMEM_NOW", "86400")
    assert 86_399 < now.seconds() < 86_460
    monkeypatch.setenv("VAULTMEM_NOW", "soon")
    with pytest.raises(UsageError, match="VAULTMEM_NOW is not a time"):
        now.seconds()


def test_an_agent_outside_tests_refuses_it(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULTMEM_NOW", "2031-05-01T12:00")
    monkeypatch.delenv("VAULTMEM_TESTS", raising=False)
    ended = process("serve", "--vault", str(vault))
    assert ended.code == 2
    assert "VAULTMEM_NOW is set, a clock for tests" in one_line(ended)
