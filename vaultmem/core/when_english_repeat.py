"""Repeating times in English: every other Tuesday, monthly on the 1st, the last Friday of every month."""

from __future__ import annotations

import re
from datetime import datetime

from vaultmem.core.when_parts import Grain, Repeat, Rule, Sense, calendar_day, day_range
from vaultmem.core.when_words import (
    DAY_NAME,
    END,
    MONTH_NAME,
    ORDINAL,
    ORDINAL_WORDS,
    SPELLED,
    amount,
    lead,
    month,
    ordinal,
    weekday,
)

_WORKDAYS = (0, 1, 2, 3, 4)
_RANGE = r"(?:\s?-\s?|\s(?:to|through)\s)"
_LIST = rf"{DAY_NAME}s?{END}(?:(?:\s?(?:,\s?and|,|and|or|&|/)\s?|{_RANGE}){DAY_NAME}s?{END}){{0,6}}"
_NAMED = re.compile(rf"({_RANGE})?({DAY_NAME})")
_ADVERBS: dict[str, tuple[Grain, int]] = {
    "daily": ("day", 1), "nightly": ("day", 1), "weekly": ("week", 1), "biweekly": ("week", 2),
    "fortnightly": ("week", 2), "monthly": ("month", 1), "quarterly": ("month", 3), "yearly": ("year", 1),
    "annually": ("year", 1),
}  # fmt: skip
_UNITS: dict[str, tuple[Grain, int]] = {
    "day": ("day", 1), "week": ("week", 1), "fortnight": ("week", 2), "month": ("month", 1),
    "quarter": ("month", 3), "year": ("year", 1),
}  # fmt: skip


def _interval(word: str | None) -> int:
    if not word:
        return 1
    return 2 if word in {"other", "second", "alternate"} else int(amount(word))


def _every_unit(match: re.Match[str], _: datetime) -> Sense | None:
    unit, step = _UNITS[match["unit"]]
    interval = step * _interval(match["n"])
    return Sense(repeat=Repeat(unit, interval)) if 0 < interval < 1000 else None


def _every_day_of_week(match: re.Match[str], _: datetime) -> Sense | None:
    interval = _interval(match["n"] or match["many"])
    return Sense(repeat=Repeat("week", interval, _days(match["days"]))) if interval else None


def _days(words: str) -> tuple[int, ...]:
    """The weekdays of a list, with ranges: Mon-Wed and Friday."""
    found: list[int] = []
    for to, name in _NAMED.findall(words):
        day = weekday(name)
        found += day_range(found[-1], day)[1:] if to and found else [day]
    return tuple(sorted(set(found)))


def _workdays(match: re.Match[str], _: datetime) -> Sense | None:
    days = (5, 6) if match["days"].startswith("weekend") else _WORKDAYS
    return Sense(repeat=Repeat("week", 1, days), weak=match["lead"] is None)


def _every_part(match: re.Match[str], _: datetime) -> Sense | None:
    part = match["part"]
    return Sense(repeat=Repeat("day"), part="evening" if part == "night" else part)


def _plural(match: re.Match[str], _: datetime) -> Sense | None:
    """On Mondays; Mondays at 9."""
    days = _days(match["days"])
    return Sense(repeat=Repeat("week", 1, days), weak=lead(match) != "on" and not match["on"])


def _adverb(match: re.Match[str], _: datetime) -> Sense | None:
    unit, interval = _ADVERBS[match[1].replace("-", "")]
    part = "evening" if match[1] == "nightly" else ""
    return Sense(repeat=Repeat(unit, interval), part=part, weak=True)


def _day_of_month(match: re.Match[str], _: datetime) -> Sense | None:
    """Every 5th (of the month), every first of the month, the 5th of every month, the last day of every month."""
    number = ordinal(match["number"])
    return Sense(repeat=Repeat("month"), number=number) if number <= 31 and number else None


def _day_of_year(match: re.Match[str], _: datetime) -> Sense | None:
    of, number = month(match["month"]), int(match["day"])
    if not calendar_day(2000, of, number):
        return None
    return Sense(repeat=Repeat("year"), month=of, number=number)


def _nth_weekday(match: re.Match[str], now: datetime) -> Sense | None:
    if match["month"] == "the" and not match["every"]:
        return None
    return _nth(match, now)


def _nth(match: re.Match[str], _: datetime) -> Sense | None:
    """The first Monday of every month, every month on the last Friday."""
    nth = ordinal(match["nth"])
    return Sense(repeat=Repeat("month", 1, (weekday(match["name"]),), nth)) if nth < 5 else None


REPEATS: list[Rule] = [
    (
        re.compile(
            rf"(?:the\s|(?P<every>every\s))?(?P<nth>{ORDINAL})\s(?P<name>{DAY_NAME}){END}\s(?:of|in)\s(?P<month>every|each|the)"
            rf"\smonth{END}"
        ),
        _nth_weekday,
    ),
    (
        re.compile(
            rf"(?:the\s)?(?P<number>\d{{1,2}}(?:st|nd|rd|th)|last(?=\sday)|first(?=\sday))(?:\sday)?\sof\s(?:every|each)"
            rf"\smonth{END}"
        ),
        _day_of_month,
    ),
    (
        re.compile(
            rf"every\s(?P<number>\d{{1,2}}(?:st|nd|rd|th)){END}(?:\s(?:day\s)?of\s(?:the|each|every)\smonth{END})?"
            r"(?=\s*(?:$|[\n,.;!?]|at\s))"
        ),
        _day_of_month,
    ),
    (
        re.compile(
            rf"every\s(?P<number>{'|'.join(ORDINAL_WORDS)}|last)(?:\sday)?\sof\s(?:the|each|every)\smonth{END}"
        ),
        _day_of_month,
    ),
    (
        re.compile(rf"every\s(?P<month>{MONTH_NAME})\s(?P<day>\d{{1,2}})(?:st|nd|rd|th)?{END}"),
        _day_of_year,
    ),
    (
        re.compile(
            rf"(?:every\smonth|each\smonth|monthly)\son\sthe\s(?P<nth>{ORDINAL})\s(?P<name>{DAY_NAME}){END}"
        ),
        _nth,
    ),
    (
        re.compile(
            rf"(?:every\smonth|each\smonth|monthly)\son\sthe\s(?P<number>(?:last|first)(?=\sday)|\d{{1,2}}(?:st|nd|rd|th)(?!\s?{DAY_NAME}))"
            rf"(?:\sday)?{END}"
        ),
        _day_of_month,
    ),
    (
        re.compile(
            rf"(?:every|each)\s(?:(?P<n>other|second|alternate)\s|(?:(?P<many>\d{{1,2}}|other|second|{SPELLED})\s)?"
            rf"weeks?\son\s)?(?P<days>{_LIST})"
        ),
        _every_day_of_week,
    ),
    (
        re.compile(
            rf"(?:every|each)\s(?:(?P<n>other|second|alternate|\d{{1,2}}|{SPELLED})\s)?"
            rf"(?P<unit>day|week|fortnight|month|quarter|year)s?{END}(?!\sof)"
        ),
        _every_unit,
    ),
    (
        re.compile(
            rf"(?P<lead>(?:every|each|on)\s)?(?P<days>(?:week|work|working\s|business\s)days?|weekends?){END}"
        ),
        _workdays,
    ),
    (re.compile(rf"(?:every|each)\s(?P<part>morning|afternoon|evening|night){END}"), _every_part),
    (
        re.compile(
            rf"(?P<on>on\s)?(?!(?:tues|thurs){END})(?P<days>{DAY_NAME}s{END}(?:\s?(?:,|and|&)\s?{DAY_NAME}s{END}){{0,6}})"
        ),
        _plural,
    ),
    (re.compile(rf"(bi-weekly|{'|'.join(_ADVERBS)}){END}"), _adverb),
]
