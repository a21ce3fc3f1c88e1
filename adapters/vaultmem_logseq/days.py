"""Journal days: titles in Logseq's date formats and the ISO days they mean."""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

DEFAULT_TITLE = "MMM do, yyyy"
DEFAULT_FILE = "yyyy_MM_dd"
# Logseq takes these for journal days whatever the user's own format is.
_ALWAYS = (DEFAULT_TITLE, "yyyy-MM-dd", "yyyy_MM_dd")

_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTH_OF = {name[:3]: number for number, name in enumerate(_MONTHS, 1)}
_TOKEN = re.compile(r"'([^']*)'|yyyy|yy|MMMM|MMM|MM|M|do|dd|d|EEEE|EEE|EE|E|.", re.DOTALL)
_DIGIT = re.compile(r"\d")
_LONGEST_TITLE = 100
_LONGEST_FORMAT = 60

_WEEKDAY = "(?:" + "|".join(f"{name[:3]}(?:{name[3:]})?" for name in _WEEKDAYS) + ")"
_PATTERN = {
    "yyyy": r"(?P<year>[0-9]{4})",
    "yy": r"(?P<short_year>[0-9]{2})",
    "MMMM": "(?P<month_name>" + "|".join(_MONTHS) + ")",
    "MMM": "(?P<month_name>" + "|".join(_MONTH_OF) + ")",
    "MM": r"(?P<month>[0-9]{2})",
    "M": r"(?P<month>[0-9]{1,2})",
    "do": r"(?P<day>[0-9]{1,2})(?:st|nd|rd|th)",
    "dd": r"(?P<day>[0-9]{2})",
    "d": r"(?P<day>[0-9]{1,2})",
    "EEEE": _WEEKDAY,
    "EEE": _WEEKDAY,
    "EE": _WEEKDAY,
    "E": _WEEKDAY,
}
_WRITTEN: dict[str, Callable[[date], str]] = {
    "yyyy": lambda day: f"{day.year:04}",
    "yy": lambda day: f"{day.year % 100:02}",
    "MMMM": lambda day: _MONTHS[day.month - 1].capitalize(),
    "MMM": lambda day: _MONTHS[day.month - 1][:3].capitalize(),
    "MM": lambda day: f"{day.month:02}",
    "M": lambda day: str(day.month),
    "do": lambda day: f"{day.day}{_ordinal(day.day)}",
    "dd": lambda day: f"{day.day:02}",
    "d": lambda day: str(day.day),
    "EEEE": lambda day: _WEEKDAYS[day.weekday()],
    "EEE": lambda day: _WEEKDAYS[day.weekday()][:3],
    "EE": lambda day: _WEEKDAYS[day.weekday()][:3],
    "E": lambda day: _WEEKDAYS[day.weekday()][:3],
}


class DayFormat:
    """One date format in Java's letters, such as "EEE, dd.MM.yyyy"."""

    def __init__(self, pattern: str) -> None:
        self._tokens = [(token[0], token[1]) for token in _TOKEN.finditer(pattern)]
        seen: set[str] = set()
        regex = "".join(_regex(token, quoted, seen) for token, quoted in self._tokens)
        whole = {"month_name", "month"} & seen and "day" in seen and {"year", "short_year"} & seen
        clear = whole and _readable(pattern)
        self._regex = re.compile(regex, re.IGNORECASE) if clear else None

    def day(self, title: str) -> str | None:
        """The ISO day that the title spells in this format, or None."""
        found = self._regex.fullmatch(title) if self._regex else None
        return _iso(found.groupdict()) if found else None

    def title(self, day: str) -> str:
        """The ISO day in this format."""
        value = date.fromisoformat(day)
        return "".join(
            _WRITTEN[token](value) if token in _WRITTEN else (quoted or token)
            for token, quoted in self._tokens
        )


class JournalDays:
    """All spellings of a day that are one page in this graph (R-LS-16)."""

    def __init__(self, title_format: str, file_format: str) -> None:
        title_format = title_format if _readable(title_format) else DEFAULT_TITLE
        self._title = DayFormat(title_format)
        self._file = DayFormat(file_format if _readable(file_format) else DEFAULT_FILE)
        self._formats = [DayFormat(pattern) for pattern in _distinct((title_format, *_ALWAYS))]

    def day(self, title: str) -> str | None:
        """The ISO day of a page title or reference, or None for an ordinary page."""
        if len(title) > _LONGEST_TITLE or not _DIGIT.search(title):
            return None
        return next((day for each in self._formats if (day := each.day(title))), None)

    def day_of_file(self, stem: str) -> str | None:
        """The ISO day of a file name in the journals folder."""
        return self._file.day(stem)

    def title(self, day: str) -> str:
        """The title of that day's page."""
        return self._title.title(day)


def _readable(pattern: str) -> bool:
    """Whether titles in this format are read in one way: no part of the date comes twice.

    "yyyyMdMdMd" would have the engine try all ways to share the digits among its fields.
    """
    fields = [token[0][0] for token in _TOKEN.finditer(pattern) if token[0] in _PATTERN]
    return len(pattern) <= _LONGEST_FORMAT and len(set(fields)) == len(fields)


def _distinct(patterns: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(patterns))


def _regex(token: str, quoted: str | None, seen: set[str]) -> str:
    pattern = _PATTERN.get(token)
    if pattern is None:
        return re.escape(quoted if quoted is not None else token)
    name = re.match(r"\(\?P<(\w+)>", pattern)
    if name is not None:
        seen.add(name[1])
    return pattern


def _iso(parts: dict[str, str | None]) -> str | None:
    name, number = parts.get("month_name"), parts.get("month")
    year, day = parts.get("year") or f"20{parts.get('short_year')}", parts.get("day")
    month = _MONTH_OF[name[:3].lower()] if name else int(number or 0)
    try:
        return date(int(year), month, int(day or 0)).isoformat()
    except ValueError:
        return None


def _ordinal(day: int) -> str:
    if 11 <= day <= 13:
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
