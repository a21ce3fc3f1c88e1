"""What a short text says, as it compares with another one: words, names, numbers, denials, statements."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from vaultmem.adapter import Statement
from vaultmem.light import NamedTuple
from vaultmem.plugins import language
from vaultmem.text.values import lazy

CAP = 400  # characters: a longer text states more than one thing
NAME, NUMBER, WORD = "name", "number", "word"

HAN = "\u3040-\u30ff\u3400-\u9fff"
_HAN_NAME = (
    "[小老阿][王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕]"
)
_ASCII_TOKEN = lazy(r"\d+(?:[.,:/-]\d+)*|[^\W\d_](?:\w|'(?=\w)|[.](?=[^\W\d_]))*")
_TOKEN = lazy(  # the same with the wide characters, which take 4 ms to compile
    rf"{_HAN_NAME}|\d+(?:[.,:/-]\d+)*|[^\W\d_{HAN}](?:[^\W{HAN}]|['’](?=\w)|[.](?=[^\W\d_{HAN}]))*|[{HAN}]"
)
STOP = frozenset(
    "a an the this that these those it its is are was were be been being am do does did has have had will would shall"
    " should can could must to of in on at for from by with as and or but so than then there here i me my mine we us"
    " our you your he she they him her his their them user s t please only just very also".split()
) | frozenset("的是在也就都和与及着过我你他她它们用户这那个一有为把被")
CUES = lazy(
    r"\b(?:now(?:adays)?|new|moved?|moving|instead(?: of)?|no longer|not? (?:\w+ ){0,3}any ?more|switch(?:ed)?|"
    r"chang(?:ed|es)|became|replaced?|replaces|stopped|quit|gave up|given up|from now on|from \w+(?: on)? |since|"
    r"extended|postponed|rescheduled|raised|lowered|increased|reduced|upgraded|downgraded|migrated|dropped|sold|closed|"
    r"took over|relocated|these days|rewritten|turned|went up|went down|started|again|gone|against|got)\b"
    r"|现在|以后|今后|开始|已经|改[为用到成]?|换成?|搬到?|迁移?|不再|新的?|升级到?|推迟|延期?|降[到为]|增加到?|卖掉|戒",
    re.IGNORECASE,
)
DENIAL = lazy(r"\b(?:not|no|never|none|without|cannot|\w+n['’]t)\b|[不没未别戒]", re.IGNORECASE)
_SEVERAL = lazy(  # of these one can have several at a time
    r"\b(?:like|love|enjoy|dislike|hate|has|have|had|speak|know|own|allerg\w+|deci(?:ded|sion)|lesson|learn\w*|play|visit|"
    r"ask|also|too)s?\b|喜欢|爱|讨厌|会说|有一|家里有|过敏|决定|教训|在学|也",
    re.IGNORECASE,
)
_OTHER_TIME = lazy(
    r"\b(?:might|maybe|perhaps|some day|used to|old|formerly|if|when|plans?|in (?:19|20)\d\d|(?:19|20)\d\d:)\b"
    r"|\b(?-i:may)\b|以前|可能|将来|如果|明年|(?:19|20)\d\d年",
    re.IGNORECASE,
)
_WHEN = lazy(
    r",? (?:in|since) (?:January|February|March|April|May|June|July|August|September|October|November|December)\b"
    r"|,? (?:last|this) (?:week|month|year|spring|summer|autumn|winter)\b"
    r"|,? on (?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b|,? yesterday\b"
)
_WHICH = lazy(r"([^\W\d_]{2,}) (\d{1,3})(?![.,:%/-]?[\w%])(?: ([^\W\d_]+))?")
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
    cue: bool
    denied: bool
    several: bool
    event: bool
    other_time: bool
    which: frozenset[str]  # numbers that tell things of a kind apart: "team 3"


@lru_cache(4096)
def read(text: str) -> Reading:
    """Read it."""
    tokens = words_of(text)
    return Reading(
        tokens,
        frozenset(token.stem for token in tokens),
        frozenset(token.stem for token in tokens if token.kind == NAME),
        frozenset(token.stem for token in tokens if token.kind == NUMBER),
        CUES.search(text) is not None,
        DENIAL.search(text) is not None,
        _SEVERAL.search(text) is not None,
        is_event(text),
        _OTHER_TIME.search(text) is not None,
        frozenset(_which(text)),
    )


@lru_cache(4096)
def words_of(text: str) -> tuple[Token, ...]:
    """The words that carry meaning, without those that only speak of a change."""
    return tuple(tokens_of(CUES.sub(" ", text)))


def _which(text: str) -> Iterator[str]:
    for match in _WHICH.finditer(text):
        if match[1].lower() not in STOP and (match[3] or "the").lower() in STOP:
            yield match[2]


@lru_cache(4096)
def facts(text: str) -> tuple[Statement, ...]:
    """Its statements, also of a note to oneself ("Moved to Porto in March"); what we do, the user does."""
    plain = _WHEN.sub("", text)
    stated = language().statements(plain)
    if plain:
        stated = [*stated, *language().statements(f"I {plain[0].lower()}{plain[1:]}")]
    return tuple(fact._replace(subject="user") if fact.subject == "we" else fact for fact in stated)


def facts_of_both(one: str, other: str) -> tuple[tuple[Statement, ...], tuple[Statement, ...]]:
    """The statements of two texts that are to be compared; those of the second only where the first has any."""
    stated = facts(one)
    return stated, facts(other) if stated else ()


def tokens_of(text: str) -> list[Token]:
    """The words that carry meaning."""
    words = enumerate((_ASCII_TOKEN if text.isascii() else _TOKEN).findall(text))
    results = (_token(word, is_first=number == 0) for number, word in words)
    return [token for token in results if token is not None]


@lru_cache(16_384)
def _token(word: str, *, is_first: bool) -> Token | None:
    plain = word.lower().removesuffix("'s").removesuffix("’s")
    return None if plain in STOP else Token(stem(plain), _kind(word, is_first=is_first))


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


# What a memory is in time: a fact, a preference, an event, a working note. It decides how long the memory lives.

EVENT = lazy(
    r"^\W*(?:session(?: notes?)?|meeting notes|log|diary|minutes)\b\W"
    r"|^\W*(?:[\d-]{4,10}[\W]+)?(?:(?:today|yesterday|this morning|last (?:night|week)|on \w+day)\W+)?"
    r"(?:(?:I|we|the user|user|he|she|they) )?(?:(?:have|has|had|just|also) )?"
    r"(?:asked|ate|bought|booked|called|checked|cleaned|compared|debugged|discussed|drafted|drove|explained|fixed|flew|"
    r"found|had (?:a |lunch|dinner|breakfast|coffee)|helped|installed|investigated|listened|looked|made|measured|met|"
    r"ordered|paid|planned|played|prepared|printed|profiled|ran|read|refactored|released|repaired|replied|reported|"
    r"researched|reviewed|rotated|said|saw|searched|sent|shipped|shopped|sorted|spent|spoke|summari[sz]ed|talked|"
    r"tested|told|tried|translated|visited|walked|watched|went|worked|wrote)\b"
    r"|(?<!\w)(?:yesterday|today|this morning|last night|just now)(?!\w|['’])"
    r"|今[天早晚]|昨[天晚]|前天|刚才|刚刚|上周|^会话|(?:讨论|修复|发布|完成|帮\S{1,4}写|去|见|看|交|付|花)了|给\S{1,4}打电话",
    re.IGNORECASE,
)
LASTING = lazy(
    r"(?<!\w)(?:decid\w+|decision|agreed|lesson|learned|rule|always|never|must|since|until|from now on|no longer|"
    r"any ?more|now (?!\w+ing)|born|died|married|moved (?:to|from|in)|is|are)(?!\w)"
    r"|决定|教训|改|换|搬|退休|毕业|结婚|出生|不再|以后|必须",
    re.IGNORECASE,
)
WORKING = lazy(
    r"(?<!\w)(?:right now|for now|at the moment|in progress|currently \w+ing|now \w+ing|working on|next step (?:is|:)|"
    r"(?:in )?this (?:session|conversation|chat)|until this is done|half[- ]done)(?!\w)"
    r"|正在|目前正|本次(?:会话|对话)|这次(?:会话|对话)|下一步",
    re.IGNORECASE,
)

ABOUT_PERSON = lazy(
    r"^\W*(?:(?:the )?user(?!\w)|I(?!\w)|my(?!\w)|用户|我(?!们)|本人)", re.IGNORECASE
)


def is_event(text: str) -> bool:
    """Whether it tells what was done, and nothing that lasts."""
    texts = text[:CAP]
    return EVENT.search(texts) is not None and LASTING.search(texts) is None


def is_about_person(text: str) -> bool:
    """Whether it states something about the person: who is named first is them, and nothing is asked."""
    return ABOUT_PERSON.match(text) is not None and not text.rstrip().endswith(("?", "？"))


def is_working_note(text: str) -> bool:
    """Whether it tells what is being done now and will be over soon."""
    return WORKING.search(text[:CAP]) is not None
