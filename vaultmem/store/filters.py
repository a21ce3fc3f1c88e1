"""Which notes pass the filters of a query."""

from __future__ import annotations

import json
from collections.abc import Iterable

from vaultmem.core import query as language
from vaultmem.store.catalog import Catalog
from vaultmem.store.catalog_read import ids

MOST_LIKE = 10_000  # letters of a pattern; SQLite takes 50,000 with escapes


def notes_that_fit(catalog: Catalog, filters: Iterable[language.Filter]) -> set[int] | None:
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
