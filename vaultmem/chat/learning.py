"""What is learned from a turn: the turn itself as notes, facts out of the user's words, reconciled with what is known.

Every step can be done again after a kill: ids follow from the turn, and what is there already is left alone. Where no
model is set, or it fails, rules do what they can, and nothing is lost.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from datetime import datetime

from vaultmem.api import Vault
from vaultmem.chat.conversing import bounded
from vaultmem.chat.reconciling import (
    Learned,
    Record,
    Source,
    entries,
    entry_of,
    is_fact,
    newest_facts,
    take_in,
)
from vaultmem.chat.summing import Limits, next_round
from vaultmem.chat.turn_queue import NOTED, SAID, Item
from vaultmem.errors import LlmError, NotWrittenError
from vaultmem.index import minilm
from vaultmem.languages import facts
from vaultmem.llm.request import Model
from vaultmem.memories.conversation import ASSISTANT, TURNS, USER, Entry, scope_of
from vaultmem.memories.model import is_private
from vaultmem.text import secrets, times
from vaultmem.text.similarity import content_hash
from vaultmem.text.times import fine_stamp

__all__ = ["Learned", "keep_turn", "learn", "said_facts", "sum_up"]

LARGE = 300_000  # characters of a batch as JSON, above which its entries are written one by one
LONGEST_SECRET = 10_000  # characters: one that would be cut in half would not be seen
LONGEST = 20_000  # characters of a message that are looked through for facts

Keep = Callable[[Item, list[str]], None]


def learn(vault: Vault, item: Item, model: Model | None, keep: Keep | None = None) -> Learned:
    """Remember a turn and what it says. `keep` puts its facts beside it before they are written: where a disk is full
    after the first of them, another try writes the others."""
    keep_turn(vault, item)
    words = _words_now(vault, item)
    if words is None:
        return Learned(item.conversation, [], [], [], False, False, "")
    source = Source(item.conversation, item.began, item.user_id, scope_of(item.conversation))
    known = entries(vault, item.conversation)
    said, trouble = _before(item, SAID) if words == item.user else [], ""
    if not said and not _is_learned(newest_facts(vault, item.conversation), item.user_id):
        said, trouble = said_facts(words, model, item.began)
        if said and keep is not None:
            keep(item, said)
    learned = take_in(vault, source, said, model, known)
    is_summed = sum_up(vault, item.conversation, model, _end(item))
    return learned._replace(
        summary=is_summed,
        by_model=learned.by_model and not trouble,
        trouble=learned.trouble or trouble,
    )


def _words_now(vault: Vault, item: Item) -> str | None:
    """What the user says by the note of the turn, which they may have edited since; None where they have taken it back:
    forgotten, removed or made private."""
    if not item.user.strip():
        return item.user
    for one in vault.entries(item.conversation, [TURNS], deleted=True):
        if one["id"] == item.user_id:
            own = one["properties"]
            if is_private(own) or (one["deleted"] and own.get("evicted") is not True):
                return None
            same = content_hash(str(one["content"])) == content_hash(_words(item.user))
            return item.user if same else str(one["content"])
    return None


def _end(item: Item) -> float:
    """When the last of a turn was said."""
    return max(item.finished or item.began, item.began) + 0.001


def keep_turn(vault: Vault, item: Item, noted: Collection[str] = ()) -> list[str]:
    """Write both sides of a turn as notes; their ids. Of those that were `noted` before, what is gone stays away: it
    was taken back."""
    about: Record = (
        {"session_id": item.meta["session_id"]}
        if isinstance(item.meta.get("session_id"), str)
        else {}
    )
    new: list[Record] = []
    if item.user.strip():
        new.append({
            "id": item.user_id, "role": USER, "content": _words(item.user), "created_at": fine_stamp(item.began),
            "properties": about,
        })  # fmt: skip
    if item.assistant is not None and item.assistant.strip():
        at = item.finished if item.finished is not None else item.began
        new.append({
            "id": item.assistant_id, "role": ASSISTANT, "content": _words(item.assistant),
            "created_at": fine_stamp(max(at, item.began + 0.001)), "of": [item.user_id],
            "properties": {**about, **({"model": item.model[:200]} if item.model else {})},
        })  # fmt: skip
    ids = [str(one["id"]) for one in new]
    known = {*noted, *_before(item, NOTED)}
    if known.intersection(ids):
        there = {one["id"] for one in vault.entries(item.conversation, [TURNS], deleted=True)}
        new = [one for one in new if one["id"] in there or one["id"] not in known]
    scope = scope_of(item.conversation)
    for part in _parts(new):
        left = vault.converse(item.conversation, new=part, by=scope)["skipped"]
        if left:
            raise NotWrittenError(f"what was said cannot be kept: {left[0][1]}")
    return ids


def _words(text: str) -> str:
    """As much as an entry keeps: nobody need carry more to the sync agent."""
    return bounded(secrets.redacted(text).text)


def _parts(new: list[Record]) -> list[list[Record]]:
    """All of a turn in one batch, unless the sync agent would not take so much at once."""
    if len(json.dumps(new)) <= LARGE:
        return [new] if new else []
    return [[one] for one in new]


def _before(item: Item, what: str) -> list[str]:
    """What a try before this one has left beside the turn: the facts it found, the ids of its notes."""
    found = item.meta.get(what)
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []


def _is_learned(known: Sequence[Entry], turn: str) -> bool:
    """Whether facts of that turn are there, from before a kill: a model would find them in other words."""
    return any(is_fact(one) and turn in str(one.properties.get("links", "")) for one in known)


def said_facts(text: str, model: Model | None, at: float) -> tuple[list[str], str]:
    """The facts in the words of a user, without secrets; and why the model that is set was not used, if so."""
    words = secrets.redacted(text[: LONGEST + LONGEST_SECRET]).text[:LONGEST]
    if not words.strip():
        return [], ""
    now = datetime.fromtimestamp(at).astimezone()
    trouble = ""
    if model is not None:
        try:
            return facts.believed(facts.read(model.ask(facts.question(words, now))), words), ""
        except LlmError as error:
            trouble = str(error)
    return facts.facts_in(words, now), trouble


# --- Summing up


def sum_up(
    vault: Vault, conversation: str, model: Model | None, until: float | None = None
) -> bool:
    """Bring summaries up to date, compress old sessions, put away what is too much; whether something was written.
    What was said after `until` is not learned from yet, and has a round of its own."""
    config = vault.config
    limits = Limits(
        config.number("conversations.max_entries"),
        config.number("conversations.compress_after"),
        times.duration_seconds(config.text("conversations.session_gap")),
        config.text("conversations.summaries") == "on",
    )
    every = [entry_of(one) for one in vault.entries(conversation, deleted=True)]
    if until is not None:
        every = [one for one in every if one.role not in (USER, ASSISTANT) or one.created <= until]
    wanted = next_round(every, model, limits, minilm.count)
    if wanted is None:
        return False
    new, retire, mark = (wanted.get(name, []) for name in ("new", "retire", "mark"))
    aside = [one for one in retire if one.get("properties")]  # for want of room
    gone = [one for one in retire if not one.get("properties")]
    scope = scope_of(conversation)
    if new or gone or mark:
        why = f"summary of conversation {conversation}"
        vault.converse(conversation, new=new, retire=gone, mark=mark, by=scope, why=why)
    if aside:
        why = f"put away the oldest of conversation {conversation}"
        vault.converse(conversation, retire=aside, by=scope, why=why)
    return bool(new)
