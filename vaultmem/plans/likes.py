"""Finds, among the memories that were looked at before, the one that says the same as this one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from vaultmem.core.likeness import bands, jaccard, resemblance
from vaultmem.core.memory import REMINDERS, Memory
from vaultmem.core.statements import contradiction
from vaultmem.core.view import Draft, View
from vaultmem.plans.particulars import is_covered, particulars
from vaultmem.plans.union import united

ALIKE_AFTER_OPENING = 0.5  # what the texts must share when their first 100 characters are the same
ALIKE = 0.8  # share of common shingles
CLOSE = 0.95  # cosine
MOST = 16  # neighbours a key remembers: thousands of notes may begin with one template
TRIES = 4  # of which as many are compared word for word
_SKETCHY = 0.2  # what the estimate by sketches may be too low: two standard errors
_APART = ("agent", "project", "personality", "conversation_id", "due", "remind", "repeat")
_SUMMARIES = ("compressed", "compression_source", "summary_kind")


class Match(NamedTuple):
    """A memory that says the same, and how that is known."""

    memory: Memory
    reason: str


class Tried:
    """What need not be found out again when the memories are gone through once more."""

    def __init__(self) -> None:
        self.by_words: set[tuple[str, str]] = set()  # pairs of hashes that are not the same
        self.by_meaning: set[tuple[str, str]] = set()
        self.close: dict[str, list[tuple[str, float]]] = {}  # path -> what is near by its vector


def may_join(memory: Memory) -> bool:
    """Whether it may be merged at all: what was compressed and its summary belong side by side."""
    return not any(memory.properties.get(key) for key in _SUMMARIES)


def kin(view: View, memory: Memory) -> tuple[str, ...]:
    """Memories may only be merged when these are the same: nothing gets into another one's sight, and what is to be
    remembered on two days is two things. What a person has approved takes in nothing: they approved these words."""
    reminds = "reminds" if memory.category == REMINDERS else ""
    approved = memory.id if view.is_approved(memory) else ""
    apart = (memory.properties.get(key) for key in _APART)  # an agent may also be a list
    return (
        memory.scope,
        reminds,
        approved,
        *("" if each is None else repr(each) for each in apart),
    )


class Likes:
    """The memories of one kin that stand for themselves."""

    def __init__(self, draft: Draft, tried: Tried) -> None:
        self._draft = draft
        self._tried = tried
        self._memories: dict[str, Memory] = {}  # by path, highest rank first
        self._by_hash: dict[str, str] = {}
        self._by_key: dict[str | int, list[str]] = {}

    def add(self, memory: Memory) -> None:
        """Let others be compared with it."""
        self._memories[memory.path] = memory
        self._by_hash.setdefault(memory.hash, memory.path)
        for key in _keys(memory):
            paths = self._by_key.setdefault(key, [])
            if len(paths) < MOST:
                paths.append(memory.path)

    def match(self, memory: Memory) -> Match | None:
        """The one that says the same as this one, the surest sign first."""
        same = self._by_hash.get(memory.hash)
        if same is not None and not _are_told_apart(memory, self._memories[same]):
            return Match(self._memories[same], "the same content")
        return self._match_of_words(memory) or self._match_of_meaning(memory)

    def _match_of_words(self, memory: Memory) -> Match | None:
        near = self._near(memory)
        if not near:
            return None
        text = self._draft.content(memory)
        for other in near:
            if not self._is_open(memory, other):
                continue
            theirs = self._draft.content(other)
            share = jaccard(text, theirs)
            begins = memory.opening == other.opening and share >= ALIKE_AFTER_OPENING
            if (begins or share >= ALIKE) and _agree(text, theirs, strictly=False):
                reason = "the same beginning, and " if begins else ""
                return Match(other, f"{reason}{share:.0%} of the words alike")
            self._tried.by_words.add((memory.hash, other.hash))
        return None

    def _near(self, memory: Memory) -> list[Memory]:
        """Those that may share enough, nearest first."""
        found: dict[str, float] = {}
        for key in _keys(memory):
            for path in self._by_key.get(key, ()):
                if path not in found:
                    found[path] = self._likeness(memory, self._memories[path])
        best = sorted(
            (-share, number, path) for number, (path, share) in enumerate(found.items()) if share
        )
        return [self._memories[path] for _, _, path in best[:TRIES]]

    def _likeness(self, memory: Memory, other: Memory) -> float:
        share = resemblance(memory.sketch, other.sketch)
        least = ALIKE_AFTER_OPENING if memory.opening == other.opening else ALIKE
        return share if share >= least - _SKETCHY else 0.0

    def _match_of_meaning(self, memory: Memory) -> Match | None:
        for path, cosine in self._close(memory):
            other = self._memories.get(path)
            if other is None or _are_told_apart(memory, other):
                continue
            pair = (memory.hash, other.hash)
            if pair in self._tried.by_meaning:
                continue
            if _agree(self._draft.content(memory), self._draft.content(other), strictly=True):
                return Match(other, f"the same meaning ({cosine:.2f})")
            self._tried.by_meaning.add(pair)
        return None

    def _close(self, memory: Memory) -> list[tuple[str, float]]:
        if memory.path not in self._tried.close:
            self._tried.close[memory.path] = list(self._draft.view.alike(memory, CLOSE)[:MOST])
        return self._tried.close[memory.path]

    def _is_open(self, memory: Memory, other: Memory) -> bool:
        known = (memory.hash, other.hash) in self._tried.by_words
        return not known and not _are_told_apart(memory, other)


def _keys(memory: Memory) -> Iterable[str | int]:
    return (*((memory.opening,) if memory.opening else ()), *bands(memory.sketch))


def _are_told_apart(one: Memory, other: Memory) -> bool:
    """Whether they were merged once and a person has taken one out of the archive again."""
    return one.text("replaced_by") == other.id or other.text("replaced_by") == one.id


def _agree(one: str, other: str, *, strictly: bool) -> bool:
    """Whether nothing in one text speaks against the other; strictly: whether neither has a number or name that the
    other lacks (a model finds "port 8100" and "port 8200" much the same)."""
    mine, theirs = particulars(one), particulars(other)
    covered = is_covered(mine, theirs), is_covered(theirs, mine)
    if not (all(covered) if strictly else any(covered)):
        return False
    if mine.denials != theirs.denials and not _contains(one, other) and not _contains(other, one):
        return False
    return contradiction(one, other) is None


def _contains(whole: str, part: str) -> bool:
    return united(whole, part) == whole
