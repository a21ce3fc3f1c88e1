"""Verbs that read memories: one, and lists of them. They load nothing that plans or writes."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Sequence

from vaultmem.errors import NoteNotFoundError, StateError, UsageError, VaultmemError
from vaultmem.ledger import reads
from vaultmem.light import TYPE_CHECKING
from vaultmem.memories import access
from vaultmem.memories.collection import deleted_error
from vaultmem.memories.records import FILTERS, Known, Wanted, chosen, record
from vaultmem.text.sanitize import one_line

if TYPE_CHECKING:
    from vaultmem.adapter import JsonObject
    from vaultmem.memories.arguments import Arguments
    from vaultmem.memories.model import Memory
    from vaultmem.memories.store import Session
    from vaultmem.operations.past import Removed

MOST_VALUES = 60  # of one facet


def read(session: Session, params: Arguments) -> JsonObject:
    """One memory; each read is counted, unless the caller says otherwise."""
    if params.flag("provenance") and session.viewer.name:
        raise UsageError("only you see who recalled a memory; leave --by out")
    try:
        memory = session.find(params.needed("id"), archived=params.flag("deleted"))
    except NoteNotFoundError as error:
        raise (not params.text("by") and _hint(session, params.needed("id"))) or error from None
    if params.flag("counts", default=True):
        with contextlib.suppress(StateError):  # to read is possible of a full disk
            stored = {memory.id: memory.stored_reads}
            reads.add(session.store.ledger, stored, session.now, session.viewer.name)
    answer = {**session.record(memory), **_attribution(session, memory)}
    if not params.flag("provenance"):
        return answer
    from vaultmem.operations.provenance import provenance  # to read does without

    return {**answer, **provenance(session, memory)}


def _hint(session: Session, text: str) -> NoteNotFoundError | None:
    """An error with advice for a memory whose file was removed by hand, and for an entry of a conversation."""
    from vaultmem.operations.past import find_removed  # rarely needed

    gone = find_removed(session, text)
    if gone and gone.memory:
        return deleted_error(gone.memory)
    for one in session.store.talks.find(text)[:1]:
        return NoteNotFoundError(
            f"{text!r} is an entry of a conversation ({one.path}); "
            f"vaultmem conversations show {one.conversation} shows it"
        )
    return None


def list_memories(session: Session, params: Arguments) -> JsonObject:
    """Memories, the newest first."""
    fields = {name: params.scope() if name == "scope" else params.text(name) for name in FILTERS}
    wanted = Wanted(
        {name: value for name, value in fields.items() if value},
        params.flag("everywhere"), params.tags(),
        params.days("since", session.local_time)[0], params.days("until", session.local_time)[1],
        params.number("min_confidence"),
        params.flag("include_compressed") or params.flag("deleted"),
        tuple(params.text("words").lower().split()),
    )  # fmt: skip
    collection = session.store.collection
    everything = collection.archived() if params.flag("deleted") else collection.live()
    by_hand = _removed_by_hand(session) if params.flag("deleted") else {}
    everything = [*everything, *(one.memory for one in by_hand.values() if one.memory)]
    if session.viewer.name:
        everything = [memory for memory in everything if session.sees(memory)]
    known = Known(session.reads, session.id_of, session.now, session.store.half_life)
    memories = chosen(everything, wanted, known)
    if params.flag("unapproved"):
        memories = [memory for memory in memories if _attribution(session, memory)]
    start = params.whole("offset")
    rows = []
    for memory in memories[start : start + params.whole("limit")]:
        with contextlib.suppress(NoteNotFoundError):  # deleted just now
            gone = by_hand.get(memory.path)
            row = record(memory, gone.content, known) if gone else session.record(memory)
            rows.append({**row, **_attribution(session, memory)})
    facets = {"facets": _facets(everything)} if params.flag("facets") else {}
    return {"memories": rows, "count": len(rows), "total": len(memories), **facets}


def _removed_by_hand(session: Session) -> dict[str, Removed]:
    from vaultmem.operations.past import catch_up, removed_files  # rarely needed

    with contextlib.suppress(VaultmemError):  # then what was removed last is missing
        catch_up(session)
    return {one.path: one for one in removed_files(session) if one.memory}


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
    """The author, where the words are neither the viewer's own nor approved."""
    texts = access.attribution(access.origin(memory.properties), session.viewer)
    if not texts or session.is_approved(memory):
        return {}
    return {"attribution": one_line(texts)}
