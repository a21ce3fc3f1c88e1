"""A person approves what an assistant wrote, what came from elsewhere or what a conversation learned: from then on
assistants are told of it."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Mapping

from vaultmem.errors import NoteNotFoundError, UsageError, VaultmemError
from vaultmem.memories import reads
from vaultmem.memories.asked import Asked
from vaultmem.memories.desk import YOU, Desk, Session
from vaultmem.memories.model import Memory, Viewer, attribution, origin
from vaultmem.memories.reader import Reader
from vaultmem.memories.reports import Report
from vaultmem.reminders import carrying, learned
from vaultmem.reminders.answers import DONE, OPEN, Answer
from vaultmem.reminders.learned import Learned
from vaultmem.reminders.pending_items import approval, is_approved
from vaultmem.text.sanitize import one_line
from vaultmem.text.times import stamp
from vaultmem.text.values import TYPE_CHECKING

if TYPE_CHECKING:
    from vaultmem.exchange.gathering import Door


SHORTEST_ID = 4  # characters of an id that can mean a fact
_FOREIGN = ("agent", "source", "url")


def approve(session: Session, asked: Asked) -> Report:
    """Approve one memory, or all of one writer or source; or take that back."""
    if asked.text("by"):
        raise UsageError("only you can approve what is told to assistants; leave --by out")
    record, undo = session.desk.waiting.record, asked.flag("undo")
    fact = None if undo else _fact(session, asked.text("id"))
    if fact is not None:
        return _remember(session, fact, dry_run=asked.flag("dry_run"))
    answers = record.answers()
    found = [
        memory
        for memory in _meant(session, asked)
        if _is_foreign(memory) and is_approved(memory.id, answers) == undo
    ]
    if found and not asked.flag("dry_run"):
        at, state = stamp(session.now), OPEN if undo else DONE
        words = [Answer(approval(one.id), state, at, YOU, "", one.title) for one in found]
        record.add(words, [], session.now)
    return {
        "approved": 0 if undo else len(found),
        "taken_back": len(found) if undo else 0,
        "memories": [{"id": one.id, "title": one.title, "path": one.path} for one in found],
        "dry_run": asked.flag("dry_run"),
    }


def _fact(session: Session, given: str) -> Learned | None:
    """The fact of a conversation that is meant, where no memory is."""
    searcher, desk = session.reader.searcher(), session.desk
    if searcher is None or len(given) < SHORTEST_ID:
        return None
    with contextlib.suppress(NoteNotFoundError):
        session.find(given)
        return None
    facts = learned.learned(searcher.catalog, desk.vault, desk.folder)
    found = [one for one in facts if one.id.startswith(given.lower()) or one.question == given]
    return found[0] if len({one.question for one in found}) == 1 else None


def _remember(session: Session, fact: Learned, *, dry_run: bool) -> Report:
    """Make it a memory, as a tick on the page does."""
    word = Answer(fact.question, DONE, stamp(session.now), YOU, "", one_line(fact.content))
    if not dry_run:
        session.desk.waiting.record.add([word], [], session.now)
    settled = carrying.settle(session, dry_run=dry_run, more=[word])
    for one in carrying.about(fact.question, settled["skipped"]):
        raise VaultmemError(f"{fact.path}: {one['reason']}")
    made = carrying.about(fact.question, settled["done"])
    path = made[0]["path"] if made else fact.path
    shown = {"id": fact.id, "title": one_line(fact.content), "path": path}
    return {"approved": 1, "taken_back": 0, "memories": [shown], "dry_run": dry_run}


def approved(desk: Desk, reader: Reader, asked: Asked) -> Report:  # noqa: ARG001 - as all that are asked apart
    """Which of these ids the person has approved."""
    answers = desk.waiting.record.answers()
    return {"approved": [one for one in asked.texts("ids") if is_approved(one, answers)]}


def take_back(session: Session, memories: Mapping[str, str]) -> None:
    """Memories, titles by ids, are to say something else: who approved them has not seen these words."""
    record = session.desk.waiting.record
    answers, at = record.answers(), stamp(session.now)
    given = [
        Answer(approval(own), OPEN, at, YOU, "", title)
        for own, title in memories.items()
        if is_approved(own, answers)
    ]
    if given:
        record.add(given, [], session.now)


def _meant(session: Session, asked: Asked) -> list[Memory]:
    if asked.text("id"):
        return [session.find(asked.needed("id"))]
    wanted = {key: given for key in ("agent", "source") if (given := asked.text(key))}
    if not wanted:
        raise UsageError("name a memory, or --agent NAME or --source NAME")
    return [
        memory
        for memory in session.desk.collection.live()
        if all(memory.text(key) == given for key, given in wanted.items())
    ]


def _is_foreign(memory: Memory) -> bool:
    return any(memory.properties.get(key) for key in _FOREIGN)


# Whose words are found, where these are neither the viewer's own nor approved by the person.


def attributions(vault: Door, found: Iterable[Mapping[str, object]], to: Viewer) -> dict[str, str]:
    """What to say of memories with these properties, by their ids. Of most nothing is, and then nobody is asked."""
    said = {str(own["id"]): attribution(origin(own), to) for own in found if own.get("id")}
    wanted = {id_: one_line(one) for id_, one in said.items() if one}
    if not wanted:
        return {}
    approved = vault.ask("approved", ids=sorted(wanted))["approved"]
    return {id_: one for id_, one in wanted.items() if id_ not in approved}


# How many memories there are, and how they are.

WAITING = ("contradiction", "fading")  # a person may want to do something about it


def waiting(session: Session, asked: Asked) -> dict[str, object]:  # noqa: ARG001 - every verb has the same form
    """What dreams noticed and left to a person, as far as it still is so; and how many proposals are open."""
    collection = session.desk.collection
    found = []
    for each in reads.findings(session.desk.ledger):
        memory = collection.at(str(each["subject"]))
        if each["kind"] in WAITING and memory is not None and not memory.archived:
            found.append({**each, "id": memory.id})
    open_ = sum(one.state == reads.OPEN for one in reads.kept(session.desk.ledger))
    return {"findings": found, "proposals": open_, "troubles": collection.troubles()}


def overview(session: Session, asked: Asked) -> dict[str, object]:  # noqa: ARG001 - every verb has the same form
    """Counts by phase, category and scope."""
    collection = session.desk.collection
    live = collection.live()
    return {
        "memory_count": len(live),
        "archived": len(collection.archived()),
        "phases": dict(sorted(Counter(memory.phase for memory in live).items())),
        "categories": dict(sorted(Counter(memory.category for memory in live).items())),
        "scopes": dict(sorted(Counter(memory.scope for memory in live).items())),
        "history": session.desk.history.trouble(),
    }
