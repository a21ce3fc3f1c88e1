"""Writes and renames on disk: where in the vault a file may be written, renames that never overwrite, durable writes,
temporary files, and whether another program is writing."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import itertools
import os
import stat as modes
import sys
import time
from functools import cache

from vaultmem.errors import NoteChangedError, NoteNotFoundError, VaultmemError
from vaultmem.light import TYPE_CHECKING
from vaultmem.paths import flush_names
from vaultmem.vault import identity
from vaultmem.vault.files import Inside, Root, on_disk, reason_of
from vaultmem.vault.walk import nfc

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def write_all(handle: int, data: bytes) -> None:
    """Write all of the data, in as many calls as the system needs."""
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


def write_in_place(path: str, data: bytes) -> None:
    """Overwrite a file from its start and truncate it after the data."""
    handle = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        write_all(handle, data)
        os.ftruncate(handle, len(data))
        os.fsync(handle)
    finally:
        os.close(handle)


# Atomic renames that Python does not offer: without overwriting, and the exchange of two files.

_HERE = -100  # AT_FDCWD of Linux
_MAC = sys.platform == "darwin"
_FREE, _EXCHANGE = (4, 2) if _MAC else (1, 2)  # flags of renamex_np() and of renameat2()
# Errors of systems and drives without such renames; a sandbox may not permit them.
_UNABLE = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM}


def rename_to_free(source: str, place: str) -> bool:
    """Rename a file atomically. Raises FileExistsError if the path is taken. Returns False if the system cannot do
    it."""
    return _rename(source, place, _FREE)


def exchange(one: str, other: str) -> bool:
    """Exchange two files atomically. Returns False if the system cannot do it."""
    return _rename(one, other, _EXCHANGE)


def _rename(source: str, place: str, flag: int) -> bool:
    call = _system_rename()
    code = errno.ENOSYS if call is None else call(os.fsencode(source), os.fsencode(place), flag)
    if code in _UNABLE:
        return False
    if code:
        raise OSError(code, os.strerror(code), source)
    return True


@cache
def _system_rename() -> Callable[[bytes, bytes, int], int] | None:
    """The system's rename with flags, as a function that returns 0 or an error number; None if there is none."""
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)
    name = "renamex_np" if _MAC else "renameat2"
    if not hasattr(library, name):
        return None
    function = getattr(library, name)

    def rename_with_flag(source: bytes, place: bytes, flag: int) -> int:
        where = (source, place) if _MAC else (_HERE, source, _HERE, place)
        return ctypes.get_errno() if function(*where, flag) else 0

    return rename_with_flag


# Where in the vault a file may be written: never outside it, never through a link that leads out of it, and never
# while another folder is in its place.


@contextlib.contextmanager
def anchored(root: str, real: str) -> Iterator[str]:
    """A path to the same file that stays in its folder, if the system has paths by handles (Linux): a folder may be
    swapped for a link during a write. Raises OSError if one is already on the way."""
    folder, _, name = real.rpartition("/")
    vault = os.path.realpath(root)
    with Inside(vault) as inside:
        steady = f"/proc/self/fd/{inside.folder(folder.removeprefix(vault).strip('/'))}"
        yield f"{steady}/{name}" if os.path.isdir(steady) else real


def existing_path(root: str, path: str) -> str:
    """The real path of a note. Raises NoteNotFoundError when it does not exist."""
    identity.check(root)
    full = Root(root).inside(path)
    if full is not None and os.path.isfile(full):
        return full
    if full is None and on_disk(root, path) is not None:
        raise VaultmemError(f"{path} leads out of the vault; nothing was written")
    raise NoteNotFoundError(f"there is no note {path}")


def refuse_links(root: str, path: str) -> None:
    """Raise VaultmemError when a part of the path is a link, because memories are stored where their path says."""
    for at in range(path.count("/") + 1):
        part = "/".join(path.split("/")[: at + 1])
        if os.path.islink(f"{root}/{part}"):
            raise VaultmemError(
                f"{part} is a link, and vaultmem only writes to real folders and files; nothing was written"
            )


def new_path(root: str, path: str) -> str:
    """The real path for a new note; creates its folders, inside the vault only."""
    parts = path.split("/")
    if any(part in {"", ".", ".."} or "\0" in part for part in parts):
        raise VaultmemError(f"{path!r} is not a path in a vault")
    identity.check(root)
    vault = Root(root)
    folder = vault.root
    for depth in range(1, len(parts)):
        inside = vault.inside("/".join(parts[:depth]))
        if inside is None:
            made = f"{folder}/{parts[depth - 1]}"
            if os.path.lexists(made):
                raise VaultmemError(f"{path} leads out of the vault; nothing was written")
            with contextlib.suppress(FileExistsError), anchored(root, made) as steady:
                os.mkdir(steady)
            flush_names(folder)
            inside = made
        elif not os.path.isdir(inside):
            above = "/".join(parts[:depth])
            raise VaultmemError(f"{above} is a file in the place of a folder; move it away")
        folder = inside
    return f"{folder}/{parts[-1]}"


def move(root: str, path: str, target: str) -> None:
    """Move a file inside the vault and create the folders it needs. Durable on return.

    Raises NoteNotFoundError when the file is gone, NoteChangedError when the target exists.
    """
    if nfc(path) == nfc(target):
        return
    source = existing_path(root, path)
    if os.path.islink(f"{root}/{on_disk(root, path)}"):
        raise VaultmemError(f"{path} is a link and is not moved")
    exists = f"{target} already exists; {path} stays where it is"
    same = _is_same(root, source, target)
    if not same and on_disk(root, target) is not None:
        raise NoteChangedError(exists)
    try:
        real = new_path(root, target)
        with anchored(root, source) as old, anchored(root, real) as new:
            if same:
                os.rename(old, new)
            else:
                take_name(old, new)
            for folder in dict.fromkeys((os.path.dirname(new), os.path.dirname(old))):
                flush_names(folder)
    except FileExistsError as error:
        raise NoteChangedError(exists) from error
    except FileNotFoundError as error:
        raise NoteNotFoundError(f"there is no note {path}") from error
    except OSError as error:
        raise VaultmemError(f"{path} cannot be moved: {reason_of(error)}") from error


def _is_same(root: str, source: str, target: str) -> bool:
    """Whether the target is the file itself, on a disk that ignores case."""
    try:
        status = os.lstat(f"{root}/{target}")
    except (OSError, ValueError):
        return False
    return status.st_nlink == 1 and os.path.samestat(status, os.lstat(source))


def take_name(source: str, place: str) -> None:
    """Rename a file. Raises FileExistsError when the name is taken.

    Where the system has no atomic rename without overwriting, an empty file of ours reserves the name, is checked to
    be still empty, and is replaced. A kill between the two leaves the empty file.
    """
    if rename_to_free(source, place):
        return
    held = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        _expect_empty(held, place)
        os.replace(source, place)
    except FileExistsError:
        raise
    except OSError:
        os.unlink(place)
        raise
    finally:
        os.close(held)


def _expect_empty(held: int, place: str) -> None:
    ours = os.fstat(held)
    if ours.st_size or not os.path.samestat(ours, os.lstat(place)):
        raise FileExistsError(errno.EEXIST, "somebody else wrote it", place)


# Whether some program has a file open for writing, as far as the system knows.

PAUSE = 0.002  # seconds between checks
UNKNOWN = 0.01  # wait if the system cannot tell: an editor opens, writes and closes at once
_LEASES = hasattr(fcntl, "F_SETLEASE")  # Linux
_F_SETSIG = 10  # of fcntl(2); Python has no name for it


def wait_for_writers(handle: int, most: float) -> bool:
    """Wait at most `most` seconds until no program has the file open for writing. Returns whether that is certain.
    The handle must be for reading, and the only one in this process."""
    deadline = time.monotonic() + most
    while (free := _is_free(handle)) is False:
        if time.monotonic() > deadline:
            return False
        time.sleep(PAUSE)
    if free is None:
        time.sleep(UNKNOWN)
    return bool(free)


def _is_free(handle: int) -> bool | None:
    """Whether no program has the file open for writing; None when the system does not know.

    The kernel grants a read lease only on a file that nobody has open for writing. It is released at once; if a
    program opens the file in that moment, the kernel sends a signal, for which a harmless one is chosen.
    """
    if not _LEASES:
        return None
    import signal  # takes as long as a small write, and only a change of a note needs it

    try:
        fcntl.fcntl(handle, _F_SETSIG, signal.SIGURG)
        fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except OSError as error:
        return False if error.errno == errno.EAGAIN else None
    fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    return True


# Temporary files.

_STALE = 3600.0  # seconds after which a temporary file is abandoned
_numbers = itertools.count(1)
_process = os.urandom(4).hex()
TEMP_PREFIX = ".vaultmem-"


def own_temps() -> str:
    """The prefix of this process's temporary files, which no other process uses."""
    return f"{TEMP_PREFIX}{os.getpid()}-{_process}-"


def sweep(folder: str, prefix: str = TEMP_PREFIX, older: float = _STALE) -> None:
    """Remove our temporary files that a kill has left in a folder."""
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            path = f"{folder}/{name}"
            if name.startswith(prefix) and name.endswith(".tmp"):
                with contextlib.suppress(FileNotFoundError):
                    if time.time() - os.lstat(path).st_mtime >= older:
                        os.unlink(path)


def temp_beside(target: str) -> str:
    """A free path for a temporary file in the folder of a file."""
    start = f"{os.path.dirname(target)}/{own_temps()}"
    while True:
        temp = f"{start}{next(_numbers)}.tmp"
        if not os.path.lexists(temp):
            return temp


def keep_beside(target: str, temp: str) -> None:
    """Keep the second of two concurrent writes that cannot be merged, under the name of a conflict copy."""
    stem, ending = os.path.splitext(target)
    for number in itertools.count(1):
        stamp = f"{time.strftime('%Y%m%d%H%M')}" + (f"-{number}" if number > 1 else "")
        try:
            take_name(temp, f"{stem} (Conflicted copy vaultmem {stamp}){ending}")
        except FileExistsError:
            continue
        flush_names(os.path.dirname(target))
        return


def discard(temp: str, place: str, is_ours: Callable[[bytes], bool], patience: float) -> None:
    """Remove a temporary file. What another program wrote into it, or in its place, during a swap becomes a conflict
    copy of the file at `place`; a program that has it open is waited for."""
    try:
        handle = os.open(temp, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        wait_for_writers(handle, patience)
        data = os.pread(handle, os.fstat(handle).st_size, 0)
    finally:
        os.close(handle)
    if is_ours(data):
        os.unlink(temp)
    else:
        keep_beside(place, temp)


def dress(temp: str, stat: os.stat_result) -> None:
    """Give the new file the owner, mode, attributes and creation time of the old one, as far as the disk has them."""
    with contextlib.suppress(OSError):
        os.chown(temp, stat.st_uid, stat.st_gid)
    with contextlib.suppress(OSError):  # it stays readable by its owner only
        os.chmod(temp, modes.S_IMODE(stat.st_mode))
    if sys.platform == "darwin":  # an older modification time moves the birth; editors sort by it
        os.utime(temp, (time.time(), stat.st_birthtime))
        os.utime(temp)
