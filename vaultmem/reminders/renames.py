"""Answers and notifications stay with what is only somewhere else now: in a note of another name, in a copy of it.

A line that was reworded keeps its notification and its snooze; done it was not.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher

from vaultmem.memories.item_answers import SNOOZED, approval_id, completion_id
from vaultmem.reminders.due import Due
from vaultmem.reminders.record import Entries

ALIKE = 0.75  # of the letters, for words to be the same ones mended
KEEP_FOR = 600.0  # seconds that what is gone may come back elsewhere: sync programs delete first
_LONGEST = 200  # characters that are compared
_MOST = 5_000  # dues in the file
_LONGEST_FILE = 32_000_000  # characters
_FORM = tuple(type(field) for field in Due("", "", "", "", "", "", 0, ""))


class Renames:
    """What was due in one vault at the last look. Not for several threads at once."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._saved: list[Due] | None = None  # what the file holds
        self._before: dict[str, Due] = {}
        self._last_seen: dict[str, float] = {}  # of what is gone

    def follow(self, dues: Sequence[Due], entries: Entries, now: float) -> Entries:
        """What is to be recorded for those that have come since the last time."""
        if self._saved is None:
            self._load(now)
        moved = moved_entries(self._before, dues, entries)
        there = {due.id: due for due in dues}
        self._last_seen = {
            id_: self._last_seen.get(id_, now)
            for id_ in self._before
            if id_ not in there and abs(now - self._last_seen.get(id_, now)) <= KEEP_FOR
        }
        self._before = {id_: self._before[id_] for id_ in self._last_seen} | there
        self.keep(dues, entries)
        return moved

    def keep(self, dues: Iterable[Due], entries: Entries) -> None:
        """Write down what a later process has to know."""
        known = {*entries.answers, *entries.notified}
        saved = [due for due in dues if due.id in known or due.series in entries.answers]
        if saved == self._saved:
            return
        rows = sorted(saved, key=lambda due: (due.at, due.id))[-_MOST:]
        temp = f"{self._file}.{os.getpid()}.tmp"
        with contextlib.suppress(OSError):  # then a rename without an agent notifies once more
            with open(os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
                json.dump(rows, file)
            os.replace(temp, self._file)
            self._saved = saved

    def _load(self, now: float) -> None:
        self._saved = []
        try:
            with open(self._file, encoding="utf-8") as file:
                rows = json.loads(file.read(_LONGEST_FILE))
        except (OSError, ValueError, RecursionError):
            return
        for row in rows if isinstance(rows, list) else []:
            if isinstance(row, list) and tuple(map(type, row)) == _FORM:
                self._before[row[0]] = Due(*row)
        self._saved = list(self._before.values())
        self._last_seen = dict.fromkeys(self._before, now)


def moved_entries(before: Mapping[str, Due], after: Iterable[Due], entries: Entries) -> Entries:
    """What of the entries goes on to those `after` that were not there `before`."""
    now = {due.id: due for due in after}
    by_meaning: defaultdict[tuple[object, ...], list[Due]] = defaultdict(list)
    by_line: defaultdict[tuple[object, ...], list[Due]] = defaultdict(list)
    for due in before.values() if now.keys() - before.keys() else ():
        by_meaning[_meaning(due)].append(due)
        if due.id not in now:
            by_line[_line(due)].append(due)
    moved = Entries({}, {})
    for due in (now[id_] for id_ in now if id_ not in before and by_meaning):
        same = by_meaning[_meaning(due)]
        gone = [one for one in same if one.id not in now]
        mended = _repair(due, by_line[_line(due)]) if len(gone) != 1 else []
        pairs = _renamed_ids(gone[0], due) if len(gone) == 1 else []  # of two nobody knows which
        for one in mended:
            answer = entries.answers.get(one.id)
            pairs = [(one.id, due.id)] if answer and answer.state == SNOOZED else []
        for old, new in pairs:
            if old in entries.answers and new not in entries.answers:
                moved.answers[new] = entries.answers[old]._replace(id=new)
        # Of a copy a person need not be notified again.
        records = [entries.notified.get(one.id) for one in (*same, *mended)]
        record = next(filter(None, records), None)
        if record and due.id not in entries.notified:
            moved.notified[due.id] = record._replace(id=due.id)
    return moved


def _meaning(due: Due) -> tuple[object, ...]:
    return due.kind, due.text, due.due, due.at, due.foreign


def _line(due: Due) -> tuple[object, ...]:
    return due.kind, due.path, due.line, due.due, due.at, due.foreign


def _repair(due: Due, gone: Sequence[Due]) -> list[Due]:
    """The one that is gone, was in this line with nearly these words."""
    if len(gone) != 1 or not due.line:
        return []
    words = SequenceMatcher(None, gone[0].text[:_LONGEST], due.text[:_LONGEST], autojunk=False)
    return list(gone) if words.ratio() >= ALIKE else []


def _renamed_ids(old: Due, new: Due) -> list[tuple[str, str]]:
    """The ids of what can be answered about it."""
    return [
        (old.id, new.id),
        (approval_id(old.id), approval_id(new.id)),
        (completion_id(old.path), completion_id(new.path)),
        (old.series, new.series),
    ]
