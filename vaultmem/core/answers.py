"""What a person or an assistant has answered to pending items, and what the person was told: sets that any two
machines can put together in any order and agree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

OPEN, DONE, DROPPED, SNOOZED = "open", "done", "dropped", "snoozed"


class Answer(NamedTuple):
    """The last word on one item."""

    id: str  # of the item, vm-…
    state: str  # DONE, DROPPED, SNOOZED, or OPEN: an answer was taken back
    at: str  # when, UTC: 2026-11-22T10:00:00Z
    by: str = "you"  # or the name of an assistant
    until: str = ""  # of what is snoozed: an ISO day, or day and minute
    text: str = ""  # what it was about, in one line


class Told(NamedTuple):
    """That the desktop has told of an item."""

    id: str
    at: str  # when last, UTC
    times: int = 1
    moment: str = ""  # the moment it was told for: Due.at, or the end of a snooze


T = TypeVar("T", Answer, Told)


def union(*sets: Mapping[str, T]) -> dict[str, T]:
    """All answers, or all that was told, by id; of two to one item the later; of two in the same second the greater, on
    every machine."""
    found: dict[str, T] = {}
    for each in (one for given in sets for one in given.values()):
        before = found.get(each.id)
        if before is None or (before.at, before) < (each.at, each):
            found[each.id] = each
    return found


def asleep(answer: Answer | None, now: str) -> bool:
    """Whether the item is snoozed still; `now` is local, YYYY-MM-DDTHH:MM."""
    if answer is None or answer.state != SNOOZED:
        return False
    return answer.until[:10] > now[:10] if len(answer.until) == 10 else answer.until > now


def closed(answers: Mapping[str, Answer], id_: str) -> bool:
    """Whether the item is done or dropped."""
    answer = answers.get(id_)
    return answer is not None and answer.state in (DONE, DROPPED)
