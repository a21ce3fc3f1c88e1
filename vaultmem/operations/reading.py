"""Verbs that read: a memory, lists of them, a note. They load nothing that plans or writes."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from vaultmem.errors import NoteNotFoundError, StateError, UsageError, VaultmemError
from vaultmem.ledger import reads
from vaultmem.light import TYPE_CHECKING, NamedTuple
from vaultmem.memories import access
from vaultmem.memories.collection import deleted_error, named
from vaultmem.memories.memory_file import Reader
from vaultmem.memories.model import link_targets
from vaultmem.memories.records import FILTERS, MemoryFilters, filtered, record
from vaultmem.notes import pages
from vaultmem.notes.places import file_name
from vaultmem.text.sanitize import one_line
from vaultmem.text.similarity import topic_words
from vaultmem.text.values import lazy
from vaultmem.vault.files import decode

if TYPE_CHECKING:
    from vaultmem.adapter import JsonObject
    from vaultmem.memories.arguments import Arguments
    from vaultmem.memories.conversation import Entry
    from vaultmem.memories.model import Memory
    from vaultmem.memories.store import Session

MOST_VALUES = 60  # of one facet
MOST_OF_NOTE = 100_000  # bytes of its text


def read(session: Session, params: Arguments) -> JsonObject:
    """One memory; the read is counted unless the caller says otherwise."""
    if params.flag("provenance") and session.viewer.name:
        raise UsageError("only you see who recalled a memory; leave --by out")
    try:
        memory = session.find(params.needed("id"), archived=params.flag("deleted"))
    except NoteNotFoundError:
        if gone := find_removed(session, params.needed("id")):
            raise deleted_error(gone.memory) from None
        for entry in () if params.text("by") else session.store.talks.find(params.needed("id")):
            raise NoteNotFoundError(
                f"{params.needed('id')!r} is an entry of a conversation ({entry.path}); "
                f"vaultmem conversations show {entry.conversation} shows it"
            ) from None
        raise
    if params.flag("counts", default=True):
        with contextlib.suppress(StateError):  # reading works on a full disk
            stored = {memory.id: memory.stored_reads}
            reads.add(session.store.ledger, stored, session.now, session.viewer.name)
    fields = session.record(memory)
    answer = {**fields, **_referenced(session, fields["content"]), **_attribution(session, memory)}
    if not params.flag("provenance"):
        return answer
    return {**answer, **provenance(session, memory)}


def _referenced(session: Session, content: str) -> dict[str, str]:
    """The "text" of a content with block references; the content itself is unchanged, because edits start from it."""
    searcher = session.reader.searcher() if "((" in content else None
    return {"text": searcher.with_references(content, session.viewer)} if searcher else {}


def list_memories(session: Session, params: Arguments) -> JsonObject:
    """Memories, newest first."""
    fields = {name: params.scope() if name == "scope" else params.text(name) for name in FILTERS}
    now, deleted = session.local_time, params.flag("deleted")
    filters = MemoryFilters(
        fields={name: value for name, value in fields.items() if value},
        everywhere=params.flag("everywhere"), tags=params.tags(),
        since=params.days("since", now)[0], until=params.days("until", now)[1],
        min_confidence=params.number("min_confidence"),
        compressed=params.flag("include_compressed") or deleted,
        words=tuple(params.text("words").lower().split()),
    )  # fmt: skip
    collection = session.store.collection
    everything = collection.archived() if deleted else collection.live()
    by_hand = {one.memory.path: one for one in removed(session)} if deleted else {}
    everything = [*everything, *(one.memory for one in by_hand.values())]
    if session.viewer.name:
        everything = [memory for memory in everything if session.sees(memory)]
    memories = filtered(session, everything, filters)
    if params.flag("unapproved"):
        memories = [memory for memory in memories if _attribution(session, memory)]
    start = params.whole("offset")
    rows = []
    for memory in memories[start : start + params.whole("limit")]:
        with contextlib.suppress(NoteNotFoundError):  # just deleted
            gone = by_hand.get(memory.path)
            content = gone.content if gone else collection.content(memory)
            row = record(session, memory, content, session.reads)
            rows.append({**row, **_attribution(session, memory)})
    facets = {"facets": _facets(everything)} if params.flag("facets") else {}
    return {"memories": rows, "count": len(rows), "total": len(memories), **facets}


def _facets(memories: Sequence[Memory]) -> dict[str, dict[str, int]]:
    values: dict[str, Iterable[str]] = {
        "category": (memory.category for memory in memories),
        "agent": (memory.text("agent") for memory in memories),
        "tags": (tag for memory in memories for tag in memory.tags),
    }
    return {
        name: dict(Counter(filter(None, names)).most_common(MOST_VALUES))
        for name, names in values.items()
    }


def _attribution(session: Session, memory: Memory) -> dict[str, str]:
    """The author, if the words are neither the viewer's own nor approved."""
    texts = access.attribution(access.origin(memory.properties), session.viewer)
    if not texts or session.is_approved(memory):
        return {}
    return {"attribution": one_line(texts)}


def note(session: Session, params: Arguments) -> JsonObject:
    """A note at a path, for the person: its text up to a size, the targets of its links, and what opens it."""
    from vaultmem.index import catalog_read
    from vaultmem.notes.frontmatter import Block, locate
    from vaultmem.text.values import without_editor_lines

    # It may begin with a blank.
    path, searcher = str(params.value("path")), session.reader.searcher()
    number = catalog_read.note_ids(searcher.catalog, [path]).get(path) if searcher else None
    data = session.store.bytes_of(path, MOST_OF_NOTE + 1) if number else None
    if searcher is None or number is None or data is None:
        raise NoteNotFoundError(f"{path!r} cannot be read now; it was moved, or is not a note")
    text = decode(data[:MOST_OF_NOTE])[0]
    head = locate(text) or Block(0, 0, 0)
    links = {
        link.path: link.target
        for link in catalog_read.links_from(searcher.catalog, path)
        if link.target
    }
    notes = catalog_read.note_ids(searcher.catalog, [*links.values()])
    note_head = catalog_read.note_heads(searcher.catalog, [number])[number]
    return {
        "path": path,
        "title": note_head.title,
        "properties": text[head.start : head.end],
        "text": searcher.with_references(without_editor_lines(text[head.body :]), session.viewer),
        "is_cut": len(data) > MOST_OF_NOTE,
        "links": {name: target for name, target in links.items() if target in notes},
        "files": sorted({target for target in links.values() if target not in notes}),
        "uri": searcher.cache().uri(note_head.dialect, path, note_head.title),
    }


# Memories whose files a person has removed: the history has their last bytes, so they are listed and restored like
# those of the archive. Assistants know nothing of them.

MOST_COMMITS = 1_000  # searched


class Removed(NamedTuple):
    """A memory whose file was removed by hand, in its last state."""

    memory: Memory
    data: bytes
    content: str  # without its properties


def removed(session: Session) -> list[Removed]:
    """Those that have not come back, last removed first; none without a history."""
    from vaultmem.operations.past import catch_up  # rarely needed

    store = session.store
    if session.viewer.name or store.history.trouble():
        return []
    with contextlib.suppress(VaultmemError):  # then the latest removals are missing
        catch_up(session)
    reader = Reader(store.folder, store.rules.page_style)
    there = {one.id for one in (*store.collection.live(), *store.collection.archived())}
    results = []
    for path, data, at in store.history.removed(MOST_COMMITS):
        memory = reader.parsed(path, data, at)
        if memory and memory.id not in there and not store.collection.exists(path):
            there.add(memory.id)
            content = pages.read(reader.style(path), decode(data)[0]).content
            results.append(Removed(memory._replace(archived=True), data, content))
    return results


def find_removed(session: Session, text: str) -> Removed | None:
    """The one that an id, its beginning, a title or a path names."""
    every = {one.memory.id: one for one in removed(session)}
    memory = named(text, session.store.folder, [one.memory for one in every.values()])
    return every[memory.id] if memory else None


# Where a memory comes from: the sentence that it was drawn from, what it replaced, who recalled it; and what was drawn
# from an entry of a conversation.

LEAST = 1 / 3  # share of a content's words that its sentence must have
_SENTENCE = lazy(r"(?:[^.!?。！？\n]|[.!?](?=\S))+[.!?。！？]*")
_NOTE = lazy(r"\[\[([^\[\]|#]+)[^\[\]]*\]\]|(.+\.md)(?::\d+)?", re.IGNORECASE)
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


def turns_by_name(entries: Sequence[Entry]) -> dict[str, Entry]:
    """The turns among entries that are in order of time, by file name."""
    return {file_name(entry.path): entry for entry in reversed(entries) if entry.is_turn}


def turn_of(fact: Entry, turns: Mapping[str, Entry]) -> Entry | None:
    """The turn, of turns_by_name(), that a fact was learned from; its links name it."""
    named = (turns.get(name) for name in link_targets(fact.properties.get("links")))
    return min(filter(None, named), key=lambda turn: turn.created, default=None)


def drawn_from(session: Session, entry: Entry) -> tuple[list[Entry], list[Memory]]:
    """What was learned from an entry of a conversation: the facts of a turn, and the memories made of facts."""
    turns = turns_by_name([entry])
    facts = [
        fact
        for fact in session.store.talks.entries(entry.conversation)
        if fact.is_fact and turn_of(fact, turns)
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
    turns = turns_by_name(session.store.talks.entries(entry.conversation))
    turn = turn_of(entry, turns) or entry
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
