"""What is read again and again while it waits in the inbox is worth a place of its own."""

from __future__ import annotations

from vaultmem.core.classify import Verdict
from vaultmem.core.memory import INBOX
from vaultmem.core.view import Draft
from vaultmem.core.wording import plural
from vaultmem.plans.classify import OTHERWISE
from vaultmem.plans.judge import best_guess, judged

READS = 3


def upgrade(draft: Draft, reads: int = READS) -> None:
    """File inbox memories that were read `reads` times under their likeliest category."""
    waiting = [
        memory
        for memory in draft.memories()
        if memory.phase == INBOX and draft.reads(memory) >= reads
    ]
    for memory, _, verdict in judged(draft, waiting):
        if draft.may(memory):
            draft.move(
                memory, best(verdict), f"read {plural(draft.reads(memory), 'time')} in the inbox"
            )


def best(verdict: Verdict) -> str:
    """The category that is most likely, and one for what nothing tells of."""
    return best_guess(verdict) or OTHERWISE
