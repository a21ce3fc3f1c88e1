"""Questions to the catalog: notes by name, blocks of a hit, links both ways, tasks, troubles, filters."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator

from vaultmem.core import query as language
from vaultmem.core.values import value
from vaultmem.store.catalog import Catalog


@value
class BlockPlace:
    """Where a block is and what is known of its note."""

    note: int
    ordinal: int
    path: str
    raw: str | None  # the name on disk, where it is not the UTF-8 of `path`
    title: str
    line: int
    end_line: int
    headings: list[str]
    label: str | None
    day: str | None
    category: str | None
    dialect: str
    properties: dict[str, object]
    original: str | None  # the note of which this is a sync conflict copy


@value
class LinkView:
    """A link as it stands in `source`, and where it leads."""

    source: str
    line: int
    kind: str
    path: str
    subpath: str | None
    display: str | None
    target: str | None
    choices: int


_PLACE = """SELECT b.note, b.ordinal, f.path, f.raw, n.title, b.line, b.end_line, b.headings, b.label, n.day,
    n.category, n.dialect, n.properties, o.path FROM blocks b JOIN files f ON f.id = b.note JOIN notes n
    ON n.id = b.note LEFT JOIN conflicts c ON c.copy = b.note LEFT JOIN files o ON o.id = c.original"""

_LINK = """SELECT f.path, l.line, l.kind, l.path, l.subpath, l.display, t.path, l.choices
    FROM links l JOIN files f ON f.id = l.source LEFT JOIN files t ON t.id = l.target"""


def places(catalog: Catalog, blocks: list[tuple[int, int]]) -> dict[tuple[int, int], BlockPlace]:
    """The places of blocks given as (note, ordinal); those that are gone are left out."""
    found = {}
    for block in blocks:
        row = catalog.db.execute(f"{_PLACE} WHERE b.note = ? AND b.ordinal = ?", block).fetchone()
        if row:
            found[block] = _place(row)
    return found


def _place(row: sqlite3.Row) -> BlockPlace:
    (
        note,
        ordinal,
        path,
        raw,
        title,
        line,
        end_line,
        headings,
        label,
        day,
        category,
        dialect,
        own,
        original,
    ) = row
    return BlockPlace(
        note, ordinal, path, raw, title, line, end_line, headings.split("\n") if headings else [],
        label, day, category, dialect, json.loads(own) if own else {}, original,
    )  # fmt: skip


def conflict_copies(catalog: Catalog) -> set[int]:
    """The ids of all sync conflict copies."""
    return {int(row[0]) for row in catalog.db.execute("SELECT copy FROM conflicts")}


def find_notes(catalog: Catalog, name: str) -> list[str]:
    """The paths that a person may mean by a name: exact path, else file name or title, else alias."""
    wanted = (
        language.encodable(name).strip().removeprefix("[[").removesuffix("]]").strip().lstrip("/")
    )
    folded = wanted.lower()
    rows = catalog.db.execute(
        "SELECT f.path, n.title FROM notes n JOIN files f ON f.id = n.id ORDER BY f.path"
    ).fetchall()
    low = folded.removesuffix(".md") + ".md"
    stages = (
        [path for path, _ in rows if path in (wanted, wanted + ".md")],
        [path for path, _ in rows if path.lower() == low],
        [path for path, title in rows if title.lower() == folded or _stem(path) == folded],
        [path for path, _ in rows if path.lower().endswith("/" + low)],
    )
    for found in stages:
        if found:
            return found
    aliases = catalog.db.execute(
        "SELECT f.path FROM aliases a JOIN files f ON f.id = a.note WHERE a.folded = ? ORDER BY f.path",
        (folded,),
    )
    return [str(row[0]) for row in aliases]


def _stem(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[0].lower()


def similar_titles(catalog: Catalog, name: str, limit: int = 3) -> list[str]:
    """Note paths whose title looks like a name that nothing answers to."""
    from difflib import get_close_matches

    by_title = {
        title.lower(): path
        for path, title in catalog.db.execute(
            "SELECT f.path, n.title FROM notes n JOIN files f ON f.id = n.id"
        )
    }
    return [by_title[title] for title in get_close_matches(name.lower(), by_title, limit, 0.6)]


def note_paths(catalog: Catalog) -> list[str]:
    """The paths of all notes, in order."""
    rows = catalog.db.execute("SELECT path FROM files WHERE kind = 'note' ORDER BY path")
    return [str(row[0]) for row in rows]


def note_id(catalog: Catalog, path: str) -> int:
    """The id of a file."""
    row = catalog.db.execute("SELECT id FROM files WHERE path = ?", (path,)).fetchone()
    return int(row[0])


def links_from(catalog: Catalog, path: str) -> list[LinkView]:
    """All links of a note, in the order they stand."""
    rows = catalog.db.execute(f"{_LINK} WHERE f.path = ? ORDER BY l.ordinal", (path,))
    return [LinkView(*row) for row in rows]


def links_to(catalog: Catalog, path: str) -> list[LinkView]:
    """All links that lead to a note or file, by source."""
    rows = catalog.db.execute(
        f"{_LINK} WHERE t.path = ? AND l.kind != 'self' ORDER BY f.path, l.ordinal", (path,)
    )
    return [LinkView(*row) for row in rows]


def unresolved(catalog: Catalog) -> list[LinkView]:
    """All links without a target, by source."""
    rows = catalog.db.execute(f"{_LINK} WHERE l.target IS NULL ORDER BY f.path, l.ordinal")
    return [LinkView(*row) for row in rows]


def ambiguous(catalog: Catalog) -> list[LinkView]:
    """All links that several files answer to, by source."""
    rows = catalog.db.execute(f"{_LINK} WHERE l.choices > 1 ORDER BY f.path, l.ordinal")
    return [LinkView(*row) for row in rows]


def alias_owners(catalog: Catalog, alias: str) -> list[str]:
    """The notes that have an alias."""
    rows = catalog.db.execute(
        "SELECT f.path FROM aliases a JOIN files f ON f.id = a.note WHERE a.folded = ? ORDER BY f.path",
        (alias.lower(),),
    )
    return [str(row[0]) for row in rows]


def tasks(catalog: Catalog, *, everything: bool = False) -> list[tuple[str, dict[str, object]]]:
    """Tasks as (path, fields), dated ones first; only open ones unless `everything`."""
    rows = catalog.db.execute(
        "SELECT f.path, t.task FROM tasks t JOIN files f ON f.id = t.note LEFT JOIN conflicts c ON c.copy = t.note"
        " WHERE t.is_task = 1 AND (? OR t.open = 1 AND c.copy IS NULL)"
        " ORDER BY t.dated IS NULL, t.dated, f.path, t.line",
        (everything,),
    )
    return [(path, json.loads(data)) for path, data in rows]


def troubles(catalog: Catalog) -> list[tuple[str, str]]:
    """Notes that could not be read, or not wholly, with the reason."""
    found = catalog.db.execute("SELECT path, reason FROM troubles").fetchall()
    broken = catalog.db.execute(
        "SELECT f.path, n.error FROM notes n JOIN files f ON f.id = n.id WHERE n.error IS NOT NULL"
    ).fetchall()
    return sorted(found + [(path, f"front matter: {error}") for path, error in broken])


def conflict_pairs(catalog: Catalog) -> list[tuple[str, str | None]]:
    """Sync conflict copies with their originals."""
    rows = catalog.db.execute(
        "SELECT f.path, o.path FROM conflicts c JOIN files f ON f.id = c.copy LEFT JOIN files o ON o.id = c.original"
        " ORDER BY f.path"
    )
    return [(str(copy), original) for copy, original in rows]


def counts(catalog: Catalog) -> dict[str, int]:
    """How much of everything there is."""
    queries = {
        "notes": "SELECT count(*) FROM notes",
        "blocks": "SELECT count(*) FROM blocks",
        "links": "SELECT count(*) FROM links",
        "unresolved": "SELECT count(*) FROM links WHERE target IS NULL",
        "ambiguous": "SELECT count(*) FROM links WHERE choices > 1",
        "tags": "SELECT count(DISTINCT folded) FROM tags",
        "open_tasks": "SELECT count(*) FROM tasks WHERE is_task = 1 AND open = 1",
        "conflict_copies": "SELECT count(*) FROM conflicts",
        "excluded": "SELECT count(*) FROM notes WHERE excluded = 1",
        "unreadable": "SELECT (SELECT count(*) FROM troubles) + (SELECT count(*) FROM notes"
        " WHERE error IS NOT NULL AND error NOT LIKE '%{{placeholders}}%')",
    }
    return {name: int(catalog.db.execute(sql).fetchone()[0]) for name, sql in queries.items()}


def notes_that_fit(catalog: Catalog, filters: list[language.Filter]) -> set[int] | None:
    """The notes that pass all filters; None without filters."""
    fitting: set[int] | None = None
    for one in filters:
        found = _fitting(catalog, one)
        if one.negated:
            found = {int(row[0]) for row in catalog.db.execute("SELECT id FROM notes")} - found
        fitting = found if fitting is None else fitting & found
    return fitting


_BOTH = "SELECT n.id FROM notes n JOIN files f ON f.id = n.id WHERE"
_DAY = "COALESCE(n.day, date(f.mtime_ns / 1000000000, 'unixepoch', 'localtime'))"
_NAMED = {
    "path": f"{_BOTH} instr(lower(f.path), ?) > 0",
    "title": f"{_BOTH} instr(lower(n.title), ?) > 0",
    "category": "SELECT id FROM notes WHERE lower(category) = ?",
}
# field -> the condition, and whether it is about the first or the last day of what was written
_DATED = {
    "before": (f"{_BOTH} {_DAY} < ?", 0),
    "after": (f"{_BOTH} {_DAY} > ?", 1),
    "from": (f"{_BOTH} {_DAY} >= ?", 0),
    "to": (f"{_BOTH} {_DAY} <= ?", 1),
}


def _fitting(catalog: Catalog, one: language.Filter) -> set[int]:
    sql, values = _condition(one)
    if not all(text.isascii() for text in values):
        sql = sql.replace("lower(", "fold(")  # right for every script, and ten times slower
    return {int(row[0]) for row in catalog.db.execute(sql, values)}


def _condition(one: language.Filter) -> tuple[str, tuple[str, ...]]:
    folded = language.encodable(one.value).lower()
    if one.field == "tag":
        top = folded.rstrip("/")
        return "SELECT note FROM tags WHERE folded = ? OR folded GLOB ? || '/*'", (top, _glob(top))
    if one.field in _NAMED:
        return _NAMED[one.field], (folded,)
    span = language.day_range(one.value)
    if one.field in _DATED and span:
        sql, which = _DATED[one.field]
        return sql, (span[which],)
    same = "lower(CAST(json_extract(properties, ?) AS TEXT)) = ?"
    return f"SELECT id FROM notes WHERE {same}", (f"$.{one.field}", folded)  # noqa: S608 - own text


def _glob(text: str) -> str:
    return "".join(f"[{c}]" if c in "*?[" else c for c in text)


def memories(catalog: Catalog, folder: str) -> list[tuple[int, str | None, dict[str, object]]]:
    """The notes of the memory folder that have properties: id, category, properties."""
    rows = catalog.db.execute(
        "SELECT n.id, n.category, n.properties FROM files f JOIN notes n ON n.id = f.id"
        " WHERE f.path >= ? AND f.path < ? AND n.properties IS NOT NULL",
        (folder + "/", folder + "0"),
    )
    return [(int(note), category, json.loads(properties)) for note, category, properties in rows]


def all_notes(catalog: Catalog) -> list[int]:
    """The ids of all notes."""
    return [int(row[0]) for row in catalog.db.execute("SELECT id FROM notes")]


def newest_first(catalog: Catalog) -> Iterator[int]:
    """The ids of all notes that are not hidden, by day, the newest first."""
    rows = catalog.db.execute(
        f"SELECT n.id FROM notes n JOIN files f ON f.id = n.id WHERE n.excluded = 0 ORDER BY {_DAY} DESC, f.path"  # noqa: S608 - own text
    )
    return (int(row[0]) for row in rows)


@value
class NoteHead:
    """A note by name."""

    path: str
    title: str
    dialect: str


def note_heads(catalog: Catalog, notes: list[int]) -> dict[int, NoteHead]:
    """Path, title and link of notes by id."""
    found = {}
    for note in notes:
        row = catalog.db.execute(
            "SELECT f.path, n.title, n.dialect FROM notes n JOIN files f ON f.id = n.id WHERE n.id = ?",
            (note,),
        ).fetchone()
        if row:
            found[note] = NoteHead(*row)
    return found


def note_ids(catalog: Catalog, paths: list[str]) -> dict[str, int]:
    """The ids of notes by path; other files are left out."""
    found = {}
    for path in paths:
        row = catalog.db.execute(
            "SELECT id FROM files WHERE path = ? AND kind = 'note'", (path,)
        ).fetchone()
        if row:
            found[path] = int(row[0])
    return found


def note_blocks(catalog: Catalog, note: int) -> list[BlockPlace]:
    """All blocks of a note, in order."""
    ordinals = catalog.db.execute(
        "SELECT ordinal FROM blocks WHERE note = ? ORDER BY ordinal", (note,)
    ).fetchall()
    return list(places(catalog, [(note, int(row[0])) for row in ordinals]).values())


def linked_together(catalog: Catalog, path: str) -> set[str]:
    """The notes and files that are linked from the notes that link to `path`."""
    rows = catalog.db.execute(
        "SELECT DISTINCT t2.path FROM files t JOIN links l1 ON l1.target = t.id JOIN links l2 ON l2.source = l1.source"
        " JOIN files t2 ON t2.id = l2.target WHERE t.path = ? AND l1.source != t.id LIMIT 500",
        (path,),
    )
    return {str(row[0]) for row in rows} - {path}


def is_excluded(catalog: Catalog, path: str) -> bool:
    """Whether the vault's settings hide a note from search."""
    row = catalog.db.execute(
        "SELECT n.excluded FROM notes n JOIN files f ON f.id = n.id WHERE f.path = ?", (path,)
    ).fetchone()
    return bool(row and row[0])
