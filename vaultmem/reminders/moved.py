"""What was answered and told stays with what is only somewhere else now: in a note of another name, in a copy of it.

A line that was worded anew keeps what the desktop told of it and until when it sleeps; done it was not.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from vaultmem.reminders.answers import SNOOZED, Answer, Told
from vaultmem.reminders.due import Due
from vaultmem.reminders.pending_items import approval, completion

ALIKE = 0.75  # of the letters, for words to be the same ones mended
_LONGEST = 200  # characters that are compared


class Followed(NamedTuple):
    """What is to be kept under new ids as well."""

    answers: list[Answer]
    told: list[Told]


def followed(
    before: Mapping[str, Due],
    after: Iterable[Due],
    answers: Mapping[str, Answer],
    told: Mapping[str, Told],
) -> Followed:
    """What of the answers, and of what was told, goes on to those `after` that were not there `before`."""
    now = {due.id: due for due in after}
    fresh = [due for id_, due in now.items() if id_ not in before]
    if not fresh or not before:
        return Followed([], [])
    there = _Before(before, now)
    found = Followed([], [])
    for due in fresh:
        moved = there.moved(due)
        mended = None if moved else there.mended(due)
        if moved:
            found.answers.extend(_renamed(moved, due, answers))
        elif mended and mended.id in answers and answers[mended.id].state == SNOOZED:
            found.answers.extend(_one(mended.id, due.id, answers))
        heard = next(filter(None, (told.get(id_) for id_ in there.told(due, mended))), None)
        if heard and due.id not in told:
            found.told.append(heard._replace(id=due.id))
    return found


class _Before:
    """What was there, to be found by what it says and by where it stood."""

    def __init__(self, before: Mapping[str, Due], now: Mapping[str, Due]) -> None:
        self._saying: dict[tuple[str, ...], list[Due]] = {}
        self._standing: dict[tuple[str, ...], list[Due]] = {}
        self._now = now
        for due in before.values():
            self._saying.setdefault(_saying(due), []).append(due)
            if due.id not in now:
                self._standing.setdefault(_standing(due), []).append(due)

    def moved(self, due: Due) -> Due | None:
        """The one that is gone and said just this; None when there are two, and nobody knows which."""
        gone = [one for one in self._saying.get(_saying(due), ()) if one.id not in self._now]
        return gone[0] if len(gone) == 1 else None

    def mended(self, due: Due) -> Due | None:
        """The one that is gone, stood in this line and said nearly this."""
        gone = self._standing.get(_standing(due), ())
        if len(gone) != 1 or not due.line:
            return None
        words = SequenceMatcher(None, gone[0].text[:_LONGEST], due.text[:_LONGEST], autojunk=False)
        return gone[0] if words.ratio() >= ALIKE else None

    def told(self, due: Due, mended: Due | None) -> list[str]:
        """The ids of all that said it: of a copy nobody has to be told again."""
        same = self._saying.get(_saying(due), ())
        return [*(one.id for one in same), *([mended.id] if mended else [])]


def _saying(due: Due) -> tuple[str, ...]:
    return due.kind, due.text, due.due, due.at, str(due.foreign)


def _standing(due: Due) -> tuple[str, ...]:
    return due.kind, due.path, str(due.line), due.due, due.at, str(due.foreign)


def _renamed(old: Due, new: Due, answers: Mapping[str, Answer]) -> Iterable[Answer]:
    yield from _one(old.id, new.id, answers)
    yield from _one(approval(old.id), approval(new.id), answers)
    yield from _one(completion(old.path), completion(new.path), answers)
    yield from _one(old.series, new.series, answers)


def _one(old: str, new: str, answers: Mapping[str, Answer]) -> Iterable[Answer]:
    if old in answers and new not in answers:
        yield answers[old]._replace(id=new)


# Remembers what was due, so that a note of another name does not ask and ring again for what was answered and told.

KEPT = 600.0  # seconds that what is gone may come back elsewhere: sync programs delete first
_MOST = 5_000  # that are kept in the file
_LONGEST_FILE = 32_000_000  # characters
_FORM = tuple(type(field) for field in Due("", "", "", "", "", "", 0, ""))


class Following:
    """What was due in one vault at the last look. Not for several threads at once."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._kept: list[Due] | None = None  # what the file holds
        self._before: dict[str, Due] = {}
        self._seen: dict[str, float] = {}  # when what is gone was there last

    def look(
        self,
        dues: Sequence[Due],
        answers: Mapping[str, Answer],
        told: Mapping[str, Told],
        now: float,
    ) -> Followed:
        """What is to be recorded for those that have come since the last look."""
        if self._kept is None:
            self._load(now)
        found = followed(self._before, dues, answers, told)
        there = {due.id: due for due in dues}
        gone = {
            id_: self._seen.get(id_, now)
            for id_ in self._before
            if id_ not in there and abs(now - self._seen.get(id_, now)) <= KEPT
        }
        self._before = {id_: self._before[id_] for id_ in gone} | there
        self._seen = gone
        self.keep(dues, answers, told)
        return found

    def keep(
        self, dues: Iterable[Due], answers: Mapping[str, Answer], told: Mapping[str, Told]
    ) -> None:
        """Write down what a later process has to know of the last look."""
        self._save(
            due for due in dues if due.id in answers or due.series in answers or due.id in told
        )

    def _load(self, now: float) -> None:
        self._kept = []
        try:
            with open(self._file, encoding="utf-8") as file:
                rows = json.loads(file.read(_LONGEST_FILE))
        except (OSError, ValueError, RecursionError):
            return
        for row in rows if isinstance(rows, list) else []:
            if isinstance(row, list) and tuple(map(type, row)) == _FORM:
                self._before[row[0]] = Due(*row)
        self._kept = list(self._before.values())
        self._seen = dict.fromkeys(self._before, now)

    def _save(self, dues: Iterable[Due]) -> None:
        kept = list(dues)
        if kept == self._kept:
            return
        rows = sorted(kept, key=lambda due: (due.at, due.id))[-_MOST:]
        temp = f"{self._file}.{os.getpid()}.tmp"
        with contextlib.suppress(OSError):  # then a rename without an agent rings once more
            with open(os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
                json.dump(rows, file)
            os.replace(temp, self._file)
            self._kept = kept
