"""Page names: titles from file names, keys from any spelling, and journal days."""

from __future__ import annotations

import re
import unicodedata
from datetime import date

_ENCODED = re.compile(r"(?:%[0-9a-fA-F]{2})+")
_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")


def title_from_path(path: str, *, triple_lowbar: bool) -> str:
    """The title that Logseq derives from a file name alone (R-LS-1, R-LS-2)."""
    if "pages/contents." in path:
        return "Contents"
    stem = path.rpartition("/")[2].rpartition(".")[0]
    if not triple_lowbar:
        return unicodedata.normalize("NFC", _decode(stem.replace(".", "/")))
    title = _ENCODED.sub(lambda code: _decode(code[0]), stem.replace("___", "/"))
    return unicodedata.normalize("NFC", "/".join(part for part in title.split("/") if part.strip()))


def canonical(title: str) -> str:
    """The page's identity: NFC, lower case, without outer blanks and slashes."""
    if not title.isascii():
        title = unicodedata.normalize("NFC", title)
    return title.strip().strip("/").strip().lower()


def namespace(title: str) -> str | None:
    """The parent page of "a/b/c", which is "a/b", in canonical form."""
    if "/" not in title or title.startswith(("./", "../")) or "[[" in title or _URL.match(title):
        return None
    return canonical(canonical(title).rpartition("/")[0]) or None


def _decode(name: str) -> str:
    if "%" not in name:
        return name
    from urllib.parse import unquote

    try:
        return unquote(name, errors="strict")
    except UnicodeDecodeError:
        return name


DEFAULT_TITLE = "MMM do, yyyy"
DEFAULT_FILE = "yyyy_MM_dd"
# Logseq takes these for journal days, whatever the user's own format.
_ALWAYS = (DEFAULT_TITLE, "yyyy-MM-dd", "yyyy_MM_dd")

_MONTHS = (
    "january february march april may june july august september october november december".split()
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
    **dict.fromkeys(("EEEE", "EEE", "EE", "E"), _WEEKDAY),
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
        match = self._regex.fullmatch(title) if self._regex else None
        return _iso(match.groupdict()) if match else None

    def title(self, day: str) -> str:
        """The ISO day in this format."""
        written = _spellings(date.fromisoformat(day))
        return "".join(written.get(token, quoted or token) for token, quoted in self._tokens)


# No page name begins with a slash, so these keys belong to no page by accident.
_DAY = "/day/"


def day_key(day: str) -> str:
    """The key of the journal of an ISO day."""
    return f"{_DAY}{day}"


class JournalDays:
    """All spellings of a day that are one page in this graph (R-LS-16)."""

    def __init__(self, title_format: str, file_format: str) -> None:
        title_format = title_format if _readable(title_format) else DEFAULT_TITLE
        self._title = DayFormat(title_format)
        self._file = DayFormat(file_format if _readable(file_format) else DEFAULT_FILE)
        self._formats = [DayFormat(pattern) for pattern in dict.fromkeys((title_format, *_ALWAYS))]

    def day(self, title: str) -> str | None:
        """The ISO day of a page title or reference, or None for an ordinary page."""
        if len(title) > _LONGEST_TITLE or not _DIGIT.search(title):
            return None
        return next((day for format_ in self._formats if (day := format_.day(title))), None)

    def key(self, name: str) -> str:
        """The key of a page: its canonical name, or its day for a journal."""
        day = self.day(name.strip().strip("/"))
        return day_key(day) if day else canonical(name)

    def day_of_file(self, stem: str) -> str | None:
        """The ISO day of a file name in the journals folder."""
        return self._file.day(stem)

    def title(self, day: str) -> str:
        """The title of that day's page."""
        return self._title.title(day)


def _readable(pattern: str) -> bool:
    """Whether titles in this format are unambiguous: no part of the date occurs twice.

    "yyyyMdMdMd" would have the engine try all ways to share the digits among its fields.
    """
    fields = [token[0][0] for token in _TOKEN.finditer(pattern) if token[0] in _PATTERN]
    return len(pattern) <= _LONGEST_FORMAT and len(set(fields)) == len(fields)


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


def _spellings(day: date) -> dict[str, str]:
    """The value of each letter of a format."""
    month, weekday = _MONTHS[day.month - 1].capitalize(), _WEEKDAYS[day.weekday()]
    ordinal = "th" if 11 <= day.day <= 13 else {1: "st", 2: "nd", 3: "rd"}.get(day.day % 10, "th")
    return {
        "yyyy": f"{day.year:04}", "yy": f"{day.year % 100:02}",
        "MMMM": month, "MMM": month[:3], "MM": f"{day.month:02}", "M": str(day.month),
        "do": f"{day.day}{ordinal}", "dd": f"{day.day:02}", "d": str(day.day),
        "EEEE": weekday, "EEE": weekday[:3], "EE": weekday[:3], "E": weekday[:3],
    }  # fmt: skip
