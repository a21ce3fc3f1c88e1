"""Bring back the reminder that an answer has put away."""

from __future__ import annotations

from vaultmem.adapter import Value
from vaultmem.core.changes import RESTORE, Change, Plan
from vaultmem.core.dues import series_id
from vaultmem.core.memory import Memory, category_of
from vaultmem.core.stamps import stamp
from vaultmem.core.titles import free_path
from vaultmem.errors import NoteChangedError
from vaultmem.memories.asked import Asked
from vaultmem.memories.carrying import ANSWERED
from vaultmem.memories.desk import Session
from vaultmem.memories.reports import header


def plan(session: Session, id_: str) -> Plan | None:
    """How the reminder of that item comes back; None when none was put away for it."""
    memory = _put_away(session, id_)
    if memory is None:
        return None
    view = session.view
    category = category_of("", memory.properties.get("category"))
    wanted = f"{view.folder}/{category}/{memory.path.rpartition('/')[2]}"
    target = free_path(wanted, memory.id, view.exists)
    now: dict[str, Value] = {
        "deleted_at": None,
        "by": None,
        ANSWERED: None,
        "updated_at": stamp(session.now),
    }
    why = "its answer was taken back"
    change = Change(RESTORE, memory.id, memory.path, target, now, None, memory.hash, why)
    return Plan("restore", (change,))


def _put_away(session: Session, id_: str) -> Memory | None:
    archived = session.desk.collection.archived()
    return next((one for one in archived if one.properties.get(ANSWERED) == id_), None)


def put_away(session: Session) -> dict[str, str]:
    """The items whose reminders are in the archive, with their titles."""
    archived = session.desk.collection.archived()
    return {
        str(one.properties.get(ANSWERED)): one.title
        for one in archived
        if one.properties.get(ANSWERED)
    }


def series(session: Session, id_: str) -> str:
    """The id of the series whose end has put the reminder of that item away, if it did; "" for no such reminder."""
    memory = _put_away(session, id_)
    return series_id(memory.id) if memory else ""


def restore(session: Session, asked: Asked, id_: str) -> str | None:
    """Bring it back; where it is now."""
    found = plan(session, id_)
    if found is None:
        return None
    target = found.changes[0].target
    who = header(asked, f"taken back: {target.rpartition('/')[2]}", session.now)
    outcome = session.carry_out(found, who)
    if outcome.skipped:
        raise NoteChangedError(outcome.skipped[0][1])
    return target
