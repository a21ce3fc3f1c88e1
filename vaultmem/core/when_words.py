"""Small words of time expressions: one spelling for all widths and scripts, English numbers and names."""

from __future__ import annotations

import re

from vaultmem.core import when_japanese
from vaultmem.core.days import MONTHS
from vaultmem.core.when_parts import LAST

_TRADITIONAL = "後週點禮兩個鐘號這時過開間內節聖誕國慶勞動兒記繳還給買會來應須該請約"
_SIMPLIFIED = "后周点礼两个钟号这时过开间内节圣诞国庆劳动儿记缴还给买会来应须该请约"
_FOLD: dict[int, str | int | None] = {
    **{0xFF01 + step: 0x21 + step for step in range(94)},
    **dict(zip(map(ord, _TRADITIONAL), _SIMPLIFIED, strict=True)),
    **dict.fromkeys(map(ord, "\u00a0\u2007\u2009\u202f\u3000\t"), " "),
    **dict.fromkeys(map(ord, "\u2018\u2019\u02bc"), "'"),
    **dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\uff0d\uff5e\u301c"), "-"),
}
_LOWER = {ord(letter): letter.lower() for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
_LOWER |= {0xFF21 + step: chr(0x61 + step) for step in range(26)}
_TABLE: dict[int, str | int | None] = {**_FOLD, **_LOWER}

_UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
    " seventeen eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_NUMBERS = {word: number for number, word in enumerate(_UNITS)}
_NUMBERS |= {word: 10 * number for number, word in enumerate(_TENS, 2)}
_NUMBERS |= {"a": 1, "an": 1, "the": 1, "a couple of": 2, "a couple": 2}
SPELLED = "|".join(sorted(_UNITS[1:] + _TENS, key=len, reverse=True))
NUMBER = rf"(?:\d{{1,3}}(?:\.\d)?|a\scouple(?:\sof)?|{SPELLED}|an?)"
END = r"(?![a-z0-9_])"

DAY_NAME = (
    "(?:mon(?:day)?|tue(?:s(?:day)?)?|wed(?:nesday)?|thu(?:r(?:s(?:day)?)?)?|fri(?:day)?|sat(?:urday)?"
    "|sun(?:day)?)"
)
MONTH_NAME = (
    "(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    rf"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?){END}\.?"
)
ORDINAL_WORDS = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh",
    "twelfth", "thirteenth", "fourteenth", "fifteenth",
)  # fmt: skip
ORDINAL = rf"(?:\d{{1,2}}(?:st|nd|rd|th)|{'|'.join(ORDINAL_WORDS)}|last)"
DEADLINES = frozenset({"by", "before", "until", "till", "due", "on"})
# What a number belongs to that stands behind it: no day of a month, and no date.
NUMBERED = frozenset(
    """act appendix article build chapter chapters edition episode exercise figure firmware item kernel lesson level
    line lines no number page pages paragraph part release room row section sections slide step table v ver verse
    version versions vol volume""".split()
)
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_LEAD = re.compile(r"([a-z]+|@)[ ]{0,2}(?:the )?$")


def folded(text: str) -> str:
    """The same text, character for character: half width, lower case, simplified Chinese."""
    return when_japanese.as_chinese(text.translate(_TABLE))


def amount(word: str) -> float:
    """The number of "3", "1.5", "three", "an"."""
    word = " ".join(word.split())
    return float(_NUMBERS[word]) if word in _NUMBERS else float(word)


def ordinal(word: str) -> int:
    """The number of "5th", "fifth", "5", "last"."""
    if word == "last":
        return LAST
    if word in ORDINAL_WORDS:
        return ORDINAL_WORDS.index(word) + 1
    return int(re.sub(r"\D", "", word))


def weekday(word: str) -> int:
    """The number of "Fri" or "Friday"; Monday is 0."""
    return _WEEKDAYS.index(word[:3])


def month(word: str) -> int:
    """The number of "Dec." or "December"."""
    return MONTHS[word.rstrip(".")]


def lead(match: re.Match[str]) -> str:
    """The word before a match, "the" not counted."""
    start = match.start()
    before = _LEAD.search(match.string[max(0, start - 16) : start])
    return before[1] if before else ""
