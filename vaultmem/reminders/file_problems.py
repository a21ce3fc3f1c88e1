"""Files that a person should look at: copies of sync programs, notes that cannot be read or that no job minds.

The words need no knowledge of how notes are stored.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from vaultmem.index import catalog_read
from vaultmem.index.catalog import NOTES_BELOW, Catalog, below
from vaultmem.memories.item_answers import item_id
from vaultmem.vault.conflicts import conflict_original
from vaultmem.vault.frontmatter import PLACEHOLDER
from vaultmem.vault.places import GENERATED, SYNC

COPIES, UNREADABLE, STRAY = "copies", "unreadable", "stray"
KINDS = (COPIES, UNREADABLE, STRAY)
LEFT_ALONE = "is in no folder of a category, and is left alone"
_OF_PROPERTIES = "front matter: "  # in the reasons of the catalog
_STRAYS = f"""SELECT f.path, n.properties {NOTES_BELOW}
    AND instr(substr(f.path, ?), '/') = 0 ORDER BY f.path"""


class FileProblem(NamedTuple):
    """What is wrong with one file."""

    kind: str  # one of KINDS
    id: str  # of the item that tells of it
    path: str
    text: str


def collect(catalog: Catalog, folder: str, page: str) -> Iterator[FileProblem]:
    """All of them; `folder` is that of the memories, `page` the path of pending.md."""
    return chain(
        _conflict_copies(catalog, folder, page), _unreadable(catalog), _strays(catalog, folder)
    )


def _conflict_copies(catalog: Catalog, folder: str, page: str) -> Iterator[FileProblem]:
    """Sync conflict copies, but for those of our own pages, which are read and put away by themselves."""
    logs = f"{folder}/{SYNC}/"
    ours = {page, *(f"{folder}/{name}" for name in GENERATED)}
    for path, original in catalog_read.conflict_pairs(catalog):
        is_read = (original or conflict_original(path)) in ours or path.startswith(logs)
        if not is_read:
            rest = f" of {original}" if original else "; its original is gone"
            text = f"a sync conflict copy{rest}"
            yield FileProblem(COPIES, item_id(path, "conflict copy"), path, text)


def _unreadable(catalog: Catalog) -> Iterator[FileProblem]:
    """Notes that cannot be read, or not wholly."""
    for path, reason in catalog_read.troubles(catalog):
        if PLACEHOLDER in reason:
            continue  # on purpose, and no work for anybody
        if reason.startswith(_OF_PROPERTIES):
            text = f"this note's properties cannot be read: {reason.removeprefix(_OF_PROPERTIES)}"
        else:
            text = f"this note cannot be read to its end: {reason}"
        yield FileProblem(UNREADABLE, item_id(path, "unreadable"), path, text)


def _strays(catalog: Catalog, folder: str) -> Iterator[FileProblem]:
    """Notes that lie in the memory folder itself and have no id: no job minds them."""
    rows = catalog.db.execute(_STRAYS, (*below(folder), len(folder) + 2)).fetchall()
    for path, properties in rows:
        if not json.loads(properties or "{}").get("id"):
            yield FileProblem(STRAY, item_id(path, "stray"), path, LEFT_ALONE)
