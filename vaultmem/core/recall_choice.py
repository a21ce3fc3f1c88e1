"""Which of the candidates are told: the best that are not all alike, as far as the budget of tokens goes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
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
    skipped: int = 0  # what would have been told, and does not fit
    too_long: int = 0  # the tokens of the best one where that does not fit


def diverse(
    candidates: Sequence[Candidate], like: Likeness, weight: float = LAMBDA
) -> list[Candidate]:
    """All candidates in the order of maximal marginal relevance: a share of the score (0.7) less the rest of the
    likeness to the likest that comes before. The best comes first, whatever the others are."""

    def marginal(at: int) -> float:
        return weight * candidates[at].score - (1 - weight) * nearest[at]

    left = sorted(range(len(candidates)), key=lambda at: (-candidates[at].score, at))
    nearest = [0.0] * len(candidates)
    found: list[Candidate] = []
    while left:
        at = max(left, key=marginal) if found else left[0]
        left.remove(at)
        one = candidates[at]
        found.append(one.scored(one.score, mmr=marginal(at)))
        for other in left:
            nearest[other] = max(nearest[other], like(at, other))
    return found


def of_a_kind(candidates: Sequence[Candidate], like: Likeness) -> Likeness:
    """The same likeness, but for two blocks of pages: they stand in their places, and each says what only it says.
    Memories and turns of conversations repeat each other."""

    def told(one: int, other: int) -> float:
        both = candidates[one].is_page and candidates[other].is_page
        return 0.0 if both else like(one, other)

    return told


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


def preferences(candidates: Iterable[Candidate]) -> list[Candidate]:
    """How the person wants things to be done: what fits best first, then what matters most, then the newest."""
    found = [one for one in candidates if one.is_preference]
    return sorted(
        found, key=lambda one: (-one.score, -(one.importance or 0.0), -one.created, one.path)
    )


def within(
    wishes: Sequence[Candidate], ranked: Sequence[Candidate], top_k: int, budget: int, count: Count
) -> Chosen:
    """Preferences that are about the question first: one wherever it fits, more in at most half of the places and of
    the budget; then the others, and where these leave room, more of the preferences. What does not fit is skipped and
    the next one tried; nothing is cut."""
    first = _Basket((top_k + 1) // 2, budget // 2)
    first.fill(wishes, count)
    if not first.told:
        first = _Basket(1, budget)
        first.fill(wishes, count)
    rest = _Basket(top_k - len(first.told), budget - first.tokens)
    rest.fill(ranked, count)
    taken = {one.key for one, _ in first.told}
    more = _Basket(rest.places - len(rest.told), rest.budget - rest.tokens)
    more.fill((one for one in wishes if one.key not in taken), count)
    told = [*first.told, *more.told, *rest.told]
    is_first_lacking = bool(rest.skipped) and rest.skipped[0][0] is ranked[0]
    best = rest.skipped if is_first_lacking else () if told else more.skipped
    return Chosen(
        told,
        sum(tokens for _, tokens in told),
        len(rest.skipped) + len(more.skipped),
        best[0][1] if best else 0,
    )


def with_room(
    chosen: Chosen, wishes: Iterable[Candidate], top_k: int, budget: int, count: Count
) -> Chosen:
    """The same with preferences that are about something else, as far as there is room. No more of them are asked for
    than are looked at."""
    more = _Basket(top_k - len(chosen.told), budget - chosen.tokens)
    more.fill(wishes, count)
    behind = sum(one.is_preference for one, _ in chosen.told)
    return chosen._replace(
        told=[*chosen.told[:behind], *more.told, *chosen.told[behind:]],
        tokens=chosen.tokens + more.tokens,
    )


class _Basket:
    """So many places and tokens."""

    def __init__(self, places: int, budget: int) -> None:
        self.places, self.budget = places, budget
        self.told: list[tuple[Candidate, int]] = []
        self.skipped: list[tuple[Candidate, int]] = []
        self.tokens = 0

    def fill(self, candidates: Iterable[Candidate], count: Count) -> None:
        """Take in what fits."""
        left = iter(candidates)
        while len(self.told) < self.places and (one := next(left, None)) is not None:
            tokens = count(one)
            if self.tokens + tokens > self.budget:
                self.skipped.append((one, tokens))
                continue
            self.told.append((one, tokens))
            self.tokens += tokens
