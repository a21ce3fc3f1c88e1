"""Why a note is where it is in the results of a query: every point of its score, by name."""

from __future__ import annotations

from vaultmem.index import catalog_read
from vaultmem.index.keyword import ORD_BITS
from vaultmem.memories.model import PERSON, Viewer
from vaultmem.search import cache
from vaultmem.search import query as language
from vaultmem.search.keyword_search import Question
from vaultmem.search.search import Ask, Result, Searcher
from vaultmem.text.values import value


@value
class Why:
    """One note's standing for a query."""

    path: str
    title: str
    rank: int | None  # 1 is the best note; None when it is not among the results
    of: int  # how many notes were found
    score: float | None
    parts: dict[str, float]  # what the score is the sum of
    fields: dict[str, float]  # what each field gave to the keyword part of the best block
    line: int | None
    end_line: int | None
    confidence: float | None
    remarks: list[str]


def why(
    searcher: Searcher, text: str, path: str, to: Viewer = PERSON, *, semantic: bool = False
) -> Why:
    """Explain the standing of the note at `path` for a query of `to`."""
    answer = searcher.search(Ask(text, limit=500, semantic=semantic, viewer=to))
    place = next((n for n, result in enumerate(answer.results) if result.path == path), None)
    result = answer.results[place] if place is not None else None
    remarks = [*answer.remarks, *_reasons_against(searcher, text, path, result, to)]
    note = catalog_read.note_id(searcher.catalog, path)
    return Why(
        path=path,
        title=catalog_read.note_heads(searcher.catalog, [note])[note].title,
        rank=None if place is None else place + 1,
        of=len(answer.results),
        score=result.score if result else None,
        parts=result.parts if result else {},
        fields=_fields(searcher, text, note, result),
        line=result.line if result else None,
        end_line=result.end_line if result else None,
        confidence=result.confidence if result else None,
        remarks=remarks,
    )


def _fields(searcher: Searcher, text: str, note: int, result: Result | None) -> dict[str, float]:
    parts = searcher.keyword.parts(Question(text, language.parse(text), None), note)
    places = catalog_read.note_blocks(searcher.catalog, note)
    wanted = {
        note << ORD_BITS | p.ordinal for p in places if result is None or p.line == result.line
    }
    best = {
        name: max((s for b, s in blocks.items() if b in wanted), default=0.0)
        for name, blocks in parts.items()
    }
    return {name: round(points, 4) for name, points in best.items() if points}


def _reasons_against(
    searcher: Searcher, text: str, path: str, result: Result | None, to: Viewer
) -> list[str]:
    if result:
        return [f"it is a sync conflict copy of {result.original}"] if result.original else []
    if catalog_read.is_excluded(searcher.catalog, path):
        return ["the vault's settings exclude it from search"]
    if reason := searcher.hidden_from(to).get(path):
        return [f"hidden from {to.name}: it is {reason}"]
    asked = language.parse(text).filters
    note = catalog_read.note_id(searcher.catalog, path)
    against = []
    for one in asked:
        fitting = cache.filter_notes(searcher.catalog, [one]) or set()
        if note not in fitting:
            against.append(f"{'-' if one.negated else ''}{one.field}:{one.value} leaves it out")
    return against or ["none of its blocks has the words, or too many others fit better"]
