"""Facts that sentences of a fixed form state: how often something happens, on which floor it is, who moved house."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from vaultmem.languages.when_words import ORDINAL_WORDS, SPELLED, amount, han_number, ordinal
from vaultmem.text.values import lazy, table

_LONGEST = 70  # characters of what happens
_UNITS = {  # as written: (counted in, how many of these)
    "minute": ("minutes", 1), "hour": ("minutes", 60), "day": ("days", 1), "week": ("days", 7),
    "month": ("months", 1), "quarter": ("months", 3), "year": ("months", 12), "分钟": ("minutes", 1),
    "小时": ("minutes", 60), "天": ("days", 1), "周": ("days", 7), "星期": ("days", 7), "月": ("months", 1),
    "年": ("months", 12),
}  # fmt: skip
_EVERY = lazy(
    rf"(?P<what>\S.{{2,{_LONGEST}}}?)\s+every\s+(?:(?P<count>\d{{1,4}}|{SPELLED}|other)\s+)?"
    r"(?P<unit>minute|hour|day|week|month|quarter|year)s?$",
    re.IGNORECASE,
)
_HAN_EVERY = lazy(
    r"(?P<before>[^，。]{0,30}?)每(?:隔)?(?P<count>\d{1,4}|[一二两三四五六七八九十])?\s*个?"
    r"(?P<unit>分钟|小时|天|周|星期|月|年)(?![一二三四五六七日天末\d])\s*(?P<after>[^，。]{0,30})$"
)
_FLOOR = lazy(
    rf"(?P<subject>\S.{{0,60}}?)\s+is\s+(?:located\s+|now\s+)?on\s+the\s+"
    rf"(?P<level>\d{{1,3}}(?:st|nd|rd|th)|ground|{'|'.join(ORDINAL_WORDS)})\s+floor$",
    re.IGNORECASE,
)
_HAN_FLOOR = lazy(
    r"(?P<subject>[^，。不没]{1,20}?)(?:就|现在)?(?:是)?在\s*第?(?P<level>\d{1,3}|[一二三四五六七八九]?十?[一二三四五六七八九]?)[楼层]$"
)
_NAME = r"[A-Z][\w'’.-]*(?:\s(?:(?:de|del|di|da|do|la|of|the|am|upon)\s)?[A-Z][\w'’.-]*)*"
_MOVED = lazy(
    r"(?P<subject>[^\s'’]+(?:\s[^\s'’]+){0,2}?)(?:\s(?:have|has)|['’](?:ve|s))?(?:\s(?:just|now|recently|finally|then|already|"
    rf"since|also))*\s(?i:moved|relocated)(?:\sback)?(?:\sfrom\s(?P<left>{_NAME}))?\sto\s(?P<value>(?:the\s)?{_NAME})"
    rf"(?:\sfrom\s(?P<source>{_NAME}))?"
    r"(?:\s(?:\(.*|because\s.*|for (?:work|good|love)|to (?:live|be|work|study|join|start)\b.*|"
    r"with (?:my|our|their|the) family|recently|now|again|permanently|this \w+|on \S.*|in (?:19|20)\d\d))*$"
)
_COMPOUND = lazy(
    r"(?!(?:Mac|Des|Les|Van|Fitz)[A-Z])(?:[A-Z][a-z]{2,}|[a-z]+)[A-Z]|.*\d|\w{3,}(?i:ism)$"
)
_HAN_MOVED = lazy(
    r"(?P<subject>[^，。搬]{1,8}?)(?:[（(][^（）()]*[）)])?(?:从[\u4e00-\u9fff]{2,8})?"
    r"(?:已经?|刚刚?|刚才|最近|又|全家|一家){0,3}搬(?:家)?(?:到|去|来|回)了?"
    r"(?P<value>[\u4e00-\u9fff]{2,10}?)(?:去|来)?(?:了|住|生活|工作|定居|上学)*(?:\s*[（(].*)?$"
)
# Who moved lately still lives there; "last month" alone speaks of what is over.
_MOVES = lazy(r"\b(?:moved|relocated)\b.*\bto\b|搬(?:家)?[到去来回]", re.IGNORECASE)
_LATELY = lazy(
    r"(?:^|\s)(?:last (?:week|month)|yesterday|(?:(?:a few|some|\w+)\s)?(?:days?|weeks?|months?)\sago)\b"
    r"|上个?月|上周|昨天|前天",
    re.IGNORECASE,
)
_HAN_NO_PLACE = lazy(
    r"[新旧楼层房家那这里外隔附近宿舍公司办学校]|云|服务器|平台|系统|仓库|[一二两三四五六七八九十几半]个?[年月天周]"
)
# What is denied, or said of somebody who is not named, states nothing here.
_OPEN = lazy(
    r"(?:^|\s)(?:not|never|don['’]?t|doesn['’]?t|no longer|nobody)(?:\s|$)|^(?:he|she|it|they|this|that)\s|^there$"
    r"|[不没他她它]",
    re.IGNORECASE,
)
_FILLING = lazy(
    r"^(?:(?:we|i|please|always)\s+)+|(?<!\S)(?:the|our|my|your|all|an?)\s+", re.IGNORECASE
)


class Said(NamedTuple):
    """What a sentence of a fixed form says of whom; there is one such value at a time."""

    subject: str
    property: str
    value: str


def said(clause: str) -> Said | None:
    """The fact of a clause that has one of these forms."""
    return _every(clause) or _han_every(clause) or _floor(clause) or _moved(clause)


def _every(clause: str) -> Said | None:
    found = _EVERY.match(clause)
    return _rhythm(found["what"], found["count"] or "1", found["unit"]) if found else None


def _han_every(clause: str) -> Said | None:
    found = _HAN_EVERY.match(clause)
    if not found:
        return None
    what = f"{found['before']}{found['after']}".removeprefix("我们").replace("一次", "")
    return _rhythm(what.replace("要", ""), found["count"] or "1", found["unit"])


def _rhythm(what: str, count: str, unit: str) -> Said | None:
    """Rhythms in other units than days may be the same: a month and 30 days are not compared."""
    what = _FILLING.sub("", what.strip())
    if _OPEN.search(what) or len(what) < 2:
        return None
    counted, size = _UNITS[unit.lower()]
    return Said(what, f"every so many {counted}", str(_counted(count.lower()) * size))


def _counted(word: str) -> int:
    if word == "other":
        return 2
    return int(amount(word)) if word.isascii() else han_number(word)


def _floor(clause: str) -> Said | None:
    found = _FLOOR.match(clause) or _HAN_FLOOR.match(clause)
    if not found or not found["level"] or _OPEN.search(found["subject"]):
        return None
    return Said(found["subject"], "floor", _level(found["level"].lower()))


def _level(word: str) -> str:
    if word == "ground":
        return "0"
    return str(ordinal(word) if re.match(r"[a-z]|\d+[a-z]", word) else han_number(word))


def settled(sentence: str) -> str:
    """A sentence without what says that a move was lately; any other as it is."""
    return _LATELY.sub("", sentence) if _MOVES.search(sentence) else sentence


def _moved(clause: str) -> Said | None:
    """Who moved somewhere lives there. Precision before recall: a place is a name, and no tool that people move to."""
    if not _MOVES.search(clause):
        return None
    clause = _LATELY.sub("", clause).strip()
    found = _MOVED.match(clause)
    if found:
        named = [found[group] for group in ("value", "left", "source") if found[group]]
        is_home = not any(is_no_place(name) for name in named)
    else:
        found = _HAN_MOVED.match(clause)
        is_home = found is not None and not _HAN_NO_PLACE.search(found["value"])
    if not found or not is_home or _OPEN.search(found["subject"]):
        return None
    return Said(found["subject"], "lives in", found["value"])


def is_no_place(name: str) -> bool:
    """Whether it begins as the name of something where nobody lives does: "Apple Music", "Team Blue", "Node.js"."""
    words = re.split(r"[\s'’.-]+", name.removeprefix("the "))
    if any(_COMPOUND.match(word) for word in words):
        return True
    return any(" ".join(words[:count]).lower() in _no_places() for count in (1, 2))


@cache
def _no_places() -> frozenset[str]:
    """Names that people move to and go on living where they do: programs, companies, faiths, teams."""
    lists = table("vaultmem.languages", "words")["moves"].values()
    return frozenset(name.replace("-", " ") for names in lists for name in names.split())
