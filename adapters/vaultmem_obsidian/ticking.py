"""Ticks a task as the editor does: the box, the day of completion, and the next occurrence of a recurring task."""

from __future__ import annotations

import re
from datetime import date, timedelta

from vaultmem.adapter.scan import blank_spans, body_start, hidden_spans, line_starts
from vaultmem.light import TYPE_CHECKING, NamedTuple
from vaultmem_obsidian.task_lines import (
    BEFORE_BOX,
    BLOCK_ID,
    DATES,
    Fields,
    find_clock,
    find_reminder,
    find_tasks,
)

if TYPE_CHECKING:
    from vaultmem.adapter import Completion, Task
    from vaultmem_obsidian.habits import Habits, Settings

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
# The date that the next occurrence is counted from: the first that exists.
_MOVING = ("due", "scheduled", "start")
_LEFT_OUT = ("id", "dependsOn", "created", "completed", "cancelled_on")  # of the next occurrence
_MARKED = {"🆔": "id", "⛔": "dependsOn"}


class _Piece(NamedTuple):
    """A field at the end of a task, and its position in the line."""

    name: str  # "" if unchanged
    start: int
    end: int
    is_emoji: bool


class _Place(NamedTuple):
    """A task in its line."""

    line: str  # without the line end
    box: int  # offset of the character in the box
    end: int  # end of its words and fields, before a block id
    pieces: list[_Piece]


class Ticking:
    """Ticks tasks in the notes of one vault."""

    def __init__(self, settings: Settings, habits: Habits) -> None:
        self.settings = settings
        self.habits = habits

    def completed(self, text: str, task: Task, done: Completion) -> str | None:
        """The text with the task ticked, see vaultmem.adapter.Rules."""
        now = self._open_task(text, task)
        if now is None:
            return None
        lines = text.split("\n")
        at = now.line - 1
        raw = lines[at]
        place = self._place(raw.removesuffix("\r"), now)
        if place is None:
            return None
        following = self._next(place, now, done) if now.recurrence else ""
        if following is None:
            return None
        ending = "\r" if raw.endswith("\r") or (at and lines[at - 1].endswith("\r")) else ""
        line, box, end = place.line, place.box, place.end
        stamp = self._stamp(place, now, done.at[:10])
        ticked = f"{line[:box]}x{line[box + 1 : end]}{stamp}{line[end:]}"
        lines[at : at + 1] = self._both(ticked, following, raw.endswith("\r"), ending)
        text = "\n".join(lines)
        at = now.line + 1 if self.habits.next_below else now.line
        if following and self._open_task(text, now._replace(line=at)) is None:
            return None  # without its id it would be read differently
        return text

    def _both(self, ticked: str, following: str, ends: bool, ending: str) -> list[str]:
        """The lines that replace a line; the last has its line end."""
        results = [ticked]
        if following:
            results = [ticked, following] if self.habits.next_below else [following, ticked]
        last = "\r" if ends else ""
        return [*(f"{line}{ending}" for line in results[:-1]), f"{results[-1]}{last}"]

    def _open_task(self, text: str, task: Task) -> Task | None:
        """The open task in the current text; None if it has changed."""
        text = text.replace("\r\n", "\n")
        body = body_start(text)
        plain = blank_spans(text, hidden_spans(text, body, indented=True))
        for one in find_tasks(text, plain, body, line_starts(text.split("\n")), self.settings):
            if one.line == task.line:
                same = one.text == task.text and not (one.done or one.cancelled)
                return one if same else None
        return None

    def _place(self, line: str, task: Task) -> _Place | None:
        before = BEFORE_BOX.match(line)
        if not before:
            return None
        box = before.end() + 1
        end = len(line.rstrip())
        if task.block_id:
            block = BLOCK_ID.search(line, box, end)
            end = len(line[: block.start()].rstrip()) if block else end
        reminder = find_reminder(line, self.settings, box + 2) if task.remind else None
        passed = {last: first for first, last in reminder.spans} if reminder else {}
        fields = Fields().matches(line, box + 2, end, passed)
        return _Place(line, box, end, [_piece(match) for match in fields if not match["tag"]])

    def _stamp(self, place: _Place, task: Task, day: str) -> str:
        """The day of completion, in the format of the line, or else of the plugin."""
        fields = [piece for piece in place.pieces if piece.name]
        if not self.habits.stamps_done or task.completed:
            return ""
        if not fields and (not self.habits.plugin or task.remind):
            return ""  # it would not be found there
        dataview = not fields[-1].is_emoji if fields else self.habits.dataview
        return f"  [completion:: {day}]" if dataview else f" ✅ {day}"

    def _next(self, place: _Place, task: Task, done: Completion) -> str | None:
        """The line of the next occurrence; "" if there is none, None if its rule is not understood."""
        assert task.recurrence is not None
        today = date.fromisoformat(done.at[:10])
        first = self._counted_from(task)
        following = done.next_day(task.recurrence, first or today, today)
        if following is None:
            over = done.is_over and done.is_over(task.recurrence, first or today, today)
            return "" if over else None
        away = following - first if first else timedelta()
        words, begin = place.line[: place.end], place.box + 2
        reminder = find_reminder(words, self.settings, begin) or find_clock(words, begin)
        days = [(reminder.day, reminder.day + 10)] if reminder and task.remind else []
        line = _shift(place, away, days)
        if line is None:
            return None
        line = self._without(line, place, today)
        return f"{line[: place.box]} {line[place.box + 1 :]}".rstrip()

    def _counted_from(self, task: Task) -> date | None:
        days = [task.due, task.scheduled, task.start]
        if self.habits.drops_scheduled:
            days = [task.due, task.start, task.scheduled]
        first = next((day for day in (*days, task.remind) if day), None)
        return date.fromisoformat(first[:10]) if first else None

    def _without(self, line: str, place: _Place, today: date) -> str:
        """The line for the next occurrence, without the id and the completion dates of this one."""
        line = line[: place.end]
        drops = self.habits.drops_scheduled and sum(p.name in _MOVING for p in place.pieces) > 1
        for piece in sorted(place.pieces, key=lambda one: -one.start):
            if piece.name == "created" and self.habits.stamps_created:
                written = _DAY.sub(today.isoformat(), line[piece.start : piece.end], count=1)
                line = line[: piece.start] + written + line[piece.end :]
            elif piece.name in _LEFT_OUT or (drops and piece.name == "scheduled"):
                line = line[: piece.start].rstrip() + line[piece.end :]
        return line


def _piece(match: re.Match[str]) -> _Piece:
    key = match["key"] or match["round_key"]
    if key:
        return _Piece(DATES.get(key, key), match.start(), match.end(), is_emoji=False)
    mark = match["mark"] or ""
    name = DATES.get(mark) or _MARKED.get(match[0][0]) or match[0][0]
    return _Piece(name, match.start(), match.end(), is_emoji=True)


def _shift(place: _Place, away: timedelta, others: list[tuple[int, int]]) -> str | None:
    """The line with all dates shifted; None beyond the calendar."""
    line = place.line
    spans = set(others)
    for piece in place.pieces:
        if piece.name in (*_MOVING, "⏰"):
            spans |= {match.span() for match in _DAY.finditer(line, piece.start, piece.end)}
    for start, end in sorted(spans):
        try:
            day = date.fromisoformat(line[start:end]) + away
        except ValueError:
            continue  # not a date, and not a field
        except OverflowError:
            return None
        line = line[:start] + day.isoformat() + line[end:]
    return line
