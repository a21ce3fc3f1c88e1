"""Due items and answers to them, at one moment."""

from datetime import UTC, datetime
from typing import Any

from vaultmem.memories.item_answers import Answer, item_id
from vaultmem.reminders.due import TASK, Due

WALL = datetime(2026, 11, 22, 10)  # noqa: DTZ001 - the clock on the wall
NOW = WALL.replace(tzinfo=UTC)
AT = "2026-11-22T09:00:00Z"


def due(day: str, text: str = "call Anne", **more: Any) -> Due:
    known = Due(item_id("a.md", f"{text}{day}"), TASK, text, day, day, "a.md", 3, "a")
    return known._replace(**more)


def said(id_: str, state: str = "done", until: str = "") -> dict[str, Answer]:
    return {id_: Answer(id_, state, AT, "you", until)}
