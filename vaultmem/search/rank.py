"""What counts how much: field weights, word weights, and the sums that order results.

The numbers come from measurements on conversations written as notes, on wikilinks of real vaults and on the labelled
sets in benchmarks/recall; docs/adr/0006 has the table. Parts are BM25 scores from the keyword engine, cosines are in
[-1, 1].
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping

from vaultmem.index import ASKS, DOUBLED, MOST_DOUBLED, ORD_BITS
from vaultmem.light import NamedTuple
from vaultmem.text.values import value

# field of the keyword index -> weight of its BM25 score
FIELD_WEIGHTS = {"body": 0.5, "title": 1.2, "heading": 0.3, "tag": 0.6, "path": 0.2}
# field -> points per unit of rarity() if a word is present at all, however often, however long
# the text. This rewards a block for matching many different words of the question, and it does not
# depend on how many blocks have the field: most blocks of a vault have no label and no neighbour text.
PRESENCE_WEIGHTS = {"body": 1.2, "near": 0.8, "label": 3.5}
# How often a block repeats a word that more than this share of all blocks have means nothing, and counting
# it takes half of the search time: only presence counts.
FREQUENT = 0.25
FREQUENT_WEIGHT = 1.5
# The same for phrases (pairs of CJK characters, quoted words), which only BM25 can score.
PHRASE_WEIGHTS = {**FIELD_WEIGHTS, "body": 2.0, "near": 0.8, "label": 2.0}
ADJACENT_WEIGHT = 1.3  # points per unit of rarity() for all words of a query side by side
LONGEST_ADJACENT = 6  # words of such a query; longer ones are sentences
CHARACTER_WEIGHT = 0.3  # a single CJK character, in addition to its pairs
FIELDS = tuple(PHRASE_WEIGHTS)
# Share of a label's points if a query is only a name: who it is, not what they say.
NAME_ALONE = 0.1

FORM_WEIGHT = 0.8  # another form of a word, by the stem of its language
DATE_WEIGHTS = 2.0, 16.0  # a note of the year named in the question; of the month, week or day
NAMED_WEIGHT = 12.0  # text that names that day
WHEN_WEIGHT = 2.0  # a block that mentions days, if the question asks for one
COSINE_WEIGHT = 12.0
JOINED_WEIGHT = 14.0  # cosine of the block joined with the blocks before and after
JOINED_SHARES = (0.5, 0.2)  # weights of the block before and the block after
BESIDE = {-1: 0.25, 1: 0.25, -2: 0.15, 2: 0.15}  # share of the word points of a turn's neighbours
WHOLE_WEIGHT = 8.0  # mean cosine of the note's blocks
LENGTH_WEIGHT = 3.0  # times ln(1 + words): short blocks answer little
QUESTION_COST = 3.0  # a turn that only asks something
LONG_COST = 0.6  # each time that a note's number of blocks doubles: it has more chances to match
# By the size of a block; what looks something up wants it wherever it is.
LOOKUP_POINTS = [LENGTH_WEIGHT * math.log1p(size) for size in range(ASKS)]
LOOKUP_POINTS += [points - QUESTION_COST for points in LOOKUP_POINTS]
LOOKUP_POINTS *= MOST_DOUBLED + 1
SIZE_POINTS = [points - LONG_COST * (size // DOUBLED) for size, points in enumerate(LOOKUP_POINTS)]
WORDS_SHARE = 0.7  # share of word points beside meaning, which they would drown
CJK_SHARE = 0.15  # the same for CJK pairs, each scoring like three or four words of other scripts
FEW_WORDS = 2  # up to this many words look something up rather than ask, and count in full
LINKING = 10  # of this many best blocks, links count for the notes that they lead to
LINK_SHARE, LINK_BOUND = 0.3, 0.9  # of a linking block's score: points, and the most they lead to
NEAR_ENOUGH = 0.25  # lower cosines mean nothing here, unless filters leave nothing nearer
BEHIND = 0.5  # share of the score of a sync conflict copy, which stays below its original, and of a template

STOP_WEIGHT = 0.2
# As the analyzer returns them: stemmed if the stem differs, contractions without apostrophe.
STOP_WORDS = frozenset(
    """a about abov after again against all am an ani and are aren as at be becaus befor been below between both but
    by can could couldn d did didn do doe doesn don down dure each few for from further had hadn has hasn have haven he
    her here herself him himself his how if in into is isn it itself just let ll more most no nor not now of off on onc
    onli or other out over own re s same she should shouldn so some such t than that the their them themselv then there
    these they this those through to too under until up ve veri wa was wasn were weren what when where which while who
    whom whi will with won would wouldn you your yourself today tomorrow tonight yesterday happen done""".split()
)  # without first-person words (I, my, we, our), which carry meaning in one's own notes
_HAN_FUNCTION = frozenset(
    "的了是在有和就不都这那什么怎吗呢吧哪个与及或被把从到对于以之其而也很还没为所"
)


class Ranked(NamedTuple):
    """A block (its number), its score, and the parts {name: points} that add up to it."""

    block: int
    score: float
    parts: dict[str, float]


def is_character(word: str) -> bool:
    """Whether a token is a single character of a script without blanks between words."""
    # Compared: compiling a pattern of all these takes a short recall 4 ms.
    return len(word) == 1 and (
        word >= "\u3040"  # the kana, and all that follows; Thai and Lao, Burmese, Khmer
        or "\u0e00" <= word <= "\u0eff"
        or "\u1000" <= word <= "\u109f"
        or "\u1780" <= word <= "\u17ff"
    )


def word_weight(token: str) -> float:
    """The weight of a query word: little for stop words."""
    return STOP_WEIGHT if token in STOP_WORDS else 1.0


def content_words(tokens: Iterable[str]) -> set[str]:
    """The tokens without stop words."""
    return {token for token in tokens if word_weight(token) == 1.0}


def rarity(count: int, total: int) -> float:
    """The inverse document frequency of a word in `count` of `total` blocks, as in Lucene's BM25."""
    return math.log(1 + (max(total, count) - count + 0.5) / (count + 0.5))


def adjacent_points(counts: Mapping[str, int], total: int) -> float:
    """The points for having all these words side by side, by how many of `total` blocks have each."""
    rarities = (word_weight(token) * rarity(count, total) for token, count in counts.items())
    return ADJACENT_WEIGHT * sum(rarities)


def field_weights(field: str, frequent: bool) -> tuple[float, float]:
    """The weights of a word's BM25 score and of its presence in a field."""
    if frequent and field == "body":
        return 0.0, FREQUENT_WEIGHT
    return FIELD_WEIGHTS.get(field, 0.0), PRESENCE_WEIGHTS.get(field, 0.0)


def pair_weight(pair: str) -> float:
    """The weight of two adjacent CJK characters: little for function characters."""
    return (1.0, 0.5, STOP_WEIGHT)[sum(c in _HAN_FUNCTION for c in pair)]


def character_weight(character: str) -> float:
    """The weight of a single CJK character: little for function characters."""
    return CHARACTER_WEIGHT * (STOP_WEIGHT if character in _HAN_FUNCTION else 1.0)


def length(tokens: Collection[str]) -> float:
    """How many words these are: two CJK characters are about one."""
    return len(tokens) - sum(map(is_character, tokens)) / 2


def is_lookup(words: Collection[str]) -> bool:
    """Whether a query with these words looks something up rather than asks."""
    return length(words) <= FEW_WORDS


def words_share(words: Collection[str]) -> float:
    """The share of word points in a search that also uses meaning."""
    if is_lookup(words):
        return 1.0
    return CJK_SHARE if 2 * sum(map(is_character, words)) > len(words) else WORDS_SHARE


@value
class Closeness:
    """Cosines to the question: of a block, of it joined with its neighbours, of its note (the mean)."""

    block: float
    joined: float
    whole: float

    def scaled(self, share: float) -> Closeness:
        """The cosines with their distances to 1 scaled by the share."""
        if share == 1:
            return self
        return Closeness(
            *(1 - (1 - cosine) * share for cosine in (self.block, self.joined, self.whole))
        )


# Precision for comparing scores; the rest depends on the order of summation.
DIGITS = 4
# Cost (the negative score) and block, so that sorting puts the best first.
Scored = tuple[float, int]


def in_order(
    scored: Iterable[Scored], paths: Callable[[set[int]], dict[int, str]], limit: int
) -> list[int]:
    """The blocks, best first; ties by path and position, since note numbers only reflect the order of indexing;
    `paths` gives the paths of notes. `scored` is sorted best first. After the first `limit` notes, only further
    blocks of these notes follow."""
    groups: list[list[int]] = []  # of equal scores
    notes: set[int] = set()
    complete = 0  # number of groups with new notes; 0 while there are more
    before, least = math.inf, 2 * 10**-DIGITS  # few are close enough to need rounding
    for cost, block in scored:
        note = block >> ORD_BITS
        if complete and note not in notes:
            continue
        if cost - before >= least or round(cost, DIGITS) != round(before, DIGITS):
            if not complete and len(notes) >= limit:
                complete = len(groups)
                if note not in notes:
                    continue
            groups.append([])
        groups[-1].append(block)
        notes.add(note)
        before = cost
    tied = [
        group for group in groups[: complete or None]
        if group[1:] and any(block >> ORD_BITS != group[0] >> ORD_BITS for block in group)
    ]  # fmt: skip
    path_by_note = paths({block >> ORD_BITS for group in tied for block in group}) if tied else {}
    for group in groups:
        group.sort()
    for group in tied:
        group.sort(key=lambda block: path_by_note.get(block >> ORD_BITS, ""))
    return [block for group in groups for block in group]


def is_cut_in_a_tie(scores: Collection[float], limit: int) -> bool:
    """Whether the last score, of these from best to worst, ties with one of the best, so that chance decided who is
    included."""
    if len(scores) <= limit:
        return False
    best = [*scores]
    return round(best[limit - 1], DIGITS) == round(best[-1], DIGITS)


@value
class Facts:
    """What a ranking knows besides words and meaning: notes that stay behind others, each with what it is; each block's
    size in the index, its points from neighbours' words, the share of word points that counts, and the notes that
    blocks link to (None if the query looks something up)."""

    behind: Mapping[int, str] = {}
    sizes: Mapping[int, int] = {}
    around: Mapping[int, float] = {}
    words: float = 1.0
    links: Callable[[list[int]], Mapping[int, set[int]]] | None = None


class Ranking:
    """Blocks by the weighted sum of keyword score and cosines, best first; ties by block number. Works on plain pairs:
    of hundreds of blocks only a few are in the answer and need their parts."""

    def __init__(
        self,
        keyword: Mapping[int, float],
        meaning: Mapping[int, Closeness],
        facts: Facts,
    ) -> None:
        self._keyword, self._meaning, self._facts = keyword, meaning, facts
        self._estimates = estimates(keyword, meaning)
        self._points = SIZE_POINTS if facts.links else LOOKUP_POINTS
        if meaning or facts.around:
            blocks = keyword.keys() | meaning.keys() | facts.around.keys()
            scored = [(-self._own_score(block), block) for block in blocks]
        else:
            sizes, points = facts.sizes, self._points
            scored = [(-score - points[sizes[block]] if block in sizes else -score, block)
                      for block, score in keyword.items()]  # fmt: skip
        scored.sort()
        self._linked = linked = self._from_links(scored)
        if linked:
            scored = sorted((cost - linked.get(block, 0.0), block) for cost, block in scored)
        if facts.behind:
            scored = sorted(
                (cost * BEHIND if cost < 0 and block >> ORD_BITS in facts.behind else cost, block)
                for cost, block in scored
            )
        self.scored: list[Scored] = scored

    def ranked(self, block: int) -> Ranked:
        """A block with its score and its parts."""
        parts = self._own_parts(block)
        score = sum(parts.values())
        if score > 0 and (what := self._facts.behind.get(block >> ORD_BITS)):
            parts[what] = -(1 - BEHIND) * score
            score *= BEHIND
        return Ranked(block, score, parts)

    def _from_links(self, scored: list[Scored]) -> dict[int, float]:
        """Points for the best block of a note to which a better block links: the text around a link describes its
        target."""
        scores = {block: -cost for cost, block in scored[:LINKING]}
        linked = self._facts.links([*scores]) if self._facts.links else {}
        if not linked:
            return {}
        best = {block >> ORD_BITS: (block, -cost) for cost, block in reversed(scored)}
        result: dict[int, float] = {}
        for block, targets in linked.items():
            share = LINK_SHARE * scores[block] / math.sqrt(len(targets))
            for target in targets & best.keys():
                one, own = best[target]
                points = min(share, LINK_BOUND * scores[block] - own)
                if points > result.get(one, 0.0):
                    result[one] = points
        return result

    def _own_score(self, block: int) -> float:
        """The sum of the parts, without their names, as it is computed for hundreds of blocks."""
        facts = self._facts
        score = self._keyword.get(block, 0.0) + facts.around.get(block, 0.0)
        score += (facts.words - 1) * score
        if close := self._meaning.get(block):
            score += COSINE_WEIGHT * close.block
            score += JOINED_WEIGHT * close.joined
            score += WHOLE_WEIGHT * close.whole
        else:
            score += self._estimates.get(block, 0.0)
        return score + self._points[facts.sizes[block]] if block in facts.sizes else score

    def _own_parts(self, block: int) -> dict[str, float]:
        facts, parts = self._facts, dict[str, float]()
        if block in self._keyword:
            parts["keyword"] = self._keyword[block]
        if block in facts.around:
            parts["words around it"] = facts.around[block]
        if parts and facts.words != 1:
            parts["less for words"] = (facts.words - 1) * sum(parts.values())
        if close := self._meaning.get(block):
            parts |= _points(close)
        elif block in self._estimates:
            parts["meaning, not embedded yet"] = self._estimates[block]
        if block in facts.sizes:
            size = facts.sizes[block]
            parts["short question" if size & ASKS else "length"] = LOOKUP_POINTS[size]
            if more := self._points[size] - LOOKUP_POINTS[size]:
                parts["long note"] = more
        return parts | ({"linked": self._linked[block]} if block in self._linked else {})


def _points(close: Closeness) -> dict[str, float]:
    return {
        "meaning": COSINE_WEIGHT * close.block,
        "meaning around it": JOINED_WEIGHT * close.joined,
        "meaning of the note": WHOLE_WEIGHT * close.whole,
    }


def estimates(keyword: Mapping[int, float], meaning: Mapping[int, Closeness]) -> dict[int, float]:
    """Estimated meaning points for each matching block without a vector: those of the nearest block that matches the
    words no better. Otherwise new text would rank below whatever resembles it."""
    if not meaning or keyword.keys() <= meaning.keys():
        return {}
    result: dict[int, float] = {}
    most: float | None = None
    for block in sorted(keyword, key=lambda other: (keyword[other], other not in meaning)):
        if block in meaning:
            points = sum(_points(meaning[block]).values())
            most = points if most is None else max(most, points)
        elif most is not None:
            result[block] = most
    return result
