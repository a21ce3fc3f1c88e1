"""Recall as a tool, and as what a session is told before it asks."""

from __future__ import annotations

from vaultmem.search.recall_text import block, entry, held_back_line, older_line
from vaultmem.text.values import TYPE_CHECKING
from vaultmem.tools.notes import ready
from vaultmem.tools.shown import short_id
from vaultmem.tools.tool import Call, Outcome

if TYPE_CHECKING:
    from vaultmem.api import Vault

MOST_QUERY = 2_000  # characters of a prompt


def recall(vault: Vault, call: Call) -> Outcome:
    """memory_recall."""
    found = ready(vault).ask("recall", **call.arguments, by=call.client)
    told = found["memories"]
    text = block(map(entry, told))
    if ids := [short_id(one["id"]) for one in told if one["kind"] == "memory"]:
        text += f"\nids of the memories, in this order: {', '.join(ids)}"
    if waits := held_back_line(found.get("held_back", ()), typed=False):
        text += f"\n{waits}"
    if older := older_line(found["left_out"], typed=False):
        text += f"\n{older}"
    named = ("tokens", "budget_used", "left_out", "held_back", "remarks")
    kept: dict[str, object] = {name: found[name] for name in named if name in found}
    return Outcome(text, {"memories": [_place(one) for one in told], "count": len(told), **kept})


def _place(memory: dict[str, object]) -> dict[str, object]:
    kept = ("id", "path", "line", "end_line", "memory_type", "score", "tokens", "vouched")
    return {name: memory[name] for name in kept if memory.get(name) is not None}
