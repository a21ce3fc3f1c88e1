"""Which row holds the vector of which text: rows.db, one table, kept by SQLite."""

from __future__ import annotations

import itertools
import sqlite3
from contextlib import contextmanager
from hashlib import blake2b
from typing import TYPE_CHECKING

from vaultmem.paths import keep_private

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

FORMAT = 1
AT_ONCE = 500  # hashes in one question to SQLite
WAIT = 10.0  # seconds for another process to finish its batch


def text_hash(text: str) -> bytes:
    """The 16 bytes by which the vector of exactly this text is found again."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class Rows:
    """The hash of each row. Raises sqlite3.DatabaseError for a damaged file."""

    def __init__(self, path: Path, dimensions: int) -> None:
        self._path = path
        self._db = sqlite3.connect(
            keep_private(str(path)), timeout=WAIT, isolation_level=None, check_same_thread=False
        )
        try:
            self._prepare(dimensions)
        except BaseException:
            self._db.close()
            raise

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    def is_in_place(self) -> bool:
        """Whether the file still exists; it may have been deleted while it was open."""
        return self._path.exists()

    def count(self) -> int:
        """One more than the highest row that has a hash."""
        return int(self._db.execute("SELECT coalesce(max(row), -1) + 1 FROM rows").fetchone()[0])

    def find(self, hashes: Iterable[bytes]) -> dict[bytes, int]:
        """The rows of those hashes that have one."""
        found: dict[bytes, int] = {}
        remaining = iter(hashes)
        while part := list(itertools.islice(remaining, AT_ONCE)):
            marks = ",".join("?" * len(part))
            query = f"SELECT hash, row FROM rows WHERE hash IN ({marks})"  # noqa: S608 - only marks
            found.update(self._db.execute(query, part))
        return found

    def hash_at(self, row: int) -> bytes | None:
        """The hash of a row."""
        found = self._db.execute("SELECT hash FROM rows WHERE row = ?", (row,)).fetchone()
        return bytes(found[0]) if found else None

    def listed_from(self, row: int) -> list[tuple[bytes, int]]:
        """The hashes of this row and all after it."""
        found = self._db.execute("SELECT hash, row FROM rows WHERE row >= ?", (row,))
        return [(bytes(key), int(number)) for key, number in found]

    def insert(self, first: int, hashes: Iterable[bytes]) -> None:
        """Give the rows from `first` on their hashes."""
        self._db.executemany("INSERT INTO rows (row, hash) VALUES (?, ?)", enumerate(hashes, first))

    def drop_from(self, row: int) -> None:
        """Forget this row and all after it."""
        self._db.execute("DELETE FROM rows WHERE row >= ?", (row,))

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction that no other process writes beside; undone when the body raises."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def _prepare(self, dimensions: int) -> None:
        # With a write-ahead log a search never waits for a batch that is being stored. A power cut
        # may lose the last batches; their texts are then embedded again.
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        made_for = self._db.execute("PRAGMA user_version").fetchone()[0]
        wanted = FORMAT << 16 | dimensions
        if made_for == wanted:
            return
        if made_for:
            raise sqlite3.DatabaseError(f"made for another model or format ({made_for})")
        with self.writing():
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS rows"
                " (row INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE)"
            )
            self._db.execute(f"PRAGMA user_version = {wanted}")
