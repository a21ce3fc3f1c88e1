"""What is read again and again while it waits in the inbox is worth a place of its own."""

from __future__ import annotations

from vaultmem.core.memory import INBOX
from vaultmem.core.view import Draft
from vaultmem.core.wording import plural
from vaultmem.plans.judge import best_guess, judged

READS = 3
OTHERWISE = "knowledge"


def upgrade(draft: Draft, reads: int = READS) -> None:
    """File inbox memories that were read `reads` times under their likeliest category."""
    waiting = [
        memory
        for memory in draft.memories()
        if memory.phase == INBOX and draft.reads(memory) >= reads
    ]
    for memory, _, verdict in judged(draft, waiting):
        if draft.may(memory):
            category = best_guess(verdict) or OTHERWISE
            draft.move(memory, category, f"read {plural(draft.reads(memory), 'time')} in the inbox")
