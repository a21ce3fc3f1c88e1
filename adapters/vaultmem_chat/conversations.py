"""The verbs on turns, facts and summaries of conversations: read, promote to memories of the vault, forget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from vaultmem.adapter import JsonObject, Value
from vaultmem.dreams.summaries import is_edited, is_outdated
from vaultmem.dreams.supersede import replace
from vaultmem.errors import NoteChangedError, NoteNotFoundError, UsageError, VaultmemError
from vaultmem.memories import conversation as talk
from vaultmem.memories.access import is_private
from vaultmem.memories.arguments import Arguments
from vaultmem.memories.conversation import ASSISTANT, MEMORY, SUMMARY, USER, Entry
from vaultmem.memories.draft import Plan
from vaultmem.memories.model import DEFAULT_SCOPE
from vaultmem.memories.reports import header, report_planned
from vaultmem.memories.store import MemoryStore, Session
from vaultmem.notes.places import file_name
from vaultmem.operations import overviews, transcript
from vaultmem.operations.reading import drawn_from, sentence_in, turn_of, turns_by_name
from vaultmem.operations.writing import create, find_superseded, look, new_memory
from vaultmem.text.times import fine_stamp, seconds, stamp
from vaultmem_chat.conversing import conversation_of, put_away

if TYPE_CHECKING:
    from vaultmem.api.rpc import Reader

KINDS = {MEMORY: talk.FACTS, USER: talk.TURNS, ASSISTANT: talk.TURNS, SUMMARY: talk.SUMMARIES}
MOST = 1_000_000
_sentence_in = lru_cache(1024)(sentence_in)  # each listing needs them of all facts


def entries(store: MemoryStore, _: Reader, request: Arguments) -> JsonObject:
    """The entries of one conversation, oldest first; with a limit, the newest ones."""
    conversation = conversation_of(request)
    kinds = request.texts("kinds")
    for kind in kinds:
        if kind not in KINDS.values():
            raise UsageError(
                f"unknown kind {kind[:40]!r}; there are {talk.FACTS}, {talk.TURNS}, {talk.SUMMARIES}"
            )
    limit = request.whole("limit", MOST)
    every = store.talks.entries(conversation)
    result = [
        entry
        for entry in every
        if (not kinds or KINDS[entry.role] in kinds)
        and (request.flag("deleted") or not entry.deleted)
    ]
    turns = turns_by_name(every)
    listed = [_with_state(entry, every, turns) for entry in result[-limit:]]
    return {"conversation_id": conversation, "entries": listed, "count": len(listed)}


def conversations(store: MemoryStore, _: Reader, request: Arguments) -> JsonObject:  # noqa: ARG001 - every verb has the same form
    """All conversations, the most recent first."""
    result: dict[tuple[str, str], list[Entry]] = {}
    troubles: list[list[str]] = []
    for each in store.talks.talks():
        troubles += [list(trouble) for trouble in each.troubles]
        for entry in each.entries:
            result.setdefault((each.folder, entry.conversation), []).append(entry)
    listed = [_totals(folder, name, some) for (folder, name), some in result.items()]
    listed.sort(key=lambda row: (str(row["updated_at"]), str(row["folder"])), reverse=True)
    return {"conversations": listed, "count": len(listed), "troubles": troubles}


def _totals(folder: str, conversation: str, result: list[Entry]) -> JsonObject:
    living = [KINDS[entry.role] for entry in result if not entry.deleted]
    counts = {kind: living.count(kind) for kind in (talk.TURNS, talk.FACTS, talk.SUMMARIES)}
    return {
        "conversation_id": conversation, "folder": folder, **counts,
        "created_at": stamp(min(entry.created for entry in result)),
        "updated_at": fine_stamp(max(max(entry.created, entry.updated) for entry in result)),
    }  # fmt: skip


def _with_state(entry: Entry, every: Sequence[Entry], turns: Mapping[str, Entry]) -> JsonObject:
    """An entry as JSON; a summary with whether it may be disclosed, a fact with its turn and sentence."""
    if entry.role == MEMORY and (turn := turn_of(entry, turns)):
        sentence, _ = _sentence_in(turn.content, entry.content) or ("", 0)
        return {**record(entry), "of": turn.id, "sentence": sentence}
    if not entry.is_final:
        return record(entry)
    return {**record(entry), "outdated": is_outdated(entry, every)}


def record(entry: Entry) -> JsonObject:
    """An entry as JSON."""
    return {
        "id": entry.id, "path": entry.path, "title": title(entry), "conversation_id": entry.conversation,
        "role": entry.role, "content": entry.content, "created_at": fine_stamp(entry.created),
        "updated_at": fine_stamp(entry.updated), "properties": dict(entry.properties), "deleted": entry.deleted,
    }  # fmt: skip


def entry_of(record: JsonObject) -> Entry:
    """An entry from its record."""
    properties = record["properties"]
    return Entry(
        str(record["path"]), str(record["id"]), str(record["conversation_id"]), str(record["role"]),
        str(record["content"]), seconds(record["created_at"]) or 0.0, seconds(record["updated_at"]) or 0.0,
        properties if isinstance(properties, dict) else {}, record["deleted"] is True,
    )  # fmt: skip


def title(entry: Entry) -> str:
    """The title of an entry, from its properties or its file."""
    value = entry.properties.get("title")
    return value if isinstance(value, str) and value else file_name(entry.path)


def promote(session: Session, request: Arguments) -> JsonObject:
    """Promote a fact of a conversation to a memory of the vault with global scope."""
    fact = _living(session, request)
    if fact.role != MEMORY:
        raise VaultmemError("only a fact can be promoted; vaultmem write keeps what was said")
    about = {"category": request.text("category"), "by": request.text("by") or None}
    arguments = Arguments({"content": fact.content, **about})
    content = arguments.content()
    result = look(session, content, DEFAULT_SCOPE, by="")
    draft = session.draft()
    if result.same and fact.is_private and not is_private(result.same.properties):
        raise VaultmemError(
            f"the fact is private, and “{result.same.title}” says the same and is not; make that private first"
        )
    memory_id = result.same.id if result.same else ""
    if not memory_id:
        new = new_memory(session, arguments, content, result)
        private: dict[str, Value] = {"private": True} if fact.is_private else {}
        source: dict[str, Value] = {
            "drawn_from": fact.id, "links": transcript.links_to(session, fact.conversation) or None,
        }  # fmt: skip
        new = new._replace(properties={**new.properties, **private, **source})
        name = create(draft, new, f"promoted from the conversation {fact.conversation}")
        for old in () if private else find_superseded(session, arguments, new, result):
            replace(draft, old, new.id, f"replaced by {name}")
        memory_id = new.id
    who = header(request, f"promote a fact of conversation {fact.conversation}"[:200], session.now)
    plan = draft.plan("promote")
    plan = plan._replace(changes=(*plan.changes, put_away(session, fact, who.by, memory_id)))
    if request.flag("dry_run"):
        return report_planned(session, plan)
    session.make(plan, who)
    living = (
        candidate for candidate in session.store.collection.live() if candidate.id == memory_id
    )
    memory = result.same or next(living, None)
    if memory is None:
        raise NoteChangedError("the memory was gone as soon as it was written")
    duplicate = result.same.id if result.same else None
    return {
        **session.record(memory), "created": duplicate is None, "duplicate_of": duplicate, "promoted": fact.id,
    }  # fmt: skip


def forget(session: Session, request: Arguments) -> JsonObject:
    """Put an entry away, together with the summaries that repeat it; they are rewritten without it. With `derived`,
    also the facts and memories derived from it."""
    chosen = _living(session, request)
    who = header(
        request, f"forget an entry of conversation {chosen.conversation}"[:200], session.now
    )
    facts, memories = drawn_from(session, chosen) if request.flag("derived") else ([], [])
    draft = session.draft()
    for memory in memories:
        draft.archive(memory, who.by, f"made of what was said in {chosen.conversation}")
    removed = [
        item for entry in (chosen, *facts) for item in (entry, *_summaries_with(session, entry))
    ]
    gone = {item.id: item for item in removed}
    away = tuple(put_away(session, item, who.by) for item in gone.values())
    plan = Plan("forget", (*away, *draft.plan("forget").changes))
    if request.flag("dry_run"):
        return report_planned(session, plan)
    session.make(plan, who)
    overviews.keep_index(session)  # the page of the conversation no longer shows it
    return {
        "id": chosen.id, "deleted": True, "title": title(chosen), "path": plan.changes[0].target,
        "conversation_id": chosen.conversation, "content": chosen.content,
    }  # fmt: skip


def _summaries_with(session: Session, entry: Entry) -> list[Entry]:
    """The summaries that repeat an entry, except private ones and those that a person has written."""
    if entry.role == SUMMARY:
        return []
    link = f"[[{file_name(entry.path)}]]"
    return [
        other
        for other in session.store.talks.entries(entry.conversation)
        if not (other.deleted or other.id == entry.id or is_edited(other) or other.is_private)
        and (_is_final_of(other, entry) or _is_session_of(other, link))
    ]


def _is_final_of(summary: Entry, entry: Entry) -> bool:
    until = seconds(summary.properties.get("covers_until")) or summary.updated
    return summary.is_final and until >= entry.created


def _is_session_of(summary: Entry, link: str) -> bool:
    links = summary.properties.get("links")
    return summary.is_of_session and isinstance(links, list) and link in links


def _living(session: Session, request: Arguments) -> Entry:
    """The live entry that the request names. Raises NoteNotFoundError."""
    id_ = request.needed("id")
    result = session.store.talks.find(id_)
    living = [entry for entry in result if not entry.deleted]
    if len(living) == 1:
        return living[0]
    if living:
        some = ", ".join(entry.id for entry in living[:3])
        raise NoteNotFoundError(f"several entries have ids beginning with {id_[:80]!r}: {some}")
    if result:
        raise NoteNotFoundError(f"{id_[:80]!r} is already put away; vaultmem undo brings it back")
    raise NoteNotFoundError(
        f"no entry of a conversation has the id {id_[:80]!r}; vaultmem conversations show ID lists them"
    )
