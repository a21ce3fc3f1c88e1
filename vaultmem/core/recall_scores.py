"""How well candidates fit, as numbers from 0 to 1: relevance, recency, confidence. Each step takes candidates with
scores and gives them back with other ones, the best first."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from vaultmem.core.decay import recency
from vaultmem.core.recall_candidate import Candidate

RECENCY_WEIGHT = 0.2


def scaled(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Scores by min-max: the best has 1, the worst 0; where all are equal, all have 1."""
    if not candidates:
        return []
    scores = [one.score for one in candidates]
    least, span = min(scores), max(scores) - min(scores)
    return [_relevant(one, (one.score - least) / span if span > 0 else 1.0) for one in candidates]


def squashed(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Scores by the logistic function, for logits of a cross-encoder: what each is worth whatever the others are."""
    return [_relevant(one, _sigmoid(one.score)) for one in candidates]


def above(candidates: Iterable[Candidate], threshold: float) -> list[Candidate]:
    """Those with at least that score."""
    return [one for one in candidates if one.score >= threshold]


def reranked(candidates: Sequence[Candidate], logits: Sequence[float]) -> list[Candidate]:
    """The scores of a cross-encoder instead of what they had."""
    pairs = zip(candidates, logits, strict=True)
    return best_first(one.scored(logit, reranker=logit) for one, logit in pairs)


def with_recency(
    candidates: Iterable[Candidate], now: float, weight: float = RECENCY_WEIGHT
) -> list[Candidate]:
    """A share of the score is how recent something is: (1 - w) * relevance + w * exp(-age in days / 30). A block of a
    page has no share in it: the day it was last edited does not make what it says fresher."""
    return best_first(
        _recent(one, 0.0 if one.is_page else recency(one.created, now), weight)
        for one in candidates
    )


def with_confidence(candidates: Iterable[Candidate]) -> list[Candidate]:
    """The score times how sure the memory still is."""
    return best_first(
        one.scored(one.score * one.confidence, confidence=one.confidence) for one in candidates
    )


def best_first(candidates: Iterable[Candidate]) -> list[Candidate]:
    """By score; ties by place, so that the same question has the same answer."""
    return sorted(candidates, key=lambda one: (-one.score, one.path, one.line))


def _relevant(one: Candidate, relevance: float) -> Candidate:
    return one.scored(relevance, relevance=relevance)


def _recent(one: Candidate, fresh: float, weight: float) -> Candidate:
    score = (1 - weight) * one.score + weight * fresh
    return one.scored(score, recency=fresh)


def _sigmoid(logit: float) -> float:
    if logit >= 0:
        return 1 / (1 + math.exp(-min(logit, 700.0)))
    grown = math.exp(max(logit, -700.0))
    return grown / (1 + grown)
