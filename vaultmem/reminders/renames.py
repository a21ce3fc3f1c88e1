"""Keeps answers and notifications with items that merely moved: to a renamed note, or to a copy. A reworded line
keeps its notification and its snooze, but not an answer of done."""

from __future__ import annotations

import contextlib
import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import takewhile

from vaultmem.light import TYPE_CHECKING, NamedTuple
from vaultmem.memories.item_answers import (
    OPEN,
    SNOOZED,
    Answer,
    approval_id,
    completion_id,
    item_id,
    state_of,
)
from vaultmem.notes.places import folded_name
from vaultmem.paths import replace_private
from vaultmem.reminders.due import SENTENCE, TASK, Due, shift, with_id
from vaultmem.text.times import seconds

if TYPE_CHECKING:
    from vaultmem.synclog.log_entries import Notified

ALIKE = 0.75  # share of letters for words to count as corrected
KEEP_FOR = 600.0  # seconds between the two halves of a rename: sync programs delete first, or last
_LONGEST = 200  # characters compared
_MOST = 5_000  # dues in the file
_LONGEST_FILE = 32_000_000  # characters
_FORM = tuple(type(field) for field in Due("", "", "", "", "", "", 0, ""))
_LEAST = 8  # required fields of a due


_Key = tuple[object, ...]
IsThere = Callable[[str], bool]  # whether there is a file at a path of the vault


class Entries(NamedTuple):
    """Answers and notifications, by the ids of the items."""

    answers: Mapping[str, Answer]
    notified: Mapping[str, Notified]


class Moved(NamedTuple):
    """Entries to record under new ids."""

    answers: dict[str, Answer]
    notified: dict[str, Notified]


class Arrivals(NamedTuple):
    """Since when items are in their notes, by id."""

    since: Mapping[str, float]  # of those that were always there, or not known to have come: 0
    fresh: Collection[str]  # ids of those that may be the first half of a rename


NO_ARRIVALS = Arrivals({}, ())


class Renames:
    """What was due in one vault at the last look. Not thread-safe."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._saved: list[Due] | None = None  # content of the file
        self._kept: tuple[Sequence[Due], Entries] | None = None
        self._before: dict[str, Due] = {}
        self._last_seen: dict[str, float] = {}  # of missing dues
        self._since: dict[str, float] = {}

    def follow(self, dues: Sequence[Due], entries: Entries, now: float, is_there: IsThere) -> Moved:
        """The entries to record for dues that are new since the last time, before `keep`."""
        if self._kept == (dues, entries):
            self._forget_gone(now)
            return Moved({}, {})
        self._kept = None
        is_first = self._saved is None
        if is_first:
            self._load()
        there = {due.id: due for due in dues}
        new = there.keys() - self._before.keys()
        self._since |= self._arrivals([there[id_] for id_ in new], now, is_first=is_first)
        is_any_gone = bool(self._before.keys() - there.keys() - self._last_seen.keys())
        fresh = _recent(self._since, now).keys() if is_any_gone else set[str]()
        arrivals = Arrivals(self._since, fresh)
        moved = moved_entries(self._before, dues, entries, is_there, arrivals)
        gone = {id_: self._last_seen.get(id_, now) for id_ in self._before if id_ not in there}
        self._last_seen = _recent(gone, now)
        candidates = [self._before[id_] for id_ in self._last_seen]
        for id_ in _found_again(candidates, [there[id_] for id_ in new | (fresh & there.keys())]):
            del self._last_seen[id_]  # otherwise two would have the next name
        self._before = {id_: self._before[id_] for id_ in self._last_seen} | there
        self._since = {id_: self._since[id_] for id_ in self._before}
        return moved

    def _forget_gone(self, now: float) -> None:
        recent = _recent(self._last_seen, now)
        for id_ in self._last_seen.keys() - recent:
            del self._before[id_], self._since[id_]
        self._last_seen = recent

    def _arrivals(self, new: Iterable[Due], now: float, *, is_first: bool) -> dict[str, float]:
        """Since when dues of new ids are in their notes. At the first look it is not known, except of what would be in
        the file if it had been there."""
        homes = {(due.path, _meaning(due)): self._since[id_] for id_, due in self._before.items()}
        saved = {meaning for _, meaning in homes}
        since: dict[str, float] = {}
        for due in new:
            meaning = _meaning(due)
            arrived = now if meaning in saved or not is_first else 0.0
            since[due.id] = homes.get((due.path, meaning), arrived)
        return since

    def keep(self, dues: Sequence[Due], entries: Entries) -> None:
        """Store the state for the next process: dues with entries, and possible matches for them."""
        if self._kept == (dues, entries):
            return
        self._kept = dues, entries
        answers, notified = entries
        pairs = [(due, _meaning(due)) for due in dues]
        meanings = {
            meaning
            for due, meaning in pairs
            if due.id in notified
            or due.id in answers
            or due.series in answers
            or completion_id(due.path) in answers
            or (due.rolls and not due.memory)
        }
        saved = [due for due, meaning in pairs if meaning in meanings]
        if saved == self._saved:
            return
        rows = sorted(saved, key=lambda due: (due.at, due.id))[-_MOST:]
        since = {due.id: self._since.get(due.id, 0.0) for due in rows}
        with contextlib.suppress(OSError):  # then a rename without an agent notifies again
            replace_private(self._file, json.dumps([*rows, since]))
            self._saved = saved

    def _load(self) -> None:
        self._saved = []
        try:
            with open(self._file, encoding="utf-8") as file:
                rows = json.loads(file.read(_LONGEST_FILE))
        except (OSError, ValueError, RecursionError):
            return
        since: dict[str, float] = {}
        for row in rows if isinstance(rows, list) else []:
            if isinstance(row, dict):  # earlier versions pass over it
                since = {id_: at for id_, at in row.items() if isinstance(at, float)}
            if not isinstance(row, list) or tuple(map(type, row)) != _FORM[: max(len(row), _LEAST)]:
                continue
            due = Due(*row)
            # Earlier versions did not record the source of the id.
            known = due if due.source else with_id(due._replace(source=folded_name(due.path)))
            self._before[due.id] = known._replace(id=due.id)
        self._saved = list(self._before.values())
        self._since = {id_: since.get(id_, 0.0) for id_ in self._before}


def _recent(times: Mapping[str, float], now: float) -> dict[str, float]:
    return {id_: at for id_, at in times.items() if abs(now - at) <= KEEP_FOR}


def moved_entries(
    before: Mapping[str, Due], after: Iterable[Due], entries: Entries, is_there: IsThere,
    arrivals: Arrivals = NO_ARRIVALS,
) -> Moved:  # fmt: skip
    """The entries that carry over to dues in `after` that were not in `before`, or are `fresh`, or in another note.
    The consent to tick tasks in a note carries over if the note is gone from its place."""
    now = {due.id: due for due in after}
    new = (now.keys() - before.keys()).union(arrivals.fresh)
    former = before.values() if new else ()
    by_meaning = _grouped(former, _meaning)
    by_line = _grouped((due for due in former if due.id not in now), _line)
    turns = _grouped((due for due in former if due.kind == SENTENCE), _turn)
    homes = {(due.path, _meaning(due)) for due in now.values()} if by_meaning else set()
    rivals = _grouped((due for id_, due in now.items() if id_ not in before), _meaning)
    moved, claimed, since = Moved({}, {}), set[str](), arrivals.since
    for due in sorted(now.values(), key=lambda due: due.id in before):  # a rename before a copy
        known = before.get(due.id)
        if known and known.path != due.path and not is_there(known.path):
            _move(moved, entries, [_consents(known, due)])
        if due.id not in new or not by_meaning:
            continue
        same = by_meaning[_meaning(due)]
        missed = [entry for entry in same if entry.id not in now]
        if known:  # it may be a copy of one that was there before it
            at = since.get(due.id, 0.0)
            missed = [
                one for one in missed if one.id not in claimed and since.get(one.id, 0.0) < at
            ]
        gone = _gone(due, missed, homes, arrivals.fresh)
        reworded: list[Due] = []
        if len(gone) == 1 and _is_nearest(due, gone[0], rivals[_meaning(due)]):  # else ambiguous
            old = gone[0]
            claimed.add(old.id)
            ids = _new_ids(old, due, turns[_turn(old)])
            _move(moved, entries, ids, since.get(old.id, 0.0))
            if not is_there(old.path):
                _move(moved, entries, [_consents(old, due)])
        elif not known:
            reworded = _repair(due, by_line[_line(due)])
            snoozed = [one.id for one in reworded if state_of(entries.answers, one.id) == SNOOZED]
            _move(moved, entries, [(id_, due.id) for id_ in snoozed])
        records = [entries.notified.get(one.id) for one in (*same, *reworded)]
        if due.id not in entries.notified and (record := next(filter(None, records), None)):
            moved.notified[due.id] = record._replace(id=due.id)  # a copy notifies no more
    return moved


def _grouped(dues: Iterable[Due], key: Callable[[Due], _Key]) -> defaultdict[_Key, list[Due]]:
    groups: defaultdict[_Key, list[Due]] = defaultdict(list)
    for due in dues:
        groups[key(due)].append(due)
    return groups


def _found_again(gone: Iterable[Due], new: Iterable[Due]) -> list[str]:
    """The ids of dues that have moved or been reworded."""
    meanings, lines = set[_Key](), dict[_Key, Due]()
    for due in new:
        meanings.add(_meaning(due))
        lines[_line(due)] = due
    return [
        due.id
        for due in gone
        if _meaning(due) in meanings
        or ((mended := lines.get(_line(due))) and _repair(mended, [due]))
    ]


def _move(
    moved: Moved, entries: Entries, pairs: Iterable[tuple[str, str]], since: float = 0.0
) -> None:
    """Copy the entries of old ids to new ones that have none."""
    for old, new in pairs:
        answer, known = entries.answers.get(old), entries.answers.get(new)
        if answer and (known is None or answer.at > known.at):
            moved.answers[new] = answer._replace(id=new)
        elif known and not answer and known.state != OPEN and (seconds(known.at) or 0.0) < since:
            moved.answers[new] = known._replace(state=OPEN, until="")
        if old in entries.notified and new not in entries.notified:
            moved.notified[new] = entries.notified[old]._replace(id=new)


def _gone(
    due: Due, gone: Sequence[Due], homes: Collection[object], fresh: Collection[str]
) -> list[Due]:
    """Missing dues with the same meaning: the one in the note itself, whose id changed because a note of the same
    name appeared or disappeared elsewhere; else those that are gone from their notes, the nearest by path."""
    here = [entry for entry in gone if entry.path == due.path and entry.id not in fresh]
    matches = here or [entry for entry in gone if (entry.path, _meaning(entry)) not in homes]
    # In a renamed folder, notes keep their paths below it.
    tails = [_shared_tail(entry.path, due.path) for entry in matches]
    longest = max(tails, default=0)
    return [entry for entry, tail in zip(matches, tails, strict=True) if tail == longest]


def _is_nearest(due: Due, gone: Due, rivals: Iterable[Due]) -> bool:
    """Whether no other new due may as well be the missing one: an answer is for one item."""
    tail = _shared_tail(gone.path, due.path)
    others = (one for one in rivals if one.path != due.path)
    return all(_shared_tail(gone.path, one.path) < tail for one in others)


def _shared_tail(one: str, other: str) -> int:
    """The number of names at the end that two paths share."""
    pairs = zip(reversed(one.split("/")), reversed(other.split("/")), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _consents(gone: Due, due: Due) -> tuple[str, str]:
    return completion_id(gone.path), completion_id(due.path)


def _meaning(due: Due) -> _Key:
    when = ("", due.due[10:]) if due.rolls else (due.due, due.at)
    return due.kind, due.content or due.text, due.repeat, *when, due.foreign


def _turn_of(gone: Due, due: Due) -> Due:
    """Of a recurring item in a note, the occurrence at the time of another."""
    if not gone.rolls or gone.due == due.due:
        return gone
    return with_id(shift(gone, due.due))


def _new_ids(gone: Due, due: Due, turns: Iterable[Due]) -> Iterator[tuple[str, str]]:
    """Pairs of old and new ids; for a repeating task also those of its occurrences, each of which follows the answer
    to the previous one."""
    yield from zip(_ids(_turn_of(gone, due)), _ids(due), strict=True)
    for turn in turns if gone.kind == TASK and gone.repeat else ():
        moved = due._replace(id=item_id(due.source, turn.key))
        yield from zip(_ids(turn)[:2], _ids(moved)[:2], strict=True)


def _turn(due: Due) -> _Key:
    return due.source, due.line


def _line(due: Due) -> _Key:
    return due.kind, due.path, due.line, due.due, due.at, due.foreign


def _repair(due: Due, gone: Sequence[Due]) -> list[Due]:
    """The missing due of this line with nearly the same words."""
    if len(gone) != 1 or not due.line:
        return []
    from difflib import SequenceMatcher  # most lines do not move

    words = SequenceMatcher(None, gone[0].text[:_LONGEST], due.text[:_LONGEST], autojunk=False)
    return list(gone) if words.ratio() >= ALIKE else []


def _ids(due: Due) -> tuple[str, ...]:
    return due.id, approval_id(due.id), due.series
