"""Dates in English and in figures: 2026-12-01T14:30, 12/5 at 3pm, Dec 5, the 5th of December, the 5th, Christmas."""

from __future__ import annotations

import re
from datetime import datetime

from vaultmem.core.when_parts import Rule, Sense, calendar_day
from vaultmem.core.when_words import (
    DEADLINES,
    END,
    MONTH_NAME,
    NUMBERED,
    ORDINAL_WORDS,
    lead,
    month,
    ordinal,
)

YEAR = r"(?:(?:,\s?|\s)(?P<year>(?:19|20|21)\d\d)(?![\d:/]))?"
_HOLIDAYS = {
    "christmas eve": 1224, "christmas": 1225, "new year's eve": 1231, "new year": 101, "halloween": 1031,
    "valentine's day": 214,
}  # fmt: skip
_OTHER_YEARS = frozenset(
    "chinese lunar jewish islamic persian korean vietnamese orthodox tibetan".split()
)
# What may follow "on the 5th": anything else makes it the 5th floor.
_AFTER_NUMBER = (
    r"(?=\s*(?:$|[\n.,;:!?)(\]\u3000-\u9fff-]"
    r"|(?:at|of|in|and|to|for|by|with|before|after|if|i|we|or|from|around"
    r"|until|till|starting|beginning|except|excluding|but|every|each)(?![a-z])))"
)


def _ymd(match: re.Match[str], now: datetime) -> Sense | None:
    """2026-12-01, 2026/12/1, 2026-12-01T14:30:00Z."""
    day = calendar_day(int(match["year"]), int(match["month"]), int(match["day"]))
    if not day or lead(match) in NUMBERED:
        return None
    if match["hour"] is None:
        return Sense(day=day)
    hour, minute = int(match["hour"]), int(match["minute"])
    if hour > 23 or minute > 59:
        return None
    if match["zone"]:
        sign = "+00:00" if match["zone"] == "z" else match["zone"]
        try:
            told = datetime.fromisoformat(f"{day}T{hour:02}:{minute:02}{sign}")
            return Sense(at=told.astimezone(now.tzinfo))
        except (ValueError, OverflowError):
            return None
    return Sense(day=day, clock=hour * 60 + minute)


def _figures(match: re.Match[str], _: datetime) -> Sense | None:
    """12/5/2026, 12/5 at 3pm and by 12/5 (month first where both fit), 5.12.2026 (day first)."""
    first, second, year = int(match["first"]), int(match["second"]), match["year"]
    by_day = match["mark"] == "." or first > 12
    month, number = (second, first) if by_day else (first, second)
    if year:
        if match["mark"] == "." and lead(match) in NUMBERED:
            return None
        day = calendar_day(int(year), month, number)
        return Sense(day=day) if day else None
    if match["mark"] == "." or (lead(match) not in DEADLINES and match["until"] is None):
        return None
    return Sense(month=month, number=number) if calendar_day(2000, month, number) else None


def _month_day(match: re.Match[str], _: datetime) -> Sense | None:
    """Dec 5, December 5th, 2026, the 5th of December, the first of December, 5-7 Dec."""
    if match.start("day") < match.start("month") and _is_counted(match):
        return None  # chapter 12 of May's book
    of, number = month(match["month"]), ordinal(match["day"])
    if match["year"]:
        day = calendar_day(int(match["year"]), of, number)
        return Sense(day=day) if day else None
    if not calendar_day(2000, of, number):  # a leap year
        return None
    word_too = match["month"] in {"may", "march", "mar"}  # you may 5 times, march 3 miles
    proper = word_too and not match["sure"] and lead(match) not in DEADLINES
    return Sense(month=of, number=number, proper=proper)


def _is_counted(match: re.Match[str]) -> bool:
    return lead(match) in NUMBERED or match.string.startswith("'s", match.end())


def _number(match: re.Match[str], _: datetime) -> Sense | None:
    """The 5th: a day where a preposition or the end of the clause says so."""
    number = ordinal(match["number"])
    if not 1 <= number <= 31:
        return None
    led = lead(match) in DEADLINES | {"for", "from"}
    told = match["number"] not in ORDINAL_WORDS[:3] and (led or bool(match["the"]))
    sure = told or bool(match["of"])
    return Sense(number=number, relative=True, weak=not sure)


def _holiday(match: re.Match[str], _: datetime) -> Sense | None:
    if lead(match) in _OTHER_YEARS:
        return None
    month, number = divmod(_HOLIDAYS[match[1]], 100)
    return Sense(month=month, number=number, weak=lead(match) not in DEADLINES | {"for"})


_MONTH_DAY = (
    rf"(?P<month>{MONTH_NAME})\s?(?P<day>\d{{1,2}})(?P<sure>st|nd|rd|th)?"
    rf"(?:\s?(?:-|to)\s?\d{{1,2}}(?:st|nd|rd|th)?)?(?!:?\d|[%a-z]|\.\d|\s?[ap]m{END}){YEAR}"
)
_DAY_MONTH = (
    r"(?:the\s)?(?:\d{1,2}\s?-\s?)?(?P<day>\d{1,2})(?P<sure>st|nd|rd|th)?\s?(?:of\s)?"
    rf"(?P<month>{MONTH_NAME}){YEAR}"
)
_SPELLED_DAY_MONTH = (
    rf"(?:the\s)?(?P<day>{'|'.join(ORDINAL_WORDS)})\s(?P<sure>of)\s(?P<month>{MONTH_NAME}){YEAR}"
)
FIGURES: list[Rule] = [
    (
        re.compile(
            r"(?P<year>(?:19|20|21)\d\d)(?P<mark>[-/.])(?P<month>\d{1,2})(?P=mark)(?P<day>\d{1,2})(?!\d|[-/.]\d)"
            r"(?:t(?P<hour>\d\d):(?P<minute>\d\d)(?::\d\d(?:\.\d{1,9})?)?(?P<zone>z|[+-]\d\d:?\d\d)?)?"
        ),
        _ymd,
    ),
    (
        re.compile(
            r"(?P<first>\d{1,2})(?P<mark>[/.])(?P<second>\d{1,2})(?:(?P=mark)(?P<year>(?:19|20|21)\d\d))?"
            r"(?![\d/%]|\.\d)(?P<until>(?=之?前|,?\s(?:at\s)?\d{1,2}(?::\d\d|\s?[ap]m)))?"
        ),
        _figures,
    ),
]
MONTH_DAYS: list[Rule] = [
    (re.compile(_MONTH_DAY), _month_day),
    (re.compile(_DAY_MONTH), _month_day),
    (re.compile(_SPELLED_DAY_MONTH), _month_day),
]
NUMBERS: list[Rule] = [
    (
        re.compile(
            rf"(?P<the>the\s)?(?P<number>\d{{1,2}}(?:st|nd|rd|th)|{'|'.join(ORDINAL_WORDS)}){END}"
            rf"(?P<of>\sof\sthe\smonth{END})?{_AFTER_NUMBER}"
        ),
        _number,
    ),
    (
        re.compile(rf"({'|'.join(_HOLIDAYS)})(?:\sday|'s\sday|'s)?{END}"),
        _holiday,
    ),
]
