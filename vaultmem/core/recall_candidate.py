"""What may be recalled, and what is wanted of it. Times are seconds since the epoch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from vaultmem.core import access, limits
from vaultmem.core.conversation import MEMORY
from vaultmem.core.memory import DEFAULT_SCOPE

BUDGET, TOP_K = 2000, 5
CANDIDATES = 20  # at least
TIMES_K = 4  # candidates for one that is wanted
STEPS = (
    "meaning",
    "filters",
    "fit",
    "rerank",
    "recency",
    "confidence",
    "mmr",
    "preferences",
    "budget",
)


class Candidate(NamedTuple):
    """A memory, or a block of a note (`note`), with what decides whether and where it is recalled."""

    path: str
    line: int  # where its words begin in the file, from 1
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
    compressed: bool = False  # and its summary is there
    archived: bool = False
    until: float | None = None  # when another one took its place
    forgotten: bool = False  # a job archived it because of its age, and nothing took its place
    expired: bool = False
    private: bool = False
    trusted: bool = True  # the words of the person or of who asks, or approved
    vouched: bool = True  # the person's own words, or approved
    writer: str = ""  # the assistant that wrote it
    outside: bool = False  # it comes from the web, or from another program
    role: str = MEMORY  # of an entry of a conversation: memory, user, assistant
    note: bool = False
    turn: bool = False  # of a conversation in a note: somebody says it
    shares: bool = True  # a telling word with the question; not looked for where it is near anyway
    stored_reads: int = 0
    block: int = 0  # where the block that was found begins
    score: float = 0.0
    parts: Mapping[str, float] = {}

    @property
    def key(self) -> str:
        """What makes it one."""
        return f"{self.path}:{self.line}" if self.note else self.path

    @property
    def is_preference(self) -> bool:
        """Whether it tells how the person wants things to be done."""
        return not self.note and self.vouched and self.memory_type == "procedural"

    @property
    def is_page(self) -> bool:
        """Whether it is a block of a note that is no turn of a conversation."""
        return self.note and not self.turn

    def scored(self, score: float, **parts: float) -> Candidate:
        """The same with another score, and what went into it."""
        return self._replace(score=score, parts={**self.parts, **parts})


class Wanted(NamedTuple):
    """What is asked for."""

    query: str
    budget: int = BUDGET
    top_k: int = TOP_K
    types: tuple[str, ...] = ()  # () for all
    scopes: tuple[str, ...] = ()  # beside global
    notes: bool = True
    min_confidence: float = 0.0  # age lowers the rank and silences nothing
    include_compressed: bool = False
    untrusted: bool = False
    score_threshold: float | None = None
    without: frozenset[str] = frozenset()  # of STEPS
    by: str = ""  # the assistant that asks; "" for the person
    as_of: float | None = None  # what was known before that time

    def has(self, step: str) -> bool:
        """Whether a step is to be made."""
        return step not in self.without

    @property
    def room(self) -> int:
        """How many tokens there is room for."""
        return self.budget if self.has("budget") else limits.TOKENS

    @property
    def most(self) -> int:
        """How many candidates are looked at."""
        return max(CANDIDATES, TIMES_K * self.top_k)

    @property
    def viewer(self) -> access.Viewer:
        """Who asks."""
        return access.viewer(self.by, self.scopes)

    @property
    def known_scopes(self) -> tuple[str, ...]:
        """What is looked into, by name."""
        named = self.viewer.also if self.by else self.scopes
        return tuple(dict.fromkeys((DEFAULT_SCOPE, self.viewer.scope, *sorted(named))))

    def looks_into(self, scope: str) -> bool:
        """Whether memories of this scope are looked for: what the viewer may see. The person may see everything, and is
        told what everybody may see and what they name: a recall is put before an assistant."""
        if self.by:
            return self.viewer.sees(scope)
        return scope in (DEFAULT_SCOPE, *self.scopes)
