"""Clock times and parts of the day in English and in figures: 9am, 14:30, half past 3, at noon, in the evening."""

from __future__ import annotations

import re
from datetime import datetime

from vaultmem.core.when_parts import Rule, Sense
from vaultmem.core.when_words import END, SPELLED, amount, lead

_DAY = 24 * 60  # minutes
_LEADS = frozenset({"at", "by", "before", "until", "till", "from", "around", "about", "@", "me"})
_HOUR = rf"(?:\d{{1,2}}|{SPELLED})"
_NEAR = 60  # characters before a time
_MAYBE = re.compile(r"(?<![a-z])(?:may|might|could|would) (?:[a-z']+ ){1,6}$")
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


def _figures(match: re.Match[str], _: datetime) -> Sense | None:
    """14:30: a time after "at" or before Chinese, a ratio or a verse elsewhere."""
    before = match.string[max(0, match.start() - 3) : match.start()]
    after = match.string[match.end() : match.end() + 1]
    spoken = "\u4e00" <= after <= "\u9fff" and not before.rstrip().endswith(("分", "例", "比"))
    spoken = spoken or before.rstrip().endswith("时间:")
    sense = _sense(int(match["hour"]), int(match["minute"]), None)
    return sense and sense._replace(dial="open", weak=not (spoken or lead(match) in _LEADS))


def _words(match: re.Match[str], _: datetime) -> Sense | None:
    """Half past 3, quarter to 5, ten past six, 5 o'clock."""
    hour, step = int(amount(match["hour"])), match["step"]
    minute = {"half": 30, "quarter": 15}.get(step or "", 0) or (int(amount(step)) if step else 0)
    if match["way"] in {"to", "til", "till"}:
        if step not in {"half", "quarter"} and lead(match) not in _LEADS:
            return None  # ten to fifteen people
        hour, minute = (hour or 12) - 1 or 12, 60 - minute
    return _sense(hour, minute, match["half"])


def _bare(match: re.Match[str], _: datetime) -> Sense | None:
    """At 9: a time when the clause ends there; by 5, or what may be at 5, only beside a day."""
    unsure = match["lead"] not in {"at", "@"} and not match["sign"]
    before = match.string[max(0, match.start() - _NEAR) : match.start()]
    unsure = unsure or _MAYBE.search(before) is not None
    return _sense(int(amount(match["hour"])), 0, None, weak=unsure)


def _beside_a_day(match: re.Match[str], _: datetime) -> Sense | None:
    """At 9, whatever follows: every Tuesday at 9 yoga."""
    return _sense(int(amount(match["hour"])), 0, None, weak=True)


def _oclock(match: re.Match[str], _: datetime) -> Sense | None:
    return _sense(int(amount(match["hour"])), 0, match["half"])


def _named(match: re.Match[str], _: datetime) -> Sense | None:
    weak = lead(match) not in _LEADS
    if match[1] == "midnight":
        return Sense(clock=_DAY, weak=weak)  # "Friday midnight" is the one that ends Friday
    return Sense(clock=12 * 60, weak=weak)


def _part(match: re.Match[str], _: datetime) -> Sense | None:
    word = match[1]
    led = lead(match) == "me"  # remind me in the evening
    return Sense(part="evening" if word == "night" else word, weak=not led)


_MEASURE = (
    r"(?:o'?clock|[ap]\.?m(?![a-z])|(?:-|to|until)\s?\d|min|hour|hr|dollars?|euros?|pounds?|cents?|bucks|percent|per\s|%|people|places?|degrees?|points?|years?|miles?|km|kg"
    r"|mph|times|€|£|\$|of\s)"
)
CLOCKS: list[Rule] = [
    (
        re.compile(
            r"(?P<hour>\d{1,2})(?:[:.](?P<minute>\d\d))?(?:\s?(?P<first_half>am|pm))?"
            rf"(?:\s?(?:-|to|until)\s?(?P<until>\d{{1,2}})(?:[:.]\d\d)?)?{_HALF}"
        ),
        _half_day,
    ),
    (
        re.compile(
            r"(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::\d\d)?(?!:?\d|%)(?:\s?(?:-|to|到|至)\s?\d{1,2}:\d\d)?"
        ),
        _figures,
    ),
    (
        re.compile(
            rf"(?:a\s)?(?P<step>half|quarter|(?:twenty[\s-])?five|ten|twenty|5|10|20|25)\s(?:minutes?\s)?"
            rf"(?P<way>past|to|till?)\s(?P<hour>{_HOUR}){END}(?:{_HALF})?"
        ),
        _words,
    ),
    (re.compile(rf"(?P<hour>{_HOUR})\s?o'?clock{END}(?:{_HALF})?"), _oclock),
    (
        re.compile(
            rf"(?:(?P<lead>at|around|about|by|before|until|from)\s|(?P<sign>@)\s?)(?P<hour>{_HOUR})"
            rf"(?!:?\d|[%/a-z]|[.,]\d)(?:\s?(?:-|to)\s?\d{{1,2}}{END})?(?!\s(?:past|to)\s{_HOUR}){_AFTER_HOUR}"
        ),
        _bare,
    ),
    (
        re.compile(
            rf"at\s(?P<hour>{_HOUR})(?!:?\d|[%/a-z$€£]|[.,]\d|\s?(?:past|to)\s{_HOUR}|\s?{_MEASURE})"
        ),
        _beside_a_day,
    ),
    (re.compile(rf"(noon|midday|midnight){END}"), _named),
    (re.compile(rf"(?:in\sthe\s)?(morning|afternoon|evening|night){END}"), _part),
]
