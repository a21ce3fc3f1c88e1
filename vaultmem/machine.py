"""Facts about the machine (owner of psutil): battery, load, memory, processes, the installed program. Unknown ones
raise nothing."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import threading
import zlib
from typing import Any

import psutil

from vaultmem import __version__

NICE = 10


def program() -> str:
    """The version of the installed program, with a checksum of its modules: an update may keep the number."""
    sizes = []
    for folder, _, names in os.walk(os.path.dirname(__file__)):
        with contextlib.suppress(OSError):  # it is being updated
            sizes += [
                (n, os.path.getsize(os.path.join(folder, n))) for n in names if n.endswith(".py")
            ]
    return f"{__version__}+{zlib.crc32(repr(sorted(sizes)).encode()):08x}"


def on_battery() -> bool | None:
    """Whether the computer runs on its battery; None where that is unknown or there is no battery."""
    try:
        battery = psutil.sensors_battery()
    except (AttributeError, OSError, RuntimeError, psutil.Error):
        return None  # a platform without batteries, or a container without access
    if battery is None or battery.power_plugged is None:
        return None
    return not battery.power_plugged


def load() -> float:
    """How busy the processors were in the last minute: 1.0 is all of them; 0.0 where that is unknown."""
    try:
        return float(psutil.getloadavg()[0]) / (os.cpu_count() or 1)
    except (AttributeError, OSError, RuntimeError, psutil.Error):
        return 0.0


def resident_bytes() -> int | None:
    """The memory in use by this process, in bytes; None where that is unknown."""
    try:
        return int(psutil.Process().memory_info().rss)
    except (AttributeError, OSError, psutil.Error):
        return None


def started_at(pid: int) -> float | None:
    """When a process started, in seconds since the epoch; None where it does not exist or that is unknown."""
    try:
        return float(psutil.Process(pid).create_time())
    except (OSError, ValueError, OverflowError, psutil.Error):
        return None


def command_line(pid: int) -> list[str]:
    """The command line of a process; empty where it does not exist or is not accessible."""
    try:
        return list(psutil.Process(pid).cmdline())
    except (OSError, ValueError, OverflowError, psutil.Error):
        return []


def has_open(pid: int, path: str) -> bool:
    """Whether a process has a file open; False where that is not accessible."""
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
    """Give this thread a lower priority than everything else on the machine. Only Linux supports it."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            thread = threading.get_native_id()
            now = os.getpriority(os.PRIO_PROCESS, thread)  # our parent may have set a lower one
            os.setpriority(os.PRIO_PROCESS, thread, max(NICE, now))


# Memory that glibc would keep: a process that lives for days returns it.

_ARENA_MAX, _MMAP_THRESHOLD = -8, -3  # of mallopt(3)
ARENAS = 2  # by default eight per processor, and each thread fragments another one
# Bytes from which an allocation has pages of its own, which are returned when it is freed. By default glibc raises
# this to 32 MB over time, and the memory of a batch of texts is never returned.
LARGE = 131_072


def release_memory() -> None:
    """Return free memory to the system."""
    if trim := _call("malloc_trim"):
        trim(0)


def limit_arenas() -> None:
    """Make all threads share a few memory arenas, and keep large allocations out of them. Call it before starting
    threads."""
    if options := _call("mallopt"):
        options(_ARENA_MAX, ARENAS)
        options(_MMAP_THRESHOLD, LARGE)


def _call(name: str) -> Any:
    return getattr(ctypes.CDLL(None), name, None)
