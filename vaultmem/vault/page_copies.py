"""Copies that sync programs leave beside a page that vaultmem writes, and the archive to which they go once read."""

from __future__ import annotations

import itertools
import os

from vaultmem.errors import NoteChangedError, VaultmemError
from vaultmem.vault.conflicts import Places, conflict_original, conflicts, doubtful
from vaultmem.vault.moves import move, refuse_links
from vaultmem.vault.places import ARCHIVE
from vaultmem.vault.walk import nfc

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
    beside = [f"{folder}/{each}" if folder else each for each in alike]
    places = Places({*beside, path})
    pairs = {*conflicts(places).items(), *doubtful(places)}
    copies = {copy for copy, original in pairs if original == path}
    copies |= {copy for copy in beside if conflict_original(copy) == path}
    return sorted(each for each in copies if each != path and _is_file(f"{vault}/{each}"))


def put_away(vault: str, path: str, folder: str) -> str:
    """Move a file into the archive of the memory folder, under a name that is free; where it is then."""
    stem, ending = os.path.splitext(path.rpartition("/")[2])
    for number in itertools.islice(itertools.count(1), _MOST):
        name = f"{stem} {number}{ending}" if number > 1 else f"{stem}{ending}"
        target = f"{folder}/{ARCHIVE}/{name}"
        refuse_links(vault, target)
        if os.path.lexists(f"{vault}/{target}"):
            continue
        try:
            move(vault, path, target)
        except NoteChangedError:
            continue
        return target
    raise VaultmemError(f"{folder}/{ARCHIVE} has no place for {path}")


def _is_file(full: str) -> bool:
    return os.path.isfile(full) and not os.path.islink(full)
