"""Everything due in a vault, from its index; after an edit only changed notes are read again."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, tzinfo
from functools import cache, partial

from vaultmem.adapter import Value
from vaultmem.errors import StateError
from vaultmem.index import catalog_read
from vaultmem.index.catalog import COPIED, Catalog
from vaultmem.index.catalog_write import BLOCK, OPENING, TASK
from vaultmem.ledger.ledger import Ledger
from vaultmem.light import NamedTuple, allocate_lock
from vaultmem.memories.access import is_private, scope_of
from vaultmem.memories.item_answers import (
    SNOOZED,
    Answers,
    is_foreign,
    item_ids,
    memory_id,
    origin_of,
)
from vaultmem.notes import blocks
from vaultmem.notes.places import REMINDERS, folded_name, in_conversation
from vaultmem.progress import logger
from vaultmem.reminders import schedules
from vaultmem.reminders.due import Due, Schedule, with_id
from vaultmem.reminders.schedules import BEGAN, Own, Place, Written
from vaultmem.text.values import EVERYBODY

log = logger("vaultmem.reminders")


# --- Times in notes at which something is due


class DueRow(NamedTuple):
    """A task, a dated block, sentences of a line, or a due note."""

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
    hash: str  # hash of its content
    properties: dict[str, Value]
    rows: list[DueRow]


# All in one row: each row that SQLite returns gives another thread of this process a turn.
_NOTES = """SELECT json_group_array(json_array(n.id, f.path, n.title, n.day, n.journal, n.excluded OR n.template,
    f.mtime_ns, coalesce(hex(f.hash), ''), json(n.properties), json(w.rows))) FROM
    (SELECT t.note, json_group_array(json_array(t.is_task, t.line, json(t.task))) AS rows FROM tasks t
        WHERE t.open = 1 AND NOT {copied} {chosen} GROUP BY t.note) w
    CROSS JOIN notes n ON n.id = w.note CROSS JOIN files f ON f.id = w.note"""
_ALL = _NOTES.format(copied=COPIED, chosen="")
_SOME = _NOTES.format(copied=COPIED, chosen="AND t.note IN (SELECT value FROM json_each(?))")
# Including notes whose tasks are done, so that ticking one changes no other's id.
_PATHS = """SELECT json_group_array(json_array(id, path)) FROM files
    WHERE id IN (SELECT note FROM tasks)"""

_NOTE = (
    "note "  # followed by its hash: the key for the path of a note whose words count from some day
)

# A copy whose original is gone keeps its own name. CROSS: a few copies are looked up among all files, not the reverse.
_COPIES = """SELECT c.copy, c.original, coalesce(o.path, f.path) FROM conflicts c CROSS JOIN files f ON f.id = c.copy
    LEFT JOIN files o ON o.id = c.original"""


def notes_with_times(catalog: Catalog, among: Iterable[int] | None) -> list[DueNote]:
    """Notes with open tasks, dated blocks, such sentences or such properties; all notes, or some."""
    if among is None:
        answer = catalog.db.execute(_ALL).fetchone()
    else:
        answer = catalog.db.execute(_SOME, (json.dumps(sorted(among)),)).fetchone()
    return [
        DueNote(
            id_, path, title, day or "", journal or "", bool(excluded), mtime_ns / 1e9, hash_, properties or {},
            sorted((DueRow(*row) for row in rows), key=lambda each: each.line),
        )
        for id_, path, title, day, journal, excluded, mtime_ns, hash_, properties, rows in json.loads(answer[0])
    ]  # fmt: skip


def _sharing_names(catalog: Catalog) -> set[int]:
    """The notes with tasks that have the same file name as another."""
    by_name = defaultdict[str, list[int]](list)
    for id_, path in json.loads(catalog.db.execute(_PATHS).fetchone()[0]):
        by_name[folded_name(path)].append(id_)
    return {id_ for ids in by_name.values() if len(ids) > 1 for id_ in ids}


# --- Schedules of these notes


class _OfNote(NamedTuple):
    fixed: list[Due]  # the same on every day
    moving: list[Schedule]


class Agenda:
    """Caches the schedules of one vault's notes. Thread-safe."""

    def __init__(self, ledger: Ledger, folder: str) -> None:
        self._ledger = ledger
        self._folder = folder  # the memory folder
        self._lock = allocate_lock()
        self._index: tuple[str, int] | None = None
        self._seq: int | None = None
        self._notes: dict[int, _OfNote] = {}
        self._sharing = set[int]()  # notes that share a name
        # Conflict copies, each with its original and its path.
        self._copies: dict[int, tuple[int | None, str]] = {}
        self._met: dict[str, str] | None = None
        # Changing dues, and all of them, at the last look: usually nothing has changed.
        self._listed: tuple[list[tuple[Due, int]], tuple[Due, ...]] | None = None

    def dues(self, catalog: Catalog, now: datetime, answers: Answers) -> tuple[Due, ...]:
        """Everything due by that time, including closed items; `now` has a zone, and ids are unique."""
        snoozed = {id_: one for id_, one in answers.items() if one.state == SNOOZED}
        with self._lock:
            self._follow(catalog, now)
            moving = [
                (due, note)
                for note, of_note in self._notes.items()
                for one in of_note.moving
                for due in one.due_at(now, answers, snoozed)
            ]
            if self._listed is None or self._listed[0] != moving:
                fixed = [(due, note) for note, one in self._notes.items() for due in one.fixed]
                self._listed = moving, _with_different_ids(self._once([*fixed, *moving]))
            return self._listed[1]

    def _once(self, dues: list[tuple[Due, int]]) -> list[Due]:
        """Each item once, in order: from the original if it is also in a conflict copy."""
        once: dict[tuple[str, str], Due] = {}
        files: dict[tuple[str, str], int] = {}
        for due, note in sorted(dues, key=lambda pair: (pair[1] in self._copies, *_order(pair[0]))):
            # Of a reminder that repeats, another file may have moved on.
            file = (due.memory and due.rolls) and files.setdefault((due.source, due.due[10:]), note)
            if not file or file == note:
                once.setdefault((due.source, due.key), due)
        return sorted(once.values(), key=_order)

    def next_turn(self, now: datetime) -> str:
        """When the next occurrence of any recurring item replaces the last: a local minute, or ""."""
        with self._lock:
            moving = [schedule for note in self._notes.values() for schedule in note.moving]
        return min((at for due in moving if (at := due.next_after(now))), default="")

    def _follow(self, catalog: Catalog, now: datetime) -> None:
        """Query notes that changed since the last time; all of them in another index."""
        index = catalog.path, _inode(catalog.path)
        since = self._seq if index == self._index else None
        seq, changed = catalog_read.changed_notes(catalog, since)
        if self._met is None or (since is not None and seq < since):
            changed = None
        copies = {copy: (first, path) for copy, first, path in catalog.db.execute(_COPIES)}
        if changed is None or changed or copies != self._copies:
            sharing = _sharing_names(catalog)
            if changed is not None:
                changed |= {copy for copy, _ in copies.items() ^ self._copies.items()}
                changed |= sharing ^ self._sharing
                changed |= {copy for copy, (first, _) in copies.items() if first in changed}
            if copies != self._copies:
                self._listed = None
            self._copies, self._sharing = copies, sharing
            self._read(catalog, changed, now)
        self._index, self._seq = index, seq

    def _read(self, catalog: Catalog, changed: set[int] | None, now: datetime) -> None:
        if changed is None:
            rows = self._ledger.rows(
                "SELECT id, day FROM met", lambda row: (str(row[0]), str(row[1]))
            )
            self._met, self._notes = dict(rows), {}
        before = {id_: self._notes.pop(id_) for id_ in changed or () if id_ in self._notes}
        read: dict[int, _OfNote] = {}
        used: dict[str, str] = {}
        for note in notes_with_times(catalog, changed):
            asks, own_used = self._read_note(catalog, note, now.tzinfo or UTC)
            fixed = [with_id(ask.due, ask.key) for ask in asks if ask.is_fixed]
            read[note.id] = _OfNote(fixed, [ask for ask in asks if not ask.is_fixed])
            used |= own_used
        self._notes |= read
        if changed is None or any(read.get(id_) != before.get(id_) for id_ in changed):
            self._listed = None
        self._remember(used, now, everything=changed is None and bool(catalog.meta("synced")))

    def _former_name(self, catalog: Catalog, note: DueNote) -> str:
        """The former name of the note: that of a missing note with the same content."""
        path = (self._met or {}).get(f"{_NOTE}{note.hash}", note.path)
        exists = catalog.db.execute("SELECT 1 FROM files WHERE path = ?", (path,)).fetchone()
        return "" if exists else folded_name(path)

    def _read_note(
        self, catalog: Catalog, note: DueNote, zone: tzinfo
    ) -> tuple[list[Schedule], dict[str, str]]:
        """The schedules of a note, and when it first had words that depend on that day."""
        assert self._met is not None
        original, path = self._copies.get(note.id, (note.id, note.path))
        name = folded_name(path)
        is_own = bool(note.journal) or schedules.names_day(note.path, note.day)
        mtime = _local(note.mtime, zone)
        written = Written(name, note.journal or note.day, mtime, self._met, is_own=is_own)
        written.former = cache(partial(self._former_name, catalog, note))
        foreign = is_foreign(note.path, note.properties, self._folder)
        is_memory = note.path.startswith(f"{self._folder}/")
        private, scope = is_private(note.properties), scope_of(note.properties, memory=is_memory)
        author = origin_of(note.properties).writer if is_memory else ""
        place = Place(note.path, note.title, foreign, written)
        asks = [ask for ask in self._schedules(note, place) if ask]
        # Even an item's own id may occur twice.
        if original in self._sharing:
            asks = [
                ask if ask.due.memory else ask._replace(due=ask.due._replace(source=path))
                for ask in asks
            ]
        if private or author or scope != EVERYBODY:
            asks = [
                ask._replace(due=ask.due._replace(private=private, scope=scope, author=author))
                for ask in asks
            ]
        if written.used:
            written.used[f"{_NOTE}{note.hash}"] = note.path
        return asks, written.used

    def _schedules(self, note: DueNote, place: Place) -> Iterator[Schedule | None]:
        """The schedules of a note. Sentences count only in notes meant as such; memories use their properties."""
        if schedules.is_generated(note.properties) or in_conversation(note.path, self._folder):
            return
        is_memory = note.path.startswith(self._folder + "/")
        plain = not (is_memory or note.excluded or schedules.is_template(note.path))
        for row in note.rows:
            if row.kind == OPENING:
                text = str(row.fields.get("text") or note.title)
                memory = memory_id(note.path, note.properties, self._folder)
                category = blocks.category(note.path, note.properties, self._folder)
                own = Own(memory, text, bool(note.journal), bool(memory) and category == REMINDERS)
                content = "" if memory else note.hash
                for one in schedules.of_properties(place, note.properties, own):
                    yield one._replace(due=one.due._replace(content=content))
            elif row.kind == TASK:
                yield from schedules.of_task(place, row.fields, plain=plain)
            elif row.kind == BLOCK:
                yield schedules.of_block(place, row.fields)
            elif plain:
                sentences = row.fields.get("said")
                for text in sentences if isinstance(sentences, list) else []:
                    yield from schedules.of_sentence(place, row.line, str(text))

    def _remember(self, used: dict[str, str], now: datetime, *, everything: bool) -> None:
        """Record since when words exist, and drop missing ones."""
        assert self._met is not None
        new = {
            key: day
            for key, day in used.items()
            if key not in self._met or (key.startswith(_NOTE) and day != self._met[key])
        }
        if BEGAN not in self._met:
            new[BEGAN] = f"{now:%Y-%m-%dT%H:%M}"
        gone = (
            {key for key in self._met if key != BEGAN and key not in used} if everything else set()
        )
        if new or gone:
            try:
                with self._ledger.writing(now.timestamp()) as db:
                    db.executemany("DELETE FROM met WHERE id = ?", [(key,) for key in gone])
                    db.executemany("INSERT OR REPLACE INTO met VALUES (?, ?)", list(new.items()))
            except StateError as error:  # due items are known; the next call tries again
                log.debug("since when words are there is not kept: %s", error)
            self._met = {key: day for key, day in (self._met | new).items() if key not in gone}


def _inode(path: str) -> int:
    try:
        return os.stat(path).st_ino
    except OSError:  # deleted while open
        return 0


def _local(seconds: float, zone: tzinfo) -> datetime:
    """The local time of a file; a time outside the calendar counts as the epoch."""
    try:
        return datetime.fromtimestamp(seconds, zone)
    except (OverflowError, ValueError, OSError):
        return datetime.fromtimestamp(0, zone)


def _order(due: Due) -> tuple[str, str, int]:
    return due.due or due.at, due.path, due.line


def _with_different_ids(dues: list[Due]) -> tuple[Due, ...]:
    alike: defaultdict[str, list[int]] = defaultdict(list)
    for at, due in enumerate(dues):
        alike[due.id].append(at)
    for places in (some for some in alike.values() if len(some) > 1):
        ids = item_ids([(dues[at].source, dues[at].key) for at in places])
        for at, id_ in zip(places, ids, strict=True):
            dues[at] = dues[at]._replace(id=id_)
    return tuple(dues)
