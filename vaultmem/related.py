"""Notes that belong near a note: by distinctive words, by meaning, by links."""

from __future__ import annotations

import math
from collections import Counter

from vaultmem.core.query import Query, Term
from vaultmem.core.values import value
from vaultmem.core import rank
from vaultmem.errors import ModelError
from vaultmem.search import Searcher
from vaultmem.store import catalog_read
from vaultmem.store.keyword import ORD_BITS
from vaultmem.store.keyword_search import Question
from vaultmem.store.lines import read_lines

DISTINCTIVE_WORDS = 20
LINK_POINTS = {"links to it": 0.25, "is linked from it": 0.25, "linked by the same notes": 0.15}
MEANING_SHARE = 1.0
WORD_SHARE = 0.6


@value
class Related:
    """A note near another one. The score is between 0 and about 2; reasons say what it is made of."""

    path: str
    title: str
    uri: str
    score: float
    reasons: list[str]


def related(searcher: Searcher, path: str, limit: int = 10) -> list[Related]:
    """The notes nearest to the one at `path`, best first."""
    catalog = searcher.catalog
    note = catalog_read.note_id(catalog, path)
    scores: Counter[int] = Counter()
    reasons: dict[int, list[str]] = {}
    for parts in (
        _by_meaning(searcher, note),
        _by_words(searcher, note),
        _by_links(searcher, path),
    ):
        for other, (points, reason) in parts.items():
            if other != note:
                scores[other] += points  # type: ignore[assignment]  # Counter adds floats just as well
                reasons.setdefault(other, []).append(reason)
    best = sorted(scores, key=lambda other: (-scores[other], other))[:limit]
    found = catalog_read.note_heads(catalog, best)
    return [
        Related(
            head.path,
            head.title,
            searcher.uri(head.dialect, head.path, head.title),
            round(scores[other], 4),
            reasons[other],
        )
        for other in best
        if (head := found.get(other))
    ]


Points = dict[int, tuple[float, str]]


def _by_meaning(searcher: Searcher, note: int) -> Points:
    try:
        meaning = searcher.meaning()
    except ModelError:
        return {}
    vector = meaning.note_vector(searcher.catalog, note)
    if vector is None:
        return {}
    best: Points = {}
    for block, cosine in meaning.nearest(searcher.catalog, vector, 200).items():
        other = block >> ORD_BITS
        if cosine > best.get(other, (0.0, ""))[0]:
            best[other] = (MEANING_SHARE * cosine, f"similar meaning {cosine:.2f}")
    return best


def _by_words(searcher: Searcher, note: int) -> Points:
    words = distinctive_words(searcher, note)
    if not words:
        return {}
    query = Query([Term("word", word) for word in words], [], [], [], [])
    hits = searcher.keyword.search(Question("", query, [note], all_but=True), 200)
    totals = rank.note_scores([(block >> ORD_BITS, score) for block, score in hits.items()])
    highest = max(totals.values(), default=1.0)
    shared = "shares words: " + ", ".join(words[:4])
    return {other: (WORD_SHARE * total / highest, shared) for other, total in totals.items()}


def distinctive_words(searcher: Searcher, note: int) -> list[str]:
    """The words (stems, or pairs of CJK characters) that tell a note from others, best first."""
    places = catalog_read.note_blocks(searcher.catalog, note)
    text = "\n".join(
        read_lines(searcher.folder, p.raw or p.path, p.line, p.end_line) for p in places[:50]
    )
    title = places[0].title if places else ""
    counts = Counter(searcher.keyword.terms(f"{title}\n{text[:50_000]}"))
    total = searcher.keyword.block_count() + 1
    weights = {
        term: (1 + math.log(count)) * math.log(total / frequency) * rank.word_weight(term)
        for term, count in counts.items()
        if len(term) > 1
        and not term.isdigit()
        and (frequency := searcher.keyword.frequency(term)) > len(places)
    }
    return sorted(weights, key=lambda term: (-weights[term], term))[:DISTINCTIVE_WORDS]


def _by_links(searcher: Searcher, path: str) -> Points:
    catalog = searcher.catalog
    linked = {
        "links to it": {link.source for link in catalog_read.links_to(catalog, path)},
        "is linked from it": {
            link.target for link in catalog_read.links_from(catalog, path) if link.target
        },
        "linked by the same notes": catalog_read.linked_together(catalog, path),
    }
    points: Counter[str] = Counter()
    reasons: dict[str, list[str]] = {}
    for reason, paths in linked.items():
        for other in paths:
            points[other] += LINK_POINTS[reason]  # type: ignore[assignment]  # as above
            reasons.setdefault(other, []).append(reason)
    ids = catalog_read.note_ids(catalog, list(points))
    return {ids[p]: (points[p], " and ".join(reasons[p])) for p in points if p in ids}
