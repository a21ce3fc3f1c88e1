"""The entries of the sync log in the ledger, where a machine keeps what it knows whatever becomes of the pages."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Set as AbstractSet

from vaultmem import now as clock
from vaultmem.memories import reads
from vaultmem.memories.item_answers import Answer
from vaultmem.memories.ledger import Ledger
from vaultmem.memories.reads import ACCEPTED, EARLIER, HERE, REJECTED, Share
from vaultmem.synclog.log_entries import (
    BEFORE,
    Decided,
    Entries,
    Entry,
    Key,
    Notified,
    Reads,
    Reinforced,
    Written,
    collect,
    is_writable,
    merge_entries,
    of_kind,
    plain,
    plain_name,
    rank,
)
from vaultmem.text.times import seconds, stamp

_MOST_NUMBER = 999_999


def machine_name(ledger: Ledger) -> str:
    """The name of this machine in the vault of a ledger: that of the computer and six digits, made at its first use. It
    stands in the ledger because what is counted there is counted under it: they are lost and restored together."""
    if names := ledger.rows("SELECT name FROM machine", _name):
        return names[0]
    host = re.sub(r"[^a-z0-9]+", "-", os.uname().nodename.partition(".")[0].lower()).strip("-")
    name = f"{host[:24].strip('-') or 'machine'}-{secrets.token_hex(3)}"
    with ledger.writing(clock.seconds()) as db:
        db.execute("INSERT OR IGNORE INTO machine VALUES (1, ?)", (name,))
        return _name(db.execute("SELECT name FROM machine").fetchone())  # of who was faster


def _name(row: tuple[object, ...]) -> str:
    return str(row[0])


def entries_in(ledger: Ledger, machine: str) -> Entries:
    """All that is known, of the machine of this name and of what is nobody's. Reads of other machines are left out:
    these tell of them themselves."""
    return merge_entries(answers_in(ledger), collect(_shared_entries(ledger, machine)))


def answers_in(ledger: Ledger) -> Entries:
    """Answers and what was notified: what has to be known at every look."""
    answers = ledger.rows(
        "SELECT id, state, at, who, until, text FROM answers",
        lambda row: plain(Answer(*map(str, row))),
    )
    notified = ledger.rows(
        "SELECT id, at, times, moment FROM told",
        lambda row: Notified(str(row[0]), str(row[1]), int(str(row[2])), str(row[3])),
    )
    return collect([*answers, *notified])


def _shared_entries(ledger: Ledger, machine: str) -> list[Entry]:
    names = {HERE: machine, EARLIER: BEFORE}
    entries: list[Entry] = [
        Reads(one.id, names[one.machine], min(one.number, _MOST_NUMBER), stamp(one.last))
        for one in reads.own_shares(ledger)
    ]
    entries += [
        Written(one.id, machine, stamp(one.at), plain_name(one.by))
        for one in reads.written_contents(ledger)
    ]
    entries += [Reinforced(id_, at) for id_, at in reads.reinforced_at(ledger).items()]
    entries += [
        Decided(one.id, stamp(one.at), one.state)
        for one in reads.kept_proposals(ledger)
        if one.state in (ACCEPTED, REJECTED)
    ]
    return [one for one in entries if is_writable(one)]


def absorb(ledger: Ledger, heard: Entries, machine: str, now: float) -> None:
    """Take over what pages say and the ledger does not know, or knows otherwise. What it has already is not written
    again."""
    add_answers(ledger, newer(heard, answers_in(ledger)), now)
    known = collect(_shared_entries(ledger, machine))
    fresh = newer(heard, known)
    if moments := {one.id: one.at for one in of_kind(fresh, Reinforced).values()}:
        reads.reinforce(ledger, moments, now)
    decided = of_kind(fresh, Decided).values()
    if made := [(one.id, seconds(one.at) or 0.0, one.state) for one in decided]:
        reads.take_decisions(ledger, made, now)
    held = {(one.id, one.machine): one.number for one in reads.shares(ledger)}
    names = {machine: HERE, BEFORE: EARLIER}
    heard_of = [
        Share(one.id, names.get(one.machine, one.machine), one.number, seconds(one.at) or 0.0)
        for one in heard.values()
        if isinstance(one, Reads)
    ]
    if more := [one for one in heard_of if one.number > held.get((one.id, one.machine), 0)]:
        reads.take_shares(ledger, more, now)


def newer(heard: Entries, known: Entries) -> Entries:
    """What is heard of and greater than what is known."""
    return {
        key: one for key, one in heard.items() if key not in known or rank(known[key]) < rank(one)
    }


def add_answers(ledger: Ledger, new: Entries, now: float) -> None:
    """Keep answers and what was notified."""
    answers, notified = list(of_kind(new, Answer).values()), list(of_kind(new, Notified).values())
    if answers or notified:
        with ledger.writing(now) as db:
            db.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?)", answers)
            db.executemany("INSERT OR REPLACE INTO told VALUES (?, ?, ?, ?)", notified)


def forget_answers(ledger: Ledger, old: AbstractSet[Key], now: float) -> None:
    """Drop answers and what was notified."""
    with ledger.writing(now) as db:
        for table, kind in (("answers", Answer.__name__), ("told", Notified.__name__)):
            ids = [(id_,) for name, id_, _ in old if name == kind]
            db.executemany(f"DELETE FROM {table} WHERE id = ?", ids)  # noqa: S608 - own names
