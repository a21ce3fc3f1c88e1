"""Neighbouring turns of conversations: each is a note of its own, but is found as if its session were one note."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from vaultmem.index import ORD_BITS, catalog_read
from vaultmem.index.catalog import Catalog, below
from vaultmem.light import NamedTuple
from vaultmem.memories.conversation import TURNS, USER
from vaultmem.notes.places import ENTRIES
from vaultmem.search.rank import BESIDE
from vaultmem.text.times import seconds
from vaultmem.vault.walk import without_records

GAP = 6 * 3600.0  # seconds of silence between two sessions
_TURNS = f"""SELECT n.id, f.path, json_extract(n.properties, '$.created_at', '$.session_id', '$.role'), count(b.ordinal)
    FROM files f JOIN notes n ON n.id = f.id JOIN blocks b ON b.note = n.id
    WHERE f.path >= ? AND f.path < ? AND f.path LIKE '%/{TURNS}/%'
    AND (? IS NULL OR n.id IN (SELECT value FROM json_each(?))) GROUP BY n.id"""  # noqa: S608 - own text


class Turn(NamedTuple):
    """A turn in the catalog, in the order of the conversation."""

    talk: str
    at: float
    is_answer: bool
    note: int
    session: str
    blocks: int


class Seats:
    """Consecutive numbers, the seats, for the blocks of a session. A block that is not a turn keeps its own number."""

    def __init__(self, turns: Iterable[Turn]) -> None:
        self._first: dict[int, int] = {}  # note -> the seat of its first block
        self._block: dict[int, int] = {}  # seat -> block
        self._sessions: dict[int, list[int]] = {}  # by the note that represents the session
        before: Turn | None = None
        seat = 0
        for turn in sorted(turns):
            if before is None or not _goes_on(before, turn):
                seat = turn.note << ORD_BITS
            self._sessions.setdefault(seat >> ORD_BITS, []).append(turn.note)
            self._first[turn.note] = seat
            for ordinal in range(turn.blocks):
                self._block[seat + ordinal] = turn.note << ORD_BITS | ordinal
            seat, before = seat + turn.blocks, turn

    def of(self, block: int) -> int:
        """The seat of a block."""
        first = self._first.get(block >> ORD_BITS)
        return block if first is None else first + (block & ((1 << ORD_BITS) - 1))

    def mates(self, notes: Iterable[int]) -> set[int]:
        """The notes, with every turn's whole session."""
        result = set(notes)
        heads = {self._first[note] >> ORD_BITS for note in result if note in self._first}
        return result.union(*(self._sessions[head] for head in heads))

    def around(self, scores: Mapping[int, float]) -> dict[int, float]:
        """The points that turns get from their neighbours' words, given the neighbours' scores."""
        result: dict[int, float] = {}
        for block, score in scores.items():
            if block >> ORD_BITS not in self._first:
                continue
            seat = self.of(block)
            for step, share in BESIDE.items():
                if (other := self._block.get(seat + step)) is not None:
                    result[other] = result.get(other, 0.0) + share * score
        return result


def _goes_on(before: Turn, turn: Turn) -> bool:
    if before.talk != turn.talk or before.session != turn.session:
        return False
    return bool(turn.session) or turn.at - before.at <= GAP


class Seating:
    """The seats of all turns of a vault. Only turns written or removed since are read again."""

    def __init__(self, catalog: Catalog, memory_folder: str) -> None:
        self._catalog = catalog
        self._inside = below(f"{memory_folder}/{ENTRIES}")
        self._turns: dict[int, Turn] = {}  # by note
        self._seen: int | None = None  # the last change
        self._seats = Seats(())

    def now(self) -> Seats:
        """The seats for the current catalog."""
        last, changed = catalog_read.changed_notes(self._catalog, self._seen)
        gone = self._turns.keys() if changed is None else self._turns.keys() & changed
        new = {} if changed == set() else self._read(changed)
        if gone or new:
            remaining = {note: turn for note, turn in self._turns.items() if note not in gone}
            self._turns = remaining | new
            self._seats = Seats(self._turns.values())
        self._seen = last  # turns written meanwhile, or unreadable, are read next time
        return self._seats

    def _read(self, notes: set[int] | None) -> dict[int, Turn]:
        result: dict[int, Turn] = {}
        some = None if notes is None else json.dumps([*notes])
        rows = self._catalog.db.execute(_TURNS, (*self._inside, some, some)).fetchall()
        for note, path, properties, count in rows:
            created, session, role = json.loads(properties)
            talk = without_records(path).partition(f"/{TURNS}/")[0]
            at = seconds(created) or 0.0
            result[note] = Turn(talk, at, role != USER, note, str(session or ""), count)
        return result
