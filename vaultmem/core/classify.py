"""The category of a memory by what it says, in English and Chinese: weighted signals, and what an embedding adds.

Each category collects the weights of its signals and, where the caller knows how close the text's meaning is to the
category's prototypes (core.prototypes), that closeness above the mean of all. A softmax over these sums, with one more
seat for "none of them", is the confidence; below THRESHOLD the memory stays in the inbox.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import NamedTuple

from vaultmem.core.memory import CATEGORIES, INBOX
from vaultmem.core.signals import SIGNALS, Signal

CAP = 4000  # characters; what a text is about shows early
THRESHOLD = 0.5  # of ten memories that clear it, nine are filed rightly: see benchmarks/classify.py
TARGETS = tuple(category for category in CATEGORIES if category != INBOX)
SHARPNESS = 1.2  # of the softmax
NONE_OF_THEM = 1.0  # the sum that "none of them" has without a word for it
CLOSENESS_WEIGHT = 8.0  # of one whole cosine above the mean
IMPERSONAL = 1.6  # for knowledge: a text that speaks of nobody
_MOST_SHOWN = 6

_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")
_DENIAL = re.compile(
    r"(?:(?<!\w)(?:not|never|no|nobody|without|cannot|hardly|yet to)|n['’]t)(?:\s+\w+){0,2}\s*$"
    r"|(?:还没有?|没有?|尚未|未|并未|不用|无需|不必|别再?|不要)[\u4e00-\u9fff]{0,2}$"
)
_DENIAL_REACH = 32
_PERSON = re.compile(
    r"(?<!\w)(?:i|i['’]\w+|me|my|mine|we|us|our|you|your|he|she|him|her|his|they|their|who|user|users|team|someone|nobody|"
    r"people|customers?|please|today|tomorrow|yesterday|next|last|let['’]s|(?:mon|tues|wednes|thurs|fri|satur|sun)days?)(?!\w)"
    r"|[我你他她谁请您咱]|用户|大家|助手|团队|同事|客户|妈|爸|[今明昨后]天|周[一二三四五六日末]|星期|上周|下周|记得|\d月|[月年]底|了[，。！]|了$",
)


class Scored(NamedTuple):
    """Sums of weights by category, those with any, and the signals behind them, strongest first."""

    scores: Mapping[str, float]
    why: tuple[str, ...]


class Verdict(NamedTuple):
    """What a text is; `category` is None where nobody can be sure enough."""

    category: str | None
    confidence: float  # 0.0 to 1.0, of the best category even where it is not given
    why: tuple[str, ...]  # 'preferences: "prefers" +2.6'
    scores: Mapping[str, float]


class _Hit(NamedTuple):
    category: str
    word: str
    weight: float


def scores(text: str) -> Scored:
    """What the signals alone say."""
    hits = _hits(text[:CAP])
    sums = {"knowledge": IMPERSONAL} if _is_impersonal(text[:CAP]) else {}
    for hit in hits:
        sums[hit.category] = round(sums.get(hit.category, 0.0) + hit.weight, 4)
    hits.sort(key=lambda hit: (-hit.weight, hit.category, hit.word))
    why = [f'{hit.category}: "{hit.word}" +{hit.weight:g}' for hit in hits]
    if "knowledge" in sums and _is_impersonal(text[:CAP]):
        why.append(f"knowledge: speaks of nobody +{IMPERSONAL:g}")
    return Scored(sums, tuple(why))


def classify(text: str, closeness: Mapping[str, float] | None = None) -> Verdict:
    """The category of a text. `closeness`: cosines by category, see core.prototypes.closeness."""
    found = scores(text)
    sums = {category: found.scores.get(category, 0.0) for category in TARGETS}
    for category, extra in _lifted(closeness).items():
        sums[category] += extra
    best = max(sums, key=sums.__getitem__)
    confidence = round(_share(sums, best), 4)
    why = [line for line in found.why if line.startswith(f"{best}: ")][:_MOST_SHOWN]
    if closeness and best in closeness:
        why.append(f"{best}: close in meaning ({closeness[best]:.2f})")
    rounded = {category: round(total, 4) for category, total in sums.items()}
    return Verdict(best if confidence >= THRESHOLD else None, confidence, tuple(why), rounded)


def _is_impersonal(text: str) -> bool:
    """Whether a text of some length speaks of no person and of no day: facts are told so."""
    return len(text.split()) + len(_HAN.findall(text)) > 3 and not _PERSON.search(text.lower())


def _hits(text: str) -> list[_Hit]:
    folded = text.lower()
    han = _HAN.search(folded) is not None
    latin = re.search(r"[a-z]", folded) is not None
    hits: list[_Hit] = []
    for signal in SIGNALS:
        if han if signal.han else latin:
            hits += _of_signal(signal, folded)
    return hits


def _of_signal(signal: Signal, text: str) -> list[_Hit]:
    words: list[str] = []
    for match in signal.pattern.finditer(text):
        word = match[0].strip()
        if not word or word in words or (signal.deniable and _is_denied(text, match.start())):
            continue
        words.append(word)
        if len(words) == 2:
            break
    return [_Hit(signal.category, word, signal.weight) for word in words]


def _is_denied(text: str, at: int) -> bool:
    return _DENIAL.search(text[max(0, at - _DENIAL_REACH) : at]) is not None


def _lifted(closeness: Mapping[str, float] | None) -> dict[str, float]:
    """What each category gains by being closer in meaning than the others; loses, if further."""
    given = (closeness or {}).items()
    known = {c: min(1.0, max(-1.0, v)) for c, v in given if c in TARGETS and math.isfinite(v)}
    if not known:
        return {}
    mean = sum(known.values()) / len(known)
    return {category: CLOSENESS_WEIGHT * (v - mean) for category, v in known.items()}


def _share(sums: Mapping[str, float], best: str) -> float:
    top = max(*sums.values(), NONE_OF_THEM)
    odds = {category: math.exp(SHARPNESS * (value - top)) for category, value in sums.items()}
    return odds[best] / (sum(odds.values()) + math.exp(SHARPNESS * (NONE_OF_THEM - top)))
