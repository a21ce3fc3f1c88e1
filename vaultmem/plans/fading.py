"""Memories that are fading although notes still build on them: a person may want to reinforce them."""

from __future__ import annotations

from vaultmem.core import decay
from vaultmem.core.changes import Finding
from vaultmem.core.memory import ARCHIVE, GENERATED, Memory
from vaultmem.core.stamps import seconds
from vaultmem.core.view import Draft
from vaultmem.core.wording import plural

FADING = 0.5  # confidence


def fading(draft: Draft) -> None:
    """Find "fading"."""
    away = f"{draft.view.folder}/{ARCHIVE}/"
    ours = {f"{draft.view.folder}/{name}" for name in GENERATED}
    for memory in draft.memories():
        sure = confidence(memory, draft.view.now.timestamp())
        if sure >= FADING:
            continue
        sources = (path for path in draft.view.sources(memory.path) if path != memory.path)
        notes = tuple(sorted(p for p in set(sources) if p not in ours and not p.startswith(away)))
        if notes:
            verb = "links" if len(notes) == 1 else "link"
            said = f"[[{memory.title}]] is fading ({sure:.2f}), but {plural(len(notes), 'note')} {verb} to it"
            draft.find(Finding("fading", memory.path, said, notes))


def confidence(memory: Memory, now: float) -> float:
    """How sure a memory still is."""
    reinforced = seconds(memory.properties.get("last_reinforced_at"))
    return decay.confidence(memory.decay_policy, memory.created, reinforced, now)
