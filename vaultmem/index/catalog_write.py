"""Writes what was read from notes into the catalog, and resolves links again where needed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set

from vaultmem.adapter import Note, Properties, Task
from vaultmem.index import ASKS, DOUBLED, MOST_DOUBLED, catalog_read
from vaultmem.index.catalog import Catalog
from vaultmem.light import NamedTuple
from vaultmem.notes import blocks
from vaultmem.notes.blocks import text_hash
from vaultmem.text import scripts, times
from vaultmem.text.values import value
from vaultmem.vault.conflicts import Places, conflicts, nearly_equal, possible_copies

Resolve = Callable[[str, str, str, Sequence[Sequence[str]]], tuple[str | None, int]]


class FileRow(NamedTuple):
    """The stat of a file, with its path."""

    path: str
    kind: str
    size: int
    mtime_ns: int
    inode: int
    raw: str | None = None  # the name on disk, if it is not the UTF-8 of `path`
    hash: bytes | None = None
    racy: bool = False  # changed so recently that an equal size and time prove nothing
    ctime_ns: int = 0


class BlockRow(NamedTuple):
    """The place of a block, and the hash of its embedded text."""

    line: int
    end_line: int
    headings: tuple[str, ...]
    label: str | None
    hash: bytes
    size: int  # its number of words, capped, plus ASKS and DOUBLED
    other: bool  # whether its embedded text is in another script than Latin


class NoteRow(NamedTuple):
    """The row of a note."""

    note: Note
    dialect: str
    day: str | None
    category: str | None
    excluded: bool
    template: bool
    blocks: Sequence[BlockRow]
    # By line: sentences that may say when something is to be done.
    said: Mapping[int, list[str]] = {}
    opening: str | None = None  # if the note's properties say when it is due


def update_file(catalog: Catalog, row: FileRow, file: int) -> None:
    """Store the new stat of a known file."""
    catalog.db.execute(
        "UPDATE files SET path = ?, kind = ?, size = ?, mtime_ns = ?, inode = ?, raw = ?, hash = ?, racy = ?,"
        " ctime_ns = ? WHERE id = ?",
        (*row, file),
    )


# Identifies a file under another path. Attachments are not read: for them, values that a rename preserves.
_CONTENT = """CASE f.kind WHEN 'file' THEN CAST(f.inode || ' ' || f.size || ' ' || f.mtime_ns AS BLOB)
    ELSE f.hash END"""


def keep_links(catalog: Catalog, gone: Iterable[int]) -> None:
    """Record which links lead to files that are about to be removed."""
    files = json.dumps([*gone])
    for statement in (
        f"""UPDATE moved SET hash = (SELECT {_CONTENT} FROM files f WHERE f.path = moved.path), path = NULL
            WHERE path IN (SELECT f.path FROM json_each(?) g
            JOIN files f ON f.id = g.value WHERE {_CONTENT} IS NOT NULL)""",  # noqa: S608 - own text
        f"""INSERT OR REPLACE INTO moved SELECT l.path, {_CONTENT}, NULL FROM json_each(?) g
            JOIN files f ON f.id = g.value
            JOIN links l ON l.target = f.id WHERE f.size > 0 AND {_CONTENT} IS NOT NULL""",  # noqa: S608 - own text
    ):
        catalog.db.execute(statement, (files,))


def find_moved(catalog: Catalog) -> None:
    """Record which file has the content of a missing one; none if several have it."""
    execute = catalog.db.execute
    if execute("SELECT 1 FROM moved WHERE path IS NULL LIMIT 1").fetchone() is None:
        return
    # One pass over all files: a join would sort them by hash first, which takes ten times as long.
    rows = execute(
        f"""SELECT min(path), {_CONTENT} AS content FROM files f
        WHERE content IN (SELECT hash FROM moved WHERE path IS NULL) GROUP BY content HAVING count(*) = 1"""  # noqa: S608 - own text
    ).fetchall()
    with catalog.transaction() as db:
        db.executemany("UPDATE moved SET path = ? WHERE hash = ? AND path IS NULL", rows)


def remove_file(catalog: Catalog, file: int) -> set[str]:
    """Remove a file and all its rows. Returns its names."""
    names = catalog.names_of(file)
    catalog.forget_content(file)
    catalog.db.execute("DELETE FROM files WHERE id = ?", (file,))
    return names


# Values of the column is_task of the table tasks.
BLOCK, TASK, SAID, OPENING = 0, 1, 2, 3  # OPENING: the note itself is due
_INSERTS = {
    "files": "INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    "names": "INSERT INTO names VALUES (?, ?)",
    "notes": "INSERT INTO notes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    "blocks": "INSERT INTO blocks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    "links": "INSERT INTO links VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0)",
    "tags": "INSERT OR IGNORE INTO tags VALUES (?, ?, ?)",
    "aliases": "INSERT OR IGNORE INTO aliases VALUES (?, ?, ?)",
    "tasks": "INSERT OR REPLACE INTO tasks VALUES (?, ?, ?, ?, ?, ?)",
    "stale": "INSERT OR IGNORE INTO stale VALUES (?)",
}


class Batch:
    """Rows of many notes, written together: one statement per table instead of seven per note."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._rows: dict[str, list[tuple[object, ...]]] = {table: [] for table in _INSERTS}
        self._last: int | None = None  # the id of the last file, within one transaction

    def file(self, row: FileRow) -> int:
        """Add a file. Returns its id, which is never reused."""
        if self._last is None:
            last_row = self._catalog.db.execute(
                "SELECT seq FROM sqlite_sequence WHERE name = 'files'"
            ).fetchone()
            self._last = int(last_row[0]) if last_row else 0
        self._last += 1
        self._rows["files"].append((self._last, *row))
        return self._last

    def names(self, file: int, names: Iterable[str]) -> None:
        """The names under which links find a file."""
        self._rows["names"] += [(name, file) for name in names]

    def stale(self, keys: Iterable[str]) -> None:
        """Mark links with these keys to be resolved again."""
        self._rows["stale"] += [(key,) for key in keys]

    def note(self, file: int, row: NoteRow) -> None:
        """Add all rows of a note whose old rows are gone. Its links are left to resolve_stale()."""
        note = row.note
        self._rows["notes"].append(
            (file, row.dialect, note.title, row.day, row.category, row.excluded, row.template, note.journal,
             note.namespace, note.frontmatter_error, _json(note.properties), _json(note.anchors))
        )  # fmt: skip
        self._rows["blocks"] += [
            (file, n, b.line, b.end_line, "\n".join(b.headings) or None, b.label, b.hash, b.size, b.other)
            for n, b in enumerate(row.blocks)
        ]  # fmt: skip
        self._rows["links"] += [  # [[#heading]] links to the note itself
            (file, n, kind, path, subpath, display, line, key, None if key else file)
            for n, (kind, path, subpath, display, line, key, *_) in enumerate(note.links)
        ]
        self._rows["tags"] += [(tag.lower(), file, tag) for tag in note.tags]
        self._rows["aliases"] += [(alias.lower(), file, alias) for alias in note.aliases]
        self._rows["tasks"] += [_task_row(file, task, task=True) for task in note.tasks]
        self._rows["tasks"] += [_task_row(file, dated, task=False) for dated in note.dates]
        self._rows["tasks"] += [
            _words_row(file, line, SAID, said=text) for line, text in row.said.items()
        ]
        if row.opening is not None:
            self._rows["tasks"].append(_words_row(file, 0, OPENING, text=row.opening))

    def write(self) -> None:
        """Write all rows. The caller holds the transaction."""
        for table, statement in _INSERTS.items():
            self._catalog.db.executemany(statement, self._rows[table])
            self._rows[table] = []
        self._last = None


_encoded = json.JSONEncoder(ensure_ascii=False, default=str).encode


def _json(value: Properties) -> str | None:
    return _encoded(value) if value else None


def _task_row(file: int, item: Task, *, task: bool) -> tuple[object, ...]:
    fields = {k: v for k, v in item._asdict().items() if v not in (None, (), False)}
    still_open = not item.done and not item.cancelled
    dated = [d for d in (item.due, item.scheduled, item.remind, item.start) if d]
    first = item.due or min(dated, default=None)
    return file, item.line, int(task), int(still_open), first, _encoded(fields)


def _words_row(file: int, line: int, kind: int, **words: object) -> tuple[object, ...]:
    return file, line, kind, 1, None, _encoded({"line": line, **words})


ALL_LINKS = ("",)  # the key in `stale` that stands for the keys of all links
_LINKS = """SELECT l.source, l.ordinal, l.path, l.key, l.target, l.choices, f.path FROM {}
    CROSS JOIN files f ON f.id = l.source WHERE l.key != ''"""
_EVERY_LINK = _LINKS.format("links l")
# CROSS: do not start with all links.
_STALE_LINKS = _LINKS.format("stale s CROSS JOIN links l ON l.key = s.key")


def resolve_stale(
    catalog: Catalog, lookups: Callable[[str], tuple[str, ...]], resolve: Resolve
) -> None:
    """Resolve every link with a stale key. Of the note that holds a link, only the folder may affect the target."""
    paths: dict[str, list[str]] = {}  # behind the names, each queried once
    ids: dict[str, int] = {}

    def behind(name: str) -> list[str]:
        if name not in paths:
            rows = catalog_read.files_named(catalog, name)
            paths[name] = [path for path, _ in rows]
            ids.update(rows)
        return paths[name]

    with catalog.transaction() as db:
        everything = db.execute("SELECT 1 FROM stale WHERE key = ''").fetchone()
        rows = db.execute(_EVERY_LINK if everything else _STALE_LINKS).fetchall()
        resolved: dict[tuple[str, str, str], tuple[int | None, int]] = {}
        changes = []
        for source, ordinal, path, key, target, choices, source_path in rows:
            link = path, key, source_path.rpartition("/")[0]
            if link not in resolved:
                result, number = resolve(path, key, source_path, [*map(behind, lookups(key))])
                resolved[link] = None if result is None else ids[result], number
            new, count = resolved[link]
            if (new, count) != (target, choices):
                changes.append((new, count, source, ordinal))
        db.executemany(
            "UPDATE links SET target = ?, choices = ? WHERE source = ? AND ordinal = ?", changes
        )
        db.execute("DELETE FROM stale")


# Which notes are conflict copies of which. That depends on the paths of all notes, so it is deferred.

Pair = tuple[str, str]  # the paths of a copy and its note

_NOTE = "(SELECT id FROM files WHERE path = ? AND kind = 'note')"


class Judged(NamedTuple):
    """The result of judging conflict copies."""

    pairs: list[Pair]  # all pairs that look like a copy and its note
    again: list[Pair] | None  # the pairs judged; None: all of them
    found: list[Pair]  # those that are copies


class Copies:
    """Marks what must be judged again, in the transaction of each change, and judges it later. `text_of` reads a
    note."""

    def __init__(self, catalog: Catalog, text_of: Callable[[str], str]) -> None:
        self._catalog = catalog
        self._text_of = text_of
        self._pairs: list[Pair] | None = None  # None: unknown, or paths were added or removed
        self._paired: set[str] = set()  # the paths in them
        # Of these, those whose texts changed since they were judged.
        self._changed: set[str] = set()

    def is_settled(self) -> bool:
        """Whether there is nothing to judge."""
        return self._catalog.meta("settled") == "yes"

    def paths_changed(self) -> None:
        """Record new or removed notes."""
        self._pairs = None
        self._catalog.set_meta("settled", "no")

    def texts_changed(self, paths: Set[str]) -> None:
        """Record changed notes."""
        if self._pairs is None:
            self.paths_changed()
        elif not self._paired.isdisjoint(paths):
            self._changed.update(paths)
            self._catalog.set_meta("settled", "no")

    def judged(self, breathe: Callable[[], None]) -> Judged | None:
        """Judge what needs it; None if nothing does. Reads notes, so call it outside a transaction."""
        if self.is_settled():
            return None
        if self._pairs is not None:
            again = [pair for pair in self._pairs if not self._changed.isdisjoint(pair)]
            return Judged(self._pairs, again, self._alike(again, breathe))
        rows = self._catalog.db.execute("SELECT path FROM files WHERE kind = 'note'")
        places = Places(str(row[0]) for row in rows)
        breathe()
        pairs = possible_copies(places)
        breathe()
        copies = [*conflicts(places).items(), *self._alike(pairs, breathe)]
        return Judged(pairs, None, copies)

    def write(self, judged: Judged) -> None:
        """Store the result, in a transaction."""
        db = self._catalog.db
        if judged.again is None:
            db.execute("DELETE FROM conflicts")
        else:
            copies = [(copy,) for copy, _ in judged.again]
            db.executemany(f"DELETE FROM conflicts WHERE copy = {_NOTE}", copies)  # noqa: S608 - own text
        db.executemany(f"INSERT INTO conflicts VALUES ({_NOTE}, {_NOTE})", judged.found)  # noqa: S608 - own text
        self._catalog.set_meta("settled", "yes")

    def know(self, judged: Judged | None) -> None:
        """Record that the transaction was committed."""
        if judged is not None:
            self._pairs, self._changed = judged.pairs, set()
            self._paired = {path for pair in judged.pairs for path in pair}

    def _alike(self, pairs: Iterable[Pair], breathe: Callable[[], None]) -> list[Pair]:
        """Of pairs that only look like copies by name, those with similar texts."""
        results = []
        for pair in pairs:
            breathe()
            if nearly_equal(*map(self._text_of, pair)):
                results.append(pair)
        return results


# What the catalog and the keyword index store for each block of a note.


@value
class Entry:
    """What is indexed for one block: texts by field name, and the day as YYYYMMDD or 0."""

    ordinal: int
    texts: dict[str, str]
    day: int
    size: int = 0


def block_row(title: str, block: blocks.Block, count: int) -> BlockRow:
    """The place of one of a note's `count` blocks, the facts about its embedded text, and its size."""
    text = blocks.embedded_text(title, block)
    words, asks = blocks.size(block)
    size = words + ASKS * asks + DOUBLED * min(MOST_DOUBLED, count.bit_length() - 1)
    return BlockRow(
        block.line, block.end_line, block.headings, block.label, text_hash(text), size, scripts.is_other(text)
    )  # fmt: skip


def index_entries(path: str, record: NoteRow, grouped: list[blocks.Block]) -> Iterator[Entry]:
    """What the keyword index holds for each block of a note: its own text, and its note's fields."""
    note = record.note
    whole = {
        "title": "\n".join((note.title, *note.aliases)),
        "tag": " ".join(note.tags),
        "path": path.rpartition("/")[0],
    }
    day = times.day_number(record.day or "")
    for number, block in enumerate(grouped):
        texts = {
            "body": block.text,
            "near": blocks.neighbour_text(grouped, number),
            "heading": "\n".join(block.headings),
            "label": block.label or "",
            **whole,
        }
        yield Entry(number, texts, day, record.blocks[number].size)
