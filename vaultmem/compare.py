"""How the folder differs from the catalog, and when a difference is too great to believe."""

from __future__ import annotations

from typing import NamedTuple

from vaultmem.dialects import Rulebook
from vaultmem.errors import VaultGoneError
from vaultmem.store.walk import Entry, walk

VANISH_SHARE, VANISH_COUNT = 0.2, 20


class Diff(NamedTuple):
    """How the folder differs from the catalog."""

    put: list[Entry]  # new and changed files
    touched: list[Entry]  # only the times differ, perhaps
    gone: dict[int, str]  # file id -> path
    known: dict[str, int]  # path -> file id, of files that stay
    troubles: dict[str, str]


def check_vanished(folder: str, diff: Diff) -> None:
    """Refuse a folder that lost most of its files: a drive that is not mounted must not empty the index.

    A file whose name turns up elsewhere was moved, not lost.
    """
    if not diff.gone:
        return
    names = {entry.path.rpartition("/")[2] for entry in diff.put}
    lost = sum(path.rpartition("/")[2] not in names for path in diff.gone.values())
    _refuse_if_lost(
        folder, lost, len(diff.known) + len(diff.gone), empty=not diff.known and not diff.put
    )


def check_rebuild(folder: str, rules: Rulebook, known: int) -> None:
    """The same before an index is built anew; `known` is how many notes the old one had."""
    if known:
        found = sum(rules.kind(entry.path) == "note" for entry in walk(folder, []))
        _refuse_if_lost(folder, known - found, known, empty=not found)


def _refuse_if_lost(folder: str, lost: int, total: int, *, empty: bool) -> None:
    if lost > 0 and (empty or (lost > VANISH_COUNT and lost > VANISH_SHARE * total)):
        raise VaultGoneError(
            f"{lost} of {total} files are gone from {folder}: the index was left as it is. If the drive is "
            "not mounted or still syncing, wait; if you removed them yourself, run "
            "vaultmem sync --confirm-removals"
        )
