"""Writes notes while an editor is running: compare, swap, read back (R-WRITE-2, 4, 6).

A kill at any moment leaves the old note or the new one, and perhaps a temporary file, which sweep() removes. Only a
note with several names (hard links) is written in place, where a kill may leave half of it: the log of batches
repairs that.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import itertools
import os
import stat as modes
import sys
import time

from vaultmem.errors import NoteChangedError, NoteNotFoundError, VaultmemError
from vaultmem.light import TYPE_CHECKING, NamedTuple
from vaultmem.paths import flush_names
from vaultmem.vault.files import content, on_disk, reason_of, same_moment
from vaultmem.vault.moves import (
    anchored,
    exchange,
    existing_path,
    new_path,
    refuse_links,
    take_name,
    write_all,
    write_in_place,
)

if TYPE_CHECKING:
    from collections.abc import Callable


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


_TRIES = 3
_WHOLE = 1 << 40  # bytes; a note is read completely before it is written
_BEFORE, _AFTER = 0.5, 2.0  # seconds for other writers to finish
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


class _Seen(NamedTuple):
    data: bytes
    stat: os.stat_result


def change(root: str, path: str, edit: Callable[[bytes], bytes], *, part: bool = False) -> bool:
    """Apply an edit to a note's bytes and write the result, if it differs. Returns whether it did.

    The edit is called again on the newest bytes when another program writes meanwhile; after three attempts
    NoteChangedError is raised. Symbolic links are followed inside the vault only. A file with hard links is written
    in place, or detached from them with `part`. If `edit` raises, nothing is written.
    """
    real = existing_path(root, path)
    try:
        with anchored(root, real) as target:
            for _ in range(_TRIES):
                seen = _look(target)
                if seen is None:
                    continue
                new = edit(seen.data)
                if new == seen.data:
                    return False
                if not seen.stat.st_mode & 0o222:
                    raise VaultmemError(f"{path} is read-only; nothing was written")
                if _put(target, seen, new, part=part):
                    now = _look(target)
                    if now is not None and now.data == new:
                        return True
    except OSError as error:
        raise VaultmemError(f"{path} cannot be written: {reason_of(error)}") from error
    raise NoteChangedError(
        f"{path} is being changed by another program; close it there or try later"
    )


def create(root: str, path: str, data: bytes) -> None:
    """Write a new note and create its folders. Raises NoteChangedError when a file of that name exists."""
    exists = f"{path} already exists; choose another name"
    if on_disk(root, path) is not None:
        raise NoteChangedError(exists)
    try:
        with anchored(root, new_path(root, path)) as target:
            temp = _temp_beside(target)
            try:
                _write_new(temp, data, 0o666)
                take_name(temp, target)
            finally:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(temp)
            flush_names(os.path.dirname(target))
    except FileExistsError as error:
        raise NoteChangedError(exists) from error
    except OSError as error:
        raise VaultmemError(f"{path} cannot be written: {reason_of(error)}") from error


def put(root: str, path: str, edit: Callable[[bytes | None], bytes | None]) -> bool:
    """Write a page of ours: what `edit` returns for its newest bytes, or for None if there is no file; None writes
    nothing. Returns whether anything was written. No link is followed."""
    refuse_links(root, path)
    full = f"{root}/{path}"
    sweep(os.path.dirname(full))
    for left in reversed(range(_TRIES)):
        if os.path.lexists(full) and not os.path.isfile(full):
            raise VaultmemError(f"{path} is not a file; move it away")
        try:
            if os.path.lexists(full):
                return change(root, path, lambda data: edit(data) or data, part=True)
            if (new := edit(None)) is not None:
                create(root, path, new)
        except (NoteChangedError, NoteNotFoundError):  # it appeared or disappeared since that look
            if not left:
                raise
        else:
            return new is not None
    raise AssertionError


def newest(root: str, path: str) -> bytes:
    """All bytes of a note, as the next edit would see them."""
    try:
        seen = _look(existing_path(root, path))
    except FileNotFoundError as error:
        raise NoteNotFoundError(f"there is no note {path}") from error
    except OSError as error:
        raise VaultmemError(f"{path} cannot be read: {reason_of(error)}") from error
    if seen is None:
        raise NoteChangedError(f"{path} is being written by another program; try later")
    return seen.data


# --- Internals


def _temp_beside(target: str) -> str:
    start = f"{os.path.dirname(target)}/{own_temps()}"
    while True:
        temp = f"{start}{next(_numbers)}.tmp"
        if not os.path.lexists(temp):
            return temp


def _look(target: str) -> _Seen | None:
    """The current note; None while another program writes it."""
    data, stat, quiet = content(target, _WHOLE)
    return _Seen(data, stat) if quiet else None


def _put(target: str, seen: _Seen, new: bytes, *, part: bool) -> bool:
    """Write the new bytes if the note is still as seen. Returns whether it was."""
    if seen.stat.st_nlink > 1 and not part:  # a rename would detach the note from its hard links
        if not _is_unchanged(target, seen):
            return False
        write_in_place(target, new)
        return True
    temp = _temp_beside(target)
    try:
        _write_new(temp, new)
        _dress(temp, seen.stat)
        return _swap(target, temp, seen, new)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temp)


def _swap(target: str, temp: str, seen: _Seen, new: bytes) -> bool:
    """Move the temporary file over the note, unless another program was faster. Returns whether the note is ours now.

    An editor that had the old file open may write into it after the move, where its text would be lost: such text is
    put back for the next attempt.
    """
    done, late = _exchange(target, temp, seen)
    if late is None:
        return done
    _write_new(temp, late)
    _dress(temp, seen.stat)
    now = _look(target)
    if now is None or now.data != new:
        _keep_beside(target, temp)
        return False
    put_back, later = _exchange(target, temp, now)
    if not put_back:
        _keep_beside(target, temp)
    elif later is not None:
        _write_new(temp, later)
        _keep_beside(target, temp)
    return False


def _exchange(target: str, temp: str, seen: _Seen) -> tuple[bool, bytes | None]:
    """Move one file over the other. Returns whether it did, and what was written into the old one since, or None."""
    displaced = os.open(target, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        wait_for_writers(displaced, _BEFORE)
        if os.fstat(displaced).st_ino != seen.stat.st_ino or not _is_unchanged(target, seen):
            return False, None
        ours = os.lstat(temp)
        if not exchange(temp, target):
            os.replace(temp, target)
        elif os.path.samestat(os.lstat(temp), os.fstat(displaced)):
            os.unlink(temp)
        else:
            _give_way(target, temp, ours)
            return False, None
        flush_names(os.path.dirname(target))
        return True, _late_text(displaced, seen)
    finally:
        os.close(displaced)


def _give_way(target: str, temp: str, ours: os.stat_result) -> None:
    """Put back a file that another program renamed to this path at the last moment."""
    exchange(temp, target)
    if not os.path.samestat(os.lstat(temp), ours):  # and replaced it by another one right after
        exchange(temp, target)
        _keep_beside(target, temp)
    flush_names(os.path.dirname(target))


def _late_text(displaced: int, seen: _Seen) -> bytes | None:
    """What an editor has written into the file that was just replaced, once it has finished; None for nothing."""
    wait_for_writers(displaced, _AFTER)
    late = os.pread(displaced, os.fstat(displaced).st_size, 0)
    return None if late == seen.data else late


def _keep_beside(target: str, temp: str) -> None:
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


def _is_unchanged(target: str, seen: _Seen) -> bool:
    """Whether size, times, inode and all bytes are still as seen."""
    try:
        now = _look(target)
    except OSError:
        return False
    return (
        now is not None
        and now.stat.st_ino == seen.stat.st_ino
        and same_moment(now.stat, seen.stat)
        and now.data == seen.data
    )


def _write_new(path: str, data: bytes, mode: int = 0o600) -> None:
    """Write a file that must not exist yet. Durable on return."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        write_all(handle, data)
        os.fsync(handle)
    finally:
        os.close(handle)


def _dress(temp: str, stat: os.stat_result) -> None:
    """Give the new file the owner, mode, attributes and creation time of the old one, as far as the disk has them."""
    with contextlib.suppress(OSError):
        os.chown(temp, stat.st_uid, stat.st_gid)
    with contextlib.suppress(OSError):  # it stays readable by its owner only
        os.chmod(temp, modes.S_IMODE(stat.st_mode))
    if sys.platform == "darwin":  # an older modification time moves the birth; editors sort by it
        os.utime(temp, (time.time(), stat.st_birthtime))
        os.utime(temp)
