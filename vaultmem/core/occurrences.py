"""When what repeats was last, and is next: reckoned from its beginning, so that nothing drifts, on the clock of the
wall, whatever a change of clocks does."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from functools import lru_cache
from typing import NamedTuple

from vaultmem.core import recurrence


class Occurrences(NamedTuple):
    """The last one that is past, or runs today, and the one after it; each written as the beginning is, "" for none."""

    last: str
    next: str


def around(rule: str, start: str, now: datetime) -> Occurrences:
    """The occurrences before and after `now` (with its zone) of what repeats by a rule in words since `start`, an ISO
    day, or day and minute. What is no rule happens once."""
    day, _, clock = start.partition("T")
    today = now.date()
    until = today if _is_past(today, clock, now) else _day_before(today)
    last, following = _days(rule, date.fromisoformat(day), until)
    return Occurrences(_written(last, clock), _written(following, clock))


@lru_cache(maxsize=4096)  # the answer is the same for a day, and asked for every minute
def _days(rule: str, start: date, until: date) -> tuple[date | None, date | None]:
    known = recurrence.read_rule(rule)
    if known is None:
        return (start, None) if start <= until else (None, start)
    return recurrence.around(known, start, until)


def _is_past(day: date, clock: str, now: datetime) -> bool:
    """Whether that time of the day is over; a whole day is there from its beginning. A time that the clock shows
    twice is over after the first."""
    if not clock:
        return True
    local = datetime.combine(day, time.fromisoformat(clock), tzinfo=now.tzinfo)
    try:
        return local.astimezone(UTC) <= now.astimezone(UTC)
    except OverflowError:  # at the ends of the calendar
        return local.replace(tzinfo=None) <= now.replace(tzinfo=None)


def _day_before(day: date) -> date:
    return date.fromordinal(max(1, day.toordinal() - 1))


def _written(day: date | None, clock: str) -> str:
    if day is None:
        return ""
    return f"{day.isoformat()}T{clock}" if clock else day.isoformat()
