"""What waits, for every door; and the check that tells the desktop of what is due. They take no turn at the desk: a
dream may sit there for a minute."""

from __future__ import annotations

from datetime import datetime

from vaultmem.core.alarms import Alarm
from vaultmem.errors import StateError
from vaultmem.memories.asked import Asked
from vaultmem.memories.desk import Desk
from vaultmem.memories.reader import Reader
from vaultmem.reminders.telling import LocalZone
from vaultmem.reminders.waiting import Waiting
from vaultmem.store.catalog import Catalog

NOT_INDEXED = "the vault is not indexed; run vaultmem sync"


def pending(desk: Desk, reader: Reader, asked: Asked) -> dict[str, object]:
    """All that waits, each item with its id, section, words, time and source; the chores that these only count; and,
    where they are asked for, the facts that an assistant is told when it starts."""
    catalog, now = _catalog(reader), _now(desk)
    days = asked.whole("days")
    items = desk.waiting.items(catalog, now, asked.told("vanished"), days)
    chores = desk.waiting.chores(catalog, now, asked.told("vanished"))
    facts = desk.waiting.facts(catalog, now) if asked.flag("facts") else []
    return {
        "items": [dict(item.__dict__) for item in items],
        "count": len(items),
        **({"facts": facts} if facts else {}),
        "chores": [dict(item.__dict__) for item in chores],
        "until": desk.waiting.until(catalog, now),
    }


def notify(desk: Desk, reader: Reader, asked: Asked) -> dict[str, object]:
    """Take the answers from the page, write it anew, and tell the desktop of what is due."""
    catalog, now, waiting = _catalog(reader), _now(desk), desk.waiting
    if asked.flag("dry_run"):
        planned = waiting.tell(catalog, now, dry_run=True)
        return {**_said(waiting, planned.tell), "dry_run": True}
    looked = waiting.refresh(catalog, now, asked.told("vanished"))
    planned = waiting.tell(catalog, now, asked.told("vanished"))
    trouble = waiting.teller.trouble
    troubles = [*looked.troubles, *([trouble] if trouble else [])]
    return {
        **_said(waiting, planned.tell),
        "page": waiting.path or None,
        "written": looked.written,
        "answered": looked.answered,
        "unsettled": waiting.unsettled,
        "troubles": troubles,
        "dry_run": False,
    }


def _said(waiting: Waiting, alarms: list[Alarm]) -> dict[str, object]:
    told = [{"title": each.title, "body": each.body, "urgent": each.urgent} for each in alarms]
    return {"told": told, "method": waiting.config.text("notify.method")}


def _catalog(reader: Reader) -> Catalog:
    searcher = reader.searcher()
    if searcher is None:
        raise StateError(NOT_INDEXED)
    return searcher.catalog


def _now(desk: Desk) -> datetime:
    return datetime.fromtimestamp(desk.now(), LocalZone())
