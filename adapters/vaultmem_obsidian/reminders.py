"""Reminders in task lines: (@2026-11-21 09:00), Kanban's @{..} @@{..}, and the alarm clock."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from vaultmem_obsidian.days import iso_day

TIME = r"(?:[01]?\d|2[0-3]):[0-5]\d"
_DAY = r"\d{4}-\d{2}-\d{2}"
ROUND = re.compile(
    rf"\(@(?:\[\[({_DAY})\]\]|({_DAY}))(?:[ ]+({TIME}))?"
    r"[ ]*(?:🔁\ufe0f?[ ]*([a-zA-Z0-9, !]+?))?[ ]*\)"
)
CLOCK = re.compile(rf"⏰\ufe0f?[ ]*({_DAY})(?:[ ]+({TIME}))?(?![\d:])")


class Reminder(NamedTuple):
    """When to remind, "2026-11-21" or "2026-11-21T09:00", and how to repeat."""

    when: str
    repeat: str | None = None


def moment(day: str, time: str | None) -> str | None:
    """Day and time in ISO form; None when there is no such day."""
    if not iso_day(day):
        return None
    return f"{day}T{time:0>5}" if time else day


def take_reminder(words: str, date_trigger: str, time_trigger: str) -> tuple[str, Reminder | None]:
    """The first reminder in the words of a task, and the words without it (R-REM-1, 3, 4)."""
    if "(@" in words:
        for match in ROUND.finditer(words):
            when = moment(match[1] or match[2], match[3])
            if when:
                return _cut(words, match), Reminder(when, match[4])
    if date_trigger in words:
        return _take_kanban(words, date_trigger, time_trigger)
    return words, None


def clock_reminder(words: str) -> tuple[str, Reminder | None]:
    """The first alarm clock anywhere in the words; Tasks' own fields have to stand at the end."""
    if "⏰" in words:
        for match in CLOCK.finditer(words):
            when = moment(match[1], match[2])
            if when:
                return _cut(words, match), Reminder(when)
    return words, None


@lru_cache(maxsize=8)
def kanban_forms(date_trigger: str, time_trigger: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What finds a day and a time as the Kanban plugin writes them, behind these triggers."""
    day = rf"(?<!\S){re.escape(date_trigger)}(?:\{{({_DAY})\}}|\[\[({_DAY})\]\])"
    time = rf"(?<!\S){re.escape(time_trigger)}\{{({TIME})[ ]?([AaPp][Mm])?\}}"
    return re.compile(day), re.compile(time)


def _take_kanban(words: str, date_trigger: str, time_trigger: str) -> tuple[str, Reminder | None]:
    day, time = kanban_forms(date_trigger, time_trigger)
    for match in day.finditer(words):
        written = match[1] or match[2]
        if not iso_day(written):
            continue
        words = _cut(words, match)
        clock = time.search(words)
        if not clock:
            return words, Reminder(written)
        return _cut(words, clock), Reminder(f"{written}T{_hours(clock[1], clock[2] or '')}")
    return words, None


def _hours(time: str, half: str) -> str:
    """A time of the 24-hour clock; 12 AM is midnight, 12 PM is noon."""
    hour, _, minute = time.partition(":")
    number = int(hour)
    if half and number <= 12:
        number = number % 12 + (12 if half.lower() == "pm" else 0)
    return f"{number:02}:{minute}"


def _cut(words: str, match: re.Match[str]) -> str:
    left, right = words[: match.start()].rstrip(), words[match.end() :].lstrip()
    return f"{left} {right}".strip()
