"""The person's approval of what an assistant wrote, what came from elsewhere or what a conversation learned: from
then on assistants may read it."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Mapping

from vaultmem.errors import NoteChangedError, NoteNotFoundError, UsageError, VaultmemError
from vaultmem.ledger import reads
from vaultmem.light import TYPE_CHECKING, NamedTuple, TypedDict
from vaultmem.memories import item_answers
from vaultmem.memories.access import Origin, origin
from vaultmem.memories.arguments import Arguments
from vaultmem.memories.draft import CONTRADICTION, noticed
from vaultmem.memories.item_answers import (
    DONE,
    OPEN,
    Answer,
    approval_id,
    content_id,
    finding_id,
    is_approved,
    is_asleep,
    is_closed,
    is_granted,
    origin_at,
)
from vaultmem.memories.model import Memory
from vaultmem.memories.records import has_values
from vaultmem.memories.store import YOU, Session
from vaultmem.notes import pages
from vaultmem.notes.places import file_name
from vaultmem.operations import own_notes
from vaultmem.pending import carrying, person_facts
from vaultmem.pending.person_facts import Learned
from vaultmem.review.proposals import open_rows
from vaultmem.text.sanitize import one_line
from vaultmem.text.times import stamp
from vaultmem.text.values import SHORTEST_ID, plural
from vaultmem.vault.batch_record import Header

if TYPE_CHECKING:
    from vaultmem.adapter import JsonObject


def approve(session: Session, params: Arguments) -> JsonObject:
    """Approve one memory, or all of one writer or source; or take that back. With `seen`, a content_hash, only if the
    text is unchanged."""
    if params.text("by"):
        raise UsageError("only you can approve what assistants may read; leave --by out")
    undo = params.flag("undo")
    if not undo and (fact := _fact(session, params.text("id"))):
        return _remember(session, fact, dry_run=params.flag("dry_run"))
    answers, chosen = session.store.pending.record.answers(), _note(session, params.text("id"))
    memories = [] if chosen else _resolve(session, params)
    if (seen := params.text("seen")) and any(memory.hash != seen for memory in memories):
        raise NoteChangedError("it was changed meanwhile and not approved; read it again")
    chosen += [memory for memory in memories if origin(memory.properties) != Origin()]
    results = [each for each in chosen if is_granted(_question(each), answers) == undo]
    if results and not params.flag("dry_run"):
        at, state = stamp(session.now), OPEN if undo else DONE
        words = [Answer(_question(result), state, at, YOU, "", result.title) for result in results]
        what = results[0].title if len(results) == 1 else plural(len(results), "memory", "memories")
        who = Header(YOU, "person", f"{'not ' * undo}approved: {what}"[:200], session.now)
        item_answers.keep_as_entry(session, who, words)
    return {
        "approved": 0 if undo else len(results), "taken_back": len(results) if undo else 0,
        "memories": [{"id": result.id, "title": result.title, "path": result.path} for result in results],
        "dry_run": params.flag("dry_run"),
    }  # fmt: skip


class _Note(NamedTuple):
    id: str  # see content_id()
    title: str
    path: str


def _question(each: Memory | _Note) -> str:
    return each.id if isinstance(each, _Note) else approval_id(each.id)


def _note(session: Session, text: str) -> list[Memory | _Note]:
    """The note from elsewhere that the text names, outside the memory folder, as it is now."""
    with contextlib.suppress(NoteNotFoundError):
        session.find(text)
        return []
    searcher, store = session.reader.searcher(), session.store
    with contextlib.suppress(NoteNotFoundError):
        path = own_notes.path_of(session, text) if searcher and text else ""
        content = searcher.texts.read([path])[path] if searcher and path else ""
        fields = pages.read(store.rules.page_style(path), content).properties
        if content and origin_at(path, fields, store.folder).outside:
            return [_Note(content_id(content), file_name(path), path)]
    return []


def _fact(session: Session, text: str) -> Learned | None:
    """The fact of a conversation that the id names; None if it names a memory."""
    searcher, store = session.reader.searcher(), session.store
    if searcher is None or len(text) < SHORTEST_ID:
        return None
    with contextlib.suppress(NoteNotFoundError):
        session.find(text)
        return None
    facts = person_facts.learned_facts(searcher.catalog, store.vault, store.folder)
    results = [fact for fact in facts if fact.id.startswith(text.lower()) or fact.question == text]
    return results[0] if len({result.question for result in results}) == 1 else None


def _remember(session: Session, fact: Learned, *, dry_run: bool) -> JsonObject:
    word = Answer(fact.question, DONE, stamp(session.now), YOU, "", one_line(fact.content))
    if not dry_run:
        session.store.pending.record.add([word], [], session.now)
    settled = carrying.settle(session, dry_run=dry_run, more=[word])
    for one in carrying.about(fact.question, settled.skipped):
        raise VaultmemError(f"{fact.path}: {one['reason']}")
    made = carrying.about(fact.question, settled.done)
    path = made[0]["path"] if made else fact.path
    memory = {"id": fact.id, "title": one_line(fact.content), "path": path}
    return {"approved": 1, "taken_back": 0, "memories": [memory], "dry_run": dry_run}


def take_back(session: Session, memories: Mapping[str, str]) -> None:
    """Withdraw the approval of memories (titles by id) whose words change, since the person has not seen the new
    ones."""
    record = session.store.pending.record
    answers, at = record.answers(), stamp(session.now)
    results = [
        Answer(approval_id(memory_id), OPEN, at, YOU, "", title)
        for memory_id, title in memories.items()
        if is_approved(memory_id, answers)
    ]
    if results:
        record.add(results, [], session.now)


def _resolve(session: Session, params: Arguments) -> list[Memory]:
    if params.text("id"):
        return [session.find(params.needed("id"))]
    filters = {key: value for key in ("agent", "source") if (value := params.text(key))}
    if not filters:
        raise UsageError("name a memory, or --agent NAME or --source NAME")
    return [memory for memory in session.store.collection.live() if has_values(memory, filters)]


# The number of memories, and their state.


def waiting(session: Session, params: Arguments) -> JsonObject:  # noqa: ARG001 - every verb has the same form
    """The findings of dreams that still hold and are unanswered, and the number of open proposals."""
    collection, answers = session.store.collection, session.store.pending.record.answers()
    minute, results = session.local_time.isoformat()[:16], []
    paths = {memory.id: memory.path for memory in collection.live()}
    for finding in noticed(reads.findings(session.store.ledger, CONTRADICTION), paths):
        item = finding_id(finding)
        if not (is_closed(answers, item) or is_asleep(answers.get(item), minute)):
            results.append({**finding, "id": finding["ids"][0]})
    open_ = open_rows(session.store.ledger, answers)
    return {"findings": results, "proposals": len(open_), "troubles": collection.troubles()}


class Overview(TypedDict):
    """Counts of memories; `history` says why there is none, if so."""

    memory_count: int
    archived: int
    phases: dict[str, int]
    categories: dict[str, int]
    scopes: dict[str, int]
    history: str | None


def overview(session: Session, params: Arguments) -> Overview:  # noqa: ARG001 - every verb has the same form
    """Counts by phase, category and scope."""
    collection = session.store.collection
    live = collection.live()
    return {
        "memory_count": len(live),
        "archived": len(collection.archived()),
        "phases": dict(sorted(Counter(memory.phase for memory in live).items())),
        "categories": dict(sorted(Counter(memory.category for memory in live).items())),
        "scopes": dict(sorted(Counter(memory.scope for memory in live).items())),
        "history": session.store.history.trouble(),
    }
