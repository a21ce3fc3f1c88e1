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


def within(ranked: Sequence[Candidate], top_k: int, budget: int, count: Count) -> Chosen:
    """The best, as far as there are places and tokens. What does not fit is skipped and the next one tried; nothing is
    cut."""
    told: list[tuple[Candidate, int]] = []
    skipped: list[tuple[Candidate, int]] = []
    left = budget
    for one in ranked:
        if len(told) == top_k:
            break
        tokens = count(one)
        if tokens > left:
            skipped.append((one, tokens))
            continue
        told.append((one, tokens))
        left -= tokens
    is_first_lacking = bool(skipped) and skipped[0][0] is ranked[0]
    return Chosen(told, budget - left, len(skipped), skipped[0][1] if is_first_lacking else 0)


def arranged(chosen: Chosen, clash: Callable[[str, str], bool]) -> Chosen:
    """The same with preferences first, and with those that may contradict each other side by side, the newest first:
    `clash` of an older and a newer text."""
    first = sorted(chosen.told, key=lambda each: not each[0].is_preference)
    found: list[tuple[Candidate, int]] = []
    for one, tokens in first:
        at = next((at for at, (other, _) in enumerate(found) if _clash(other, one, clash)), None)
        if at is None:
            found.append((one, tokens))
            continue
        while (
            at < len(found)
            and found[at][0].created >= one.created
            and _clash(found[at][0], one, clash)
        ):
            at += 1
        found.insert(at, (one, tokens))
    return chosen._replace(told=found)


def _clash(one: Candidate, other: Candidate, clash: Callable[[str, str], bool]) -> bool:
    if one.note or other.note:
        return False
    old, new = sorted((one, other), key=lambda each: each.created)
    return clash(old.content, new.content)
