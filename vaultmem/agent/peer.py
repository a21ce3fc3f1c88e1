"""Who may be at the other end: the folder of the socket, the socket itself, and the user who connects."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import struct
from collections.abc import Iterator

from vaultmem.errors import StateError

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
        found = os.lstat(folder)
        if not stat.S_ISDIR(found.st_mode):
            raise StateError(f"{folder} is not a folder; remove it, the agent makes a folder there")
        if found.st_uid != os.getuid():
            raise StateError(
                f"{folder} belongs to somebody else, so the agent does not listen in it; remove it"
            )
        if stat.S_IMODE(found.st_mode) != 0o700:
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
        found = os.lstat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode):
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
        found = connection.getsockopt(level, option, struct.calcsize("3i"))
        return str(struct.unpack_from("i", found)[0])
    except (OSError, struct.error):
        return ""


def _peer_uid(connection: socket.socket) -> int:
    if hasattr(socket, "SO_PEERCRED"):
        found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        return int(struct.unpack("3i", found)[1])
    local, peer_credentials = 0, 1  # SOL_LOCAL and LOCAL_PEERCRED of macOS and the BSDs
    found = connection.getsockopt(local, peer_credentials, 128)
    return int(struct.unpack_from("2I", found)[1])  # struct xucred: version, uid
