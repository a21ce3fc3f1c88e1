"""The context of a question in a conversation: its summary, and the memories that fit."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from vaultmem.api import Vault
from vaultmem.chat.bodies import Context, compose
from vaultmem.config import Config
from vaultmem.errors import VaultmemError
from vaultmem.index import minilm
from vaultmem.memories.conversation import FINAL, SUMMARIES, TURNS, USER, scope_of
from vaultmem.memories.model import is_private
from vaultmem.search.recall_text import place
from vaultmem.text import urls
from vaultmem.text.sanitize import one_line

log = logging.getLogger("vaultmem.conversations")

_FINAL = f"/{SUMMARIES}/{FINAL}.md"
_HALF = 1_000  # characters of a long question, from its beginning and from its end


class Limits(NamedTuple):
    """How much goes into a context, from the settings."""

    top_k: int
    budget: int  # tokens, of memories and summary together
    notes: bool


class LastTurn(NamedTuple):
    """What the user said last in a conversation: the words, and the id of the turn."""

    words: str
    user_id: str


def limits_of(config: Config) -> Limits:
    """How much the model of the settings is given."""
    return Limits(
        config.number("conversations.top_k"),
        config.number("conversations.budget"),
        gives_notes(config),
    )


def gives_notes(config: Config) -> bool:
    """Whether blocks of notes go to the model. Unasked, they never leave this machine."""
    wish = config.text("proxy.notes")
    return wish == "on" or (wish == "auto" and urls.is_local(config.text("llm.base_url")))


def context_for(
    vault: Vault, conversation: str, question: str, earlier: Sequence[str], limits: Limits
) -> Context:
    """The text for a question. `earlier` is what stands in its messages already. Raises VaultmemError."""
    summary = _summary(vault, conversation, limits.budget)
    left = limits.budget - (minilm.count(summary) if summary else 0)
    found = recalled(vault, conversation, question, limits._replace(budget=max(left, 1)))
    text = compose(summary, [(_role(one), str(one["content"])) for one in found], earlier)
    return text._replace(places=tuple(_place(found[at]) for at in text.chosen))


def recalled(
    vault: Vault, conversation: str, question: str, limits: Limits
) -> list[dict[str, object]]:
    """The memories that fit a question: those of the conversation, and those of the vault that it may have."""
    scope = scope_of(conversation)
    found: list[dict[str, object]] = vault.recall(
        _short(question), scope=[scope], by=scope, top_k=limits.top_k, budget=limits.budget,
        notes=limits.notes,
    )["memories"]  # fmt: skip
    return found


def last_turn(vault: Vault, conversation: str) -> LastTurn | None:
    """The newest words of the user that are notes already."""
    try:
        found = vault.entries(conversation, kinds=[TURNS])
    except VaultmemError as error:
        log.warning("earlier turns are not known: %s", error)
        return None
    turns = [one for one in found if one["role"] == USER]
    return LastTurn(str(turns[-1]["content"]).strip(), str(turns[-1]["id"])) if turns else None


def _summary(vault: Vault, conversation: str, budget: int) -> str:
    """The summary of all of a conversation, as far as it fits; none where it, or something in it, is private."""
    try:
        found = vault.entries(conversation, kinds=[SUMMARIES])
    except VaultmemError as error:
        log.warning("a request goes without summary: %s", error)
        return ""
    whole = [one for one in found if str(one["path"]).endswith(_FINAL)]
    if not whole or is_private(whole[0]["properties"]) or whole[0].get("outdated"):
        return ""
    summary = str(whole[0]["content"])[: 8 * budget]
    while minilm.count(summary) > budget / 2:
        summary = summary[: len(summary) * 3 // 4]
    return summary


def _role(one: Mapping[str, object]) -> str:
    """How an entry is labelled; a block of a note by its place. What others wrote bears their name."""
    role = str(one.get("role") or "memory")
    if one.get("kind") == "note":
        role = f"note {one_line(place(one))}"
    if one.get("attribution"):
        role = f"{role} {one['attribution']}"
    return role.replace("]", ")")


def _place(one: Mapping[str, object]) -> str:
    """Where it stands: a file is one memory, of a note the line counts."""
    path = str(one.get("path") or "")
    return f"{path}:{one['line']}" if one.get("kind") == "note" else path


def _short(question: str) -> str:
    if len(question) <= 2 * _HALF:
        return question
    return f"{question[:_HALF]}\n{question[-_HALF:]}"
