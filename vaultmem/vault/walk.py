"""Find the files of a vault, fast and without following anything out of it.

Every file that is not hidden is listed, notes and others (others can be linked to). What stands in
the way is reported and never stops the walk.
"""

from __future__ import annotations

import os
import stat as modes
import sys
import unicodedata

from vaultmem.errors import VaultGoneError
from vaultmem.light import TYPE_CHECKING, NamedTuple
from vaultmem.text.values import ENTRIES, RECORDS

if TYPE_CHECKING:
    from collections.abc import Iterator

_TEMPORARY = ("~", ".tmp", ".swp")  # of editors and sync programs (R-FILE-4); the rest has a dot
_SKIPPED_FOLDERS = frozenset({"node_modules"})
DEEPEST = 100  # folders inside each other; no person goes so deep, but a hostile archive may


class Entry(NamedTuple):
    """One file, as the folder listing has it."""

    path: str  # relative to the vault, "/" between, Unicode NFC
    size: int  # bytes
    mtime_ns: int
    inode: int
    raw: str  # the path as the disk spells it, relative to the vault; open files by it
    ctime_ns: int = 0  # of the inode; nobody can set it, as sync programs set the other time


class Trouble(NamedTuple):
    """Something the walk passed over. Nothing below an unlisted folder is known to be gone."""

    path: str  # printable; letters that are no UTF-8 stand as \\xNN
    reason: str
    folder: bool = False


_FOLDS_CASE = sys.platform in ("darwin", "win32")  # there a name finds files of other spellings


def walk(root: str, troubles: list[Trouble], below: str = "") -> Iterator[Entry]:
    """List the files below `root` in no particular order; what is passed over goes to `troubles`.

    `below` limits the walk to one folder of the vault. Raises VaultGoneError when the root itself
    cannot be listed.
    """
    root = root.rstrip("/")
    other_forms: list[Entry] = []  # names on disk that are not in NFC
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
    """By what the folder of a vault is known from another that takes its place, as that of a drive that is not
    mounted; None when it is not there, or holds nothing at all."""
    try:
        stat = os.stat(root)
        with os.scandir(root) as listing:
            return (stat.st_dev, stat.st_ino) if any(True for _ in listing) else None
    except OSError:
        return None


class Look:
    """Single files as walk() would list them, without walking. Remembers which folders it has seen, so
    make a new one for every batch."""

    def __init__(self, root: str) -> None:
        self._root = root.rstrip("/")
        self._folders: dict[str, bool] = {"": True}

    def at(self, raw: str) -> Entry | None:
        """The file at a path, or None when walk() would not list one there."""
        folder, _, name = raw.rpartition("/")
        if is_temporary(name) or not is_utf8(raw) or not self.has_folder(folder):
            return None
        if _FOLDS_CASE or not name.isascii():
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
        """Whether this is a folder of the vault: there, not hidden, and not behind a link."""
        known = self._folders.get(raw)
        if known is None:
            above, _, name = raw.rpartition("/")
            known = (
                (name[:1] != "." or not is_hidden(raw))
                and name not in _SKIPPED_FOLDERS
                and is_utf8(name)
                and raw.count("/") < DEEPEST
                and self.has_folder(above)
                and _is_real_folder(f"{self._root}/{raw}")
            )
            self._folders[raw] = known
        return known

    def _spelling(self, folder: str, name: str) -> str | None:
        """Of the names in a folder that are one in NFC, the one that counts, see _apart()."""
        wanted = nfc(name)
        if not _FOLDS_CASE and os.path.lexists(f"{self._root}/{folder}/{wanted}"):
            return wanted
        try:
            names = os.listdir(f"{self._root}/{folder}")
        except OSError:
            return None
        if wanted in names:
            return wanted
        return min((one for one in names if is_utf8(one) and nfc(one) == wanted), default=None)


def _is_real_folder(full: str) -> bool:
    try:
        return modes.S_ISDIR(os.lstat(full).st_mode)
    except (OSError, ValueError):
        return False


def without_records(path: str) -> str:
    """A path without the folder of a conversation's records, which editors do not see and we do."""
    before, mark, rest = path.partition(f"/{RECORDS}")
    if (
        not mark
        or rest[:1] not in ("", "/")
        or before.rpartition("/")[0].rpartition("/")[2] != ENTRIES
    ):
        return path
    return before + rest


def is_hidden(path: str) -> bool:
    """Whether it lies in a folder, or is one, that is hidden from editors and from us."""
    return "/." in f"/{without_records(path)}"


def is_temporary(name: str) -> bool:
    """Whether a file name is one that editors and sync programs use for a moment."""
    return name.endswith(_TEMPORARY) or name.startswith(".")


def _list(root: str, folder: str, folders: list[str], troubles: list[Trouble]) -> list[Entry]:
    """The files of one folder; its folders are put onto `folders`."""
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
        if not isinstance(error, FileNotFoundError):  # else gone since its parent was listed
            reason = f"cannot be listed: {error.strerror}"
            troubles.append(Trouble(nfc(folder), reason, folder=True))
    return entries


def _take_other(
    item: os.DirEntry[str], raw: str, folders: list[str], troubles: list[Trouble]
) -> None:
    """A folder, a link or something odd."""
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
        troubles.append(Trouble(nfc(raw), f"cannot be looked at: {error.strerror}"))
        return
    path = raw if raw.isascii() else nfc(raw)
    entries.append(_entry(path, raw, stat))


def _entry(path: str, raw: str, stat: os.stat_result) -> Entry:
    mtime, inode, ctime = map(small, (stat.st_mtime_ns, stat.st_ino, stat.st_ctime_ns))
    return Entry(path, stat.st_size, mtime, inode, raw, ctime)


def _apart(root: str, entries: list[Entry], troubles: list[Trouble]) -> Iterator[Entry]:
    """Of several files whose names are one in NFC, only one: the one in NFC, else the first."""
    taken: set[str] = set()
    for entry in sorted(entries, key=lambda entry: entry.raw):
        if entry.path in taken or _is_other_file(f"{root}/{entry.path}", entry.inode):
            reason = "another file has the same name in another spelling of its accents"
            troubles.append(Trouble(entry.path, f"{reason} ({entry.raw!a}); rename one"))
        else:
            taken.add(entry.path)
            yield entry


def _is_other_file(path: str, inode: int) -> bool:
    """Whether a file of that spelling is there too (on macOS it is the same file)."""
    try:
        return os.lstat(path).st_ino != inode
    except OSError:
        return False


def small(number: int) -> int:
    """A time or an inode as a signed 64-bit number, which is all that SQLite can hold: a file may be
    dated to the year 2300, and some network drives use all 64 bits for inodes."""
    return (number + 2**63) % 2**64 - 2**63


def nfc(text: str) -> str:
    """The form of names in all of vaultmem."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def has_one_spelling(text: str) -> bool:
    """Whether no letter of it can be written as several, as "é" can be "e" and an accent: then no name of the disk
    is this one in other bytes, and nobody has to list a folder to find it."""
    return text.isascii() or unicodedata.normalize("NFD", text) == text


def printable(raw: str) -> str:
    """A name from the disk that can be shown and stored, whatever its bytes."""
    return os.fsencode(raw).decode("utf-8", "backslashreplace")


def is_utf8(name: str) -> bool:
    """Whether a name from the disk, or a path, is text."""
    if name.isascii():
        return True
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
