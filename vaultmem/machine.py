"""What the machine says of itself (owner of psutil): battery, load, memory, processes. Fails soft where it cannot."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import threading
from typing import Any

import psutil

NICE = 10


def on_battery() -> bool | None:
    """Whether the computer runs on its battery; None where nobody knows, or there is none."""
    try:
        battery = psutil.sensors_battery()
    except (AttributeError, OSError, RuntimeError, psutil.Error):
        return None  # a platform without batteries, or a container that may not look
    if battery is None or battery.power_plugged is None:
        return None
    return not battery.power_plugged


def load() -> float:
    """How busy the processors were in the last minute: 1.0 is all of them; 0.0 where nobody knows."""
    try:
        return float(psutil.getloadavg()[0]) / (os.cpu_count() or 1)
    except (AttributeError, OSError, RuntimeError, psutil.Error):
        return 0.0


def resident_bytes() -> int | None:
    """The memory of this process that is in use now."""
    try:
        return int(psutil.Process().memory_info().rss)
    except (AttributeError, OSError, psutil.Error):
        return None


def started_at(pid: int) -> float | None:
    """When a process began, in seconds since the epoch; None where there is none, or nobody knows."""
    try:
        return float(psutil.Process(pid).create_time())
    except (OSError, ValueError, OverflowError, psutil.Error):
        return None


def command_line(pid: int) -> list[str]:
    """The words that a process was started with; none where there is no such process, or it tells nobody."""
    try:
        return list(psutil.Process(pid).cmdline())
    except (OSError, ValueError, OverflowError, psutil.Error):
        return []


def has_open(pid: int, path: str) -> bool:
    """Whether a process has a file open; False where nobody may know."""
    try:
        return os.path.realpath(path) in (one.path for one in psutil.Process(pid).open_files())
    except (OSError, ValueError, OverflowError, psutil.Error):
        return False


def kill_named_with(word: str, seconds: float) -> None:
    """Kill the processes that have this word on their command line, and wait until they are gone."""
    named = []
    for process in psutil.process_iter():
        with contextlib.suppress(OSError, psutil.Error):
            if process.pid != os.getpid() and word in process.cmdline():
                process.kill()
                named.append(process)
    psutil.wait_procs(named, timeout=seconds)


def lower_priority_of_thread() -> None:
    """Let everything else on the machine go before this thread. Only Linux knows such a thing."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            thread = threading.get_native_id()
            now = os.getpriority(
                os.PRIO_PROCESS, thread
            )  # whoever started us may have put us further back
            os.setpriority(os.PRIO_PROCESS, thread, max(NICE, now))


# Memory that glibc would keep for later: a process that lives for days gives it back.

_ARENA_MAX, _MMAP_THRESHOLD = -8, -3  # of mallopt(3)
ARENAS = 2  # by default eight for each processor, and every thread leaves its crumbs in another
# Bytes from which a piece has pages of its own, which the system has back when it is free. By default glibc raises
# this to 32 MB as it goes, and what a batch of texts has used lies between the crumbs for good.
LARGE = 131_072


def give_back() -> None:
    """Return what is free to the system."""
    if trim := _call("malloc_trim"):
        trim(0)


def keep_together() -> None:
    """Let all threads share a few pools of memory, without anything large. Call it before there are threads."""
    if options := _call("mallopt"):
        options(_ARENA_MAX, ARENAS)
        options(_MMAP_THRESHOLD, LARGE)


def _call(name: str) -> Any:
    return getattr(ctypes.CDLL(None), name, None)
