""" "Tomorrow" means nothing a week later: relative days get the date they meant."""

from __future__ import annotations

from datetime import datetime

from vaultmem.core.memory import Memory
from vaultmem.core.view import Draft
from vaultmem.core.when import absolute
from vaultmem.plans.own import is_known, is_own

STALE = 86400.0  # seconds after which a relative day is no longer today's
LONGEST = 100_000  # characters; nobody notes days in what is longer


def stale_days(draft: Draft, looked: set[str] | None = None) -> None:
    """Write the day behind relative expressions in memories that are older than a day. In one that was edited later
    nobody knows from which day to reckon; it is left as it is. `looked`: see found_reminders()."""
    for memory in draft.memories():
        if (
            is_own(memory)
            or not is_stale(draft, memory)
            or was_edited(memory)
            or memory.size > LONGEST
        ):
            continue
        if looked is not None and is_known(memory, looked):
            continue
        content = draft.content(memory)
        dated = absolute(content, written(draft, memory))
        if dated != content and draft.may(memory):
            draft.rewrite(memory, dated, "relative days got their date")


def is_stale(draft: Draft, memory: Memory) -> bool:
    """Whether it is older than a day."""
    return draft.view.now.timestamp() - memory.created > STALE


def was_edited(memory: Memory) -> bool:
    """Whether its words may be from another day than its beginning."""
    return memory.updated - memory.created > STALE


def written(draft: Draft, memory: Memory) -> datetime:
    """When it was written, in the person's zone."""
    now = draft.view.now
    return datetime.fromtimestamp(min(memory.created, now.timestamp()), now.tzinfo)
