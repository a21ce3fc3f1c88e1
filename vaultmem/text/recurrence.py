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
_TOKEN = lazy(
    r"\s*(?:(?P<day>\d{4}-\d\d-\d\d)|(?P<ordinal>\d{1,3})(?:st|nd|rd|th|\.)|(?P<number>\d{1,4})|(?P<word>[a-z]+)|(?P<comma>,))"
)
_UNITS = {"day": DAILY, "week": WEEKLY, "month": MONTHLY, "year": YEARLY}
_ORDINALS = {"first": 1, "second": 2, "third": 3}
_NUMBERS = {"one": 1, "two": 2, "three": 3, "other": 2}
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
    tokens = _tokens(words.removesuffix(" when done"))
    rule = _Reader(tokens).rule() if tokens else None
    return rule._replace(when_done=when_done) if rule else None


def _tokens(words: str) -> list[str]:
    """Words, ordinals as "#3", numbers and commas; empty when the text holds anything else."""
    result = []
    position = 0
    while position < len(words):
        match = _TOKEN.match(words, position)
        if not match:
            return []
        result.append(f"#{match['ordinal']}" if match["ordinal"] else match[0].strip())
        position = match.end()
    return result


class _Reader:
    """every [number] unit [on [the] what {, what}] [from day] [for number times | until day]"""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens
        self.at = 0
        self.weekdays: list[Weekday] = []
        self.month_days: list[int] = []
        self.months: list[int] = []
        self.times: int | None = None
        self.until: date | None = None
        self.since: date | None = None

    def rule(self) -> Rule | None:
        if not self._accept("every"):
            return None
        interval = self._interval()
        unit = self._unit()
        if unit is None or interval == 0:
            return None
        while self._accept("on", "in", "the"):
            self._skip("on", "in", "the")
            if not self._list():
                return None
        if self._accept("from"):
            self.since = _day([self._next()])
            self.at += 1
            if self.since is None:
                return None
        if not self._end() or self.at < len(self.tokens):
            return None
        days, months = tuple(self.weekdays), tuple(self.months)
        return Rule(
            unit, interval, days, tuple(self.month_days), months,
            times=self.times, until=self.until, since=self.since,
        )  # fmt: skip

    def _end(self) -> bool:
        """Read how often or until when. Returns False if that is not understood."""
        if self._accept("for"):
            word = self._next()
            self.times = int(word) if word.isdigit() else _NUMBERS.get(word)
            self.at += 1
            self._skip("time", "times")
            return bool(self.times) and word != "other"
        if self._accept("until"):
            self.until = _day([word for word in self.tokens[self.at :] if word not in {",", "of"}])
            self.at = len(self.tokens)
            return self.until is not None
        return True

    def _next(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def _accept(self, *words: str) -> bool:
        if self._next() not in words:
            return False
        self.at += 1
        return True

    def _skip(self, *words: str) -> None:
        while self._accept(*words):
            pass

    def _interval(self) -> int:
        word = self._next()
        number = int(word) if word.isdigit() else _NUMBERS.get(word)
        if number is None:
            return 1
        self.at += 1
        return number

    def _unit(self) -> int | None:
        word = self._next().removesuffix("s")
        if word == "weekday":
            self.at += 1
            self.weekdays += _WORKDAYS
            return WEEKLY
        if word in _UNITS:
            self.at += 1
            return _UNITS[word]
        if self._list():
            return YEARLY if self.months else WEEKLY
        return None

    def _list(self) -> bool:
        """Read days and months separated by commas, "and" or "or". Returns whether there was one."""
        if not self._what():
            return False
        while self._accept(",", "and", "or"):
            self._skip(",", "and", "or", "the", "on")
            if not self._what():
                return False
        return True

    def _what(self) -> bool:
        nth = self._nth()
        word = self._next()
        if (weekday := _weekday(word)) is not None:
            self.at += 1
            self.weekdays.append(Weekday(weekday, nth or None))
        elif nth:
            self._accept("day", "days")
            self.month_days.append(nth)
        elif word in {"weekday", "weekdays"}:
            self.at += 1
            self.weekdays += _WORKDAYS
        elif month := _month(word):
            self.at += 1
            self.months.append(month)
        else:
            return False
        return True

    def _nth(self) -> int:
        word = self._next()
        if word == "last":
            self.at += 1
            return -1
        number = int(word[1:]) if word.startswith("#") else _ORDINALS.get(word, 0)
        if not number:
            return 0
        self.at += 1
        return -number if self._accept("last") else number


def _weekday(word: str) -> int | None:
    singular = word.removesuffix("s") if len(word) > 5 else word
    numbers = (at for at, name in enumerate(WEEKDAYS) if name.lower().startswith(singular))
    return next((number for number in numbers if len(word) > 1), None)


def _month(word: str) -> int:
    numbers = (at for at, name in enumerate(MONTHS, 1) if name.lower().startswith(word))
    return next((number for number in numbers if len(word) > 2), 0)


def _day(words: list[str]) -> date | None:
    """2027-01-01, January 1 2027, 1st January 2027."""
    if len(words) == 3:
        number, name = (words[1], words[0]) if _month(words[0]) else (words[0], words[1])
        words = [f"{words[2]:0>4}-{_month(name):02}-{number.removeprefix('#'):0>2}"]
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
