"""Recall as a tool, and as what a session is told before it asks."""

from __future__ import annotations

from vaultmem.core.recall_text import block, inert
from vaultmem.core.values import TYPE_CHECKING
from vaultmem.tools.notes import ready
from vaultmem.tools.tool import Call, Outcome

if TYPE_CHECKING:
    from vaultmem.api import Vault

BUDGET, TOP_K = 2_000, 5
MOST_QUERY = 2_000  # characters of a prompt


def recall(vault: Vault, call: Call) -> Outcome:
    """memory_recall."""
    found = ready(vault).recall(
        call.text("query"), budget=call.number("budget", BUDGET, 1, 20_000), top_k=call.number("top_k", TOP_K, 1, 50),
        types=call.texts("types") or None, scope=call.text("scope") or None, notes=call.flag("notes"),
        untrusted=call.flag("untrusted"), by=call.client,
    )  # fmt: skip
    told = [_shown(one) for one in found["memories"]]
    text = block((str(one["memory_type"]), str(one["content"])) for one in told)
    kept: dict[str, object] = {
        name: found[name]
        for name in ("tokens", "budget_used", "left_out", "remarks")
        if name in found
    }
    return Outcome(text, {"memories": told, "count": len(told), **kept})


def _shown(memory: dict[str, object]) -> dict[str, object]:
    kept = ("id", "path", "title", "line", "end_line", "score", "tokens", "vouched")
    about = {name: memory[name] for name in kept if memory.get(name) is not None}
    kind = memory.get("memory_type") or "semantic"
    return {**about, "memory_type": kind, "content": inert(str(memory["content"]))}
