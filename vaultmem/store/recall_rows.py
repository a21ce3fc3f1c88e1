"""What a recall asks the catalog: which notes a scope sees, who holds preferences, the texts behind blocks."""

from __future__ import annotations

import json
from collections.abc import Iterable

from vaultmem.store.catalog import Catalog
from vaultmem.store.catalog_read import ids

_MEMORIES = """SELECT n.id FROM files f JOIN notes n ON n.id = f.id LEFT JOIN conflicts c ON c.copy = n.id
    WHERE f.path >= ? AND f.path < ? AND c.copy IS NULL"""
_SCOPE = "coalesce(nullif(trim(json_extract(n.properties, '$.scope')), ''), 'global')"
_SEEN = "IN (SELECT value FROM json_each(?))"
_PREFERENCES = f"""SELECT f.path FROM files f JOIN notes n ON n.id = f.id LEFT JOIN conflicts c ON c.copy = n.id
    WHERE f.path >= ? AND f.path < ? AND c.copy IS NULL AND n.properties IS NOT NULL AND n.excluded = 0
    AND (n.category = 'preferences' OR n.properties LIKE '%procedural%') AND {_SCOPE} {_SEEN} ORDER BY f.path"""  # noqa: S608 - own text
_SUMMARIES = """SELECT n.properties FROM files f JOIN notes n ON n.id = f.id
    WHERE f.path >= ? AND f.path < ? AND n.properties LIKE '%compression_source%'"""
_HASHES = """SELECT f.path, b.line, b.hash FROM blocks b JOIN files f ON f.id = b.note
    JOIN json_each(?) w ON f.path = json_extract(w.value, '$[0]') AND b.line = json_extract(w.value, '$[1]')"""


def memories(catalog: Catalog, folder: str, scopes: Iterable[str]) -> frozenset[int]:
    """The notes of the memory folder that these scopes see."""
    values = [*_range(folder), json.dumps(sorted(scopes))]
    return frozenset(ids(catalog, f"{_MEMORIES} AND {_SCOPE} {_SEEN}", values))


def hidden(catalog: Catalog, folder: str, scopes: Iterable[str]) -> frozenset[int]:
    """The notes of the memory folder that they do not see."""
    values = [*_range(folder), json.dumps(sorted(scopes))]
    return frozenset(ids(catalog, f"{_MEMORIES} AND {_SCOPE} NOT {_SEEN}", values))


def preferences(catalog: Catalog, folder: str, scopes: Iterable[str]) -> list[str]:
    """The paths of notes that may tell how the person wants things to be done."""
    values = [*_range(folder), json.dumps(sorted(scopes))]
    return [str(row[0]) for row in catalog.db.execute(_PREFERENCES, values).fetchall()]


def summaries(catalog: Catalog, folder: str) -> list[dict[str, object]]:
    """The properties of memories that sum others up."""
    rows = catalog.db.execute(_SUMMARIES, _range(folder)).fetchall()
    return [found for row in rows if isinstance(found := json.loads(row[0]), dict)]


def hashes(catalog: Catalog, places: Iterable[tuple[str, int]]) -> dict[tuple[str, int], bytes]:
    """The hashes of blocks, by path and first line."""
    rows = catalog.db.execute(_HASHES, (json.dumps(list(places)),)).fetchall()
    return {(str(path), int(line)): bytes(digest) for path, line, digest in rows}


def _range(folder: str) -> list[str]:
    return [f"{folder}/", f"{folder}0"]
