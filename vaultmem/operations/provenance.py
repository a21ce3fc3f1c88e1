"""The origin of a memory: the sentence it was drawn from, what it replaced, who recalled it; and what was drawn from
an entry of a conversation."""

from __future__ import annotations

import re
from collections.abc import Iterable

from vaultmem.ledger import reads
from vaultmem.light import TYPE_CHECKING
from vaultmem.memories.conversation import Entry
from vaultmem.memories.model import Memory, link_targets
from vaultmem.memories.store import Session
from vaultmem.notes.places import file_name
from vaultmem.text.similarity import topic_words
from vaultmem.vault.files import decode

if TYPE_CHECKING:
    from vaultmem.adapter import JsonObject

LEAST = 1 / 3  # share of a content's words that its sentence must have
_SENTENCE = re.compile(r"(?:[^.!?。！？\n]|[.!?](?=\S))+[.!?。！？]*")
_NOTE = re.compile(r"\[\[([^\[\]|#]+)[^\[\]]*\]\]|(.+\.md)(?::\d+)?", re.IGNORECASE)
_ENTRY = "__"  # in every entry's file name


def provenance(session: Session, memory: Memory) -> JsonObject:
    """The whole origin; for the person only, since it says who reads what."""
    older = [
        {"id": other.id, "title": other.title, "path": other.path}
        for other in session.store.collection.archived()
        if other.text("replaced_by") == memory.id
    ]
    return {
        "drawn_from": _turn_behind(session, memory) or _note_behind(session, memory),
        "replaced": older,
        "replaced_by": memory.text("replaced_by"),
        "recalled": [recall._asdict() for recall in reads.recalls(session.store.ledger, memory.id)],
    }


def sentence_in(text: str, content: str) -> tuple[str, int] | None:
    """The sentence of a text that shares most words with a content, and its line; None if all share too few."""
    topic = topic_words(content)
    shared = ((len(topic & topic_words(match[0])), match) for match in _SENTENCE.finditer(text))
    most, best = max(shared, key=lambda pair: pair[0], default=(0, None))
    if best is None or most < LEAST * len(topic) or not most:
        return None
    sentence = best[0].strip()
    return sentence, text.count("\n", 0, text.index(sentence, best.start())) + 1


def turn_of(fact: Entry, entries: Iterable[Entry]) -> Entry | None:
    """The turn that a fact was learned from; its links name it."""
    names = link_targets(fact.properties.get("links"))
    turns = (entry for entry in entries if entry.is_turn and file_name(entry.path) in names)
    return next(turns, None)


def drawn_from(session: Session, entry: Entry) -> tuple[list[Entry], list[Memory]]:
    """What was learned from an entry of a conversation: the facts of a turn, and the memories made of facts."""
    facts = [
        fact
        for fact in session.store.talks.entries(entry.conversation)
        if fact.is_fact and turn_of(fact, [entry])
    ]  # fmt: skip
    names = {name for item in (entry, *facts) for name in (item.id, file_name(item.path))}
    memories = [
        memory
        for memory in session.view.memories()
        if names & {*_sources(memory)} and session.sees(memory)
    ]
    return [fact for fact in facts if not fact.deleted], memories


def _sources(memory: Memory) -> list[str]:
    """The entry from which a memory was made, by id; for one merged into it, the link to its file."""
    source_name = memory.text("drawn_from")
    return [source_name] if source_name else [name for name in memory.linked if _ENTRY in name]


def _turn_behind(session: Session, memory: Memory) -> JsonObject | None:
    names = _sources(memory)
    entry = next((match for name in names for match in session.store.talks.find(name)), None)
    if entry is None:
        return None
    turn = turn_of(entry, session.store.talks.entries(entry.conversation)) or entry
    place = {"path": turn.path, "conversation": turn.conversation, "entry": turn.id}
    return _with_sentence(place, turn.content, session, memory)


def _note_behind(session: Session, memory: Memory) -> JsonObject | None:
    match = _NOTE.fullmatch((memory.text("source_path") or memory.text("source")).strip())
    if match is None:
        return None
    name = match[1] or match[2]
    path = name if session.store.bytes_of(name, 1) is not None else session.view.target(name)
    data = session.store.bytes_of(path) if path else None
    if path is None or data is None:
        return None
    return _with_sentence({"path": path}, decode(data)[0], session, memory)


def _with_sentence(
    place: dict[str, str], text: str, session: Session, memory: Memory
) -> JsonObject:
    content = session.store.collection.content(memory)
    sentence, line = sentence_in(text, content) or ("", 0)
    return {**place, "sentence": sentence, "line": line}
