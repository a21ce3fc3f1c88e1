"""Something in the vault that is due at a time, wherever it is written: a task, a property, a sentence, a reminder.
Times are local, as in notes: an ISO day, or day and minute."""

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

_MOST_AHEAD = 400  # occurrences that may be done ahead of time
TASK, NOTE, SENTENCE, REMINDER = "task", "note", "said", "reminder"  # kinds of due items


class Due(NamedTuple):
    """One due item; of a recurring one, the current occurrence."""

    id: str  # vm-…, the same on every machine
    kind: str  # TASK: a task of a note; NOTE: a note with a date; SENTENCE: a line; REMINDER: a memory
    text: str  # as written in the note
    due: str  # deadline, which decides between overdue, today and soon; "" if it only starts
    at: str  # when to remind; "" for never
    path: str
    line: int  # 0 for a property of the note
    title: str  # the note's link name
    repeat: str = ""  # in words
    rolls: bool = False  # repeats by itself; a task repeats when its editor completes it
    lapses: bool = False  # ends with its day, done or not: a note's date is no work
    foreign: bool = False  # outside content, not to be trusted until approved
    memory: str = ""  # the id of the memory, of a REMINDER
    scope: str = "global"  # who may see it
    private: bool = False  # hidden from assistants by the person
    author: str = ""  # the assistant that wrote it; "" for the person
    series: str = ""  # the id that records the end of a recurring item, vm-…
    task: str = ""  # its words without the time, if that would be wrong on another day
    content: str = ""  # identifies a due note under another name
    source: str = ""  # source of its id: the note's name, or the id of the task or memory
    key: str = ""  # key of its id, within the source

    @property
    def words(self) -> str:
        """The wording of it, independent of the day."""
        return self.task or self.text

    @property
    def thing(self) -> object:
        """What it is a time of: a reminder, or a line of a note."""
        return self.memory or (self.kind, self.path, self.line, self.text)


class Schedule(NamedTuple):
    """When something is due, as in a note, independent of the day."""

    due: Due  # without id and key; of a recurring item, the first occurrence
    rule: str = ""  # rule by which it repeats by itself, see text.recurrence
    begins: bool = False  # only starts at its time, and is never late
    days: int | None = None  # day after which it ends, done or not
    key: str = ""  # key of its id, if not the due time
    not_on: str = ""  # the day it was first seen: that date is when it was written

    @property
    def is_fixed(self) -> bool:
        """Whether it is the same on every day."""
        return not (self.rule or self.begins or self.days is not None or self._repeats_in_note)

    @property
    def _repeats_in_note(self) -> bool:
        return self.due.kind == TASK and bool(self.due.repeat)

    def due_at(self, moment: datetime, answers: Answers, snoozed: Answers) -> Iterator[Due]:
        """The due item at that moment: of a recurring one, the last occurrence until it is answered, then the next.
        `snoozed` are the answers that postpone something."""
        today = moment.date().isoformat()
        if self.rule:
            yield from self._occurrence(moment, answers, snoozed)
        elif self.begins:
            due = self.due if self.due.due[:10] >= today else self.due._replace(due="")
            yield with_id(due, self.due.due)
        else:
            turn = with_id(self.due, self.key)
            last = max(self.due.due, _until(turn, snoozed))
            is_only_written = self.due.due == today <= self.not_on
            if not (is_only_written or self._is_over(last, today)):
                yield from self._turns(turn, answers, moment.tzinfo)

    def _turns(self, turn: Due, answers: Answers, zone: tzinfo | None) -> Iterator[Due]:
        """The item; for a repeating task also the occurrences after each one answered but not ticked in its note,
        with the ids that they will have there."""
        yield turn
        while self._repeats_in_note:  # each occurrence but the last has an answer
            closed = _closed_on(turn, answers, zone)
            day = closed and recurrence.day_to_come(
                turn.repeat, date.fromisoformat(turn.due[:10]), closed
            )
            if not day:
                return
            due = shift(turn, day.isoformat() + turn.due[10:])._replace(kind=SENTENCE)
            turn = with_id(due, self.key and day.isoformat())
            yield turn

    def next_after(self, moment: datetime) -> str:
        """When the next occurrence replaces the last one; "" for never."""
        return occurrences(self.rule, self.due.due, moment).next if self.rule else ""

    def _occurrence(self, moment: datetime, answers: Answers, snoozed: Answers) -> Iterator[Due]:
        last, following = occurrences(self.rule, self.due.due, moment)
        put_off = self._put_off(last, snoozed) if last else None
        if put_off and is_asleep(answers[put_off.id], moment.isoformat()[:16]):
            yield put_off
            return
        until = _until(put_off, snoozed)
        if last and not self._is_over(max(last, until), moment.date().isoformat()):
            occurrence = with_id(shift(self.due, last))
            if not following or not is_closed(answers, occurrence.id):
                yield occurrence._replace(due=until, at=until) if until else occurrence
                return
        for _ in range(_MOST_AHEAD):  # done ahead of time
            if not following:
                return
            occurrence = with_id(shift(self.due, following))
            following = occurrence_after(self.rule, self.due.due, following)
            if not following or not is_closed(answers, occurrence.id):
                yield occurrence
                return

    def _put_off(self, last: str, snoozed: Answers) -> Due | None:
        """The occurrence before the last one, if that is snoozed until later."""
        oldest = min((one.at for one in snoozed.values() if one.until > last), default="~")[:10]
        when, start = last, date.fromisoformat(self.due.due[:10])
        while when[:10] >= oldest:
            day = date.fromisoformat(when[:10]) - timedelta(1)
            if not (earlier := _days_around(self.rule, start, day)[0]):
                break
            when = earlier + last[10:]
            occurrence = with_id(shift(self.due, when))
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


def _until(due: Due | None, snoozed: Answers) -> str:
    answer = snoozed.get(due.id) if due else None
    return answer.until if answer else ""


def _closed_on(due: Due, answers: Answers, zone: tzinfo | None) -> date | None:
    """The day on which it was done or dropped; None while it is open."""
    at = seconds(answers[due.id].at) if is_closed(answers, due.id) else None
    return None if at is None else datetime.fromtimestamp(at, zone).date()


def with_id(due: Due, key_time: str = "") -> Due:
    """A due with its id, by its source and words and its time; a memory is the same whatever it says."""
    words = "" if due.memory else " ".join(due.text.split())
    key = f"{words}\0{key_time or due.due or due.at}"
    series = series_id(due.source, words) if due.rolls else ""
    return due._replace(id=item_id(due.source, key), series=series, key=key)


def series_id(source: str, words: str = "") -> str:
    """The id that records the end of a series; a memory is one series, whatever it says."""
    return item_id(source, f"series\0{words}")


def occurrence_after(rule: str, start: str, when: str) -> str:
    """The occurrence that follows the one of that time; "" for none."""
    _, following = _days_around(rule, date.fromisoformat(start[:10]), date.fromisoformat(when[:10]))
    return following and following + start[10:]


def shift(due: Due, when: str) -> Due:
    """The occurrence at that time; an advance reminder keeps its lead."""
    if not due.at or due.at == due.due:
        return due._replace(due=when, at=when and due.at and when)
    first, last = date.min.toordinal(), date.max.toordinal()
    shift = date.fromisoformat(when[:10]).toordinal() - date.fromisoformat(due.due[:10]).toordinal()
    day = date.fromisoformat(due.at[:10]).toordinal() + shift
    at = date.fromordinal(max(first, min(last, day))).isoformat() + due.at[10:]
    return due._replace(due=when, at=at)


class Occurrences(NamedTuple):
    """The last occurrence that is past, or today, and the next; each written like the beginning, "" for none."""

    last: str
    next: str


def occurrences(rule: str, start: str, now: datetime) -> Occurrences:
    """The occurrences of a rule since `start`, counted from the beginning, in the zone of `now`."""
    day, _, clock = start.partition("T")
    today = now.date()
    until = today
    if not _is_past(today, clock, now):
        until = date.fromordinal(max(1, today.toordinal() - 1))
    last, following = _days_around(rule, date.fromisoformat(day), until)
    end = f"T{clock}" if clock else ""
    return Occurrences(last and f"{last}{end}", following and f"{following}{end}")


@lru_cache(maxsize=4096)  # constant for a day, and needed every minute
def _days_around(rule: str, start: date, until: date) -> tuple[str, str]:
    recurring = recurrence.read_rule(rule)
    if recurring is None:
        return (start.isoformat(), "") if start <= until else ("", start.isoformat())
    last, following = recurrence.occurrences_around(recurring, start, until)
    return last.isoformat() if last else "", following.isoformat() if following else ""


def _is_past(day: date, clock: str, now: datetime) -> bool:
    """Whether the first time of day has passed at the second; a whole day counts from its beginning."""
    if not clock:
        return True
    local = datetime.combine(day, time.fromisoformat(clock), tzinfo=now.tzinfo)
    try:
        return local.astimezone(UTC) <= now.astimezone(UTC)
    except OverflowError:  # at the limits of the calendar
        return local.replace(tzinfo=None) <= now.replace(tzinfo=None)
