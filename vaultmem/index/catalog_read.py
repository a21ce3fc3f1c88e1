"""Queries of the catalog: notes by name, blocks of a hit, links both ways, tasks, troubles, filters."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence

from vaultmem.index import ORD_BITS
from vaultmem.index.catalog import COPIED, Catalog, among, below
from vaultmem.light import NamedTuple
from vaultmem.text.values import TYPE_CHECKING, normalize_text, value

MOST_LIKE = 10_000  # letters of a pattern; SQLite takes 50,000 bytes

if TYPE_CHECKING:
    from typing import Any

    from vaultmem.adapter import Value
    from vaultmem.notes.dialects import Rulebook

    PlaceRow = list[Any]  # as parsed from JSON


class BlockPlace(NamedTuple):
    """The place of a block, with facts about its note."""

    block: int  # its number
    path: str
    raw: str | None  # the name on disk, if it is not the UTF-8 of `path`
    title: str
    line: int
    end_line: int
    headings: list[str]
    label: str | None
    day: str | None
    category: str | None
    dialect: str
    properties: dict[str, Value]
    original: str | None  # the original, if this is a sync conflict copy


@value
class LinkView:
    """A link in `source`, and its target."""

    source: str
    line: int
    kind: str
    path: str
    subpath: str | None
    display: str | None
    target: str | None
    choices: int


_PLACE = """json_array(w.value, f.path, f.raw, n.title, b.line, b.end_line, b.headings, b.label, n.day, n.category,
    n.dialect, o.path)"""
# Block numbers come as one JSON array, and all rows go back as one: each row that SQLite returns
# gives another thread of this process a turn. CROSS keeps the order of the tables.
_WANTED = """json_each(?) w CROSS JOIN blocks b
    ON b.note = w.value / 1048576 AND b.ordinal = w.value % 1048576"""
_NOTES = """CROSS JOIN files f ON f.id = b.note CROSS JOIN notes n ON n.id = b.note
    LEFT JOIN conflicts c ON c.copy = b.note LEFT JOIN files o ON o.id = c.original"""
# Places and properties in turn: properties are JSON already.
_PLACES = f"""SELECT '[' || ifnull(group_concat({_PLACE} || ',' || ifnull(n.properties, '{{}}')), '') || ']'
    FROM {_WANTED} {_NOTES}"""  # noqa: S608 - own text
_RANGE = "json_array(w.value, b.line, b.end_line)"
_RANGES = f"SELECT json_group_array({_RANGE}) FROM {_WANTED}"  # noqa: S608 - own text
_TARGETS = f"""SELECT json_group_array(json_array(w.value, l.target)) FROM {_WANTED} CROSS JOIN links l
    ON l.source = b.note AND l.line BETWEEN b.line AND b.end_line AND l.target != b.note"""  # noqa: S608 - own text
_SIZES = f"SELECT json_group_array(json_array(w.value, b.size)) FROM {_WANTED}"  # noqa: S608 - own text

# Two queries of data stored together: six times as fast as returning all names.
_BY_NAME = """SELECT f.path, n.title FROM (SELECT id FROM notes WHERE title LIKE ?
    UNION SELECT id FROM files WHERE path LIKE ? OR path IN (?, ?, ?)) w
    CROSS JOIN notes n ON n.id = w.id CROSS JOIN files f ON f.id = w.id ORDER BY f.path"""

_LINK = """SELECT f.path, l.line, l.kind, l.path, l.subpath, l.display, t.path, l.choices
    FROM links l JOIN files f ON f.id = l.source LEFT JOIN files t ON t.id = l.target"""


def block_places(catalog: Catalog, blocks: Iterable[int]) -> dict[int, BlockPlace]:
    """The places of blocks, by their numbers; missing ones are left out."""
    parts = iter(_one_answer(catalog, _PLACES, json.dumps(list(blocks))))
    return {row[0]: _place(row, properties) for row, properties in zip(parts, parts, strict=True)}


def _place(row: PlaceRow, properties: dict[str, Value]) -> BlockPlace:
    block, path, raw, title, line, end_line, headings, label, day, category, dialect, original = row
    return BlockPlace(
        block, path, raw, title, line, end_line, headings.split("\n") if headings else [],
        label, day, category, dialect, properties, original,
    )  # fmt: skip


def line_ranges(catalog: Catalog, blocks: Iterable[int]) -> dict[int, tuple[int, int]]:
    """The first and last lines of blocks, by their numbers; missing ones are left out."""
    rows: list[list[int]] = _one_answer(catalog, _RANGES, json.dumps(list(blocks)))
    return {block: (line, end) for block, line, end in rows}


def targets(catalog: Catalog, blocks: Iterable[int]) -> dict[int, set[int]]:
    """The other notes that blocks link to, by the blocks' numbers; those without are left out."""
    result: dict[int, set[int]] = {}
    for block, target in _one_answer(catalog, _TARGETS, json.dumps(list(blocks))):
        result.setdefault(block, set()).add(target)
    return result


def _one_answer(catalog: Catalog, statement: str, *values: str) -> Any:
    return json.loads(catalog.db.execute(statement, values).fetchone()[0])


def behind(catalog: Catalog) -> dict[int, str]:
    """The ids of templates and sync conflict copies, each with what it is."""
    query = """SELECT id, 'template' FROM notes WHERE template = 1
        UNION ALL SELECT copy, 'conflict copy' FROM conflicts"""
    return dict(catalog.db.execute(query).fetchall())


def find_notes(
    catalog: Catalog, name: str, but: frozenset[str], rules: Callable[[], Rulebook]
) -> list[str]:
    """The paths that a name may mean: by path, else file name or title, alias, or link; none of `but`."""
    whole = normalize_text(name)
    bare = whole.strip().removeprefix("[[").removesuffix("]]").strip().lstrip("/")
    folded = bare.lower()
    low = folded.removesuffix(".md") + ".md"
    exact = (whole, bare, f"{bare}.md")
    names = (_maybe(folded), f"%{_maybe(low.removesuffix('.md'))}.%", *exact)
    rows = catalog.db.execute(_BY_NAME, names).fetchall()
    stages = (
        lambda: [path for path, _ in rows if path == whole],  # with a blank or brackets at its ends
        lambda: [path for path, _ in rows if path in exact],
        lambda: [path for path, _ in rows if path.lower() == low],
        lambda: [path for path, title in rows if title.lower() == folded or _stem(path) == folded],
        lambda: [path for path, _ in rows if path.lower().endswith("/" + low)],
        lambda: alias_owners(catalog, bare),
        lambda: rules().follow_anywhere(bare, lambda key: files_named(catalog, key)),
    )
    results = ([str(path) for path in stage() if path not in but] for stage in stages)
    return next(filter(None, results), [])


def _maybe(folded: str) -> str:
    """A LIKE pattern that matches every text whose lower() is `folded`, and some others. LIKE folds only ASCII, while
    lower() also turns the Kelvin sign into k, and the dotted capital I into two characters."""
    if len(folded) > MOST_LIKE or "\0" in folded or "\u0307" in folded:
        return "%"
    return "".join(c if (c not in "k%" if c.isascii() else c.upper() == c) else "_" for c in folded)


def _stem(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[0].lower()


def similar_titles(catalog: Catalog, name: str, but: frozenset[str]) -> list[str]:
    """Note paths whose title begins with a name that matches nothing, or resembles it."""
    from difflib import get_close_matches

    by_title = {
        title.lower(): path
        for path, title in catalog.db.execute(
            "SELECT f.path, n.title FROM notes n JOIN files f ON f.id = n.id"
        )
        if path not in but
    }
    lowered = name.lower()
    longer = sorted((title for title in by_title if title.startswith(lowered)), key=len)
    near = dict.fromkeys((*longer, *get_close_matches(lowered, by_title, 3, 0.6)))
    return [by_title[title] for title in near][:3]


def paths_of(catalog: Catalog, notes: Iterable[int]) -> dict[int, str]:
    """The paths of some notes."""
    note_list = json.dumps(list(notes))
    rows = "SELECT id, path FROM files WHERE id IN (SELECT value FROM json_each(?))"
    return dict(catalog.db.execute(rows, (note_list,)).fetchall())


def files_named(catalog: Catalog, name: str) -> list[tuple[str, int]]:
    """The paths and ids of the files that links find under a name; see Rulebook.names."""
    return catalog.db.execute(
        "SELECT f.path, f.id FROM names n JOIN files f ON f.id = n.file WHERE n.name = ? ORDER BY f.path",
        (name,),
    ).fetchall()


def note_paths(catalog: Catalog) -> list[str]:
    """The paths of all notes, in order."""
    rows = catalog.db.execute("SELECT path FROM files WHERE kind = 'note' ORDER BY path")
    return [str(row[0]) for row in rows]


def note_id(catalog: Catalog, path: str) -> int:
    """The id of a file."""
    row = catalog.db.execute("SELECT id FROM files WHERE path = ?", (path,)).fetchone()
    return int(row[0])


def links_from(catalog: Catalog, path: str) -> list[LinkView]:
    """All links of a note, in order."""
    return _links(catalog, "f.path = ?", path)


def links_to(catalog: Catalog, path: str) -> list[LinkView]:
    """All links to a note or file, by source."""
    return _links(catalog, "t.path = ? AND l.kind != 'self'", path)


def unresolved(catalog: Catalog) -> list[LinkView]:
    """All links without a target, by source."""
    return _links(catalog, "l.target IS NULL")


def ambiguous(catalog: Catalog) -> list[LinkView]:
    """All links that match several files, by source."""
    return _links(catalog, "l.choices > 1")


def _links(catalog: Catalog, condition: str, *values: str) -> list[LinkView]:
    rows = catalog.db.execute(f"{_LINK} WHERE {condition} ORDER BY f.path, l.ordinal", values)
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
    query = f"""SELECT f.path, t.task FROM tasks t JOIN files f ON f.id = t.note
        WHERE t.is_task = 1 AND (? OR t.open = 1) AND NOT {COPIED}
        ORDER BY t.dated IS NULL, t.dated, f.path, t.line"""  # noqa: S608 - own text
    rows = catalog.db.execute(query, (everything,))
    return [(path, json.loads(data)) for path, data in rows]


def troubles(catalog: Catalog) -> list[tuple[str, str]]:
    """Notes that could not be read, or only in part, with the reason; templates may hold placeholders."""
    rows = catalog.db.execute("SELECT path, reason FROM troubles").fetchall()
    broken = catalog.db.execute(
        "SELECT f.path, n.error FROM notes n JOIN files f ON f.id = n.id WHERE n.error IS NOT NULL"
        " AND NOT (n.template = 1 AND n.error LIKE '%{{placeholders}}%')"
    ).fetchall()
    return sorted(rows + [(path, f"front matter: {error}") for path, error in broken])


def conflict_pairs(catalog: Catalog) -> list[tuple[str, str | None]]:
    """Sync conflict copies with their originals."""
    rows = catalog.db.execute(
        "SELECT f.path, o.path FROM conflicts c CROSS JOIN files f ON f.id = c.copy"
        " LEFT JOIN files o ON o.id = c.original ORDER BY f.path"
    )
    return [(str(copy), original) for copy, original in rows]


COUNT_UNREADABLE = """SELECT (SELECT count(*) FROM troubles)
    + (SELECT count(*) FROM notes WHERE error IS NOT NULL AND error NOT LIKE '%{{placeholders}}%')"""


def counts(catalog: Catalog) -> dict[str, int]:
    """The counts of notes, blocks, links and so on."""
    queries = {
        "notes": "SELECT count(*) FROM notes",
        "blocks": "SELECT count(*) FROM blocks",
        "links": "SELECT count(*) FROM links",
        "unresolved": "SELECT count(*) FROM links WHERE target IS NULL",
        "ambiguous": "SELECT count(*) FROM links WHERE choices > 1",
        "tags": "SELECT count(DISTINCT folded) FROM tags",
        "open_tasks": f"SELECT count(*) FROM tasks t WHERE is_task = 1 AND open = 1 AND NOT {COPIED}",  # noqa: S608 - own text
        "conflict_copies": "SELECT count(*) FROM conflicts",
        "excluded": "SELECT count(*) FROM notes WHERE excluded = 1",
        "unreadable": COUNT_UNREADABLE,
    }
    return {name: int(catalog.db.execute(sql).fetchone()[0]) for name, sql in queries.items()}


def ids(catalog: Catalog, statement: str, values: Sequence[str | float] = ()) -> set[int]:
    """Ids, which SQLite returns all at once; see _WANTED."""
    whole = f"SELECT group_concat(id) FROM ({statement})"  # noqa: S608 - own text
    joined = catalog.db.execute(whole, values).fetchone()[0]
    return set(json.loads(f"[{joined}]")) if joined else set()


# Either spelling: Logseq uses dashes. Read in SQLite, because most memories never fade.
_AGING = ", ".join(
    f"coalesce(json_extract(n.properties, '$.{key}'), json_extract(n.properties, '$.\"{key.replace('_', '-')}\"'))"
    for key in ("id", "decay_policy", "created_at", "last_reinforced_at", "updated_at")
)


def aging_memories(catalog: Catalog, folder: str) -> list[list[Any]]:
    """The notes of the memory folder with their own decay policy: number, id (None for none), decay_policy, created_at,
    last_reinforced_at and updated_at."""
    rows: list[list[Any]] = _one_answer(
        catalog,
        f"SELECT json_group_array(json_array(n.id, {_AGING})) FROM files f JOIN notes n ON n.id = f.id"  # noqa: S608 - own text
        " WHERE f.path >= ? AND f.path < ? AND n.properties LIKE '%decay_policy%'",
        *below(folder),
    )
    return rows


def changed_notes(catalog: Catalog, since: int | None) -> tuple[int, set[int] | None]:
    """The number of the last change, and the notes written or removed after the change `since`; None if that is
    unknown."""
    last, first, notes = catalog.db.execute(
        "SELECT (SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'changes'),"
        " (SELECT min(seq) FROM changes),"
        " (SELECT group_concat(DISTINCT note) FROM changes WHERE seq > ?)",
        (since or 0,),
    ).fetchone()
    if since is None or (last > since and (first is None or first > since + 1)):
        return int(last), None  # the list no longer has the oldest changes
    return int(last), set(json.loads(f"[{notes or ''}]"))


def block_sizes(catalog: Catalog, blocks: Iterable[int]) -> dict[int, int]:
    """The sizes of some blocks."""
    rows: list[tuple[int, int]] = _one_answer(catalog, _SIZES, json.dumps(list(blocks)))
    return dict(rows)


def block_hashes(
    catalog: Catalog, notes: Iterable[int] | None = None, other: bool | None = None
) -> list[tuple[int, int, bytes]]:
    """Note, ordinal and hash of all searchable blocks, optionally only of some notes, and only of texts that are, or
    are not, in another script than Latin."""
    chosen, values = among("b.note", notes)
    if other is not None:
        chosen += f" AND b.other = {other:d}"
    statement = f"""SELECT b.note, b.ordinal, b.hash FROM blocks b JOIN notes n ON n.id = b.note
        WHERE n.excluded = 0 {chosen}"""  # noqa: S608 - own text
    return catalog.db.execute(statement, values).fetchall()


@value
class NoteHead:
    """Path, title and dialect of a note."""

    path: str
    title: str
    dialect: str


def note_heads(catalog: Catalog, notes: list[int]) -> dict[int, NoteHead]:
    """Path, title and dialect of notes by id."""
    rows = catalog.db.execute(
        "SELECT n.id, f.path, n.title, n.dialect FROM json_each(?) w JOIN notes n ON n.id = w.value"
        " JOIN files f ON f.id = n.id",
        (json.dumps(notes),),
    )
    return {int(note): NoteHead(*head) for note, *head in rows}


def note_ids(catalog: Catalog, paths: list[str]) -> dict[str, int]:
    """The ids of notes by path; other files are left out."""
    rows = catalog.db.execute(
        "SELECT f.path, f.id FROM json_each(?) w JOIN files f ON f.path = w.value AND f.kind = 'note'",
        (json.dumps(paths),),
    )
    return dict(rows.fetchall())


def note_blocks(catalog: Catalog, note: int) -> list[BlockPlace]:
    """All blocks of a note, in order."""
    rows = catalog.db.execute("SELECT ordinal FROM blocks WHERE note = ? ORDER BY ordinal", (note,))
    blocks = [note << ORD_BITS | ordinal for (ordinal,) in rows.fetchall()]
    return [*block_places(catalog, blocks).values()]


_LINKED = (
    "SELECT DISTINCT source FROM links WHERE target = :note AND kind != 'self'",
    "SELECT DISTINCT target FROM links WHERE source = :note AND target IS NOT NULL",
    """SELECT DISTINCT target FROM (SELECT l.target FROM (SELECT DISTINCT source FROM links WHERE target = :note
    AND source != :note) s JOIN links l ON l.source = s.source WHERE l.target != :note LIMIT 100000) LIMIT 500""",
)


def linked_notes(catalog: Catalog, note: int) -> list[set[int]]:
    """What links to a note, what it links to, and what is linked from the same notes. Each link counts once, however
    often it occurs."""
    return [{int(row[0]) for row in catalog.db.execute(query, {"note": note})} for query in _LINKED]


def is_excluded(catalog: Catalog, path: str) -> bool:
    """Whether the vault's settings hide a note from search."""
    row = catalog.db.execute(
        "SELECT n.excluded FROM notes n JOIN files f ON f.id = n.id WHERE f.path = ?", (path,)
    ).fetchone()
    return bool(row and row[0])
