"""The next day of a repeating task, by the Tasks plugin's rules: "every month on the last Friday".

The words are rrule's English. A plain unit counts from the previous day and stays within the month (31 January, every
month: 28 February); with "when done" it counts from the day of completion.
"""

from __future__ import annotations

import re
from datetime import date

from vaultmem.light import NamedTuple
from vaultmem.text.times import MONTHS, WEEKDAYS, day_after, days_of_month, month_after
from vaultmem.text.values import lazy

YEARLY, MONTHLY, WEEKLY, DAILY = range(4)  # as in dateutil.rrule, by which a test checks this
_COUNT = r"\d{1,4}|one|two|three"
# every [number] (unit [on [the] what {, what}] | what {, what}) [from day] [for number times | until day]
_RULE = lazy(
    rf"every(?: (?P<interval>{_COUNT}|other))?"
    r"(?: (?P<unit>day|week|month|year)s?(?:(?: (?:on|in|the))+ (?P<on>[^ ].*?))?| (?P<named>[^ ].*?))"
    rf"(?: from (?P<since>[\d-]+))?(?: for (?P<times>{_COUNT})(?: times?)?| until (?P<until>.+))?"
)
_BETWEEN = lazy(r" ?, ?(?:(?:and|or|on|in|the) )*| (?:(?:and|or|on|in|the) )+")
_WHAT = lazy(
    r"(?:(?P<nth>last(?! last)|first|second|third|\d{1,3}(?:st|nd|rd|th|\.))(?P<last> last)?(?: |$))?(?P<name>[a-z]*)"
)
_UNITS = {"day": DAILY, "week": WEEKLY, "month": MONTHLY, "year": YEARLY}
_NUMBERS = {
    "one": 1,
    "two": 2,
    "three": 3,
    "other": 2,
    "first": 1,
    "second": 2,
    "third": 3,
    "last": -1,
}
_FURTHEST = 366 * 100  # days; 29 February falls on each weekday once in 28 years
_SHORTEST_MONTH = 28


class Weekday(NamedTuple):
    """A day of the week, from Monday (0); with `n`, only the n-th of a month or year, from the end if negative."""

    weekday: int
    n: int | None = None


_WORKDAYS = [Weekday(number) for number in range(5)]


class Rule(NamedTuple):
    """One rule; without days and months it is a plain step of `interval` units."""

    unit: int
    interval: int = 1
    weekdays: tuple[Weekday, ...] = ()
    month_days: tuple[int, ...] = ()  # from the end if negative
    months: tuple[int, ...] = ()
    when_done: bool = False
    times: int | None = None  # number of occurrences, including the first day
    until: date | None = None  # the last day on which it may occur
    since: date | None = None  # its first day, if resumed from a later one

    @property
    def is_plain(self) -> bool:
        """Whether it is a plain step."""
        return not (self.weekdays or self.month_days or self.months)


def next_day(text: str, day: date, done_on: date) -> date | None:
    """The day after `day` on which a task with this rule is due again.

    `done_on` counts instead of `day` in rules that end with "when done". None if the text is not a known rule, or has
    no further day. "for 10 times" counts from `day` each time, as in the plugin: a task's text does not say how often
    it was done.
    """
    rule = read_rule(text)
    if rule is None or rule.times == 1:
        return None
    start = done_on if rule.when_done else day
    following = (
        _steps(rule, start, 1) if rule.is_plain else _nearest(rule, start, day_after(start, 1), 1)
    )
    return following if following and (rule.until is None or following <= rule.until) else None


MOST_TURNS = 1_000  # until the rule is counted from the current day


def day_to_come(text: str, day: date, done_on: date) -> date | None:
    """The first of these days that is also after `done_on`."""
    following = next_day(text, day, done_on)
    for _ in range(MOST_TURNS):
        if following is None or following > done_on:
            return following
        following = next_day(text, following, done_on)
    return next_day(text, done_on, done_on)  # for a day long ago


def is_over(text: str, day: date, done_on: date) -> bool:
    """Whether the text is a known rule that has ended: no day follows `day`."""
    rule = read_rule(text)
    if rule is None or (rule.times is None and rule.until is None):
        return False
    return next_day(text, day, done_on) is None


def occurrences_around(rule: Rule, start: date, day: date) -> tuple[date | None, date | None]:
    """The last occurrence up to `day` and the first after it, for a rule that repeats from `start`, which counts as
    one. Counted from the start, whatever was completed when: from the 31st, every month uses its last day."""
    if day < start:
        return None, start
    if rule.since is not None and rule.since < start:
        last, following = occurrences_around(rule._replace(since=None), rule.since, day)
        return max(last or start, start), following
    if rule.times is not None or rule.until is not None:
        return _ended_around(rule, start, day)
    if rule.is_plain:
        return _steps_around(rule, start, day)
    last = _nearest(rule, start, day, -1)
    return last or start, _nearest(rule, start, day_after(day, 1), 1)


def for_each_month(text: str, start: date) -> str:
    """The rule for days from `start`; if it names the day of the month on which it starts, shorter months use their
    last day instead. The plugin skips them."""
    rule = read_rule(text)
    if rule is None or rule.unit != MONTHLY or rule.weekdays or rule.months:
        return text
    if rule.month_days != (start.day,) or start.day <= _SHORTEST_MONTH:
        return text
    return re.sub(r"(?i) on (?:the )?\d+(?:st|nd|rd|th|\.)", "", text, count=1)


def resume_rule(text: str, start: date) -> str:
    """The rule in words, for resuming it from a later day: it names the first day if the number of occurrences or the
    length of months depends on it."""
    rule = read_rule(text)
    if rule is None or rule.since is not None:
        return text
    shortens = rule.is_plain and rule.unit in {MONTHLY, YEARLY} and start.day > _SHORTEST_MONTH
    if rule.times is None and not shortens:
        return text
    return re.sub(r"(?i)(?= (?:for|until) |\Z)", f" from {start.isoformat()}", text, count=1)


def _ended_around(rule: Rule, start: date, day: date) -> tuple[date | None, date | None]:
    """Like occurrences_around(), for a rule that ends: nothing follows its last day."""
    endless = rule._replace(times=None, until=None)
    end = rule.until or date.max
    if rule.times is not None:
        end = min(end, _last_of(endless, start, rule.times, day))
    last, following = occurrences_around(endless, start, max(start, min(day, end)))
    return last, following if following and following <= end else None


def _last_of(rule: Rule, start: date, times: int, today: date) -> date:
    """The last day of a rule that repeats from `start`; date.max while that day is in the future."""
    if rule.is_plain:
        return _steps(rule, start, times - 1) or date.max
    left = times - 1  # the start counts as one
    for number in range(start.toordinal(), today.toordinal() + 1):
        day = date.fromordinal(number)
        left -= day > start and _fits(rule, start, day)
        if not left:
            return day
    return date.max


def read_rule(text: str) -> Rule | None:
    """Parse a rule in words. Returns None when any word is not understood."""
    words = " ".join(text.lower().replace("!", " ").split())
    when_done = words.endswith(" when done")
    match = _RULE.fullmatch(words.removesuffix(" when done"))
    rule = match and _with_days(match["on"] or match["named"])
    if not match or not rule:
        return None
    interval, times = _number(match["interval"] or "1"), _number(match["times"] or "1")
    since, until = _day(match["since"]), _day(match["until"])
    if not (interval and times and bool(since) == bool(match["since"])):
        return None
    if bool(until) != bool(match["until"]):
        return None
    unit = _UNITS.get(match["unit"] or "", rule.unit)
    return rule._replace(
        unit=unit, interval=interval, when_done=when_done, since=since, until=until,
        times=times if match["times"] else None,
    )  # fmt: skip


def _with_days(text: str | None) -> Rule | None:
    """A rule with the days and months of a list; None if any is not understood."""
    weekdays, month_days, months = list[Weekday](), list[int](), list[int]()
    unit = WEEKLY
    for what in _BETWEEN.split(text) if text else ():
        match = _WHAT.fullmatch(what)
        name, nth = (match["name"], _number(match["nth"] or "0")) if match else ("", 0)
        nth = -nth if match and match["last"] else nth
        if (weekday := _weekday(name)) is not None:
            weekdays.append(Weekday(weekday, nth or None))
        elif nth and name in {"", "day", "days"}:
            month_days.append(nth)
        elif not nth and name in {"weekday", "weekdays"}:
            weekdays += _WORKDAYS
        elif not nth and (month := _month(name)):
            if not weekdays or weekdays[0].n:  # otherwise it is "every other Monday in December"
                unit = YEARLY
            months.append(month)
        else:
            return None
    return Rule(unit, 1, tuple(weekdays), tuple(month_days), tuple(months))


def _number(word: str) -> int:
    return _NUMBERS[word] if word in _NUMBERS else int(re.sub(r"\D+", "", word))


def _weekday(word: str) -> int | None:
    singular = word.removesuffix("s") if len(word) > 5 else word
    numbers = (at for at, name in enumerate(WEEKDAYS) if name.lower().startswith(singular))
    return next((number for number in numbers if len(word) > 1), None)


def _month(word: str) -> int:
    numbers = (at for at, name in enumerate(MONTHS, 1) if name.lower().startswith(word))
    return next((number for number in numbers if len(word) > 2), 0)


def _day(text: str | None) -> date | None:
    """2027-01-01, January 1 2027, 1st of January, 2027."""
    words = [word for word in re.split("[ ,]+", text or "") if word != "of"]
    if len(words) == 3:
        number, name = (words[1], words[0]) if _month(words[0]) else (words[0], words[1])
        words = [f"{words[2]:0>4}-{_month(name):02}-{re.sub('[a-z.]+$', '', number):0>2}"]
    try:
        return date.fromisoformat(words[0]) if len(words) == 1 else None
    except ValueError:
        return None


def _steps_around(rule: Rule, start: date, day: date) -> tuple[date | None, date | None]:
    """The occurrences around `day` of a plain step, computed by division."""
    count = _units_between(rule.unit, start, day) // rule.interval
    steps = [_steps(rule, start, count + more) for more in (-1, 0, 1, 2) if count + more >= 0]
    passed = [step for step in steps if step and step <= day]
    to_come = [step for step in steps if step and step > day]
    return max(passed, default=None), min(to_come, default=None)


def _steps(rule: Rule, start: date, count: int) -> date | None:
    """The day `count` steps from the start, in one go: step by step, the 31st would turn into the 28th for good."""
    number = rule.interval * count
    if rule.unit in {DAILY, WEEKLY}:
        return day_after(start, number * (7 if rule.unit == WEEKLY else 1))
    return month_after(start, number * (12 if rule.unit == YEARLY else 1)) if count else start


def _nearest(rule: Rule, start: date, day: date | None, way: int) -> date | None:
    """The nearest matching day after the start, searched day by day from `day`, forwards or backwards."""
    if day is None:
        return None
    first, last = start.toordinal(), date.max.toordinal()
    number = day.toordinal()
    stop = max(first, number - _FURTHEST) if way < 0 else min(last, number + _FURTHEST) + 1
    for candidate in range(number, stop, way):
        if candidate > first and _fits(rule, start, date.fromordinal(candidate)):
            return date.fromordinal(candidate)
    return None


def _fits(rule: Rule, start: date, day: date) -> bool:
    """Whether a rule with days or months includes that day, as dateutil.rrule reads it."""
    if rule.months and day.month not in rule.months:
        return False
    if not (rule.weekdays or rule.month_days):
        if rule.unit == WEEKLY and day.weekday() != start.weekday():
            return False
        if rule.unit in {MONTHLY, YEARLY} and day.day != start.day:
            return False
    length = days_of_month(day.year, day.month)
    if rule.month_days and not {day.day, day.day - length - 1} & set(rule.month_days):
        return False
    if rule.weekdays and not any(
        _is_weekday(rule, weekday, day, length) for weekday in rule.weekdays
    ):
        return False
    return _units_between(rule.unit, start, day) % rule.interval == 0


def _is_weekday(rule: Rule, weekday: Weekday, day: date, length: int) -> bool:
    if day.weekday() != weekday.weekday:
        return False
    if not weekday.n:
        return True
    if rule.unit == MONTHLY or (rule.unit == YEARLY and rule.months):
        at, last = day.day, length
    elif rule.unit == YEARLY:
        at, last = day.timetuple().tm_yday, date(day.year, 12, 31).timetuple().tm_yday
    else:
        return False  # the second Tuesday of a week
    return weekday.n in ((at - 1) // 7 + 1, -((last - at) // 7 + 1))


def _units_between(unit: int, start: date, day: date) -> int:
    if unit == DAILY:
        return (day - start).days
    if unit == WEEKLY:
        return (day.toordinal() - day.weekday() - start.toordinal() + start.weekday()) // 7
    years = day.year - start.year
    return years if unit == YEARLY else years * 12 + day.month - start.month
