"""What the machine reports about itself, and that no report is an answer too."""

import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from vaultmem import machine


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


def test_no_other_file_system_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
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
