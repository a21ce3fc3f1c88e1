"""The settings in a vault's `.obsidian` folder that change how its notes are read."""

from __future__ import annotations

import json
import re
import unicodedata
from datetime import date

from vaultmem.light import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vaultmem.adapter import Folder, Value

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
_REPEATED = r"[^/]+?"  # redundant: a weekday, a week, the year again
_MOST_REPEATED = 4  # each can end in several places; many would be slow


def compose(text: str) -> str:
    """NFC, with both no-break spaces as plain blanks (R-LINK-25)."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", text).replace("\u00a0", " ").replace("\u202f", " ")


def fold(text: str) -> str:
    """The form in which names are compared: composed and in lower case (R-LINK-3).

    Final sigma counts as sigma: whether Python writes one depends on what follows, and the file
    "ΟΔΟΣ.md" has to meet the link "ΟΔΟΣ".
    """
    if text.isascii():
        return text.lower()
    return compose(text).lower().replace("ς", "σ")


def iso_day(text: str) -> str | None:
    """The text if it is an existing day, like 2026-11-21; else None."""
    if not _ISO_DAY.fullmatch(text):
        return None
    try:
        date.fromisoformat(text)
    except ValueError:
        return None
    return text


def day_format(written: str, folder: str) -> re.Pattern[str] | None:
    """A format of moment.js as a pattern of a path without `.md`; None if no day can be read from it."""
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
    needed = {"year", "short_year"}, {"month", "month_name"}, {"day"}
    if not all(fields & one for one in needed) or parts.count(_REPEATED) > _MOST_REPEATED:
        return None
    place = unicodedata.normalize("NFC", folder).strip("/")
    prefix = re.escape(place) + "/" if place else r"(?:.*/)?"
    return re.compile(prefix + "".join(parts), re.IGNORECASE)


def journal_day(path: str, formats: tuple[re.Pattern[str], ...]) -> str | None:
    """The ISO day of a daily note, None for all other notes."""
    stem, _, _ = path.rpartition(".")
    day = iso_day(stem.rpartition("/")[2])
    if day or not formats:
        return day
    days = (_day(match) for form in formats if (match := form.fullmatch(stem)))
    return next(filter(None, days), None)


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


_PLUGINS = ".obsidian/plugins"
_TEMPLATE_FOLDERS = (  # a file of settings, and the key in it
    (".obsidian/templates.json", "folder"),
    (f"{_PLUGINS}/templater-obsidian/data.json", "templates_folder"),
)
COMPARED = 500  # characters of a path that "Excluded files" is matched with


class Settings(NamedTuple):
    """Obsidian's own settings and those of three plugins, with the editor's defaults."""

    ignored: tuple[str, ...] = ()  # path prefixes of "Excluded files"
    ignored_patterns: tuple[re.Pattern[str], ...] = ()
    all_files: bool = False  # "Show all file types"
    global_filter: str = ""  # Tasks: only lines with this text are tasks
    day_formats: tuple[re.Pattern[str], ...] = ()
    date_trigger: str = "@"  # Kanban
    time_trigger: str = "@@"
    templates: tuple[str, ...] = ()  # path prefixes: their folders, and the template of daily notes


class Habits(NamedTuple):
    """How the Tasks plugin writes when a task is ticked; not relevant for reading."""

    plugin: bool = False  # whether it is enabled
    dataview: bool = False  # [completion:: 2026-11-22], not an emoji
    stamps_done: bool = True
    stamps_created: bool = False
    next_below: bool = False  # the next occurrence of a recurring task goes below the completed one
    drops_scheduled: bool = False  # the next occurrence has no scheduled day


def read_habits(root: Folder) -> Habits:
    """The habits of the Tasks plugin in a vault, with its defaults."""
    tasks = _object(root, f"{_PLUGINS}/obsidian-tasks-plugin/data.json")
    enabled = _json(root, ".obsidian/community-plugins.json")
    is_enabled = isinstance(enabled, list) and "obsidian-tasks-plugin" in enabled
    return Habits(
        plugin=bool(tasks) or is_enabled,
        dataview=tasks.get("taskFormat") == "dataview",
        stamps_done=tasks.get("setDoneDate") is not False,
        stamps_created=tasks.get("setCreatedDate") is True,
        next_below=tasks.get("recurrenceOnNextLine") is True,
        drops_scheduled=tasks.get("removeScheduledDateOnRecurrence") is True,
    )


def read_settings(root: Folder) -> Settings:
    """The settings of a vault; missing or unreadable ones are as in a new vault."""
    app = _object(root, ".obsidian/app.json")
    tasks = _object(root, f"{_PLUGINS}/obsidian-tasks-plugin/data.json")
    kanban = _object(root, f"{_PLUGINS}/obsidian-kanban/data.json")
    filters = app.get("userIgnoreFilters")
    texts = [f for f in filters if isinstance(f, str) and f] if isinstance(filters, list) else []
    return Settings(
        ignored=tuple(f for f in texts if not _is_pattern(f)),
        ignored_patterns=path_patterns([f for f in texts if _is_pattern(f)]),
        all_files=app.get("showUnsupportedFiles") is True,
        global_filter=_text(tasks, "globalFilter", "").strip(),
        day_formats=_day_formats(root),
        date_trigger=_text(kanban, "date-trigger", "@"),
        time_trigger=_text(kanban, "time-trigger", "@@"),
        templates=tuple(_templates(root)),
    )


def _templates(root: Folder) -> Iterator[str]:
    daily = _text(_object(root, ".obsidian/daily-notes.json"), "template", "")
    if daily:
        yield daily.removesuffix(".md") + ".md"
    for settings, key in _TEMPLATE_FOLDERS:
        folder = _text(_object(root, settings), key, "").strip("/")
        if folder:
            yield f"{folder}/"


def _object(root: Folder, path: str) -> dict[str, Value]:
    value = _json(root, path)
    return value if isinstance(value, dict) else {}


def _json(root: Folder, path: str) -> Value:
    try:
        value: Value = json.loads((root.read(path) or b"").removeprefix(b"\xef\xbb\xbf").decode())
    except (ValueError, RecursionError):
        return None
    return value


def _text(settings: dict[str, Value], key: str, default: str) -> str:
    value = settings.get(key)
    return value if isinstance(value, str) and value else default


def _is_pattern(text: str) -> bool:
    return len(text) > 2 and text.startswith("/") and text.endswith("/")


def _day_formats(root: Folder) -> tuple[re.Pattern[str], ...]:
    core = _object(root, ".obsidian/daily-notes.json")
    periodic = _object(root, f"{_PLUGINS}/periodic-notes/data.json").get("daily")
    sources = [core, periodic if isinstance(periodic, dict) else {}]
    results = [day_format(_text(s, "format", ""), _text(s, "folder", "")) for s in sources]
    return tuple(f for f in results if f)


# The expressions of "Excluded files", limited to those that are fast for every path. They come with the vault, and a
# vault from elsewhere must not be able to stop the reader. Python's engine tries every way to split a text among the
# repeats and choices of an expression; one with too many of them is not used.

_LONGEST = 200
_MOST = 50
_MOST_WAYS = 4 * COMPARED * COMPARED  # about a millisecond for one path, at the very worst
# As few vaults have any, these patterns are texts, which re compiles when they are first needed.
_ONE = r"\\[^1-9k]|\[(?!\]|\^\])(?>(?:\\.|[^\]\\])*)\]"  # an escape or a set: one character
# A repeated group, what Python reads otherwise than JavaScript, lookarounds, references, and a repeat of a repeat.
_UNUSABLE = r"[\[\\]|\)(?:[*+?]|\{[0-9,])|\(\?(?!:|<[A-Za-z_])|(?:^|[|(*+?}])[*+]"
_REPEAT = r"[*+]|\{[0-9]*,[0-9]*\}"
_CHOICE = r"(?<!\()\?|\|"
# Leading and trailing wildcards change no result, but multiply the ways to match.
_ANY_AROUND = r"\A\^?\.\*\??|(?<!\\)\.\*\??\$?\Z"


def path_patterns(texts: list[str]) -> tuple[re.Pattern[str], ...]:
    """The usable expressions from texts such as "/^Archive\\//"."""
    sources = (part for text in texts[:_MOST] for part in _alternatives(text[1:-1]))
    return tuple(pattern for source in sources if (pattern := _pattern(source)))


def _alternatives(source: str) -> list[str]:
    """The expressions of which one has to match: those between bars that are in no group."""
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(re.sub(_ONE, lambda one: "x" * len(one[0]), source)):
        depth += (letter == "(") - (letter == ")")
        if letter == "|" and not depth:
            parts.append(source[start:at])
            start = at + 1
    return [*parts, source[start:]]


def _pattern(source: str) -> re.Pattern[str] | None:
    """A JavaScript expression; None if Python cannot read it or would take too long with it."""
    import warnings

    source = re.sub(_ANY_AROUND, "", source)
    text = re.sub(_ONE, "x", source)
    ways = COMPARED ** (len(re.findall(_REPEAT, text)) + (not text.startswith("^")))
    ways *= 2 ** len(re.findall(_CHOICE, text)) * (1 + len(source) // 40)
    if len(source) > _LONGEST or re.search(_UNUSABLE, text) or ways > _MOST_WAYS:
        return None
    try:
        with warnings.catch_warnings():  # about "[[", which means the same in both languages
            warnings.simplefilter("ignore", FutureWarning)
            return re.compile(source.replace("(?<", "(?P<"))
    except (re.error, OverflowError, RecursionError):
        return None
