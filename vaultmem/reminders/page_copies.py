"""Copies that sync programs leave beside a page of ours, and the archive to which they go when they were read."""

from __future__ import annotations

import itertools
import os

from vaultmem.core.conflicts import Places, conflict_original, conflicts, doubtful
from vaultmem.core.places import ARCHIVE
from vaultmem.errors import NoteChangedError, VaultmemError
from vaultmem.store.move import move
from vaultmem.store.places import new_place, refuse_links
from vaultmem.store.renames import rename_to_free
from vaultmem.store.walk import nfc

_MOST = 1_000  # names of one file


def named_after(vault: str, path: str) -> list[str]:
    """The paths of what may be copies of a page, by their names; whoever reads them sees whether they are."""
    folder, _, name = path.rpartition("/")
    stem = name.rpartition(".")[0].casefold()
    try:
        names = sorted(os.listdir(f"{vault}/{folder}"))
    except OSError:
        return []
    alike = [nfc(each) for each in names if nfc(each).casefold().startswith(stem)]
    there = [f"{folder}/{each}" if folder else each for each in alike]
    places = Places({*there, path})
    sure = conflicts(places)
    found = {copy for copy, original in [*sure.items(), *doubtful(places)] if original == path}
    found |= {copy for copy in there if conflict_original(copy) == path}
    return sorted(each for each in found if each != path and _is_file(f"{vault}/{each}"))


def put_away(vault: str, path: str, folder: str, journal: str) -> str:
    """Move a file or folder into the archive of the memory folder; where it is then."""
    for target in _free_names(path, folder):
        refuse_links(vault, target)
        if os.path.lexists(f"{vault}/{target}"):
            continue
        try:
            _move(vault, path, target, journal)
        except NoteChangedError:
            continue
        return target
    raise VaultmemError(f"{folder}/{ARCHIVE} has no place for {path}")


def _move(vault: str, path: str, target: str, journal: str) -> None:
    full = f"{vault}/{path}"
    if not os.path.isdir(full):
        move(vault, path, target, journal)
        return
    try:
        if not rename_to_free(full, new_place(vault, target)):
            os.rename(full, f"{vault}/{target}")  # of a folder never over anything but an empty one
    except FileExistsError as error:
        raise NoteChangedError(f"{target} exists already") from error
    except OSError as error:
        raise VaultmemError(f"{path} cannot be moved: {error.strerror}") from error


def _free_names(path: str, folder: str) -> list[str]:
    name = path.rpartition("/")[2]
    stem, ending = os.path.splitext(name)
    numbered = (f"{stem} {number}{ending}" for number in range(2, _MOST))
    return [f"{folder}/{ARCHIVE}/{each}" for each in itertools.chain([name], numbered)]


def _is_file(full: str) -> bool:
    return os.path.isfile(full) and not os.path.islink(full)
