"""When the desktop tells of what is due, and in which words: once for each moment, not in quiet hours, late if it must.

Pure: who calls hands in the time, in the zone of the person, and keeps what is to count as told.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple

from vaultmem.reminders.answers import SNOOZED, Answer, Told
from vaultmem.reminders.due import REMINDER, Due
from vaultmem.reminders.pending_items import is_approved, is_over, is_refused
from vaultmem.text.sanitize import MOST, NO_WORDS, one_line
from vaultmem.text.times import DURATION_UNITS, duration_seconds, format_duration, stamp
from vaultmem.text.times import seconds as stamped

BASELINE = "vm-firstlook"  # told of nothing: marks that a first look was taken
MOST_AGAIN = 3  # times that something overdue is told again
MOST_SINGLE = 3  # alarms at one moment; more become one
_LATE = timedelta(minutes=10)
_OLD = timedelta(days=1)
_MINUTE = timedelta(minutes=1)
_DAY_MINUTES = 1440
_LINE = 80  # characters of one of several in a group
_WALL = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d)(?::\d\d)?)?", re.ASCII)
_YEARS = range(1970, 9999)  # which can be reckoned with in every zone
_WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()


class Rules(NamedTuple):
    """When a person wants to be told, as the settings notify.* have it."""

    day_at: str = "09:00"  # what is due on a day without a time
    quiet: str = "off"  # or 22:00-07:00
    again: str = "1d"  # how long after it was due; or never
    singly: int = MOST_SINGLE  # more at one moment become one


class Alarm(NamedTuple):
    """One notification. Its words are plain: nothing in them means anything to a notification server."""

    title: str
    body: str
    urgent: bool
    late: bool  # told later than it should have been, and not for quiet hours
    told: tuple[Told, ...]  # what is told with it
    path: str = ""  # of the note; "" for several
    note: str = ""  # its title


class Planned(NamedTuple):
    """What is to be told now, what counts as told without a word, and when to look again."""

    tell: list[Alarm]
    silent: list[Told]
    next: datetime | None  # UTC: times of one zone are subtracted as if its clocks were never set


class _Step(NamedTuple):
    """The next time, past or to come, at which one thing is to be told."""

    when: datetime  # UTC
    due: Due
    moment: str
    times: int


def plan(
    dues: Iterable[Due],
    answers: Mapping[str, Answer],
    told: Mapping[str, Told],
    now: datetime,
    rules: Rules,
) -> Planned:
    """What to do at `now`, which knows the zone of the person (a fixed offset would not do: clocks are set).

    As long as nothing at all was told, what is older than a day lets a person alone: it is marked as told.
    """
    clock = _Clock(now, rules)
    steps = [
        step
        for due in _once(dues)
        if _may_ring(due, answers) and (step := _step(due, answers, told.get(due.id), clock))
    ]
    ripe = sorted(step for step in steps if step.when <= clock.now)
    silent: list[Told] = []
    old: list[_Step] = []
    if not told:
        old = [step for step in ripe if step.when < clock.now - _OLD]
        ripe = ripe[len(old) :]
        silent = [Told(BASELINE, clock.stamp, moment=clock.local.date().isoformat())]
        silent += [Told(step.due.id, clock.stamp, 1 + MOST_AGAIN, step.moment) for step in old]
    hushed = clock.is_quiet(clock.local)
    tell = [] if hushed else _alarms(ripe, clock)
    times = [step.when for step in steps if step.when > clock.now]
    heard = list(silent)
    if ripe and hushed:
        times.append(clock.end_of_quiet())
    elif ripe:
        heard += [_told(step, clock) for step in ripe]
    by_id = {step.due.id: step.due for step in (*old, *ripe)}
    after = (_step(by_id[each.id], answers, each, clock) for each in heard if each.id in by_id)
    times += [step.when for step in after if step]
    return Planned(tell, silent, min(times, default=None))


def desktop_text(text: str, most: int = MOST) -> str:
    """Words of a note as one line for a notification: no markup, no entities, no links that open."""
    return one_line(text, most).replace("&", "＆").replace("://", "꞉//")


class _Clock:
    """Now, and what the clock on the wall means in moments."""

    def __init__(self, now: datetime, rules: Rules) -> None:
        assert now.tzinfo
        self.now = now.astimezone(UTC)
        self.local = now
        self.stamp = stamp(self.now.timestamp())
        self.again = (
            None if rules.again == "never" else timedelta(seconds=duration_seconds(rules.again))
        )
        self.singly = rules.singly
        self._day_at = time.fromisoformat(rules.day_at)
        self._quiet = None if rules.quiet == "off" else _hours(rules.quiet)
        self._instants: dict[str, datetime | None] = {}  # many things are due on one day

    def instant(self, text: str) -> datetime | None:
        """When the clock on the wall shows it for the first time; if it passes it over, as long after as it would
        have been. None for no such day or time."""
        if text not in self._instants:
            self._instants[text] = self._reckoned(text)
        return self._instants[text]

    def _reckoned(self, text: str) -> datetime | None:
        found = _wall(text)
        if found is None:
            return None
        day, at = found
        return datetime.combine(day, at or self._day_at, self.local.tzinfo).astimezone(UTC)

    def is_quiet(self, local: datetime) -> bool:
        """Whether it is in quiet hours."""
        if self._quiet is None:
            return False
        start, end = self._quiet
        at = local.time()
        return start <= at < end if start < end else at >= start or at < end

    def end_of_quiet(self) -> datetime:
        """The first minute to come that is not quiet. It is looked for: the clock may be set meanwhile."""
        at = self.now.replace(second=0, microsecond=0)
        for _ in range(2 * _DAY_MINUTES):
            at += _MINUTE
            if not self.is_quiet(at.astimezone(self.local.tzinfo)):
                break
        return at

    def late(self, when: datetime) -> timedelta:
        """How long ago something was to be told, without the quiet hours it fell in."""
        local = when.astimezone(self.local.tzinfo)
        if self._quiet and self.is_quiet(local):
            end = datetime.combine(local.date(), self._quiet[1], local.tzinfo)
            if end.time() <= local.time():
                end += timedelta(days=1)
            when = end.astimezone(UTC)
        return self.now - when


def _hours(quiet: str) -> tuple[time, time] | None:
    start, end = (time.fromisoformat(part) for part in quiet.split("-"))
    return None if start == end else (start, end)


def _wall(text: str) -> tuple[date, time | None] | None:
    """The day and, where there is one, the time. None for what no calendar has."""
    match = _WALL.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute = match.groups()
    if int(year) not in _YEARS:
        return None
    try:
        at = time(int(hour), int(minute)) if hour else None
        return date(int(year), int(month), int(day)), at
    except ValueError:
        return None


def _once(dues: Iterable[Due]) -> Iterator[Due]:
    seen: set[str] = set()
    for due in dues:
        if due.id not in seen:
            seen.add(due.id)
            yield due


def _may_ring(due: Due, answers: Mapping[str, Answer]) -> bool:
    """Not what is answered, or has no time. What comes from outside only if it is a reminder, or was approved."""
    answer = answers.get(due.id)
    snoozed = answer is not None and answer.state == SNOOZED
    if is_over(due, answers) or not (due.at or snoozed):
        return False
    if is_approved(due.id, answers):
        return True
    return not is_refused(due.id, answers) and (due.kind == REMINDER or not due.foreign)


def _step(
    due: Due, answers: Mapping[str, Answer], heard: Told | None, clock: _Clock
) -> _Step | None:
    answer = answers.get(due.id)
    if heard and heard.moment == due.at and (answer is None or answer.state != SNOOZED):
        return min(_again(due, heard, clock), default=None)  # as most are
    moments = _moments(due, answer, clock)
    if heard:
        known = clock.instant(heard.moment) or _moment_of(heard.at) or clock.now
        moments = [(when, text) for when, text in moments if when > known]
    passed = [moment for moment in moments if moment[0] <= clock.now]
    if passed:
        when, text = max(passed)
        return _Step(when, due, text, 1)
    ahead = [_Step(when, due, text, 1) for when, text in moments]
    if heard and not ahead:
        ahead = _again(due, heard, clock)
    return min(ahead, default=None)


def _moments(due: Due, answer: Answer | None, clock: _Clock) -> list[tuple[datetime, str]]:
    """When it rings: at its time and, snoozed, at the end of that; what comes before the end is slept through."""
    texts = [due.at]
    if answer and answer.state == SNOOZED:
        texts.append(answer.until)
    found = [(when, text) for text in texts if (when := clock.instant(text))]
    until = clock.instant(texts[1]) if len(texts) > 1 else None
    return [moment for moment in found if until is None or moment[0] >= until]


def _again(due: Due, heard: Told, clock: _Clock) -> list[_Step]:
    """When something overdue is told once more; not what is over with its day, or only starts on one."""
    if clock.again is None or due.lapses or heard.times > MOST_AGAIN:
        return []
    by = clock.instant(due.due)
    if by is None:
        return []
    when = max(by, _moment_of(heard.at) or by) + clock.again
    return [_Step(when, due, heard.moment, heard.times + 1)]


def _moment_of(at: str) -> datetime | None:
    found = stamped(at)
    return None if found is None else datetime.fromtimestamp(found, UTC)


def _told(step: _Step, clock: _Clock) -> Told:
    return Told(step.due.id, clock.stamp, step.times, step.moment)


def _alarms(ripe: Sequence[_Step], clock: _Clock) -> list[Alarm]:
    if len(ripe) > clock.singly:
        return [_grouped(ripe, clock)]
    return [_alarm(step, clock) for step in ripe]


def _alarm(step: _Step, clock: _Clock) -> Alarm:
    due = step.due
    title, note = desktop_text(due.text) or NO_WORDS, desktop_text(due.title)
    parts = [_when(step, clock), note if note != title else ""]
    body = " · ".join(part for part in parts if part)
    told = (_told(step, clock),)
    return Alarm(title, body, _is_urgent(step), _is_late(step, clock), told, due.path, due.title)


def _grouped(ripe: Sequence[_Step], clock: _Clock) -> Alarm:
    lines = [
        f"{desktop_text(step.due.text, _LINE) or NO_WORDS} · {_when(step, clock)}"
        for step in ripe[:MOST_SINGLE]
    ]
    lines.append(f"and {len(ripe) - MOST_SINGLE:,} more")
    return Alarm(
        f"{len(ripe):,} reminders",
        "\n".join(lines),
        any(_is_urgent(step) for step in ripe),
        any(_is_late(step, clock) for step in ripe),
        tuple(_told(step, clock) for step in ripe),
    )


def _is_urgent(step: _Step) -> bool:
    return step.times > 1


def _is_late(step: _Step, clock: _Clock) -> bool:
    return step.times == 1 and clock.late(step.when) > _LATE


def _when(step: _Step, clock: _Clock) -> str:
    """When it is or was due, in words: due today 15:00; since Friday 20 Nov, 2 hours late."""
    due = step.due
    found = _wall(due.due) or _wall(step.moment)
    assert found
    day, at = found
    today = clock.local.date()
    work = bool(due.due) and not due.lapses
    if day < today:
        said = f"{'was on' if due.lapses else 'since'} {_day(day, today)}"
    else:
        near = {0: "today", 1: "tomorrow"}.get((day - today).days) or _day(day, today)
        said = f"{'due ' if work else ''}{near}{f' {at:%H:%M}' if at else ''}"
    late = f", {_roughly(clock.late(step.when))} late" if _is_late(step, clock) else ""
    return said + late


def _day(day: date, today: date) -> str:
    year = f" {day.year}" if day.year != today.year else ""
    return f"{_WEEKDAYS[day.weekday()]} {day.day} {_MONTHS[day.month - 1]}{year}"


def _roughly(span: timedelta) -> str:
    """The span by its largest unit."""
    whole = int(span.total_seconds())
    size = next(size for size in DURATION_UNITS.values() if whole >= size)
    return format_duration(whole - whole % size)
