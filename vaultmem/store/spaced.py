"""The `fsrs` decay policy: how likely a memory is still known, by its reviews (owner of fsrs, which is optional)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

from vaultmem.core.decay import Aging

if TYPE_CHECKING:
    from fsrs import Scheduler

POLICY = "fsrs"


@cache
def is_installed() -> bool:
    """Whether the package is there: pip install 'vaultmem[fsrs]'."""
    return find_spec("fsrs") is not None


def retrievability(created: float, reviews: Iterable[float], now: float) -> float:
    """From 0.0 to 1.0, rounded to four digits: FSRS-6 with its default weights, without fuzz, every review rated
    "good"; being written counts as the first. Times are seconds since the epoch. Needs the package."""
    from fsrs import Card, Rating

    scheduler = _scheduler()
    card = Card(card_id=1, due=_moment(created))
    for at in sorted({created, *(at for at in reviews if created < at <= now)}):
        card, _ = scheduler.review_card(card, Rating.Good, _moment(at))
    return round(float(scheduler.get_card_retrievability(card, _moment(max(now, created)))), 4)


def confidence(aging: Aging, reads: Iterable[float], now: float) -> float:
    """How sure a memory of this policy still is: its reads, edits and reinforcements count as reviews. Without the
    package it fades as a reinforceable one does."""
    if not is_installed():
        return aging.confidence(now)
    marks = (at for at in (aging.updated, aging.reinforced) if at is not None)
    return retrievability(aging.created, [*reads, *marks], now)


@cache
def _scheduler() -> Scheduler:
    from fsrs import Scheduler

    return Scheduler(enable_fuzzing=False)


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
