"""What was proposed to a person and what the person said, and what jobs noticed: part of the ledger."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from vaultmem.store.ledger import Ledger

OPEN, ACCEPTED, REJECTED = "open", "accepted", "rejected"
ASKED = "asked"  # a model was asked, and had nothing to propose
MODEL = "model"  # who proposed it; nobody is named where dreams did by themselves


class Kept(NamedTuple):
    """One proposal as it was made."""

    id: str
    at: float
    state: str
    fields: dict[str, object]

    @property
    def is_of_model(self) -> bool:
        """Whether a model proposed it, or was asked about it."""
        return self.fields.get("who") == MODEL


def kept(ledger: Ledger) -> list[Kept]:
    """All that were ever made and are open, accepted or rejected, by id."""
    return ledger.rows("SELECT id, at, state, fields FROM proposals ORDER BY id", _kept)


def replace_open(ledger: Ledger, made: Mapping[str, dict[str, object]], now: float) -> int:
    """What dreams propose from now on; how many of them are new. What was accepted or rejected is not proposed
    again, and what nobody would propose any more is forgotten. What a model proposed stays."""
    with ledger.writing(now) as db:
        rows = map(_kept, db.execute("SELECT id, at, state, fields FROM proposals"))
        known = {one.id: one.state for one in rows if not one.is_of_model}
        gone = [id_ for id_, state in known.items() if state == OPEN and id_ not in made]
        db.executemany("DELETE FROM proposals WHERE id = ?", [(id_,) for id_ in gone])
        fresh = sorted(made.keys() - known.keys())
        new = [(id_, now, OPEN, json.dumps(made[id_], ensure_ascii=False)) for id_ in fresh]
        db.executemany("INSERT INTO proposals VALUES (?, ?, ?, ?)", new)
        # The evidence may have moved a few lines.
        again = [
            (json.dumps(made[id_], ensure_ascii=False), id_)
            for id_, state in known.items()
            if state == OPEN and id_ in made
        ]
        db.executemany("UPDATE proposals SET fields = ? WHERE id = ?", again)
    return len(fresh)


def advised(ledger: Ledger, made: Mapping[str, tuple[str, dict[str, object]]], now: float) -> None:
    """What a model was asked about, by id, with the state and the fields. What is known already stays as it is."""
    rows = [
        (id_, now, state, json.dumps({**fields, "who": MODEL}, ensure_ascii=False))
        for id_, (state, fields) in sorted(made.items())
    ]
    with ledger.writing(now) as db:
        db.executemany("INSERT OR IGNORE INTO proposals VALUES (?, ?, ?, ?)", rows)


def forget(ledger: Ledger, ids: Iterable[str], now: float) -> None:
    """Drop proposals of which nothing is left."""
    gone = [(id_,) for id_ in ids]
    if gone:
        with ledger.writing(now) as db:
            db.executemany("DELETE FROM proposals WHERE id = ?", gone)


def decide(ledger: Ledger, id_: str, state: str, now: float) -> None:
    """Remember what the person said."""
    with ledger.writing(now) as db:
        db.execute("UPDATE proposals SET state = ?, at = ? WHERE id = ?", (state, now, id_))


def keep_findings(
    ledger: Ledger, kinds: Iterable[str], found: Iterable[dict[str, object]], now: float
) -> None:
    """What a job has noticed takes the place of what was known of these kinds."""
    rows = [(each["kind"], each["subject"], json.dumps(each, ensure_ascii=False)) for each in found]
    with ledger.writing(now) as db:
        db.executemany("DELETE FROM findings WHERE kind = ?", [(kind,) for kind in kinds])
        db.executemany("INSERT INTO findings VALUES (?, ?, ?)", rows)


def findings(ledger: Ledger) -> list[dict[str, object]]:
    """What jobs noticed last, by kind and subject."""
    return ledger.rows("SELECT fields FROM findings ORDER BY kind, subject, fields", _fields)


def _fields(row: tuple[object, ...]) -> dict[str, object]:
    found = json.loads(str(row[0]))
    if not isinstance(found, dict):
        raise ValueError("neither a proposal nor a finding")  # noqa: TRY004 - damage, not a wrong call
    return found


def _kept(row: tuple[object, ...]) -> Kept:
    id_, at, state, fields = row
    return Kept(str(id_), float(str(at)), str(state), _fields((fields,)))
