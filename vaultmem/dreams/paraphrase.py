"""Whether two texts say the same in different words, in English or Chinese.

One linear model over what the two share, what one has that the other lacks, and where in the sentence they differ: a
sentence that begins differently is about someone else, one that continues says the same and more.
`benchmarks/pairs.py` fits the weights on labelled pairs and reports precision and recall on the held-out half.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import combinations, pairwise
from operator import mul

from vaultmem.adapter import Statement
from vaultmem.dreams import short_texts
from vaultmem.dreams.short_texts import CAP, HAN, NAME, tokens_of
from vaultmem.light import NamedTuple
from vaultmem.plugins import language
from vaultmem.text.values import lazy

LONGEST = 20_000  # characters that are looked at
_FEW = 24  # words; word order matters from here on
# Characters, and share of the shorter word, that two forms of one word begin with.
_PREFIX, _PART = 4, 0.6
_STRETCH = 3  # words replaced by others
COVERED = 0.8  # share of a text's words, above which another text says the same
_USUAL = 0.8  # the cosine of two statements that may be the same
_HANS = lazy(f"[{HAN}]+")
_COUNTED = lazy("[零一二两三四五六七八九十]{1,3}(?=[点号个岁小时次天月年元位人名遍层行件台分条周])")
_NUMERAL = lazy(
    r"\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b", re.IGNORECASE
)
_HOUR = lazy(r"\b(\d{1,2})(?::(\d\d))? ?([ap])\.?m\b\.?|\b(\d{1,2}):00\b", re.IGNORECASE)
_PASSIVE = lazy(r"\bby\b|[由被]", re.IGNORECASE)
_REFUSAL = lazy(r"\b(?:dislike|hate)s?\b|讨厌|禁止|无", re.IGNORECASE)
_DAYS = frozenset(
    map(short_texts.stem, "today tomorrow yesterday tonight morning afternoon evening noon".split())
)
_PARTICLES = frozenset("了很吧呢啊吗地得")
_ALIASES = {"prefers": "likes"}  # and what is liked better is liked
_COMPARED = frozenset(short_texts.stem(word) for word in ("better", "best", "more", "most", "更"))


class _Fact(NamedTuple):
    subject: str
    property: str
    value: frozenset[str]
    negated: bool
    where: str


class Plain(NamedTuple):
    """A text in the form in which texts are compared."""

    words: tuple[str, ...]  # stems and single Chinese characters, in their order
    known: Mapping[str, float]  # the weight of each word: a Chinese character is half a word
    weight: float  # of all together, at least that of one character
    prefixes: Mapping[str, tuple[str, ...]]
    signs: frozenset[str]  # Chinese characters
    pairs: frozenset[str]  # adjacent ones
    numbers: frozenset[str]
    names: frozenset[str]
    denials: int
    passive: bool
    event: bool
    cue: bool

    @property
    def denied(self) -> bool:
        """Whether it contains a denial."""
        return self.denials > 0

    @property
    def particulars(self) -> frozenset[str]:
        """Where texts must agree if one is to stand for both: numbers, names, days; Chinese characters, which may be
        a name."""
        days = _DAYS.intersection(self.words)
        return (self.numbers | self.names | self.signs | days) - _PARTICLES


class Place(NamedTuple):
    """Where the words of two texts differ: the lengths of their common beginning and end, and each one's words
    between."""

    head: int
    foot: int
    mine: int
    theirs: int


def is_same(one: str, other: str, similarity: float | None = None) -> bool:
    """Whether they state the same."""
    return score(one, other, similarity) > LIKELY


def score(one: str, other: str, similarity: float | None = None) -> float:
    """The log odds that they state the same. `similarity`: their cosine, if a model knows it."""
    if not (plain(one).words and plain(other).words):  # symbols state nothing
        return -math.inf
    return weighted_sum(WEIGHTS, features(one, other, similarity))


def weighted_sum(weights: Mapping[str, float], features: Mapping[str, float]) -> float:
    """The sum of a linear model."""
    return weights[""] + math.fsum(map(mul, map(weights.__getitem__, features), features.values()))


def says_more(one: str, other: str) -> int:
    """How many content words one has that the other lacks."""
    return len(_missing(plain(one), plain(other)))


def says(text: str, other: str) -> bool:
    """Whether a text says what the other one says, and perhaps more: it has nearly all of its words, and all its
    names."""
    other_words, there = plain(other), plain(text)
    lost = _missing(other_words, there)
    is_covered = bool(other_words.words) and _coverage(other_words, lost) > COVERED
    return is_covered and other_words.names.isdisjoint(lost) and may_say(text, other)


def may_say(text: str, other: str) -> bool:
    """Whether a text that shares words with the other may say the same: it has all its numbers, and neither denies
    the other."""
    other_words, there = plain(other), plain(text)
    is_alike = other_words.numbers <= there.numbers and other_words.denied == there.denied
    return is_alike and language().contradiction(text, other) is None


def keys(text: str) -> frozenset[str]:
    """Index keys that texts stating the same share: words that carry meaning, pairs of Chinese characters."""
    parsed = plain(text)
    return (parsed.pairs or parsed.signs) | {
        word[: _PREFIX + 1] for word in parsed.known if not _is_han(word)
    }


def features(one: str, other: str, similarity: float | None = None) -> dict[str, float]:
    """The model's features, which are symmetric."""
    a, b = plain(one), plain(other)
    lost, gained = _missing(a, b), _missing(b, a)
    covered = sorted((_coverage(a, lost), _coverage(b, gained)))
    closeness = 0.0 if similarity is None else similarity - _USUAL
    numbers, signs = _particulars(a, b, {*lost, *gained}), _signs(a, b)
    return {
        "covered": covered[0], "covered squared": covered[0] ** 2, "covered by the other": covered[1],
        "words in one": bool(lost) != bool(gained), "words in both": bool(lost and gained),
        "lost": min(4, len(lost), len(gained)) / 4, "gained": min(6, max(len(lost), len(gained))) / 6,
        "short": 1 / max(2, min(len(a.words), len(b.words))), "events": a.event and b.event,
        "cue in one": a.cue != b.cue, "denied in one": a.denied != b.denied,
        "denied and covered": covered[0] * (a.denied != b.denied), **numbers, **signs,
        "meaning": closeness, "meaning and Chinese": closeness * signs["Chinese"],
        "meaning and numbers": closeness * numbers["numbers differ"],
        **_places(a, b, {*lost, *gained}), **_state_features(one, other, is_change=a.cue != b.cue),
    }  # fmt: skip


def _particulars(a: Plain, b: Plain, alone: set[str]) -> dict[str, float]:
    numbers = bool(a.numbers - b.numbers), bool(b.numbers - a.numbers)
    names = bool(a.names & alone), bool(b.names & alone)
    return {
        "numbers differ": all(numbers), "number in one": numbers[0] != numbers[1],
        "numbers same": bool(a.numbers & b.numbers), "names differ": all(names),
        "name in one": names[0] != names[1],
    }  # fmt: skip


def _places(a: Plain, b: Plain, alone: set[str]) -> dict[str, float]:
    at = difference(a.words, b.words)
    swapped = 0 < at.mine <= _STRETCH and 0 < at.theirs <= _STRETCH
    longer = not at.mine or not at.theirs
    first = [bool(side.words) and side.words[0] in alone for side in (a, b)]
    last = [bool(side.words) and side.words[-1] in alone for side in (a, b)]
    inverted, turned = _order(a, b)
    han = bool(a.signs and b.signs)
    return {
        "beginnings differ": all(first), "beginning in one": first[0] != first[1], "ends differ": all(last),
        "end in one": last[0] != last[1], "other beginning": swapped and not at.head,
        "other middle": swapped and at.head > 0 and at.foot > 0,
        "other Chinese middle": swapped and at.head > 0 and at.foot > 0 and han,
        "other end": swapped and at.head > 0 and not at.foot, "goes on": longer and not at.foot,
        "put in": longer and at.foot > 0 and at.mine != at.theirs, "inverted": inverted,
        "turned round": turned and a.passive == b.passive,
    }  # fmt: skip


def _signs(a: Plain, b: Plain) -> dict[str, float]:
    gained = max(len(a.signs - b.signs), len(b.signs - a.signs))
    return {
        "Chinese": bool(a.signs or b.signs),
        "pairs of signs": 2 * len(a.pairs & b.pairs) / max(1, len(a.pairs) + len(b.pairs)),
        "signs gained": min(6, gained) / 6,
    }


def _state_features(one: str, other: str, *, is_change: bool) -> dict[str, float]:
    both = short_texts.facts_of_both(other, one) if max(len(one), len(other)) <= CAP else ((), ())
    topics = [{fact.subject for fact in stated} for stated in both]
    mine, theirs = ({_to_fact(fact) for fact in stated} for stated in both)
    return {
        "one fact": not mine.isdisjoint(theirs) and not is_change,
        "other subject": all(topics) and topics[0].isdisjoint(topics[1]),
    }


def plain(text: str) -> Plain:
    """Parse the text."""
    return _plain(text[:LONGEST])


@lru_cache(4096)
def _plain(text: str) -> Plain:
    spelled = language().fold(
        _HOUR.sub(
            _hour, _NUMERAL.sub(_figures, text if text.isascii() else _COUNTED.sub(_figures, text))
        )
    )
    spelled = spelled.replace("星期", "周").replace("礼拜", "周").replace("点半", "点30")
    stems = tuple(token.stem for token in tokens_of(spelled))
    prefixes: dict[str, list[str]] = {}
    for word in stems:
        prefixes.setdefault(word[:_PREFIX], []).append(word)
    runs = () if spelled.isascii() else _HANS.findall(spelled)
    signs = [sign for run in runs for sign in run if sign not in short_texts.words("stop")]
    weights = {word: 0.5 if _is_han(word) else 1.0 for word in stems}
    return Plain(
        stems, weights, max(0.5, sum(weights.values())),
        {key: tuple(item) for key, item in prefixes.items() if len(key) == _PREFIX}, frozenset(signs),
        frozenset(map("".join, pairwise(signs))),
        frozenset(word for word in stems if any(map(str.isdigit, word))),
        frozenset(token.stem for token in tokens_of(text) if token.kind == NAME),
        len(short_texts.DENIAL.findall(text)) + len(_REFUSAL.findall(text)), _PASSIVE.search(text) is not None,
        short_texts.is_event(text), short_texts.CUES.search(text) is not None,
    )  # fmt: skip


@lru_cache(4096)
def _to_fact(fact: Statement) -> _Fact:
    value = frozenset(token.stem for token in tokens_of(fact.value)) - _COMPARED
    kind = _ALIASES.get(fact.property, fact.property)
    return _Fact(fact.subject, kind, value, fact.negated, fact.where)


def _is_han(word: str) -> bool:
    return not word.isascii() and _HANS.fullmatch(word) is not None


def _figures(match: re.Match[str]) -> str:
    return language().figures(match[0])


def _hour(match: re.Match[str]) -> str:
    if match[4]:
        return match[4]
    hour = int(match[1]) % 12 + 12 * (match[3].lower() == "p")
    return f"{hour}:{match[2]}" if match[2] and match[2] != "00" else str(hour)


def _missing(one: Plain, other: Plain) -> list[str]:
    alone = [word for word in one.known if word not in other.known]
    forms = other.prefixes
    return [
        word
        for word in alone
        if word in one.numbers  # of which there are no forms
        or (near := forms.get(word[:_PREFIX])) is None
        or not any(_is_form(word, near_word) for near_word in near)
    ]


def _is_form(word: str, other: str) -> bool:
    shorter = min(len(word), len(other))
    alike = math.ceil(_PART * shorter)
    return word[:alike] == other[:alike]


def _coverage(text: Plain, missing: Sequence[str]) -> float:
    lacking = sum(text.known[word] for word in missing)
    return 1 - lacking / text.weight


def difference(a: Sequence[str], b: Sequence[str]) -> Place:
    """Where the words of two texts differ."""
    most = min(len(a), len(b))
    head = next((at for at in range(most) if a[at] != b[at]), most)
    rest = most - head
    foot = next((at for at in range(rest) if a[-1 - at] != b[-1 - at]), rest)
    return Place(head, foot, len(a) - head - foot, len(b) - head - foot)


def _order(a: Plain, b: Plain) -> tuple[float, bool]:
    """The share of word pairs that are inverted, and whether two words swapped places around a third."""
    place = {word: at for at, word in enumerate(b.known)}
    shared = [place[word] for word in a.known if word in place][:_FEW]
    if len(shared) < 2:
        return 0.0, False
    inverted = sum(first > second for first, second in combinations(shared, 2))
    turned = inverted > 2 and any(x > y > z for x, y, z in combinations(shared, 3))
    return 2 * inverted / (len(shared) * (len(shared) - 1)), turned


# From here on: python benchmarks/pairs.py --weights
WEIGHTS: Mapping[str, float] = {
    "covered": 0.72, "covered squared": 1.53, "covered by the other": 0.07, "words in one": -1.55,
    "words in both": -1.48, "lost": -0.59, "gained": -0.79, "short": 6.95, "events": 0.64, "cue in one": -1.28,
    "denied in one": 0.95, "denied and covered": -2.3, "numbers differ": -2.22, "number in one": -1.68,
    "numbers same": 0.87, "names differ": -1.59, "name in one": -2.2,
    "beginnings differ": -0.49, "beginning in one": -0.12, "ends differ": -1.93, "end in one": 0.44,
    "other beginning": -0.17, "other middle": -0.35, "other Chinese middle": -1.3, "other end": -0.7,
    "goes on": -0.34, "put in": -2.28, "inverted": 1.2, "turned round": -3.29, "Chinese": 0.15,
    "pairs of signs": 2.13, "signs gained": -0.7, "one fact": 2.13, "other subject": -0.81,
    "meaning": 2.2, "meaning and Chinese": -1.89, "meaning and numbers": -2.45, "": -3.37,
}  # fmt: skip
LIKELY = -0.75
