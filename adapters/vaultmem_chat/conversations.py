"""The verbs on turns, facts and summaries of conversations: read, promote to memories of the vault, forget."""

from __future__ import annotations

from collections.abc import Sequence
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
from vaultmem.operations.provenance import drawn_from, sentence_in, turn_of
from vaultmem.operations.writing import create, find_superseded, look, new_memory
from vaultmem.text.times import fine_stamp, seconds, stamp
from vaultmem_chat.conversing import conversation_of, put_away

if TYPE_CHECKING:
    from vaultmem.api.rpc import Reader

KINDS = {MEMORY: talk.FACTS, USER: talk.TURNS, ASSISTANT: talk.TURNS, SUMMARY: talk.SUMMARIES}
MOST = 1_000_000


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
        one
        for one in every
        if (not kinds or KINDS[one.role] in kinds) and (request.flag("deleted") or not one.deleted)
    ]
    listed = [_with_state(one, every) for one in result[-limit:]]
    return {"conversation_id": conversation, "entries": listed, "count": len(listed)}


def conversations(store: MemoryStore, _: Reader, request: Arguments) -> JsonObject:  # noqa: ARG001 - every verb has the same form
    """All conversations, the most recent first."""
    result: dict[tuple[str, str], list[Entry]] = {}
    troubles: list[list[str]] = []
    for each in store.talks.talks():
        troubles += [list(trouble) for trouble in each.troubles]
        for one in each.entries:
            result.setdefault((each.folder, one.conversation), []).append(one)
    listed = [_totals(folder, name, some) for (folder, name), some in result.items()]
    listed.sort(key=lambda one: (str(one["updated_at"]), str(one["folder"])), reverse=True)
    return {"conversations": listed, "count": len(listed), "troubles": troubles}


def _totals(folder: str, conversation: str, result: list[Entry]) -> JsonObject:
    living = [KINDS[one.role] for one in result if not one.deleted]
    counts = {kind: living.count(kind) for kind in (talk.TURNS, talk.FACTS, talk.SUMMARIES)}
    return {
        "conversation_id": conversation, "folder": folder, **counts,
        "created_at": stamp(min(one.created for one in result)),
        "updated_at": fine_stamp(max(max(one.created, one.updated) for one in result)),
    }  # fmt: skip


def _with_state(one: Entry, every: Sequence[Entry]) -> JsonObject:
    """An entry as JSON; a summary with whether it may be disclosed, a fact with its turn and sentence."""
    turn = turn_of(one, every) if one.role == MEMORY else None
    if turn is not None:
        sentence, _ = sentence_in(turn.content, one.content) or ("", 0)
        return {**record(one), "of": turn.id, "sentence": sentence}
    if one.role != SUMMARY or not one.path.endswith(f"/{talk.FINAL}.md"):
        return record(one)
    return {**record(one), "outdated": is_outdated(one, every)}


def record(one: Entry) -> JsonObject:
    """An entry as JSON."""
    return {
        "id": one.id, "path": one.path, "title": title(one), "conversation_id": one.conversation, "role": one.role,
        "content": one.content, "created_at": fine_stamp(one.created), "updated_at": fine_stamp(one.updated),
        "properties": dict(one.properties), "deleted": one.deleted,
    }  # fmt: skip


def entry_of(record: JsonObject) -> Entry:
    """An entry from its record."""
    properties = record["properties"]
    return Entry(
        str(record["path"]), str(record["id"]), str(record["conversation_id"]), str(record["role"]),
        str(record["content"]), seconds(record["created_at"]) or 0.0, seconds(record["updated_at"]) or 0.0,
        properties if isinstance(properties, dict) else {}, record["deleted"] is True,
    )  # fmt: skip


def title(one: Entry) -> str:
    """The title of an entry, from its properties or its file."""
    value = one.properties.get("title")
    return value if isinstance(value, str) and value else file_name(one.path)


def promote(session: Session, request: Arguments) -> JsonObject:
    """Promote a fact of a conversation to a memory of the vault with global scope."""
    fact = _living(session, request)
    if fact.role != MEMORY:
        raise VaultmemError("only a fact can be promoted; vaultmem write keeps what was said")
    about = {"category": request.text("category"), "by": request.text("by") or None}
    own = Arguments({"content": fact.content, **about})
    content = own.content()
    result = look(session, content, DEFAULT_SCOPE)
    draft = session.draft()
    if result.same and fact.is_private and not is_private(result.same.properties):
        raise VaultmemError(
            f"the fact is private, and “{result.same.title}” says the same and is not; make that private first"
        )
    memory_id = result.same.id if result.same else ""
    if not memory_id:
        new = new_memory(session, own, content, result)
        private: dict[str, Value] = {"private": True} if fact.is_private else {}
        source: dict[str, Value] = {
            "drawn_from": fact.id, "links": transcript.links_to(session, fact.conversation) or None,
        }  # fmt: skip
        new = new._replace(properties={**new.properties, **private, **source})
        name = create(draft, new, f"promoted from the conversation {fact.conversation}")
        for old in () if private else find_superseded(session, own, new, result):
            replace(draft, old, new.id, f"replaced by {name}")
        memory_id = new.id
    who = header(request, f"promote a fact of conversation {fact.conversation}"[:200], session.now)
    plan = draft.plan("promote")
    plan = plan._replace(changes=(*plan.changes, put_away(session, fact, who.by, memory_id)))
    if request.flag("dry_run"):
        return report_planned(session, plan)
    session.make(plan, who)
    living = (one for one in session.store.collection.live() if one.id == memory_id)
    memory = result.same or next(living, None)
    if memory is None:
        raise NoteChangedError("the memory was gone as soon as it was written")
    duplicate = result.same.id if result.same else None
    return {
        **session.record(memory), "created": duplicate is None, "duplicate_of": duplicate, "promoted": fact.id,
    }  # fmt: skip


def forget(session: Session, request: Arguments) -> JsonObject:
    """Put an entry away, together with the summaries that repeat it; they are written again without it. With
    `derived`, also the facts and memories derived from it."""
    one = _living(session, request)
    who = header(request, f"forget an entry of conversation {one.conversation}"[:200], session.now)
    facts, memories = drawn_from(session, one) if request.flag("derived") else ([], [])
    draft = session.draft()
    for memory in memories:
        draft.archive(memory, who.by, f"made of what was said in {one.conversation}")
    removed = [
        each for entry in (one, *facts) for each in (entry, *_summaries_with(session, entry))
    ]
    gone = {each.id: each for each in removed}
    away = tuple(put_away(session, each, who.by) for each in gone.values())
    plan = Plan("forget", (*away, *draft.plan("forget").changes))
    if request.flag("dry_run"):
        return report_planned(session, plan)
    session.make(plan, who)
    overviews.keep_index(session)  # the page of the conversation no longer shows it
    return {
        "id": one.id, "deleted": True, "title": title(one), "path": plan.changes[0].target,
        "conversation_id": one.conversation, "content": one.content,
    }  # fmt: skip


def _summaries_with(session: Session, one: Entry) -> list[Entry]:
    """The summaries that repeat an entry, except private ones and those that a person has written."""
    if one.role == SUMMARY:
        return []
    link = f"[[{file_name(one.path)}]]"
    return [
        each
        for each in session.store.talks.entries(one.conversation)
        if not (each.deleted or each.id == one.id or is_edited(each) or each.is_private)
        and (_is_final_of(each, one) or _is_session_of(each, link))
    ]


def _is_final_of(each: Entry, one: Entry) -> bool:
    until = seconds(each.properties.get("covers_until"))
    is_final = each.role == SUMMARY and each.path.endswith(f"/{talk.SUMMARIES}/{talk.FINAL}.md")
    return is_final and until is not None and until >= one.created


def _is_session_of(each: Entry, link: str) -> bool:
    links = each.properties.get("links")
    return each.is_of_session and isinstance(links, list) and link in links


def _living(session: Session, request: Arguments) -> Entry:
    """The live entry that the request names. Raises NoteNotFoundError."""
    id_ = request.needed("id")
    result = session.store.talks.find(id_)
    living = [one for one in result if not one.deleted]
    if len(living) == 1:
        return living[0]
    if living:
        some = ", ".join(one.id for one in living[:3])
        raise NoteNotFoundError(f"several entries have ids beginning with {id_[:80]!r}: {some}")
    if result:
        raise NoteNotFoundError(f"{id_[:80]!r} is already put away; vaultmem undo brings it back")
    raise NoteNotFoundError(
        f"no entry of a conversation has the id {id_[:80]!r}; vaultmem conversations show ID lists them"
    )
