"""The inbox does not keep forever: events that stayed unfiled too long go to the archive, facts are filed; and what
ends by its own word goes."""

from __future__ import annotations

from vaultmem.core.durations import spoken
from vaultmem.core.memory import INBOX, Memory
from vaultmem.core.view import Draft
from vaultmem.plans.classify import file_all
from vaultmem.plans.decay import is_awaited
from vaultmem.plans.upgrade import READS

TTL = 7 * 86400.0


def expire(draft: Draft, ttl: float = TTL, reads: int = READS, *, facts: bool = False) -> None:
    """Archive what has expired. `ttl` in seconds; what was read `reads` times is for upgrade to file. A fact of the
    inbox is filed when its time is over, or archived with `facts`."""
    now = draft.view.now.timestamp()
    over: list[Memory] = []
    for memory in draft.memories():
        since = max(memory.created, memory.updated)
        if memory.expires is not None and draft.is_over(memory, memory.expires, "expire"):
            said = memory.text("expires_at")
            _archive(draft, memory, f"expired at its own word, expires_at {said}")
            continue
        if memory.phase != INBOX or now - since <= ttl:
            continue
        if is_awaited(memory) or draft.reads(memory) >= reads:
            continue
        if not (facts or memory.is_passing):
            over.append(memory)
        elif draft.is_over(memory, since + ttl, "expire"):
            age = f"{(now - since) / 86400:.0f} days"
            _archive(draft, memory, f"in the inbox for {age}, longer than {spoken(ttl)}")
    file_all(draft, over)


def _archive(draft: Draft, memory: Memory, why: str) -> None:
    if draft.may(memory):
        draft.archive(memory, "expire", why)
