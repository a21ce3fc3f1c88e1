"""Who may be at the other end: the folder of the socket, the socket itself, and the user who connects."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import socket
import stat
import struct
import subprocess
import time
from collections.abc import Iterator
from itertools import pairwise

from vaultmem.errors import StateError
from vaultmem.text.values import value

BACKLOG = 128
_OF_MACOS = (0, 2)  # SOL_LOCAL and LOCAL_PEERPID
_LIVE_WITHIN = 2.0  # seconds for a listener to take our trial connection


def listen(path: str) -> socket.socket:
    """A listening socket that only its owner can reach. A file left over by a killed agent is replaced.

    Raises StateError when another process listens there, or something there is not ours.
    """
    folder = os.path.dirname(path)
    _private_folder(folder)
    ours = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with _alone_in(folder):
            _remove_leftover(path)
            # On Linux the file then is private from its first moment; elsewhere the folder keeps others out.
            with contextlib.suppress(OSError):
                os.fchmod(ours.fileno(), 0o600)
            ours.bind(path)
            os.chmod(path, 0o600)
            ours.listen(BACKLOG)
    except OSError as error:
        ours.close()
        raise StateError(f"cannot listen on {path}: {error.strerror or error}") from error
    except StateError:
        ours.close()
        raise
    return ours


def _private_folder(folder: str) -> None:
    """Make the folder, or make sure that it is ours and nobody else's."""
    try:
        os.makedirs(os.path.dirname(folder), mode=0o700, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, 0o700)
        status = os.lstat(folder)
        if not stat.S_ISDIR(status.st_mode):
            raise StateError(f"{folder} is not a folder; remove it, the agent makes a folder there")
        if status.st_uid != os.getuid():
            raise StateError(
                f"{folder} belongs to somebody else, so the agent does not listen in it; remove it"
            )
        if stat.S_IMODE(status.st_mode) != 0o700:
            os.chmod(folder, 0o700)
    except OSError as error:
        raise StateError(f"cannot make the folder {folder}: {error.strerror}") from error


@contextlib.contextmanager
def _alone_in(folder: str) -> Iterator[None]:
    """Two agents that start at once must not take each other's fresh socket for a leftover."""
    import fcntl

    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _remove_leftover(path: str) -> None:
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(status.st_mode):
        raise StateError(f"{path} is no socket; remove it, the agent listens there")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as trial:
        trial.settimeout(_LIVE_WITHIN)
        try:
            trial.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)
            return
        except FileNotFoundError:
            return
        except OSError:
            pass  # it listens, and has no time for us
    raise StateError(f"another process listens on {path}; vaultmem stop ends the sync agent")


def is_ours(connection: socket.socket) -> bool:
    """Whether the process at the other end runs as the same user as this one."""
    try:
        return _peer_uid(connection) == os.getuid()
    except (OSError, struct.error):
        return False


def process_of(connection: socket.socket) -> str:
    """The process at the other end, as far as the system tells; else one name for all."""
    try:
        has_one = hasattr(socket, "SO_PEERCRED")
        level, option = (socket.SOL_SOCKET, socket.SO_PEERCRED) if has_one else _OF_MACOS
        credentials = connection.getsockopt(level, option, struct.calcsize("3i"))
        return str(struct.unpack_from("i", credentials)[0])
    except (OSError, struct.error):
        return ""


def _peer_uid(connection: socket.socket) -> int:
    if hasattr(socket, "SO_PEERCRED"):
        credentials = connection.getsockopt(
            socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")
        )
        return int(struct.unpack("3i", credentials)[1])
    local, peer_credentials = 0, 1  # SOL_LOCAL and LOCAL_PEERCRED of macOS and the BSDs
    credentials = connection.getsockopt(local, peer_credentials, 128)
    return int(struct.unpack_from("2I", credentials)[1])  # struct xucred: version, uid


# Who holds the lock of a state folder. A number in a file proves nothing, because numbers are used again.

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
    """Wait for the lock to be released; False when it was not."""
    path, end = os.path.join(state, "lock"), time.monotonic() + seconds
    while _is_held(path):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def send(state: str, number: signal.Signals) -> bool:
    """Send a signal to the agent that holds the lock, and to nobody else; False when there is none."""
    held = holder(state)
    if held is None or held.pid is None or not held.is_agent:
        return False
    with contextlib.suppress(ProcessLookupError):
        if not hasattr(os, "pidfd_open"):
            os.kill(held.pid, number)
            return True
        handle = os.pidfd_open(held.pid)
        try:
            # The handle stays with one process, so the second look is about the one that gets the signal.
            if holder(state) == held:
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
