"""The meaning of the pieces of a time expression, and how two pieces are merged.

Both languages are read into the same pieces: "next week" + "on Monday", 下个月 + 3号, "tomorrow" + "at 9am".
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta

from vaultmem.light import TYPE_CHECKING, NamedTuple
from vaultmem.text.times import LAST, MONTHS, WEEKDAYS, calendar_day, day_after, month_after
from vaultmem.text.values import lazy
from vaultmem_languages import when_words

if TYPE_CHECKING:
    from typing import Literal

    Grain = Literal["day", "week", "month", "year"]
else:
    Grain = str


class Repeat(NamedTuple):
    """A repetition: every `interval` units, on these weekdays, or on the nth of them in a month."""

    unit: Grain
    interval: int = 1
    weekdays: tuple[int, ...] = ()
    nth: int = 0


class Sense(NamedTuple):
    """The meaning of one piece; unstated parts are None or empty.

    `day` is the first day of its `grain`. `clock` counts minutes from midnight; its `dial` tells whether the half of
    the day is named ("set"), may follow from words beside it ("open": 9:30), must be guessed ("bare": at 3), or is the
    next that comes ("near": 5:30). A `weak` piece has a meaning only beside another one: "in the morning".
    """

    day: date | None = None
    grain: Grain = "day"
    weekday: int | None = None
    through: int | None = None  # the last of several weekdays: Monday to Friday
    month: int | None = None
    number: int | None = None  # of a day in a month
    clock: int | None = None
    dial: Literal["set", "open", "near", "bare"] = "set"
    part: str = ""  # of the day
    at: datetime | None = None
    shift: int | None = None  # offset in days from an adjacent day
    repeat: Repeat | None = None
    since: date | None = None  # for a repetition: from when, until when, how often, or how long
    until: date | None = None
    times: int = 0
    length: tuple[float, str] | None = None  # number of days, weeks, months or years
    relative: bool = False
    weak: bool = False
    proper: bool = False  # a time only with a capital letter: Sat, May 5

    @property
    def dated(self) -> bool:
        """Whether it says anything about the day."""
        parts = self.day, self.weekday, self.number, self.month
        return any(part is not None for part in parts)


class Reading(NamedTuple):
    """One time that a text names, and its span; `others` are separate parts of it."""

    start: int
    end: int
    sense: Sense
    others: tuple[tuple[int, int], ...] = ()


Reader = Callable[[re.Match[str], datetime], Sense | None]
Rule = tuple[re.Pattern[str], Reader]


def rules(*pairs: tuple[str, Reader]) -> list[Rule]:
    """Pair patterns with their readers; of several that match, the first that reads something counts."""
    return [(lazy(pattern), read) for pattern, read in pairs]


PARTS = {
    "small hours": 3, "morning": 9, "noon": 12, "afternoon": 15, "dusk": 18, "evening": 20, "late": 22,
}  # fmt: skip


def shift_date(day: date, amount: float, unit: str) -> date | None:
    """The day `amount` units later; half a month is 15 days. None beyond the calendar."""
    if unit == "day":
        return day_after(day, int(amount))
    if unit == "week":
        return day_after(day, int(amount * 7))
    months = amount * 12 if unit == "year" else amount
    whole = month_after(day, int(months))
    return whole and day_after(whole, int((months - int(months)) * 30))


_LARGE = {
    "fortnight": (2, "week"), "quarter hour": (15, "minute"), "quarter year": (3, "month"),
}  # fmt: skip


def later(now: datetime, amount: float, unit: str) -> Sense | None:
    """A time after now: exact for hours and minutes, all-day for days."""
    many, unit = _LARGE.get(unit, (1, unit))
    amount *= many
    if unit in {"minute", "hour"} or (unit == "day" and amount != int(amount)):
        minutes = amount * {"minute": 1, "hour": 60, "day": 24 * 60}[unit]
        return _exact(now, timedelta(minutes=minutes))
    day = shift_date(now.date(), amount, unit)
    return Sense(day=day, relative=True) if day else None


def together(first: Sense | None, second: Sense | None, now: datetime) -> Sense | None:
    """Two lengths of time from now, one after the other: 2 hours 30 minutes."""
    if not (first and first.at and second and second.at):
        return None
    return _exact(now, (first.at - now) + (second.at - now))


def _exact(now: datetime, span: timedelta) -> Sense | None:
    try:  # in UTC, because local clocks jump twice a year
        return Sense(at=(now.astimezone(UTC) + span).astimezone(now.tzinfo), relative=True)
    except (OverflowError, ValueError):
        return None


def monday(day: date, weeks: int = 0) -> date | None:
    """The Monday of the week of a day, or of one so many weeks on."""
    return day_after(day, 7 * weeks - day.weekday())


def weekday_near(day: date | None, weekday: int) -> Sense | None:
    """The weekday nearest to a day: in two weeks on Monday."""
    start = day and day_after(day, -3)
    near = start and day_after(start, (weekday - start.weekday()) % 7)
    return Sense(day=near, relative=True) if near else None


def nth_weekday(first: date, weekday: int, nth: int) -> date | None:
    """The nth such weekday of the month that starts with this day."""
    length = monthrange(first.year, first.month)[1]
    days = range((weekday - first.weekday()) % 7 + 1, length + 1, 7)
    if nth > len(days):
        return None
    return first.replace(day=days[-1] if nth == LAST else days[nth - 1])


def day_of(sense: Sense, today: date) -> date | None:
    """The day of a sense: a date without a year is the next one, a bare weekday the next after today, and a month
    begins with its first day, even if that is past."""
    day = sense.day
    if not day and sense.number is not None:
        day = _next_number(sense.month, sense.number, today)
    elif not day and sense.month is not None:
        day = _next_number(sense.month, 1, today.replace(day=1))
    elif not day and sense.weekday is not None:
        day = day_after(today, (sense.weekday - today.weekday() - 1) % 7 + 1)
    return day_after(day, sense.shift) if day and sense.shift else day


def _next_number(month: int | None, number: int, today: date) -> date | None:
    """The next 5 December or the next 5th, today included; the 31st skips the months without one."""
    start = today.replace(day=1, month=month or today.month)
    for step in range(0, 97, 12) if month else range(4):  # 29 February: 1896 to 1904
        first = month_after(start, step)
        day = first and calendar_day(first.year, first.month, number)
        if day and day >= today:
            return day
    return None


def merge(first: Sense, second: Sense) -> Sense | None:
    """Two pieces merged; None when they are different times."""
    if first.at or second.at or (first.part and second.part):
        return None
    for one, other in ((first.clock, second.clock), (first.shift, second.shift)):
        if one is not None and other is not None:
            return None
    dates = _dates(first, second)
    if dates is None:
        return None
    clock = first if first.clock is not None else second
    both = dates._replace(
        clock=clock.clock,
        dial=clock.dial,
        part=first.part or second.part,
        shift=second.shift if first.shift is None else first.shift,
    )
    says = both.dated or both.clock is not None or bool(both.repeat and both.repeat.weekdays)
    return both._replace(weak=first.weak and second.weak and not says)


def _dates(first: Sense, second: Sense) -> Sense | None:
    if first.repeat or second.repeat:
        return _merge_repeats(first, second) if first.repeat else _merge_repeats(second, first)
    if not (first.dated and second.dated):
        return first if first.dated else second
    for one, other in ((first, second), (second, first)):
        if one.grain != "day":
            return _within(one, other)
    if first.weekday is not None and second.number and not second.weak:  # Monday the 30th
        return second
    if first.relative and not second.relative:  # tomorrow, 22 November; Friday, 4 December
        return second
    # 4 December, Friday; 明天（周日）.
    beside = second.weekday is not None and first.weekday is None
    return first if beside else None


def _within(period: Sense, other: Sense) -> Sense | None:
    """A weekday of a week, a day of a month, a date or a month of a year."""
    start, day = period.day, None
    if start is None:
        is_day = other.number and other.month is None
        return Sense(month=period.month, number=other.number) if is_day else None
    if period.grain == "week" and other.weekday is not None:
        first = monday(start)
        day = first and day_after(first, other.weekday)
    elif period.grain == "month" and other.number and other.month is None:
        day = calendar_day(start.year, start.month, other.number)
    elif period.grain == "year" and other.month:
        day = calendar_day(start.year, other.month, other.number or 1)
    through = other.through
    return (
        Sense(day=day, through=through, grain=other.grain, relative=period.relative)
        if day
        else None
    )


def _merge_repeats(rule: Sense, other: Sense) -> Sense | None:
    if other.repeat or not other.dated:
        return _one_rule(rule, other) if other.repeat else rule
    if rule.dated or not rule.repeat or rule.repeat.weekdays:
        return None
    if rule.repeat.unit == "week" and other.weekday is not None:
        last = other.weekday if other.through is None else other.through
        return Sense(repeat=rule.repeat._replace(weekdays=day_range(other.weekday, last)))
    if rule.repeat[:2] == ("day", 1) and other.weekday is not None and other.through is not None:
        return Sense(repeat=Repeat("week", 1, day_range(other.weekday, other.through)))
    if rule.repeat.unit == ("year" if other.month else "month") and (other.number or other.month):
        return Sense(repeat=rule.repeat, month=other.month, number=other.number or 1)
    return None


def _one_rule(first: Sense, second: Sense) -> Sense | None:
    """Fortnightly + on Mondays, Mondays + fortnightly, daily + on weekdays; None for two rules."""
    wide, days = first.repeat, second.repeat
    if days and not days.weekdays and days.unit == "week":
        wide, days = days, wide
    if not (wide and days) or first.dated or second.dated or wide.weekdays or not days.weekdays:
        return None
    if days.nth or days.interval > 1:
        return None
    if wide.unit == "day" and wide.interval == 1:
        return Sense(repeat=days)
    return Sense(repeat=days._replace(interval=wide.interval)) if wide.unit == "week" else None


def day_range(first: int, last: int) -> tuple[int, ...]:
    """The weekdays from one to another, across the weekend if needed."""
    return tuple(sorted((first + step) % 7 for step in range((last - first) % 7 + 1)))


def weekly(days: tuple[int, ...]) -> Sense | None:
    """Every week on these weekdays, which nothing but their number says; days in a row are one occasion."""
    ends = [day for day in days if (day + 1) % 7 not in days]
    return Sense(repeat=Repeat("week", 1, days)) if len(ends) > 1 else None


# By month, using the last day of shorter ones: someone who pays on the 31st pays in April, too.
_LAST_DAYS = {None: 31, 2: 29}


def rule_text(sense: Sense, interval: int) -> str | None:
    """The rule in rrule's English: "every 2 weeks on Tuesday", "every month on the last Friday for 6 times"."""
    rule = _endless(sense, interval)
    if rule and sense.since:
        rule = f"{rule} from {sense.since}"
    if rule and sense.times:
        return f"{rule} for {sense.times} times"
    return f"{rule} until {sense.until}" if rule and sense.until else rule


def _endless(sense: Sense, interval: int) -> str | None:
    repeat = sense.repeat
    if not repeat:
        return None
    if repeat.weekdays == (0, 1, 2, 3, 4) and repeat.unit == "week" and interval == 1:
        return "every weekday"
    is_last = sense.number in (LAST, _LAST_DAYS.get(sense.month))
    on = sense.number and f"on the {'last day' if is_last else _ordinal(sense.number)}"
    if sense.month and on:
        return f"every {MONTHS[sense.month - 1]} {on}"
    many = f"every {interval} {repeat.unit}s" if interval > 1 else f"every {repeat.unit}"
    if on:
        return f"{many} {on}"
    days = ", ".join(WEEKDAYS[number] for number in repeat.weekdays)
    if days and repeat.nth:
        return f"{many} on the {_ordinal(repeat.nth)} {days}"
    return f"{many} on {days}" if days else many


def _ordinal(number: int) -> str:
    if number == LAST:
        return "last"
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number in {11, 12, 13} else ending}"


# The words of dates in English

DAY_NAME = (
    "(?:mon(?:day)?|tue(?:s(?:day)?)?|wed(?:s|nesday)?|thu(?:r(?:s(?:day)?)?)?|fri(?:day)?|sat(?:urday)?"
    "|sun(?:day)?)"
)
ORDINAL = rf"(?:\d{{1,2}}(?:st|nd|rd|th)|{'|'.join(when_words.ORDINAL_WORDS)}|last)"
DEADLINES = frozenset({"by", "before", "until", "till", "due", "on"})
# Units after a number, with which it is not a day or a date.
NUMBERED = frozenset(
    """act appendix article build chapter chapters edition episode exercise exercises figure firmware gate item kernel
    lesson level line lines no number page pages paragraph part question questions ratio release room row score
    section sections slide step table v ver verse version versions vol volume""".split()
)
_WEEKDAYS = [name[:3].lower() for name in WEEKDAYS]
_LEAD = lazy(r"([a-z]+|@)[ ]{0,2}(?:the )?$")


def weekday(word: str) -> int:
    """The number of "Fri" or "Friday"; Monday is 0."""
    return _WEEKDAYS.index(word[:3])


def month(word: str) -> int:
    """The number of "Dec." or "December"."""
    return when_words.MONTHS[word.rstrip(".")]


def lead(match: re.Match[str]) -> str:
    """The word before a match, skipping "the"."""
    start = match.start()
    before = _LEAD.search(match.string[max(0, start - 16) : start])
    return before[1] if before else ""
