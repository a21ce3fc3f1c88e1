"""Who holds the lock of a state folder. A number in a file proves nothing, because numbers are used again."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import time
from itertools import pairwise

from vaultmem.core.values import value

_LOOKS, _BETWEEN = 3, 0.02


@value
class Holder:
    """The process that writes: its number (None when that cannot be proved), and whether it is an agent."""

    pid: int | None
    is_agent: bool


def holder(state: str) -> Holder | None:
    """The process that holds the lock now, or None."""
    path = os.path.join(state, "lock")
    for _ in range(_LOOKS):
        if not _is_held(path):
            return None
        pid = _number_in(path)
        if pid is not None and _has_open(pid, path):
            return Holder(pid, is_agent=_serves(_words(pid)))
        time.sleep(_BETWEEN)  # it may have taken the lock and not yet written its number
    return Holder(None, is_agent=False)


def _serves(words: list[str]) -> bool:
    """Whether a command line is that of an agent: `vaultmem serve`, by whatever path, or with -m."""
    return any(
        os.path.basename(word) == "vaultmem" and following == "serve"
        for word, following in pairwise(words)
    )


def wait_until_free(state: str, seconds: float) -> bool:
    """Wait for the lock to be given back; False when it was not."""
    path, end = os.path.join(state, "lock"), time.monotonic() + seconds
    while _is_held(path):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def send(state: str, number: signal.Signals) -> bool:
    """Send a signal to the agent that holds the lock, and to nobody else; False when there is none."""
    found = holder(state)
    if found is None or found.pid is None or not found.is_agent:
        return False
    with contextlib.suppress(ProcessLookupError):
        if not hasattr(os, "pidfd_open"):
            os.kill(found.pid, number)
            return True
        handle = os.pidfd_open(found.pid)
        try:
            # The handle stays with one process, so the second look is about the one that gets the signal.
            if holder(state) == found:
                signal.pidfd_send_signal(handle, number)
                return True
        finally:
            os.close(handle)
    return False


def named_with(word: str) -> list[int]:
    """The processes that have this word on their command line, as no other process has: a path of our own."""
    if os.path.isdir("/proc/self"):
        numbers = [int(name) for name in os.listdir("/proc") if name.isdecimal()]
        return [pid for pid in numbers if pid != os.getpid() and word in _words(pid)]
    lines = [line.split(None, 1) for line in _output(["ps", "-axo", "pid=,args="]).splitlines()]
    return [int(one[0]) for one in lines if len(one) == 2 and word in one[1].split()]


def _is_held(path: str) -> bool:
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(handle)
    return False


def _number_in(path: str) -> int | None:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            text = file.read(20).strip()
    except OSError:
        return None
    return int(text) if text.isdecimal() and int(text) > 1 else None


def _has_open(pid: int, path: str) -> bool:
    """Whether a process has the lock file open, which only its holder has for longer than a moment."""
    folder = f"/proc/{pid}/fd"
    if not os.path.isdir("/proc/self/fd"):
        return str(pid) in _output(["lsof", "-t", "--", path]).split()
    wanted = os.stat(path)
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            with contextlib.suppress(OSError):
                if os.path.samestat(os.stat(os.path.join(folder, name)), wanted):
                    return True
    return False


def _words(pid: int) -> list[str]:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return os.fsdecode(file.read()).split("\0")
    except OSError:
        return _output(["ps", "-o", "args=", "-p", str(pid)]).split()


def _output(command: list[str]) -> str:
    try:
        ended = subprocess.run(command, capture_output=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return os.fsdecode(ended.stdout)
