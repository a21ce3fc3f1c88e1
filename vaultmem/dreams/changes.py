"""Which newer texts probably speak of the same as older ones and change it, whatever the subject.

One small model: a newer text that signals a change, resembles the older one clearly more than others before it, and
has rare words in common with it. `benchmarks/newer.py` fits the weights, see docs/adr/0020.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from operator import mul

from vaultmem.dreams.short_texts import CAP, CORRECTS, HAN, form, is_unreal, plain, read
from vaultmem.light import NamedTuple
from vaultmem.text.times import without_days
from vaultmem.text.values import lazy

OTHERS = 3  # texts before the newer one that resemble it most
_FEW = 8  # texts: among fewer, a word is no more common
_DAY = 86_400.0
_GRAM = 4  # letters
_TURN = form("turn")
_WORD = lazy(rf"[{HAN}]+|[^\W_{HAN}]+")


class Text(NamedTuple):
    """A text, and when it was written, in seconds."""

    words: str
    created: float


class Signs(NamedTuple):
    """What tells that two texts speak of the same, for one pair, or the log odds of each."""

    margin: float  # by how much more similar the two are than the newer one and others before it
    rare: float  # words in common
    change: float  # the newer one signals a change
    denial: float  # one of the two denies something
    same_day: float


class Model(NamedTuple):
    """The model for one kind of similarity."""

    unrelated: float  # the similarity of what has nothing in common
    certain: float  # log odds above which 98 of 100 that signal a change replace the older text
    bias: float
    weights: Signs

    def odds(self, signs: Signs) -> float:
        """The log odds that the newer text changes what the older one states."""
        return self.bias + math.fsum(map(mul, self.weights, signs))


BY_MEANING = Model(0.3, 2.5, -6.3, Signs(13.2, 1.4, 2.7, 0.7, -4.8))
BY_WORDS = Model(0.1, math.inf, -7.2, Signs(12.5, 1.9, 2.7, 0.6, -5.6))
PROBABLE = 0.0  # log odds above which what signals a change is named when it is written


class Pair(NamedTuple):
    """The keys of an older and a newer text, and the margin of their similarity."""

    old: str
    new: str
    margin: float


def all_pairs(
    keys: Sequence[str], similar: Sequence[Sequence[float]], model: Model
) -> Iterator[Pair]:
    """All pairs of texts, oldest first."""
    for new, row in enumerate(similar):
        nearest = sorted(row[:new], reverse=True)[: OTHERS + 1]
        for old, similarity in zip(keys[:new], row[:new], strict=True):
            yield Pair(old, keys[new], margin(similarity, nearest, model.unrelated))


def margin(similarity: float, nearest: Sequence[float], unrelated: float) -> float:
    """How much more similar the two are than others on average; theirs may be one of the nearest."""
    others = [*nearest]
    if similarity in others:
        others.remove(similarity)
    return similarity - sum([*others, *(OTHERS * [unrelated])][:OTHERS]) / OTHERS


def by_letters(texts: Iterable[str]) -> list[list[float]]:
    """The similarity of each text to each: the cosine of the rare groups of letters that their words have in common,
    so that other forms of a word and parts of a compound count, too. A Chinese character counts by itself."""
    having: dict[str, list[int]] = {}
    size = 0
    for place, text in enumerate(texts):
        size = place + 1
        for gram in {
            gram for word in _WORD.findall(without_days(text).lower()) for gram in _grams(word)
        }:
            having.setdefault(gram, []).append(place)
    rows = [[0.0] * size for _ in range(size)]
    for places in having.values():
        weight = math.log(1 + size / len(places)) ** 2
        for one, other in product(places, places):
            rows[one][other] += weight
    norms = [math.sqrt(rows[place][place]) or 1.0 for place in range(size)]
    return [
        [shared / (norms[one] * norms[other]) for other, shared in enumerate(row)]
        for one, row in enumerate(rows)
    ]


def _grams(word: str) -> Iterable[str]:
    if word >= HAN[0]:
        return word
    whole = f" {word} "
    return [whole[at : at + _GRAM] for at in range(max(1, len(whole) - _GRAM + 1))]


def signs(pairs: Iterable[Pair], texts: Mapping[str, Text]) -> Iterator[tuple[Pair, Signs]]:
    """The pairs of short texts with their signs. What only might be, or was before, is not newer."""
    short = {key: without_days(text.words) for key, text in texts.items() if len(text.words) <= CAP}
    readings = {key: read(plain(text)) for key, text in short.items()}
    unreal = {key for key, text in short.items() if is_unreal(text)}
    counts = Counter(stem for reading in readings.values() for stem in reading.stems)
    total = math.log(max(_FEW, len(readings)))
    for pair in pairs:
        if not {pair.old, pair.new} <= readings.keys() or pair.new in unreal:
            continue
        before, after = readings[pair.old], readings[pair.new]
        shared = before.stems & after.stems
        # Two Chinese characters are a word.
        rare = sum((1 - math.log(counts[x]) / total) / (1 + (x >= HAN[0])) for x in shared)
        apart = texts[pair.new].created - texts[pair.old].created
        is_change = after.cue or is_turn(short[pair.new])
        is_denial = before.denied != after.denied
        yield pair, Signs(pair.margin, rare, is_change, is_denial, apart < _DAY / 2)


def is_turn(text: str) -> bool:
    """Whether it signals a change less surely than a cue does, or corrects something."""
    return CORRECTS.search(text) is not None or _TURN.search(text) is not None


def are_apart(old: str, new: str) -> bool:
    """Whether the two are about two subjects."""
    from vaultmem.dreams.asides import have_two_subjects  # few pairs are likely

    return have_two_subjects(plain(old), plain(new))


def is_certain(odds: float, signs: Signs, model: Model, old: str, new: str) -> bool:
    """Whether a newer text takes the place of an older one about the same subject, which must not state more."""
    if odds <= model.certain or not signs.change:
        return False
    from vaultmem.dreams.endings import states_more  # few are certain

    return not (states_more(plain(old), plain(new)) or are_apart(old, new))


def probable(new: Text, olds: Sequence[Text], cosines: Sequence[float | None]) -> list[bool]:
    """Which older texts the newer one probably changes; by their cosines to it, if all are known."""
    row = [cosine for cosine in cosines if cosine is not None]
    model = BY_MEANING if len(row) == len(olds) else BY_WORDS
    if model is BY_WORDS:
        *row, _ = by_letters([*(old.words for old in olds), new.words])[-1]
    nearest = sorted(row, reverse=True)[: OTHERS + 1]
    texts = {str(number): old for number, old in enumerate(olds)} | {"new": new}
    pairs = [
        Pair(old, "new", margin(similarity, nearest, model.unrelated))
        for old, similarity in zip(texts, row, strict=False)
    ]
    named = {
        pair.old
        for pair, own in signs(pairs, texts)
        if own.change
        and model.odds(own) > PROBABLE
        and not are_apart(texts[pair.old].words, new.words)
    }
    return [str(number) in named for number in range(len(olds))]
