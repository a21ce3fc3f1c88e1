"""Daily notes: the day that a note's path stands for."""

from __future__ import annotations

import re
import unicodedata
from datetime import date
from typing import NamedTuple

_ISO_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_MONTHS = [
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
]  # fmt: skip
_NAMED = "|".join(f"{month}|{month[:3]}" for month in _MONTHS) + r"|\d{1,2}月"
# The tokens of moment.js that a day can be read from: the field and its pattern.
_TOKENS = {
    "YYYY": ("year", r"\d{4}"),
    "YY": ("short_year", r"\d{2}"),
    "MMMM": ("month_name", _NAMED),
    "MMM": ("month_name", _NAMED),
    "MM": ("month", r"\d{2}"),
    "M": ("month", r"\d{1,2}"),
    "DD": ("day", r"\d{2}"),
    "Do": ("day", r"\d{1,2}(?:st|nd|rd|th|日|号)?"),
    "D": ("day", r"\d{1,2}"),
}
_TOKEN = re.compile(
    r"\[([^\]]*)\]|(YYYY|YY|MMMM|MMM|MM|M|Do|DDDD|DDDo|DDD|DD|D|([A-Za-z])\3*o?)|(.)", re.DOTALL
)
_REPEATED = r"[^/]+?"  # a weekday, a week, the year once more: what the fields have said already
_MOST_REPEATED = 4  # each is a choice of where to end; many would be slow


class DayFormat(NamedTuple):
    """Where daily notes are and how they are named; the pattern matches a path without `.md`."""

    pattern: re.Pattern[str]


def iso_day(text: str) -> str | None:
    """The text itself when it is a day that exists, like 2026-11-21."""
    if not _ISO_DAY.fullmatch(text):
        return None
    try:
        date.fromisoformat(text)
    except ValueError:
        return None
    return text


def day_format(written: str, folder: str) -> DayFormat | None:
    """A format of moment.js as a pattern; None when no day can be read from it."""
    parts: list[str] = []
    fields: set[str] = set()
    for literal, name, _, other in _TOKEN.findall(unicodedata.normalize("NFC", written)[:200]):
        field, pattern = _TOKENS.get(name, ("", ""))
        if not name:
            parts.append(re.escape(literal or other))
        elif field and field not in fields:
            parts.append(f"(?P<{field}>{pattern})")
            fields.add(field)
        else:
            parts.append(_REPEATED)
    if not _names_a_day(fields) or parts.count(_REPEATED) > _MOST_REPEATED:
        return None
    place = unicodedata.normalize("NFC", folder).strip("/")
    prefix = re.escape(place) + "/" if place else r"(?:.*/)?"
    return DayFormat(re.compile(prefix + "".join(parts), re.IGNORECASE))


def _names_a_day(fields: set[str]) -> bool:
    year = "year" in fields or "short_year" in fields
    return year and "day" in fields and ("month" in fields or "month_name" in fields)


def journal_day(path: str, formats: tuple[DayFormat, ...]) -> str | None:
    """The ISO day of a daily note, None for all other notes."""
    stem, _, _ = path.rpartition(".")
    day = iso_day(stem.rpartition("/")[2])
    if day or not formats:
        return day
    for form in formats:
        if (match := form.pattern.fullmatch(stem)) and (day := _day(match)):
            return day
    return None


def _day(match: re.Match[str]) -> str | None:
    fields = match.groupdict()
    year = fields.get("year") or f"20{fields.get('short_year')}"
    month = fields.get("month") or _month_number(fields.get("month_name") or "")
    digits = "".join(c for c in fields["day"] if c.isdigit())
    return iso_day(f"{year}-{month:>02}-{digits:>02}")


def _month_number(name: str) -> str:
    if name.endswith("月"):
        return name[:-1]
    for number, month in enumerate(_MONTHS, start=1):
        if month.startswith(name.lower()):
            return str(number)
    return "0"
