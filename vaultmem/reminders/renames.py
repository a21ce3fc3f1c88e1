"""Keeps answers and notifications with items whose ids change: in a renamed note, in a note that shares its name with
another for a while, in a line that moves to another note.

What has gone from one place and come to another with the same meaning is one item. A copy only takes the notification;
a reworded line keeps its notification and its snooze, but not an answer of done.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, takewhile

from vaultmem.light import TYPE_CHECKING, NamedTuple
from vaultmem.memories.item_answers import (
    OPEN,
    SNOOZED,
    Answer,
    approval_id,
    completion_id,
    state_of,
)
from vaultmem.paths import replace_private
from vaultmem.reminders.due import Due, shift, with_id
from vaultmem.text.times import seconds

if TYPE_CHECKING:
    from vaultmem.synclog.log_entries import Notified

ALIKE = 0.75  # share of letters for words to count as corrected
KEEP_FOR = 600.0  # seconds between the two halves of a rename: sync programs delete first, or last
_LONGEST = 200  # characters compared
_MOST = 5_000  # dues in the file
_LONGEST_FILE = 32_000_000  # characters
_FORM = (*map(type, Due("", "", "", "", "", "", 0, "")), float)

_Key = tuple[object, ...]
_Place = tuple[str, _Key, int]  # path, meaning, and number among the same ones there


class Entries(NamedTuple):
    """Answers and notifications, by the ids of the items."""

    answers: Mapping[str, Answer]
    notified: Mapping[str, Notified]


class Moved(NamedTuple):
    """Entries to record under new ids."""

    answers: dict[str, Answer]
    notified: dict[str, Notified]


class _Seen(NamedTuple):
    due: Due
    came: float = 0.0  # since when it has been in its place; 0 if always, or unknown
    gone: float = 0.0  # when it was first missed


class Renames:
    """What was due in one vault at the last look, and what has gone lately. Not thread-safe."""

    def __init__(self, file: str, vault: str) -> None:
        self._file, self._vault = file, vault
        self._saved: list[_Seen] | None = None  # content of the file
        self._kept: tuple[Sequence[Due], Entries] | None = None
        self._there: dict[_Place, _Seen] = {}
        self._gone: dict[_Place, _Seen] = {}

    @property
    def has_looked(self) -> bool:
        """Whether this object knows what was due at the last look, and need not read it."""
        return self._saved is not None

    def follow(self, dues: Sequence[Due], entries: Entries, now: float) -> Moved:
        """The entries to record for dues that are new since the last time, before `keep`."""
        if self._kept == (dues, entries):
            return Moved({}, {})
        self._kept, is_first = None, self._saved is None
        if is_first:
            self._load()
        left, self._there = self._there, {}
        # What the file would not have may have been there all the time.
        saved = {meaning for _, meaning, _ in left} if is_first else None
        fresh, renamed = list[_Place](), dict[_Place, _Seen]()
        for place, due in _by_place(dues):
            known = left.pop(place, None)
            if known is None:
                fresh.append(place)
            elif known.due.id != due.id:
                renamed[place] = known
            came = now if saved is None or place[1] in saved else 0.0
            self._there[place] = _Seen(due, known.came if known else came)
        gone = {place: seen._replace(gone=now) for place, seen in left.items()} | self._gone
        self._gone = {
            place: seen
            for place, seen in gone.items()
            if place not in self._there and abs(now - seen.gone) <= KEEP_FOR
        }
        moved = self._found_again(entries, now, renamed)
        if fresh:
            self._notify_no_more(fresh, entries, moved)
        return moved

    def _found_again(self, entries: Entries, now: float, renamed: dict[_Place, _Seen]) -> Moved:
        """The entries of what has gone from one place and come to another, and of what has another id in its place."""
        moved, there = Moved({}, {}), self._there
        came = [place for place, seen in there.items() if abs(now - seen.came) <= KEEP_FOR]
        came.sort(key=lambda place: there[place].came, reverse=True)  # before an earlier copy of it
        for _, group in groupby(came if self._gone else (), lambda place: there[place].came):
            places = {*group}
            for key in (_meaning, _line):
                for old, new in self._matches(places, key):
                    seen, due = self._gone.pop(old), there[new].due
                    places.discard(new)
                    renamed.pop(new, None)
                    there[new] = _Seen(due)
                    is_same = key is _meaning or state_of(entries.answers, seen.due.id) == SNOOZED
                    _move(moved, entries, seen, due, answers=is_same)
                    if key is _meaning and not os.path.lexists(
                        os.path.join(self._vault, seen.due.path)
                    ):
                        ids = completion_id(seen.due.path), completion_id(due.path)
                        _answer(moved, entries, *ids)
        for place, seen in renamed.items():
            _move(moved, entries, seen, there[place].due)
        return moved

    def _notify_no_more(self, fresh: list[_Place], entries: Entries, moved: Moved) -> None:
        """A copy of something takes its notification."""
        every = (*self._gone.items(), *self._there.items())
        notified = {
            place[1]: entries.notified[seen.due.id]
            for place, seen in every
            if seen.due.id in entries.notified
        }
        for place in fresh:
            id_, record = self._there[place].due.id, notified.get(place[1])
            if record and id_ not in entries.notified:
                moved.notified.setdefault(id_, record._replace(id=id_))

    def _matches(
        self, came: Iterable[_Place], key: Callable[[Due], _Key]
    ) -> list[tuple[_Place, _Place]]:
        """Places of one item before and after: only certain ones, as an answer is for one item."""
        old, new = defaultdict[_Key, list[_Place]](list), defaultdict[_Key, list[_Place]](list)
        for place, seen in self._gone.items():
            old[key(seen.due)].append(place)
        for place in came:
            new[key(self._there[place].due)].append(place)
        pairs = []
        for group, places in new.items():
            for place in places:
                due = self._there[place].due
                alike = [one for one in old[group] if _is_alike(self._gone[one].due, due)]
                one = _nearest(place, [each for each in alike if self._is_later(place, each)])
                if one and place == _nearest(one, [p for p in places if self._is_later(p, one)]):
                    pairs.append((one, place))
        return pairs

    def _is_later(self, place: _Place, gone: _Place) -> bool:
        """Whether it came later than what is gone now: what came earlier is no rename of it."""
        return self._there[place].came > self._gone[gone].came

    def keep(self, dues: Sequence[Due], entries: Entries) -> None:
        """Store the state for the next process: dues with entries, and possible matches for them."""
        if self._kept == (dues, entries):
            return
        self._kept = dues, entries
        wanted = {
            place[1] for place, seen in self._there.items() if _has_entries(seen.due, entries)
        }
        saved = [seen for place, seen in self._there.items() if place[1] in wanted]
        saved = sorted(saved, key=lambda seen: (seen.due.at, seen.due.id))[-_MOST:]
        if saved == self._saved:
            return
        with contextlib.suppress(OSError):  # then a rename without an agent notifies again
            replace_private(self._file, json.dumps([[*due, came] for due, came, _ in saved]))
            self._saved = saved

    def _load(self) -> None:
        self._saved = []
        try:
            with open(self._file, encoding="utf-8") as file:
                rows = json.loads(file.read(_LONGEST_FILE))
        except (OSError, ValueError, RecursionError):
            return
        rows = [row for row in rows if isinstance(row, list)] if isinstance(rows, list) else []
        self._saved = [
            _Seen(Due(*row[:-1]), row[-1]) for row in rows if tuple(map(type, row)) == _FORM
        ]
        by_due = {seen.due: seen for seen in self._saved}
        self._there = {place: by_due[due] for place, due in _by_place(by_due)}


def _by_place(dues: Iterable[Due]) -> Iterator[tuple[_Place, Due]]:
    seen = Counter[tuple[str, _Key]]()
    for due in dues:
        pair = due.path, _meaning(due)
        yield (*pair, seen[pair]), due
        seen[pair] += 1


def _meaning(due: Due) -> _Key:
    when = ("", due.due[10:]) if due.rolls else (due.due, due.at)
    return due.kind, due.content or due.text, due.repeat, *when, due.foreign


def _line(due: Due) -> _Key:
    return due.kind, due.path, due.line, due.due, due.at, due.foreign


def _is_alike(one: Due, other: Due) -> bool:
    """Whether the words are the same, or have been corrected."""
    if one.content or one.text == other.text:
        return True
    from difflib import SequenceMatcher  # most lines do not change

    words = SequenceMatcher(None, one.text[:_LONGEST], other.text[:_LONGEST], autojunk=False)
    return bool(other.line) and words.ratio() >= ALIKE


def _nearest(place: _Place, others: Iterable[_Place]) -> _Place | None:
    """The place that shares most names at the end of its path, as in a renamed folder; None if several do."""
    near: defaultdict[int, list[_Place]] = defaultdict(list)
    for other in others:
        names = zip(reversed(place[0].split("/")), reversed(other[0].split("/")), strict=False)
        near[sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], names))].append(other)
    best = near[max(near, default=0)]
    return best[0] if len(best) == 1 else None


def _has_entries(due: Due, entries: Entries) -> bool:
    ids = (due.id, due.series, completion_id(due.path))
    is_answered = any(id_ in entries.answers for id_ in ids)
    return is_answered or due.id in entries.notified or (due.rolls and not due.memory)


def _move(moved: Moved, entries: Entries, old: _Seen, due: Due, *, answers: bool = True) -> None:
    """Copy the entries of an item to its new ids."""
    before = old.due
    if before.rolls and before.due != due.due:  # the occurrence at the same time
        before = with_id(shift(before, due.due))
    pairs = [
        (before.id, due.id),
        (approval_id(before.id), approval_id(due.id)),
        (before.series, due.series),
    ]
    for old_id, new_id in pairs if answers else ():
        _answer(moved, entries, old_id, new_id, old.came)
    if before.id in entries.notified and due.id not in entries.notified:
        moved.notified[due.id] = entries.notified[before.id]._replace(id=due.id)


def _answer(moved: Moved, entries: Entries, old: str, new: str, since: float = 0.0) -> None:
    """Copy an answer to the new id, which may have an earlier one of another item."""
    if old == new:
        return
    answer, known = entries.answers.get(old), entries.answers.get(new)
    if answer and (known is None or answer.at > known.at):
        moved.answers[new] = answer._replace(id=new)
    elif known and not answer and known.state != OPEN and (seconds(known.at) or 0.0) < since:
        moved.answers[new] = known._replace(state=OPEN, until="")
