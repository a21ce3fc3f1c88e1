"""All that is due in a vault, from its index; after an edit only the notes that changed are asked for again."""

from __future__ import annotations

import json
import logging
import os
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, tzinfo
from typing import NamedTuple

from vaultmem.adapter import Value
from vaultmem.errors import StateError
from vaultmem.index import catalog_read
from vaultmem.index.catalog import Catalog
from vaultmem.index.catalog_write import BLOCK, OPENING, SAID, TASK
from vaultmem.memories.ledger import Ledger
from vaultmem.memories.model import EVERYBODY, is_private, scope_of
from vaultmem.reminders import answers, due_notes, due_texts
from vaultmem.reminders.due import BEGAN, Due, Source, Written, names_day
from vaultmem.reminders.due_texts import Named, Place, Wish
from vaultmem.reminders.pending_page import item_ids
from vaultmem.text.values import TYPE_CHECKING
from vaultmem.vault import blocks
from vaultmem.vault.conflicts import numbered_original, stem
from vaultmem.vault.places import REMINDERS, in_conversation

if TYPE_CHECKING:
    from typing import Any


# Questions to the catalog: what is written in notes about times at which something is due.

__all__ = ["BLOCK", "OPENING", "SAID", "TASK", "DueNote", "DueRow", "existing", "notes_with_times"]


class DueRow(NamedTuple):
    """A task, a dated block, sentences of a line, or that the note is due itself."""

    kind: int  # TASK, BLOCK, SAID or OPENING
    line: int
    fields: dict[str, object]


class DueNote(NamedTuple):
    """A note with something that may be due."""

    id: int
    path: str
    title: str
    day: str  # "" for none
    journal: str
    excluded: bool
    mtime: float  # seconds since the epoch
    properties: dict[str, Value]
    rows: list[DueRow]


# All in one answer: each row that SQLite hands out lets another thread of this process have its turn.
_NOTES = """SELECT json_group_array(json_array(n.id, f.path, n.title, n.day, n.journal, n.excluded, f.mtime_ns,
    json(n.properties), json(w.rows))) FROM
    (SELECT t.note, json_group_array(json_array(t.is_task, t.line, json(t.task))) AS rows FROM tasks t
        WHERE t.open = 1 {chosen} GROUP BY t.note) w
    CROSS JOIN notes n ON n.id = w.note CROSS JOIN files f ON f.id = w.note"""
_ALL = _NOTES.format(chosen="")
_SOME = _NOTES.format(chosen="AND t.note IN (SELECT value FROM json_each(?))")


def notes_with_times(catalog: Catalog, among: Iterable[int] | None = None) -> list[DueNote]:
    """The notes with open tasks, dated blocks, such sentences or such properties; of all notes, or of some."""
    if among is None:
        answer = catalog.db.execute(_ALL).fetchone()
    else:
        answer = catalog.db.execute(_SOME, (json.dumps(sorted(among)),)).fetchone()
    return [_note(row) for row in json.loads(answer[0])]


def _note(row: list[Any]) -> DueNote:
    id_, path, title, day, journal, excluded, mtime_ns, properties, rows = row
    found = sorted((DueRow(*each) for each in rows), key=lambda each: each.line)
    return DueNote(
        id_, path, title, day or "", journal or "", bool(excluded), mtime_ns / 1e9, properties or {}, found
    )  # fmt: skip


def existing(catalog: Catalog, paths: Iterable[str]) -> set[str]:
    """Which of these paths are notes of the vault."""
    wanted = json.dumps(sorted(paths))
    found = catalog.db.execute(
        "SELECT json_group_array(f.path) FROM json_each(?) w CROSS JOIN files f ON f.path = w.value"
        " WHERE f.kind = 'note'",
        (wanted,),
    ).fetchone()
    return set(json.loads(found[0]))


log = logging.getLogger("vaultmem.reminders")

IsClosed = Callable[[str], bool]


class _Entry(NamedTuple):
    """A due in the order of all. A list of these that is sorted nearly is sorted at once."""

    when: str
    path: str
    line: int
    named: Named
    note: int


class _Known(NamedTuple):
    """What one note asks for that is not the same on every day."""

    moving: list[Wish]
    used: dict[str, str]  # since when there are words whose meaning depends on it
    original: str  # of which the note is a copy if it is there, by its number
    beside: bool  # it is


class Finder:
    """Remembers what the notes of one vault ask for. Threads may share it."""

    def __init__(self, ledger: Ledger, folder: str) -> None:
        self._ledger = ledger
        self._folder = folder  # of the memories
        self._lock = threading.Lock()
        self._index: tuple[str, int] | None = None
        self._seq: int | None = None
        self._notes: dict[int, _Known] = {}
        self._fixed: list[_Entry] = []  # what is the same on every day, sorted
        self._met: dict[str, str] | None = None

    def dues(self, catalog: Catalog, now: datetime, is_closed: IsClosed) -> list[Due]:
        """Everything that is due, at some time, by that time; also what is closed, but what repeats has moved on
        then. `now` has the zone of the person; ids are all different."""
        with self._lock:
            self._follow(catalog, now)
            copies = catalog_read.conflict_copies(catalog)
            moving = sorted(self._moving(now, is_closed))
            every = sorted([*self._fixed, *moving]) if moving else self._fixed
            found: dict[tuple[str, str], Due] = {}
            said = {_said(entry, entry.note) for entry in every} if copies else set()
            for entry in every:
                due, pair = entry.named
                # What a conflict copy says as its original does is due once, there.
                if pair not in found and _said(entry, copies.get(entry.note)) not in said:
                    found[pair] = due
            return _apart(found)

    def turns(self, now: datetime) -> str:
        """When the next occurrence of anything that repeats takes the place of the last, as a local day or minute; ""
        for never. Of what dues() has seen."""
        with self._lock:
            wishes = [wish for known in self._notes.values() for wish in known.moving]
        return min((at for wish in wishes if (at := due_texts.turn(wish, now))), default="")

    def _moving(self, now: datetime, is_closed: IsClosed) -> Iterator[_Entry]:
        for note, known in self._notes.items():
            for wish in known.moving:
                for named in due_texts.now(wish, now, is_closed):
                    yield _entry(named, note)

    def _follow(self, catalog: Catalog, now: datetime) -> None:
        """Ask again for the notes that changed since the last time; for all, in another index."""
        index = catalog.path, _inode(catalog.path)
        since = self._seq if index == self._index else None
        seq, changed = catalog_read.changed_notes(catalog, since)
        if changed is None or (since is not None and seq < since):
            changed = None
        else:
            changed |= self._renumbered(catalog)
        if self._met is None or changed is None:
            self._met = answers.met(self._ledger)
        if changed is None or changed:
            self._read(catalog, changed, now)
        self._index, self._seq = index, seq

    def _renumbered(self, catalog: Catalog) -> set[int]:
        """The notes with a number whose original came or went."""
        numbered = {note: known for note, known in self._notes.items() if known.original}
        if not numbered:
            return set()
        there = existing(catalog, {known.original for known in numbered.values()})
        return {
            note for note, known in numbered.items() if (known.original in there) != known.beside
        }

    def _read(self, catalog: Catalog, changed: set[int] | None, now: datetime) -> None:
        notes = notes_with_times(catalog, changed)
        originals = {original for note in notes if (original := numbered_original(note.path))}
        beside = existing(catalog, originals) if originals else set()
        if changed is None:
            self._notes, self._fixed = {}, []
        else:
            self._fixed = [entry for entry in self._fixed if entry.note not in changed]
            for id_ in changed:
                self._notes.pop(id_, None)
        fresh: dict[str, str] = {}
        for note in notes:
            known, fixed = self._look(note, beside, now.tzinfo or UTC)
            if known.moving or known.original:
                self._notes[note.id] = known
            self._fixed += (_entry(named, note.id) for named in fixed)
            fresh |= known.used
        self._fixed.sort()
        self._remember(fresh, now, everything=changed is None and bool(catalog.meta("synced")))

    def _look(self, note: DueNote, beside: set[str], zone: tzinfo) -> tuple[_Known, list[Named]]:
        assert self._met is not None
        original = numbered_original(note.path)
        name = stem(note.path, has_original=original in beside)
        own = bool(note.journal) or (bool(note.day) and names_day(note.path, note.day))
        written = Written(
            Source(name, note.journal or note.day, own, _local(note.mtime, zone)), self._met
        )
        foreign = due_notes.is_foreign(note.path, note.properties, self._folder)
        wishes = list(self._wishes(note, Place(note.path, note.title, name, foreign, written)))
        private = is_private(note.properties)
        is_memory = note.path.startswith(f"{self._folder}/")
        scope = scope_of(note.properties, memory=is_memory)
        by = due_notes.author(note.properties) if is_memory else ""
        if private or by or scope != EVERYBODY:
            wishes = [
                wish._replace(due=wish.due._replace(private=private, scope=scope, author=by))
                for wish in wishes
            ]
        fixed = [
            due_texts.named(wish.due, wish.source, wish.key) for wish in wishes if wish.is_fixed
        ]
        moving = [wish for wish in wishes if not wish.is_fixed]
        return _Known(moving, written.used, original, original in beside), fixed

    def _wishes(self, note: DueNote, place: Place) -> Iterator[Wish]:
        """Words tell when only in notes that a person means as such; memories say it in their properties."""
        if due_notes.is_generated(note.properties) or in_conversation(note.path, self._folder):
            return
        ours = note.path.startswith(self._folder + "/")
        plain = not (ours or note.excluded or due_notes.is_template(note.path))
        for row in note.rows:
            if row.kind == TASK:
                yield from _one(due_texts.task(place, row.fields, plain=plain))
            elif row.kind == BLOCK:
                yield from _one(due_texts.block(place, row.fields))
            elif row.kind == SAID:
                for text in _texts(row.fields.get("said")) if plain else ():
                    yield from _one(due_texts.sentence(place, row.line, text))
            else:
                own = self._own(note, str(row.fields.get("text") or note.title))
                yield from due_notes.wishes(place, note.properties, own)

    def _own(self, note: DueNote, text: str) -> due_notes.Own:
        memory = due_notes.memory_id(note.path, note.properties, self._folder)
        category = blocks.category(note.path, note.properties, self._folder)
        reminds = bool(memory) and category == REMINDERS
        return due_notes.Own(memory, text, bool(note.journal), reminds)

    def _remember(self, fresh: dict[str, str], now: datetime, *, everything: bool) -> None:
        """Keep since when words are there, and forget those that are gone."""
        assert self._met is not None
        minute = f"{now:%Y-%m-%dT%H:%M}"
        new = {key: day for key, day in fresh.items() if key not in self._met}
        if BEGAN not in self._met:
            new[BEGAN] = minute
        gone = [key for key in self._met if key != BEGAN and key not in fresh] if everything else []
        if new or gone:
            try:
                answers.meet(self._ledger, new.items(), gone, now.timestamp())
            except (
                StateError
            ) as error:  # who only looks is told all the same, and the next one tries again
                log.debug("since when words are there is not kept: %s", error)
            self._met = {**self._met, **new}
            for key in gone:
                del self._met[key]


def _inode(path: str) -> int:
    try:
        return os.stat(path).st_ino
    except OSError:  # deleted while it is open
        return 0


def _one(wish: Wish | None) -> Iterator[Wish]:
    if wish is not None:
        yield wish


def _texts(found: object) -> list[str]:
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []


def _local(seconds: float, zone: tzinfo) -> datetime:
    """The time of a file; one that no calendar knows is taken for the beginning of computers."""
    try:
        return datetime.fromtimestamp(seconds, zone)
    except (OverflowError, ValueError, OSError):
        return datetime.fromtimestamp(0, zone)


def _said(entry: _Entry, note: int | None) -> tuple[object, ...] | None:
    """What an entry says, as the entry of a note; None for no note."""
    due = entry.named.due
    return None if note is None else (note, due.kind, due.text, due.due, due.at)


def _entry(named: Named, note: int) -> _Entry:
    due = named.due
    return _Entry(due.due or due.at, due.path, due.line, named, note)


def _apart(found: dict[tuple[str, str], Due]) -> list[Due]:
    """The dues with ids that are all different: of those that begin alike, longer ones."""
    if len({due.id for due in found.values()}) == len(found):
        return list(found.values())
    times = Counter(due.id for due in found.values())
    alike: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for pair, due in found.items():
        if times[due.id] > 1:
            alike[due.id].append(pair)
    for pairs in alike.values():
        for pair, id_ in zip(pairs, item_ids(pairs), strict=True):
            found[pair] = found[pair]._replace(id=id_)
    return list(found.values())
