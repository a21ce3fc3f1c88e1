"""What was taken in from other programs, by the hash of its text: a part of the ledger. A memory keeps the hash of what
it was made of too; here it is known of what a person has removed for good, and of what was not worth a memory."""

from __future__ import annotations

from collections.abc import Iterable

from vaultmem.store.ledger import Ledger


def taken(ledger: Ledger) -> set[str]:
    """The hashes of all that was ever looked at."""
    if not ledger.rows("SELECT 1 FROM sqlite_master WHERE name = 'taken'", bool):
        return set()  # the ledger is older than this table
    return set(ledger.rows("SELECT hash FROM taken", lambda row: str(row[0])))


def take(ledger: Ledger, hashes: Iterable[str], now: float) -> None:
    """Remember what was looked at."""
    rows = [(hash_, now) for hash_ in hashes]
    if rows:
        with ledger.writing(now) as db:
            db.executemany("INSERT OR IGNORE INTO taken VALUES (?, ?)", rows)
