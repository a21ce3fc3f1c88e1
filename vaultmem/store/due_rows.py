"""Questions to the catalog: what is written in notes about times at which something is due."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple

from vaultmem.adapter import Value
from vaultmem.core.values import TYPE_CHECKING
from vaultmem.store.catalog import Catalog
from vaultmem.store.catalog_write import BLOCK, OPENING, SAID, TASK

__all__ = ["BLOCK", "OPENING", "SAID", "TASK", "DueNote", "DueRow", "existing", "notes"]

if TYPE_CHECKING:
    from typing import Any


class DueRow(NamedTuple):
    """A task, a dated block, sentences of a line, or that the note is due itself."""

    kind: int  # TASK, BLOCK, SAID or OPENING
    line: int
    fields: dict[str, object]


class DueNote(NamedTuple):
    """A note with something that may be due."""

    id: int
    path: str
    title: str
    day: str  # "" for none
    journal: str
    excluded: bool
    mtime: float  # seconds since the epoch
    properties: dict[str, Value]
    rows: list[DueRow]


# All in one answer: each row that SQLite hands out lets another thread of this process have its turn.
_NOTES = """SELECT json_group_array(json_array(n.id, f.path, n.title, n.day, n.journal, n.excluded, f.mtime_ns,
    json(n.properties), json(w.rows))) FROM
    (SELECT t.note, json_group_array(json_array(t.is_task, t.line, json(t.task))) AS rows FROM tasks t
        WHERE t.open = 1 {chosen} GROUP BY t.note) w
    CROSS JOIN notes n ON n.id = w.note CROSS JOIN files f ON f.id = w.note"""
_ALL = _NOTES.format(chosen="")
_SOME = _NOTES.format(chosen="AND t.note IN (SELECT value FROM json_each(?))")


def notes(catalog: Catalog, among: Iterable[int] | None = None) -> list[DueNote]:
    """The notes with open tasks, dated blocks, such sentences or such properties; of all notes, or of some."""
    if among is None:
        answer = catalog.db.execute(_ALL).fetchone()
    else:
        answer = catalog.db.execute(_SOME, (json.dumps(sorted(among)),)).fetchone()
    return [_note(row) for row in json.loads(answer[0])]


def _note(row: list[Any]) -> DueNote:
    id_, path, title, day, journal, excluded, mtime_ns, properties, rows = row
    found = sorted((DueRow(*each) for each in rows), key=lambda each: each.line)
    return DueNote(
        id_, path, title, day or "", journal or "", bool(excluded), mtime_ns / 1e9, properties or {}, found
    )  # fmt: skip


def existing(catalog: Catalog, paths: Iterable[str]) -> set[str]:
    """Which of these paths are notes of the vault."""
    wanted = json.dumps(sorted(paths))
    found = catalog.db.execute(
        "SELECT json_group_array(f.path) FROM json_each(?) w CROSS JOIN files f ON f.path = w.value"
        " WHERE f.kind = 'note'",
        (wanted,),
    ).fetchone()
    return set(json.loads(found[0]))
