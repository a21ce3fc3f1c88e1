"""How many memories there are, and how they are."""

from __future__ import annotations

from collections import Counter

from vaultmem.memories.asked import Asked
from vaultmem.memories.desk import Session


def overview(session: Session, asked: Asked) -> dict[str, object]:  # noqa: ARG001 - every verb has the same form
    """Counts by phase, category and scope."""
    collection = session.desk.collection
    live = collection.live()
    return {
        "memory_count": len(live),
        "archived": len(collection.archived()),
        "phases": dict(sorted(Counter(memory.phase for memory in live).items())),
        "categories": dict(sorted(Counter(memory.category for memory in live).items())),
        "scopes": dict(sorted(Counter(memory.scope for memory in live).items())),
        "history": session.desk.history.trouble(),
    }
