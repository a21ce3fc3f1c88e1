"""One file of the memory folder: its stat, its Git blob id, and the memory in it."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import stat as modes
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from zlib import crc32

from vaultmem.adapter import Properties, Value
from vaultmem.errors import StateError
from vaultmem.light import TYPE_CHECKING, NamedTuple
from vaultmem.memories.model import DEFAULT_SCOPE, Memory, link_targets, provisional
from vaultmem.notes import pages, places
from vaultmem.notes.places import phase_of
from vaultmem.paths import keep_private, make_private
from vaultmem.text.similarity import content_hash, opening, sketch
from vaultmem.text.times import seconds
from vaultmem.text.values import lazy
from vaultmem.vault.files import CAP, Inside, decode, reason_of, same_moment
from vaultmem.vault.walk import Entry, nfc

if TYPE_CHECKING:
    from typing import Any

_CHUNK = 1 << 20
_BETWEEN_TAGS = lazy(r"[,，\s]+")
_LONGEST_ID = 200
_SHORT = 30  # longest property text that is interned


class Stored(NamedTuple):
    """A file as last read."""

    path: str
    size: int
    mtime_ns: int
    inode: int
    blob: bytes  # SHA-1 of "blob <size>\\0" and the bytes, as in Git
    style: str
    memory: Memory | None  # None: not a memory, or unreadable
    trouble: str | None = None

    def is_of(self, entry: Entry) -> bool:
        """Whether the file is unchanged since."""
        return (self.size, self.mtime_ns, self.inode) == (entry.size, entry.mtime_ns, entry.inode)


class Reader:
    """Reads files of one memory folder; `style` gives the page style at a path."""

    def __init__(self, folder: str, style: Callable[[str], str]) -> None:
        self.folder = folder
        self.style = style

    def read(self, inside: Inside, entry: Entry) -> Stored | None:
        """The file, or None if it was being written meanwhile. Raises FileNotFoundError."""
        try:
            result = _content(inside.open(entry.raw), entry)
        except FileNotFoundError:
            raise
        except (OSError, ValueError) as error:
            return Stored(*entry[:4], b"", "", None, f"cannot be read: {reason_of(error)}")
        if result is None:
            return None
        blob, data = result
        if not self.may_be_memory(entry.path):
            return Stored(*entry[:4], blob, "", None)
        style = self.style(entry.path)
        text, trouble = decode(data)
        if entry.size > CAP:
            trouble = (
                f"{entry.size / 1e6:.1f} MB long, too much for a memory; move it to your notes"
            )
        page = pages.read(style, text)
        trouble = trouble or page.error
        memory = None if trouble else self._memory(entry.path, entry.mtime_ns / 1e9, page)
        return Stored(*entry[:4], blob, style, memory, trouble)

    def parsed(self, path: str, data: bytes, mtime: float) -> Memory | None:
        """The memory in a file with these bytes, or None."""
        if not self.may_be_memory(path):
            return None
        page = pages.read(self.style(path), decode(data)[0])
        return None if page.error else self._memory(path, mtime, page)

    def may_be_memory(self, path: str) -> bool:
        """Whether a file at this path can be a memory: a note that is not a page of ours, an entry, or put away."""
        inner = path[len(self.folder) + 1 :]
        if not inner.lower().endswith(".md") or places.is_our_page(inner):
            return False
        return not inner.startswith((f"{places.ENTRIES}/", f"{places.ARCHIVED_NOTES}/"))

    def _memory(self, path: str, mtime: float, page: pages.Page) -> Memory | None:
        inner = path[len(self.folder) + 1 :]
        top = inner.partition("/")[0]
        value = readable_id(page.properties.get("id"))
        if value is None and top != places.ARCHIVE and top not in places.CATEGORIES:
            return None  # people may keep other files in the memory folder
        properties = compact(page.properties)
        category = places.category_of(inner, properties.get("category"))
        created, updated = (seconds(properties.get(key)) for key in ("created_at", "updated_at"))
        return Memory(
            path=path, id=value or provisional(path), title=title_of(path), category=sys.intern(category),
            phase=phase_of(category), scope=sys.intern(_scope(properties)), tags=tags_in(properties.get("tags")),
            created=mtime if created is None else created, updated=mtime if updated is None else updated,
            properties=properties, hash=content_hash(page.content), opening=opening(page.content),
            sketch=sketch(page.content), size=len(page.content), archived=top == places.ARCHIVE,
            adopted=value is not None, links=link_targets(page.content) if "[[" in page.content else (),
            mtime=mtime,
        )  # fmt: skip


def compact(properties: Properties) -> dict[str, Value]:
    """The properties with equal values interned, so that thousands of memories share them."""
    return {sys.intern(key): _compact(value) for key, value in properties.items()}


def _compact(value: Value) -> Value:
    if isinstance(value, str):
        return sys.intern(value) if len(value) <= _SHORT else value
    if isinstance(value, list):
        return [_compact(item) for item in value]
    return value


def title_of(path: str) -> str:
    """The title of the memory at a path."""
    name = path.rpartition("/")[2]
    return name[:-3] if name[-3:].lower() == ".md" else name


def fold(text: str) -> str:
    """The folded form of a title or path, equal for equal ones."""
    return nfc(text).lower()


def _content(handle: int, entry: Entry) -> tuple[bytes, bytes] | None:
    """The blob id and the first megabytes of an open file, which is closed; None if it changes meanwhile."""
    try:
        before = os.fstat(handle)
        if not modes.S_ISREG(before.st_mode):
            raise OSError(0, "not a regular file")
        if before.st_size != entry.size:
            return None
        import hashlib  # unchanged files are not read

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


def readable_id(raw: Value) -> str | None:
    """The id in a property; a number typed by a person counts as its digits."""
    if isinstance(raw, bool) or not isinstance(raw, (str, int)):
        return None
    text = str(raw).strip()
    return text if text.isprintable() and 0 < len(text) <= _LONGEST_ID else None


def _scope(properties: Properties) -> str:
    """The scope as written; an invalid one shows the memory to the person only."""
    value = properties.get("scope")
    return value.strip() or DEFAULT_SCOPE if isinstance(value, str) else DEFAULT_SCOPE


def tags_in(value: Value) -> tuple[str, ...]:
    """The tags in a property, without duplicates and "#"."""
    listed = _BETWEEN_TAGS.split(value) if isinstance(value, str) else value
    if not isinstance(listed, list):
        return ()
    names = (str(tag).strip().lstrip("#") for tag in listed if isinstance(tag, (str, int)))
    results: dict[str, str] = {}
    for name in names:
        if name:
            results.setdefault(name.lower(), name)
    return tuple(results.values())


# A cache of the parsed memory folder, so that the next process need not read it again.

_FORMAT = 5  # raise it when files are parsed differently
_SCHEMA = """
CREATE TABLE files (path TEXT PRIMARY KEY, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
    inode INTEGER NOT NULL, blob BLOB NOT NULL, style TEXT NOT NULL, trouble TEXT, memory TEXT)
    WITHOUT ROWID;
"""
_BUSY = 2  # seconds to wait for another process; then nothing is saved


# The fields of a memory not implied by its path or the other columns; its sketch is bytes in hex.
_FIELDS = "id category scope tags created updated properties hash opening size archived adopted links".split()


class MemoryCache:
    """The cache of one memory folder; another folder counts as another format. Never raises."""

    def __init__(self, path: str, folder: str) -> None:
        self._path = path
        self._format = crc32(f"{_FORMAT} {folder}".encode("utf-8", "replace")) >> 1

    def load(self) -> dict[str, Stored]:
        """All files as saved; {} if there is nothing usable."""
        if not os.path.exists(self._path):
            return {}
        try:
            with self._open() as db:
                return _from_rows(db.execute("SELECT * FROM files").fetchall())
        except sqlite3.OperationalError:
            return {}  # in use, or made by another version
        except (sqlite3.Error, ValueError, TypeError, AttributeError):
            self._remove()
            return {}

    def save(self, changed: Iterable[Stored], removed: Iterable[str]) -> None:
        """Store the current state of files, and drop some."""
        rows = [_row(stored) for stored in changed]
        try:
            make_private(os.path.dirname(self._path))
            with self._open() as db, db:
                db.execute("BEGIN IMMEDIATE")
                db.executemany("DELETE FROM files WHERE path = ?", [(path,) for path in removed])
                db.executemany("INSERT OR REPLACE INTO files VALUES (?,?,?,?,?,?,?,?)", rows)
        except sqlite3.OperationalError:
            return  # disk full, in use, or read-only: the files are read again next time
        except sqlite3.Error:
            self._remove()
        except (OSError, StateError):
            return

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with closing(
            sqlite3.connect(keep_private(self._path), timeout=_BUSY, isolation_level=None)
        ) as db:
            db.execute("PRAGMA synchronous = OFF")
            if db.execute("PRAGMA user_version").fetchone()[0] != self._format:
                with db:
                    db.executescript(
                        "BEGIN IMMEDIATE; DROP TABLE IF EXISTS files;"
                        f"{_SCHEMA} PRAGMA user_version = {self._format};"
                    )
            yield db

    def _remove(self) -> None:
        for ending in ("", "-journal"):
            with contextlib.suppress(OSError):
                os.remove(self._path + ending)


def _row(stored: Stored) -> tuple[object, ...]:
    memory = stored.memory
    text = None
    if memory is not None:
        fields = [memory.sketch.hex(), *(getattr(memory, name) for name in _FIELDS)]
        text = json.dumps(fields, separators=(",", ":"))
    return (*stored[:6], stored.trouble, text)


def _from_rows(rows: list[tuple[Any, ...]]) -> dict[str, Stored]:
    """The content of rows, by path; one JSON text takes half the time of many. Raises if save() did not write them."""
    memories = json.loads(f"[{','.join(row[7] or 'null' for row in rows)}]")
    results: dict[str, Stored] = {}
    for (path, size, mtime_ns, inode, blob, style, trouble, _), fields in zip(
        rows, memories, strict=True
    ):
        memory = None if fields is None else _memory(path, mtime_ns / 1e9, *fields)
        results[path] = Stored(
            path, int(size), mtime_ns, int(inode), bytes(blob), sys.intern(style), memory, trouble
        )
    return results


def _memory(path: str, mtime: float, sketched: str, *fields: Any) -> Memory:
    id_, category, scope, tags, created, updated, raw, hash_, begin, size, *others = fields
    archived, adopted, links = others
    properties = compact(raw)
    if properties.get("id") == id_:
        properties["id"] = id_  # one text instead of two
    category = sys.intern(category)
    return Memory(
        path, id_, title_of(path), category, phase_of(category), sys.intern(scope), tuple(tags), created, updated,
        properties, hash_, begin, bytes.fromhex(sketched), size, archived, adopted, tuple(links), mtime,
    )  # fmt: skip
