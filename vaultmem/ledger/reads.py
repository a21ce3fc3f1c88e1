"""Parts of the ledger: reads of memories, their state as vaultmem left them, undone work of jobs, proposals."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime

from vaultmem.ledger.ledger import Ledger
from vaultmem.light import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import sqlite3
    from typing import Any

    from vaultmem.memories.draft import Finding
    from vaultmem.memories.reports import ProposalRow


TIMES = 30  # times of the last reads, for policies that learn from them


class ReadCount(NamedTuple):
    """The reads of one memory. Times are seconds since the epoch, oldest first."""

    number: int
    last: float
    times: tuple[float, ...]


class Left(NamedTuple):
    """A memory as vaultmem last wrote it; later differences are a person's."""

    path: str
    hash: str
    category: str


def counts(ledger: Ledger, id_: str = "") -> dict[str, ReadCount]:
    """The reads of all memories ever read, by id; or only of this one."""
    which, values = ("WHERE id = ?", (id_,)) if id_ else ("", ())
    return dict(ledger.rows(f"SELECT id, count, last, times FROM reads {which}", _count, values))  # noqa: S608 - own text


def add(ledger: Ledger, stored: Mapping[str, int], now: float, by: str = "") -> dict[str, int]:
    """Count a read of each memory by a reader; `stored` gives the count in its file. Returns the new counts, by id."""
    numbers: dict[str, int] = {}
    with ledger.writing(now) as db:
        for memory, of_file in stored.items():
            before = _read_count(db, memory, now)
            shares = _shares(db, memory)
            shares[EARLIER] = shares.get(EARLIER, 0) + max(0, of_file - before.number)
            shares[HERE] = shares.get(HERE, 0) + 1
            numbers[memory] = _keep_count(db, memory, before, shares, now)
            _note_recall(db, memory, by, now)
    return numbers


def use(ledger: Ledger, recalled: Mapping[str, float], now: float) -> None:
    """Mark memories as recalled automatically, by id and time: they are in use, and count as read once."""
    with ledger.writing(now) as db:
        for memory, at in recalled.items():
            before = _read_count(db, memory, at)
            shares = _shares(db, memory) or {HERE: 1}
            _keep_count(db, memory, before, shares, at)


# How many reads of a memory each machine has counted: the shares, which add up to the count.

HERE, EARLIER = ".", ""  # this machine, and the count in the file before; others have names


class Share(NamedTuple):
    """How often one machine has read a memory."""

    id: str
    machine: str
    number: int
    last: float


def shares(ledger: Ledger, condition: str = "") -> list[Share]:
    """The shares of all machines, as far as this one knows them; or those that meet a condition in SQL."""
    return ledger.rows(f"SELECT id, machine, number, last FROM counted {condition}", Share._make)  # noqa: S608 - own names


def own_shares(ledger: Ledger) -> list[Share]:
    """The reads of this machine."""
    return shares(ledger, f"WHERE machine IN ('{HERE}', '{EARLIER}')")


def take_shares(ledger: Ledger, heard: Iterable[Share], now: float) -> None:
    """Record what machines report having read: for each, the highest number it ever reported."""
    with ledger.writing(now) as db:
        for read in heard:
            before = _read_count(db, read.id, read.last)
            numbers = _shares(db, read.id)
            if read.number <= numbers.get(read.machine, 0):
                continue
            _keep_count(db, read.id, before, {**numbers, read.machine: read.number}, read.last)


def _shares(db: sqlite3.Connection, memory: str) -> dict[str, int]:
    """The numbers by machine."""
    rows = db.execute("SELECT machine, number FROM counted WHERE id = ?", (memory,))
    return {str(machine): int(count) for machine, count in rows}


def _keep_count(
    db: sqlite3.Connection, memory: str, before: ReadCount, shares: Mapping[str, int], at: float
) -> int:
    """Store the shares of a memory after a read at that time. Returns their sum."""
    number, last = sum(shares.values()), max(before.last, at)
    times = json.dumps(sorted({*before.times, at})[-TIMES:])
    db.execute("INSERT OR REPLACE INTO reads VALUES (?, ?, ?, ?)", (memory, number, last, times))
    values = [(memory, machine, share, at) for machine, share in shares.items() if share]
    db.executemany(
        "INSERT INTO counted VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET"
        " last = CASE WHEN excluded.number > number THEN excluded.last ELSE last END,"
        " number = max(number, excluded.number)",
        values,
    )
    return number


# Who recalled a memory, on which day and how often, for the last days only.

MOST_RECALLS = 20  # per memory


class Recall(NamedTuple):
    """The reads of one memory by one reader on one local day."""

    by: str  # "" for the person
    day: str
    times: int


def recalls(ledger: Ledger, memory: str) -> list[Recall]:
    """Who recalled a memory on this machine, newest first."""
    question = "SELECT by, day, times FROM recalls WHERE id = ? ORDER BY day DESC, by"
    return ledger.rows(question, Recall._make, (memory,))


def _note_recall(db: sqlite3.Connection, memory: str, by: str, at: float) -> None:
    day = datetime.fromtimestamp(at).astimezone().date().isoformat()
    db.execute(
        "INSERT INTO recalls VALUES (?, ?, ?, 1) ON CONFLICT DO UPDATE SET times = times + 1",
        (memory, by, day),
    )
    db.execute(
        "DELETE FROM recalls WHERE id = :id AND (by, day) NOT IN"
        " (SELECT by, day FROM recalls WHERE id = :id ORDER BY day DESC, by LIMIT :most)",
        {"id": memory, "most": MOST_RECALLS},
    )


# When a memory's decay was last reset, on any machine: its file may have lost that to another edit.


def reinforced_at(ledger: Ledger) -> dict[str, str]:
    """The times of reinforcement, by memory id."""
    return dict(ledger.rows("SELECT id, at FROM reinforced", _pair))


def _pair(row: tuple[object, ...]) -> tuple[str, str]:
    return str(row[0]), str(row[1])


def reinforce(ledger: Ledger, moments: Mapping[str, str], now: float) -> None:
    """Record when memories were reinforced; the later time counts."""
    statement = (
        "INSERT INTO reinforced VALUES (?, ?) ON CONFLICT DO UPDATE SET at = max(at, excluded.at)"
    )
    ledger.put(statement, moments.items(), now)


def left_states(ledger: Ledger) -> dict[str, Left]:
    """The state in which vaultmem last wrote or filed each memory, by id."""
    rows = ledger.rows("SELECT id, path, hash, category FROM seen", tuple)
    return {str(id_): Left(*map(str, left)) for id_, *left in rows}


def leave(ledger: Ledger, left: Iterable[tuple[str, Left]], now: float) -> None:
    """Store the state of memories just written."""
    rows = ((id_, *row) for id_, row in left)
    ledger.put("INSERT OR REPLACE INTO seen VALUES (?, ?, ?, ?)", rows, now)


def forget_left(ledger: Ledger, ids: Iterable[str], now: float) -> None:
    """Forget the state of memories that are gone."""
    ledger.put("DELETE FROM seen WHERE id = ?", ((id_,) for id_ in ids), now)


def undone(ledger: Ledger) -> dict[str, tuple[str, str]]:
    """The memories for which a job's work was undone, by id: path and hash afterwards."""
    rows = ledger.rows("SELECT id, path, hash FROM undone", lambda row: tuple(map(str, row)))
    return {id_: (path, hash_) for id_, path, hash_ in rows}


def leave_undone(ledger: Ledger, rows: Iterable[tuple[str, str, str]], now: float) -> None:
    """Record id, path and hash of memories that jobs must leave unchanged."""
    ledger.put("INSERT OR REPLACE INTO undone VALUES (?, ?, ?)", rows, now)


def _read_count(db: sqlite3.Connection, memory: str, at: float) -> ReadCount:
    row = db.execute("SELECT id, count, last, times FROM reads WHERE id = ?", (memory,)).fetchone()
    return _count(row)[1] if row else ReadCount(0, at, ())


def _count(row: tuple[object, ...]) -> tuple[str, ReadCount]:
    id_, count, last, times = row
    moments = tuple(float(load) for load in json.loads(str(times)))
    return str(id_), ReadCount(int(str(count)), float(str(last)), moments)


# Contents that vaultmem wrote on this machine, by their Git ids: if one of these arrives from
# elsewhere, no person made that change.

MOST_WRITTEN = 500  # newest contents kept


class Content(NamedTuple):
    """The content of a file that vaultmem wrote."""

    id: str  # the first digits of Git's id
    at: float
    by: str


def written_contents(ledger: Ledger) -> list[Content]:
    """The newest contents."""
    return ledger.rows("SELECT id, at, by FROM written", Content._make)


def note_written(ledger: Ledger, contents: Iterable[Content], now: float) -> None:
    """Record contents, and drop the oldest ones."""
    if rows := list(contents):
        with ledger.writing(now) as db:
            db.executemany("INSERT OR REPLACE INTO written VALUES (?, ?, ?)", rows)
            db.execute(
                "DELETE FROM written WHERE id NOT IN (SELECT id FROM written ORDER BY at DESC LIMIT ?)",
                (MOST_WRITTEN,),
            )


# Proposals with the person's decisions, and findings of jobs.

ALWAYS, NEVER, ASK = RULES = ("always", "never", "ask")  # what to do with all proposals of a kind


def rules(ledger: Ledger) -> dict[str, str]:
    """The person's rules for proposals, by kind; without a rule the person is asked."""
    return dict(ledger.rows("SELECT kind, says FROM rules", _pair))


def rule(ledger: Ledger, kind: str, says: str, now: float) -> None:
    """Set a rule, or end it."""
    with ledger.writing(now) as db:
        db.execute("DELETE FROM rules WHERE kind = ?", (kind,))
        if says != ASK:
            db.execute("INSERT INTO rules VALUES (?, ?)", (kind, says))


OPEN = "open"  # the person's decision is an answer, see item_answers.decision
REJECTED = "rejected"  # of earlier versions, without an answer
CONSULTED = "asked"  # a model was consulted, and had nothing to propose
MODEL = "model"  # who proposed it; "" for dreams


class StoredProposal(NamedTuple):
    """One proposal as it was made."""

    id: str
    state: str
    fields: ProposalRow

    @property
    def is_of_model(self) -> bool:
        """Whether a model proposed it, or was consulted about it."""
        return self.fields.get("who") == MODEL


def all_proposals(ledger: Ledger) -> list[StoredProposal]:
    """All proposals, decided or not, and what a model was consulted about, by id."""
    return ledger.rows("SELECT id, state, fields FROM proposals ORDER BY id", _stored_proposal)


def replace_proposals(
    ledger: Ledger, made: Mapping[str, ProposalRow], gone: Collection[str], now: float
) -> None:
    """Store proposals of dreams, and delete any of the ids in `gone`. The lines of known ones may have moved."""
    if not (made or gone):
        return
    rows = [
        (id_, now, OPEN, json.dumps(row, ensure_ascii=False)) for id_, row in sorted(made.items())
    ]
    with ledger.writing(now) as db:
        db.executemany("DELETE FROM proposals WHERE id = ?", [(id_,) for id_ in gone])
        db.executemany(
            "INSERT INTO proposals VALUES (?, ?, ?, ?)"
            " ON CONFLICT DO UPDATE SET fields = excluded.fields",
            rows,
        )


def advise(ledger: Ledger, made: Mapping[str, tuple[str, ProposalRow]], now: float) -> None:
    """Store what a model was consulted about, by id, with state and fields. Known rows are unchanged."""
    rows = [
        (id_, now, state, json.dumps({**fields, "who": MODEL}, ensure_ascii=False))
        for id_, (state, fields) in sorted(made.items())
    ]
    ledger.put("INSERT OR IGNORE INTO proposals VALUES (?, ?, ?, ?)", rows, now)


def keep_findings(
    ledger: Ledger, kinds: Iterable[str], findings: Iterable[Finding], now: float
) -> None:
    """Replace the findings of these kinds."""
    rows = [
        (finding["kind"], finding["subject"], json.dumps(finding, ensure_ascii=False))
        for finding in findings
    ]
    with ledger.writing(now) as db:
        db.executemany("DELETE FROM findings WHERE kind = ?", [(kind,) for kind in kinds])
        db.executemany("INSERT INTO findings VALUES (?, ?, ?)", rows)


def findings(ledger: Ledger, *kinds: str) -> list[Finding]:
    """The last findings of jobs, by kind and subject; all, or those of these kinds."""
    query = "SELECT fields FROM findings ORDER BY kind, subject, fields"
    every: list[Finding] = ledger.rows(query, lambda row: _fields(row[0]))
    return [finding for finding in every if not kinds or finding["kind"] in kinds]


def _fields(text: object) -> Any:
    fields = json.loads(str(text))
    if not isinstance(fields, dict):
        raise ValueError("neither a proposal nor a finding")  # noqa: TRY004 - damage, not a wrong call
    return fields


def _stored_proposal(row: tuple[object, ...]) -> StoredProposal:
    id_, state, fields = row
    return StoredProposal(str(id_), str(state), _fields(fields))
