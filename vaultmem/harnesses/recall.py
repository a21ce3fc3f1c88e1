"""Memories that fit what a session is about."""

from __future__ import annotations

import os
import re

from vaultmem.api import Vault
from vaultmem.core import query
from vaultmem.core.defused import one_line
from vaultmem.core.pending_items import is_approved
from vaultmem.core.pending_page import item_id
from vaultmem.core.values import TYPE_CHECKING
from vaultmem.store import answered
from vaultmem.store.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Collection

MOST_RECALLED = 8
MOST_WORDS = 40  # of a prompt
_HEAD = 16_384  # bytes of a note in which its properties are looked for

# A property with a value: `source: x`, `"url": x`, `source:: x`, or a list below it.
_FOREIGN = re.compile(
    r"""(?i)(?<![\w-])(?:source|url|agent)["']?[^\S\n]*::?(?:[^\S\n]*["']?[^\s"']|[^\S\n]*\n[^\S\n]*-[^\S\n])"""
)


def recall(vault: Vault, prompt: str, told: Collection[str]) -> list[str]:
    """Memories with words of the prompt, one line each, but not the preferences whose ids are `told` already. A word
    is a word here, whatever it means in a query."""
    words = re.findall(r"\w+", prompt)[:MOST_WORDS]
    if not words or not vault.is_indexed():
        return []
    folder = vault.config.text("memory_folder")
    inside = [query.Filter("path", f"{folder}/", False)]
    answers = answered.answers(Ledger(vault.state.path("ledger.db")))
    found: list[str] = []
    for hit in vault.search(" ".join(words), limit=3 * MOST_RECALLED, filters=inside):
        if len(found) == MOST_RECALLED:
            break
        id_ = str(hit.properties.get("id") or "")
        ours = hit.path.startswith(f"{folder}/") and item_id(id_, "preference") not in told
        if ours and (is_approved(id_, answers) or not _is_foreign(vault, hit.path)):
            found.append(one_line(hit.content))
    return found


def _is_foreign(vault: Vault, path: str) -> bool:
    """Whether a memory came from elsewhere: from the web, or perhaps from an assistant, and nobody has approved it."""
    if path.startswith(f"{vault.config.text('memory_folder')}/inbox/"):
        return True
    try:
        with open(os.path.join(vault.path, path), "rb") as file:
            text = file.read(_HEAD).decode("utf-8", "replace")
    except OSError:
        return True
    return bool(_FOREIGN.search(_head(text.removeprefix("\ufeff").replace("\r\n", "\n"))))


def _head(text: str) -> str:
    """The properties of a note as they are written."""
    if text.startswith("---"):
        return text.partition("\n---")[0]
    lines = text.split("\n")
    end = next((n for n, line in enumerate(lines) if "::" not in line), len(lines))
    return "\n".join(lines[:end])
