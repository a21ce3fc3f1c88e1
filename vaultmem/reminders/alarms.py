"""When to notify of due items, and in which words: once per moment, not in quiet hours, late if necessary. Planning
is pure: the caller passes the time, in the person's zone, and records what counts as notified.

A notification is first recorded, then shown, so at most once, whatever happens in between. What this machine cannot
show is not recorded, so that another machine shows it, or this one once someone has logged in. A notification that
fails unexpectedly stays recorded: pending.md has it, and the person is not notified twice.
"""

from __future__ import annotations

import os
import time as timer
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from functools import cache, cached_property

from vaultmem.errors import NotificationError
from vaultmem.light import TYPE_CHECKING, NamedTuple
from vaultmem.memories.item_answers import SNOOZED, Answer, Answers, is_believed
from vaultmem.notes.places import editor_uri, page_path
from vaultmem.progress import logger
from vaultmem.reminders.due import REMINDER, Due
from vaultmem.reminders.items import is_over
from vaultmem.synclog.log_entries import ALONE, BASELINE, Notified, Turn
from vaultmem.text.sanitize import MOST, NO_WORDS, one_line
from vaultmem.text.times import DURATION_UNITS, duration_seconds, format_duration, seconds, stamp
from vaultmem.text.values import lazy

if TYPE_CHECKING:
    from vaultmem.config import Config
    from vaultmem.index.state import State
    from vaultmem.notes.dialects import Rulebook
    from vaultmem.reminders.desktop import Desktop

log = logger("vaultmem.reminders")

MOST_AGAIN = 3  # repeated notifications of an overdue item
MOST_SINGLE = 3  # alarms at one moment; more become one
_LATE = timedelta(minutes=10)
_OLD = timedelta(days=1)
_LINE = 80  # characters per item in a group
_WALL = lazy(r"([1-9]\d{3}-\d\d-\d\d)(?:T(\d\d:\d\d)(?::\d\d)?)?")
_YEARS = range(1970, 9999)  # safe to compute with in every zone


class Rules(NamedTuple):
    """When a person wants to be notified, from the settings notify.*."""

    day_at: str = "09:00"  # time for items due on a day
    quiet: str = "off"  # or 22:00-07:00
    again: str = "1d"  # interval of repeats; or never
    most_single: int = MOST_SINGLE  # more at one moment become one notification
    turn: Turn = ALONE  # position among the vault's machines


class Alarm(NamedTuple):
    """One notification. Its words are plain: no part of them has a meaning to a notification server."""

    title: str
    body: str
    urgent: bool
    records: tuple[Notified, ...]  # ids of its items
    path: str = ""  # path of the note; "" for several
    note: str = ""  # its title


class Planned(NamedTuple):
    """What to notify of now, what silently counts as notified, and when to look again."""

    alarms: list[Alarm]
    silent: list[Notified]
    next: datetime | None  # UTC: subtracting times in one zone ignores clock changes


class _Step(NamedTuple):
    when: datetime  # UTC
    due: Due
    moment: str
    times: int


def plan(
    dues: Iterable[Due], answers: Answers, notified: Mapping[str, Notified], now: datetime, rules: Rules
) -> Planned:  # fmt: skip
    """What to do at `now`, in the person's zone (a fixed offset would not do, as clocks change).

    As long as there has never been a notification, anything older than a day counts as notified.
    """
    clock = _Clock(now, rules)
    ringing = {due.id: due for due in dues if _may_ring(due, answers)}
    every = (_next_step(due, answers, notified.get(due.id), clock) for due in ringing.values())
    steps = [step for step in every if step]
    ripe = sorted(step for step in steps if clock.speaks_at(step.when) <= clock.now)
    times = [at for step in steps if (at := clock.speaks_at(step.when)) > clock.now]
    silent: list[Notified] = []
    if not notified:
        old = [step for step in ripe if step.when < clock.now - _OLD]
        ripe = ripe[len(old) :]
        silent = [Notified(BASELINE, clock.stamp, moment=clock.local.date().isoformat())]
        silent += [
            Notified(alarm.due.id, clock.stamp, 1 + MOST_AGAIN, alarm.moment) for alarm in old
        ]
    hushed = clock.is_quiet(clock.local)
    records = [*silent, *(_record(step, clock) for step in ripe if not hushed)]
    if ripe and hushed:
        times.append(clock.audible(clock.now))
    for record in records:
        following = record.id in ringing and _next_step(ringing[record.id], answers, record, clock)
        times += [clock.speaks_at(following.when)] if following else []
    alarms = [] if hushed else _alarms(ripe, clock)
    return Planned(alarms, silent, min(times, default=None))


def desktop_text(text: str, most: int = MOST) -> str:
    """Words of a note as one line for a notification: no markup, entities or links."""
    return one_line(text, most).replace("&", "＆").replace("://", "꞉//")


class _Clock:
    def __init__(self, now: datetime, rules: Rules) -> None:
        assert now.tzinfo
        self.now = now.astimezone(UTC)
        self.local = now
        self.stamp = stamp(self.now.timestamp())
        again = rules.again
        self.again = None if again == "never" else timedelta(seconds=duration_seconds(again))
        self.rules = rules
        self._day_at = time.fromisoformat(rules.day_at)
        self._quiet = None
        if rules.quiet != "off":
            start, end = (time.fromisoformat(part) for part in rules.quiet.split("-"))
            self._quiet = (start, end) if start != end else None
        self.instant = cache(self._instant)  # many things are due on one day

    def _instant(self, text: str) -> datetime | None:
        """When local time first reaches it, or would have; None for an invalid day or time."""
        wall = _wall(text)
        if wall is None:
            return None
        day, at = wall
        return datetime.combine(day, at or self._day_at, self.local.tzinfo).astimezone(UTC)

    def is_quiet(self, local: datetime) -> bool:
        """Whether it is in quiet hours."""
        if self._quiet is None:
            return False
        start, end = self._quiet
        at = local.time()
        return start <= at < end if start < end else at >= start or at < end

    def speaks_at(self, when: datetime) -> datetime:
        """When this machine may notify of a moment: at that moment, unless others come first."""
        at = self.rules.turn.speaks_at(when)
        return at if at == when else self.rules.turn.speaks_at(self.audible(when))

    def audible(self, when: datetime) -> datetime:
        """That moment, or the end of the quiet hours that it is in."""
        local = when.astimezone(self.local.tzinfo)
        if self._quiet and self.is_quiet(local):
            end = datetime.combine(local.date(), self._quiet[1], local.tzinfo)
            if end.time() <= local.time():
                end += timedelta(days=1)
            when = end.astimezone(UTC)
        return when


def _wall(text: str) -> tuple[date, time | None] | None:
    match = _WALL.fullmatch(text)
    try:
        day = date.fromisoformat(match[1] if match else "")
        at = time.fromisoformat(match[2]) if match and match[2] else None
    except ValueError:
        return None
    return (day, at) if day.year in _YEARS else None


def _may_ring(due: Due, answers: Answers) -> bool:
    """Whether an item is open and has a time; outside content must be a reminder or be approved."""
    answer = answers.get(due.id)
    snoozed = answer is not None and answer.state == SNOOZED
    if is_over(due, answers) or not (due.at or snoozed):
        return False
    return is_believed(due.id, answers, foreign=due.foreign and due.kind != REMINDER)


def _next_step(due: Due, answers: Answers, last: Notified | None, clock: _Clock) -> _Step | None:
    answer = answers.get(due.id)
    if last and last.moment == due.at and (answer is None or answer.state != SNOOZED):
        return _again(due, last, clock)  # as for most
    moments = _moments(due, answer, clock)
    if last:
        since = clock.instant(last.moment) or _moment_of(last.at) or clock.now
        moments = [(when, text) for when, text in moments if when > since]
    passed = [moment for moment in moments if moment[0] <= clock.now]
    if not moments:
        return _again(due, last, clock) if last else None
    when, text = max(passed) if passed else min(moments)
    return _Step(when, due, text, 1)


def _moments(due: Due, answer: Answer | None, clock: _Clock) -> list[tuple[datetime, str]]:
    """When it rings: at its time and, if snoozed, at the end of the snooze, before which it is silent."""
    until = None
    texts = [due.at]
    if answer and answer.state == SNOOZED:
        texts.append(answer.until)
        until = clock.instant(answer.until)
    moments = [(when, text) for text in texts if (when := clock.instant(text))]
    return [moment for moment in moments if until is None or moment[0] >= until]


def _again(due: Due, last: Notified, clock: _Clock) -> _Step | None:
    """When to repeat a notification of something overdue; never for items that end with their day, or only start on
    one."""
    by = clock.instant(due.due)
    if clock.again is None or due.lapses or last.times > MOST_AGAIN or by is None:
        return None
    when = max(by, _moment_of(last.at) or by) + clock.again
    return _Step(when, due, last.moment, last.times + 1)


def _moment_of(at: str) -> datetime | None:
    moment = seconds(at)
    return None if moment is None else datetime.fromtimestamp(moment, UTC)


# --- Words


def _record(step: _Step, clock: _Clock) -> Notified:
    return Notified(step.due.id, clock.stamp, step.times, step.moment)


def _alarms(ripe: Sequence[_Step], clock: _Clock) -> list[Alarm]:
    if len(ripe) <= clock.rules.most_single:
        return [_alarm(step, clock) for step in ripe]
    lines = [
        f"{desktop_text(step.due.words, _LINE) or NO_WORDS} · {_when(step, clock)}"
        for step in ripe[:MOST_SINGLE]
    ]
    lines.append(f"and {len(ripe) - MOST_SINGLE:,} more")
    urgent = any(step.times > 1 for step in ripe)
    records = tuple(_record(step, clock) for step in ripe)
    return [Alarm(f"{len(ripe):,} reminders", "\n".join(lines), urgent, records)]


def _alarm(step: _Step, clock: _Clock) -> Alarm:
    due = step.due
    title, note = desktop_text(due.words) or NO_WORDS, desktop_text(due.title)
    parts = [_when(step, clock), note if note != title else ""]
    body = " · ".join(part for part in parts if part)
    return Alarm(title, body, step.times > 1, (_record(step, clock),), due.path, due.title)


def _when(step: _Step, clock: _Clock) -> str:
    """When it is or was due, or snoozed until, in words: due today 15:00; since Friday 20 Nov, 2 hours late."""
    due = step.due
    wall = _wall(max(due.due, step.moment)) or _wall(due.due) or _wall(step.moment)
    assert wall
    day, at = wall
    today = clock.local.date()
    if day < today:
        text = f"{'was on' if due.lapses else 'since'} {_day(day, today)}"
    else:
        is_work = bool(due.due) and not due.lapses
        near = {0: "today", 1: "tomorrow"}.get((day - today).days) or _day(day, today)
        text = f"{'due ' if is_work else ''}{near}{f' {at:%H:%M}' if at else ''}"
    late = clock.now - clock.audible(step.when)  # not counting quiet hours
    if step.times > 1 or late <= _LATE:
        return text
    whole = int(late.total_seconds())
    size = next(size for size in DURATION_UNITS.values() if whole >= size)  # the largest unit
    return f"{text}, {format_duration(whole - whole % size)} late"


def _day(day: date, today: date) -> str:
    year = f" {day.year}" if day.year != today.year else ""
    return f"{day:%A} {day.day} {day:%b}{year}"


# --- Showing

FILE = "notifications.log"  # in the state folder, for the method file
RETRY = 600.0  # seconds before retrying a desktop that could show nothing


class Notifier:
    """Notifies one person on one machine. With `rules`, a click opens the note."""

    def __init__(self, config: Config, state: State, rules: Rulebook | None = None) -> None:
        self.problem: str | None = None  # problem of the last notification
        self._method = config.text("notify.method")
        self._file = state.path(FILE)
        self._vault, self._rules = state.vault, rules
        self._page = page_path(config.text("memory_folder"), config.text("pending.path"))
        self._unable_since: float | None = None  # when to try the desktop again (monotonic)

    def notify(self, planned: Planned, record: Callable[[list[Notified]], object]) -> list[Alarm]:
        """Record each alarm, then show it. Returns those shown; one that cannot be recorded is not shown."""
        if self._method == "none":
            return []
        if planned.silent:
            record(planned.silent)
        if not planned.alarms or not self._is_able():
            return []
        delivered = []
        for alarm in planned.alarms:
            record(list(alarm.records))
            try:
                self.desktop.send(alarm.title, alarm.body, alarm.urgent, self._link(alarm))
            except NotificationError as error:
                self._set_problem(str(error))
            else:
                self._set_problem(None)
                delivered.append(alarm)
        return delivered

    def can_show(self) -> bool:
        """Whether the person wants notifications here, and they work."""
        return self._method != "none" and self._is_able()

    @cached_property
    def desktop(self) -> Desktop:
        """The notifier."""
        from vaultmem.reminders.desktop import open_desktop  # imports asyncio, and is rarely needed

        return open_desktop(self._method, self._file)

    def close(self) -> None:
        """Close the connection to the desktop."""
        if "desktop" in self.__dict__:
            self.desktop.close()

    def _is_able(self) -> bool:
        """Whether notifications work here; after a failure it waits before trying again."""
        since = self._unable_since
        if since is not None and timer.monotonic() - since < RETRY:
            return False
        problem = self.desktop.problem()
        if problem or since is not None:
            self._set_problem(problem)
        self._unable_since = timer.monotonic() if problem else None
        return problem is None

    def _set_problem(self, problem: str | None) -> None:
        if problem and problem != self.problem:
            log.warning("notifications do not work: %s", problem)
        self.problem = problem

    def _link(self, alarm: Alarm) -> str:
        """The link that opens the note; for several, the page that lists them."""
        path = alarm.path or self._page
        if self._rules is None or not path:
            return ""
        title = alarm.note or os.path.splitext(os.path.basename(path))[0]
        template = self._rules.uri_templates()[self._rules.at(path).dialect]
        return editor_uri(template, self._vault, path, title)


def notification_findings(config: Config, state: State) -> list[tuple[str, str]]:
    """What prevents reminders here, and what to do about it."""
    notifier = Notifier(config, state)
    try:
        problem = notifier.desktop.problem()
    finally:
        notifier.close()
    if problem is None:
        return []
    what, _, advice = problem.partition("; ")
    return [(f"reminders cannot be shown: {what}", advice)]
