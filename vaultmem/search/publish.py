"""The data for a shared index: the places of blocks with their metadata, excluding private notes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from vaultmem.adapter import Properties
from vaultmem.index.catalog import Catalog, among
from vaultmem.memories.access import is_private, scope_of
from vaultmem.notes.blocks import embedded_text, text_hash
from vaultmem.notes.dialects import Rulebook, read_note
from vaultmem.vectors.shared_index import Fact, Place

# Properties of memories needed by filters or for confidence.
_FACTS = (
    "agent", "created_at", "decay_policy", "expires_at", "importance", "last_reinforced_at", "memory_type", "phase",
    "project",
)  # fmt: skip


def places(catalog: Catalog, notes: Iterable[int] | None = None) -> dict[bytes, Place | None]:
    """Each text with its first place; None for one in a private note. Only of some notes, if named."""
    chosen, values = among("b.note", notes)
    statement = f"""SELECT b.note, b.hash, b.line, b.end_line, f.path, n.day, n.category, n.properties, n.error
        FROM blocks b JOIN files f ON f.id = b.note JOIN notes n ON n.id = b.note
        WHERE n.excluded = 0 {chosen} ORDER BY b.note, b.ordinal"""  # noqa: S608 - own text
    rows = catalog.db.execute(statement, values)
    places: dict[bytes, Place | None] = {}
    last, facts = None, None
    for note, digest, line, end_line, path, day, category, properties, error in rows:
        if note != last:
            last = note
            facts = None if error else _facts(properties, day, category, _tags(catalog, note))
        if facts is None:
            places[digest] = None
        elif digest not in places:
            places[digest] = Place(path, line, end_line, facts)
    return places


def _tags(catalog: Catalog, note: int) -> list[str]:
    rows = catalog.db.execute("SELECT folded FROM tags WHERE note = ? ORDER BY folded", (note,))
    return [row[0] for row in rows]


def _facts(
    properties: str | None, day: str | None, category: str | None, tags: Iterable[str]
) -> Mapping[str, Fact] | None:
    """The metadata for filtering a note's blocks; None for a private note or unreadable properties."""
    values: Properties = json.loads(properties) if properties else {}
    if is_private(values):
        return None
    is_memory = "id" in values
    facts: dict[str, Fact] = {"memory": is_memory, "scope": scope_of(values, memory=is_memory)}
    if day:
        facts["day"] = int(day.replace("-", "")[:8])
    if category:
        facts["category"] = category
    for name in _FACTS if is_memory else ():
        value = values.get(name)
        if isinstance(value, (str, int, float)) and value != "":
            facts[name] = value
    return facts | {f"tag:{tag}": True for tag in tags}


def text_at(rules: Rulebook, folder: str, path: str, cap: int, digest: bytes) -> str:
    """The text with that hash in a note; "" if it has changed."""
    note = read_note(rules, folder, path, None, cap)
    for block in note.blocks:
        text = embedded_text(note.note.title, block)
        if text_hash(text) == digest:
            return text
    return ""
