"""Moments as properties hold them, durations as people write them, and schedules of jobs."""

from __future__ import annotations

import math
from collections.abc import Mapping

from vaultmem.text.values import TYPE_CHECKING, lazy, plural, value

if TYPE_CHECKING:
    from datetime import date, datetime, tzinfo


# A day that exists in any zone.
_FIRST, _LAST = -62_135_000_000.0, 253_402_000_000.0
_ADDED_DAY = lazy(r"\s?[(（]\d{4}-(?:W\d\d|\d\d(?:-\d\d(?: \d\d:\d\d)?)?)[)）]")


def without_days(text: str) -> str:
    """The text without what a dream adds to relative times: tomorrow (2026-11-22), next week (2026-W48)."""
    return _ADDED_DAY.sub("", text)


def stamp(seconds: float) -> str:
    """A moment in UTC, in whole seconds, in ISO 8601: "2026-11-22T10:00:00Z"."""
    from datetime import UTC, datetime  # a search only reads confidence, mostly of no memory

    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def fine_stamp(seconds: float) -> str:
    """The same to the millisecond, for events in quick succession."""
    from datetime import UTC, datetime

    moment = datetime.fromtimestamp(to_milliseconds(seconds), UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def to_milliseconds(seconds: float) -> float:
    """The seconds without what is finer than a millisecond; those of a fine stamp stay the same."""
    return math.floor(seconds * 1000 + 0.01) / 1000  # a float is off by less


def seconds(stamp: object, zone: tzinfo | None = None) -> float | None:
    """Seconds since the epoch of an ISO day or time; one without a zone is in `zone`, or UTC. None for anything
    else."""
    if not isinstance(stamp, str):
        return None
    from datetime import UTC, datetime

    try:
        moment = datetime.fromisoformat(stamp.strip())
        result = (moment if moment.tzinfo else moment.replace(tzinfo=zone or UTC)).timestamp()
    except (ValueError, OverflowError, OSError):
        return None
    return result if _FIRST <= result <= _LAST else None


_ZONED = lazy(r"\d[Tt ]\d\d.*(?:[Zz]|[+-]\d\d:?\d\d)\s*$")


def local_day(stamp: object) -> str:
    """The ISO day of a stamp: the day here if it has a time and a zone; "" if it is no text."""
    if not isinstance(stamp, str):
        return ""
    at = seconds(stamp) if _ZONED.search(stamp) else None
    if at is None:
        return stamp.strip()[:10]
    from datetime import UTC, datetime

    return f"{datetime.fromtimestamp(at, UTC).astimezone():%Y-%m-%d}"


def day_start(day: str) -> float | None:
    """When an ISO day begins here, in seconds since the epoch. None for anything else."""
    from datetime import datetime

    try:
        return datetime.fromisoformat(day).astimezone().timestamp()
    except (ValueError, OverflowError):
        return None


def moment(text: str, now: datetime, *, ahead: bool) -> float | None:
    """The moment that a person means by a day, a time or a duration such as 7d, in seconds since the epoch. Days and
    times without a zone are in the zone of `now`; a duration is counted forwards from now, or backwards without
    `ahead`. None for anything else."""
    at = seconds(text, now.tzinfo)
    if at is not None:
        return at
    try:
        span = duration_seconds(text)
    except ValueError:
        return None
    return now.timestamp() + (span if ahead else -span)


_DAY = lazy(r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2}))?)?")


def day_range(value: str) -> tuple[str, str] | None:
    """The first and last ISO day of "2026", "2026-11" or "2026-11-21"; None for anything else."""
    match = _DAY.fullmatch(value)
    if not match:
        return None
    year, month, day = match.groups()
    if month and not 1 <= int(month) <= 12:
        return None
    if day and not 1 <= int(day) <= days_of_month(int(year), int(month)):
        return None
    return f"{year}-{month or '01'}-{day or '01'}", f"{year}-{month or '12'}-{day or '31'}"


def days_of_month(year: int, month: int) -> int:
    """The number of days of a month."""
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31


# Durations as people write them: "5m", "1h30m", "7d".

DURATION_UNITS = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
UNIT_NAMES = {604_800: "week", 86_400: "day", 3_600: "hour", 60: "minute", 1: "second"}
LONGEST = 3_660 * 86_400  # ten years, which every calendar and clock can represent


def duration_seconds(text: str) -> int:
    """The seconds of a duration: "7d", "168h", "1h30m", "2w". Raises ValueError for anything else, and for an empty
    text."""
    total, number = 0, ""
    for letter in text.strip().lower().replace(" ", "") or "?":
        if letter in "0123456789" and len(number) < 10:
            number += letter
        elif letter in DURATION_UNITS and number:
            total, number = total + int(number) * DURATION_UNITS[letter], ""
        else:
            number = "?"
            break
    if number:
        raise ValueError("a length of time such as 30s, 5m, 1h30m, 7d or 2w")
    if not 1 <= total <= LONGEST:
        raise ValueError("a length of time from 1s to 3660d")
    return total


def reminds_on(memory: Mapping[str, object]) -> str:
    """When a reminder is due, and how often; "" for another memory."""
    from vaultmem.text.sanitize import one_line

    due, repeat = (one_line(str(memory.get(key) or "")) for key in ("remind", "repeat"))
    when = ", ".join(filter(None, (due.replace("T", " "), repeat)))
    return f"reminds on {when}" if when else ""


def format_duration(span: float) -> str:
    """A duration in words, by its two largest units: "1 hour 30 minutes". Weeks only if nothing is left over."""
    left = round(span)
    if left < 1:
        return "less than a second"
    parts = []
    for size, name in UNIT_NAMES.items():
        if name == "week" and left % size:
            continue
        count, left = divmod(left, size)
        if count:
            parts.append(plural(count, name))
        if len(parts) == 2 or (parts and not count):
            break
    return " ".join(parts)


# Schedules of jobs: an interval, a cron line, or never; and the conditions under which a job waits.

OFF = "off"
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_DAYS = "sun mon tue wed thu fri sat".split()
# By field: the smallest and the largest number, and names for numbers.
_FIELDS: Mapping[str, tuple[int, int, Mapping[str, int]]] = {
    "minute": (0, 59, {}),
    "hour": (0, 23, {}),
    "day": (1, 31, {}),
    "month": (1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    "weekday": (0, 7, {name: number for number, name in enumerate(_DAYS)}),
}
_ITEM = lazy(r"(?:(\*)|(\w{1,3})(?:-(\w{1,3}))?)(?:/(\d{1,2}))?")


@value
class Cron:
    """The numbers that each field of a cron line allows. Weekdays are 0 (Sunday) to 6.

    `hourly` means that the hour is left open; `either` that a day matches by number or by weekday, as in cron if both
    are given.
    """

    minute: list[int]
    hour: list[int]
    day: list[int]
    month: list[int]
    weekday: list[int]
    hourly: bool
    either: bool


def read_schedule(text: str) -> int | Cron | None:
    """Parse a schedule: seconds between two runs, a cron line, or None for "off". Raises ValueError that says what is
    allowed."""
    schedule = text.strip().lower()
    if schedule == OFF:
        return None
    fields = schedule.split()
    if len(fields) == 5:
        return _cron(fields)
    try:
        return duration_seconds(schedule)
    except ValueError as error:
        raise ValueError(
            'a length of time such as 5m or 24h, a cron line such as "0 3 * * *", or off'
        ) from error


def _cron(fields: list[str]) -> Cron:
    sets = {name: _numbers(name, text) for name, text in zip(_FIELDS, fields, strict=True)}
    sets["weekday"] = sorted({number % 7 for number in sets["weekday"]})
    by_day, by_weekday = (not fields[at].startswith("*") for at in (2, 4))
    longest = max(days_of_month(2024, month) for month in sets["month"])  # a leap year
    if by_day and not by_weekday and min(sets["day"]) > longest:
        raise ValueError(f'a cron line with a day that exists (not "{" ".join(fields)}")')
    return Cron(**sets, hourly=fields[1].startswith("*"), either=by_day and by_weekday)


def _numbers(name: str, text: str) -> list[int]:
    return sorted({number for item in text.split(",") for number in _range(name, item)})


def _range(name: str, item: str) -> range:
    """The numbers of *, 5, mon-fri, */15 or 3/2."""
    lowest, highest, _ = _FIELDS[name]
    match = _ITEM.fullmatch(item)
    star, begin, end, step = match.groups() if match else (None, item, None, None)
    first = last = lowest if star else _number(name, begin)
    if end:
        last = _number(name, end) or (7 if name == "weekday" else 0)  # fri-sun
    elif star or step:
        last = 6 if name == "weekday" else highest
    every = int(step or 1)
    if every < 1 or last < first:
        raise ValueError(f"a cron line with another {name} than {item!r}")
    return range(first, last + 1, every)


def _number(name: str, word: str) -> int:
    lowest, highest, names = _FIELDS[name]
    number = names.get(word, int(word) if word.isascii() and word.isdecimal() else -1)
    if not lowest <= number <= highest:
        raise ValueError(
            f"a cron line whose {name} is between {lowest} and {highest}, not {word!r}"
        )
    return number


# Days of the calendar.

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
LAST = -1  # the last day of a month, the last Friday of a month


def calendar_day(year: int, month: int, number: int) -> date | None:
    """The day of a month, or None if it does not exist. The number LAST means the last day of the month."""
    if not (1 <= year <= 9998 and 1 <= month <= 12):
        return None
    from datetime import date

    last = days_of_month(year, month)
    if number == LAST:
        return date(year, month, last)
    return date(year, month, number) if 1 <= number <= last else None


def month_after(day: date, months: int) -> date | None:
    """The same day `months` later, or the last day of that month if it is shorter; None beyond the calendar."""
    count = day.year * 12 + day.month - 1 + months
    year, month = divmod(count, 12)
    first = calendar_day(year, month + 1, 1)
    return first and first.replace(day=min(day.day, days_of_month(year, month + 1)))


def day_after(day: date, days: int) -> date | None:
    """The day `days` later; None beyond the calendar."""
    from datetime import timedelta

    try:
        return day + timedelta(days=days)
    except OverflowError:
        return None


def day_number(iso: str) -> int:
    """An ISO day as the number YYYYMMDD, which sorts like the day itself; 0 for none."""
    digits = iso[:10].replace("-", "")
    return int(digits) if len(digits) == 8 and digits.isdecimal() else 0
