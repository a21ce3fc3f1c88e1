"""Events and working notes that nobody ever read fade away into the archive. Facts stay: see docs/adr/0019."""

from __future__ import annotations

from vaultmem.core.durations import spoken
from vaultmem.core.memory import INBOX, Memory
from vaultmem.core.stamps import seconds
from vaultmem.core.view import Draft

THRESHOLD = 30 * 86400.0
IMPORTANT = 0.8


def decay(draft: Draft, threshold: float = THRESHOLD, *, facts: bool = False) -> None:
    """Archive organized events and working notes that are older than `threshold` (seconds), were never read, and whose
    policy is not "stable"; with `facts`, every memory that was not written as stable."""
    now = draft.view.now.timestamp()
    for memory in draft.memories():
        if memory.phase == INBOX or not _may_fade(memory, facts=facts):
            continue
        if draft.reads(memory) or _is_spared(memory):
            continue
        since = _last_touched(memory)
        if draft.is_over(memory, since + threshold, "decay") and draft.may(memory):
            age = (now - since) / 86400
            why = f"never read in {age:.0f} days, longer than {spoken(threshold)}"
            draft.archive(memory, "decay", f"{why} ({memory.decay_policy})")


def _may_fade(memory: Memory, *, facts: bool) -> bool:
    if memory.text("decay_policy") == "stable":
        return False
    return facts or memory.is_passing or memory.decay_policy != "stable"


def is_awaited(memory: Memory) -> bool:
    """Whether it is due or reminds at some time: then it goes when the person says so."""
    return any(memory.text(key) for key in ("due", "remind", "repeat"))


def _is_spared(memory: Memory) -> bool:
    return (memory.importance or 0.0) >= IMPORTANT or is_awaited(memory)


def _last_touched(memory: Memory) -> float:
    reinforced = seconds(memory.properties.get("last_reinforced_at"))
    return max(memory.created, memory.updated, reinforced or 0.0)
