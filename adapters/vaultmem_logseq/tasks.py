"""Tasks and dated blocks of an outline, and their SCHEDULED and DEADLINE stamps (R-LS-13, R-LS-14)."""

from __future__ import annotations

import re
from datetime import date

from vaultmem.adapter import Task
from vaultmem.light import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from vaultmem_logseq.outline import Block

DATE_LINE = re.compile(r"[ \t]*+(?:SCHEDULED|DEADLINE): ?[<\[]", re.IGNORECASE)
_STAMP = re.compile(
    r"(SCHEDULED|DEADLINE):[ \t]++[<\[](\d{4})-(\d{1,2})-(\d{1,2})(?!\d)([^<>\[\]\n]{0,80}+)[>\]]",
    re.IGNORECASE | re.ASCII,
)
_TIME = re.compile(r"[ \t](\d{1,2}):(\d{2})(?!\d)", re.ASCII)
_REPEATER = re.compile(r"[ \t]((?:\.\+|\+\+|\+)\d{1,4}[hdwmy])(?![^ \t])", re.ASCII)


class Stamp(NamedTuple):
    """One date of a block."""

    deadline: bool
    when: str  # "2026-11-21" or "2026-11-21T09:00"
    repeater: str | None


def stamps(line: str) -> list[Stamp]:
    """The dates on one line; the weekday is optional, impossible dates are ignored."""
    return [stamp for match in _STAMP.finditer(line) if (stamp := _stamp(match))]


def spans(line: str) -> list[tuple[int, int]]:
    """The spans of dates on a line, including impossible ones."""
    return [match.span() for match in _STAMP.finditer(line)]


def _stamp(match: re.Match[str]) -> Stamp | None:
    try:
        day = date(int(match[2]), int(match[3]), int(match[4])).isoformat()
    except ValueError:
        return None
    time = _TIME.search(match[5])
    clock = f"T{int(time[1]):02}:{time[2]}" if time and int(time[1]) < 24 and time[2] < "60" else ""
    repeater = _REPEATER.search(match[5])
    return Stamp(match[1].upper() == "DEADLINE", day + clock, repeater[1] if repeater else None)


_STATUS = {  # as in the box of a task in Obsidian; " " for all others
    "DONE": "x", "CANCELED": "-", "CANCELLED": "-", "DOING": "/", "NOW": "/", "IN-PROGRESS": "/", "STARTED": "/",
}  # fmt: skip
# A day as a page or in figures, and a time: [[Nov 25th, 2026]] 08:35, 2026-11-25T08:35.
_MOMENT = re.compile(
    r"(?:\[\[([^\[\]]{1,100})\]\]|(\d{4}-\d\d-\d\d))(?:(?:T|[ \t]{1,4})(\d{1,2}):(\d\d)(?::\d\d)?)?",
    re.ASCII,
)


_TIMES = {  # properties of a task that name a day
    "due": "due", "deadline": "due", "remind": "remind", "date": "scheduled", "scheduled": "scheduled",
}  # fmt: skip


def iso_day(title: str) -> str | None:
    """The title if it is an ISO day; else None."""
    try:
        return date.fromisoformat(title).isoformat()
    except ValueError:
        return None


def tasks(
    blocks: Iterable[Block], day: Callable[[str], str | None] = iso_day
) -> tuple[tuple[Task, ...], tuple[Task, ...]]:
    """The blocks with a marker, and the dated blocks without one; `day` maps a page name to its day."""
    results: list[Task] = []
    dated: list[Task] = []
    for block in blocks:
        if block.marker:
            results.append(_with_properties(_task(block), block, day))
        elif block.scheduled or block.deadline:
            dated.append(_task(block))
    return tuple(results), tuple(dated)


def _task(block: Block) -> Task:
    scheduled, deadline = block.scheduled, block.deadline
    repeaters = [stamp.repeater for stamp in (scheduled, deadline) if stamp and stamp.repeater]
    status = _STATUS.get(block.marker or "", " ")
    return Task(
        line=block.line,
        status=status,
        text=block.title,
        done=status == "x",
        cancelled=status == "-",
        due=deadline.when if deadline else None,
        scheduled=scheduled.when if scheduled else None,
        priority=block.priority,
        block_id=block.id,
        marker=block.marker,
        repeater=repeaters[0] if repeaters else None,
    )


def _with_properties(task: Task, block: Block, day: Callable[[str], str | None]) -> Task:
    """The task with the times in its properties, if it has no date lines."""
    moments: dict[str, str] = {}
    for field in block.properties:
        key = _TIMES.get(field.key)
        if key and (when := _moment(field.value, day)):
            moments.setdefault(key, when)
    if not moments:
        return task
    return task._replace(
        due=task.due or moments.get("due"),
        remind=moments.get("remind"),
        scheduled=task.scheduled or moments.get("scheduled"),
    )


def _moment(value: str, day: Callable[[str], str | None]) -> str | None:
    match = _MOMENT.fullmatch(value.strip())
    iso = match and (day(match[1].strip()) if match[1] else iso_day(match[2]))
    if not match or not iso or not match[3]:
        return iso
    return f"{iso}T{int(match[3]):02}:{match[4]}" if int(match[3]) < 24 and match[4] < "60" else iso
