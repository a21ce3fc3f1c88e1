"""Marks a task done as Logseq does: DONE, or the next date of a repeating task."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta

from vaultmem.adapter.scan import body_start
from vaultmem.light import TYPE_CHECKING
from vaultmem_logseq import MIRROR, tasks
from vaultmem_logseq.outline import Block, outline
from vaultmem_logseq.page import org_page
from vaultmem_logseq.references import masks

if TYPE_CHECKING:
    from collections.abc import Iterable

    from vaultmem.adapter import Completion, Task
    from vaultmem_logseq.tasks import Stamp

_HEAD = re.compile(r"[ \t]*+(?:-[ \t]++|\*++[ \t]++)?(?:#++[ \t]++)?")
_BEGUN = {"DOING": "TODO", "NOW": "LATER"}  # the markers of the next occurrence
_REPEATER = re.compile(r"(\.\+|\+\+|\+)(\d{1,4})([hdwmy])")
_UNITS = {"d": "day", "w": "week", "m": "month", "y": "year"}
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_WRITTEN = re.compile(
    r"(?P<day>\d{4}-\d{1,2}-\d{1,2})(?:(?P<gap>[ \t]+)(?P<weekday>[^\W\d_]+\.?))?"
)
_CLOCK = re.compile(r"(?<=[ \t])\d{1,2}:\d{2}(?!\d)")
_MOST_TURNS = 100_000  # of a task that repeats every day since the year 1900


def complete(path: str, text: str, task: Task, done: Completion) -> str | None:
    """The text with the task marked done, see vaultmem.adapter.Rules."""
    if path.startswith(MIRROR):
        return None
    block = _open_block(path, text.replace("\r\n", "\n"), task)
    if block is None or not block.marker:
        return None
    lines = text.split("\n")
    turning = [
        stamp
        for stamp in (block.scheduled, block.deadline)
        if stamp and stamp.repeater and int(_parts(stamp.repeater)[1])
    ]
    marker = _BEGUN.get(block.marker, block.marker) if turning else "DONE"
    for stamp in turning:
        following = _next(stamp, done)
        moved = _shift(path, lines, block, stamp, following) if following else None
        if moved is None:
            return None
        lines = moved
    head = _HEAD.match(lines[block.line - 1])
    assert head is not None  # all parts are optional
    first, end = lines[block.line - 1], head.end() + len(block.marker)
    if first[head.end() : end] != block.marker:
        return None
    lines[block.line - 1] = first[: head.end()] + marker + first[end:]
    return "\n".join(lines)


def _open_block(path: str, text: str, task: Task) -> Block | None:
    """The block in the current text; None if it has changed."""
    for block in _blocks(path, text):
        if block.line == task.line:
            result, _ = tasks.tasks([block])
            same = result and result[0].text == task.text
            return block if same and not (result[0].done or result[0].cancelled) else None
    return None


def _blocks(path: str, text: str) -> Iterable[Block]:
    if path.lower().endswith(".org"):
        return org_page(text).blocks
    start = body_start(text)
    return outline(text, masks(text, start).shape, start)


def _parts(repeater: str) -> tuple[str, str, str]:
    match = _REPEATER.fullmatch(repeater)
    assert match is not None  # tasks.stamps() accepts no other
    return match[1], match[2], match[3]


def _next(stamp: Stamp, done: Completion) -> datetime | None:
    """The next occurrence. None beyond the calendar.

    "+" is one step; "++" repeats steps until the date is in the future; ".+" is a step from now, or from its own
    day if it was done early: Logseq keeps the date then, so that the completed occurrence would come again.
    """
    kind = _parts(stamp.repeater or "")[0]
    start, now = datetime.fromisoformat(stamp.when), datetime.fromisoformat(done.at)
    if kind == ".+":
        begin = datetime.combine(now.date(), start.time()) if _in_days(stamp) else now
        return _step(max(start, begin), stamp, done)
    following = _step(start, stamp, done)
    for _ in range(_MOST_TURNS if kind == "++" else 0):
        if following is None or following > now:
            break
        following = _step(following, stamp, done)
    return following


def _in_days(stamp: Stamp) -> bool:
    return "T" not in stamp.when or _parts(stamp.repeater or "")[2] != "h"


def _step(begin: datetime, stamp: Stamp, done: Completion) -> datetime | None:
    _, count, unit = _parts(stamp.repeater or "")
    try:
        if unit == "h" and _in_days(stamp):
            return begin + timedelta(days=-(-int(count) // 24))  # without a time of day
        if unit == "h":
            return begin + timedelta(hours=int(count))
        rule = f"every {count} {_UNITS[unit]}s"
        day: date | None = done.next_day(rule, begin.date(), begin.date())
        return datetime.combine(day, begin.time()) if day else None
    except OverflowError:
        return None


def _shift(
    path: str, lines: list[str], block: Block, stamp: Stamp, following: datetime
) -> list[str] | None:
    """The lines with the next occurrence in place of this one. The log book may hold the same text; only the stamp
    that the block is read by is changed."""
    for at in range(block.line, block.end_line):
        for start, end in tasks.spans(lines[at]) if tasks.DATE_LINE.match(lines[at]) else ():
            written = lines[at][start:end]
            if tasks.stamps(written) != [stamp]:
                continue
            line = lines[at][:start] + _advance_stamp(written, following) + lines[at][end:]
            now = [*lines[:at], line, *lines[at + 1 :]]
            blocks = _blocks(path, "\n".join(now).replace("\r\n", "\n"))
            read = next((other for other in blocks if other.line == block.line), None)
            if read and (read.deadline if stamp.deadline else read.scheduled) != stamp:
                return now
    return None


def _advance_stamp(written: str, following: datetime) -> str:
    """The stamp with another date and everything else unchanged."""

    def day(match: re.Match[str]) -> str:
        name = _WEEKDAYS[following.weekday()] if match["weekday"] else ""
        return f"{following.date().isoformat()}{match['gap'] or ''}{name}"

    return _CLOCK.sub(f"{following:%H:%M}", _WRITTEN.sub(day, written, count=1), count=1)
