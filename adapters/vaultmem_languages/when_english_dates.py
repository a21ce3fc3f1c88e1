"""Dates in English and in figures: 2026-12-01T14:30, 12/5 at 3pm, Dec 5, the 5th of December, the 5th, Christmas."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date, datetime

from vaultmem.text.times import calendar_day
from vaultmem.text.values import TYPE_CHECKING, lazy
from vaultmem_languages.when_parts import DEADLINES, NUMBERED, Sense, day_of, lead, month, rules
from vaultmem_languages.when_words import END, MONTH_NAME, ORDINAL_WORDS, SPELLED, amount, ordinal

if TYPE_CHECKING:
    from typing import Literal

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
            instant = datetime.fromisoformat(f"{day}T{hour:02}:{minute:02}{sign}")
            return Sense(at=instant.astimezone(now.tzinfo))
        except (ValueError, OverflowError):
            return None
    return Sense(day=day, clock=hour * 60 + minute)


def _figures(match: re.Match[str], _: datetime) -> Sense | None:
    """12/5/2026, 12/5 at 3pm and by 12/5, 5.12.2026; a bare 12/5 is a fraction as well."""
    if match["year"] and len(match["year"]) == 4:
        unsure = match["mark"] == "." and lead(match) in NUMBERED
    else:
        led = lead(match) in DEADLINES or match["until"] is not None
        unsure = match["mark"] == "." or not led
    return None if unsure else next(iter(days_in_figures(match)), None)


def days_in_figures(match: re.Match[str]) -> list[Sense]:
    """The days that figures may mean, the likeliest first: 12/5 (month first), 5.12.2026 (day first), 25/12/26."""
    first, second, year = int(match["first"]), int(match["second"]), int(match["year"] or 0)
    orders = [(second, first)] if match["mark"] == "." else [(first, second), (second, first)]
    year += 2000 if match["year"] and year < 100 else 0
    leap = 2000  # knows 29 February
    days = dict.fromkeys((*order, calendar_day(year or leap, *order)) for order in orders)
    return [
        Sense(day=day) if year else Sense(month=month, number=number)
        for month, number, day in days
        if day
    ]


def _month_day(match: re.Match[str], _: datetime) -> Sense | None:
    """Dec 5, December 5th, 2026, the 5th of December, the first of December, 5-7 Dec."""
    is_counted = lead(match) in NUMBERED or match.string.startswith("'s", match.end())
    day_first = match.start("day") < match.start("month")
    if day_first and is_counted:
        return None  # chapter 12 of May's book
    of, number = month(match["month"]), ordinal(match["day"])
    if match["year"]:
        day = calendar_day(int(match["year"]), of, number)
        return Sense(day=day) if day else None
    if not calendar_day(2000, of, number):  # a leap year
        return None
    # You may 5 times, march 3 miles, and these 3 may.
    word_too = match["month"] in ({"may"} if day_first else {"may", "march", "mar"})
    proper = word_too and not match["sure"] and lead(match) not in DEADLINES
    return Sense(month=of, number=number, proper=proper)


def _number(match: re.Match[str], _: datetime) -> Sense | None:
    """The 5th: a day where a preposition or the end of the clause says so."""
    number = ordinal(match["number"])
    if not 1 <= number <= 31:
        return None
    led = lead(match) in DEADLINES | {"for", "from"}
    named = match["number"] not in ORDINAL_WORDS[:3] and (led or bool(match["the"]))
    sure = named or bool(match["of"])
    return Sense(number=number, relative=True, weak=not sure)


def _holiday(match: re.Match[str], _: datetime) -> Sense | None:
    if lead(match) in _OTHER_YEARS:
        return None
    month, number = divmod(_HOLIDAYS[match[1]], 100)
    return Sense(month=month, number=number, weak=lead(match) not in DEADLINES | {"for", "at"})


IN_FIGURES = (
    r"(?P<first>\d{1,2})(?P<mark>[/.])(?P<second>\d{1,2})(?:(?P=mark)(?P<year>(?:19|20|21)?\d\d))?"
    r"(?![\d/%]|\.\d)"
)
FIGURES = rules(
    ((r"(?P<year>(?:19|20|21)\d\d)(?P<mark>[-/.])(?P<month>\d{1,2})(?P=mark)(?P<day>\d{1,2})(?!\d|[-/.]\d)"
     r"(?:t(?P<hour>\d\d):(?P<minute>\d\d)(?::\d\d(?:\.\d{1,9})?)?(?P<zone>z|[+-]\d\d:?\d\d)?)?"), _ymd),
    (rf"{IN_FIGURES}(?P<until>(?=之?前|,?\s(?:at\s)?\d{{1,2}}(?::\d\d|\s?[ap]m)))?", _figures),
)  # fmt: skip
# What may be a fraction as well, except in a reminder.
FIGURES_ALONE = lazy(rf"(?<![a-z0-9_.$€£¥#:/\\+=^~-]){IN_FIGURES}")
_HAN = lazy(r"[\u3040-\u9fff]")


def two_days(low: str, spans: Iterable[tuple[int, int]], today: date) -> tuple[str, ...]:
    """Both days that 3/4 may mean in English; in Chinese and Japanese the month comes first."""
    if _HAN.search(low):
        return ()
    for start, end in spans:
        for match in FIGURES_ALONE.finditer(low, start, end):
            days = [str(day_of(figure, today)) for figure in days_in_figures(match)]
            if len(days) > 1:
                return tuple(days)
    return ()


MONTH_DAYS = rules(
    ((rf"(?P<month>{MONTH_NAME})\s?(?P<day>\d{{1,2}})(?P<sure>st|nd|rd|th)?(?:\s?(?:-|to)\s?\d{{1,2}}(?:st|nd|rd|th)?)?"
     rf"(?!:?\d|[%a-z]|\.\d|\s?[ap]m{END}){YEAR}"), _month_day),
    ((r"(?:the\s)?(?:\d{1,2}\s?-\s?)?(?P<day>\d{1,2})(?P<sure>st|nd|rd|th)?\s?(?:of\s)?"
     rf"(?P<month>{MONTH_NAME}){YEAR}"), _month_day),
    (rf"(?:the\s)?(?P<day>{'|'.join(ORDINAL_WORDS)})\s(?P<sure>of)\s(?P<month>{MONTH_NAME}){YEAR}", _month_day),
)  # fmt: skip
NUMBERS = rules(
    ((rf"(?P<the>the\s)?(?P<number>\d{{1,2}}(?:st|nd|rd|th)|{'|'.join(ORDINAL_WORDS)}){END}"
     rf"(?P<of>\sof\sthe\smonth{END})?{_AFTER_NUMBER}"), _number),
    (rf"({'|'.join(_HOLIDAYS)})(?:\sday|'s\sday|'s)?{END}", _holiday),
)  # fmt: skip


# Clock times and parts of the day in English and in figures: 9am, 14:30, half past 3, at noon, in the evening.

_DAY = 24 * 60  # minutes
_LEADS = frozenset({"at", "by", "before", "until", "till", "from", "around", "about", "@", "me"})
_HOUR = rf"(?:\d{{1,2}}|{SPELLED})"
_NEAR = 60  # characters before a time
_MAYBE = lazy(r"(?<![a-z])(?:may|might|could|would) (?:[a-z']+ ){1,6}$")
_HALF = r"\s?(?P<half>a\.m\.|p\.m\.|am|pm)(?![a-z0-9])"
# What may follow "at 5": anything else makes it five of something.
_AFTER_HOUR = (
    r"(?=\s*(?:$|:(?!\d)|[\n,;!?()\]\u3000-\u9fff-]|\.(?!\d)|(?:sharp|on|in|for|with|about|to|and|or|today|tonight|tomorrow|this"
    r"|until|till|starting|beginning|except|excluding|but|through|unless|from|fortnightly|next|every|mon|tue|wed|thu|fri|sat|sun|so|if|when|because|we|i|the)(?:[a-z]*day)?(?![a-z])))"
)


def _sense(hour: int, minute: int, half: str | None, weak: bool = False) -> Sense | None:
    if minute > 59 or hour > 24 or (hour == 24 and minute):
        return None
    if not half:
        return Sense(clock=hour * 60 + minute, dial="bare", weak=weak)
    if not 1 <= hour <= 12:
        return None
    return Sense(clock=(hour % 12 + (12 if half.startswith("p") else 0)) * 60 + minute)


def _half_day(match: re.Match[str], _: datetime) -> Sense | None:
    """9am, 9:30 p.m., 9-10am (the first of the two)."""
    hour, half = int(match["hour"]), match["first_half"] or match["half"]
    if match["until"] and not match["first_half"] and hour % 12 > int(match["until"]) % 12:
        half = "am" if half.startswith("p") else "pm"  # 11-1pm starts in the morning
    return _sense(hour, int(match["minute"] or 0), half)


def _clock_figures(match: re.Match[str], _: datetime) -> Sense | None:
    """14:30: a time after "at" or before Chinese, a ratio or a verse elsewhere. Nobody plans for 3:15 in the night."""
    before = match.string[max(0, match.start() - 3) : match.start()]
    after = match.string[match.end() : match.end() + 1]
    if lead(match) in NUMBERED:
        return None  # ratio 5:30
    spoken = "\u4e00" <= after <= "\u9fff" and not before.rstrip().endswith(("分", "例", "比"))
    spoken = spoken or before.rstrip().endswith("时间:")
    sense = _sense(int(match["hour"]), int(match["minute"]), None)
    dial: Literal["open", "near", "bare"] = "open"
    if match["hour"] in {"1", "2", "3", "4"}:
        dial = "bare"
    elif match["hour"] in {"5", "6", "7", "8"}:
        dial = "near"
    return sense and sense._replace(dial=dial, weak=not (spoken or lead(match) in _LEADS))


def _words(match: re.Match[str], _: datetime) -> Sense | None:
    """Half past 3, quarter to 5, ten past six, 5 o'clock."""
    hour, step = int(amount(match["hour"])), match["step"]
    minute = {"half": 30, "quarter": 15}.get(step or "", 0) or (int(amount(step)) if step else 0)
    if match["way"] in {"to", "til", "till"}:
        if step not in {"half", "quarter"} and lead(match) not in _LEADS - {"from"}:
            return None  # ten to fifteen people, from 5 to 6
        hour, minute = (hour or 12) - 1 or 12, 60 - minute
    return _sense(hour, minute, match["half"])


def _half_past(match: re.Match[str], _: datetime) -> Sense | None:
    """At half 7, which is half past 7; without "at" only beside a day."""
    return _sense(int(amount(match["hour"])), 30, match["half"], weak=lead(match) not in _LEADS)


def _two_numbers(match: re.Match[str], _: datetime) -> Sense | None:
    """At five thirty, at seven forty-five."""
    return _sense(
        int(amount(match["hour"])),
        int(amount(match["minute"])),
        match["half"],
    )


def _bare(match: re.Match[str], _: datetime) -> Sense | None:
    """At 9: a time when the clause ends there; by 5, or what may be at 5, only beside a day."""
    unsure = match["lead"] not in {"at", "@"} and not match["sign"]
    before = match.string[max(0, match.start() - _NEAR) : match.start()]
    unsure = unsure or _MAYBE.search(before) is not None
    return _sense(int(amount(match["hour"])), 0, None, weak=unsure)


def _beside_a_day(match: re.Match[str], _: datetime) -> Sense | None:
    """At 9, whatever follows: every Tuesday at 9 yoga."""
    return _sense(int(amount(match["hour"])), 0, None, weak=True)


def _range(match: re.Match[str], _: datetime) -> Sense | None:
    """9-10, 5 to 6, from 10 to 2: the first of the two, beside a day; before a word in the plural, a number."""
    if lead(match) in NUMBERED:
        return None  # pages 9-10
    hour, until = int(match["hour"]), int(match["until"])
    hours = until - hour if max(hour, until) > 12 else (until - hour) % 12
    sense = _sense(hour, 0, None, weak=not match["sharp"]) if until <= 24 else None
    return sense if 1 <= hours <= _LONGEST_RANGE else None


def _oclock(match: re.Match[str], _: datetime) -> Sense | None:
    return _sense(int(amount(match["hour"])), 0, match["half"])


def _named_day(match: re.Match[str], _: datetime) -> Sense | None:
    weak = lead(match) not in _LEADS
    if match[1] == "midnight":
        return Sense(clock=_DAY, weak=weak)  # "Friday midnight" is the one that ends Friday
    return Sense(clock=12 * 60, weak=weak)


def _part(match: re.Match[str], _: datetime) -> Sense | None:
    word = match[1]
    led = lead(match) == "me"  # remind me in the evening
    return Sense(part={"night": "evening", "first thing": "morning"}.get(word, word), weak=not led)


_LONGEST_RANGE = 9  # hours
_MEASURE = (
    r"(?:o'?clock|[ap]\.?m(?![a-z])|(?:-|to|until)\s?\d|min|hour|hr|dollars?|euros?|pounds?|cents?|bucks|percent|per\s|%|people|places?|degrees?|points?|years?|miles?|km|kg"
    r"|mph|times|€|£|\$|of\s)"
)
_COUNTED = rf"\s?{_MEASURE}|\s[a-z]+(?<!s)s{END}"  # a measure, or a word in the plural
CLOCKS = rules(
    ((r"(?P<hour>\d{1,2})(?:[:.](?P<minute>\d\d))?(?:\s?(?P<first_half>am|pm))?"
     rf"(?:\s?(?:-|to|until)\s?(?P<until>\d{{1,2}})(?:[:.]\d\d)?)?{_HALF}"), _half_day),
    (r"(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::\d\d)?(?!:?\d|%)(?:\s?(?:-|to|到|至)\s?\d{1,2}:\d\d|\s?-\s?\d{1,2}(?![\d:]|\.\d))?",
     _clock_figures),
    (rf"half\s(?P<hour>{_HOUR}){END}(?:{_HALF})?(?!{_COUNTED})", _half_past),
    ((rf"(?:a\s)?(?P<step>half|quarter|(?:twenty[\s-])?five|ten|twenty|5|10|20|25)\s(?:minutes?\s)?"
     rf"(?P<way>past|to|till?)\s(?P<hour>{_HOUR}){END}(?:{_HALF})?"), _words),
    ((rf"(?:at|around|about|by|before|until|from)\s(?P<hour>{SPELLED})\s"
     rf"(?P<minute>fifteen|(?:twenty|thirty|forty|fifty)(?:[\s-]five)?){END}(?:{_HALF})?"), _two_numbers),
    (rf"(?P<hour>{_HOUR})(?:\s?o'?clock|-?ish){END}(?:{_HALF})?", _oclock),
    ((r"(?:from\s)?(?P<hour>\d{1,2})\s?(?:-|to|until|till)\s?(?P<until>\d{1,2})(?::\d\d)?(?P<sharp>\s?o'?clock)?"
     rf"(?![:%/€£$-]?\d|[a-z%€£$]|[.,]\d|{_COUNTED}|[\u4e00-\u9fff])"), _range),
    ((rf"(?:(?P<lead>at|around|about|by|before|after|until|from|(?P<two>between))\s|(?P<sign>@)\s?)(?P<hour>{_HOUR})"
     rf"(?!:?\d|[%/a-z]|[.,]\d|-[a-z])(?(two)\sand\s{_HOUR}{END}|(?:\s?-\s?\d{{1,2}}{END})?)"
     rf"(?!\s(?:past|to)\s{_HOUR}){_AFTER_HOUR}"), _bare),
    (rf"at\s(?P<hour>{_HOUR})(?!:?\d|[%/a-z$€£]|[.,]\d|-[a-z]|\s?(?:past|to)\s{_HOUR}|\s?{_MEASURE})", _beside_a_day),
    (rf"(noon|midday|midnight){END}", _named_day),
    (rf"(?:in\sthe\s|(?<!good\s))(morning|afternoon|evening|night|first\sthing){END}", _part),
)  # fmt: skip
