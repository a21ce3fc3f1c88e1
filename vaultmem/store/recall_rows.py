"""What a recall asks the catalog: which notes are looked into, who holds preferences, the texts behind blocks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

from vaultmem.core.places import ENTRIES
from vaultmem.store.catalog import NOTES_BELOW, Catalog, below
from vaultmem.store.catalog_read import ids

_WEIGHT = "json_extract(n.properties, '$.importance')"
_DULL = f"(typeof({_WEIGHT}) IN ('real', 'integer') AND {_WEIGHT} < ?)"
_SCOPE = "coalesce(nullif(trim(json_extract(n.properties, '$.scope')), ''), 'global')"
_SUM = "coalesce(json_extract(n.properties, '$.role'), '') = 'summary'"  # of a conversation, told in its own way
_SUMMARIES = """SELECT n.properties FROM files f JOIN notes n ON n.id = f.id
    WHERE f.path >= ? AND f.path < ? AND n.properties LIKE '%compression_source%'"""
_COMPRESSED = """SELECT n.id, n.properties FROM files f JOIN notes n ON n.id = f.id
    WHERE f.path >= ? AND f.path < ? AND n.properties LIKE '%"compressed"%'"""
# In whatever letters: LIKE folds them.
_RESTRICTED = """SELECT n.id, f.path, n.properties FROM notes n JOIN files f ON f.id = n.id
    WHERE n.properties LIKE '%private%' OR (n.properties LIKE '%scope%'
    AND json_extract(n.properties, '$.scope') IS NOT 'global')"""
_INSIDE = "SELECT id FROM files WHERE path >= ? AND path < ?"
_SESSIONS = ("session_id", "conversation_id", "source_session_id")
_HASHES = """SELECT f.path, b.line, b.hash FROM blocks b JOIN files f ON f.id = b.note
    JOIN json_each(?) w ON f.path = json_extract(w.value, '$[0]') AND b.line = json_extract(w.value, '$[1]')"""


def memories(
    catalog: Catalog, folder: str, looks_into: Callable[[str], bool], least: float = 0.0
) -> frozenset[int]:
    """The notes of the memory folder whose scopes are looked into, and that matter at least so much."""
    rows = _scoped(catalog, folder, looks_into, least)
    return frozenset(note for note, is_wanted in rows if is_wanted)


def hidden(
    catalog: Catalog, folder: str, looks_into: Callable[[str], bool], least: float = 0.0
) -> frozenset[int]:
    """The notes of the memory folder whose scopes are not looked into, or that do not matter."""
    rows = _scoped(catalog, folder, looks_into, least)
    return frozenset(note for note, is_wanted in rows if not is_wanted)


def _scoped(
    catalog: Catalog, folder: str, looks_into: Callable[[str], bool], least: float
) -> Iterable[tuple[int, bool]]:
    """The notes of the memory folder, and whether they are looked into. Scopes are few, and asked for once each."""
    kept = f"CASE WHEN {_DULL} OR {_SUM} THEN NULL ELSE {_SCOPE} END"
    values = [least, *below(folder)]
    rows = catalog.db.execute(f"SELECT n.id, {kept} {NOTES_BELOW}", values).fetchall()
    wanted = {scope: scope is not None and looks_into(str(scope)) for scope in {s for _, s in rows}}
    return ((int(note), wanted[scope]) for note, scope in rows)


def summaries(catalog: Catalog, folder: str) -> list[dict[str, object]]:
    """The properties of memories that sum others up."""
    rows = catalog.db.execute(_SUMMARIES, below(folder)).fetchall()
    return [found for row in rows if isinstance(found := json.loads(row[0]), dict)]


def spoken(catalog: Catalog, folder: str) -> frozenset[int]:
    """The notes of conversations."""
    return frozenset(ids(catalog, _INSIDE, below(f"{folder}/{ENTRIES}")))


def summed_up(catalog: Catalog, folder: str) -> frozenset[int]:
    """The notes of memories that a summary stands for."""
    rows = catalog.db.execute(_COMPRESSED, below(folder)).fetchall()
    marked = [(int(row[0]), own) for row in rows if _is_marked(own := json.loads(row[1]))]
    sums = summaries(catalog, folder) if marked else []
    sessions = {str(own[key]) for own in sums for key in _SESSIONS if own.get(key)}
    return frozenset(
        note for note, own in marked if any(str(own.get(key)) in sessions for key in _SESSIONS)
    )


def _is_marked(own: object) -> bool:
    return isinstance(own, dict) and own.get("compressed") is True


def restricted(catalog: Catalog) -> list[tuple[int, str, dict[str, object]]]:
    """The notes whose properties may keep them from somebody: number, path and properties."""
    rows = catalog.db.execute(_RESTRICTED).fetchall()
    return [(int(note), str(path), json.loads(own)) for note, path, own in rows]


def hashes(catalog: Catalog, places: Iterable[tuple[str, int]]) -> dict[tuple[str, int], bytes]:
    """The hashes of blocks, by path and first line."""
    rows = catalog.db.execute(_HASHES, (json.dumps(list(places)),)).fetchall()
    return {(str(path), int(line)): bytes(digest) for path, line, digest in rows}
