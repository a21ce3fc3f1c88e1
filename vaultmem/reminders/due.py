"""One thing in the vault that wants attention at a time, wherever it is written: a task, a property, a sentence, a
reminder. Times are those of the clock on the wall, as notes have them: an ISO day, or day and minute."""

from __future__ import annotations

import contextlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import lru_cache

from vaultmem.light import TYPE_CHECKING, NamedTuple
from vaultmem.memories.item_answers import (
    SNOOZED,
    Answer,
    Answers,
    approval_id,
    completion_id,
    is_asleep,
    is_closed,
    item_id,
)
from vaultmem.notes.places import folded_name
from vaultmem.paths import replace_private
from vaultmem.text import recurrence
from vaultmem.text.times import seconds

if TYPE_CHECKING:
    from vaultmem.synclog.log_entries import Notified

NONE: Answers = {}
_MOST_AHEAD = 400  # occurrences that may be done before their day
TASK, NOTE, SENTENCE, REMINDER = "task", "note", "said", "reminder"  # kinds of what is due


class Due(NamedTuple):
    """One thing that is due; of what repeats by itself, the occurrence that counts now."""

    id: str  # vm-…, the same on every machine
    kind: str  # TASK: a task of a note; NOTE: a note with a date; SENTENCE: a line; REMINDER: a memory
    text: str  # as it stands in the note
    due: str  # by when: what sorts it under overdue, today and soon; "" for what only starts
    at: str  # when to remind; "" for never
    path: str
    line: int  # 0 for a property of the note
    title: str  # of the note, as a link names it
    repeat: str = ""  # in words
    rolls: bool = False  # repeats by itself; a task does so when its editor completes it
    lapses: bool = False  # is over with its day, done or not: a date of a note is no work
    foreign: bool = False  # from outside; not to be believed before a person has approved it
    memory: str = ""  # the id of the memory, of a REMINDER
    own_id: str = ""  # by which its editor knows the task, if it does
    scope: str = "global"  # who sees it
    private: bool = False  # the person keeps its words from assistants
    author: str = ""  # the assistant that wrote it; "" for the person
    series: str = ""  # under which id the end of what rolls is recorded, vm-…
    task: str = ""  # its words without the time, where that would be wrong on another day
    content: str = ""  # of a note that is due itself, by which it is the same under another name

    @property
    def words(self) -> str:
        """The wording of it, independent of the day."""
        return self.task or self.text


class Identified(NamedTuple):
    """A due that counts now, and by what its id is made: a source and a key in it."""

    due: Due
    pair: tuple[str, str]


class Schedule(NamedTuple):
    """When something is due, as a note has it, whatever the day is."""

    due: Due  # without id; of what repeats, the first occurrence
    source: str  # of the id: the name of the note, or the id of the task or memory
    rule: str = ""  # by which it repeats by itself, as languages.recurrence reads it
    begins: bool = False  # only starts at its time, and is late for nothing
    days: int | None = None  # after which it is over, done or not
    key: str = ""  # by which its id is made, where that is not the time it is due
    not_on: str = ""  # the day it was first seen: a date of that day is when it was written

    @property
    def is_fixed(self) -> bool:
        """Whether it is the same on every day."""
        return not (self.rule or self.begins or self.days is not None or self._repeats_in_note)

    @property
    def _repeats_in_note(self) -> bool:
        return self.due.kind == TASK and bool(self.due.repeat)

    def due_at(
        self, moment: datetime, answers: Answers, snoozed: Answers = NONE
    ) -> Iterator[Identified]:
        """The due item at that moment. Of a recurring one, the last occurrence until it is answered, then the next.
        `snoozed` are those of the answers that put something off."""
        today = moment.date().isoformat()
        if self.rule:
            yield from self._occurrence(moment, answers, snoozed)
        elif self.begins:
            due = self.due if self.due.due[:10] >= today else self.due._replace(due="")
            yield with_id(due, self.source, self.due.due)
        else:
            turn = with_id(self.due, self.source, self.key)
            last = max(self.due.due, _until(turn, snoozed))
            is_only_written = self.due.due == today <= self.not_on
            if not (is_only_written or self._is_over(last, today)):
                yield from self._turns(turn, answers, moment.tzinfo)

    def _turns(
        self, turn: Identified, answers: Answers, zone: tzinfo | None
    ) -> Iterator[Identified]:
        """The item; of a task that repeats, also the turns after each that was answered and is not ticked in its note.
        They have the ids that they will have there."""
        yield turn
        while self._repeats_in_note:  # each turn but the last has an answer
            due, closed = turn.due, _closed_on(turn, answers, zone)
            day = closed and recurrence.day_to_come(
                due.repeat, date.fromisoformat(due.due[:10]), closed
            )
            if not day:
                return
            due = _shift(due, day.isoformat() + due.due[10:])._replace(kind=SENTENCE)
            turn = with_id(due, self.source, self.key and day.isoformat())
            yield turn

    def next_after(self, moment: datetime) -> str:
        """When the next occurrence replaces the last one; "" for never."""
        return occurrences(self.rule, self.due.due, moment).next if self.rule else ""

    def _occurrence(
        self, moment: datetime, answers: Answers, snoozed: Answers
    ) -> Iterator[Identified]:
        last, following = occurrences(self.rule, self.due.due, moment)
        put_off = self._put_off(last, snoozed) if last else None
        if put_off and is_asleep(answers[put_off.due.id], moment.isoformat()[:16]):
            yield put_off
            return
        until = _until(put_off, snoozed)
        if last and not self._is_over(max(last, until), moment.date().isoformat()):
            occurrence = with_id(_shift(self.due, last), self.source)
            if not following or not is_closed(answers, occurrence.due.id):
                due = occurrence.due._replace(due=until, at=until) if until else occurrence.due
                yield occurrence._replace(due=due)
                return
        for _ in range(_MOST_AHEAD):  # done ahead of time
            if not following:
                return
            occurrence = with_id(_shift(self.due, following), self.source)
            following = occurrence_after(self.rule, self.due.due, following)
            if not following or not is_closed(answers, occurrence.due.id):
                yield occurrence
                return

    def _put_off(self, last: str, snoozed: Answers) -> Identified | None:
        """The occurrence before the last one that is snoozed until after that."""
        oldest = min((one.at for one in snoozed.values() if one.until > last), default="~")[:10]
        when, start = last, date.fromisoformat(self.due.due[:10])
        while when[:10] >= oldest:
            day = date.fromisoformat(when[:10]) - timedelta(1)
            if not (earlier := _days_around(self.rule, start, day)[0]):
                break
            when = earlier + last[10:]
            occurrence = with_id(_shift(self.due, when), self.source)
            if _until(occurrence, snoozed) > last:
                return occurrence
        return None

    def _is_over(self, when: str, today: str) -> bool:
        if self.days is None:
            return False
        try:
            return (date.fromisoformat(when[:10]) + timedelta(self.days)).isoformat() < today
        except OverflowError:
            return False


def _until(one: Identified | None, snoozed: Answers) -> str:
    answer = snoozed.get(one.due.id) if one else None
    return answer.until if answer else ""


def _closed_on(one: Identified, answers: Answers, zone: tzinfo | None) -> date | None:
    """The day on which it was done or dropped; None while it is open."""
    at = seconds(answers[one.due.id].at) if is_closed(answers, one.due.id) else None
    return None if at is None else datetime.fromtimestamp(at, zone).date()


def with_id(due: Due, source: str, key_time: str = "") -> Identified:
    """A due with its id, unless another begins alike."""
    words = " ".join(due.text.split())
    pair = source, f"{words}\0{key_time or due.due or due.at}"
    series = series_id(source, "" if due.memory else words) if due.rolls else ""
    return Identified(due._replace(id=item_id(*pair), series=series), pair)


def series_id(source: str, words: str = "") -> str:
    """The id under which is recorded that something repeats no more; a memory is one series, whatever it says."""
    return item_id(source, f"series\0{words}")


def occurrence_after(rule: str, start: str, when: str) -> str:
    """The occurrence that follows the one of that time; "" for none."""
    _, following = _days_around(rule, date.fromisoformat(start[:10]), date.fromisoformat(when[:10]))
    return following and following + start[10:]


def earlier_occurrences(due: Due, days: int) -> Iterator[Due]:
    """Of a reminder, which was moved on since, what it may have been on each of the days before."""
    day = date.fromisoformat(due.due[:10]).toordinal()
    for number in range(day - 1, max(day - days, 1), -1):
        when = date.fromordinal(number).isoformat() + due.due[10:]
        yield with_id(_shift(due, when), due.memory).due


def _shift(due: Due, when: str) -> Due:
    """The occurrence of that time; one that reminds earlier than it is due does so each time."""
    if not due.at or due.at == due.due:
        return due._replace(due=when, at=when and due.at and when)
    first, last = date.min.toordinal(), date.max.toordinal()
    shift = date.fromisoformat(when[:10]).toordinal() - date.fromisoformat(due.due[:10]).toordinal()
    day = date.fromisoformat(due.at[:10]).toordinal() + shift
    at = date.fromordinal(max(first, min(last, day))).isoformat() + due.at[10:]
    return due._replace(due=when, at=at)


class Occurrences(NamedTuple):
    """The last one that is past, or runs today, and the one after it; each written as the beginning is, "" for none."""

    last: str
    next: str


def occurrences(rule: str, start: str, now: datetime) -> Occurrences:
    """Of what repeats by a rule since `start`: reckoned from the beginning, on the clock of the zone of `now`."""
    day, _, clock = start.partition("T")
    today = now.date()
    until = today
    if not _is_past(today, clock, now):
        until = date.fromordinal(max(1, today.toordinal() - 1))
    last, following = _days_around(rule, date.fromisoformat(day), until)
    end = f"T{clock}" if clock else ""
    return Occurrences(last and f"{last}{end}", following and f"{following}{end}")


@lru_cache(maxsize=4096)  # the answer is the same for a day, and needed every minute
def _days_around(rule: str, start: date, until: date) -> tuple[str, str]:
    known = recurrence.read_rule(rule)
    if known is None:
        return (start.isoformat(), "") if start <= until else ("", start.isoformat())
    last, following = recurrence.occurrences_around(known, start, until)
    return last.isoformat() if last else "", following.isoformat() if following else ""


def _is_past(day: date, clock: str, now: datetime) -> bool:
    """Whether that time of the day is over, after the first of two; a whole day is there from its beginning."""
    if not clock:
        return True
    local = datetime.combine(day, time.fromisoformat(clock), tzinfo=now.tzinfo)
    try:
        return local.astimezone(UTC) <= now.astimezone(UTC)
    except OverflowError:  # at the ends of the calendar
        return local.replace(tzinfo=None) <= now.replace(tzinfo=None)


# Answers and notifications stay with what is only somewhere else now: in a note of another name, in a copy of it. A
# line that was reworded keeps its notification and its snooze; done it was not.

ALIKE = 0.75  # of the letters, for words to be the same ones mended
KEEP_FOR = 600.0  # seconds that what is gone may come back elsewhere: sync programs delete first
_LONGEST = 200  # characters that are compared
_MOST = 5_000  # dues in the file
_LONGEST_FILE = 32_000_000  # characters
_FORM = tuple(type(field) for field in Due("", "", "", "", "", "", 0, ""))


class Entries(NamedTuple):
    """Answers and notifications, by the ids of the items."""

    answers: dict[str, Answer]
    notified: dict[str, Notified]


class Renames:
    """What was due in one vault at the last look. Not for several threads at once."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._saved: list[Due] | None = None  # what the file holds
        self._before: dict[str, Due] = {}
        self._last_seen: dict[str, float] = {}  # of what is gone

    def follow(self, dues: Sequence[Due], entries: Entries, now: float) -> Entries:
        """The entries to record for dues that are new since the last time."""
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
        """Store the state for the next process."""
        known = {*entries.answers, *entries.notified}
        saved = [
            due
            for due in dues
            if due.id in known or due.series in entries.answers or (due.rolls and not due.memory)
        ]
        if saved == self._saved:
            return
        rows = sorted(saved, key=lambda due: (due.at, due.id))[-_MOST:]
        with contextlib.suppress(OSError):  # then a rename without an agent notifies once more
            replace_private(self._file, json.dumps(rows))
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
        gone = [entry for entry in same if entry.id not in now]
        mended = _repair(due, by_line[_line(due)]) if len(gone) != 1 else []
        pairs: Iterable[tuple[str, str]] = ()
        if len(gone) == 1:  # of two nobody knows which
            pairs = zip(_ids(_turn_of(gone[0], due)), _ids(due), strict=True)
        for entry in mended:
            answer = entries.answers.get(entry.id)
            pairs = [(entry.id, due.id)] if answer and answer.state == SNOOZED else []
        for old, new in pairs:
            if old in entries.answers and new not in entries.answers:
                moved.answers[new] = entries.answers[old]._replace(id=new)
        # Of a copy a person need not be notified again.
        records = [entries.notified.get(entry.id) for entry in (*same, *mended)]
        record = next(filter(None, records), None)
        if record and due.id not in entries.notified:
            moved.notified[due.id] = record._replace(id=due.id)
    return moved


def _meaning(due: Due) -> tuple[object, ...]:
    when = ("", due.due[10:]) if due.rolls else (due.due, due.at)
    return due.kind, due.content or due.text, due.repeat, *when, due.foreign


def _turn_of(gone: Due, due: Due) -> Due:
    """Of what repeats by itself in a note, the turn at the time of another."""
    if not gone.rolls or gone.due == due.due:
        return gone
    return with_id(_shift(gone, due.due), folded_name(gone.path)).due


def _line(due: Due) -> tuple[object, ...]:
    return due.kind, due.path, due.line, due.due, due.at, due.foreign


def _repair(due: Due, gone: Sequence[Due]) -> list[Due]:
    """The vanished due that was in this line with nearly the same words."""
    if len(gone) != 1 or not due.line:
        return []
    from difflib import SequenceMatcher  # most lines stay where they are

    words = SequenceMatcher(None, gone[0].text[:_LONGEST], due.text[:_LONGEST], autojunk=False)
    return list(gone) if words.ratio() >= ALIKE else []


def _ids(due: Due) -> tuple[str, ...]:
    return due.id, approval_id(due.id), completion_id(due.path), due.series
