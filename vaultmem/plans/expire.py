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
        why = _why(memory, now, ttl)
        if why is None:
            continue
        by_its_word = memory.expires is not None and memory.expires <= now
        if not by_its_word and (is_awaited(memory) or draft.reads(memory) >= reads):
            continue
        if not by_its_word and not (facts or memory.is_passing):
            over.append(memory)
        elif draft.may(memory):
            draft.archive(memory, "expire", why)
    file_all(draft, over)


def _why(memory: Memory, now: float, ttl: float) -> str | None:
    if memory.expires is not None and memory.expires <= now:
        return f"expired at its own word, expires_at {memory.text('expires_at')}"
    age = now - max(memory.created, memory.updated)
    if memory.phase == INBOX and age > ttl:
        return f"in the inbox for {age / 86400:.0f} days, longer than {spoken(ttl)}"
    return None
