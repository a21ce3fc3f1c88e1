"""The five levels of summaries of a conversation, by its number of tokens (the "proxy2" seed, section 4.4); and its
sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from vaultmem.adapter.services import Question
from vaultmem.dreams.summaries import SESSION, question, rank, sentences, statements
from vaultmem.memories.conversation import ASSISTANT, SUMMARY, Entry, derived_id
from vaultmem.text.values import toml_table

NONE, BRIEF, STANDARD, DETAILED, HIERARCHICAL = LEVELS = (
    "none", "brief", "standard", "detailed", "hierarchical",
)  # fmt: skip


class _Size(NamedTuple):
    least: int  # tokens of a conversation at which the level begins
    share: float  # share of them that its summary may have
    longest: int  # tokens of a summary


_SIZES = {
    BRIEF: _Size(100, 0.2, 80),
    STANDARD: _Size(500, 0.12, 360),
    DETAILED: _Size(3_000, 0.07, 900),
    HIERARCHICAL: _Size(15_000, 0.02, 1_000),
}
_SHORTEST = 20
CHUNK = 1_500  # tokens of a full chunk
PART = 0.2  # share of a chunk's tokens that its summary may have
GROUP = 5  # chunk summaries in a group
# Share by which a conversation must grow before its summary is renewed without a new fact.
STALE = 0.25


def level_of(tokens: int) -> str:
    """The level of a conversation, by its tokens."""
    return next((level for level in reversed(LEVELS[1:]) if tokens >= _SIZES[level].least), NONE)


def aim(level: str, tokens: int) -> int:
    """The most tokens that a summary at this level should have."""
    size = _SIZES[level]
    return max(_SHORTEST, min(size.longest, round(tokens * size.share)))


def is_chunked(level: str) -> bool:
    """Whether turns at this level are summed up in chunks."""
    return level in (DETAILED, HIERARCHICAL)


def full_chunks(turns: Iterable[Entry], count: Callable[[str], int]) -> list[list[Entry]]:
    """The full chunks of turns that are in no chunk yet; the rest waits."""
    chunks: list[list[Entry]] = []
    part: list[Entry] = []
    tokens = 0
    for turn in turns:
        part.append(turn)
        tokens += count(turn.content)
        if tokens >= CHUNK:
            chunks.append(part)
            part, tokens = [], 0
    return chunks


def full_groups(chunks: int, groups: int) -> list[range]:
    """The ranges of chunk numbers that make full groups without a summary, when `groups` are summed up."""
    return [
        range(start, start + GROUP) for start in range(groups * GROUP, chunks - GROUP + 1, GROUP)
    ]


def is_stale(tokens: int, summed: int, *, new_facts: bool) -> bool:
    """Whether a summary that covers `summed` tokens is out of date."""
    return new_facts or tokens >= summed * (1 + STALE)


# --- Questions


def _task(name: str) -> str:
    return str(toml_table("vaultmem_chat", "prompts")["summaries"][name])


def final(
    level: str, before: str, facts: Iterable[str], parts: Iterable[str], most: int
) -> Question:
    """The question for the summary of everything: from the previous one, newer facts, and newer turns or the
    parts."""
    pieces = [("Summary so far", before), ("Facts", "\n".join(f"- {fact}" for fact in facts))]
    title = "What was said since" if level in (BRIEF, STANDARD) else "Parts"
    return question(_task(level), [*pieces, (title, "\n\n".join(parts))], most)


def part(entries: Sequence[Entry], most: int) -> Question:
    """The question for the summary of one part, from its turns, or of a group of parts, from their summaries."""
    if entries[0].role != SUMMARY:
        return question(_task("part"), [("Part", spoken(entries))], most)
    text = "\n\n".join(entry.content for entry in entries)
    return question(_task("group"), [("Parts", text)], most)


def session(turns: Iterable[Entry], most: int) -> Question:
    """The question for the summary of a session to compress."""
    return question(SESSION, [("Conversation", spoken(turns))], most)


def spoken(turns: Iterable[Entry]) -> str:
    """Turns as lines with their speakers."""
    return "\n".join(
        f"{'Assistant' if turn.role == ASSISTANT else 'User'}: {turn.content.strip()}"
        for turn in turns
    )


def sentence(
    facts: Sequence[str], texts: Iterable[str], most: int, count: Callable[[str], int]
) -> str:
    """The most informative sentence of at most `most` tokens: a fact if one fits (of similar ones the newest), else a
    sentence of the texts, but not a question."""
    for group in (sentences(" ".join(fact.split()) for fact in reversed(facts)), sentences(texts)):
        for statement in rank(statements(group)):
            if count(statement) <= most:
                return statement
    return ""


# --- Sessions


class Session(NamedTuple):
    """Turns without a long pause, in order."""

    id: str
    turns: tuple[Entry, ...]

    @property
    def is_compressed(self) -> bool:
        """Whether a summary replaces it."""
        return all(turn.properties.get("compressed") is True for turn in self.turns)


def sessions(entries: Iterable[Entry], gap: float) -> list[Session]:
    """The sessions, oldest first: by the session that turns name, else separated by a silence of `gap` seconds."""
    turns = sorted(
        (entry for entry in entries if entry.is_turn),
        key=lambda sitting: (sitting.created, sitting.path),
    )
    named: dict[str, list[Entry]] = {}
    unnamed: list[Entry] = []
    for turn in turns:
        name = turn.properties.get("session_id")
        if name not in (None, "") and not isinstance(name, (list, dict)):
            named.setdefault(str(name), []).append(turn)
        else:
            unnamed.append(turn)
    every = [Session(name, tuple(group)) for name, group in named.items()]
    runs = _apart(unnamed, gap)
    every += [Session(derived_id(run[0].id, "session"), tuple(run)) for run in runs]
    return sorted(every, key=lambda one: (one.turns[0].created, one.turns[0].path))


def _apart(turns: Sequence[Entry], gap: float) -> list[list[Entry]]:
    runs: list[list[Entry]] = [[turn] for turn in turns[:1]]
    for before, turn in pairwise(turns):
        if turn.created - before.created > gap:
            runs.append([])
        runs[-1].append(turn)
    return runs
