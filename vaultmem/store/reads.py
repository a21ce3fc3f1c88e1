"""How often memories were read and when, how vaultmem left each of them, and what of it was undone: parts of the
ledger."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from vaultmem.store.ledger import Ledger

if TYPE_CHECKING:
    import sqlite3

TIMES = 30  # of the last reads, for policies that learn from them


class ReadCount(NamedTuple):
    """What is known of the reading of one memory. Times are seconds since the epoch, oldest first."""

    number: int
    last: float
    times: tuple[float, ...]


class Left(NamedTuple):
    """A memory as vaultmem left it: what differs now, a person did."""

    path: str
    hash: str
    category: str


def counts(ledger: Ledger) -> dict[str, ReadCount]:
    """All that were ever read, by id."""
    found = ledger.rows("SELECT id, count, last, times FROM reads", _count)
    return dict(found)


def add(ledger: Ledger, stored: Mapping[str, int], now: float) -> dict[str, int]:
    """Count a read of each memory; `stored` gives what its file says. The counts of now, by id."""
    known: dict[str, ReadCount] = {}
    with ledger.writing(now) as db:
        for memory, of_file in stored.items():
            before = _known(db, memory, now)
            times = (*before.times, now)[-TIMES:]
            known[memory] = ReadCount(max(before.number, of_file) + 1, now, times)
            _put(db, memory, known[memory])
    return {memory: count.number for memory, count in known.items()}


def use(ledger: Ledger, told: Mapping[str, float], now: float) -> None:
    """Memories were told of unasked, by id and time: they are in use, and counted once however often that is. What is
    told at every start is not worth more for it, and its file is not to be written each night for the count."""
    with ledger.writing(now) as db:
        for memory, at in told.items():
            before = _known(db, memory, at)
            times = tuple(sorted({*before.times, at})[-TIMES:])
            _put(db, memory, ReadCount(max(before.number, 1), max(before.last, at), times))


def seen(ledger: Ledger) -> dict[str, Left]:
    """How vaultmem left the memories that it wrote or filed, by id."""
    found = ledger.rows("SELECT id, path, hash, category FROM seen", _left)
    return dict(found)


def leave(ledger: Ledger, left: Iterable[tuple[str, Left]], now: float) -> None:
    """Remember how memories were left."""
    with ledger.writing(now) as db:
        db.executemany(
            "INSERT OR REPLACE INTO seen VALUES (?, ?, ?, ?)", [(id_, *one) for id_, one in left]
        )


def undone(ledger: Ledger) -> dict[str, tuple[str, str]]:
    """The memories for which the work of a job was undone, by id: path and hash after that."""
    found = ledger.rows("SELECT id, path, hash FROM undone", lambda row: tuple(map(str, row)))
    return {id_: (path, hash_) for id_, path, hash_ in found}


def leave_undone(ledger: Ledger, rows: Iterable[tuple[str, str, str]], now: float) -> None:
    """Remember id, path and hash of memories that jobs shall leave as they are now."""
    with ledger.writing(now) as db:
        db.executemany("INSERT OR REPLACE INTO undone VALUES (?, ?, ?)", rows)


def _known(db: sqlite3.Connection, memory: str, at: float) -> ReadCount:
    """What is known of the reading of a memory that is read at a time."""
    found = db.execute("SELECT id, count, last, times FROM reads WHERE id = ?", (memory,))
    row = found.fetchone()
    return _count(row)[1] if row else ReadCount(0, at, ())


def _put(db: sqlite3.Connection, memory: str, one: ReadCount) -> None:
    values = (memory, one.number, one.last, json.dumps(one.times))
    db.execute("INSERT OR REPLACE INTO reads VALUES (?, ?, ?, ?)", values)


def _count(row: tuple[object, ...]) -> tuple[str, ReadCount]:
    id_, count, last, times = row
    moments = tuple(float(each) for each in json.loads(str(times)))
    return str(id_), ReadCount(int(str(count)), float(str(last)), moments)


def _left(row: tuple[object, ...]) -> tuple[str, Left]:
    id_, path, hash_, category = map(str, row)
    return id_, Left(path, hash_, category)
