"""Remembers what was due, so that a note of another name does not ask and ring again for what was answered and told.

Notes are renamed while no agent runs too: what the answers and the desktop know of is kept in the state folder.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence

from vaultmem.core.answers import Answer, Told
from vaultmem.core.due import Due
from vaultmem.core.moved import Followed, followed

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
