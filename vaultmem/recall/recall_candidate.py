"""Candidates of a recall, which of them are allowed, and their order. Times are seconds since the epoch."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import compress, pairwise

from vaultmem.adapter import Properties
from vaultmem.index.keyword import tokenize
from vaultmem.light import NamedTuple
from vaultmem.memories.access import Origin
from vaultmem.memories.conversation import ASSISTANT, MEMORY, USER
from vaultmem.memories.model import DEFAULT_SCOPE, TYPES, recency
from vaultmem.plugins import language
from vaultmem.recall.criteria import Criteria, day_of
from vaultmem.search.rank import is_character
from vaultmem.text import values


class Candidate(NamedTuple):
    """A memory, or a block of a note (`note`), with the facts that decide whether and where it is recalled."""

    path: str
    line: int  # line of its words in the file, from 1
    end_line: int
    content: str
    id: str = ""  # of a memory
    title: str = ""
    memory_type: str = "semantic"
    category: str = ""
    scope: str = DEFAULT_SCOPE
    created: float = 0.0
    importance: float | None = None
    confidence: float = 1.0
    compressed: bool = False  # and its summary exists
    archived: bool = False
    until: float | None = None  # when it was replaced
    successor: str = ""  # the id of its replacement
    forgotten: bool = False  # archived by a job for its age, and not replaced
    expired: bool = False
    private: bool = False
    origin: Origin = Origin()  # that of the person's own words if approved
    trusted: bool = True  # words of the person or the asker, or approved
    role: str = MEMORY  # role of an entry of a conversation: memory, user, assistant
    note: bool = False
    turn: bool = False  # part of a conversation, in a note or stored by vaultmem
    shares: bool = True  # shares a content word with the question, not by chance, or is near
    lacks: bool = False  # shares the question's only content word, and is not very near
    stored_reads: int = 0
    remind: str = ""  # when a reminder is due
    repeat: str = ""
    block: int = 0  # where the matching block begins
    score: float = 0.0
    parts: Mapping[str, float] = {}

    @property
    def key(self) -> str:
        """Its identity: a place in a note, or the path of a memory."""
        return f"{self.path}:{self.line}" if self.note else self.path

    @property
    def vouched(self) -> bool:
        """Whether it is in the person's own words, or approved."""
        return self.origin == Origin()

    @property
    def is_preference(self) -> bool:
        """Whether it is a preference or procedure of the person."""
        return not self.note and self.vouched and self.memory_type == "procedural"

    @property
    def states(self) -> bool:
        """Whether it is a memory that states what holds now."""
        is_memory = bool(self.id) and not (self.note or self.turn or self.remind)
        return is_memory and self.until is None and not (self.archived or self.asks)

    @property
    def asks(self) -> bool:
        """Whether it is a question, or empty."""
        return self.content.rstrip()[-1:] in "?？"

    @property
    def is_page(self) -> bool:
        """Whether it is a block of a note and not a turn of a conversation."""
        return self.note and not self.turn

    @property
    def is_dated(self) -> bool:
        """Whether it has a time of its own: a block of a page has none unless the page has a day."""
        return not self.is_page or self.memory_type == "episodic"

    def echoes(self, words: frozenset[str]) -> bool:
        """Whether it resembles a question in these words but answers nothing: a question, a model's words, its own."""
        is_theirs = self.role == ASSISTANT or (self.role == USER and self.asks)
        return is_theirs or (not self.note and _words(self.content) <= words)

    @property
    def extra(self) -> float:
        """The points for its length and its note's, and for links to it: these do not make it an answer."""
        return self.parts.get("length", 0.0) + self.parts.get("linked", 0.0)

    @property
    def is_firm(self) -> bool:
        """Whether a word that it shares with a question may be more than chance."""
        fits = self.score - self.extra >= FIRM
        return fits or self.parts.get("similarity", 1.0) >= NEAR_OF_PAGES

    def scored(self, score: float, **parts: float) -> Candidate:
        """A copy with another score and its parts."""
        return self._replace(score=score, parts={**self.parts, **parts})


LATEST = 0.5  # share of the best score with which an item may be the latest that is wanted
CONFIDENCE_WEIGHT = 0.1  # with all of it, faded memories never came first


# Which candidates may be recalled, and why the others may not.

LEAST_IMPORTANCE = 0.2
# The cosine above which a text without a word of the question may still answer it; see docs/adr/0014. A memory or a
# turn says one thing; a block of a page says several, which makes it less like any of them.
NEAR, NEAR_OF_PAGES = 0.2, 0.1
# The least points with which a text below that cosine may answer, if it shares a word: most long notes share one with
# most questions.
FIRM = 20.0
# If nothing has these points or this cosine, there may be no answer, and the best few are enough.
LIKELY, FEW = 0.3, 5
# The same for a one-word question that something else contains: a name is near to anything.
VERY_NEAR = 0.4
# Share of the best score: anything below is no answer. Applies if ranked by meaning; by words alone
# a title outweighs a sentence with the same word many times.
FLOOR = 0.4

Test = Callable[[Candidate, Criteria], bool]

# Filters that cannot be switched off: authorship and visibility.
_GUARDS: dict[str, Test] = {
    # Memories archived only for age may be recalled, and those that held at the time of the question.
    "archived": lambda item, criteria: (
        item.archived and not (item.forgotten if item.until is None else criteria.is_about(item))
    ),
    "not known then": lambda one, criteria: (
        criteria.as_of is not None and not one.note and one.created >= criteria.as_of
    ),
    "private": lambda one, _: one.private,
    "of another scope": lambda one, criteria: not criteria.looks_into(one.scope),
    "untrusted": lambda one, criteria: not (one.trusted or criteria.untrusted),
}
_FILTERS: dict[str, Test] = {
    "of another type": lambda one, ask: bool(ask.types) and one.memory_type not in ask.types,
    "expired": lambda one, _: one.expired,
    "unimportant": lambda one, _: one.importance is not None and one.importance < LEAST_IMPORTANCE,
    "compressed": lambda one, criteria: one.compressed and not criteria.include_compressed,
    "faded": lambda one, criteria: one.confidence < criteria.min_confidence,
    "asked now": lambda one, ask: one.role == USER and _words(one.content) == _words(ask.query),
}


def reason(item: Candidate, criteria: Criteria) -> str:
    """The reason why it may not be recalled; "" if it may."""
    tests = {**_GUARDS, **_FILTERS} if criteria.has("filters") else _GUARDS
    return next((name for name, fails in tests.items() if fails(item, criteria)), "")


def filter_allowed(
    candidates: Iterable[Candidate], criteria: Criteria
) -> tuple[list[Candidate], dict[str, int]]:
    """The allowed candidates in order, and the counts of the others by reason."""
    judged = [(item, reason(item, criteria)) for item in candidates]
    left = Counter(why for _, why in judged if why)
    return [item for item, why in judged if not why], dict(left)


def replaced(archived: Iterable[Candidate], criteria: Criteria) -> list[Candidate]:
    """Replaced memories that would answer as well as the best."""
    return [
        memory
        for memory in archived
        if memory.until is not None
        and memory.parts["lead"] >= 0
        and reason(memory, criteria)
        and not reason(memory._replace(archived=False), criteria)
    ]


def only_in(other: Criteria, items: Iterable[Candidate], criteria: Criteria) -> list[Candidate]:
    """Relevant candidates that would be in the answer to `other`."""
    return [item for item in items if reason(item, criteria) and not reason(item, other)]


def relevant(
    candidates: Iterable[Candidate], question: str = "", now: float | None = None
) -> list[Candidate]:
    """Of candidates, best first, those that share a content word with the question, are close in meaning or of a day
    that it names, and are, without extra points, not much worse than the best that is not an echo. Something always
    ranks first; that alone is no answer. If none of them fits well, the first few."""
    is_of_day = _of_days(question, now) if now else _never
    results = [item for item in candidates if item.shares or _is_near(item) or is_of_day(item)]
    results = [result for result in results if not result.lacks] or results
    judged = [result for result in results if "similarity" in result.parts]
    fits = {id(item): item.score - item.extra for item in judged}
    words = _words(question)
    answers = [fits[id(item)] for item in judged if not item.echoes(words)] or fits.values()
    least = FLOOR * max(answers, default=0.0)
    results = [result for result in results if fits.get(id(result), least) >= least]
    is_doubtful = len(words) > 1 and not any(map(_is_likely, results))
    return results[:FEW] if is_doubtful else results


def _is_likely(item: Candidate) -> bool:
    fits = item.score - item.extra >= FIRM
    return fits or item.parts.get("similarity", 1.0) >= LIKELY


def _is_near(item: Candidate) -> bool:
    return item.parts.get("similarity", -1.0) >= (NEAR_OF_PAGES if item.is_page else NEAR)


def _never(_: Candidate) -> bool:
    return False


def _of_days(question: str, now: float) -> Callable[[Candidate], bool]:
    """The test for memories and entries of the past days that a question names, a season at most, and for texts that
    name one of its days."""
    today = day_of(now)
    spans = [span for span in language().days(question, now) if span.is_short]
    past = [span for span in spans if span.first < today]
    numbers = {str(day % 100) for span in spans for day in span.each()}  # few texts have one

    def is_of_day(item: Candidate) -> bool:
        day = day_of(item.created)
        if item.is_dated and day <= today and any(span.covers(day) for span in past):
            return True
        may_name = any(number in item.content for number in numbers)
        named = days_in(item.content) if may_name else ()
        return any(span.covers(day) for span in spans for day in named)

    return is_of_day if spans else _never


@lru_cache(1024)
def days_in(content: str) -> tuple[int, ...]:
    """The single days that a text names."""
    return tuple(day.first for day in language().days(content) if day.first == day.last)


# Similarity: candidates that repeat an earlier one come later.

_WORDS = values.lazy(r"[^\W\d_]{2,}|\d+")
_HAN = values.lazy(r"[\u3400-\u9fff]")

Similarities = Sequence[Sequence[float]]  # of each candidate to each, in order


def diverse(
    candidates: Sequence[Candidate], similar: Similarities, weight: float
) -> list[Candidate]:
    """All candidates by maximal marginal relevance: a share of the score (0.7) minus the rest of the similarity to
    the most similar earlier one. The best always comes first."""
    left = sorted(range(len(candidates)), key=lambda at: (-candidates[at].score, at))
    nearest = [0.0] * len(candidates)
    marginal = [weight * item.score for item in candidates]
    results: list[Candidate] = []
    while left:
        at = max(left, key=marginal.__getitem__) if results else left[0]
        left.remove(at)
        results.append(candidates[at].scored(candidates[at].score, mmr=marginal[at]))
        for other in left:
            if (likeness := similar[at][other]) > nearest[other]:
                nearest[other] = likeness
                marginal[other] = weight * candidates[other].score - (1 - weight) * likeness
    return results


def latest_first(candidates: Sequence[Candidate]) -> list[Candidate]:
    """What fits at least half as well as the best by its time, in the places that these have."""
    fits = [item.parts.get("search", 0.0) - item.extra for item in candidates]
    least = LATEST * max(fits, default=0.0)
    is_one = [one.is_dated and fit >= least for one, fit in zip(candidates, fits, strict=True)]
    newest = iter(sorted(compress(candidates, is_one), key=lambda item: -item.created))
    return [next(newest) if one else item for item, one in zip(candidates, is_one, strict=True)]


def repeating(candidates: Sequence[Candidate], similar: Similarities) -> Similarities:
    """The same similarities, except between two blocks of pages, which never repeat each other."""
    pages = [item.is_page for item in candidates]
    if not any(pages):
        return similar
    return [
        [0.0 if is_page and other else value for value, other in zip(row, pages, strict=True)]
        for row, is_page in zip(similar, pages, strict=True)
    ]


def by_words(candidates: Sequence[Candidate]) -> Similarities:
    """Similarity without vectors: the share of words that two have in common."""
    bits: dict[str, int] = {}
    words = [_words(item.content) for item in candidates]
    masks = [sum(1 << bits.setdefault(word, len(bits)) for word in tokens) for tokens in words]
    sizes = [mask.bit_count() for mask in masks]
    rows = [[0.0] * len(masks) for _ in masks]
    for number, mask in enumerate(masks):
        for other in range(number + 1):
            shared = (mask & masks[other]).bit_count()
            either = sizes[number] + sizes[other] - shared
            rows[number][other] = rows[other][number] = shared / either if either else 0.0
    return rows


def _words(text: str) -> frozenset[str]:
    folded = text.lower()
    han = _HAN.findall(folded) if max(folded, default="") >= "\u3400" else ()
    return frozenset((*_WORDS.findall(_HAN.sub(" ", folded) if han else folded), *han))


def in_pairs(words: frozenset[str], query: str) -> frozenset[str]:
    """The words of a query, adjacent CJK characters in pairs: one of two characters stands in any text."""
    characters = {*filter(is_character, words)}
    if not characters:
        return words
    adjacent = (pair for part in query.split() for pair in pairwise(tokenize(part)))
    pairs = {pair for pair in adjacent if characters.issuperset(pair)}
    return words.difference(*pairs) | {"".join(pair) for pair in pairs}


# How well candidates fit, as numbers from 0 to 1: relevance, recency, confidence.


def scale_scores(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Min-max scores: the best has 1, the worst 0; if all are equal, all have 1."""
    if not candidates:
        return []
    scores = [item.score for item in candidates]
    least, span = min(scores), max(scores) - min(scores)
    fits = ((item.score - least) / span if span > 0 else 1.0 for item in candidates)
    return [item.scored(fit, relevance=fit) for item, fit in zip(candidates, fits, strict=True)]


def squash_scores(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Scores by the logistic function, for logits of a cross-encoder: each independent of the others."""
    return [item.scored(fit := 0.5 + math.tanh(item.score / 2) / 2, relevance=fit) for item in candidates]  # fmt: skip


def rerank_scores(candidates: Sequence[Candidate], logits: Sequence[float]) -> list[Candidate]:
    """The candidates with the scores of a cross-encoder."""
    pairs = zip(candidates, logits, strict=True)
    return best_first(item.scored(logit, reranker=logit) for item, logit in pairs)


def with_recency(candidates: Sequence[Candidate], now: float, weight: float) -> list[Candidate]:
    """Scores including recency: (1 - w) * relevance + w * exp(-age in days / 30). Blocks of pages are exempt: the day
    of the last edit does not make their words more current."""
    fresh = [0.0 if item.is_page else recency(item.created, now) for item in candidates]
    return best_first(
        item.scored((1 - weight) * item.score + weight * new, recency=new)
        for item, new in zip(candidates, fresh, strict=True)
    )


def with_confidence(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Scores including confidence: score * (1 - w + w * confidence)."""
    return best_first(
        item.scored(item.score * (1 - CONFIDENCE_WEIGHT * (1 - item.confidence)), confidence=item.confidence)
        for item in candidates)  # fmt: skip


def best_first(candidates: Iterable[Candidate]) -> list[Candidate]:
    """By score; ties by place, so that the same question has the same answer."""
    return sorted(candidates, key=lambda item: (-item.score, item.path, item.line))


def type_of(fields: Properties, category: str) -> str:
    """The memory type of a memory with these properties, guessed if it has none."""
    kind = fields.get("memory_type")
    if category == "preferences":  # whatever its type when it was written
        return "procedural"
    if isinstance(kind, str) and kind in TYPES:
        return kind
    is_from_talk = any(map(fields.get, ("session_id", "conversation_id", "role")))
    return "episodic" if is_from_talk else "semantic"
