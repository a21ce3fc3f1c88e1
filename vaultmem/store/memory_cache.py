"""What was read of the memory folder, so that the next process need not read it again.

<state>/memories.db, SQLite. Derived: it may be deleted at any time, and where it cannot be read or written
all files are read instead.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from typing import NamedTuple

from vaultmem.adapter import Value
from vaultmem.core.memory import Memory
from vaultmem.errors import StateError
from vaultmem.paths import keep_private, make_private
from vaultmem.store.memory_file import Stored, compact, phase_of, title_of

_FORMAT = 2  # raise it when the same file would be read differently
_SCHEMA = """
CREATE TABLE files (path TEXT PRIMARY KEY, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
    inode INTEGER NOT NULL, blob BLOB NOT NULL, style TEXT NOT NULL, trouble TEXT, memory TEXT, sketch BLOB)
    WITHOUT ROWID;
CREATE TABLE folder (path TEXT NOT NULL);
"""
_BUSY = 2  # seconds to wait for another process; then nothing is kept this time


class _DamagedError(Exception):
    """The file is not what save() wrote."""


class _Facts(NamedTuple):
    """A memory as JSON, without what follows from its path and the columns beside it."""

    id: str
    category: str
    scope: str
    tags: list[str]
    created: float
    updated: float
    properties: dict[str, Value]
    hash: str
    opening: str
    size: int
    archived: bool
    adopted: bool
    links: list[str]


class MemoryCache:
    """The cache of one memory folder. Never raises."""

    def __init__(self, path: str, folder: str) -> None:
        self._path = path
        self._folder = folder

    def load(self) -> dict[str, Stored]:
        """All files as they were saved; {} where there is nothing usable."""
        if not os.path.exists(self._path):
            return {}
        try:
            with self._open() as db:
                return {row[0]: _stored(row) for row in db.execute("SELECT * FROM files")}
        except sqlite3.OperationalError:
            return {}  # in use, or made by another version
        except (sqlite3.Error, _DamagedError, ValueError, TypeError, KeyError):
            self._remove()
            return {}

    def save(self, changed: Iterable[Stored], gone: Iterable[str]) -> None:
        """Keep files as they are now, and forget some."""
        rows = [_row(stored) for stored in changed]
        try:
            make_private(os.path.dirname(self._path))
            with self._open() as db, db:
                db.execute("BEGIN IMMEDIATE")
                db.executemany("DELETE FROM files WHERE path = ?", [(path,) for path in gone])
                db.executemany("INSERT OR REPLACE INTO files VALUES (?,?,?,?,?,?,?,?,?)", rows)
        except sqlite3.OperationalError:
            return  # no room, in use, read-only: the files are read again next time
        except (sqlite3.Error, _DamagedError):
            self._remove()
        except (OSError, StateError):
            return

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with closing(
            sqlite3.connect(keep_private(self._path), timeout=_BUSY, isolation_level=None)
        ) as db:
            db.execute("PRAGMA synchronous = OFF")
            if db.execute("PRAGMA user_version").fetchone()[0] != _FORMAT:
                self._begin(db)
            if db.execute("SELECT path FROM folder").fetchall() != [(self._folder,)]:
                with db:
                    db.executescript("BEGIN IMMEDIATE; DELETE FROM files; DELETE FROM folder;")
                    db.execute("INSERT INTO folder VALUES (?)", (self._folder,))
            yield db

    def _begin(self, db: sqlite3.Connection) -> None:
        """Make the tables anew, whatever was there."""
        with db:
            db.executescript(
                "BEGIN IMMEDIATE; DROP TABLE IF EXISTS files; DROP TABLE IF EXISTS folder;"
                f"{_SCHEMA} PRAGMA user_version = {_FORMAT};"
            )

    def _remove(self) -> None:
        for ending in ("", "-journal"):
            with contextlib.suppress(OSError):
                os.remove(self._path + ending)


def _row(stored: Stored) -> tuple[object, ...]:
    memory = stored.memory
    told = picture = None
    if memory is not None:
        facts = [getattr(memory, name) for name in _Facts._fields]
        told, picture = json.dumps(facts, separators=(",", ":")), bytes(memory.sketch)
    return (*stored[:6], stored.trouble, told, picture)


def _stored(row: tuple[object, ...]) -> Stored:
    path, size, mtime_ns, inode, blob, style, trouble, told, picture = row
    if not (
        isinstance(path, str)
        and isinstance(size, int)
        and isinstance(mtime_ns, int)
        and isinstance(inode, int)
        and isinstance(blob, bytes)
    ):
        raise _DamagedError
    memory = None
    if isinstance(told, str) and isinstance(picture, bytes):
        memory = _memory(path, mtime_ns / 1e9, _Facts(*json.loads(told)), picture)
    said = trouble if isinstance(trouble, str) else None
    return Stored(path, size, mtime_ns, inode, blob, sys.intern(str(style)), memory, said)


def _memory(path: str, mtime: float, facts: _Facts, picture: bytes) -> Memory:
    properties = compact(facts.properties)
    if properties.get("id") == facts.id:
        properties["id"] = facts.id  # one text instead of two
    return Memory(
        path=path,
        id=facts.id,
        title=title_of(path),
        category=sys.intern(facts.category),
        phase=phase_of(facts.category),
        scope=sys.intern(facts.scope),
        tags=tuple(facts.tags),
        created=facts.created,
        updated=facts.updated,
        properties=properties,
        hash=facts.hash,
        opening=facts.opening,
        sketch=tuple(picture),
        size=facts.size,
        archived=facts.archived,
        adopted=facts.adopted,
        links=tuple(facts.links),
        mtime=mtime,
    )
