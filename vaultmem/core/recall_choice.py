"""Which of the candidates are told: the best that are not all alike, as far as the budget of tokens goes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from vaultmem.core.recall_candidate import Candidate

LAMBDA = 0.7
_WORDS = re.compile(r"[^\W\d_]{2,}|\d+")
_HAN = re.compile(r"[\u3400-\u9fff]")

Likeness = Callable[[int, int], float]  # of two candidates, by their places
Count = Callable[[Candidate], int]


class Chosen(NamedTuple):
    """What is told, in order, each with its tokens."""

    told: list[tuple[Candidate, int]]
    tokens: int
    skipped: int  # what would have been next, and does not fit


def diverse(candidates: Sequence[Candidate], like: Likeness) -> list[Candidate]:
    """All candidates in the order of maximal marginal relevance: 0.7 of the score less 0.3 of the likeness to the
    likest that comes before. The best comes first, whatever the others are."""
    left = sorted(range(len(candidates)), key=lambda at: (-candidates[at].score, at))
    nearest = [0.0] * len(candidates)
    found: list[Candidate] = []
    while left:
        at = (
            max(left, key=lambda one: _marginal(candidates[one].score, nearest[one]))
            if found
            else left[0]
        )
        left.remove(at)
        one = candidates[at]
        found.append(one.scored(one.score, mmr=_marginal(one.score, nearest[at])))
        for other in left:
            nearest[other] = max(nearest[other], like(at, other))
    return found


def _marginal(score: float, nearest: float) -> float:
    return LAMBDA * score - (1 - LAMBDA) * nearest


def by_words(candidates: Sequence[Candidate]) -> Likeness:
    """Likeness where there are no vectors: the share of words that two have in common."""
    words = [_words(one.content) for one in candidates]

    def like(one: int, other: int) -> float:
        either = len(words[one] | words[other])
        return len(words[one] & words[other]) / either if either else 0.0

    return like


def _words(text: str) -> frozenset[str]:
    folded = text.lower()
    return frozenset((*_WORDS.findall(_HAN.sub(" ", folded)), *_HAN.findall(folded)))


def preferences(candidates: Sequence[Candidate]) -> list[Candidate]:
    """How the person wants things to be done: what fits best first, then what matters most, then the newest."""
    found = [one for one in candidates if one.is_preference]
    return sorted(
        found, key=lambda one: (-one.score, -(one.importance or 0.0), -one.created, one.path)
    )


def within(
    pinned: Sequence[Candidate], ranked: Sequence[Candidate], top_k: int, budget: int, count: Count
) -> Chosen:
    """Preferences first, in at most half of the places and of the budget; then the others, and where these leave room,
    more of the preferences. What does not fit is skipped and the next one tried; nothing is cut."""
    first = _Basket((top_k + 1) // 2 if top_k > 1 else 0, budget // 2)
    first.fill(pinned, count)
    rest = _Basket(top_k - len(first.told), budget - first.tokens)
    rest.fill(ranked, count)
    taken = {one.key for one, _ in first.told}
    more = _Basket(rest.places - len(rest.told), rest.budget - rest.tokens)
    more.fill([one for one in pinned if one.key not in taken], count)
    told = [*first.told, *more.told, *rest.told]
    return Chosen(told, sum(tokens for _, tokens in told), rest.skipped)


class _Basket:
    """So many places and tokens."""

    def __init__(self, places: int, budget: int) -> None:
        self.places, self.budget = places, budget
        self.told: list[tuple[Candidate, int]] = []
        self.tokens = self.skipped = 0

    def fill(self, candidates: Sequence[Candidate], count: Count) -> None:
        """Take in what fits."""
        for one in candidates:
            if len(self.told) >= self.places:
                return
            tokens = count(one)
            if self.tokens + tokens > self.budget:
                self.skipped += 1
                continue
            self.told.append((one, tokens))
            self.tokens += tokens
