"""One thing in the vault that wants attention at a time, wherever it is written: a task, a property, a sentence, a
reminder. Times are those of the clock on the wall, as notes have them: an ISO day, or day and minute."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import lru_cache

from vaultmem.light import NamedTuple
from vaultmem.memories.item_answers import (
    Answers,
    is_asleep,
    is_closed,
    item_id,
)
from vaultmem.text import recurrence
from vaultmem.text.times import seconds

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
    begun: bool = False  # a TASK that somebody works on, as its note says
    source: str = ""  # of its id: the name of the note, or the id of the task or memory
    key: str = ""  # of its id, within that

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
            due = shift(due, day.isoformat() + due.due[10:])._replace(kind=SENTENCE, begun=False)
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
            occurrence = with_id(shift(self.due, last), self.source)
            if not following or not is_closed(answers, occurrence.due.id):
                due = occurrence.due._replace(due=until, at=until) if until else occurrence.due
                yield occurrence._replace(due=due)
                return
        for _ in range(_MOST_AHEAD):  # done ahead of time
            if not following:
                return
            occurrence = with_id(shift(self.due, following), self.source)
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
            occurrence = with_id(shift(self.due, when), self.source)
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
    id_, (source, key) = item_id(*pair), pair
    return Identified(due._replace(id=id_, series=series, source=source, key=key), pair)


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
        yield with_id(shift(due, when), due.memory).due


def shift(due: Due, when: str) -> Due:
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
    recurring = recurrence.read_rule(rule)
    if recurring is None:
        return (start.isoformat(), "") if start <= until else ("", start.isoformat())
    last, following = recurrence.occurrences_around(recurring, start, until)
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
