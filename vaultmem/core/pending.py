"""What waits for a person: which tasks are overdue, due today or soon."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, timedelta

from vaultmem.core.values import value

Task = dict[str, object]
Placed = tuple[str, Task]  # the path of a note and a task in it


@value
class Sections:
    """Tasks by when they are due, each list by day."""

    overdue: list[Placed]
    today: list[Placed]
    upcoming: list[Placed]


def sections(tasks: Iterable[Placed], today: str, days: int) -> Sections:
    """Sort open tasks into those before `today` (YYYY-MM-DD), those of today, and those of the next `days`."""
    last = (date.fromisoformat(today) + timedelta(days)).isoformat()
    dated = sorted((moment(task), number, one) for number, one in enumerate(tasks)
                   for task in [one[1]] if moment(task))  # fmt: skip
    found = Sections([], [], [])
    for when, _, one in dated:
        day = when[:10]
        if day < today:
            if not _only_starts(one[1]):
                found.overdue.append(one)
        elif day == today:
            found.today.append(one)
        elif day <= last:
            found.upcoming.append(one)
    return found


def moment(task: Task) -> str:
    """When a task wants attention, as YYYY-MM-DD or with a time: when due, else the first day it names."""
    days = [str(task[name]) for name in ("due", "scheduled", "remind", "start") if task.get(name)]
    return str(task.get("due") or min(days, default=""))


def _only_starts(task: Task) -> bool:
    """A task that could be begun some time ago is open, but late for nothing."""
    return not any(task.get(name) for name in ("due", "scheduled", "remind"))
