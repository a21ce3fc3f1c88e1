"""What dream need not read: what it wrote itself, and what it has read this night."""

from __future__ import annotations

from vaultmem.core.due_notes import OWN
from vaultmem.core.memory import REMINDERS, Memory


def is_own(memory: Memory) -> bool:
    """Whether dream made this memory out of another one."""
    return memory.category == REMINDERS and memory.text("source") == OWN


def is_known(memory: Memory, looked: set[str]) -> bool:
    """Whether it was looked at before as it is now; it is from now on."""
    key = f"{memory.path} {memory.hash}"
    known = key in looked
    looked.add(key)
    return known
