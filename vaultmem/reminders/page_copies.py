"""Copies that sync programs leave beside a page of ours, and the archive to which they go when they were read."""

from __future__ import annotations

import codecs
import itertools
import json
import os
import re
from typing import NamedTuple

from vaultmem.errors import NoteChangedError, VaultmemError
from vaultmem.index import catalog_read
from vaultmem.index.catalog import NOTES_BELOW, Catalog, below
from vaultmem.reminders import pending_page
from vaultmem.reminders.pending_merge import read
from vaultmem.reminders.pending_page import item_id
from vaultmem.vault import files
from vaultmem.vault.conflicts import Places, conflict_original, conflicts, doubtful
from vaultmem.vault.frontmatter import PLACEHOLDER
from vaultmem.vault.moves import move, new_place, refuse_links, rename_to_free
from vaultmem.vault.places import ARCHIVE, GENERATED
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
    there = [f"{folder}/{each}" if folder else each for each in alike]
    places = Places({*there, path})
    sure = conflicts(places)
    found = {copy for copy, original in [*sure.items(), *doubtful(places)] if original == path}
    found |= {copy for copy in there if conflict_original(copy) == path}
    return sorted(each for each in found if each != path and _is_file(f"{vault}/{each}"))


def put_away(vault: str, path: str, folder: str) -> str:
    """Move a file or folder into the archive of the memory folder; where it is then."""
    for target in _free_names(path, folder):
        refuse_links(vault, target)
        if os.path.lexists(f"{vault}/{target}"):
            continue
        try:
            _move(vault, path, target)
        except NoteChangedError:
            continue
        return target
    raise VaultmemError(f"{folder}/{ARCHIVE} has no place for {path}")


def _move(vault: str, path: str, target: str) -> None:
    full = f"{vault}/{path}"
    if not os.path.isdir(full):
        move(vault, path, target)
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


# The bytes of a page of pending items as text, whatever was done to them, and back.

_HEAD = 8_192  # characters in which the mark is looked for
_ID = re.compile(r"\^vm-|vm-id::", re.IGNORECASE)
_FENCE = re.compile(r" {0,3}(?:```|~~~)")
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)


def as_text(data: bytes) -> tuple[str, bool]:
    """The text, and whether all of the bytes can be had back from it; a wrong letter stays what it was."""
    if data.startswith(_WIDE):
        return files.decode(data)[0].replace("\0", "").replace("\ufffd", ""), False
    text = data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape")
    plain = text.replace("\0", "")
    return plain, plain == text or is_blank(plain)


def as_bytes(text: str) -> bytes:
    """The bytes of a text that as_text() has given."""
    return text.encode("utf-8", "surrogateescape")


def is_blank(text: str) -> bool:
    """Whether nothing is there, as sync programs and power cuts leave it."""
    return not text.strip("\ufeff\0 \t\r\n")


def _is_marked(head: str) -> bool:
    """Whether the mark is a line of the page, and not an example of one in a note that tells of such pages."""
    fence = False
    for line in pending_page.lines_of(head):
        if _FENCE.match(line):
            fence = not fence
        elif not fence and pending_page.is_mark(line):
            return True
    return False


def is_ours(text: str, style: str) -> bool:
    """Whether it is a page of ours, even a damaged one, and not a note that a person has given its name."""
    if is_blank(text) or _is_marked(text[:_HEAD]):
        return True
    if not _ID.search(text):
        return False
    lines = pending_page.lines_of(text)
    return any(map(pending_page.is_ours, lines)) and any(one.id for one in read(text, style).found)


# Files that a person should look at: sync conflict copies, notes that cannot be read, notes that no job minds.

STRAY = "is in no folder of a category, and is left alone"
_STRAYS = f"""SELECT f.path, n.properties {NOTES_BELOW}
    AND instr(substr(f.path, ?), '/') = 0 ORDER BY f.path"""


class Told(NamedTuple):
    """What there is to say of a file."""

    id: str  # of the item
    said: str
    path: str

    @property
    def name(self) -> str:
        """What a link calls it."""
        name = self.path.rpartition("/")[2]
        return name[:-3] if name.lower().endswith(".md") else name


def copies(catalog: Catalog, folder: str, page: str) -> list[Told]:
    """Sync conflict copies, but for those of our own pages, which are read and put away by themselves."""
    ours = {page, *(f"{folder}/{name}" for name in GENERATED)}
    found = []
    for path, original in catalog_read.conflict_pairs(catalog):
        if (original or conflict_original(path)) in ours:
            continue
        said = f"of {original}" if original else "; its original is gone"
        said = f"a sync conflict copy{' ' if original else ''}{said}"
        found.append(Told(item_id(path, "conflict copy"), said, path))
    return found


def unreadable(catalog: Catalog) -> list[Told]:
    """Notes that cannot be read, or not wholly."""
    return [
        Told(item_id(path, "unreadable"), f"{path}: {reason}", path)
        for path, reason in catalog_read.troubles(catalog)
        if PLACEHOLDER not in reason  # on purpose, and no work for anybody
    ]


def strays(catalog: Catalog, folder: str) -> list[Told]:
    """Notes that lie in the memory folder itself and have no id: no job minds them."""
    given = (*below(folder), len(folder) + 2)
    rows = catalog.db.execute(_STRAYS, given).fetchall()
    paths = [path for path, properties in rows if not json.loads(properties or "{}").get("id")]
    return [Told(item_id(path, "stray"), STRAY, path) for path in paths]
