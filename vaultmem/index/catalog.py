"""The catalog: SQLite tables of notes, blocks, links, tags, tasks and troubles (owner of sqlite3).

Derived and deletable: there are no migrations; another FORMAT means a rebuild. `dirty` lists the notes whose blocks
in the keyword index may be behind, `stale` the link keys to be resolved again; both are written in the same
transaction as the change that causes them, so a kill loses nothing. `changes` lists the notes written or removed
last, for caches over all notes, and `moved` the links that led to files now gone, with the path that has their
content now. A rebuild clears these two.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from vaultmem.errors import NO_ROOM, DamagedError, NoRoomError, StateError
from vaultmem.paths import blake2b, keep_private, stamp
from vaultmem.text.values import TYPE_CHECKING, OnError

if TYPE_CHECKING:
    import sqlite3

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE files (id INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL UNIQUE, kind TEXT NOT NULL,
    size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, inode INTEGER NOT NULL, raw TEXT, hash BLOB,
    racy INTEGER NOT NULL, ctime_ns INTEGER NOT NULL);
CREATE TABLE notes (id INTEGER PRIMARY KEY, dialect TEXT NOT NULL, title TEXT NOT NULL, day TEXT, category TEXT,
    excluded INTEGER NOT NULL, template INTEGER NOT NULL, journal TEXT, namespace TEXT, error TEXT, properties TEXT,
    anchors TEXT);
CREATE TABLE blocks (note INTEGER NOT NULL, ordinal INTEGER NOT NULL, line INTEGER NOT NULL, end_line INTEGER NOT NULL,
    headings TEXT, label TEXT, hash BLOB NOT NULL, size INTEGER NOT NULL,
    other INTEGER NOT NULL, PRIMARY KEY (note, ordinal)) WITHOUT ROWID;
CREATE TABLE links (source INTEGER NOT NULL, ordinal INTEGER NOT NULL, kind TEXT NOT NULL, path TEXT NOT NULL,
    subpath TEXT, display TEXT, line INTEGER NOT NULL, key TEXT NOT NULL, target INTEGER, choices INTEGER NOT NULL,
    PRIMARY KEY (source, ordinal)) WITHOUT ROWID;
CREATE TABLE names (name TEXT NOT NULL, file INTEGER NOT NULL, PRIMARY KEY (name, file)) WITHOUT ROWID;
CREATE TABLE tags (folded TEXT NOT NULL, note INTEGER NOT NULL, tag TEXT NOT NULL,
    PRIMARY KEY (folded, note)) WITHOUT ROWID;
CREATE TABLE aliases (folded TEXT NOT NULL, note INTEGER NOT NULL, alias TEXT NOT NULL,
    PRIMARY KEY (folded, note)) WITHOUT ROWID;
CREATE TABLE tasks (note INTEGER NOT NULL, line INTEGER NOT NULL, is_task INTEGER NOT NULL, open INTEGER NOT NULL,
    dated TEXT, task TEXT NOT NULL, PRIMARY KEY (note, line)) WITHOUT ROWID;
CREATE TABLE conflicts (copy INTEGER PRIMARY KEY, original INTEGER);
CREATE TABLE troubles (path TEXT NOT NULL, walked INTEGER NOT NULL, reason TEXT NOT NULL,
    PRIMARY KEY (path, walked)) WITHOUT ROWID;
CREATE TABLE changes (seq INTEGER PRIMARY KEY AUTOINCREMENT, note INTEGER NOT NULL);
CREATE TRIGGER note_written AFTER INSERT ON notes BEGIN INSERT INTO changes (note) VALUES (new.id);
    DELETE FROM changes WHERE seq <= last_insert_rowid() - 10000; END;
CREATE TRIGGER note_removed AFTER DELETE ON notes BEGIN INSERT INTO changes (note) VALUES (old.id);
    DELETE FROM changes WHERE seq <= last_insert_rowid() - 10000; END;
CREATE TABLE moved (link TEXT PRIMARY KEY, hash BLOB NOT NULL, path TEXT) WITHOUT ROWID;
CREATE TABLE dirty (note INTEGER PRIMARY KEY);
CREATE TABLE stale (key TEXT PRIMARY KEY) WITHOUT ROWID;
"""
# Created after the first reading: faster, and packed.
_INDEXES = """CREATE INDEX IF NOT EXISTS links_key ON links (key);
CREATE INDEX IF NOT EXISTS links_target ON links (target) WHERE target IS NOT NULL;
CREATE INDEX IF NOT EXISTS names_file ON names (file);
CREATE INDEX IF NOT EXISTS tags_note ON tags (note);
CREATE INDEX IF NOT EXISTS templates ON notes (id) WHERE template = 1;
CREATE INDEX IF NOT EXISTS aliases_note ON aliases (note);
"""
# Another schema means another format, which SQLite keeps as a number of 31 bits.
FORMAT = int.from_bytes(blake2b((_SCHEMA + _INDEXES).encode(), digest_size=4).digest()) >> 1
_NOTE_TABLES = (("notes", "id"), ("blocks", "note"), ("links", "source"), ("tags", "note"),
                ("aliases", "note"), ("tasks", "note"), ("names", "file"), ("conflicts", "copy"))  # fmt: skip
# The notes below a folder, for queries; and without sync conflict copies.
ALL_BELOW = """FROM files f JOIN notes n ON n.id = f.id LEFT JOIN conflicts c ON c.copy = n.id
    WHERE f.path >= ? AND f.path < ?"""
NOTES_BELOW = f"{ALL_BELOW} AND c.copy IS NULL"

# A task (t) of a conflict copy that its original also has, open or done: the original counts.
COPIED = """(t.is_task = 1 AND (t.note, json_extract(t.task, '$.text')) IN
    (SELECT c.copy, json_extract(o.task, '$.text') FROM conflicts c JOIN tasks o ON o.note = c.original
    WHERE o.is_task = 1))"""


def below(folder: str) -> tuple[str, str]:
    """The range of paths below a folder, as bounds."""
    return f"{folder}/", f"{folder}0"


def like(text: str) -> str:
    r"""A text escaped for a pattern of LIKE … ESCAPE '\'."""
    return "".join(f"\\{c}" if c in "%_\\" else c for c in text)


def among(column: str, numbers: Iterable[int] | None) -> tuple[str, list[str]]:
    """An SQL condition that a column has one of these numbers, and its value; none for None."""
    if numbers is None:
        return "", []
    return f"AND {column} IN (SELECT value FROM json_each(?))", [json.dumps(list(numbers))]  # noqa: S608 - own names


READER_CACHE = 512  # KB; with half as much, a search reads most of its pages from the file
_opened = itertools.count()


class Catalog:
    """One open catalog. Readers and one writer may be open at once, in any number of processes."""

    def __init__(self, path: str, *, create: bool = False) -> None:
        fresh = not os.path.exists(path)
        if fresh and not create:
            raise StateError(f"the index is missing ({path}); run vaultmem sync to make it")
        self.path = path
        self._frozen: object = None  # the file's stat, if it cannot be read as usual
        self.db = _connect(keep_private(path))
        if not create:
            self._see_whether_it_can_be_read()
        self.db.execute("PRAGMA synchronous = NORMAL")
        self.db.execute("PRAGMA temp_store = MEMORY")
        if not create:  # an agent has several open, and the system caches what they read
            self.db.execute(f"PRAGMA cache_size = -{READER_CACHE}")
        self.db.create_function("fold", 1, _fold, deterministic=True)  # lower() knows only ASCII
        if fresh:
            self.db.execute("PRAGMA journal_mode = WAL")
            self.db.executescript(f"BEGIN; {_SCHEMA} PRAGMA user_version = {FORMAT}; COMMIT;")
        self._check_format()
        self._inode = os.stat(path).st_ino
        self._number = next(_opened)

    def _check_format(self) -> None:
        """Raise DamagedError for a file without our tables, such as one cut to nothing, or with others: a flipped bit
        in a column's name would look like a mistake in a statement of ours."""
        made = _SCHEMA + _INDEXES.replace(" IF NOT EXISTS", "")
        tables = "SELECT sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'"
        is_ours = self.db.execute("PRAGMA user_version").fetchone()[0] == FORMAT
        if not (is_ours and all(sql in made for (sql,) in self.db.execute(tables))):
            self.db.close()
            raise _damage("it has other tables")

    def _see_whether_it_can_be_read(self) -> None:
        """Even to read, SQLite creates a small file. If the disk is full or write-protected, the catalog is opened as
        of its last checkpoint: older results beat no answer."""
        import sqlite3

        try:
            self.db.execute("PRAGMA user_version").fetchone()
        except sqlite3.OperationalError as error:
            if not _has_no_room(error):
                raise
            self.db.close()
            quoted = self.path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
            self.db = _connect(f"file:{quoted}?immutable=1", uri=True)
            self._frozen = stamp(self.path)

    def is_outdated(self) -> bool:
        """Whether it was opened as of its last checkpoint and has been written since."""
        return self._frozen is not None and self._frozen != stamp(self.path)

    def close(self) -> None:
        """Close the file."""
        self.db.close()

    def is_in_place(self) -> bool:
        """Whether the file is still there; it may have been deleted or replaced while open."""
        try:
            return os.stat(self.path).st_ino == self._inode
        except OSError:
            return False

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """A transaction: all or nothing."""
        self.db.execute("BEGIN IMMEDIATE")
        with OnError(self.db.rollback):  # SQLite may have ended it already, on a full disk
            yield self.db
        self.db.execute("COMMIT")

    def add_indexes(self) -> None:
        """Create the SQLite indexes for links, names and tags if missing."""
        self.db.executescript(f"BEGIN; {_INDEXES} COMMIT;")

    def meta(self, key: str) -> str | None:
        """A stored value."""
        row = self.db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def set_meta(self, key: str, value: str) -> None:
        """Store a value."""
        self.db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def version(self) -> tuple[int, int, int]:
        """A value that changes with every change by any process, and differs between open catalogs."""
        data = self.db.execute("PRAGMA data_version").fetchone()[0]
        return self._number, int(data), self.db.total_changes

    def is_sound(self) -> bool:
        """Whether SQLite finds no damage in the file."""
        return bool(self.db.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok")

    def waiting(self) -> int:
        """The number of notes that an interrupted sync left unfinished."""
        dirty = self.db.execute("SELECT count(*) FROM dirty").fetchone()[0]
        return int(dirty) + int(self.db.execute("SELECT count(*) FROM stale").fetchone()[0])

    def orphans(self) -> list[int]:
        """Removed notes whose words may still be in the keyword index."""
        rows = "SELECT note FROM dirty WHERE note NOT IN (SELECT id FROM files)"
        return [int(row[0]) for row in self.db.execute(rows)]

    def forget_content(self, file: int) -> None:
        """Remove everything that was read from a file, but not the file itself."""
        for table, column in _NOTE_TABLES:
            self.db.execute(f"DELETE FROM {table} WHERE {column} = ?", (file,))  # noqa: S608 - own constants

    def names_of(self, file: int) -> set[str]:
        """The names under which links find a file."""
        return {
            str(row[0]) for row in self.db.execute("SELECT name FROM names WHERE file = ?", (file,))
        }


def _connect(path: str, *, uri: bool = False) -> sqlite3.Connection:
    import sqlite3  # what the agent does for a command needs no catalog here

    return sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False, uri=uri)


@contextmanager
def catalog_errors() -> Iterator[None]:
    """Turn SQLite's errors into a StateError, or into a DamagedError if only a rebuild helps."""
    try:
        yield
    except Exception as error:
        if state_error := as_state_error(error):
            raise state_error from error
        raise


def as_state_error(error: BaseException) -> StateError | None:
    """The message for an error of SQLite; None for any other, such as a mistake in a statement of ours."""
    import sqlite3

    # A message of SQLite may quote the damage.
    is_unreadable = isinstance(error, UnicodeDecodeError) and error.object.startswith(b"malformed")
    if not (is_unreadable or isinstance(error, sqlite3.DatabaseError)):
        return None
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StateError(f"the index is in use by another program ({error}); try again")
    if _has_no_room(error):
        return NoRoomError(NO_ROOM.format(error))
    message = str(error)
    if "too " in message:  # a limit of SQLite on a request
        return StateError(f"that is too much for one request ({error}); ask for less at once")
    # The classes for what is in the file; and JSON or text that nobody wrote.
    is_of_content = type(error) in (sqlite3.DatabaseError, sqlite3.IntegrityError)
    if is_unreadable or is_of_content or "malformed" in message or "Could not decode" in message:
        return _damage(error)
    return None


def _damage(why: object) -> DamagedError:
    return DamagedError(f"the catalog is damaged ({why}); run vaultmem sync --rebuild")


def _has_no_room(error: BaseException) -> bool:
    import sqlite3

    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (
        sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN,
    )  # fmt: skip


def _fold(text: object) -> str | None:
    return None if text is None else str(text).lower()
