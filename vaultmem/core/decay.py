"""How sure a memory still is: a pure function of its age, computed when read and never stored."""

from __future__ import annotations

import math
from collections.abc import Mapping

from vaultmem.core.keys import named
from vaultmem.core.stamps import seconds
from vaultmem.core.values import value

HALF_LIFE_HOURS = 720.0  # despite its name, the time until confidence is 0
MIN_CONFIDENCE = 0.3
RECENCY_DAYS = 30.0
POLICIES = ("stable", "contextual", "reinforceable", "fsrs")


def policy(given: object) -> str:
    """The decay policy: as written in the memory, else stable: a fact does not fade (SPEC, "Forgetting")."""
    return given if isinstance(given, str) and given in POLICIES else "stable"


def confidence(
    policy: str,
    created: float,
    reinforced: float | None,
    now: float,
    half_life: float = HALF_LIFE_HOURS,
) -> float:
    """Confidence from 0.0 to 1.0, rounded to four digits. Times are seconds since the epoch, `half_life` is
    in hours."""
    if policy == "stable":
        return 1.0
    age_hours = (now - _since(policy, created, reinforced)) / 3600
    return round(min(1.0, max(0.0, 1.0 - age_hours / half_life)), 4)


def _since(policy: str, created: float, reinforced: float | None) -> float:
    reset = policy in (
        "reinforceable",
        "fsrs",
    )  # fsrs, when its package is missing, see store.spaced
    return reinforced if reset and reinforced is not None else created


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
        """Its confidence at a time; of one with the policy fsrs, see store.spaced."""
        return confidence(self.policy, self.created, self.reinforced, now, half_life)

    @property
    def since(self) -> float:
        """From when on it sinks: the earlier, the less sure it is."""
        return _since(self.policy, self.created, self.reinforced)


NEVER = Aging("stable", 0.0, None)  # a note that is no memory


def aging(properties: Mapping[str, object]) -> Aging:
    """How a note with these properties ages."""
    if "id" not in properties:
        return NEVER
    own = named(properties)
    kind = policy(own.get("decay_policy"))
    return aging_of(kind, own["id"], *(own.get(key) for key in TIMES))


FORGETTING = ("expire", "decay", "consolidate")  # the jobs that archive for age alone
TIMES = ("created_at", "last_reinforced_at", "updated_at")


def aging_of(
    kind: str, own_id: object, created: object, reinforced: object, updated: object
) -> Aging:
    """How a memory of a policy ages, by its id and its TIMES as they are written."""
    since = None if kind == "stable" else seconds(created)
    if since is None:
        return NEVER
    return Aging(kind, since, seconds(reinforced), seconds(updated), str(own_id))
