"""Finds, among the memories that were looked at before, the one that says the same as this one: the very same text,
most of its words in their order, or one statement in other words (memories.paraphrase)."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from vaultmem.languages.statements import contradiction
from vaultmem.memories import model, paraphrase
from vaultmem.memories.draft import Draft, View
from vaultmem.memories.model import REMINDERS, Memory, is_private
from vaultmem.memories.short_texts import CAP
from vaultmem.text.similarity import bands, jaccard, resemblance

# Two contents become one that has every line of both.

_FENCE = re.compile(r"\s{0,12}(?:[-*+] )?(`{3,}|~{3,})([^\n]*)")


def united(first: str, second: str) -> str:
    """The first content, and below it the lines of the second that it lacks, in their order. A block of code is
    taken as a whole; lines that differ in nothing but case, blanks or the final stop count as the same."""
    had = {_folded(unit) for unit in _units(first)}
    extra: list[str] = []
    gap = False
    for unit in _units(second):
        if not unit.strip():
            gap = True
        elif _folded(unit) not in had:
            extra += [""] if gap and extra else []
            extra.append(unit)
            gap = False
    if not extra:
        return first
    end = "\n" if first.endswith("\n") else ""
    below = textwrap.dedent("\n".join(extra))
    return f"{_closed(first.rstrip())}\n\n{below}{end}"


def _units(content: str) -> Iterator[str]:
    """Its lines, and its blocks of code as one unit each."""
    block: list[str] = []
    mark = ""
    for line in content.replace("\r\n", "\n").split("\n"):
        fence = _FENCE.match(line)
        if mark:
            block.append(line)
            if _closes(line, mark):
                yield "\n".join(block)
                block, mark = [], ""
        elif fence:
            block, mark = [line], fence[1]
        else:
            yield line
    if block:
        yield "\n".join(block)


def _closes(line: str, mark: str) -> bool:
    bare = line.strip()
    return len(bare) >= len(mark) and set(bare) == {mark[0]}


def _closed(content: str) -> str:
    """The content with the end that its last block of code may lack: what follows is no code."""
    mark = ""
    for line in content.split("\n"):
        fence = _FENCE.match(line)
        if mark:
            mark = "" if _closes(line, mark) else mark
        elif fence:
            mark = fence[1]
    return f"{content}\n{mark}" if mark else content


def _folded(unit: str) -> str:
    fence = _FENCE.match(unit)
    if fence:
        first, *lines = unit.strip().split("\n")
        if lines and _closes(lines[-1], fence[1]):
            lines.pop()  # an end that is lacking makes no other block
        return "\n".join([first, *lines]).rstrip()
    return " ".join(unit.split()).casefold().rstrip(".。!！")


# What two texts may not differ in if one is to stand for both: numbers, names, days, denials.

MOST_CHARACTERS = 20_000  # characters that are looked at
_HAN = r"\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
_WORD = re.compile(rf"[^\W\d_{_HAN}](?:[^\W{_HAN}]|['’-](?=[^\W\d_{_HAN}]))*")
_HAN_SIGN = re.compile(rf"[{_HAN}]")
_NO = re.compile(r"(?:no|not|never|none|neither|nor|without|cannot)|.*n['’]t", re.IGNORECASE)
_HAN_NO = re.compile("[不没沒别無无非勿未]")
# Often capital at the beginning of a sentence, and no names then.
OPENERS = frozenset(
    "a an the this that these those it its i i'm i've i'd we we're you he she they my our your his her their"
    " in on at for from to with by as if when while after before and but or so then there here also please"
    " use used uses do does is are was were has have had can could should would must will may no not never".split()
)
_DAYS = frozenset("today tomorrow yesterday tonight morning afternoon evening night noon".split())
_PARTICLES = frozenset("的了是在也很就都和与及着过地得吧呢啊吗这那个一")


class Particulars(NamedTuple):
    """What stands in one text. Words are folded."""

    numbers: frozenset[str]
    names: frozenset[str]  # words with a capital or a digit in them, and days
    words: frozenset[str]
    denials: int
    signs: frozenset[
        str
    ]  # Chinese and Japanese characters that carry meaning: each may be part of a name


def particulars(text: str) -> Particulars:
    """Read them out of a text."""
    text = text[:MOST_CHARACTERS]
    words = _WORD.findall(text)
    names = {
        word.casefold() for word in words if word != word.lower() or any(map(str.isdigit, word))
    }
    folded = {word.casefold() for word in words}
    denials = sum(1 for word in words if _NO.fullmatch(word)) + len(_HAN_NO.findall(text))
    return Particulars(
        frozenset(_NUMBER.findall(text)),
        frozenset(names - OPENERS | folded & _DAYS),
        frozenset(folded),
        denials,
        frozenset(_HAN_SIGN.findall(text)) - _PARTICLES,
    )


def is_covered(one: Particulars, other: Particulars) -> bool:
    """Whether the other text has all that this one has."""
    return (
        one.numbers <= other.numbers
        and one.names <= other.words
        and one.denials <= other.denials
        and one.signs <= other.signs
    )


ALIKE_AFTER_OPENING = 0.5  # what the texts must share when their first 100 characters are the same
ALIKE = 0.8  # share of common shingles
NEAR = 0.7  # cosine from which two statements are compared
MOST = 16  # neighbours a key remembers: thousands of notes may begin with one template
TRIES = 4  # of which as many are compared word for word
_SKETCHY = 0.2  # what the estimate by sketches may be too low: two standard errors
_STOP = re.compile(r"[.!?](?=\s|$)|[。！？\n]")
_APART = ("project", "personality", "conversation_id", "due", "remind", "repeat")
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
    remembered on two days is two things. What a person has approved takes in nothing: they approved these words. Who
    wrote them is another matter, see Likes."""
    reminds = "reminds" if memory.category == REMINDERS else ""
    approved = memory.id if view.is_approved(memory) else ""
    apart = (memory.properties.get(key) for key in _APART)
    return (
        memory.scope,
        reminds,
        approved,
        str(is_private(memory.properties)),
        *("" if each is None else repr(each) for each in apart),
    )


class Likes:
    """The memories of one kin that stand for themselves. One of them may take in what somebody else wrote where the
    `trust` of the settings tells its words to all who were told those, and keeps its own words then."""

    def __init__(self, draft: Draft, tried: Tried, trust: str) -> None:
        self._draft = draft
        self._trust = trust
        self._tried = tried
        self._memories: dict[str, Memory] = {}  # by path, highest rank first
        self._by_hash: dict[str, str] = {}
        self._by_key: dict[str | int, list[str]] = {}
        self._by_word: dict[str, list[str]] = {}

    def add(self, memory: Memory) -> None:
        """Let others be compared with it."""
        self._memories[memory.path] = memory
        self._by_hash.setdefault(memory.hash, memory.path)
        for key in _keys(memory):
            paths = self._by_key.setdefault(key, [])
            if len(paths) < MOST:
                paths.append(memory.path)
        if memory.size <= CAP:
            for word in paraphrase.keys(self._draft.content(memory)):
                self._by_word.setdefault(word, []).append(memory.path)

    def match(self, memory: Memory) -> Match | None:
        """The one that says the same as this one, the surest sign first."""
        same = self._by_hash.get(memory.hash)
        if same is not None and self._may_take(self._memories[same], memory):
            return Match(self._memories[same], "the same content")
        return self._match_of_words(memory) or self._match_of_statement(memory)

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
            if (begins or share >= ALIKE) and self._agree_in_words(memory, other):
                reason = "the same beginning, and " if begins else ""
                return Match(other, f"{reason}{share:.0%} of the words alike")
            self._tried.by_words.add((memory.hash, other.hash))
        return None

    def _agree_in_words(self, memory: Memory, survivor: Memory) -> bool:
        text, theirs = self._draft.content(memory), self._draft.content(survivor)
        if not is_of_one_writer(survivor, memory) and paraphrase.says_more(text, theirs):
            return False
        return _agree(text, theirs)

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

    def _match_of_statement(self, memory: Memory) -> Match | None:
        if memory.size > CAP:
            return None
        text = self._draft.content(memory)
        close = dict(self._close(memory))
        for path in dict.fromkeys([*close, *self._sharing(text)]):
            other = self._memories.get(path)
            if other is None or other.size > CAP or not self._may_take(other, memory):
                continue
            pair = (memory.hash, other.hash)
            if pair in self._tried.by_meaning:
                continue
            theirs = self._draft.content(other)
            if paraphrase.is_same(theirs, text, close.get(path)) and self._keeps(other, memory):
                return Match(other, "the same in other words")
            self._tried.by_meaning.add(pair)
        return None

    def _sharing(self, text: str) -> list[str]:
        """Paths of those that share most of the telling words, the best first."""
        shared = Counter(
            path for key in paraphrase.keys(text) for path in self._by_word.get(key, ())
        )
        return [path for path, _ in shared.most_common(TRIES * 2)]

    def _keeps(self, survivor: Memory, memory: Memory) -> bool:
        """Whether nothing is lost with the words of the other: those of somebody else are not taken over."""
        if is_of_one_writer(survivor, memory):
            return True
        return sentences(self._draft.content(memory)) <= sentences(self._draft.content(survivor))

    def _close(self, memory: Memory) -> list[tuple[str, float]]:
        if memory.path not in self._tried.close:
            self._tried.close[memory.path] = list(self._draft.view.alike(memory, NEAR)[:MOST])
        return self._tried.close[memory.path]

    def _is_open(self, memory: Memory, other: Memory) -> bool:
        known = (memory.hash, other.hash) in self._tried.by_words
        return not known and self._may_take(other, memory)

    def _may_take(self, survivor: Memory, memory: Memory) -> bool:
        one, other = model.origin(survivor.properties), model.origin(memory.properties)
        return model.may_stand_for(one, other, self._trust) and not _are_told_apart(
            survivor, memory
        )


def _keys(memory: Memory) -> Iterable[str | int]:
    return (*((memory.opening,) if memory.opening else ()), *bands(memory.sketch))


def is_of_one_writer(one: Memory, other: Memory) -> bool:
    """Whether the words of both may stand under one name."""
    return model.is_of_one_writer(model.origin(one.properties), model.origin(other.properties))


def sentences(text: str) -> int:
    """How many sentences and lines a text has."""
    return sum(1 for part in _STOP.split(text) if part.strip())


def _are_told_apart(one: Memory, other: Memory) -> bool:
    """Whether they were merged once and a person has taken one out of the archive again."""
    return one.text("replaced_by") == other.id or other.text("replaced_by") == one.id


def _agree(one: str, other: str) -> bool:
    """Whether nothing in one text speaks against the other."""
    mine, theirs = particulars(one), particulars(other)
    if not (is_covered(mine, theirs) or is_covered(theirs, mine)):
        return False
    if mine.denials != theirs.denials and not _contains(one, other) and not _contains(other, one):
        return False
    return contradiction(one, other) is None


def _contains(whole: str, part: str) -> bool:
    return united(whole, part) == whole
