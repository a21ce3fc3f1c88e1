"""Give a file of the vault another name or folder, never over a file that is there.

The file itself moves: what an editor writes into it meanwhile stays with it.
"""

from __future__ import annotations

import errno
import os

from vaultmem.errors import NoteChangedError, NoteNotFoundError, VaultmemError
from vaultmem.store.journal import Intent, fsync_folder, recorded
from vaultmem.store.places import existing, new_place
from vaultmem.store.renames import rename_to_free
from vaultmem.store.vault import on_disk, reason_of
from vaultmem.store.walk import nfc


def move(root: str, path: str, target: str, journal: str) -> None:
    """Move a file inside the vault, with the folders it needs; both ends are on the disk afterwards.

    NoteNotFoundError when it is gone, NoteChangedError when the target is there. `journal` is a
    folder outside the vault: see store.journal.
    """
    if nfc(path) == nfc(target):
        return
    source = existing(root, path)
    if os.path.islink(f"{root}/{on_disk(root, path)}"):
        raise VaultmemError(f"{path} is a link, which is not moved")
    exists = f"{target} exists already; {path} stays where it is"
    same = _is_same(root, source, target)
    if not same and on_disk(root, target) is not None:
        raise NoteChangedError(exists)
    try:
        place = new_place(root, target)
        if same:
            os.rename(source, place)
        elif not rename_to_free(source, place):
            _rename_over_own(source, place, journal)
        for folder in dict.fromkeys((os.path.dirname(place), os.path.dirname(source))):
            fsync_folder(folder)
    except FileExistsError as error:
        raise NoteChangedError(exists) from error
    except FileNotFoundError as error:
        raise NoteNotFoundError(f"there is no note {path}") from error
    except OSError as error:
        raise VaultmemError(f"{path} cannot be moved: {reason_of(error)}") from error


def _is_same(root: str, source: str, target: str) -> bool:
    """Whether the target is the file itself, on a disk that takes Note.md and note.md for one name."""
    try:
        found = os.lstat(f"{root}/{target}")
    except (OSError, ValueError):
        return False
    return found.st_nlink == 1 and os.path.samestat(found, os.lstat(source))


def _rename_over_own(source: str, place: str, journal: str) -> None:
    """Take the name with an empty file of ours, which nobody overwrites unseen, and rename over that."""
    with recorded(journal, Intent(place, "", b"", source=source)):
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
