"""Which candidates may be recalled at all, and why the others may not."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable

from vaultmem.index.catalog import NOTES_BELOW, Catalog, below
from vaultmem.index.catalog_read import ids
from vaultmem.search.recall_candidate import Candidate, Wanted
from vaultmem.vault.places import ENTRIES

LEAST_IMPORTANCE = 0.2
# The cosine from which a text without a word of the question may still answer it; see docs/adr/0014. A memory or a
# turn says one thing; a block of a page says several, which makes it less like any of them.
NEAR, NEAR_OF_PAGES = 0.2, 0.1

# Of the score of the best: what fits so much worse is no answer. It is asked of what meaning has judged; by words alone
# a title outweighs a sentence with the same word many times.
FLOOR = 0.4

UNTRUSTED = "untrusted"
Test = Callable[[Candidate, Wanted], bool]

# What nobody may switch off: whose words they are, and who may read them.
_GUARDS: dict[str, Test] = {
    "archived": lambda one, wanted: one.archived and not _is_told_from_archive(one, wanted),
    "not known then": lambda one, wanted: (
        wanted.as_of is not None and not one.note and one.created >= wanted.as_of
    ),
    "private": lambda one, _: one.private,
    "of another scope": lambda one, wanted: not wanted.looks_into(one.scope),
    UNTRUSTED: lambda one, wanted: not (one.trusted or wanted.untrusted),
}
_FILTERS: dict[str, Test] = {
    "of another type": lambda one, wanted: (
        bool(wanted.types) and one.memory_type not in wanted.types
    ),
    "expired": lambda one, _: one.expired,
    "unimportant": lambda one, _: one.importance is not None and one.importance < LEAST_IMPORTANCE,
    "compressed": lambda one, wanted: one.compressed and not wanted.include_compressed,
    "faded": lambda one, wanted: one.confidence < wanted.min_confidence,
}


def _is_told_from_archive(one: Candidate, wanted: Wanted) -> bool:
    """Whether it is told although it is archived: what age alone put away, and of a time in the past what held then."""
    if one.until is not None:
        return wanted.as_of is not None and wanted.as_of <= one.until
    return one.forgotten


def reason(one: Candidate, wanted: Wanted) -> str:
    """Why it may not be recalled; "" when it may."""
    tests = {**_GUARDS, **_FILTERS} if wanted.has("filters") else _GUARDS
    return next((name for name, fails in tests.items() if fails(one, wanted)), "")


def kept(candidates: Iterable[Candidate], wanted: Wanted) -> tuple[list[Candidate], dict[str, int]]:
    """Those that may be recalled, in their order, and how many may not, by the reason."""
    left: Counter[str] = Counter()
    found: list[Candidate] = []
    for one in candidates:
        why = reason(one, wanted)
        if why:
            left[why] += 1
        else:
            found.append(one)
    return found, dict(left)


def replaced(archived: Iterable[Candidate], wanted: Wanted) -> int:
    """How many of the archive would be told if nothing newer stood in their place. What may not be told for another
    reason is not counted either."""
    return sum(
        one.until is not None
        and bool(reason(one, wanted))
        and not reason(one._replace(archived=False), wanted)
        for one in archived
    )


def held_back(candidates: Iterable[Candidate], wanted: Wanted) -> list[Candidate]:
    """Those that answer the question and would be told if the person had approved them."""
    waiting = [one for one in candidates if reason(one, wanted) == UNTRUSTED]
    approved = wanted._replace(untrusted=True)
    return [one for one in fitting(waiting) if not reason(one, approved)]


def fitting(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Those that share a telling word with the question, or are not far from it in meaning, and that do not
    fit much worse than the best. Something always comes first in a search; that does not make it an answer."""
    found = [one for one in candidates if one.shares or _cosine(one) >= _bar(one)]
    judged = [one.score for one in found if "similarity" in one.parts]
    least = FLOOR * max(judged, default=0.0)
    return [one for one in found if "similarity" not in one.parts or one.score >= least]


def _bar(one: Candidate) -> float:
    return NEAR_OF_PAGES if one.is_page else NEAR


def _cosine(one: Candidate) -> float:
    return one.parts.get("similarity", -1.0)


# What a recall asks the catalog: which notes are looked into, who holds preferences, the texts behind blocks.

_WEIGHT = "json_extract(n.properties, '$.importance')"
_DULL = f"(typeof({_WEIGHT}) IN ('real', 'integer') AND {_WEIGHT} < ?)"
_SCOPE = "coalesce(nullif(trim(json_extract(n.properties, '$.scope')), ''), 'global')"
_SUM = "coalesce(json_extract(n.properties, '$.role'), '') = 'summary'"  # of a conversation, told in its own way
_SUMMARIES = """SELECT n.properties FROM files f JOIN notes n ON n.id = f.id
    WHERE f.path >= ? AND f.path < ? AND n.properties LIKE '%compression_source%'"""
_COMPRESSED = """SELECT n.id, n.properties FROM files f JOIN notes n ON n.id = f.id
    WHERE f.path >= ? AND f.path < ? AND n.properties LIKE '%"compressed"%'"""
# In whatever letters: LIKE folds them.
_RESTRICTED = """SELECT n.id, f.path, n.properties FROM notes n JOIN files f ON f.id = n.id
    WHERE n.properties LIKE '%private%' OR (n.properties LIKE '%scope%'
    AND json_extract(n.properties, '$.scope') IS NOT 'global')"""
_INSIDE = "SELECT id FROM files WHERE path >= ? AND path < ?"
_SESSIONS = ("session_id", "conversation_id", "source_session_id")
_HASHES = """SELECT f.path, b.line, b.hash FROM blocks b JOIN files f ON f.id = b.note
    JOIN json_each(?) w ON f.path = json_extract(w.value, '$[0]') AND b.line = json_extract(w.value, '$[1]')"""


def memories(
    catalog: Catalog, folder: str, looks_into: Callable[[str], bool], least: float = 0.0
) -> frozenset[int]:
    """The notes of the memory folder whose scopes are looked into, and that matter at least so much."""
    rows = _scoped(catalog, folder, looks_into, least)
    return frozenset(note for note, is_wanted in rows if is_wanted)


def hidden(
    catalog: Catalog, folder: str, looks_into: Callable[[str], bool], least: float = 0.0
) -> frozenset[int]:
    """The notes of the memory folder whose scopes are not looked into, or that do not matter."""
    rows = _scoped(catalog, folder, looks_into, least)
    return frozenset(note for note, is_wanted in rows if not is_wanted)


def _scoped(
    catalog: Catalog, folder: str, looks_into: Callable[[str], bool], least: float
) -> Iterable[tuple[int, bool]]:
    """The notes of the memory folder, and whether they are looked into. Scopes are few, and asked for once each."""
    kept = f"CASE WHEN {_DULL} OR {_SUM} THEN NULL ELSE {_SCOPE} END"
    values = [least, *below(folder)]
    rows = catalog.db.execute(f"SELECT n.id, {kept} {NOTES_BELOW}", values).fetchall()
    wanted = {scope: scope is not None and looks_into(str(scope)) for scope in {s for _, s in rows}}
    return ((int(note), wanted[scope]) for note, scope in rows)


def summaries(catalog: Catalog, folder: str) -> list[dict[str, object]]:
    """The properties of memories that sum others up."""
    rows = catalog.db.execute(_SUMMARIES, below(folder)).fetchall()
    return [found for row in rows if isinstance(found := json.loads(row[0]), dict)]


def spoken(catalog: Catalog, folder: str) -> frozenset[int]:
    """The notes of conversations."""
    return frozenset(ids(catalog, _INSIDE, below(f"{folder}/{ENTRIES}")))


def summed_up(catalog: Catalog, folder: str) -> frozenset[int]:
    """The notes of memories that a summary stands for."""
    rows = catalog.db.execute(_COMPRESSED, below(folder)).fetchall()
    marked = [(int(row[0]), own) for row in rows if _is_marked(own := json.loads(row[1]))]
    sums = summaries(catalog, folder) if marked else []
    sessions = {str(own[key]) for own in sums for key in _SESSIONS if own.get(key)}
    return frozenset(
        note for note, own in marked if any(str(own.get(key)) in sessions for key in _SESSIONS)
    )


def _is_marked(own: object) -> bool:
    return isinstance(own, dict) and own.get("compressed") is True


def restricted(catalog: Catalog) -> list[tuple[int, str, dict[str, object]]]:
    """The notes whose properties may keep them from somebody: number, path and properties."""
    rows = catalog.db.execute(_RESTRICTED).fetchall()
    return [(int(note), str(path), json.loads(own)) for note, path, own in rows]


def hashes(catalog: Catalog, places: Iterable[tuple[str, int]]) -> dict[tuple[str, int], bytes]:
    """The hashes of blocks, by path and first line."""
    rows = catalog.db.execute(_HASHES, (json.dumps(list(places)),)).fetchall()
    return {(str(path), int(line)): bytes(digest) for path, line, digest in rows}
