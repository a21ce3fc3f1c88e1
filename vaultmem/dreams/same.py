"""Finds, among memories seen before, one that says the same: identical text, most words in the same order, or a
paraphrase."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import lru_cache

from vaultmem.dreams import paraphrase
from vaultmem.dreams.paraphrase import Plain
from vaultmem.dreams.short_texts import CAP
from vaultmem.light import NamedTuple
from vaultmem.memories import access
from vaultmem.memories.access import is_private
from vaultmem.memories.draft import Draft
from vaultmem.memories.model import REMINDERS, Memory
from vaultmem.plugins import language
from vaultmem.text.similarity import bands, jaccard, resemblance
from vaultmem.text.values import code_blocks, lazy

ALIKE_AFTER_OPENING = 0.5  # required similarity if the first 100 characters are the same
ALIKE = 0.8  # share of common shingles
NEAR = 0.7  # least cosine to compare two statements
MOST = 16  # memories kept per key: thousands may begin with one template
TRIES = 4  # of these, compared word for word
FREQUENT = 200  # memories: a word in more of them does not show that two state the same
_TOLERANCE = 0.2  # how far sketches may underestimate: two standard errors
_APART = ("project", "personality", "conversation_id", "due", "remind", "repeat")
_SUMMARIES = ("compressed", "compression_source", "summary_kind")


# Two contents become one that has every line of both.

_FENCE = lazy(r"^[ \t]*(?:[-*+] )?(?:```|~~~)", re.MULTILINE)


def unite_texts(first: str, second: str) -> str:
    """The first content, followed by the lines of the second that it lacks; all of them if there is code."""
    present = set(map(_fold, first.split("\n")))
    lines = [(line, _fold(line)) for line in second.replace("\r\n", "\n").split("\n")]
    if all(folded in present for _, folded in lines if folded):
        return first
    has_code = _FENCE.search(second) is not None
    extra: list[str] = []
    for line, folded in lines:
        is_gap = not folded and extra and extra[-1]
        if has_code or is_gap or (folded and folded not in present):
            extra.append(line)
    from textwrap import dedent  # not needed to compare

    above, below = first.rstrip(), dedent("\n".join(extra)).rstrip()
    if unclosed := code_blocks(above)[1]:
        above = f"{above}\n{unclosed}"
    return f"{above}\n\n{below}" + ("\n" if first.endswith("\n") else "")


def _fold(line: str) -> str:
    return " ".join(line.split()).casefold().rstrip(".。!！")


def _agree(one: str, other: str) -> bool:
    mine, theirs = paraphrase.plain(one), paraphrase.plain(other)
    if not (_is_covered(mine, theirs) or _is_covered(theirs, mine)):
        return False
    if mine.denials != theirs.denials and not (_contains(one, other) or _contains(other, one)):
        return False
    return language().contradiction(one, other) is None


def _contains(whole: str, part: str) -> bool:
    return unite_texts(whole, part) == whole


def _is_covered(one: Plain, other: Plain) -> bool:
    named = one.particulars - other.particulars
    return named <= other.known.keys() and one.denials <= other.denials


# Which memories may be merged


def may_join(memory: Memory) -> bool:
    """Whether it may be merged at all: compressed memories and their summary belong side by side, and a note that is
    only a title, or that a sync program has not filled yet, says nothing that another could say."""
    return bool(memory.sketch) and not any(memory.properties.get(key) for key in _SUMMARIES)


def kin(memory: Memory, is_approved: Callable[[Memory], bool]) -> tuple[str, ...]:
    """Memories may only be merged if these values are equal: nothing becomes visible to others, and reminders on two
    days stay two. An approved memory takes in nothing, since the person approved its words. Authors are another
    matter, see Likes."""
    apart = (memory.properties.get(key) for key in _APART)
    return (
        memory.scope,
        "reminds" if memory.category == REMINDERS else "",
        memory.id if is_approved(memory) else "",
        str(is_private(memory.properties)),
        *("" if part is None else repr(part) for part in apart),
    )


def is_of_one_writer(one: Memory, other: Memory) -> bool:
    """Whether the words of both may carry one name."""
    return access.is_of_one_writer(access.origin(one.properties), access.origin(other.properties))


class Match(NamedTuple):
    """A memory that says the same, and the evidence."""

    memory: Memory
    reason: str


# Memories are compared again after each merge. Cached texts of the first are long.
_alike, _states_same = lru_cache(2_048)(jaccard), lru_cache(16_384)(paraphrase.is_same)


class Likes:
    """The unmerged memories of one kin. One may take in others' words as far as `trust` allows."""

    def __init__(self, draft: Draft, trust: str) -> None:
        self._draft = draft
        self._trust = trust
        self._memories: dict[str, Memory] = {}  # by path, highest rank first
        self._by_hash: dict[str, Memory] = {}
        self._by_key: dict[str | int, list[Memory]] = defaultdict(list)
        self._by_word: dict[str, list[str]] = defaultdict(list)

    def add(self, memory: Memory) -> None:
        """Add it to the memories compared."""
        self._memories[memory.path] = memory
        self._by_hash.setdefault(memory.hash, memory)
        for key in _keys(memory):
            if len(self._by_key[key]) < MOST:
                self._by_key[key].append(memory)
        if memory.size <= CAP:
            for word in paraphrase.keys(self._draft.content(memory)):
                self._by_word[word].append(memory.path)

    def match(self, memory: Memory) -> Match | None:
        """The memory that says the same as this one, by the strongest evidence."""
        same = self._by_hash.get(memory.hash)
        if same is not None and self._may_take(same, memory):
            return Match(same, "the same content")
        return self._match_of_words(memory) or self._match_of_statement(memory)

    def _match_of_words(self, memory: Memory) -> Match | None:
        if memory.category == REMINDERS or memory.text("remind"):
            return None  # a reminder shows only its first line
        for other in self._near(memory):
            if not self._may_take(other, memory):
                continue
            text, theirs = self._draft.content(memory), self._draft.content(other)
            share = _alike(text, theirs)
            begins = memory.opening == other.opening and share >= ALIKE_AFTER_OPENING
            is_taken_whole = is_of_one_writer(other, memory) or not paraphrase.says_more(text, theirs)  # fmt: skip
            if (begins or share >= ALIKE) and is_taken_whole and _agree(text, theirs):
                reason = "the same beginning, and " if begins else ""
                return Match(other, f"{reason}{share:.0%} of the words alike")
        return None

    def _near(self, memory: Memory) -> list[Memory]:
        candidates = {
            candidate.path: candidate for key in _keys(memory) for candidate in self._by_key[key]
        }
        rated = []
        for number, other in enumerate(candidates.values()):
            share = resemblance(memory.sketch, other.sketch)
            least = ALIKE_AFTER_OPENING if memory.opening == other.opening else ALIKE
            if share >= max(least - _TOLERANCE, 1e-9):
                rated.append((-share, number, other))
        return [other for *_, other in sorted(rated)[:TRIES]]

    def _match_of_statement(self, memory: Memory) -> Match | None:
        if memory.size > CAP:
            return None
        text = self._draft.content(memory)
        close = dict(self._draft.view.alike(memory, NEAR)[:MOST])
        having = (self._by_word[key] for key in paraphrase.keys(text))
        shared = Counter(path for paths in having if len(paths) <= FREQUENT for path in paths)
        sharing = (path for path, _ in shared.most_common(TRIES * 2))
        for path in dict.fromkeys([*close, *sharing]):
            other = self._memories.get(path)
            if other is None or other.size > CAP or not self._may_take(other, memory):
                continue
            theirs = self._draft.content(other)
            # Another writer's words are not taken over, so they must add nothing.
            keeps = is_of_one_writer(other, memory) or _sentences(text) <= _sentences(theirs)
            if keeps and _states_same(theirs, text, close.get(path)):
                return Match(other, "the same in other words")
        return None

    def _may_take(self, survivor: Memory, memory: Memory) -> bool:
        one, other = access.origin(survivor.properties), access.origin(memory.properties)
        were_parted = survivor.text("replaced_by") == memory.id
        were_parted = were_parted or memory.text("replaced_by") == survivor.id
        return access.may_stand_for(one, other, self._trust) and not were_parted


def _keys(memory: Memory) -> list[str | int]:
    return [*((memory.opening,) if memory.opening else ()), *bands(memory.sketch)]


_STOP = lazy(r"[.!?](?=\s|$)|[。！？\n]")


def _sentences(text: str) -> int:
    return sum(1 for part in _STOP.split(text) if part.strip())
