"""How sure a memory still is: a pure function of its age, computed when read and never stored."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import cache

from vaultmem.light import TYPE_CHECKING
from vaultmem.text.times import seconds
from vaultmem.text.values import value
from vaultmem.vault.places import named

if TYPE_CHECKING:
    from fsrs import Scheduler


HALF_LIFE_HOURS = 720.0  # despite its name, the time until confidence is 0
RECENCY_DAYS = 30.0
POLICIES = ("stable", "contextual", "reinforceable", "fsrs")
CAN_BE_REINFORCED = POLICIES[2:]
FORGETTING = ("expire", "decay", "consolidate")  # the jobs that archive for age alone
TIMES = ("created_at", "last_reinforced_at", "updated_at")


def policy(value: object) -> str:
    """The decay policy: as written in the memory, else stable: a fact does not fade (SPEC, "Forgetting")."""
    return value if isinstance(value, str) and value in POLICIES else "stable"


def recency(created: float, now: float) -> float:
    """How recent something is, from 1.0 towards 0.0, rounded to four digits: exp(-age in days / 30), the recency of the
    "proxy" seed, step 3. Times are seconds since the epoch."""
    return round(math.exp(-max(0.0, now - created) / 86_400 / RECENCY_DAYS), 4)


@value
class Aging:
    """What of a note decides how its confidence sinks. Times are seconds since the epoch."""

    policy: str
    created: float
    reinforced: float | None
    updated: float | None = None
    id: str = ""

    def confidence(self, now: float, half_life: float = HALF_LIFE_HOURS) -> float:
        """Its confidence at a time, from 0.0 to 1.0, rounded to four digits; `half_life` is in hours. For the policy
        fsrs see fsrs_confidence()."""
        if self.policy == "stable":
            return 1.0
        age_hours = (now - self.since) / 3600
        return round(min(1.0, max(0.0, 1.0 - age_hours / half_life)), 4)

    @property
    def since(self) -> float:
        """From when on it sinks: the earlier, the less sure it is."""
        if self.reinforced is not None and self.policy in CAN_BE_REINFORCED:
            return self.reinforced
        return self.created


NEVER = Aging("stable", 0.0, None)  # a note that is no memory


def aging(properties: Mapping[str, object]) -> Aging:
    """How a note with these properties ages."""
    if "id" not in properties:
        return NEVER
    own = named(properties)
    kind = policy(own.get("decay_policy"))
    return aging_of(kind, own["id"], *(own.get(key) for key in TIMES))


def aging_of(
    kind: str, own_id: object, created: object, reinforced: object, updated: object
) -> Aging:
    """How a memory of a policy ages, by its id and its TIMES as they are written."""
    since = None if kind == "stable" else seconds(created)
    if since is None:
        return NEVER
    return Aging(kind, since, seconds(reinforced), seconds(updated), str(own_id))


# The `fsrs` decay policy: how likely a memory is still known, by its reviews (owner of fsrs, which is optional).

POLICY = "fsrs"


@cache
def is_installed() -> bool:
    """Whether the package is there: pip install 'vaultmem[fsrs]'."""
    from importlib.util import find_spec  # few memories decay by it

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


def fsrs_confidence(aging: Aging, reads: Iterable[float], now: float) -> float:
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
