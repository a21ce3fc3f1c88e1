"""Brings the numbers of reads, which live in the state, into the files, so that they move with the vault."""

from __future__ import annotations

from vaultmem.core.view import Draft
from vaultmem.core.wording import plural


def counts(draft: Draft) -> None:
    """Write `access_count` where it differs; once a dream at most, for every write wakes the editor."""
    for memory in draft.memories():
        reads = draft.reads(memory)
        if reads != memory.stored_reads and draft.may(memory):
            draft.set(memory, f"read {plural(reads, 'time')}", access_count=reads)
