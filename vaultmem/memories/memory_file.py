"""One file of the memory folder: its stat, its Git blob id, and the memory in it."""

from __future__ import annotations

import contextlib
import json
import os
import stat as modes
import sys
from collections.abc import Callable, Collection, Container, Iterable, Mapping

from vaultmem.adapter import Properties, Value
from vaultmem.errors import StateError
from vaultmem.light import NamedTuple
from vaultmem.memories.model import DEFAULT_SCOPE, Memory, link_targets, provisional
from vaultmem.notes import pages, places
from vaultmem.notes.places import phase_of
from vaultmem.paths import make_private, replace_private
from vaultmem.text.similarity import content_hash, opening, sketch
from vaultmem.text.times import seconds
from vaultmem.text.values import lazy
from vaultmem.vault.files import CAP, Inside, decode, reason_of, same_moment
from vaultmem.vault.walk import Entry, nfc

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

_FORMAT = 8  # raise it when files are parsed differently
_MOST_ADDED = 4  # one part in this many of the file; then it is written again


class MemoryCache:
    """The cache of one memory folder; another folder counts as another format. Never raises.

    The first line has all files; each that follows has a file that changed later, or only the path of one that is gone.
    """

    def __init__(self, path: str, folder: str) -> None:
        self._path, self._format = path, [_FORMAT, folder]
        self._first = 0  # length of the first line

    def load(self) -> dict[str, Stored]:
        """All files as saved; {} if there is nothing usable."""
        try:
            with open(self._path, encoding="utf-8") as file:
                first, *added = file.read().split("\n")
            stored, rows = json.loads(first)
            for line in added:
                with contextlib.suppress(ValueError):  # half a line of a process that was killed
                    rows.append(json.loads(line))
            if stored != self._format:
                return {}
            files = {row[0]: row for row in rows}
            results = {path: _stored(row) for path, row in files.items() if len(row) > 1}
        except (OSError, ValueError, TypeError, AttributeError, KeyError, IndexError):
            return {}  # there is none, or it is damaged
        self._first = len(first)
        return results

    def save(
        self, files: Mapping[str, Stored], changed: Collection[str], but: Container[str]
    ) -> None:
        """Store the state of the `changed` files, or of all `but` some. If that fails, they are read again next
        time."""
        are_few = len(changed) * _MOST_ADDED <= len(files)
        lines = [_json(files.get(path, [path])) for path in changed] if are_few else []
        with contextlib.suppress(OSError, StateError):
            if not (are_few and self._add("\n".join(["", *lines]))):
                every = [file for path, file in files.items() if path not in but]
                text = _json([self._format, every])
                make_private(os.path.dirname(self._path))
                replace_private(self._path, text)
                self._first = len(text)

    def _add(self, text: str) -> bool:
        """Append lines, if there are few compared with the first."""
        try:
            handle = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        with open(handle, "a", encoding="utf-8") as file:
            is_little = (file.tell() + len(text) - self._first) * _MOST_ADDED <= self._first
            if is_little:
                file.write(text)
        return is_little


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), default=bytes.hex)


def _stored(row: Iterable[object]) -> Stored:
    *stat, blob, style, memory, trouble = row
    known = _memory(memory) if isinstance(memory, list) else None
    return Stored._make((*stat, bytes.fromhex(str(blob)), sys.intern(str(style)), known, trouble))


def _memory(row: Iterable[object]) -> Memory:
    memory = Memory._make(row)
    changed = {
        "category": sys.intern(memory.category), "phase": sys.intern(memory.phase), "scope": sys.intern(memory.scope),
        "tags": tuple(memory.tags), "properties": compact(memory.properties),
        "sketch": bytes.fromhex(str(memory.sketch)), "links": tuple(memory.links),
    }  # fmt: skip
    return Memory._make((memory._asdict() | changed).values())
