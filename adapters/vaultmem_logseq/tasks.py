"""Tasks and dated blocks of an outline (R-LS-13, R-LS-14)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vaultmem.adapter import Task

if TYPE_CHECKING:
    from collections.abc import Iterable

    from vaultmem_logseq.outline import Block

_DONE = frozenset({"DONE"})
_CANCELLED = frozenset({"CANCELED", "CANCELLED"})
_RUNNING = frozenset({"DOING", "NOW", "IN-PROGRESS", "STARTED"})


def tasks(blocks: Iterable[Block]) -> tuple[tuple[Task, ...], tuple[Task, ...]]:
    """The blocks with a marker, and the blocks without one that have a date."""
    found: list[Task] = []
    dated: list[Task] = []
    for block in blocks:
        if block.marker:
            found.append(_task(block))
        elif block.scheduled or block.deadline:
            dated.append(_task(block))
    return tuple(found), tuple(dated)


def _task(block: Block) -> Task:
    scheduled, deadline = block.scheduled, block.deadline
    repeaters = [stamp.repeater for stamp in (scheduled, deadline) if stamp and stamp.repeater]
    return Task(
        line=block.line,
        status=_status(block.marker),
        text=block.title,
        done=block.marker in _DONE,
        cancelled=block.marker in _CANCELLED,
        due=deadline.when if deadline else None,
        scheduled=scheduled.when if scheduled else None,
        priority=block.priority,
        block_id=block.id,
        marker=block.marker,
        repeater=repeaters[0] if repeaters else None,
    )


def _status(marker: str | None) -> str:
    if marker in _DONE:
        return "x"
    if marker in _CANCELLED:
        return "-"
    return "/" if marker in _RUNNING else " "
