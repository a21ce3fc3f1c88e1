"""Learns from a turn: stores it as notes, extracts facts from the user's words, and reconciles them with known facts.

Every step can be repeated after a kill: ids are derived from the turn, and existing entries are left alone. Without a
model, or if it fails, rules extract what they can, and nothing is lost.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import NamedTuple

from vaultmem.adapter.services import Message, Model, Question, Schema, object_schema
from vaultmem.api import Vault
from vaultmem.dreams import short_texts
from vaultmem.dreams.paraphrase import keys
from vaultmem.dreams.short_texts import form
from vaultmem.errors import LlmError, NotWrittenError, VaultmemError
from vaultmem.memories import conversation as talk
from vaultmem.memories.conversation import ASSISTANT, MEMORY, USER, Entry
from vaultmem.notes.places import ENTRIES
from vaultmem.plugins import language
from vaultmem.search.query import Ask, Filter, plain
from vaultmem.text import secrets
from vaultmem.text.scripts import typed_part
from vaultmem.text.similarity import content_hash, normal_form
from vaultmem.text.times import fine_stamp
from vaultmem.text.values import lazy, toml_table
from vaultmem_chat import summarizer
from vaultmem_chat.conversations import entry_of
from vaultmem_chat.conversing import truncate
from vaultmem_chat.learning import reconcile
from vaultmem_chat.learning.reconcile import Decisions, Existing
from vaultmem_chat.learning.turn_queue import FACTS, NOTED, Item
from vaultmem_chat.llm.replies import shape

LARGE = 300_000  # characters of a batch as JSON, above which its entries are written one by one
LONGEST_SECRET = 10_000  # characters: a secret that is cut would not be recognized
LONGEST = 20_000  # characters of a message that are searched for facts

Record = dict[str, object]
Keep = Callable[[Item, str, list[str]], None]


class Learned(NamedTuple):
    """The result for a turn, or for facts without one."""

    conversation: str
    added: list[str]  # the texts of new facts
    updated: list[tuple[str, str]]  # the old text and the new one
    deleted: list[str]
    summary: bool  # whether any was written
    by_model: bool
    trouble: str  # why a configured model was not used, in one line
    turn: str = ""  # the id of the turn


class Source(NamedTuple):
    """The origin of facts."""

    conversation: str
    at: float
    turn: str = ""  # the id of the user's turn
    by: str | None = None  # the assistant that states them
    dry_run: bool = False


# --- From a turn


def learn(
    vault: Vault, item: Item, model: Model | None, noted: Collection[str] = (), keep: Keep | None = None
) -> Learned:  # fmt: skip
    """Store a turn, except notes in `noted` that were deleted since, and its facts; of a turn that is answered once
    more, the facts are known. `keep` stores the facts in the queue before they are written: if the disk is full after
    the first of them, another attempt, of whichever process, writes the others in the same words."""
    keep_turn(vault, item, noted)
    existing = [entry_of(entry) for entry in vault.entries(item.conversation, deleted=True)]
    words = _current_words(existing, item)
    if words is None:
        return Learned(item.conversation, [], [], [], False, False, "")
    source = Source(item.conversation, item.began, item.user_id, talk.scope_of(item.conversation))
    new_facts, trouble = item.texts(FACTS) if words == item.user else [], ""
    if not new_facts and not _is_learned(existing, item):
        new_facts, trouble = find_facts(words, model, item.began)
        if new_facts and keep is not None:
            keep(item, FACTS, new_facts)
    learned = take_in(vault, source, new_facts, model, existing)
    end = max(item.finished or item.began, item.began) + 0.001
    return learned._replace(
        summary=summarizer.update(vault, item.conversation, model, end),
        by_model=learned.by_model and not trouble,
        trouble=learned.trouble or trouble,
    )


def keep_turn(vault: Vault, item: Item, noted: Collection[str] = ()) -> list[str]:
    """Write both sides of a turn as notes. Returns their ids. Notes in `noted` that were deleted are not written
    again."""
    session = item.meta.get("session_id")
    about: Record = {"session_id": session} if isinstance(session, str) else {}
    new: list[Record] = []
    if item.user.strip():
        new.append({
            "id": item.user_id, "role": USER, "content": storable(item.user), "created_at": fine_stamp(item.began),
            "properties": about,
        })  # fmt: skip
    if item.assistant is not None and item.assistant.strip():
        at = item.finished if item.finished is not None else item.began
        new.append({
            "id": item.assistant_id, "role": ASSISTANT, "content": storable(item.assistant),
            "created_at": fine_stamp(max(at, item.began + 0.001)), "of": [item.user_id],
            "properties": {**about, **({"model": item.model[:200]} if item.model else {})},
        })  # fmt: skip
    ids, noted = [str(turn["id"]) for turn in new], {*noted, *item.texts(NOTED)}
    if set(ids).intersection(noted):
        there = {
            entry["id"] for entry in vault.entries(item.conversation, [talk.TURNS], deleted=True)
        }
        new = [turn for turn in new if turn["id"] in there or turn["id"] not in noted]
    by = talk.scope_of(item.conversation)
    # All in one batch, unless that is too much for one request to the agent.
    for part in [new] if len(json.dumps(new)) <= LARGE else [[turn] for turn in new]:
        if part and (skipped := vault.converse(item.conversation, new=part, by=by)["skipped"]):
            raise NotWrittenError(f"the turn cannot be stored: {skipped[0][1]}")
    return ids


def find_facts(text: str, model: Model | None, at: float) -> tuple[list[str], str]:
    """The facts in a user's words, without secrets; and why the configured model was not used, or ""."""
    words = secrets.redact(text[: LONGEST + LONGEST_SECRET]).text[:LONGEST]
    if not words.strip():
        return [], ""
    now = datetime.fromtimestamp(at).astimezone()
    if model is None:
        return language().facts(words, now), ""
    try:
        answer = model.ask(question(words, now))
    except LlmError as error:
        return language().facts(words, now), str(error)
    return plausible(read(answer), words), ""


def _current_words(entries: Sequence[Entry], item: Item) -> str | None:
    """The user's words in the turn's current note; None if they deleted it."""
    if not item.user.strip():
        return item.user
    for entry in entries:
        if entry.is_turn and entry.id == item.user_id:
            is_evicted = entry.properties.get("evicted") is True
            if entry.is_private or (entry.deleted and not is_evicted):
                return None
            same = content_hash(entry.content) == content_hash(storable(item.user))
            return item.user if same else entry.content
    return None


def storable(text: str) -> str:
    """The text, cut to the limit of an entry, so that no more is sent to the agent."""
    return truncate(secrets.redact(text).text)


def _is_learned(entries: Sequence[Entry], item: Item) -> bool:
    """Whether facts of the turn exist: a model would word them differently."""
    return any(
        entry.is_fact and item.user_id in str(entry.properties.get("links", ""))
        for entry in entries
    )


# --- Into the conversation


def take_in(
    vault: Vault, source: Source, new_facts: Sequence[str], model: Model | None, existing: Sequence[Entry] | None = None
) -> Learned:  # fmt: skip
    """Add facts, without secrets, reconciled with the known facts of the conversation, which are among `existing`."""
    new_facts = list(dict.fromkeys(secrets.redact_foreign(fact).text for fact in new_facts))
    if not new_facts:
        return Learned(source.conversation, [], [], [], False, model is not None, "")
    if existing is None:
        existing = [entry_of(fact) for fact in vault.entries(source.conversation, [talk.FACTS])]
    living = [
        entry for entry in existing if entry.is_fact and not (entry.deleted or entry.is_private)
    ]
    most = vault.config.number("conversations.neighbours")
    result = search_facts(vault, source.conversation, new_facts, most) if len(living) > most else []
    near = reconcile.neighbours(living, new_facts, result, most)
    decided, by_model, trouble = _decide(vault, new_facts, near, model)
    unwritten = _write(vault, source, decided)
    texts = {entry.id: entry.content for entry in near}
    return Learned(
        source.conversation,
        list(decided.adds),
        [(texts.get(id_, ""), text) for id_, text in decided.updates],
        [texts.get(id_, "") for id_ in decided.deletes],
        False, by_model, trouble or unwritten,
    )  # fmt: skip


def write_down(vault: Vault, source: Source, new_facts: Sequence[str]) -> Learned:
    """Add facts without reconciling them."""
    texts = tuple(dict.fromkeys(new_facts))
    trouble = _write(vault, source, Decisions(texts, (), ()))
    return Learned(source.conversation, list(texts), [], [], False, False, trouble)


def _decide(
    vault: Vault, new_facts: Sequence[str], near: Sequence[Entry], model: Model | None
) -> tuple[Decisions, bool, str]:
    """The decisions; whether a model made them; and why a configured model did not, or ""."""
    existing = [Existing(entry.id, entry.content) for entry in near]
    if model is None:
        return reconcile.by_rules(new_facts, existing), False, ""
    strategy, answer, trouble = vault.config.text("llm.strategy"), None, ""
    try:
        answer = model.ask(reconcile.question(new_facts, existing, strategy)) if existing else None
    except LlmError as error:
        trouble = str(error)
    return reconcile.decisions(answer, new_facts, existing, strategy), not trouble, trouble


def search_facts(
    vault: Vault, conversation: str, new_facts: Sequence[str], most: int
) -> list[list[str]]:
    """For each new fact, the ids of the nearest known facts by words and meaning, as far as they are indexed."""
    place = f"{vault.config.text('memory_folder')}/{ENTRIES}/{talk.folder_of(conversation)}/"
    facts = Filter("path", place), Filter("path", f"/{talk.FACTS}/")
    result: list[list[str]] = []
    for text in new_facts:
        try:
            answer = vault.answer(Ask(plain(text), most, True, "note", facts))
        except VaultmemError:  # not indexed yet: the words of the facts must suffice
            return []
        result.append([str(hit.properties.get("id")) for hit in answer.results])
    return result


def _write(vault: Vault, source: Source, decided: Decisions) -> str:
    """Carry out the decisions as one batch. Returns why a known fact could not be put away, or "". Raises
    NotWrittenError when a new fact could not be written."""
    adds = [_fact(source, text) for text in decided.adds]
    instead: dict[str, Record] = {}  # one new fact may replace several
    retire: list[Record] = [{"id": id_} for id_ in decided.deletes]
    for id_, text in decided.updates:
        fact = instead.setdefault(reconcile.key(text), _fact(source, text))
        retire.append({"id": id_, "replaced_by": fact["id"]})
    new = [*adds, *instead.values()]
    if not new and not retire:
        return ""
    report = vault.converse(
        source.conversation, new=new, retire=retire, by=source.by, dry_run=source.dry_run,
        why=f"learned in conversation {source.conversation}",
    )  # fmt: skip
    ids = {fact["id"] for fact in new}
    lost = [reason for id_, reason in report["skipped"] if id_ in ids]
    if lost:
        raise NotWrittenError(f"a new fact cannot be stored: {lost[0]}")
    return "; ".join(reason for _, reason in report["skipped"])


def _fact(source: Source, text: str) -> Record:
    fact_id = talk.derived_id(source.turn, "fact", text) if source.turn else str(uuid.uuid4())
    return {
        "role": MEMORY, "id": fact_id, "content": text, "created_at": fine_stamp(source.at),
        "of": [source.turn] if source.turn else [],
        "properties": {"memory_type": short_texts.memory_type(text)},
    }  # fmt: skip


# The question to a model about a message, and the parsing of its answer: up to three self-contained facts. Only the
# user's own words count.

MOST = 3  # facts of one message
MOST_ITEMS = 50  # items of an answer that are read
LONGEST_FACT = 300  # characters of a fact
_ITEM: Schema = {"type": "string", "maxLength": LONGEST_FACT}
SCHEMA = object_schema({"facts": {"type": "array", "items": _ITEM, "maxItems": MOST}})
_EXAMPLES: tuple[tuple[str, list[str]], ...] = (
    ("Thanks! My sister Zelmira keeps bees, can bees get cold?", ["The user's sister Zelmira keeps bees"]),
    ("What is the boiling point of xenon?", []),
    ("我在乌有镇修钟表，帮我起个店名", ["用户在乌有镇修钟表"]),
)  # fmt: skip
_EXAMPLE_FACTS = frozenset(fact.casefold() for _, facts in _EXAMPLES for fact in facts)
# A subject and a statement about it.
_STATEMENT = lazy(r"\S\s+\S|[\u3400-\u9fff\u3040-\u30ff\uac00-\ud7af]{4}")
_QUESTION = form("question")
# A question that a small model has inverted: "Where my sister lives".
_TURNED = lazy(
    r"(?:where|what|who|whom|whose|when|why|how|which|wo|wer|wann|warum|wie|welche[mnrs]?)\b",
    re.IGNORECASE,
)
# A number is a list mark where a blank or a bracket follows: 12:30 and 3.50 are content.
_BULLET = lazy(r"\A\s*(?:[-*•–+]\s+|\(?\d{1,2}(?:[.:]\s+|[)、]\s*)|\[[ xX]?\]\s*)*")
_NOTHING = lazy(
    r"(?:none|null|nil|n/a|nothing|empty|no (?:new )?(?:facts?|information)\b.*|there (?:are|"
    r"is) no\b.*|(?:the )?facts?:?|here (?:are|is)\b.*:?|sure\b.{0,60}|无|没有|没有事实|string|\.\.\.|…|"
    r"\W*)[.。!]?$",
    re.IGNORECASE,
)


def question(text: str, now: datetime | None = None) -> Question:
    """The question to a model about a message; read() parses the answer. Of a long message it includes only the part
    that may be typed."""
    data = normal_form(typed_part(text))
    today = f"\nToday is {now:%A, %Y-%m-%d}: write days such as tomorrow as dates." if now else ""
    messages = [
        Message(
            "system",
            toml_table("vaultmem_chat", "prompts")["facts"].replace("{most}", str(MOST)) + today,
        )
    ]
    for example, facts in _EXAMPLES:
        answer = json.dumps({"facts": facts}, ensure_ascii=False)
        messages += [Message("user", _fenced(example)), Message("assistant", answer)]
    return Question("facts", (*messages, Message("user", _fenced(data))), SCHEMA, 256)


def _fenced(text: str) -> str:
    """The text between two marks that cannot occur in it, because they are derived from it."""
    mark = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
    return f"=== message {mark} ===\n{text}\n=== end of message {mark} ==="


def read(answer: object) -> list[str]:
    """The facts in a model's answer, be it an object or a list: at most three, one line each."""
    result: dict[str, str] = {}
    for item in _strings(answer):
        fact = " ".join(_BULLET.sub("", item, count=1).split()).strip("\"'“”`,; ").rstrip("\\")
        if _NOTHING.match(fact) or fact.casefold().rstrip(".。") in _EXAMPLE_FACTS:
            continue
        if len(fact) <= LONGEST_FACT:
            result.setdefault(fact.casefold().rstrip(".。!！"), normal_form(fact))
    return list(result.values())[:MOST]


def plausible(facts: list[str], message: str) -> list[str]:
    """The facts that can come from the message: small models repeat their prompt, or general knowledge."""
    there = keys(message)
    about = [fact for fact in facts if keys(fact) & there and _STATEMENT.search(fact)]
    asks = _QUESTION.search(message) or "?" in message or "？" in message
    return [
        sentence
        for sentence in about
        if not (_QUESTION.search(sentence) or (asks and _TURNED.match(sentence)))
    ]


def _strings(answer: object) -> list[str]:
    """The texts of an answer: the items of its only list."""
    items = shape(answer, "array")
    result: list[str] = []
    for item in items[:MOST_ITEMS] if isinstance(items, list) else ():
        values = item.values() if isinstance(item, dict) else [item]
        result += next((value for value in values if isinstance(value, str)), "").splitlines()
    return result
