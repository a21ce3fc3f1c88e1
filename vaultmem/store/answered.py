"""Answers to pending items, what the person was told of them, and since when an expression of time was there: parts of
the ledger. The vault has the answers too, for other machines; here they are safe while nothing can be written there."""

from __future__ import annotations

from collections.abc import Iterable

from vaultmem.core.answers import Answer, Told
from vaultmem.store.ledger import Ledger


def answers(ledger: Ledger) -> dict[str, Answer]:
    """All answers by the ids of the items."""
    found = ledger.rows(
        "SELECT id, state, at, who, until, text FROM answers", lambda row: Answer(*map(str, row))
    )
    return {answer.id: answer for answer in found}


def told(ledger: Ledger) -> dict[str, Told]:
    """All that the desktop has told of, by the ids of the items."""
    found = ledger.rows("SELECT id, at, times, moment FROM told", _told)
    return {each.id: each for each in found}


def add(ledger: Ledger, given: Iterable[Answer], heard: Iterable[Told], now: float) -> None:
    """Keep answers and what was told, each in place of what was known of its item."""
    with ledger.writing(now) as db:
        db.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?)", list(given))
        db.executemany("INSERT OR REPLACE INTO told VALUES (?, ?, ?, ?)", list(heard))


def forget(ledger: Ledger, ids: Iterable[str], now: float) -> None:
    """Drop what is known of items that are long gone."""
    gone = [(id_,) for id_ in ids]
    with ledger.writing(now) as db:
        for table in ("answers", "told"):
            db.executemany(f"DELETE FROM {table} WHERE id = ?", gone)  # noqa: S608 - own names


def met(ledger: Ledger) -> dict[str, str]:
    """The days on which expressions of time were first seen, by what they are known by."""
    return dict(ledger.rows("SELECT id, day FROM met", lambda row: (str(row[0]), str(row[1]))))


def meet(ledger: Ledger, days: Iterable[tuple[str, str]], gone: Iterable[str], now: float) -> None:
    """Remember the days of new ones, and forget those that are gone."""
    with ledger.writing(now) as db:
        db.executemany("DELETE FROM met WHERE id = ?", [(id_,) for id_ in gone])
        db.executemany("INSERT OR IGNORE INTO met VALUES (?, ?)", list(days))


def _told(row: tuple[object, ...]) -> Told:
    id_, at, times, moment = row
    return Told(str(id_), str(at), int(str(times)), str(moment))
