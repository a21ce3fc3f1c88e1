"""Whether a newer statement replaces an older one, says the same, or holds beside it.

One mechanism for every subject: a score from twenty features of two short texts (what they share, where they differ,
whether the newer one speaks of a change) in two linear models. `benchmarks/pairs.py` fits the weights on labelled pairs
of statements and reports precision and recall on the half that is held out.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from typing import NamedTuple

from vaultmem.core.kinds import is_event
from vaultmem.core.statements import Statement, contradicts, statements

CAP = 400  # characters: a longer text states more than one thing
LONGEST_VALUE = 5  # tokens
REPLACES, SAME, APART = "replaces", "same", "apart"
NAME, NUMBER, WORD = "name", "number", "word"

_HAN = "\u3040-\u30ff\u3400-\u9fff"
_HAN_NAME = (
    "[小老阿][王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕]"
)
_TOKEN = re.compile(
    rf"{_HAN_NAME}|\d+(?:[.,:/-]\d+)*|[^\W\d_{_HAN}](?:[^\W{_HAN}]|['’](?=\w)|[.](?=[^\W\d_{_HAN}]))*|[{_HAN}]"
)
_STOP = frozenset(
    "a an the this that these those it its is are was were be been being am do does did has have had will would shall"
    " should can could must to of in on at for from by with as and or but so than then there here i me my mine we us"
    " our you your he she they him her his their them user s t please only just very also".split()
) | frozenset("的是在也就都和与及着过我你他她它们用户这那个一有为把被")
_CUES = re.compile(
    r"\b(?:now(?:adays)?|new|moved?|moving|instead(?: of)?|no longer|not? (?:\w+ ){0,3}any ?more|switch(?:ed)?|"
    r"chang(?:ed|es)|became|replaced?|replaces|stopped|quit|gave up|given up|from now on|from \w+(?: on)? |since|"
    r"extended|postponed|rescheduled|raised|lowered|increased|reduced|upgraded|downgraded|migrated|dropped|sold|closed|"
    r"took over|relocated|these days|rewritten|turned|went up|went down|started|again|gone|against|got)\b"
    r"|现在|以后|今后|开始|已经|改[为用到成]?|换成?|搬到?|迁移?|不再|新的?|升级到?|推迟|延期?|降[到为]|增加到?|卖掉|戒",
    re.IGNORECASE,
)
_DENIAL = re.compile(
    r"\b(?:not|no|never|none|without|cannot|\w+n['’]t)\b|[不没未别戒]", re.IGNORECASE
)
_SEVERAL = re.compile(  # of these one can have several at a time
    r"\b(?:like|love|enjoy|dislike|hate|has|have|had|speak|know|own|allerg\w+|deci(?:ded|sion)|lesson|learn\w*|play|visit|"
    r"ask|also|too)s?\b|喜欢|爱|讨厌|会说|有一|家里有|过敏|决定|教训|在学|也",
    re.IGNORECASE,
)
_OTHER_TIME = re.compile(
    r"\b(?:might|maybe|perhaps|some day|used to|old|formerly|if|when|plans?|in (?:19|20)\d\d|(?:19|20)\d\d:)\b"
    r"|\b(?-i:may)\b|以前|可能|将来|如果|明年|(?:19|20)\d\d年",
    re.IGNORECASE,
)
_WHEN = re.compile(
    r",? (?:in|since) (?:January|February|March|April|May|June|July|August|September|October|November|December)\b"
    r"|,? (?:last|this) (?:week|month|year|spring|summer|autumn|winter)\b"
    r"|,? on (?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b|,? yesterday\b"
)
_WHICH = re.compile(r"([^\W\d_]{2,}) (\d{1,3})(?![.,:%/-]?[\w%])(?: ([^\W\d_]+))?")
_ENDINGS = ("ing", "ies", "ied", "es", "ed", "s")
_NEVER = -5.0
_MANY, _SPREAD = 6, 0.3  # texts, and the share of them that makes a word of theirs a common one
_FAR = 5.0
_USUAL = 0.5  # the cosine of two statements when nobody knows it


class Relation(NamedTuple):
    """What a newer text is to an older one; scores are log odds."""

    kind: str  # REPLACES, SAME or APART
    replaces: float
    same: float
    contradicts: bool  # by what the two say of one property


class _Token(NamedTuple):
    stem: str
    kind: str


class _Reading(NamedTuple):
    """What the features need of one text."""

    tokens: tuple[_Token, ...]
    stems: frozenset[str]
    names: frozenset[str]
    numbers: frozenset[str]
    facts: tuple[Statement, ...]
    cue: bool
    denied: bool
    several: bool
    event: bool
    other_time: bool
    which: frozenset[str]  # numbers that tell things of a kind apart: "team 3"


def relations(
    new: str, olds: Sequence[str], similarities: Sequence[float | None] | None = None
) -> list[Relation]:
    """What a newer text is to each of some older ones, found because they are near to it. An event replaces
    nothing; else it replaces at most one of them, and those that say the same as that one. `similarities`: their
    cosines to the newer one, where a model knows."""
    shared = widespread(olds)
    known = similarities or [None] * len(olds)
    scored: list[Relation] = []
    near = [
        alike(old, new) if each is None else each for old, each in zip(olds, known, strict=True)
    ]
    nearest = max(near, default=0.0)
    for old, similarity, closeness in zip(olds, known, near, strict=True):
        found = features(old, new, similarity, shared, is_nearest=closeness == nearest)
        same = _score(_SAME, found)
        are_two = _are_two(old, new)
        replaces = _NEVER if are_two else replacing(found, _REPLACES)
        kind = SAME if same > _ALIKE and not are_two else APART
        scored.append(Relation(kind, replaces, same, bool(found["contradicts"])))
    best = max(
        range(len(olds)), key=lambda at: (scored[at].contradicts, scored[at].replaces), default=None
    )
    if best is None or is_event(new) or scored[best].replaces <= scored[best].same:
        return scored
    if not scored[best].contradicts and _certainty(new, scored, scored[best]) <= _CERTAIN:
        return scored
    return [
        each._replace(kind=REPLACES)
        if at == best
        or (each.contradicts and each.replaces > each.same)
        or _is_twin(olds[at], olds[best], each)
        else each
        for at, each in enumerate(scored)
    ]


def _are_two(old: str, new: str) -> bool:
    """Whether the texts name two things of a kind by their numbers ("team 3", "team 4"), and not a change."""
    a, b = _read(old[:CAP]), _read(new[:CAP])
    return bool(a.which and b.which) and a.which != b.which and not b.cue


def replacing(found: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """How likely it is, by these features, that one text replaces the other. What says all that the other one says
    denies nothing of it, and a cue alone is about nothing."""
    if not (found["shared"] or found["contradicts"] or found["meaning"] > _USUAL):
        return _NEVER
    if not (found["lost"] and found["gained"]) and not found["denied in one"]:
        return _NEVER
    return max(_NEVER, _score(weights, found))


def signs(new: str, scores: Sequence[float], *, contradicts: bool) -> tuple[float, ...]:
    """What tells whether the newer text replaces the best of the older ones: that one's score and its distance to the
    second, whether the text speaks of a change, and whether the two contradict each other."""
    first, second = [*sorted(scores, reverse=True), _NEVER][:2]
    margin, cue = min(_FAR, first - second), float(_read(new[:CAP]).cue)
    return first, margin, cue, cue * margin, cue * first, float(contradicts)


def _certainty(new: str, scored: Sequence[Relation], best: Relation) -> float:
    found = signs(new, [each.replaces for each in scored], contradicts=best.contradicts)
    return math.fsum(weight * part for weight, part in zip(_CERTAINTY, (*found, 1.0), strict=True))


def _is_twin(text: str, replaced: str, found: Relation) -> bool:
    """Whether a text is replaced together with another one, which says the same."""
    if found.replaces <= found.same:
        return False
    return _score(_SAME, features(text, replaced)) > _ALIKE


def widespread(texts: Sequence[str]) -> frozenset[str]:
    """Words that many of the texts have: the name of what all of them are about tells them apart no more."""
    if len(texts) < _MANY:
        return frozenset()
    counted = Counter(stem for text in texts for stem in _read(text[:CAP]).stems)
    return frozenset(stem for stem, count in counted.items() if count > _SPREAD * len(texts))


def alike(old: str, new: str) -> float:
    """The share of words that two texts have in common: what stands in for the cosine where no model is at hand."""
    a, b = stems(old), stems(new)
    return len(a & b) / max(1, len(a | b))


def may_contradict(old: str, new: str) -> bool:
    """Whether two texts are likelier to speak of the same thing than not, and say different things of it."""
    if max(len(old), len(new)) > CAP:
        return False
    (found,) = relations(new, [old])
    return found.contradicts or found.replaces > max(0.0, found.same)


def properties(text: str) -> str:
    """The words for what a text states ("lives in" of "moved to Porto"): older texts may have them in its place."""
    return " ".join(dict.fromkeys(fact.property for fact in _read(text[:CAP]).facts))


def stems(text: str) -> frozenset[str]:
    """The words of a text that carry meaning, as they compare."""
    return _read(text[:CAP]).stems


def features(
    old: str,
    new: str,
    similarity: float | None = None,
    common: frozenset[str] = frozenset(),
    *,
    is_nearest: bool = False,
) -> dict[str, float]:
    """What the models look at, each from 0 to 1; `common` words tell nothing. `is_nearest`: no other one is
    closer to the newer text."""
    a, b = _without(_read(old[:CAP]), common), _without(_read(new[:CAP]), common)
    lost, gained, shared = a.stems - b.stems, b.stems - a.stems, a.stems & b.stems
    head, is_value = _difference(a.tokens, b.tokens)
    topics, others = ({fact.subject for fact in text.facts} for text in (a, b))
    several, elsewhen = a.several and b.several, a.other_time or b.other_time
    found: dict[str, float] = {
        "shared": 2 * len(shared) / max(1, len(a.stems) + len(b.stems)),
        "beginning": head / max(1, len(a.tokens), len(b.tokens)),
        "beginning differs": bool(a.tokens and b.tokens) and not head,
        "equal": a.stems == b.stems,
        "lost": min(4, len(lost)) / 4,
        "gained": min(6, len(gained)) / 6,
        "names differ": bool(a.names & lost) and bool(b.names & gained),
        "name gained": bool(b.names & gained),
        "numbers differ": bool(a.numbers - b.numbers) and bool(b.numbers - a.numbers),
        "numbers same": bool(a.numbers & b.numbers),
        "number in one": bool(a.numbers) != bool(b.numbers),
        "cue": b.cue,
        "cue and shared": _in_order(a.tokens, b.tokens) if b.cue else 0.0,
        "cue before": a.cue,
        "denied in one": a.denied != b.denied,
        "contradicts": any(contradicts(one, other) for one in b.facts for other in a.facts),
        "other subject": bool(topics) and bool(others) and topics.isdisjoint(others),
        "one value": is_value and not (several or a.event or elsewhen),
        "several": several,
        "event": a.event,
        "meaning": _USUAL if similarity is None else similarity,
        "cue and meaning": (_USUAL if similarity is None else similarity) * b.cue,
        "nearest": is_nearest,
        "cue and nearest": is_nearest and b.cue,
    }
    return {name: float(value) for name, value in found.items()}


def _without(text: _Reading, common: frozenset[str]) -> _Reading:
    if text.stems.isdisjoint(common):
        return text
    return text._replace(
        tokens=tuple(token for token in text.tokens if token.stem not in common),
        stems=text.stems - common,
        names=text.names - common,
        numbers=text.numbers - common,
    )


@lru_cache(4096)
def _read(text: str) -> _Reading:
    tokens = tuple(_tokens(_CUES.sub(" ", text)))
    return _Reading(
        tokens,
        frozenset(token.stem for token in tokens),
        frozenset(token.stem for token in tokens if token.kind == NAME),
        frozenset(token.stem for token in tokens if token.kind == NUMBER),
        tuple(_facts(text)),
        _CUES.search(text) is not None,
        _DENIAL.search(text) is not None,
        _SEVERAL.search(text) is not None,
        is_event(text),
        _OTHER_TIME.search(text) is not None,
        frozenset(_which(text)),
    )


def _which(text: str) -> Iterator[str]:
    for found in _WHICH.finditer(text):
        if found[1].lower() not in _STOP and (found[3] or "the").lower() in _STOP:
            yield found[2]


def _facts(text: str) -> Iterator[Statement]:
    """Its statements, also of a note to oneself ("Moved to Porto in March"); what we do, the user does."""
    plain = _WHEN.sub("", text)
    for fact in (
        *statements(plain),
        *(statements(f"I {plain[0].lower()}{plain[1:]}") if plain else ()),
    ):
        yield fact._replace(subject="user") if fact.subject == "we" else fact


def _tokens(text: str) -> list[_Token]:
    """The words that carry meaning."""
    found: list[_Token] = []
    for number, match in enumerate(_TOKEN.finditer(text)):
        word = match[0]
        plain = word.lower().removesuffix("'s").removesuffix("’s")
        if plain not in _STOP:
            found.append(_Token(_stem(plain), _kind(word, is_first=number == 0)))
    return found


def _kind(word: str, *, is_first: bool) -> str:
    if word[0].isdigit():
        return NUMBER
    if len(word) > 1 and word[0] in "小老阿":
        return NAME
    inner = word[1:] if is_first else word
    return WORD if inner == inner.lower() else NAME


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)].rstrip("e")
    return word.rstrip("e") if len(word) > 3 else word


def _in_order(a: Sequence[_Token], b: Sequence[_Token]) -> float:
    """The share of tokens that both have in the same order."""
    blocks = SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks()
    return 2 * sum(block.size for block in blocks) / max(1, len(a) + len(b))


def _difference(a: Sequence[_Token], b: Sequence[_Token]) -> tuple[int, bool]:
    """How many tokens both begin with, and whether they differ in nothing but one short stretch behind those."""
    most = min(len(a), len(b))
    head = next((at for at in range(most) if a[at].stem != b[at].stem), most)
    rest = most - head
    foot = next((at for at in range(rest) if a[-1 - at].stem != b[-1 - at].stem), rest)
    between = len(a) - head - foot, len(b) - head - foot
    return head, head > 0 and all(0 < length <= LONGEST_VALUE for length in between)


def _score(weights: Mapping[str, float], found: Mapping[str, float]) -> float:
    return weights[""] + math.fsum(weights[name] * value for name, value in found.items())


# From here on: python benchmarks/pairs.py --weights
_REPLACES: Mapping[str, float] = {
    "shared": 2.21,
    "beginning": 1.52,
    "beginning differs": -0.15,
    "equal": -2.56,
    "lost": -1.26,
    "gained": -0.4,
    "names differ": 0.33,
    "name gained": 0.1,
    "numbers differ": 0.3,
    "numbers same": -2.2,
    "number in one": -0.25,
    "cue": 0.18,
    "cue and shared": 2.59,
    "cue before": -2.54,
    "denied in one": 0.26,
    "contradicts": 2.87,
    "other subject": -0.34,
    "one value": 0.84,
    "several": -0.87,
    "event": -1.15,
    "meaning": 0.96,
    "cue and meaning": 0.76,
    "nearest": 1.38,
    "cue and nearest": 1.87,
    "": -4.22,
}
_CERTAINTY = (0.38, 0.44, 0.83, 0.07, 0.13, 0.7, -1.9)
_CERTAIN = 0.75
_SAME: Mapping[str, float] = {
    "shared": 2.61,
    "beginning": -0.99,
    "beginning differs": 0.13,
    "equal": 1.97,
    "lost": -1.31,
    "gained": -0.91,
    "names differ": -0.23,
    "name gained": -0.28,
    "numbers differ": -0.35,
    "numbers same": 1.62,
    "number in one": -0.17,
    "cue": -0.19,
    "cue and shared": -1.33,
    "cue before": 0.64,
    "denied in one": 0.44,
    "contradicts": -1.08,
    "other subject": -0.07,
    "one value": 0.06,
    "several": 0.42,
    "event": -0.45,
    "meaning": 0.81,
    "cue and meaning": -0.39,
    "nearest": 1.12,
    "cue and nearest": -0.5,
    "": -4.54,
}
_ALIKE = 1.39
