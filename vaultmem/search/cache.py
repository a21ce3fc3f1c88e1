"""What searches ask of the catalog again and again, remembered until the catalog changes."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterable
from functools import cached_property

from vaultmem.index import catalog_read
from vaultmem.index.catalog import Catalog
from vaultmem.index.catalog_read import ids
from vaultmem.memories import decay, model
from vaultmem.search import query as language
from vaultmem.search.query import Filter
from vaultmem.text import sanitize
from vaultmem.text.values import TYPE_CHECKING

if TYPE_CHECKING:
    from vaultmem.index.catalog_read import BlockPlace, PlaceRow


# Which notes pass the filters of a query.

MOST_LIKE = 10_000  # letters of a pattern; SQLite takes 50,000 with escapes


def filter_notes(catalog: Catalog, filters: Iterable[language.Filter]) -> set[int] | None:
    """The notes that pass all filters; None without filters."""
    conditions: list[str] = []
    values: list[str | int] = []
    joined = ""
    for one in filters:
        condition, given = _condition(one)
        if not all(isinstance(text, int) or text.isascii() for text in given):
            # Right for every script, and ten times slower.
            condition = condition.replace("lower(", "fold(")
        if "f." in condition:
            joined = "JOIN files f ON f.id = n.id"
        conditions.append(f"({condition}) IS NOT TRUE" if one.negated else f"({condition})")
        values += given
    if not conditions:
        return None
    where = " AND ".join(conditions)
    return ids(catalog, f"SELECT n.id FROM notes n {joined} WHERE {where}", values)  # noqa: S608 - own text


_REACH = 2**63 - 1
_MTIME_DAY = "date(f.mtime_ns / 1000000000, 'unixepoch', 'localtime')"
_DAY = f"COALESCE(n.day, {_MTIME_DAY})"
# field -> how the day of a note compares, and whether with the first or the last day of what was written
_DATED = {"before": ("<", 0), "after": (">", 1), "from": (">=", 0), "to": ("<=", 1)}


def _condition(one: language.Filter) -> tuple[str, list[str | int]]:
    folded = language.encodable(one.value).lower()
    if one.field == "tag":
        top = folded.rstrip("/")
        tagged = "SELECT note FROM tags WHERE folded = ? OR folded GLOB ? || '/*'"
        return f"n.id IN ({tagged})", [top, _glob(top)]
    if one.field in ("path", "title"):
        column = "f.path" if one.field == "path" else "n.title"
        if folded.isascii() and len(folded) < MOST_LIKE:  # as lower() does, in half the time
            return f"{column} LIKE ? ESCAPE '\\'", [f"%{_like(folded)}%"]
        return f"instr(lower({column}), ?) > 0", [folded]
    if one.field == "category":
        return "lower(n.category) = ?", [folded]
    span = language.day_range(one.value)
    if one.field in _DATED and span:
        sign, which = _DATED[one.field]
        return _dated(sign, span[which])
    same = "lower(CAST(json_extract(n.properties, ?) AS TEXT)) = ?"
    return same, [f"$.{one.field}", folded]


def _dated(sign: str, day: str) -> tuple[str, list[str | int]]:
    """Notes without a day of their own count by their files' times. Working out the local day of each
    takes most of the time, so it is done only where the time alone does not tell."""
    from datetime import UTC, datetime

    year, month, number = map(int, day.split("-"))
    if not year:
        return f"{_DAY} {sign} ?", [day]
    noon = int(datetime(year, month, min(number, 28), 12, tzinfo=UTC).timestamp())
    early, late = (_in_reach(noon + days * 86400) for days in (-2, 6))
    surely, perhaps = (early, late) if sign[0] == "<" else (late, early)
    by_time = f"f.mtime_ns {sign[0]} ? OR f.mtime_ns {sign[0]} ? AND {_MTIME_DAY} {sign} ?"
    return f"n.day {sign} ? OR n.day IS NULL AND ({by_time})", [day, surely, perhaps, day]


def _in_reach(second: int) -> int:
    """The nanoseconds of a second, as far as the database can count: to the years 1677 and 2262."""
    return max(-_REACH, min(second * 10**9, _REACH))


def _glob(text: str) -> str:
    return "".join(f"[{c}]" if c in "*?[" else c for c in text)


def _like(text: str) -> str:
    return "".join(f"\\{c}" if c in "%_\\" else c for c in text)


def newest_first(catalog: Catalog, among: Iterable[int] | None = None) -> list[int]:
    """The ids of all notes that are not hidden (or of some of them) by day, the newest first."""
    values = [] if among is None else [json.dumps(list(among))]
    chosen = "" if among is None else "AND n.id IN (SELECT value FROM json_each(?))"
    rows = f"""SELECT n.id FROM notes n JOIN files f ON f.id = n.id WHERE n.excluded = 0 {chosen}
        ORDER BY {_DAY} DESC, f.path"""  # noqa: S608 - own text
    # One row for all of them, because each row lets other threads have their turn.
    whole = f"SELECT json_group_array(id) FROM ({rows})"  # noqa: S608 - own text
    found: list[int] = json.loads(catalog.db.execute(whole, values).fetchone()[0])
    return found


LEARNING = "fsrs"
MOST_PLACES = 2000
MOST_FILTERS = 8  # each may be a set of all notes

Pair = tuple[int, int]  # a note and the ordinal of a block in it


class Remembered:
    """One state of the catalog, as far as somebody has asked for it. Nothing that is given out is copied:
    it is for reading. A change in the middle is no harm: the next look at the version ends all this.
    """

    half_life = decay.HALF_LIFE_HOURS

    def __init__(self, catalog: Catalog, version: object, folder: str, memory_folder: str) -> None:
        self.version = version
        self._catalog = catalog
        self._folder = folder
        self._memory_folder = memory_folder
        self._templates: dict[str, str] = {}
        self._fitting: dict[tuple[tuple[str, str, bool], ...], set[int]] = {}
        self._places: dict[Pair, PlaceRow] = {}
        self._ranges: dict[Pair, Pair] = {}
        self._hidden: dict[tuple[str, frozenset[str]], dict[int, tuple[str, str]]] = {}
        self._faded: tuple[int, set[int]] = (0, set())  # so many of the oldest, and which

    @cached_property
    def copies(self) -> set[int]:
        """The sync conflict copies."""
        return set(catalog_read.conflict_copies(self._catalog))

    @cached_property
    def gone(self) -> frozenset[int]:
        """Notes whose words are in the keyword index for a moment longer than they are: else they would take the
        places of others in an answer."""
        return frozenset(self._catalog.orphans())

    @cached_property
    def summed_up(self) -> frozenset[int]:
        """Memories that a summary stands for."""
        from vaultmem.search import recall_filters  # few need it to start

        return recall_filters.summed_up(self._catalog, self._memory_folder)

    @cached_property
    def spoken(self) -> frozenset[int]:
        """What was said in conversations: many short notes, which would stand before a person's own."""
        from vaultmem.search import recall_filters  # few need it to start

        return recall_filters.spoken(self._catalog, self._memory_folder)

    def hidden_from(self, viewer: model.Viewer) -> dict[int, tuple[str, str]]:
        """The notes that somebody may not see, with their paths and the reasons."""
        key = viewer.name, viewer.also
        if key not in self._hidden:
            from vaultmem.search import recall_filters  # few need it to start

            if len(self._hidden) >= MOST_FILTERS:
                self._hidden.clear()
            inside = self._memory_folder + "/"
            self._hidden[key] = {
                note: (path, reason)
                for note, path, own in recall_filters.restricted(self._catalog)
                if (reason := model.hidden(own, viewer, memory=path.startswith(inside)))
            }
        return self._hidden[key]

    def faded(self, minimum: float, now: float) -> set[int]:
        """Memories whose confidence has sunk below the minimum."""
        if minimum <= 0:
            return set()
        learning = [each for each in self._memories if each[1].policy == LEARNING]
        found = self._aged(minimum, now)
        if not learning:
            return found
        sure = self._by_reads([aging for _, aging in learning], now)
        return found | {note for note, aging in learning if sure[aging.id] < minimum}

    def _aged(self, minimum: float, now: float) -> set[int]:
        """Those that sink by age alone. The older one is, the less sure it is: only some in the middle of the row have
        to be looked at, instead of thousands at every search."""
        row = self._oldest_first
        end = bisect_left(row, True, key=lambda each: self._sinking(each[1], now) >= minimum)
        known = self._faded
        if end != known[0]:
            known = self._faded = end, {note for note, _ in row[:end]}
        return known[1]

    def confidence(self, aging: decay.Aging, now: float) -> float:
        """How sure one memory still is."""
        if aging.policy != LEARNING:
            return self._sinking(aging, now)
        return self._by_reads([aging], now)[aging.id]

    def _sinking(self, aging: decay.Aging, now: float) -> float:
        return aging.confidence(now, self.half_life)

    def _by_reads(self, agings: list[decay.Aging], now: float) -> dict[str, float]:
        """The same for those whose policy learns from being read, by id. Few have it, and it takes long to load."""
        from vaultmem.index.state import State
        from vaultmem.memories import reads
        from vaultmem.memories.ledger import Ledger

        known = reads.counts(Ledger(State(self._folder).path("ledger.db")))
        times = {each.id: known[each.id].times if each.id in known else () for each in agings}
        return {each.id: decay.fsrs_confidence(each, times[each.id], now) for each in agings}

    @cached_property
    def _oldest_first(self) -> list[tuple[int, decay.Aging]]:
        found = [each for each in self._memories if each[1].policy != LEARNING]
        return sorted(found, key=lambda each: each[1].since)

    @cached_property
    def _memories(self) -> list[tuple[int, decay.Aging]]:
        rows = catalog_read.aging_memories(self._catalog, self._memory_folder)
        agings = (
            (note, decay.aging_of(decay.policy(given), own_id, *times))
            for note, category, (own_id, given, *times) in rows
        )
        return [each for each in agings if each[1].policy != "stable"]

    def uri(self, dialect: str, path: str, title: str) -> str:
        """The link that opens a note in its editor."""
        if dialect not in self._templates:
            self._templates[dialect] = self._catalog.meta(f"uri {dialect}") or ""
        return sanitize.fill(self._templates[dialect], self._folder, path, title)

    def notes_that_fit(self, wanted: Iterable[Filter]) -> set[int] | None:
        """The notes that pass all filters; None without filters."""
        asked = tuple(wanted)
        if not asked:
            return None
        key = tuple((one.field, one.value, one.negated) for one in asked)
        if key not in self._fitting:
            if len(self._fitting) >= MOST_FILTERS:
                self._fitting.clear()
            self._fitting[key] = filter_notes(self._catalog, asked) or set()
        return self._fitting[key]

    def places(self, blocks: list[Pair]) -> dict[Pair, BlockPlace]:
        """The places of blocks; those that are gone are left out."""
        if missing := [block for block in blocks if block not in self._places]:
            if len(self._places) > MOST_PLACES:
                self._places.clear()
                missing = blocks
            self._places.update(catalog_read.place_rows(self._catalog, missing))
        known = self._places
        return {block: catalog_read.as_place(known[block]) for block in blocks if block in known}

    def ranges(self, blocks: list[Pair]) -> dict[Pair, Pair]:
        """The first and last lines of blocks; those that are gone are left out."""
        if missing := [block for block in blocks if block not in self._ranges]:
            if len(self._ranges) > MOST_PLACES:
                self._ranges.clear()
                missing = blocks
            self._ranges.update(catalog_read.line_ranges(self._catalog, missing))
        return {block: self._ranges[block] for block in blocks if block in self._ranges}
