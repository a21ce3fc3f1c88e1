"""The parsed request of a recall. Times are seconds since the epoch."""

from __future__ import annotations

import time as clocks
from datetime import datetime, time, timedelta

from vaultmem.config import Config
from vaultmem.light import TYPE_CHECKING, NamedTuple
from vaultmem.memories import access
from vaultmem.memories.arguments import Arguments
from vaultmem.memories.conversation import is_talk
from vaultmem.memories.model import DEFAULT_SCOPE
from vaultmem.plugins import language
from vaultmem.text import values

if TYPE_CHECKING:
    from vaultmem.recall.recall_candidate import Candidate

LONGEST = 20_000  # characters of a question
BUDGET, TOP_K = 2000, 50
LEAST_CANDIDATES, MOST_CANDIDATES = 20, 120
TIMES_K = 4  # candidates per result
STEPS = tuple(
    "meaning filters hop fit rerank recency confidence mmr newer preferences budget".split()
)

LAMBDA = 0.7
RECENCY_WEIGHT = 0.2


class Criteria(NamedTuple):
    """A parsed request for a recall."""

    query: str
    budget: int = BUDGET
    top_k: int = TOP_K
    types: tuple[str, ...] = ()  # () for all
    scopes: tuple[str, ...] = ()  # beside global
    notes: bool = True
    min_confidence: float = 0.0  # age lowers the rank but hides nothing
    include_compressed: bool = False
    untrusted: bool = False
    score_threshold: float | None = None
    without: frozenset[str] = frozenset()  # names from STEPS
    by: str = ""  # the assistant that asks; "" for the person
    as_of: float | None = None  # what was known before this time
    meaning: str = ""  # the question as it is compared by meaning, if not as it is
    past: tuple[int, int] | None = None  # first and last day (YYYYMMDD) of a past time
    recency_weight: float = RECENCY_WEIGHT
    mmr_lambda: float = LAMBDA

    def has(self, step: str) -> bool:
        """Whether a step is enabled."""
        return step not in self.without

    @property
    def room(self) -> int:
        """The budget in tokens."""
        return self.budget if self.has("budget") else values.TOKENS

    @property
    def most(self) -> int:
        """How many candidates are considered."""
        return max(LEAST_CANDIDATES, min(TIMES_K * self.top_k, MOST_CANDIDATES), self.top_k)

    @property
    def viewer(self) -> access.Viewer:
        """The viewer."""
        return access.viewer(self.by, self.scopes)

    @property
    def known_scopes(self) -> tuple[str, ...]:
        """The named scopes that are searched."""
        named = self.viewer.also if self.by else self.scopes
        return tuple(dict.fromkeys((DEFAULT_SCOPE, self.viewer.scope, *sorted(named))))

    def looks_into(self, scope: str) -> bool:
        """Whether to search memories of this scope: those that the viewer may see. The person may see everything, but
        gets what is visible to all and the scopes they name, since a recall goes to an assistant."""
        if self.by:
            return self.viewer.sees(scope)
        return scope in (DEFAULT_SCOPE, *self.scopes)

    def finds(self, scope: str) -> bool:
        """Whether to search it at all, if only to report what was left out: everything except conversations, which
        are long."""
        return self.looks_into(scope) or not (self.by or is_talk(scope))

    def may_know(self, item: Candidate) -> bool:
        """Whether the viewer may know that it exists. The person may."""
        return not self.by or (not item.private and self.viewer.sees(item.scope))

    def is_before(self, best: Candidate) -> bool:
        """Whether the question is about what was so before a memory, or before the present one."""
        if self.past is None or best.note:
            return False
        return self.past[0] == 0 or self.past[1] < day_of(best.created)

    def is_about(self, replaced: Candidate) -> bool:
        """Whether a replaced memory held at the time that the question is about."""
        until = replaced.until or 0.0
        if self.as_of is not None:
            return self.as_of <= until
        if self.past is None:
            return False
        return day_of(replaced.created) <= self.past[1] and day_of(until) >= self.past[0]


def criteria_of(request: Arguments, config: Config, now: float) -> Criteria:
    """The parsed request. Raises UsageError."""
    threshold = request.number("score_threshold", config.share("recall.score_threshold") or -1.0)
    query = request.long_text("query")[:LONGEST]
    return Criteria(
        query, request.whole("budget"), request.whole("top_k"), request.tags("types"),
        request.scopes(), request.flag("notes"), request.number("min_confidence"), request.flag("include_compressed"),
        request.flag("untrusted"), None if threshold < 0 else threshold, frozenset(request.tags("without")),
        request.text("by"), _as_of(request, now), "", _past(query, now),
        request.number("recency_weight", config.share("recall.recency_weight")),
        request.number("mmr_lambda", config.share("recall.mmr_lambda")),
    )  # fmt: skip


def _as_of(request: Arguments, now: float) -> float | None:
    """The end of the named day, or the moment."""
    if not request.text("as_of"):
        return None
    at = request.moment("as_of", datetime.fromtimestamp(now).astimezone(), ahead=False)
    local = datetime.fromtimestamp(at)  # noqa: DTZ006 - a day may have 25 hours
    return (local + timedelta(days=1)).timestamp() if local.time() == time.min else at


def _past(question: str, now: float) -> tuple[int, int] | None:
    """The first and last day of the time in the past that a question is about; None if it is about no such time."""
    today = day_of(now)
    spans = [span for span in language().days(question, now) if span.has_year and span.last < today]
    if spans:
        return min(span.first for span in spans), max(span.last for span in spans)
    return (0, today) if language().asks_before(question) else None


def day_of(moment: float) -> int:
    """The day of a moment here, as the number YYYYMMDD."""
    return int(clocks.strftime("%Y%m%d", clocks.localtime(moment)))
