"""How the folder differs from the catalog, and when a difference is too great to believe."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator

from vaultmem.errors import VaultGoneError
from vaultmem.index.catalog import Catalog, below
from vaultmem.light import TYPE_CHECKING, NamedTuple
from vaultmem.notes.dialects import Rulebook
from vaultmem.vault import identity
from vaultmem.vault.walk import Entry, FileLookup, Trouble, is_utf8, nfc, walk

if TYPE_CHECKING:
    from typing import TypeVar

    T = TypeVar("T")

VANISH_SHARE, VANISH_COUNT = 0.2, 20
BREATH = 256  # entries compared in one go: a millisecond


class Known(NamedTuple):
    """A file as the catalog knows it."""

    file: int
    kind: str
    size: int
    mtime_ns: int
    inode: int
    racy: int
    ctime_ns: int = 0


class Place(NamedTuple):
    """A part of the vault: single files, and folders with everything below them. "" is the whole vault."""

    files: frozenset[str] = frozenset()
    folders: frozenset[str] = frozenset()


class Diff(NamedTuple):
    """How the folder differs from the catalog."""

    put: list[Entry]  # new and changed files
    touched: list[Entry]  # only the times differ, perhaps
    gone: dict[int, str]  # file id -> path
    known: dict[str, int]  # path -> file id, of files that stay
    troubles: dict[str, str]
    before: dict[str, Known]  # what the catalog knew about those that differ
    hidden: frozenset[str] = (
        frozenset()
    )  # paths of those gone that are still on disk, there or elsewhere


def nothing(*_: object) -> None:
    """Do nothing."""


class Manner(NamedTuple):
    """How to compare."""

    kind_of: Callable[[str], str]  # whether a path is a "note", another "file" or "" (not ours)
    reread: bool = False  # every file counts as changed
    breathe: Callable[[], None] = nothing  # called now and then; an exception ends it


class Report(NamedTuple):
    """The report of a sync. Counts are notes, `seconds` is wall time."""

    added: int
    changed: int
    removed: int
    unchanged: int
    troubles: int
    rebuilt: bool
    seconds: float


def differences(catalog: Catalog, folder: str, how: Manner, place: Place | None = None) -> Diff:
    """Compare the vault, or only `place`, with the catalog by names, sizes, times and inodes.

    The inode's change time counts, too: a file may have the size and time of the one that it replaces.
    """
    troubles: list[Trouble] = []
    if place is None or "" in place.folders:
        rows = _breathing(catalog.db.execute(_ROWS), how.breathe)
        old, entries = {row[0]: Known(*row[1:]) for row in rows}, walk(folder, troubles)
    else:
        old, entries = _catalogued_at(catalog, place), _walk_at(folder, place, troubles)
    diff = Diff([], [], {}, {}, {}, {})
    hidden: set[str] = set()
    dirty = {row[0] for row in catalog.db.execute("SELECT note FROM dirty")}
    for entry in _breathing(entries, how.breathe):
        kind = how.kind_of(entry.path)
        if kind:
            previous = _same_kind(old, entry.path, kind)
            must = how.reread or (previous is not None and previous.file in dirty)
            _sort_in(diff, entry, previous, must=must)
        elif entry.path in old:
            hidden.add(entry.path)
    unlisted = tuple(trouble.path + "/" for trouble in troubles if trouble.folder)
    for path, previous in old.items():
        if not path.startswith(unlisted):
            diff.gone[previous.file] = path
            diff.before[path] = previous
    diff.troubles.update({trouble.path: trouble.reason for trouble in troubles})
    return diff._replace(hidden=frozenset(hidden | _moved_before(catalog, diff.gone)))


def _moved_before(catalog: Catalog, gone: Collection[int]) -> set[str]:
    """Of many notes that are gone, the paths of those that the catalog has at another path, too: the new place of a
    large folder is read before its old one is believed to be gone."""
    if len(gone) <= VANISH_COUNT:
        return set()
    return {path for (path,) in catalog.db.execute(_ELSEWHERE, {"gone": json.dumps([*gone])})}


def _breathing(items: Iterable[T], breathe: Callable[[], None]) -> Iterator[T]:
    for number, item in enumerate(items):
        if number % BREATH == 0:
            breathe()
        yield item


def _same_kind(old: dict[str, Known], path: str, kind: str) -> Known | None:
    """Remove a known file from the list of those not seen yet; one of another kind stays there."""
    entry = old.get(path)
    return old.pop(path) if entry and entry.kind == kind else None


def _sort_in(diff: Diff, entry: Entry, previous: Known | None, *, must: bool) -> None:
    if previous is None:
        diff.put.append(entry)
        return
    diff.known[entry.path] = previous.file
    if must or previous.size != entry.size:
        diff.put.append(entry)
    elif previous.racy or _stamps(previous) != _stamps(entry):
        diff.touched.append(entry)
    else:
        return
    diff.before[entry.path] = previous


def _stamps(file: Known | Entry) -> tuple[int, int, int]:
    return file.mtime_ns, file.inode, file.ctime_ns


_GONE = "(SELECT value FROM json_each(:gone))"
_ELSEWHERE = f"""SELECT path FROM files WHERE id IN {_GONE}
    AND hash IN (SELECT hash FROM files WHERE id NOT IN {_GONE} AND hash IS NOT NULL)"""  # noqa: S608 - own text
_ROWS = "SELECT path, id, kind, size, mtime_ns, inode, racy, ctime_ns FROM files"


def _catalogued_at(catalog: Catalog, place: Place) -> dict[str, Known]:
    catalogued = {}
    for raw in place.files:
        for row in catalog.db.execute(f"{_ROWS} WHERE path = ?", (_store_path(raw),)):
            catalogued[row[0]] = Known(*row[1:])
    for raw in place.folders:
        for row in catalog.db.execute(
            f"{_ROWS} WHERE path > ? AND path < ?", below(_store_path(raw))
        ):
            catalogued[row[0]] = Known(*row[1:])
    return catalogued


def _store_path(raw: str) -> str:
    """A path as the catalog spells it; for bytes that are not UTF-8, a path that no file has."""
    return nfc(raw) if is_utf8(raw) else "\0"


def _walk_at(folder: str, place: Place, troubles: list[Trouble]) -> Iterator[Entry]:
    look = FileLookup(folder)
    seen: set[str] = set()
    for raw in place.folders:
        if look.has_folder(raw):
            for entry in walk(folder, troubles, raw):
                if entry.path not in seen:
                    seen.add(entry.path)
                    yield entry
    for raw in place.files:
        single = look.at(raw)
        if single and single.path not in seen:
            seen.add(single.path)
            yield single


def lost(diff: Diff) -> list[str]:
    """The paths that are gone and whose names appear nowhere else. Moved files, and those now hidden by an editor's
    settings, are not lost."""
    names = {entry.path.rpartition("/")[2] for entry in diff.put}
    gone = [path for path in diff.gone.values() if path not in diff.hidden]
    return [path for path in gone if path.rpartition("/")[2] not in names]


def missing(diff: Diff) -> list[str]:
    """The paths of files that are gone, and neither moved nor renamed."""
    elsewhere = find_moved(diff)
    return [path for path in lost(diff) if path not in elsewhere]


def missed_twice(look: Callable[[], Diff]) -> Diff:
    """How the whole vault differs, counting as gone only what two passes missed: a file that moves during one pass
    may be missed at both places."""
    first = set(missing(diff := look()))
    if not first:
        return diff
    diff = look()
    return without(diff, set(missing(diff)) - first)


def check_vanished(folder: str, diff: Diff) -> None:
    """Refuse a folder that lost most of its files, or is another folder with fewer than half of them or another
    marker: an unmounted drive must not empty the index, and two vaults may have the same daily notes."""
    total = len(diff.known) + len(diff.gone)
    if 2 * len(diff.known) <= total or identity.has_other_marker(folder):
        identity.check(folder)
    if diff.gone:
        refuse_if_lost(folder, len(lost(diff)), total, empty=not diff.known and not diff.put)


def check_rebuild(folder: str, rules: Rulebook, indexed: int) -> None:
    """The same check before a rebuild; `indexed` is how many notes the old index had."""
    count = sum(rules.kind(entry.path) == "note" for entry in walk(folder, []))
    if 2 * count <= indexed or identity.has_other_marker(folder):
        identity.check(folder)
    refuse_if_lost(folder, indexed - count, indexed, empty=not count)


def refuse_if_lost(folder: str, gone: int, total: int, *, empty: bool) -> None:
    """Raise VaultGoneError if too large a share of all files is gone for that to be on purpose."""
    if gone > 0 and (empty or (gone > VANISH_COUNT and gone > VANISH_SHARE * total)):
        raise VaultGoneError(
            f"{gone} of {total} files are gone from {folder}: as for them, the index was left as it is. If the "
            "drive is not mounted or still syncing, wait; if you or Git removed them, run "
            "vaultmem sync --confirm-removals"
        )


def find_moved(diff: Diff) -> set[str]:
    """The paths that are gone because their file has another path now: its inode is among the new ones."""
    inodes = {entry.inode for entry in diff.put if entry.path not in diff.known}
    return {path for path in diff.gone.values() if diff.before[path].inode in inodes}


def without(diff: Diff, paths: Iterable[str]) -> Diff:
    """The same differences without those at `paths`."""
    left_out = set(paths)
    return diff._replace(
        put=[entry for entry in diff.put if entry.path not in left_out],
        touched=[entry for entry in diff.touched if entry.path not in left_out],
        gone={file: path for file, path in diff.gone.items() if path not in left_out},
    )
