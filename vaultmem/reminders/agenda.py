"""Everything due in a vault, from its index; after an edit only changed notes are read again."""

from __future__ import annotations

import json
import logging
import os
import threading
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
from vaultmem.light import NamedTuple
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
from vaultmem.reminders import schedules
from vaultmem.reminders.due import Due, Schedule, with_id
from vaultmem.reminders.schedules import BEGAN, Own, Place, Written
from vaultmem.text.values import EVERYBODY

log = logging.getLogger("vaultmem.reminders")


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
_NOTES = """SELECT json_group_array(json_array(n.id, f.path, n.title, n.day, n.journal, n.excluded, f.mtime_ns,
    coalesce(hex(f.hash), ''), json(n.properties), json(w.rows))) FROM
    (SELECT t.note, json_group_array(json_array(t.is_task, t.line, json(t.task))) AS rows FROM tasks t
        WHERE t.open = 1 AND NOT {copied} {chosen} GROUP BY t.note) w
    CROSS JOIN notes n ON n.id = w.note CROSS JOIN files f ON f.id = w.note"""
_ALL = _NOTES.format(copied=COPIED, chosen="")
_SOME = _NOTES.format(copied=COPIED, chosen="AND t.note IN (SELECT value FROM json_each(?))")
# Including notes whose tasks are done, so that ticking one changes no other's id.
_PATHS = """SELECT json_group_array(json_array(id, path)) FROM files
    WHERE id IN (SELECT note FROM tasks {chosen})"""
_ALL_PATHS = _PATHS.format(chosen="")
_SOME_PATHS = _PATHS.format(chosen="WHERE note IN (SELECT value FROM json_each(?))")

_NOTE = "note "  # followed by the path: the key for the content of a note whose words count from some day

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


class _Names:
    """The file names of notes with tasks, and which of these notes share one."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._notes: defaultdict[str, set[int]] = defaultdict(set)

    def follow(self, catalog: Catalog, changed: Iterable[int] | None) -> set[int]:
        """Query the names of some notes again, or of all. Returns those that begin or cease to share theirs."""
        some = None if changed is None else json.dumps(sorted(changed))
        answer = catalog.db.execute(*((_SOME_PATHS, (some,)) if some else (_ALL_PATHS,)))
        new = {id_: folded_name(path) for id_, path in json.loads(answer.fetchone()[0])}
        gone = {id_: self._names.pop(id_) for id_ in changed or () if id_ in self._names}
        names = {*gone.values(), *new.values()}
        before = self._sharing(names)
        for id_, name in gone.items():
            self._notes[name].discard(id_)
        for id_, name in new.items():
            self._notes[name].add(id_)
        self._names |= new
        return before ^ self._sharing(names)

    def is_shared(self, note: int | None) -> bool:
        """Whether other notes have the name of this one."""
        return note in self._names and len(self._notes[self._names[note]]) > 1

    def _sharing(self, names: Iterable[str]) -> set[int]:
        return {id_ for name in names if len(self._notes[name]) > 1 for id_ in self._notes[name]}


# --- Schedules of these notes


class _Entry(NamedTuple):
    """A due in the overall order. Sorting an almost sorted list is fast."""

    when: str
    path: str
    line: int
    due: Due
    note: int


class Agenda:
    """Caches the schedules of one vault's notes. Thread-safe."""

    def __init__(self, ledger: Ledger, folder: str) -> None:
        self._ledger = ledger
        self._folder = folder  # the memory folder
        self._lock = threading.Lock()
        self._index: tuple[str, int] | None = None
        self._seq: int | None = None
        self._notes: dict[int, list[Schedule]] = {}  # schedules that depend on the day
        self._names = _Names()
        # Conflict copies, each with its original and its path.
        self._copies: dict[int, tuple[int | None, str]] = {}
        self._fixed: list[_Entry] = []  # schedules independent of the day, sorted
        self._met: dict[str, str] | None = None
        self._paths: dict[str, list[str]] | None = None  # paths of known notes, by hash
        # Changing schedules, and all dues, at the last look: usually nothing has changed.
        self._listed: tuple[list[_Entry], tuple[Due, ...]] | None = None

    def dues(self, catalog: Catalog, now: datetime, answers: Answers) -> tuple[Due, ...]:
        """Everything due by that time, including closed items; `now` has a zone, and ids are unique."""
        snoozed = {id_: one for id_, one in answers.items() if one.state == SNOOZED}
        with self._lock:
            self._follow(catalog, now)
            moving = sorted(
                _entry(due, note)
                for note, schedules_of_note in self._notes.items()
                for schedule in schedules_of_note
                for due in schedule.due_at(now, answers, snoozed)
            )
            if self._listed is None or self._listed[0] != moving:
                every = sorted([*self._fixed, *moving]) if moving else self._fixed
                self._listed = moving, _with_different_ids(self._once(every))
            return self._listed[1]

    def _once(self, entries: list[_Entry]) -> dict[tuple[str, str], Due]:
        """Each item once. An item also in a conflict copy is listed from the original; a memory reworded in its copy
        has one reminder at a time, and if it repeats, the original's."""
        copies = self._copies
        originals = [entry for entry in entries if entry.note not in copies] if copies else []
        pairs = {(entry.due.source, entry.due.key) for entry in originals}
        times = {_turn(entry) for entry in originals if entry.due.memory}
        dues: dict[tuple[str, str], Due] = {}
        for entry in entries:
            pair = entry.due.source, entry.due.key
            is_copy = entry.note in copies
            if not (is_copy and (pair in pairs or _turn(entry) in times)):
                dues.setdefault(pair, entry.due)
        return dues

    def next_turn(self, now: datetime) -> str:
        """When the next occurrence of any recurring item replaces the last: a local minute, or ""."""
        with self._lock:
            moving = [schedule for schedules in self._notes.values() for schedule in schedules]
        return min((at for due in moving if (at := due.next_after(now))), default="")

    def _follow(self, catalog: Catalog, now: datetime) -> None:
        """Query notes that changed since the last time; all of them in another index."""
        index = catalog.path, _inode(catalog.path)
        since = self._seq if index == self._index else None
        seq, changed = catalog_read.changed_notes(catalog, since)
        if copies := self._follow_copies(catalog):
            self._listed = None
        if changed is None or (since is not None and seq < since):
            changed, self._names = None, _Names()
            self._names.follow(catalog, None)
        else:
            changed |= copies | self._names.follow(catalog, changed)
            changed |= {copy for copy, (original, _) in self._copies.items() if original in changed}
        if self._met is None or changed is None:
            rows = self._ledger.rows(
                "SELECT id, day FROM met", lambda row: (str(row[0]), str(row[1]))
            )
            self._met = dict(rows)
        if changed is None or changed:
            self._read(catalog, changed, now)
        self._index, self._seq = index, seq

    def _follow_copies(self, catalog: Catalog) -> set[int]:
        """Query conflict copies again. Returns notes that begin or cease to be one."""
        before = self._copies
        self._copies = {
            copy: (original, path)
            for copy, original, path in catalog.db.execute(_COPIES).fetchall()
        }
        return {copy for copy, _ in before.items() ^ self._copies.items()}

    def _read(self, catalog: Catalog, changed: set[int] | None, now: datetime) -> None:
        notes, self._paths = notes_with_times(catalog, changed), None
        if changed is None:
            self._notes, self._fixed, self._listed = {}, [], None
        for id_ in changed or ():
            self._notes.pop(id_, None)
        fixed: list[_Entry] = []
        used: dict[str, str] = {}
        for note in notes:
            asks, own_used = self._read_note(catalog, note, now.tzinfo or UTC)
            if moving := [ask for ask in asks if not ask.is_fixed]:
                self._notes[note.id] = moving
            own = (with_id(ask.due, ask.key) for ask in asks if ask.is_fixed)
            fixed += (_entry(due, note.id) for due in own)
            used |= own_used
        fixed.sort()
        if fixed != [entry for entry in self._fixed if entry.note in (changed or ())]:
            kept = (entry for entry in self._fixed if entry.note not in (changed or ()))
            self._fixed, self._listed = sorted([*kept, *fixed]), None
        self._remember(used, now, everything=changed is None and bool(catalog.meta("synced")))

    def _former_name(self, catalog: Catalog, note: DueNote) -> str:
        """The former name of the note: that of a missing note with the same content."""
        met = self._met or {}
        if f"{_NOTE}{note.path}" in met:
            return ""
        if self._paths is None:
            self._paths = defaultdict(list)
            for key, value in met.items():
                if key.startswith(_NOTE):
                    self._paths[value].append(key[len(_NOTE) :])
        paths = self._paths.get(note.hash, ())
        exists = "SELECT 1 FROM files WHERE path = ?"
        gone = (path for path in paths if not catalog.db.execute(exists, (path,)).fetchone())
        return folded_name(next(gone, ""))

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
        if self._names.is_shared(original):
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
            written.used[f"{_NOTE}{note.path}"] = note.hash
        return asks, written.used

    def _schedules(self, note: DueNote, place: Place) -> Iterator[Schedule | None]:
        """The schedules of a note. Sentences count only in notes meant as such; memories use their properties."""
        if schedules.is_generated(note.properties) or in_conversation(note.path, self._folder):
            return
        is_memory = note.path.startswith(self._folder + "/")
        plain = not (is_memory or note.excluded or schedules.is_template(note.path))
        for row in note.rows:
            if row.kind == OPENING:
                own = self._own(note, str(row.fields.get("text") or note.title))
                content = "" if own.memory else note.hash
                for one in schedules.of_properties(place, note.properties, own):
                    yield one._replace(due=one.due._replace(content=content))
            elif row.kind == TASK:
                yield schedules.of_task(place, row.fields, plain=plain)
            elif row.kind == BLOCK:
                yield schedules.of_block(place, row.fields)
            elif plain:
                sentences = row.fields.get("said")
                for text in sentences if isinstance(sentences, list) else []:
                    yield schedules.of_sentence(place, row.line, str(text))

    def _own(self, note: DueNote, text: str) -> Own:
        memory = memory_id(note.path, note.properties, self._folder)
        category = blocks.category(note.path, note.properties, self._folder)
        return Own(memory, text, bool(note.journal), bool(memory) and category == REMINDERS)

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


def _entry(due: Due, note: int) -> _Entry:
    return _Entry(due.due or due.at, due.path, due.line, due, note)


def _turn(entry: _Entry) -> tuple[str, str]:
    return entry.due.memory, "" if entry.due.rolls else entry.when


def _with_different_ids(dues: dict[tuple[str, str], Due]) -> tuple[Due, ...]:
    if len({due.id for due in dues.values()}) < len(dues):
        alike: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
        for pair, due in dues.items():
            alike[due.id].append(pair)
        for pairs in (some for some in alike.values() if len(some) > 1):
            for pair, id_ in zip(pairs, item_ids(pairs), strict=True):
                dues[pair] = dues[pair]._replace(id=id_)
    return tuple(dues.values())
