"""Lists the files of a vault, fast and without leaving it.

Every file that is not hidden is listed, notes and others (which can be linked to). Problems are reported and never
stop the walk.
"""

from __future__ import annotations

import os
import stat as modes
import unicodedata

from vaultmem.errors import VaultGoneError
from vaultmem.light import TYPE_CHECKING, NamedTuple
from vaultmem.text.values import ENTRIES, RECORDS

if TYPE_CHECKING:
    from collections.abc import Iterator

_TEMPORARY = ("~", ".tmp", ".swp")  # of editors and sync programs (R-FILE-4); the rest has a dot
_SKIPPED_FOLDERS = frozenset({"node_modules"})
DEEPEST = 100  # nested folders; no person nests deeper, but a hostile archive may


class Entry(NamedTuple):
    """One file of a folder listing."""

    path: str  # relative to the vault, with "/", Unicode NFC
    size: int  # bytes
    mtime_ns: int
    inode: int
    raw: str  # the path as spelled on disk, relative to the vault; open files by it
    ctime_ns: int = 0  # unlike mtime, sync programs cannot set it


class Trouble(NamedTuple):
    """Something that the walk skipped. Files below a folder that could not be listed do not count as removed."""

    path: str  # printable; bytes that are not UTF-8 are written as \\xNN
    reason: str
    folder: bool = False


def walk(root: str, troubles: list[Trouble], below: str = "") -> Iterator[Entry]:
    """Yield the files below `root` in no particular order; skipped ones are added to `troubles`.

    `below` limits the walk to one folder of the vault. Raises VaultGoneError when the root itself
    cannot be listed.
    """
    root = root.rstrip("/")
    other_forms: list[Entry] = []  # names on disk that are not NFC
    folders = [below]
    while folders:
        folder = folders.pop()
        for entry in _list(root, folder, folders, troubles):
            if entry.path == entry.raw:
                yield entry
            else:
                other_forms.append(entry)
    yield from _apart(root, other_forms, troubles)


def identity(root: str) -> tuple[int, int] | None:
    """The device and inode that identify the folder of a vault; None when it does not exist or is empty, as the mount
    point of an unmounted drive is."""
    try:
        stat = os.stat(root)
        with os.scandir(root) as listing:
            return (stat.st_dev, stat.st_ino) if any(True for _ in listing) else None
    except OSError:
        return None


class FileLookup:
    """Looks up single files as walk() would list them, without walking. Caches the folders it has seen, so create one
    per batch."""

    def __init__(self, root: str) -> None:
        self._root = root.rstrip("/")
        self._folders: dict[str, bool] = {"": True}
        self._spellings: dict[str, dict[str, str]] = {}  # by folder

    def at(self, raw: str) -> Entry | None:
        """The file at a path; None when walk() would not list one there."""
        folder, _, name = raw.rpartition("/")
        if is_temporary(name) or not is_utf8(raw) or not self.has_folder(folder):
            return None
        spelled = self._spelling(folder, name)
        if spelled is None:
            return None
        raw = f"{folder}/{spelled}" if folder else spelled
        try:
            stat = os.lstat(f"{self._root}/{raw}")
        except OSError:
            return None
        if not modes.S_ISREG(stat.st_mode):
            return None
        return _entry(nfc(raw), raw, stat)

    def has_folder(self, raw: str) -> bool:
        """Whether this is a folder of the vault: existing, not hidden, and not behind a link."""
        exists = self._folders.get(raw)
        if exists is None:
            above, _, name = raw.rpartition("/")
            exists = (
                (name[:1] != "." or not is_hidden(raw))
                and name not in _SKIPPED_FOLDERS
                and is_utf8(name)
                and raw.count("/") < DEEPEST
                and self.has_folder(above)
                and _is_real_folder(f"{self._root}/{raw}")
                and self._spelling(above, name) is not None
            )
            self._folders[raw] = exists
        return exists

    def _spelling(self, folder: str, name: str) -> str | None:
        """The name that counts among those in a folder with the same NFC form, see _apart(); None if there is none, or
        only one in other letters, as on a disk that ignores case."""
        full, composed, swapped = f"{self._root}/{folder}", nfc(name), _swapped(name)
        ignores_case = swapped != name and os.path.lexists(f"{full}/{swapped}")
        if not ignores_case and (name.isascii() or os.path.lexists(f"{full}/{composed}")):
            return composed
        if folder not in self._spellings:
            self._spellings[folder] = spellings(full)
        return self._spellings[folder].get(composed)


def _swapped(name: str) -> str:
    """The name in the other case. Disks differ in the letters whose case they ignore (few take "SS" for "ß"), but not
    in those of ASCII: if it has any, only these are swapped."""
    swapped = "".join(letter.swapcase() if letter.isascii() else letter for letter in name)
    return name.swapcase() if swapped == name else swapped


def spellings(full: str) -> dict[str, str]:
    """The names in a folder by their NFC forms: the composed one, else the first."""
    try:
        names = os.listdir(full)
    except OSError:
        return {}
    found = {nfc(name): name for name in sorted(names, reverse=True) if is_utf8(name)}
    return found | {name: name for name in names if name in found}


def _is_real_folder(full: str) -> bool:
    try:
        return modes.S_ISDIR(os.lstat(full).st_mode)
    except (OSError, ValueError):
        return False


def without_records(path: str) -> str:
    """A path without the folder of a conversation's records, which is hidden from editors but not from us."""
    before, mark, rest = path.partition(f"/{RECORDS}")
    if (
        not mark
        or rest[:1] not in ("", "/")
        or before.rpartition("/")[0].rpartition("/")[2] != ENTRIES
    ):
        return path
    return before + rest


def is_hidden(path: str) -> bool:
    """Whether a path is or is in a folder that is hidden from editors and from us."""
    return "/." in f"/{without_records(path)}"


def is_temporary(name: str) -> bool:
    """Whether a file name is a temporary one of editors and sync programs."""
    return name.endswith(_TEMPORARY) or name.startswith(".")


def _list(root: str, folder: str, folders: list[str], troubles: list[Trouble]) -> list[Entry]:
    """The files of one folder; its subfolders are added to `folders`."""
    entries: list[Entry] = []
    prefix = folder + "/" if folder else ""
    try:
        with os.scandir(f"{root}/{folder}") as listing:
            for item in listing:
                name = item.name
                if name[0] == "." and is_hidden(prefix + name):
                    continue
                if not name.isascii() and not is_utf8(name):
                    troubles.append(Trouble(printable(prefix + name), "its name is not UTF-8"))
                elif item.is_file(follow_symlinks=False):
                    if not name.endswith(_TEMPORARY):
                        _take(item, prefix + name, entries, troubles)
                else:
                    _take_other(item, prefix + name, folders, troubles)
    except OSError as error:
        if not folder:
            raise VaultGoneError(f"the vault {root} cannot be read: {error.strerror}") from error
        if not isinstance(error, FileNotFoundError):  # otherwise gone since its parent was listed
            reason = f"cannot be listed: {error.strerror}"
            troubles.append(Trouble(nfc(folder), reason, folder=True))
    return entries


def _take_other(
    item: os.DirEntry[str], raw: str, folders: list[str], troubles: list[Trouble]
) -> None:
    """Handle a directory entry that is not a regular file."""
    if item.is_dir(follow_symlinks=False):
        if raw.count("/") >= DEEPEST:
            troubles.append(Trouble(nfc(raw), "too deep; nothing below it is read", folder=True))
        elif item.name not in _SKIPPED_FOLDERS:
            folders.append(raw)
        return
    reason = "a symbolic link" if item.is_symlink() else "not a regular file"
    troubles.append(Trouble(nfc(raw), f"{reason}; it is not read"))


def _take(item: os.DirEntry[str], raw: str, entries: list[Entry], troubles: list[Trouble]) -> None:
    try:
        stat = item.stat(follow_symlinks=False)
    except FileNotFoundError:
        return
    except OSError as error:
        troubles.append(Trouble(nfc(raw), f"cannot be examined: {error.strerror}"))
        return
    path = raw if raw.isascii() else nfc(raw)
    entries.append(_entry(path, raw, stat))


def _entry(path: str, raw: str, stat: os.stat_result) -> Entry:
    mtime, inode, ctime = map(sqlite_int, (stat.st_mtime_ns, stat.st_ino, stat.st_ctime_ns))
    return Entry(path, stat.st_size, mtime, inode, raw, ctime)


def _apart(root: str, entries: list[Entry], troubles: list[Trouble]) -> Iterator[Entry]:
    """Yield the entries without duplicates in NFC: of several, the name in NFC, else the first."""
    taken: set[str] = set()
    for entry in sorted(entries, key=lambda entry: entry.raw):
        if entry.path in taken or _is_other_file(f"{root}/{entry.path}", entry.inode):
            reason = "another file has the same name with differently encoded accents"
            troubles.append(Trouble(entry.path, f"{reason} ({entry.raw!a}); rename one"))
        else:
            taken.add(entry.path)
            yield entry


def _is_other_file(path: str, inode: int) -> bool:
    """Whether another file exists under that spelling (on macOS it is the same file)."""
    try:
        return os.lstat(path).st_ino != inode
    except OSError:
        return False


def sqlite_int(number: int) -> int:
    """A time or an inode as a signed 64-bit number for SQLite: a file may be dated beyond the year 2262, and some
    network drives use all 64 bits for inodes."""
    return (number + 2**63) % 2**64 - 2**63


def nfc(text: str) -> str:
    """The Unicode form of names that vaultmem uses."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def has_one_spelling(text: str) -> bool:
    """Whether a text has no other Unicode form (unlike "é", which is also "e" with an accent): then no file on disk
    has this name in other bytes, and the folder need not be listed to find it."""
    return text.isascii() or unicodedata.normalize("NFD", text) == text


def printable(raw: str) -> str:
    """A name from disk in a form that can be displayed and stored, whatever its bytes."""
    return os.fsencode(raw).decode("utf-8", "backslashreplace")


def is_utf8(name: str) -> bool:
    """Whether a name or path from disk is valid UTF-8."""
    if name.isascii():
        return True
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
