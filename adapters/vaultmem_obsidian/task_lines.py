"""Task lines as the Tasks plugin reads them: the box, the fields at the end, the block id."""

from __future__ import annotations

import re
from functools import lru_cache

from vaultmem.adapter import Task
from vaultmem.adapter.scan import line_at
from vaultmem.light import TYPE_CHECKING, NamedTuple
from vaultmem_obsidian.habits import iso_day

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from vaultmem_obsidian.habits import Settings

_TIME = r"(?:[01]?\d|2[0-3]):[0-5]\d"
_DAY = r"\d{4}-\d{2}-\d{2}"
_ROUND = re.compile(
    rf"\(@(?:\[\[({_DAY})\]\]|({_DAY}))(?:[ ]+({_TIME}))?"
    r"[ ]*(?:🔁\ufe0f?[ ]*([a-zA-Z0-9, !]+?))?[ ]*\)"
)
_CLOCK = re.compile(rf"⏰\ufe0f?[ ]*({_DAY})(?:[ ]+({_TIME}))?(?![\d:])")


class Reminder(NamedTuple):
    """A reminder of a task: when, "2026-11-21" or "2026-11-21T09:00", its rule, and its position in the line."""

    when: str
    repeat: str | None
    spans: tuple[tuple[int, int], ...]
    day: int  # offset of its day


def moment(day: str, time: str | None) -> str | None:
    """Day and time in ISO form; None if there is no such day."""
    if not iso_day(day):
        return None
    return f"{day}T{time:0>5}" if time else day


def find_reminder(words: str, settings: Settings, begin: int = 0) -> Reminder | None:
    """The first reminder in the words of a task (R-REM-1, 3, 4)."""
    for match in _ROUND.finditer(words, begin) if "(@" in words else ():
        which = 1 if match[1] else 2
        if when := moment(match[which], match[3]):
            return Reminder(when, match[4], (match.span(),), match.start(which))
    if settings.date_trigger not in words:
        return None
    days, times = _kanban_forms(settings.date_trigger, settings.time_trigger)
    for match in days.finditer(words, begin):
        which = 1 if match[1] else 2
        if iso_day(match[which]):
            start, end = match.span()
            clock = times.search(words[:start] + " " * (end - start) + words[end:], begin)
            hours = f"T{_hours(clock[1], clock[2] or '')}" if clock else ""
            spans = (match.span(), clock.span()) if clock else (match.span(),)
            return Reminder(match[which] + hours, None, spans, match.start(which))
    return None


def find_clock(words: str, begin: int = 0) -> Reminder | None:
    """The first alarm clock anywhere in the words, unlike the fields of Tasks, which are at the end."""
    for match in _CLOCK.finditer(words, begin):
        if when := moment(match[1], match[2]):
            return Reminder(when, None, (match.span(),), match.start(1))
    return None


@lru_cache(maxsize=8)
def _kanban_forms(date_trigger: str, time_trigger: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Patterns for a day and a time as the Kanban plugin writes them, after these triggers."""
    day = rf"(?<!\S){re.escape(date_trigger)}(?:\{{({_DAY})\}}|\[\[({_DAY})\]\])"
    time = rf"(?<!\S){re.escape(time_trigger)}\{{({_TIME})[ ]?([AaPp][Mm])?\}}"
    return re.compile(day), re.compile(time)


def _hours(time: str, half: str) -> str:
    """A time of the 24-hour clock; 12 AM is midnight, 12 PM is noon."""
    hour, _, minute = time.partition(":")
    number = int(hour)
    if half and number <= 12:
        number = number % 12 + (12 if half.lower() == "pm" else 0)
    return f"{number:02}:{minute}"


def _without(words: str, reminder: Reminder | None) -> str:
    for start, end in sorted(reminder.spans, reverse=True) if reminder else ():
        words = f"{words[:start].rstrip()} {words[end:].lstrip()}".strip()
    return words


# A box glued to a bracket is a link with one letter as its text.
_BOX = re.compile(r"\[([^\[\]\n])\](?![(\[:])")
BEFORE_BOX = re.compile(r"[ \t>]*+(?:([-*+])|\d{1,9}[.)])[ \t]++")
BLOCK_ID = re.compile(r"(?:^|(?<=\s))\^([A-Za-z0-9-]+)$")
_MARKS = re.compile("[📅📆🗓⏳⌛🛫➕✅❌🔁🏁🆔⛔🔺⏫🔼🔽⏬⏰]|::")
_LONGEST_FIELD = 400
_MOST_FIELDS = 40
_IDS = r"[a-zA-Z0-9_-]+(?>(?:[ ]*,[ ]*[a-zA-Z0-9_-]+)*)"
_FIELD = re.compile(
    rf"(?:(?P<mark>[📅📆🗓⏳⌛🛫➕✅❌⏰])\ufe0f?[ ]*(?P<day>{_DAY})(?:[ ]+(?P<time>{_TIME}))?"
    r"|(?P<priority>[🔺⏫🔼🔽⏬])\ufe0f?"
    r"|🔁\ufe0f?[ ]*(?P<repeat>[a-zA-Z0-9, !]+)"
    r"|🏁\ufe0f?[ ]*[a-zA-Z]+"
    r"|🆔\ufe0f?[ ]*(?P<id>[a-zA-Z0-9_-]+)"
    rf"|⛔\ufe0f?[ ]*(?P<depends>{_IDS})"
    r"|\[[ ]*(?P<key>[A-Za-z]+)::[ ]*(?P<value>[^\[\]\n]*)\](?:[ ]*,)?"
    r"|\([ ]*(?P<round_key>[A-Za-z]+)::[ ]*(?P<round_value>[^()\n]*)\)(?:[ ]*,)?"
    r"|(?:(?<=\s)|^)(?P<tag>#[^\s!@#$%^&*(),.?\":{}|<>]+))$"
)
DATES = {
    "📅": "due", "📆": "due", "🗓": "due", "⏳": "scheduled", "⌛": "scheduled", "🛫": "start",
    "➕": "created", "✅": "completed", "❌": "cancelled_on",
    "scheduled": "scheduled", "start": "start", "created": "created", "due": "due",
    "completion": "completed", "cancelled": "cancelled_on",
}  # fmt: skip
_PRIORITIES = {"🔺": "highest", "⏫": "high", "🔼": "medium", "🔽": "low", "⏬": "lowest"}
_WORDS = {
    "priority": re.compile("highest|high|medium|low|lowest"),
    "repeat": re.compile(r"[a-zA-Z0-9, !]+"),
    "id": re.compile(r"[a-zA-Z0-9_-]+"),
    "dependsOn": re.compile(_IDS),
    "onCompletion": re.compile("[a-zA-Z]+"),
}
_NAMES = {"repeat": "recurrence", "dependsOn": "depends_on"}


class Box(NamedTuple):
    """The beginning of a task line, before its words."""

    line: int
    status: str
    bullet: bool  # "-", "*" or "+", not a number


def find_tasks(
    text: str, plain: str, body: int, starts: list[int], settings: Settings
) -> list[Task]:
    """The tasks of a note; `plain` is its text without code, maths and comments."""
    tasks = []
    last = 0
    for match in _BOX.finditer(plain, body):
        line = line_at(starts, match.start())
        if line == last:
            continue
        last = line
        before = BEFORE_BOX.match(plain, starts[line - 1], match.start())
        if not before or before.end() != match.start():
            continue
        end = starts[line] - 1 if line < len(starts) else len(text)
        words = text[match.end() : end].strip()
        task = read_task(Box(line, match[1], bool(before[1])), words, settings)
        if task:
            tasks.append(task)
    return tasks


def read_task(box: Box, words: str, settings: Settings) -> Task | None:
    """The task with these words after the box; None without words or without the global filter."""
    counts = settings.global_filter in words
    block = BLOCK_ID.search(words[-_LONGEST_FIELD:])
    if block:
        words = words[: -len(block[0])].rstrip()
    reminder = find_reminder(words, settings) if box.bullet else None
    words = _without(words, reminder)
    fields = Fields()
    if not words.isascii() or "::" in words:
        words = fields.take(words)
    if box.bullet and not reminder:
        reminder = find_clock(words)
        words = _without(words, reminder)
    remind = reminder.when if reminder else fields.clock or fields.due_clock
    if not (words or fields.read or reminder) or not (counts or reminder):
        return None
    if reminder and reminder.repeat:
        fields.texts.setdefault("recurrence", reminder.repeat)
    read = fields.texts.get
    return Task(
        box.line, box.status, words,
        done=box.status in "xX", cancelled=box.status == "-",
        due=read("due"), scheduled=read("scheduled"), start=read("start"), created=read("created"),
        completed=read("completed"), cancelled_on=read("cancelled_on"), remind=remind if box.bullet else None,
        priority=read("priority"), recurrence=read("recurrence"), id=read("id"), depends_on=fields.depends_on,
        block_id=block[1] if block else None,
    )  # fmt: skip


class Fields:
    """Fields read from the end of the line backwards, so that the leftmost of two wins."""

    def __init__(self) -> None:
        self.texts: dict[str, str | None] = {}
        self.depends_on: tuple[str, ...] = ()
        self.clock: str | None = None
        self.due_clock: str | None = None
        self.read = False

    def take(self, words: str) -> str:
        """Read all fields. Returns the remaining words, with the tags that were among the fields."""
        if not _MARKS.search(words):
            return words
        end = len(words)
        tags: list[str] = []
        for field in self.matches(words, 0, end, {}):
            end = field.start()
            if field["tag"]:
                tags.append(field["tag"])
            else:
                self.read = True
        return " ".join(filter(None, [words[:end].rstrip(), *reversed(tags)]))

    def matches(
        self, line: str, begin: int, end: int, passed: Mapping[int, int]
    ) -> Iterator[re.Match[str]]:
        """Yield the fields and tags from the end backwards; `passed` holds spans to skip, by their end."""
        for _ in range(_MOST_FIELDS):
            while end > begin and line[end - 1].isspace():
                end -= 1
            if end in passed:
                end = passed[end]
                continue
            field = _FIELD.search(line, max(begin, end - _LONGEST_FIELD), end)
            if not field or not (field["tag"] or self._read(field)):
                return
            yield field
            end = field.start()

    def _read(self, field: re.Match[str]) -> bool:
        """Read a match of _FIELD. Returns whether it is a field."""
        if mark := field["mark"]:
            return self._read_date(mark, field["day"], field["time"])
        if key := field["key"] or field["round_key"]:
            return self._read_word(key, (field["value"] or field["round_value"] or "").strip())
        if symbol := field["priority"]:
            self.texts["priority"] = _PRIORITIES[symbol]
        elif repeat := field["repeat"]:
            return self._read_word("repeat", repeat.strip())
        elif identity := field["id"]:
            return self._read_word("id", identity)
        elif depends := field["depends"]:
            return self._read_word("dependsOn", depends)
        return True

    def _read_date(self, mark: str, day: str, time: str | None) -> bool:
        when = moment(day, time)
        if mark == "⏰":
            self.clock = when
            return True
        name = DATES[mark]
        if time and name != "due":
            return False  # Tasks has no times: text after the day is ordinary
        self.texts[name] = iso_day(day)
        self.due_clock = when if time else None
        return True

    def _read_word(self, key: str, value: str) -> bool:
        if key in DATES:
            if not re.fullmatch(_DAY, value):
                return False
            self.texts[DATES[key]] = iso_day(value)
            return True
        if key not in _WORDS or not _WORDS[key].fullmatch(value):
            return False
        if key == "dependsOn":
            self.depends_on = tuple(part.strip() for part in value.split(","))
        elif key != "onCompletion":
            self.texts[_NAMES.get(key, key)] = value
        return True
