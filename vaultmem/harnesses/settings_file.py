"""A file of somebody else's settings: read, changed by one edit, written only if it still is what was read."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable

from vaultmem.core.values import value
from vaultmem.errors import NoteChangedError, NoteNotFoundError, VaultmemError
from vaultmem.store import write

MOST = 4_000_000  # bytes; no settings are so long

Edit = Callable[[str], str]


@value
class Edited:
    """What a file was and has become, and where it really is; links are followed."""

    path: str
    before: str
    after: str


def edit(path: str, change: Edit, *, dry_run: bool = False, spare: bool = True) -> Edited:
    """Apply a change to a file, which may not be there yet. When nothing is left of it and it is not to be spared,
    it is removed. What `change` raises comes through, and nothing is written."""
    real = os.path.realpath(path)
    folder, name = os.path.split(real)
    before = read(real)
    after = change(before)
    found = Edited(real, before, after)
    if dry_run or before == after:
        return found
    if not spare and not after:
        _remove(real, before)
        return found

    def edited(data: bytes) -> bytes:
        return change(_text(data, real)).encode()

    try:
        if os.path.lexists(real):
            write.change(folder, name, edited, "")
        else:
            os.makedirs(folder, exist_ok=True)
            write.create(folder, name, after.encode(), "")
    except NoteNotFoundError as error:
        raise VaultmemError(f"{real} is no file that can be edited") from error
    except OSError as error:
        raise VaultmemError(f"{real} cannot be written: {error.strerror}") from error
    return found


def read(real: str) -> str:
    """The text of a file, "" of one that is not there."""
    try:
        with open(real, "rb") as file:
            data = file.read(MOST + 1)
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise VaultmemError(f"{real} cannot be read: {error.strerror}") from error
    if len(data) > MOST:
        raise VaultmemError(f"{real} is too long to be settings; nothing was written")
    return _text(data, real)


def _text(data: bytes, real: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise VaultmemError(f"{real} is not UTF-8; nothing was written") from error


def _remove(real: str, before: str) -> None:
    if read(real) != before:
        raise NoteChangedError(f"{real} was changed by another program; try again")
    with contextlib.suppress(FileNotFoundError):
        os.unlink(real)
