"""What a short text says, as it compares with another one: words, names, numbers, denials, statements."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from vaultmem.languages.statements import Statement, statements
from vaultmem.memories.model import is_event

CAP = 400  # characters: a longer text states more than one thing
NAME, NUMBER, WORD = "name", "number", "word"

HAN = "\u3040-\u30ff\u3400-\u9fff"
_HAN_NAME = (
    "[小老阿][王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕]"
)
_TOKEN = re.compile(
    rf"{_HAN_NAME}|\d+(?:[.,:/-]\d+)*|[^\W\d_{HAN}](?:[^\W{HAN}]|['’](?=\w)|[.](?=[^\W\d_{HAN}]))*|[{HAN}]"
)
STOP = frozenset(
    "a an the this that these those it its is are was were be been being am do does did has have had will would shall"
    " should can could must to of in on at for from by with as and or but so than then there here i me my mine we us"
    " our you your he she they him her his their them user s t please only just very also".split()
) | frozenset("的是在也就都和与及着过我你他她它们用户这那个一有为把被")
CUES = re.compile(
    r"\b(?:now(?:adays)?|new|moved?|moving|instead(?: of)?|no longer|not? (?:\w+ ){0,3}any ?more|switch(?:ed)?|"
    r"chang(?:ed|es)|became|replaced?|replaces|stopped|quit|gave up|given up|from now on|from \w+(?: on)? |since|"
    r"extended|postponed|rescheduled|raised|lowered|increased|reduced|upgraded|downgraded|migrated|dropped|sold|closed|"
    r"took over|relocated|these days|rewritten|turned|went up|went down|started|again|gone|against|got)\b"
    r"|现在|以后|今后|开始|已经|改[为用到成]?|换成?|搬到?|迁移?|不再|新的?|升级到?|推迟|延期?|降[到为]|增加到?|卖掉|戒",
    re.IGNORECASE,
)
DENIAL = re.compile(
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


class Token(NamedTuple):
    """A word that carries meaning: its stem, and NAME, NUMBER or WORD."""

    stem: str
    kind: str


class Reading(NamedTuple):
    """What the features need of one text."""

    tokens: tuple[Token, ...]
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


@lru_cache(4096)
def read(text: str) -> Reading:
    """Read it."""
    tokens = tuple(tokens_of(CUES.sub(" ", text)))
    return Reading(
        tokens,
        frozenset(token.stem for token in tokens),
        frozenset(token.stem for token in tokens if token.kind == NAME),
        frozenset(token.stem for token in tokens if token.kind == NUMBER),
        tuple(facts(text)),
        CUES.search(text) is not None,
        DENIAL.search(text) is not None,
        _SEVERAL.search(text) is not None,
        is_event(text),
        _OTHER_TIME.search(text) is not None,
        frozenset(_which(text)),
    )


def _which(text: str) -> Iterator[str]:
    for found in _WHICH.finditer(text):
        if found[1].lower() not in STOP and (found[3] or "the").lower() in STOP:
            yield found[2]


def facts(text: str) -> Iterator[Statement]:
    """Its statements, also of a note to oneself ("Moved to Porto in March"); what we do, the user does."""
    plain = _WHEN.sub("", text)
    for fact in (
        *statements(plain),
        *(statements(f"I {plain[0].lower()}{plain[1:]}") if plain else ()),
    ):
        yield fact._replace(subject="user") if fact.subject == "we" else fact


def tokens_of(text: str) -> list[Token]:
    """The words that carry meaning."""
    found: list[Token] = []
    for number, match in enumerate(_TOKEN.finditer(text)):
        word = match[0]
        plain = word.lower().removesuffix("'s").removesuffix("’s")
        if plain not in STOP:
            found.append(Token(stem(plain), _kind(word, is_first=number == 0)))
    return found


def _kind(word: str, *, is_first: bool) -> str:
    if word[0].isdigit():
        return NUMBER
    if len(word) > 1 and word[0] in "小老阿":
        return NAME
    inner = word[1:] if is_first else word
    return WORD if inner == inner.lower() else NAME


def stem(word: str) -> str:
    """A word in lower case without its ending."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)].rstrip("e")
    return word.rstrip("e") if len(word) > 3 else word
