"""What nobody ever read fades away into the archive, unless it is meant to stay or its day is still to come."""

from __future__ import annotations

from vaultmem.core.durations import spoken
from vaultmem.core.memory import INBOX, Memory
from vaultmem.core.stamps import seconds
from vaultmem.core.view import Draft

THRESHOLD = 30 * 86400.0
IMPORTANT = 0.8


def decay(draft: Draft, threshold: float = THRESHOLD) -> None:
    """Archive organized memories that are older than `threshold` (seconds), were never read, and whose policy is
    not "stable"."""
    now = draft.view.now.timestamp()
    for memory in draft.memories():
        age = now - _last_touched(memory)
        if memory.phase == INBOX or memory.decay_policy == "stable" or age <= threshold:
            continue
        if draft.reads(memory) or _is_spared(memory, now):
            continue
        if draft.may(memory):
            why = f"never read in {age / 86400:.0f} days, longer than {spoken(threshold)}"
            draft.archive(memory, "decay", f"{why} ({memory.decay_policy})")


def is_awaited(memory: Memory, now: float) -> bool:
    """Whether a day it names in its properties is still to come, or comes again."""
    if memory.text("repeat"):
        return True
    days = (seconds(memory.properties.get(key)) for key in ("due", "remind"))
    return any(day is not None and day >= now - 86400 for day in days)  # days may be in any zone


def _is_spared(memory: Memory, now: float) -> bool:
    return (memory.importance or 0.0) >= IMPORTANT or is_awaited(memory, now)


def _last_touched(memory: Memory) -> float:
    reinforced = seconds(memory.properties.get("last_reinforced_at"))
    return max(memory.created, memory.updated, reinforced or 0.0)
