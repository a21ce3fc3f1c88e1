"""Facts about the machine (owner of psutil): battery, load, memory, processes, the installed program. Unknown facts
raise nothing."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import sys
import threading
import time
import zlib
from collections.abc import Callable
from typing import Any, TypeVar

import psutil

from vaultmem import __version__

_T = TypeVar("_T")
NICE = 10
_STARTING = 0.05  # seconds, far more than it takes until a process shows its environment


def program() -> str:
    """The version of the installed program with a checksum of its modules, as an update may keep the number. "" while
    it is not installed."""
    sizes = []
    for folder, _, names in os.walk(os.path.dirname(__file__)):
        with contextlib.suppress(OSError):  # it is being updated
            sizes += [
                (n, os.path.getsize(os.path.join(folder, n))) for n in names if n.endswith(".py")
            ]
    if not sizes:
        return ""
    return f"{__version__}+{zlib.crc32(repr(sorted(sizes)).encode()):08x}"


def _unless_unknown(otherwise: _T, look: Callable[[], _T]) -> _T:
    """The result of a query, or `otherwise` on a platform without it, for a process that has ended, and in a
    container without access."""
    try:
        return look()
    except (AttributeError, OSError, RuntimeError, ValueError, OverflowError, psutil.Error):
        return otherwise


def on_battery() -> bool | None:
    """Whether the computer runs on battery; None if unknown or without a battery."""
    plugged = _unless_unknown(
        None, lambda: getattr(psutil.sensors_battery(), "power_plugged", None)
    )
    return None if plugged is None else not plugged


def load() -> float:
    """How busy the processors were in the last minute: 1.0 is all of them; 0.0 if unknown."""
    return _unless_unknown(0.0, lambda: float(psutil.getloadavg()[0]) / (os.cpu_count() or 1))


def resident_bytes() -> int | None:
    """The memory in use by this process, in bytes; None if unknown."""
    return _unless_unknown(None, lambda: int(psutil.Process().memory_info().rss))


def command_line(pid: int) -> list[str]:
    """The command line of a process; empty if it does not exist or is not accessible."""
    return _unless_unknown([], lambda: list(psutil.Process(pid).cmdline()))


def has_open(pid: int, path: str) -> bool:
    """Whether a process has a file open; False if that is not accessible."""
    files: list[str] = _unless_unknown(
        [], lambda: [file.path for file in psutil.Process(pid).open_files()]
    )
    return os.path.realpath(path) in files


def kill_with_variable(name: str, text: str, seconds: float) -> None:
    """Kill the processes that have this variable in their environment, and those that they start meanwhile; wait until
    they have ended. A process that is just starting shows no environment, so it takes two looks that find none."""
    until, looks = time.monotonic() + seconds, 0
    while looks < 2 and time.monotonic() < until:
        named = _with_variable(name, text)
        for process in named:
            with contextlib.suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(named, timeout=max(0.0, until - time.monotonic()))
        looks = 0 if named else looks + 1
        time.sleep(_STARTING)


def _with_variable(name: str, text: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(OSError, psutil.Error):
            if process.pid != os.getpid() and process.environ().get(name) == text:
                found.append(process)
    return found


def lower_priority_of_thread() -> None:
    """Give this thread a lower priority than everything else on the machine. Linux only."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            thread = threading.get_native_id()
            now = os.getpriority(os.PRIO_PROCESS, thread)  # our parent may have set a lower one
            os.setpriority(os.PRIO_PROCESS, thread, max(NICE, now))


# Memory that glibc would keep, and that a long-lived process should return.

_ARENA_MAX, _MMAP_THRESHOLD = -8, -3  # parameters of mallopt(3)
ARENAS = 2  # the default is eight per processor, and each thread fragments another
# Allocations of at least this many bytes get their own pages, returned when freed. By default glibc raises
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


def flush_file_system(folder: str) -> None:
    """Wait until all that was written to the file system of a folder is on the disk; where the system cannot flush one,
    it flushes all. Raises OSError."""
    flush = _call("syncfs")
    if flush is None:
        os.sync()
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        if flush(handle):
            raise OSError(errno.EIO, "it cannot be flushed to the disk", folder)
    finally:
        os.close(handle)


def _call(name: str) -> Any:
    return getattr(ctypes.CDLL(None), name, None)
