"""A cache of searches' queries of the catalog (which notes pass, who may see them, where blocks are), kept until it
changes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import cached_property, partial

from vaultmem.index import catalog_read
from vaultmem.index.catalog import ALL_BELOW, Catalog, among, below, like
from vaultmem.index.catalog_read import ids
from vaultmem.light import TYPE_CHECKING, cast
from vaultmem.memories import access, model
from vaultmem.notes.places import CHAT, ENTRIES, RECORDS, editor_uri
from vaultmem.search.query import Filter, Hit
from vaultmem.text.times import day_range
from vaultmem.text.values import normalize_text

if TYPE_CHECKING:
    from typing import TypeVar

    T = TypeVar("T")


# Which notes pass the filters of a query.


def filter_notes(
    catalog: Catalog, filters: Iterable[Filter], hits: Iterable[Hit] | None = None
) -> set[int]:
    """The notes that pass all filters, at least one; or, for hits outside the index, the positions of those that
    pass."""
    conditions: list[str] = []
    values: list[str | int] = []
    joined = ""
    for filter_ in filters:
        condition, arguments = _condition(filter_)
        if not all(isinstance(text, int) or text.isascii() for text in arguments):
            # Correct for every script, but ten times slower.
            condition = condition.replace("lower(", "fold(")
        if "assistant(" in condition:
            catalog.db.create_function("assistant", 1, _assistant)
        if "f." in condition:
            joined = "JOIN files f ON f.id = n.id"
        conditions.append(f"({condition}) IS NOT TRUE" if filter_.negated else f"({condition})")
        values += arguments
    where = _all_of(conditions)
    if hits is not None:
        values.insert(0, json.dumps([_row(hit) for hit in hits]))
    instead = "" if hits is None else _INSTEAD
    return ids(catalog, f"{instead}SELECT n.id FROM notes n {joined} WHERE {where}", values)  # noqa: S608 - own text


def _all_of(conditions: list[str]) -> str:
    """The conditions joined as a flat tree: SQLite rejects a depth of 1,000."""
    if len(conditions) == 1:
        return conditions[0]
    half = len(conditions) // 2
    return f"({_all_of(conditions[:half])} AND {_all_of(conditions[half:])})"


_COLUMNS = ("path", "title", "day", "category", "properties", "tags")
_EACH = ", ".join(f"json_extract(value, '$[{at}]') AS {name}" for at, name in enumerate(_COLUMNS))
# Hits in place of the tables in conditions.
_INSTEAD = f"""WITH hits AS (SELECT key AS id, 0 AS mtime_ns, {_EACH} FROM json_each(?)),
    files AS (SELECT * FROM hits), notes AS (SELECT * FROM hits),
    tags AS (SELECT hits.id AS note, each.value AS folded FROM hits, json_each(hits.tags) each) """  # noqa: S608 - own text


def _row(hit: Hit) -> list[object]:
    from vaultmem.memories.memory_file import tags_in  # rarely reached

    tags = [tag.lower() for tag in tags_in(hit.properties.get("tags"))]
    return [*(getattr(hit, name) for name in _COLUMNS[:-1]), tags]


def _assistant(name: str | None) -> str | None:
    return name and access.canonical_name(name)


# Notes without their own day count by file time.
_DAY = "COALESCE(n.day, date(f.mtime_ns / 1000000000, 'unixepoch', 'localtime'))"
# field -> comparison, and whether with the first or the last day of the span
_DATED = {"before": ("<", 0), "after": (">", 1), "from": (">=", 0), "to": ("<=", 1)}


def _condition(filter_: Filter) -> tuple[str, list[str | int]]:
    folded = normalize_text(filter_.value).lower()
    if filter_.field == "tag":
        top = folded.rstrip("/")
        tagged = "SELECT note FROM tags WHERE folded = ? OR (folded >= ? AND folded < ?)"
        return f"n.id IN ({tagged})", [top, f"{top}/", f"{top}0"]  # "0" follows "/"
    if filter_.field in ("path", "title"):
        column = "f.path" if filter_.field == "path" else "n.title"
        if (
            folded.isascii() and len(folded) < catalog_read.MOST_LIKE
        ):  # like lower(), in half the time
            return f"{column} LIKE ? ESCAPE '\\'", [f"%{like(folded)}%"]
        return f"instr(lower({column}), ?) > 0", [folded]
    if filter_.field == "category":
        return "lower(n.category) = ?", [folded]
    if filter_.field == "agent":
        folded = access.canonical_name(folded)
    span = day_range(filter_.value)
    if filter_.field in _DATED and span:
        sign, which = _DATED[filter_.field]
        return f"{_DAY} {sign} ?", [span[which]]
    name = "assistant" if filter_.field == "agent" else "lower"
    same = f"{name}(CAST(json_extract(n.properties, ?) AS TEXT)) = ?"
    return same, [f"$.{filter_.field}", folded]


def newest_first(catalog: Catalog, notes: Iterable[int] | None) -> list[int]:
    """The ids of all notes that are not hidden (or of some of them) by day, newest first."""
    chosen, values = among("n.id", notes)
    rows = f"""SELECT n.id FROM notes n JOIN files f ON f.id = n.id WHERE n.excluded = 0 {chosen}
        ORDER BY {_DAY} DESC, f.path"""  # noqa: S608 - own text
    # One row for all, because each row gives other threads a turn.
    whole = f"SELECT json_group_array(id) FROM ({rows})"  # noqa: S608 - own text
    result: list[int] = json.loads(catalog.db.execute(whole, values).fetchone()[0])
    return result


# Which memories a recall searches, and which notes are summaries, parts of conversations, or not visible to all.

_WEIGHT = "json_extract(n.properties, '$.importance')"
_DULL = f"(typeof({_WEIGHT}) IN ('real', 'integer') AND {_WEIGHT} < ?)"
_SCOPE = "coalesce(nullif(trim(json_extract(n.properties, '$.scope')), ''), 'global')"
_SUM = "coalesce(json_extract(n.properties, '$.role'), '') = 'summary'"  # of a conversation, which a recall never lists
_SUMMARIES = """SELECT n.properties FROM files f JOIN notes n ON n.id = f.id
    WHERE f.path >= ? AND f.path < ? AND n.properties LIKE '%compression_source%'"""
_COMPRESSED = """SELECT n.id, n.properties FROM files f JOIN notes n ON n.id = f.id
    WHERE f.path >= ? AND f.path < ? AND n.properties LIKE '%"compressed"%'"""
# In any case: LIKE folds it.
_RESTRICTED = """SELECT n.id, f.path, n.properties FROM notes n JOIN files f ON f.id = n.id
    WHERE n.properties LIKE '%private%' OR (n.properties LIKE '%scope%'
    AND json_extract(n.properties, '$.scope') IS NOT 'global')"""
_PAGE = "SELECT path FROM files WHERE path >= ? AND path < ? ORDER BY path LIMIT 1"
_INSIDE = "SELECT id FROM files WHERE path >= ? AND path < ?"
_OUTSIDE = "SELECT id FROM files WHERE kind = 'note' AND NOT (path >= ? AND path < ?)"
_COUNTED = """SELECT (SELECT count(*) FROM files WHERE path >= ? AND path < ?),
    (SELECT count(*) FROM files WHERE NOT (path >= ? AND path < ?))"""
_HASHES = """SELECT f.path, b.line, b.hash FROM blocks b JOIN files f ON f.id = b.note
    JOIN json_each(?) w ON f.path = json_extract(w.value, '$[0]') AND b.line = json_extract(w.value, '$[1]')"""


def memories(
    catalog: Catalog, folder: str, looks_into: Callable[[str], bool], least: float, *, hidden: bool
) -> frozenset[int]:
    """Notes of the memory folder whose scopes are searched and whose importance suffices; or the others, `hidden`,
    with sync conflict copies. Scopes are few, and each is checked once."""
    scope = f"CASE WHEN {_DULL} OR {_SUM} OR c.copy IS NOT NULL THEN NULL ELSE {_SCOPE} END"
    rows = catalog.db.execute(
        f"SELECT n.id, {scope} {ALL_BELOW}", [least, *below(folder)]
    ).fetchall()
    scopes = {scope: scope is not None and looks_into(str(scope)) for scope in {s for _, s in rows}}
    return frozenset(int(note) for note, scope in rows if scopes[scope] is not hidden)


def block_hashes(
    catalog: Catalog, places: Iterable[tuple[str, int]]
) -> dict[tuple[str, int], bytes]:
    """The hashes of blocks, by path and first line."""
    rows = catalog.db.execute(_HASHES, (json.dumps(list(places)),)).fetchall()
    return {(str(path), int(line)): bytes(digest) for path, line, digest in rows}


MOST_MADE = 16  # each may be a set of all notes
MINUTE = 60.0  # seconds in which no memory fades noticeably


class CatalogCache:
    """One state of the catalog, loaded as needed. Returned values are not copied and must not be changed. A change in
    between does no harm: the next version check discards everything."""

    half_life = model.HALF_LIFE_HOURS

    def __init__(self, catalog: Catalog, version: object, folder: str, memory_folder: str) -> None:
        self.version = version
        self._catalog = catalog
        self._folder = folder
        self._memory_folder = memory_folder
        self._made: dict[object, tuple[object]] = {}

    @cached_property
    def behind(self) -> dict[int, str]:
        """The notes that stay behind others: sync conflict copies and templates."""
        return catalog_read.behind(self._catalog)

    @cached_property
    def gone(self) -> frozenset[int]:
        """Notes whose words remain in the keyword index a moment longer than the notes: they would displace others in
        an answer."""
        return frozenset(self._catalog.orphans())

    @cached_property
    def summed_sessions(self) -> frozenset[str]:
        """The conversations that have a summary."""
        rows = self._catalog.db.execute(_SUMMARIES, below(self._memory_folder)).fetchall()
        return frozenset().union(*(model.sessions(json.loads(fields)) for (fields,) in rows))

    @cached_property
    def summed_up(self) -> frozenset[int]:
        """Memories that a summary represents."""
        rows = self._catalog.db.execute(_COMPRESSED, below(self._memory_folder)).fetchall()
        marked = [
            (int(note), fields)
            for note, text in rows
            if (fields := json.loads(text)).get("compressed") is True
        ]
        return frozenset(
            note
            for note, fields in marked
            if not self.summed_sessions.isdisjoint(model.sessions(fields))
        )

    @cached_property
    def turn_notes(self) -> frozenset[int]:
        """The notes of conversations: many short ones, which would outrank a person's own."""
        inside = below(f"{self._memory_folder}/{ENTRIES}")
        return frozenset(ids(self._catalog, _INSIDE, inside))

    def hidden_from(self, viewer: access.Viewer) -> dict[int, tuple[str, str]]:
        """Notes that a viewer may not see, with their paths and the reasons."""
        return self.once(("hidden", viewer.name, viewer.also), lambda: self._hidden_from(viewer))

    def _hidden_from(self, viewer: access.Viewer) -> dict[int, tuple[str, str]]:
        inside = self._memory_folder + "/"
        return {
            note: (path, reason)
            for note, path, fields in self._catalog.db.execute(_RESTRICTED).fetchall()
            if (reason := access.hidden(json.loads(fields), viewer, memory=path.startswith(inside)))
        }

    def once(self, key: object, make: Callable[[], T]) -> T:
        """The cached value of `make` for a key."""
        known = self._made.get(key)
        if known is None:
            known = (make(),)
            if len(self._made) >= MOST_MADE:
                self._made.clear()  # perhaps what another thread is about to return
            self._made[key] = known
        return cast("T", known[0])

    def faded(self, minimum: float, now: float) -> set[int]:
        """Memories whose confidence is below the minimum."""
        if minimum <= 0:
            return set()
        learning = [memory for memory in self._memories if memory[1].policy == model.FSRS]
        result = self.once(("faded", minimum, now // MINUTE), lambda: self._aged(minimum, now))
        if not learning:
            return result
        sure = self._by_reads([aging for _, aging in learning], now)
        return result | {note for note, aging in learning if sure[aging.id] < minimum}

    def _aged(self, minimum: float, now: float) -> set[int]:
        return {
            note
            for note, aging in self._memories
            if aging.policy != model.FSRS and self._sinking(aging, now) < minimum
        }

    def confidence(self, aging: model.Aging, now: float) -> float:
        """The present confidence of a memory."""
        if aging.policy != model.FSRS:
            return self._sinking(aging, now)
        return self._by_reads([aging], now)[aging.id]

    def _sinking(self, aging: model.Aging, now: float) -> float:
        return aging.confidence(now, self.half_life)

    def _by_reads(self, agings: list[model.Aging], now: float) -> dict[str, float]:
        """The same for memories whose policy learns from reads, by id. Few have it, and it is slow to load."""
        from vaultmem.index.state import State
        from vaultmem.ledger import reads
        from vaultmem.ledger.ledger import Ledger

        read_counts = reads.counts(Ledger(State(self._folder).path("ledger.db")))
        times = {
            aging.id: read_counts[aging.id].times if aging.id in read_counts else ()
            for aging in agings
        }
        return {aging.id: model.fsrs_confidence(aging, times[aging.id], now) for aging in agings}

    @cached_property
    def _memories(self) -> list[tuple[int, model.Aging]]:
        rows = catalog_read.aging_memories(self._catalog, self._memory_folder)
        agings = (
            (note, model.aging_of(model.policy(policy), own_id, *times))
            for note, own_id, policy, *times in rows
            if own_id is not None
        )
        return [aging for aging in agings if aging[1].policy != "stable"]

    def uri(self, dialect: str, path: str, title: str) -> str:
        """The link that opens a note in its editor; for an entry of a conversation, its page."""
        talk, mark, _ = path.partition(f"/{RECORDS}/")
        if mark:
            span = f"{talk}/{CHAT} ", f"{talk}/{CHAT}!"
            row = self._catalog.db.execute(_PAGE, span).fetchone()
            path, title = (row[0], row[0][len(talk) + 1 : -3]) if row else (path, title)
        return self.once(("uri", dialect), lambda: self._links(dialect))(path, title)

    def _links(self, dialect: str) -> Callable[[str, str], str]:
        return partial(editor_uri, self._catalog.meta(f"uri {dialect}") or "", self._folder)

    def notes_that_fit(self, requested: Iterable[Filter]) -> set[int] | None:
        """The notes that pass all filters; None without filters."""
        filters = tuple(requested)
        if not filters:
            return None
        key = tuple((filter_.field, filter_.value, filter_.negated) for filter_ in filters)
        return self.once(key, lambda: filter_notes(self._catalog, filters))

    def inside(self, folder: str) -> tuple[frozenset[int], bool]:
        """The notes below a folder; or all others and True, if these are fewer, as each must be examined."""
        return self.once(("inside", folder), lambda: self._inside(folder))

    def _inside(self, folder: str) -> tuple[frozenset[int], bool]:
        span = below(folder)
        counted = self._catalog.db.execute(_COUNTED, (*span, *span)).fetchone()
        is_most = counted[0] > counted[1]
        return frozenset(ids(self._catalog, _OUTSIDE if is_most else _INSIDE, span)), is_most
