"""The whole content of an index, without row numbers and times, so that two indexes can be compared."""

import os
import shutil
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

import tantivy

from vaultmem.config import Config
from vaultmem.index import ORD_BITS
from vaultmem.index.catalog import Catalog
from vaultmem.index.compare import Report
from vaultmem.index.state import State
from vaultmem.index.sync import sync
from vaultmem.search.keyword_search import KeywordSearcher, Question
from vaultmem.search.query import parse

Dump = dict[str, list[tuple[object, ...]]]
Hits = dict[str, dict[tuple[str, int], float]]
SECOND = 1_000_000_000


class Clock:
    """A settable time of day for sync."""

    def __init__(self, now: int) -> None:
        self.now = now

    def time_ns(self) -> int:
        return self.now

    def time(self) -> float:
        return self.now / SECOND

    def monotonic(self) -> float:
        return self.now / SECOND


DEFAULTS = Config({})
WORDS = (
    "apple", "roof", "bell*", '"red apple"', "alias", "计划", "桥", "note", "-apple", "deep OR page",
)  # fmt: skip

# Left joins show rows whose file is gone: an index built from scratch has none.
_TABLES = {
    "files": "SELECT path, kind, size, mtime_ns, raw, hash FROM files",
    "notes": "SELECT f.path, x.dialect, x.title, x.day, x.category, x.excluded, x.journal, x.namespace, x.error,"
    " x.properties, x.anchors FROM notes x LEFT JOIN files f ON f.id = x.id",
    "blocks": "SELECT f.path, x.ordinal, x.line, x.end_line, x.headings, x.label, hex(x.hash), x.size"
    " FROM blocks x LEFT JOIN files f ON f.id = x.note",
    "links": "SELECT f.path, x.ordinal, x.kind, x.path, x.subpath, x.display, x.line, x.key, t.path,"
    " x.target IS NULL, x.choices FROM links x LEFT JOIN files f ON f.id = x.source"
    " LEFT JOIN files t ON t.id = x.target",
    "names": "SELECT x.name, f.path FROM names x LEFT JOIN files f ON f.id = x.file",
    "tags": "SELECT x.folded, f.path, x.tag FROM tags x LEFT JOIN files f ON f.id = x.note",
    "aliases": "SELECT x.folded, f.path, x.alias FROM aliases x LEFT JOIN files f ON f.id = x.note",
    "tasks": "SELECT f.path, x.line, x.is_task, x.open, x.dated, x.task"
    " FROM tasks x LEFT JOIN files f ON f.id = x.note",
    "conflicts": "SELECT f.path, o.path FROM conflicts x LEFT JOIN files f ON f.id = x.copy"
    " LEFT JOIN files o ON o.id = x.original",
    "troubles": "SELECT path, reason FROM troubles",
    "dirty": "SELECT note FROM dirty",
    "stale": "SELECT key FROM stale",
    "reader": "SELECT value FROM meta WHERE key = 'reader'",
}


def generation(vault: Path) -> Path:
    """The index in force."""
    found = State(str(vault)).generation()
    assert found, "the vault has no index"
    return Path(found)


def catalog_dump(vault: Path) -> Dump:
    """The rows of all tables, with paths in place of row numbers."""
    with closing(sqlite3.connect(generation(vault) / "catalog.db")) as db:
        return {name: sorted(db.execute(sql).fetchall(), key=repr) for name, sql in _TABLES.items()}


def keyword_hits(vault: Path, words: tuple[str, ...] = WORDS) -> Hits:
    """The results of a few searches: {words: {(path, ordinal): score}}."""
    folder = generation(vault)
    catalog = Catalog(f"{folder}/catalog.db")
    paths = dict(catalog.db.execute("SELECT id, path FROM files").fetchall())
    catalog.close()
    searcher = KeywordSearcher(f"{folder}/kw")
    found: Hits = {}
    for text in words:
        hits = searcher.search(Question(text, parse(text), None), 10_000)
        found[text] = {
            (paths.get(block >> ORD_BITS, f"gone {block}"), block & (1 << ORD_BITS) - 1): score
            for block, score in hits.items()
        }
    return found


def indexed_blocks(vault: Path) -> Counter[tuple[str, int]]:
    """The blocks in the keyword index by path and ordinal, as often as each occurs."""
    folder = generation(vault)
    with closing(sqlite3.connect(folder / "catalog.db")) as db:
        paths = dict(db.execute("SELECT id, path FROM files"))
    searcher = tantivy.Index.open(f"{folder}/kw").searcher()
    hits = searcher.search(tantivy.Query.all_query(), searcher.num_docs or 1).hits
    blocks = searcher.fast_field_values("block", [place for _, place in hits])
    each = [(int(block) >> ORD_BITS, int(block) & (1 << ORD_BITS) - 1) for block in blocks]
    return Counter((paths.get(note, f"gone {note}"), ordinal) for note, ordinal in each)


def removed(folder: Path) -> None:
    """Remove a folder in which an index thread may still be tidying up."""
    until = time.monotonic() + 10
    while folder.exists():
        shutil.rmtree(folder, ignore_errors=True)
        assert time.monotonic() < until, folder


@contextmanager
def other_state(folder: Path) -> Iterator[None]:
    """Another state folder within the block."""
    before = os.environ["VAULTMEM_STATE"]
    os.environ["VAULTMEM_STATE"] = str(folder)
    try:
        yield
    finally:
        os.environ["VAULTMEM_STATE"] = before


def synced(vault: Path, *, rebuild: bool = False) -> Report:
    """Sync as `vaultmem sync --no-embed --confirm-removals` does."""
    return sync(str(vault), DEFAULTS, rebuild=rebuild, confirm_removals=True)


class Contents(NamedTuple):
    """The contents of one index."""

    rows: Dump
    hits: dict[str, set[tuple[str, int]]]
    blocks: Counter[tuple[str, int]]


def contents(vault: Path) -> Contents:
    """The contents of the index in force."""
    hits = {text: set(found) for text, found in keyword_hits(vault).items()}
    return Contents(catalog_dump(vault), hits, indexed_blocks(vault))


def rebuilt(vault: Path, scratch: Path) -> Contents:
    """The contents of an index built from scratch, in another state folder."""
    with other_state(scratch):
        synced(vault, rebuild=True)
        return contents(vault)


def differences(one: Contents, other: Contents) -> list[tuple[str, object]]:
    """How they differ, by table or words."""
    found: list[tuple[str, object]] = [
        (table, {*map(repr, one.rows[table])} ^ {*map(repr, rows)})
        for table, rows in other.rows.items()
        if one.rows[table] != rows
    ]
    found += [
        (text, one.hits[text] ^ hits) for text, hits in other.hits.items() if one.hits[text] != hits
    ]
    more, less = one.blocks - other.blocks, other.blocks - one.blocks
    return [*found, ("indexed more, less often", (more, less))] if more or less else found


def assert_equals_rebuilt(vault: Path, scratch: Path) -> None:
    """The law of sync: the index equals one built from scratch."""
    found = differences(contents(vault), rebuilt(vault, scratch))
    assert not found, found
