"""How many memories there are, and how they are."""

from __future__ import annotations

from collections import Counter

from vaultmem.memories.asked import Asked
from vaultmem.memories.desk import Session
from vaultmem.store import reviews

WAITING = ("contradiction", "fading")  # a person may want to do something about it


def waiting(session: Session, asked: Asked) -> dict[str, object]:  # noqa: ARG001 - every verb has the same form
    """What dreams noticed and left to a person, as far as it still is so; and how many proposals are open."""
    collection = session.desk.collection
    found = []
    for each in reviews.findings(session.desk.ledger):
        memory = collection.at(str(each["subject"]))
        if each["kind"] in WAITING and memory is not None and not memory.archived:
            found.append({**each, "id": memory.id})
    open_ = sum(one.state == reviews.OPEN for one in reviews.kept(session.desk.ledger))
    return {"findings": found, "proposals": open_, "troubles": collection.troubles()}


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
