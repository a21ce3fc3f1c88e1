"""What counts how much: field weights, word weights, and the sums that order results.

The numbers come from measurements on conversations written as notes, on wikilinks of real vaults and on
the labelled sets in benchmarks/recall; docs/adr/0006 holds the table. Parts are BM25 scores as the
keyword engine gives them, cosines lie in [-1, 1].
"""

from __future__ import annotations

from vaultmem.core.values import value

# field of the keyword index -> weight in the sum
FIELD_WEIGHTS = {
    "body": 1.75,
    "near": 0.8,
    "title": 1.0,
    "heading": 0.3,
    "label": 2.0,
    "tag": 0.5,
    "path": 0.2,
}
DATE_WEIGHT = 8.0  # a note of the day, month or year that the question names
WHEN_WEIGHT = 2.0  # a block that speaks of days, when the question asks for one
COSINE_WEIGHT = 11.0
NOTE_SHARE = (1.0, 0.5, 0.25)  # how a note's best, second and third block count for the note
NOTE_WEIGHT = 0.1  # how much of its note's score a block gets on top of its own
CONFLICT_WEIGHT = 0.5  # a sync conflict copy stays below its original

STOP_WEIGHT = 0.2
_STOP = frozenset(
    """a about above after again against all am an and any are as at be because been before being below between both but
    by can could did do does doing don down during each few for from further had has have having he her here hers herself him
    himself his how if in into is it its itself just let ll more most no nor not now of off on once only or other out over own
    re s same she should so some such t than that the their theirs them themselves then there these they this those through to
    too under until up ve very was were what when where which while who whom why will with would you your yours yourself""".split()
)  # first-person words (I, my, we, our) are not in it: in one's own notes they carry meaning
_HAN_FUNCTION = frozenset(
    "的了是在有和就不都这那什么怎吗呢吧哪个与及或被把从到对于以之其而也很还没为所"
)


@value
class Hit:
    """A block (its number), its score, and the parts {name: points} that add up to it."""

    block: int
    score: float
    parts: dict[str, float]


def word_weight(token: str) -> float:
    """How much a query word counts: stop words little."""
    return STOP_WEIGHT if token in _STOP else 1.0


def pair_weight(pair: str) -> float:
    """How much two neighbouring CJK characters count: function characters little."""
    return (1.0, 0.5, STOP_WEIGHT)[sum(c in _HAN_FUNCTION for c in pair)]


def fuse(keyword: dict[int, float], cosine: dict[int, float]) -> list[Hit]:
    """Weighted sum of keyword score and cosine per block, best first; ties by block number."""
    hits = []
    for block in keyword.keys() | cosine.keys():
        parts = {}
        if block in keyword:
            parts["keyword"] = keyword[block]
        if block in cosine:
            parts["meaning"] = COSINE_WEIGHT * cosine[block]
        hits.append(Hit(block, sum(parts.values()), parts))
    hits.sort(key=lambda hit: (-hit.score, hit.block))
    return hits


def note_scores(hits: list[tuple[int, float]]) -> dict[int, float]:
    """The score of each note from its blocks' scores, given as (note, score) best first."""
    seen: dict[int, int] = {}
    totals: dict[int, float] = {}
    for note, score in hits:
        place = seen.get(note, 0)
        if place < len(NOTE_SHARE):
            totals[note] = totals.get(note, 0.0) + NOTE_SHARE[place] * max(score, 0.0)
        seen[note] = place + 1
    return totals
