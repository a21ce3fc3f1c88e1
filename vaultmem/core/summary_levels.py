"""How deep a conversation is summed up: by its number of tokens, in five levels (the "proxy2" seed, section 4.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

NONE, BRIEF, STANDARD, DETAILED, HIERARCHICAL = LEVELS = (
    "none", "brief", "standard", "detailed", "hierarchical",
)  # fmt: skip
_FROM = {BRIEF: 100, STANDARD: 500, DETAILED: 3_000, HIERARCHICAL: 15_000}  # tokens
_SHARE = {BRIEF: 0.2, STANDARD: 0.12, DETAILED: 0.07, HIERARCHICAL: 0.02}
_LONGEST = {BRIEF: 80, STANDARD: 360, DETAILED: 900, HIERARCHICAL: 1_000}
_SHORTEST = 20
CHUNK = 1_500  # tokens from which a chunk is full
PART = 0.2  # of a chunk's tokens, what its summary may have
GROUP = 5  # chunk summaries in a group
# By which share a conversation has to grow before it is summed up anew without a new fact.
STALE = 0.25


class Spoken(NamedTuple):
    """One turn, as far as sums need to know it."""

    id: str
    created: float
    tokens: int


def level_of(tokens: int) -> str:
    """The level of a conversation of so many tokens."""
    return next((level for level in reversed(LEVELS[1:]) if tokens >= _FROM[level]), NONE)


def aim(level: str, tokens: int) -> int:
    """How many tokens a summary at this level should have at most."""
    return max(_SHORTEST, min(_LONGEST[level], round(tokens * _SHARE[level])))


def is_chunked(level: str) -> bool:
    """Whether the turns of this level are summed up chunk by chunk."""
    return level in (DETAILED, HIERARCHICAL)


def full_chunks(turns: Sequence[Spoken]) -> list[list[Spoken]]:
    """The chunks that are full, in order, of turns that no chunk covers yet. What is left at the end waits: a chunk
    once summed up stays as it is, however long the conversation gets."""
    found: list[list[Spoken]] = []
    chunk: list[Spoken] = []
    for turn in turns:
        chunk.append(turn)
        if sum(each.tokens for each in chunk) >= CHUNK:
            found.append(chunk)
            chunk = []
    return found


def full_groups(chunks: int, groups: int) -> list[range]:
    """Which chunks (by number) make groups that are full and not summed up yet, when so many are."""
    return [
        range(start, start + GROUP) for start in range(groups * GROUP, chunks - GROUP + 1, GROUP)
    ]


def is_stale(tokens: int, summed: int, *, new_facts: bool) -> bool:
    """Whether a summary of so many tokens of talk is out of date."""
    return new_facts or tokens >= summed * (1 + STALE)
