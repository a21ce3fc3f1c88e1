"""One file of the memory folder: its stat, its Git blob id, and the memory in it."""

from __future__ import annotations

import hashlib
import os
import re
import stat as modes
import sys
import uuid
from collections.abc import Callable, Mapping
from typing import NamedTuple

from vaultmem.adapter import Value
from vaultmem.core.likeness import content_hash, opening, sketch
from vaultmem.core.memory import DEFAULT_SCOPE, Memory, link_targets
from vaultmem.core.places import (
    ARCHIVE,
    ARCHIVED_NOTES,
    CATEGORIES,
    ENTRIES,
    GENERATED,
    INBOX,
    category_of,
)
from vaultmem.core.stamps import seconds
from vaultmem.store import pages
from vaultmem.store.inside import Inside
from vaultmem.store.vault import CAP, decode, reason_of, same_moment
from vaultmem.store.walk import Entry, nfc

NAMESPACE = uuid.UUID("6c1f5c0e-7e0c-5d3b-9a55-0f7d5a3f4b21")  # of ids that follow from a path
_CHUNK = 1 << 20
_BETWEEN_TAGS = re.compile(r"[,，\s]+")
_LONGEST_ID = 200
_SHORT = 30  # characters of a text that many memories may have in a property


class Stored(NamedTuple):
    """A file as it was read."""

    path: str
    size: int
    mtime_ns: int
    inode: int
    blob: bytes  # SHA-1 of "blob <size>\\0" and the bytes: what Git calls it
    style: str
    memory: Memory | None  # None: no memory, or one that cannot be read
    trouble: str | None = None

    def is_of(self, entry: Entry) -> bool:
        """Whether the file has not changed since."""
        return (self.size, self.mtime_ns, self.inode) == (entry.size, entry.mtime_ns, entry.inode)


class Reader:
    """Reads files of one memory folder; `style` tells by a path how pages are written there."""

    def __init__(self, folder: str, style: Callable[[str], str]) -> None:
        self.folder = folder
        self.style = style

    def read(self, inside: Inside, entry: Entry) -> Stored | None:
        """The file, or None when somebody was writing it meanwhile. Raises FileNotFoundError."""
        try:
            found = _content(inside.open(entry.raw), entry)
        except FileNotFoundError:
            raise
        except (OSError, ValueError) as error:
            return _stored(entry, b"", "", None, f"cannot be read: {reason_of(error)}")
        if found is None:
            return None
        blob, data = found
        if not self.may_be_memory(entry.path):
            return _stored(entry, blob, "", None)
        style = self.style(entry.path)
        text, trouble = decode(data)
        if entry.size > CAP:
            trouble = (
                f"{entry.size / 1e6:.1f} MB long, too much for a memory; move it to your notes"
            )
        page = pages.read(style, text)
        trouble = trouble or page.error
        memory = None if trouble else self._memory(entry, page)
        return _stored(entry, blob, style, memory, trouble)

    def may_be_memory(self, path: str) -> bool:
        """Whether a file at this path can be one: a note, not written by us, and no part of a conversation, no note of
        a person that was put away."""
        inner = path[len(self.folder) + 1 :]
        if not inner.lower().endswith(".md") or inner in GENERATED:
            return False
        return not inner.startswith((f"{ENTRIES}/", f"{ARCHIVED_NOTES}/"))

    def _memory(self, entry: Entry, page: pages.Page) -> Memory | None:
        inner = entry.path[len(self.folder) + 1 :]
        top = inner.partition("/")[0]
        given = _id(page.properties.get("id"))
        if given is None and top != ARCHIVE and top not in CATEGORIES:
            return None  # a person may keep other things in the memory folder
        properties = compact(page.properties)
        category = category_of(inner, properties.get("category"))
        mtime = entry.mtime_ns / 1e9
        created, updated = (seconds(properties.get(key)) for key in ("created_at", "updated_at"))
        return Memory(
            path=entry.path,
            id=given or provisional(entry.path),
            title=title_of(entry.path),
            category=sys.intern(category),
            phase=phase_of(category),
            scope=sys.intern(_scope(properties)),
            tags=_tags(properties.get("tags")),
            created=mtime if created is None else created,
            updated=mtime if updated is None else updated,
            properties=properties,
            hash=content_hash(page.content),
            opening=opening(page.content),
            sketch=sketch(page.content),
            size=len(page.content),
            archived=top == ARCHIVE,
            adopted=given is not None,
            links=link_targets(page.content) if "[[" in page.content else (),
            mtime=mtime,
        )


def provisional(path: str, number: int = 1) -> str:
    """The id that a file without one will get; another number, another id."""
    return str(uuid.uuid5(NAMESPACE, path if number == 1 else f"{path}#{number}"))


def compact(properties: Mapping[str, Value]) -> dict[str, Value]:
    """Properties of which thousands may be kept: what says the same in many memories is kept once."""
    return {sys.intern(key): _compact(value) for key, value in properties.items()}


def _compact(value: Value) -> Value:
    if isinstance(value, str):
        return sys.intern(value) if len(value) <= _SHORT else value
    if isinstance(value, list):
        return [_compact(each) for each in value]
    return value


def title_of(path: str) -> str:
    """The title of the memory at a path."""
    name = path.rpartition("/")[2]
    return name[:-3] if name[-3:].lower() == ".md" else name


def phase_of(category: str) -> str:
    """The phase of a memory in a category."""
    return "inbox" if category == INBOX else "organized"


def folded(text: str) -> str:
    """Titles and paths that are equal folded are one."""
    return nfc(text).lower()


def _stored(
    entry: Entry, blob: bytes, style: str, memory: Memory | None, trouble: str | None = None
) -> Stored:
    return Stored(entry.path, entry.size, entry.mtime_ns, entry.inode, blob, style, memory, trouble)


def _content(handle: int, entry: Entry) -> tuple[bytes, bytes] | None:
    """The blob id and the first megabytes of an open file, which is closed; None when it changes."""
    try:
        before = os.fstat(handle)
        if not modes.S_ISREG(before.st_mode):
            raise OSError(0, "not a regular file")
        if before.st_size != entry.size:
            return None
        sha = hashlib.sha1(b"blob %d\0" % before.st_size, usedforsecurity=False)
        head, length = b"", 0
        while chunk := os.read(handle, min(_CHUNK, before.st_size - length + 1)):
            sha.update(chunk)
            length += len(chunk)
            if len(head) < CAP:
                head += chunk
        quiet = length == before.st_size and same_moment(before, os.fstat(handle))
        return (sha.digest(), head[:CAP]) if quiet else None
    finally:
        os.close(handle)


def _id(given: Value) -> str | None:
    """The id in a property; a number that a person wrote counts as its digits."""
    if isinstance(given, bool) or not isinstance(given, (str, int)):
        return None
    text = str(given).strip()
    return text if text.isprintable() and 0 < len(text) <= _LONGEST_ID else None


def _scope(properties: Mapping[str, Value]) -> str:
    """As written, even where it makes no sense: what nobody can name, nobody may see."""
    given = properties.get("scope")
    return given.strip() or DEFAULT_SCOPE if isinstance(given, str) else DEFAULT_SCOPE


def _tags(given: Value) -> tuple[str, ...]:
    listed = _BETWEEN_TAGS.split(given) if isinstance(given, str) else given
    if not isinstance(listed, list):
        return ()
    names = (str(each).strip().lstrip("#") for each in listed if isinstance(each, (str, int)))
    found: dict[str, str] = {}
    for name in names:
        if name:
            found.setdefault(name.lower(), name)
    return tuple(found.values())
