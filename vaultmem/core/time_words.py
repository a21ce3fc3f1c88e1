"""Words of time that stand beside a time and belong to it, in English, Chinese and Japanese, and that no reading takes
in: "unless it rains", "twice", 农历. Who drops one of them means another time than was said.

A word counts where it can be nothing else, or where it touches the time; a noun, as in "the weekly report", does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from vaultmem.core.when_words import DAY_NAME, MONTH_NAME, ORDINAL_WORDS

_UNIT = (
    r"(?:sec|second|min|minute|hr|hour|day|night|morning|afternoon|evening|week|fortnight|weekend|weekday|workday"
    rf"|month|quarter|season|year|moon|{DAY_NAME})s?(?![a-z])"
)
_NTH = rf"(?:{'|'.join(ORDINAL_WORDS)}|last|\d{{1,2}}(?:st|nd|rd|th))"
_OFTEN = (
    r"(?:bi|semi-?|twice-?)?-?(?:weekly|monthly|yearly|annually)|fortnightly|hourly|daily|nightly|quarterly"
    r"|(?:bi|semi)-?annually"
)
_FEAST = (
    r"easter|thanksgiving|ramadan|eid|diwali|hanukkah|passover|pentecost|whitsun|lent|advent|carnival"
    r"|[a-z]+'s day|(?:boxing|labou?r|memorial|independence|veterans) day"
    r"|(?:chinese|lunar|jewish|islamic|persian|korean) new year"
)
_HAN_FEAST = "农历|阴历|旧历|旧暦|[闰閏]月|正月|腊月|冬月|除夕|春节|元宵节|清明节?|端午节?|七夕|中秋节?|重阳节?|冬至"
_FEASTS = re.compile(rf"(?<![a-z])(?:{_FEAST})(?![a-z])|{_HAN_FEAST}")
# Of how often something happens, wherever it stands.
_ANYWHERE = re.compile(
    rf"(?<![a-z])(?:(?:every|each|alternate|alternating) (?:(?!(?:on|at|in|this|next) )[\w.-]+ )?{_UNIT}"
    rf"|(?:once|twice|thrice|(?:\d+|two|three|four|five|several) times) (?:a|an|per|each|every) {_UNIT})"
    r"|每(?:隔)?(?:[\d一二两三四五六七八九十半]*个?(?:小时|分钟|刻钟|秒)|[天日早晚周年]|星期|礼拜|个?月)|おき|ごと"
)
# Of a rule, wherever it stands.
_OF_A_RULE = re.compile(
    rf"(?<![a-z])(?:until|till|except|excluding|unless|starting|beginning|apart from|other than|but not|skipping"
    rf"|twice|thrice|(?:odd|even)(?:-numbered)? (?:week|day|date|month)s?|(?:full|new) moon"
    rf"|(?:in|during|throughout|over|of|from|since|after|before|by) (?:the )?(?:early |late )?(?:{MONTH_NAME}"
    r"|(?:spring|summer|autumn|fall|winter|season|holidays?|vacation|term|semester|ramadan|lent)(?: time)?)"
    rf"|{_FEAST})(?![a-z])"
    rf"|{_HAN_FEAST}|除外|(?<![掃扫清排删免解消])除(?![草尘湿雪螨虫霜夕])|以外|法定|早晚|早中晚|连续[一二两三四五六七八九十\d]|平日|工作日|节假日|寒假|暑假|祝日|[单双](?:周|日|号|月)(?!人)"
    r"|(?<![下上首再])[两三四五六七八九十\d]次|第\d|初[一二三四五六七八九十]|直到|为止|(?<![时分半])から"
)
_OFTEN_WORD = re.compile(rf"(?<![a-z-])(?:{_OFTEN})(?![a-z])")
_OF_A_YEAR = re.compile(
    r"[\s,，]*(?P<word>(?:on|at|around|in) [\w'’]+|的?(?:生日|纪念日|忌日|[^\W\d]{1,2}节(?![目省约水电奏点])))"
)
# Where it touches a time: behind it, and before it.
_AND = r"(?:(?:and|or|&|,|/|-|to|、|和|或|及|と|・)(?: again| then)?)"
_BEHIND = re.compile(
    rf"[\s,，]*(?:{_AND}\s?|(?:on|of) the )?(?P<word>(?:{_NTH}|twice|thrice|{_FEAST})(?![a-z])|{_HAN_FEAST})"
    rf"|[\s,，]*(?:at|@|on|from|by|around) ?(?:the )?(?P<loose>\d[\w:.]*|{MONTH_NAME} \d+)"
    rf"|[\s,，]*{_AND}\s?(?:(?:at|in) (?:the )?)?"
    r"(?P<number>(?:\d+(?:st|nd|rd|th|:\d\d)?|noon|midnight|morning|afternoon|evening|night)(?!\w)"
    r"|[\d一二三四五六七八九十]+[月号日点时])|(?P<edge>[末底](?!日))"
)
_BEHIND_RULE = re.compile(
    r"[\s,，]*(?P<word>(?:after|before|when|whenever|while|during|if|unless|only|not|but|besides|without|between"
    r"|within|since|through|of|minus)(?![a-z]))"
)
_OF_DAYS = (
    r"(?: (?:(?:week|work|business |working )?day|weekend) of)?"  # the last workday of every month
)
_BEFORE = re.compile(
    rf"(?P<word>(?<![a-z])(?:every|each|{_NTH}{_OF_DAYS}|almost|nearly|{_FEAST}|full moon)"
    rf"|{_HAN_FEAST})[\s,，的]*(?:{_AND}\s?)?$"
)
_BEFORE_RULE = re.compile(
    r"(?P<word>(?<![a-z])(?:not|only on|except|unless|some|most|all but|odd|even))[\s,]*$"
)
_NOUN = re.compile(r"(?<![a-z])(?:the|a|an|my|our|your|his|her|their|its|this|for|about|of) $")
_GOES_ON = re.compile(r" [a-z\x80-\U0010ffff]")
_BETWEEN = re.compile(rf"[\s,，]*(?:{_AND}\s*)?(?:(?:at|on|by|in|the)\s*)*")
_NEAR = 32
Span = tuple[int, int]


def left(low: str, taken: list[Span], repeats: str) -> Iterator[Span]:
    """Where such words stand in a folded text beside the parts that are understood, of which what `repeats`, a rule or
    "", was made."""
    hidden = _hidden(low, taken)
    for found in _ANYWHERE.finditer(low):  # every single Monday, of which Monday was understood
        if not any(start <= found.start() < end for start, end in taken):
            yield found.span()
    if repeats:
        yield from (found.span() for found in _OF_A_RULE.finditer(hidden))
    elif not taken:
        yield from (found.span() for found in _FEASTS.finditer(low))
    yield from _often(hidden, repeats)
    for start, end in taken:
        yield from _beside(hidden, start, end, repeats)


def _often(hidden: str, repeats: str) -> Iterator[Span]:
    for found in _OFTEN_WORD.finditer(hidden):
        ends = not _GOES_ON.match(hidden, found.end())
        if (repeats or ends) and not _is_noun(hidden, found, repeats):
            yield found.span()


def _beside(hidden: str, start: int, end: int, repeats: str) -> Iterator[Span]:
    behinds = (_BEHIND, _BEHIND_RULE) if repeats else (_BEHIND,)
    if repeats in {"every year", "every month"}:  # on a day that nobody understands
        behinds = (*behinds, _OF_A_YEAR)
    for behind in behinds:
        if found := behind.match(hidden, end):
            yield found.span(found.lastgroup or 0)
    for before in (_BEFORE, _BEFORE_RULE) if repeats else (_BEFORE,):
        if found := before.search(hidden, max(0, start - _NEAR), start):
            yield found.span("word")


def is_noun(low: str, start: int, end: int) -> bool:
    """Whether a time is what the text of a reminder speaks of: the 3pm meeting, Monday's list, slides for Monday."""
    if low.startswith("'s", end) or low.startswith("'s", end - 2):
        return True
    return _NOUN.search(low, max(0, start - _NEAR), start) is not None


def touches(low: str, taken: list[Span], start: int, end: int) -> bool:
    """Whether nothing but a small word stands between a place and a part that is understood."""
    return any(
        _BETWEEN.fullmatch(low, min(end, last), max(start, first)) is not None
        for first, last in taken
        if last <= start or end <= first
    )


def _hidden(low: str, taken: list[Span]) -> str:
    for start, end in taken:
        low = low[:start] + "\0" * (end - start) + low[end:]
    return low


def _is_noun(hidden: str, found: re.Match[str], repeats: str) -> bool:
    """The monthly report; write weekly report, every week."""
    if not _GOES_ON.match(hidden, found.end()):
        return False
    if is_noun(hidden, *found.span()):
        return True
    unit = {"daily": "day", "nightly": "day"}.get(found[0], found[0].removesuffix("ly"))
    return not repeats or repeats.startswith((f"every {unit}", "every weekday"))
