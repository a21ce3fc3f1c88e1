"""Write notes beside a running editor: compare, swap, read back (R-WRITE-2, 4, 6).

A kill at any moment leaves the old note or the new one, if need be after journal.recover().
"""

from __future__ import annotations

import contextlib
import itertools
import os
import stat as modes
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

from vaultmem.errors import NoteChangedError, NoteNotFoundError, VaultmemError
from vaultmem.store.journal import (
    TEMP_PREFIX,
    Intent,
    fsync_folder,
    recorded,
    write_all,
    write_in_place,
)
from vaultmem.store.vault import Root, content, digest, on_disk, reason_of, same_moment
from vaultmem.store.walk import nfc

if TYPE_CHECKING:
    from collections.abc import Callable

_TRIES = 3
_WHOLE = 1 << 40  # bytes; a note is read whole before it is written
_QUIET = (0.05, 10)  # seconds between looks at a displaced file, and how many looks
_numbers = itertools.count(1)


class Written(NamedTuple):
    """A note after a write; path and hash let the watcher drop its own echo."""

    path: str
    hash: str
    size: int
    mtime_ns: int
    changed: bool  # False: it held these bytes already and was not touched


class _Seen(NamedTuple):
    data: bytes
    stat: os.stat_result


def change(root: str, path: str, edit: Callable[[bytes], bytes], journal: str) -> Written:
    """Apply an edit to a note's bytes and write the result, if it differs.

    The edit is called again on the newest bytes when somebody else writes meanwhile; after three
    tries NoteChangedError. `journal` is a folder outside the vault, see store.journal. A symbolic
    link is followed inside the vault only. What `edit` raises comes through, nothing written.
    """
    target = _existing(root, path)
    try:
        for _ in range(_TRIES):
            seen = _look(target)
            if seen is None:
                continue
            new = edit(seen.data)
            if new == seen.data:
                return _written(path, seen, changed=False)
            if not seen.stat.st_mode & 0o222:
                raise VaultmemError(f"{path} is read-only; nothing was written")
            if _put(target, seen, new, journal):
                now = _look(target)
                if now is not None and now.data == new:
                    return _written(path, now, changed=True)
    except OSError as error:
        raise VaultmemError(f"{path} cannot be written: {reason_of(error)}") from error
    raise NoteChangedError(
        f"{path} is being changed by another program; close it there or try later"
    )


def replace(root: str, path: str, data: bytes, expected: str, journal: str) -> Written:
    """Write a note whole, if its content still has the digest `expected`; else NoteChangedError."""

    def edit(found: bytes) -> bytes:
        if digest(found) != expected and found != data:
            raise NoteChangedError(f"{path} was changed by another program; read it again")
        return data

    return change(root, path, edit, journal)


def create(root: str, path: str, data: bytes, journal: str) -> Written:
    """Write a new note, with its folders; NoteChangedError when a file of that name is there."""
    exists = f"{path} exists already; choose another name"
    if on_disk(root, path) is not None:
        raise NoteChangedError(exists)
    try:
        target = _new_target(root, path)
        temp = _temp_beside(target)
        with recorded(journal, Intent(target, temp, b"", fresh=True)):
            try:
                _write_new(temp, data, 0o666)
                _link(temp, target, data, journal)
            finally:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(temp)
            fsync_folder(os.path.dirname(target))
            seen = _look(target)
    except FileExistsError as error:
        raise NoteChangedError(exists) from error
    except OSError as error:
        raise VaultmemError(f"{path} cannot be written: {reason_of(error)}") from error
    if seen is None:
        raise NoteChangedError(f"{path} was changed by another program as soon as it was written")
    return _written(path, seen, changed=True)


def _written(path: str, seen: _Seen, *, changed: bool) -> Written:
    stat = seen.stat
    return Written(nfc(path), digest(seen.data), stat.st_size, stat.st_mtime_ns, changed)


# --- Where


def _existing(root: str, path: str) -> str:
    """The real place of a note that must be there."""
    full = Root(root).inside(path)
    if full is not None and os.path.isfile(full):
        return full
    if full is None and on_disk(root, path) is not None:
        raise VaultmemError(f"{path} leads out of the vault; nothing was written")
    raise NoteNotFoundError(f"there is no note {path}")


def _new_target(root: str, path: str) -> str:
    """The place of a note that is to come; makes its folders, inside the vault only."""
    parts = path.split("/")
    if any(part in {"", ".", ".."} or "\0" in part for part in parts):
        raise VaultmemError(f"{path!r} is no path in a vault")
    vault = Root(root)
    folder = vault.root
    for depth in range(1, len(parts)):
        inside = vault.inside("/".join(parts[:depth]))
        if inside is None:
            made = f"{folder}/{parts[depth - 1]}"
            if os.path.lexists(made):
                raise VaultmemError(f"{path} leads out of the vault; nothing was written")
            with contextlib.suppress(FileExistsError):
                os.mkdir(made)
            fsync_folder(folder)
            inside = made
        folder = inside
    return f"{folder}/{parts[-1]}"


def _temp_beside(target: str) -> str:
    folder = os.path.dirname(target)
    while True:
        temp = f"{folder}/{TEMP_PREFIX}{os.getpid()}-{next(_numbers)}.tmp"
        if not os.path.lexists(temp):
            return temp


# --- How


def _look(target: str) -> _Seen | None:
    """The note as it is now, or None while somebody writes it."""
    data, stat, quiet = content(target, _WHOLE)
    return _Seen(data, stat) if quiet else None


def _put(target: str, seen: _Seen, new: bytes, journal: str) -> bool:
    """Write the new bytes if the note still is as seen; whether that worked."""
    if seen.stat.st_nlink > 1:  # a rename would part the note from its other names
        with recorded(journal, Intent(target, "", seen.data, new)):
            if not _unchanged(target, seen):
                return False
            write_in_place(target, new)
            return True
    temp = _temp_beside(target)
    with recorded(journal, Intent(target, temp, seen.data)):
        try:
            _write_new(temp, new)
            _dress(temp, seen.stat)
            return _swapped(target, temp, seen, new)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temp)


def _swapped(target: str, temp: str, seen: _Seen, new: bytes) -> bool:
    """Move the temporary file over the note, unless somebody was quicker.

    An editor that had the old file open may write into it after the move, where nobody would ever
    find its text: the old file is held open, and such text is put back for the next try.
    """
    displaced = os.open(target, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if os.fstat(displaced).st_ino != seen.stat.st_ino or not _unchanged(target, seen):
            return False
        os.replace(temp, target)
        fsync_folder(os.path.dirname(target))
        late = _late_text(displaced, seen)
    finally:
        os.close(displaced)
    if late is None:
        return True
    now = _look(target)
    if now is not None and now.data == new:
        _write_new(temp, late)
        _dress(temp, seen.stat)
        os.replace(temp, target)
        fsync_folder(os.path.dirname(target))
    return False


def _late_text(displaced: int, seen: _Seen) -> bytes | None:
    """What an editor wrote into the file that has just been replaced, once it is done."""
    pause, looks = _QUIET
    last = _all_of(displaced)
    if last == seen.data:
        return None
    for _ in range(looks):
        time.sleep(pause)
        data = _all_of(displaced)
        if data and data == last:
            return data
        last = data
    return last or None


def _all_of(handle: int) -> bytes:
    return os.pread(handle, os.fstat(handle).st_size, 0)


def _unchanged(target: str, seen: _Seen) -> bool:
    """Whether size, time, file and every byte are still as seen."""
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
    """A file that must not be there yet, safe on disk before we go on."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        write_all(handle, data)
        os.fsync(handle)
    finally:
        os.close(handle)


def _link(temp: str, target: str, data: bytes, journal: str) -> None:
    """Give a finished file its name, failing when the name is taken."""
    try:
        os.link(temp, target, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links: a half-written note is healed
        with recorded(journal, Intent(target, "", b"", data, fresh=True)):
            _write_new(target, data, 0o666)


def _dress(temp: str, stat: os.stat_result) -> None:
    """Give the new file the owner, mode, attributes and birth of the old one, as far as allowed."""
    with contextlib.suppress(OSError):
        os.chown(temp, stat.st_uid, stat.st_gid)
    os.chmod(temp, modes.S_IMODE(stat.st_mode))
    if sys.platform == "darwin":  # an older modification time moves the birth; editors sort by it
        os.utime(temp, (time.time(), stat.st_birthtime))
        os.utime(temp)
