"""A person approves what an assistant wrote or what came from elsewhere: from then on assistants are told of it."""

from __future__ import annotations

from collections.abc import Mapping

from vaultmem.core.answers import DONE, OPEN, Answer
from vaultmem.core.memory import Memory
from vaultmem.core.pending_items import approval, is_approved
from vaultmem.core.stamps import stamp
from vaultmem.errors import UsageError
from vaultmem.memories.asked import Asked
from vaultmem.memories.desk import YOU, Desk, Session
from vaultmem.memories.reader import Reader
from vaultmem.memories.reports import Report

_FOREIGN = ("agent", "source", "url")


def approve(session: Session, asked: Asked) -> Report:
    """Approve one memory, or all of one writer or source; or take that back."""
    if asked.text("by"):
        raise UsageError("only you can approve what is told to assistants; leave --by out")
    record, undo = session.desk.waiting.record, asked.flag("undo")
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
