"""Memories that fit what a session is about."""

from __future__ import annotations

import re

from vaultmem.api import Vault
from vaultmem.core.defused import one_line
from vaultmem.core.pending_page import item_id

MOST_RECALLED = 8
BUDGET = 600  # tokens
MOST_WORDS = 40  # of a prompt


def recall(vault: Vault, prompt: str, told: frozenset[str], by: str) -> dict[str, str]:
    """Memories with words of the prompt for the assistant `by`, one line each by id, but not the facts and preferences
    whose ids are `told` already. By words alone: what is only near in meaning would be told at every greeting, and a
    hook is not to load a model. It is not counted as read here: the hook notes all that it tells (reminders.told)."""
    words = re.findall(r"\w+", prompt)[:MOST_WORDS]
    if not words or not vault.is_indexed():
        return {}
    from vaultmem.api.rpc import carry_out
    from vaultmem.memories.desk import Desk
    from vaultmem.memories.reader import Reader

    asked = {
        "query": " ".join(words), "top_k": MOST_RECALLED + len(told), "budget": 2 * BUDGET,
        "notes": False, "without": ["meaning", "preferences"], "by": by, "counts": False,
    }  # fmt: skip
    found = carry_out(Desk(vault.state, vault.config), Reader(vault), "recall", asked)
    assert isinstance(found, dict)
    fresh = [
        one
        for one in found["memories"]
        if one["vouched"] and told.isdisjoint((one["id"], item_id(str(one["id"]), "preference")))
    ]
    lines: dict[str, str] = {}
    left = BUDGET
    for one in fresh[:MOST_RECALLED]:
        left -= one["tokens"]
        if left >= 0:
            lines[str(one["id"])] = one_line(one["content"])
    return lines
