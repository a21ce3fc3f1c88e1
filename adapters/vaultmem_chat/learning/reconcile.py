"""Reconciles new facts with known ones, which are updated, deleted or kept.

A model or rules decide. Whatever a model answers, no new fact is lost and nothing outside the neighbourhood changes:
by default every new fact is added, and a decision can only replace that.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from vaultmem.adapter.services import (
    Message,
    Question,
    Schema,
    json_lines,
    list_schema,
    records,
    short_id,
)
from vaultmem.dreams import paraphrase
from vaultmem.dreams.endings import states_more
from vaultmem.dreams.supersede import REPLACES, relations
from vaultmem.memories.conversation import Entry
from vaultmem.plugins import language
from vaultmem.text.similarity import normal_form, topic_words
from vaultmem.text.values import interleave, toml_table

EVENTS = ("ADD", "UPDATE", "DELETE", "NONE")
MOST = 100  # decisions that are read
LONGEST = 300  # characters of an updated fact
STRATEGIES = ("subset", "enumerate")
_TEXT: Schema = {"type": "string", "maxLength": LONGEST}
_EVENT: Schema = {"type": "string", "enum": list(EVENTS)}
_FIELDS: dict[str, Schema] = {"id": {"type": ["integer", "null"]}, "event": _EVENT, "text": _TEXT}
SCHEMA = list_schema("decisions", _FIELDS)
_REMEMBERED = ("The user works in Brockenfeld", "The user keeps three geese")
_LEARNED = ("The user works in Oberstadt", "The user plays the zither")


class Existing(NamedTuple):
    """A known fact. Its short id is its index in the neighbourhood: 0, 1, 2, ..."""

    id: str
    text: str


class Decision(NamedTuple):
    """One decision of the model."""

    event: str  # one of EVENTS
    number: int | None  # the short id that it named
    place: int | None  # the same, if it is one of the existing facts
    text: str


class Decisions(NamedTuple):
    """The changes to make. Each text of `adds` is a new fact, word for word."""

    adds: tuple[str, ...]
    # (id, the text that replaces it); several may get one text.
    updates: tuple[tuple[str, str], ...]
    deletes: tuple[str, ...]  # ids


def question(new: Sequence[str], existing: Sequence[Existing], strategy: str) -> Question:
    """The question to a model, by one of STRATEGIES."""
    numbered = strategy == "enumerate"
    example = [Existing("", text) for text in _REMEMBERED]
    prompts = toml_table("vaultmem_chat", "prompts")
    messages = (
        Message("system", prompts["task"] + prompts[strategy]),
        Message("user", _to_json(_LEARNED, example, numbered=numbered)),
        Message("assistant", _example(numbered=numbered)),
        Message("user", _to_json(new, existing, numbered=numbered)),
    )
    # The answer repeats each fact, with some markup; a Chinese character is a token or two.
    texts = [*new, *(memory.text for memory in existing if numbered)]
    most = min(4000, 200 + sum(40 + len(text) for text in texts))
    return Question("reconcile", messages, SCHEMA, most)


def _to_json(new: Sequence[str], existing: Sequence[Existing], *, numbered: bool) -> str:
    """Both lists as JSON; no text of a fact can escape its string."""
    remembered = [{"id": at, "text": memory.text} for at, memory in enumerate(existing)]
    first = len(existing)
    facts = [{"id": first + at, "text": text} if numbered else text for at, text in enumerate(new)]
    return f"Remembered facts:\n{json_lines(remembered)}\n\nNew facts:\n{json_lines(facts)}"


def _example(*, numbered: bool) -> str:
    moved = {"id": 0, "event": "UPDATE", "text": _LEARNED[0]}
    if not numbered:
        return json.dumps({"decisions": [moved, {"id": None, "event": "ADD", "text": _LEARNED[1]}]})
    rest = [
        {"id": 1, "event": "NONE", "text": _REMEMBERED[1]},
        {"id": 2, "event": "NONE", "text": _LEARNED[0]},
        {"id": 3, "event": "ADD", "text": _LEARNED[1]},
    ]
    return json.dumps({"decisions": [moved, *rest]})


def decisions(
    answer: object, new: Sequence[str], existing: Sequence[Existing], strategy: str
) -> Decisions:
    """The decisions in a model's answer; `answer` is None when there is none."""
    listed = _read(answer, len(existing))
    fresh = _unique(new)
    updates = _updates(listed, fresh, existing)
    deletes = _deletes(listed, fresh, existing) - updates.keys()
    stay = [
        memory.text for at, memory in enumerate(existing) if at not in updates and at not in deletes
    ]
    # Where all are enumerated, new facts have short ids, too: those after the existing ones.
    named, meant = _already_known(listed, new, len(existing) if strategy == "enumerate" else None)
    adds = tuple(
        fact
        for fact in fresh
        if not any(says(text, fact) for text in updates.values())
        and not any(same(fact, text) for text in stay)
        and not (key(fact) in meant and any(says(text, fact) for text in stay))
        and not (key(fact) in named and any(_may_say(text, fact) for text in stay))
    )
    ids = [memory.id for memory in existing]
    replaced = tuple((ids[at], text) for at, text in sorted(updates.items()))
    return Decisions(adds, replaced, tuple(ids[at] for at in sorted(deletes)))


def by_rules(new: Sequence[str], existing: Sequence[Existing]) -> Decisions:
    """The decisions without a model: known facts are kept, and a new fact replaces one that it contradicts.

    A new fact contradicts a known one if it replaces it as a memory would (`dreams.supersede`), if a subject has only
    one such value at a time, or if one denies the other. Facts that would need more knowledge of the world are added.
    """
    adds: list[str] = []
    updates: dict[str, str] = {}
    fresh = _unique(new)
    left = [memory for memory in existing if not any(same(memory.text, fact) for fact in fresh)]
    for fact in fresh:
        if any(same(fact, memory.text) for memory in existing):
            continue
        # A sentence with several statements is not replaced as a whole.
        others = [
            memory
            for memory in left
            if memory.id not in updates and not states_more(memory.text, fact)
        ]
        pairs = zip(others, relations(fact, [memory.text for memory in others]), strict=True)
        contradicted = [
            memory.id
            for memory, relation in pairs
            if relation.kind == REPLACES or language().contradiction(fact, memory.text)
        ]
        updates.update(dict.fromkeys(contradicted, fact))
        if not contradicted:
            adds.append(fact)
    order = [memory.id for memory in existing if memory.id in updates]
    return Decisions(tuple(adds), tuple((id_, updates[id_]) for id_ in order), ())


def _read(answer: object, existing: int) -> list[Decision]:
    """The valid decisions in an answer about the existing facts."""
    result: list[Decision] = []
    for item in records(answer)[:MOST]:
        event, text = str(item.get("event")).strip().upper(), item.get("text")
        number = short_id(item.get("id"))
        place = number if number is not None and number < existing else None
        if event in EVENTS:
            result.append(Decision(event, number, place, text if isinstance(text, str) else ""))
    return result


def _updates(
    listed: Sequence[Decision], new: Sequence[str], existing: Sequence[Existing]
) -> dict[int, str]:
    """The new texts by index in the neighbourhood. Updates unrelated to the message or to what they would replace are
    inventions and are dropped, as are those to a known text; of several the first counts."""
    result: dict[int, str] = {}
    for decision in listed:
        if decision.event != "UPDATE" or decision.place is None or decision.place in result:
            continue
        text, old = " ".join(decision.text.split()), existing[decision.place].text
        is_known = any(same(text, other.text) for other in existing)
        is_about = any(_shared_words(text, fact) or same(text, fact) for fact in new)
        loses_new = any(same(old, fact) for fact in new) and not says(text, old)
        is_new = key(text) and not is_known and not loses_new
        if is_new and len(text) <= LONGEST and is_about and _may_replace(text, old, new):
            result[decision.place] = text
    return result


def _deletes(
    listed: Sequence[Decision], new: Sequence[str], existing: Sequence[Existing]
) -> set[int]:
    """The indices to delete, except facts that another decision keeps, new ones, and those that no new one concerns."""
    left = {decision.place for decision in listed if decision.event == "NONE"}
    places = {
        decision.place
        for decision in listed
        if decision.event == "DELETE" and decision.place is not None
    } - left
    texts = {at: existing[at].text for at in places if at is not None}
    return {
        at for at, text in texts.items()
        if key(text) not in map(key, new) and _is_concerned(text, new)
    }  # fmt: skip


def _already_known(
    listed: Sequence[Decision], new: Sequence[str], first: int | None
) -> tuple[set[str], set[str]]:
    """The new facts that are known according to the model: those that it names, by words or number, and those that it
    may mean by keeping an existing fact. The former count if an existing fact may say the same, the latter if one
    does."""
    left = [decision for decision in listed if decision.event == "NONE"]
    named = {key(decision.text) for decision in left}
    if first is None:
        return named, {key(fact) for fact in new} if left else set()
    numbers = {decision.number for decision in left}
    return named | {key(fact) for at, fact in enumerate(new) if first + at in numbers}, set()


# When two texts say the same


def key(text: str) -> str:
    """A key that is equal for texts that differ only in case and final full stop."""
    return " ".join(normal_form(text).casefold().split()).rstrip(" .。!！")


def same(one: str, other: str) -> bool:
    """Whether two texts are the same word for word."""
    return key(one) == key(other)


def says(text: str, fact: str) -> bool:
    """Whether a text states a fact: it is equal, or holds nearly all of its words, and perhaps more."""
    return same(text, fact) or paraphrase.says(text, fact)


def _may_say(text: str, fact: str) -> bool:
    """Whether a text may state a fact in other words; a shared common verb such as "likes" is not enough."""
    return bool(_shared_words(text, fact)) and paraphrase.may_say(text, fact)


def _may_replace(text: str, old: str, new: Sequence[str]) -> bool:
    """Whether a text may replace a fact: it concerns it, and so does a new fact, or nothing of the old one is lost."""
    return _may_concern(text, old) and (_is_concerned(old, new) or says(text, old))


def _is_concerned(fact: str, new: Sequence[str]) -> bool:
    """Whether a new fact may be about the same thing as a known one."""
    return any(_may_concern(text, fact) for text in new)


def _may_concern(text: str, fact: str) -> bool:
    """Whether a text may be about the same thing as a fact: they share a word, if only a verb, or a topic."""
    shares_word = not paraphrase.keys(fact).isdisjoint(paraphrase.keys(text))
    return shares_word or not _topics(fact).isdisjoint(_topics(text))


def _shared_words(text: str, fact: str) -> frozenset[str]:
    return (paraphrase.keys(fact) & paraphrase.keys(text)) - _verbs()


@cache
def _verbs() -> frozenset[str]:
    """Verbs that apply to anything: to like, use or have."""
    tables = (language().table(name) for name in ("english_verbs", "chinese_verbs"))
    written = (verb for table in tables for verbs in table.values() for verb in verbs.split(","))
    return frozenset[str]().union(*map(paraphrase.keys, written))


def _unique(facts: Sequence[str]) -> list[str]:
    """The facts without duplicates and empty ones."""
    return list({key(fact): fact for fact in reversed(facts) if key(fact)}.values())[::-1]


# The few known facts that a new one may concern, which a model or a rule compares with it


def neighbours(
    existing: Sequence[Entry], new: Sequence[str], near: Sequence[Sequence[str]], most: int
) -> list[Entry]:
    """At most `most` of the known facts, the likeliest first. `near` has the ids that a search returned for each new
    fact."""
    if len(existing) <= most:
        return list(existing)
    by_id = {entry.id: entry for entry in existing}
    about = {entry.id: (_topics(entry.content), topic_words(entry.content)) for entry in existing}
    newest = [entry.id for entry in sorted(existing, key=lambda one: -one.created)]
    rows: list[Sequence[str]] = []
    for number, text in enumerate(new):
        topics, words = _topics(text), topic_words(text)
        on_topic = [id_ for id_ in newest if topics & about[id_][0]]
        shared = {id_: len(words & about[id_][1]) for id_ in newest}
        similar = sorted((id_ for id_ in newest if shared[id_]), key=lambda id_: -shared[id_])
        rows += [on_topic, near[number] if number < len(near) else (), similar]
    chosen = interleave(*rows, newest, key=str)
    return [by_id[id_] for id_ in chosen if id_ in by_id][:most]


def _topics(text: str) -> frozenset[tuple[str, str]]:
    return frozenset(
        (statement.subject, statement.property) for statement in language().statements(text)
    )
