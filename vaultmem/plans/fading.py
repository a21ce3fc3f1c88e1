"""Memories that are fading although notes still build on them: a person may want to reinforce them."""

from __future__ import annotations

from vaultmem.core.changes import Finding
from vaultmem.core.memory import ARCHIVE, GENERATED
from vaultmem.core.view import Draft
from vaultmem.core.wording import plural

FADING = 0.5  # confidence


def fading(draft: Draft) -> None:
    """Find "fading"."""
    away = f"{draft.view.folder}/{ARCHIVE}/"
    ours = {f"{draft.view.folder}/{name}" for name in GENERATED}
    for memory in draft.memories():
        sure = draft.view.confidence(memory)
        if sure >= FADING:
            continue
        sources = (path for path in draft.view.sources(memory.path) if path != memory.path)
        notes = tuple(sorted(p for p in set(sources) if p not in ours and not p.startswith(away)))
        if notes:
            verb = "links" if len(notes) == 1 else "link"
            said = f"[[{memory.title}]] is fading ({sure:.2f}), but {plural(len(notes), 'note')} {verb} to it"
            draft.find(Finding("fading", memory.path, said, notes))
