"""Files that a person should look at: sync conflict copies, notes that cannot be read, notes that no job minds."""

from __future__ import annotations

import json
from typing import NamedTuple

from vaultmem.core.conflicts import conflict_original
from vaultmem.core.pending_page import item_id
from vaultmem.core.places import GENERATED
from vaultmem.store import catalog_read
from vaultmem.store.catalog import NOTES_BELOW, Catalog, below
from vaultmem.store.frontmatter import PLACEHOLDER

STRAY = "is in no folder of a category, and is left alone"
_STRAYS = f"""SELECT f.path, n.properties {NOTES_BELOW}
    AND instr(substr(f.path, ?), '/') = 0 ORDER BY f.path"""


class Told(NamedTuple):
    """What there is to say of a file."""

    id: str  # of the item
    said: str
    path: str

    @property
    def name(self) -> str:
        """What a link calls it."""
        name = self.path.rpartition("/")[2]
        return name[:-3] if name.lower().endswith(".md") else name


def copies(catalog: Catalog, folder: str, page: str) -> list[Told]:
    """Sync conflict copies, but for those of our own pages, which are read and put away by themselves."""
    ours = {page, *(f"{folder}/{name}" for name in GENERATED)}
    found = []
    for path, original in catalog_read.conflict_pairs(catalog):
        if (original or conflict_original(path)) in ours:
            continue
        said = f"of {original}" if original else "; its original is gone"
        said = f"a sync conflict copy{' ' if original else ''}{said}"
        found.append(Told(item_id(path, "conflict copy"), said, path))
    return found


def unreadable(catalog: Catalog) -> list[Told]:
    """Notes that cannot be read, or not wholly."""
    return [
        Told(item_id(path, "unreadable"), f"{path}: {reason}", path)
        for path, reason in catalog_read.troubles(catalog)
        if PLACEHOLDER not in reason  # on purpose, and no work for anybody
    ]


def strays(catalog: Catalog, folder: str) -> list[Told]:
    """Notes that lie in the memory folder itself and have no id: no job minds them."""
    given = (*below(folder), len(folder) + 2)
    rows = catalog.db.execute(_STRAYS, given).fetchall()
    paths = [path for path, properties in rows if not json.loads(properties or "{}").get("id")]
    return [Told(item_id(path, "stray"), STRAY, path) for path in paths]
