"""Repeating times in English: every other Tuesday, monthly on the 1st, the last Friday of every month."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime

from vaultmem.light import NamedTuple
from vaultmem.text.times import calendar_day
from vaultmem.text.values import lazy
from vaultmem_languages.when_parts import (
    DAY_NAME,
    ORDINAL,
    Grain,
    Reading,
    Repeat,
    Sense,
    day_of,
    day_range,
    lead,
    month,
    rules,
    weekday,
    weekly,
)
from vaultmem_languages.when_words import (
    END,
    MONTH_NAME,
    NUMBER,
    ORDINAL_WORDS,
    SPELLED,
    amount,
    ordinal,
)

_WORKDAYS = (0, 1, 2, 3, 4)
_RANGE = r"(?:\s?-\s?|\s(?:to|through)\s)"
_APART = r"(?:\s?(?:,\s?(?:and|und)|,|and|und|&|/)\s?|\s)"
_LIST = rf"{DAY_NAME}s?{END}(?:(?:\s?or\s|{_APART}|{_RANGE}){DAY_NAME}s?{END}){{0,6}}"
# Without "every": three days, or two with only a blank or a slash between them.
_DAYS_ALONE = rf"{DAY_NAME}{END}(?:(?:{_APART}{DAY_NAME}{END}){{2,6}}|[\s/]{DAY_NAME}{END})(?!\sor\s{DAY_NAME}|'s)"
_NAMED = lazy(rf"({_RANGE})?({DAY_NAME})")
_MONTHLY = rf"(?:(?:every|each)\s(?:(?P<n>other|second|[1-9]\d?|{SPELLED})\s)?months?|monthly)"
_OF_IT = rf"(?:\sof\sthe\smonth{END})?"
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
    result: list[int] = []
    for to, name in _NAMED.findall(words):
        day = weekday(name)
        result += day_range(result[-1], day)[1:] if to and result else [day]
    return tuple(sorted(set(result)))


def _workdays(match: re.Match[str], _: datetime) -> Sense | None:
    days = (5, 6) if match["days"].startswith("weekend") else _WORKDAYS
    return Sense(repeat=Repeat("week", 1, days), weak=match["lead"] is None)


def _every_part(match: re.Match[str], _: datetime) -> Sense | None:
    """Every morning, Sunday evenings, on weekday mornings."""
    part, kind = match["part"], match["kind"]
    days = (5, 6) if kind == "weekend" else _WORKDAYS if kind else _days(match["days"] or "")
    repeat = Repeat("week", 1, days) if days else Repeat("day")
    return Sense(repeat=repeat, part="evening" if part == "night" else part)


def _plural(match: re.Match[str], _: datetime) -> Sense | None:
    """On Mondays; Mondays at 9."""
    days = _days(match["days"])
    return Sense(repeat=Repeat("week", 1, days), weak=lead(match) != "on" and not match["on"])


def _days_alone(match: re.Match[str], _: datetime) -> Sense | None:
    """Mon Wed Fri at 7; Tue/Thu."""
    return weekly(_days(match["days"]))


def _adverb(match: re.Match[str], _: datetime) -> Sense | None:
    unit, interval = _ADVERBS[match[1].replace("-", "")]
    part = "evening" if match[1] == "nightly" else ""
    return Sense(repeat=Repeat(unit, interval), part=part, weak=True)


def _day_of_month(match: re.Match[str], _: datetime) -> Sense | None:
    """Every 5th (of the month), every first of the month, the 5th of every month, the last day of every month."""
    number = ordinal(match["number"])
    return Sense(repeat=_months(match), number=number) if number <= 31 and number else None


def _day_of_year(match: re.Match[str], _: datetime) -> Sense | None:
    of, number = month(match["month"]), int(match["day"])
    if not calendar_day(2000, of, number):
        return None
    return Sense(repeat=Repeat("year"), month=of, number=number)


def _nth_weekday(match: re.Match[str], _: datetime) -> Sense | None:
    """The first Monday of every month, every month on the last Friday."""
    nth = ordinal(match["nth"])
    repeat = _months(match)._replace(weekdays=(weekday(match["name"]),), nth=nth)
    return Sense(repeat=repeat) if nth < 5 else None


def _months(match: re.Match[str]) -> Repeat:
    return Repeat("month", _interval(match.groupdict().get("n")))


REPEATS = rules(
    ((rf"(?:the\s|(?P<every>every\s))?(?P<nth>{ORDINAL})\s(?P<name>{DAY_NAME}){END}\s(?:of|in)\s"
     rf"(?:every|each|(?(every)the|(?!)))\smonth{END}"), _nth_weekday),
    ((rf"(?:the\s)?(?P<number>\d{{1,2}}(?:st|nd|rd|th)|last(?=\sday)|first(?=\sday))(?:\sday)?\sof\s(?:every|each)"
     rf"\smonth{END}"), _day_of_month),
    ((rf"every\s(?P<number>\d{{1,2}}(?:st|nd|rd|th)){END}(?:\s(?:day\s)?of\s(?:the|each|every)\smonth{END}"
     r"|(?=\s*(?:$|[\n,.;!?]|at\s)))"), _day_of_month),
    (rf"every\s(?P<number>{'|'.join(ORDINAL_WORDS)}|last)(?:\sday)?\sof\s(?:the|each|every)\smonth{END}",
     _day_of_month),
    (rf"every\s(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:\sof)?\s(?P<month>{MONTH_NAME}){END}", _day_of_year),
    (rf"every\s(?P<month>{MONTH_NAME})\s(?P<day>\d{{1,2}})(?:st|nd|rd|th)?{END}", _day_of_year),
    (rf"{_MONTHLY}\son\sthe\s(?P<nth>{ORDINAL})\s(?P<name>{DAY_NAME}){END}{_OF_IT}", _nth_weekday),
    ((rf"{_MONTHLY}\son\sthe\s(?P<number>(?:last|first)(?=\sday)|\d{{1,2}}(?:st|nd|rd|th)(?!\s?{DAY_NAME}))"
     rf"(?:\sday)?{END}{_OF_IT}"), _day_of_month),
    ((rf"(?:(?:every|each)\s|in\sthe\s(?=\w+s)|(?:on\s)?(?:(?P<days>{_LIST})|(?P<kind>week(?:day|end)))\s(?=\w+s))"
     rf"(?P<part>morning|afternoon|evening|night)s?{END}"), _every_part),
    ((rf"(?:every|each)\s(?:(?P<n>other|second|alternate)\s|(?:(?P<many>\d{{1,2}}|other|second|{SPELLED})\s)?"
     rf"weeks?\son\s)?(?P<days>{_LIST})"), _every_day_of_week),
    ((rf"(?:every|each)\s(?:(?P<n>other|second|alternate|\d{{1,2}}|{SPELLED})\s)?"
     rf"(?P<unit>day|week|fortnight|month|quarter|year)s?{END}(?!\sof)"), _every_unit),
    (rf"(?P<lead>(?:every|each|on)\s)?(?P<days>(?:week|work|working\s|business\s)days?|weekends?){END}", _workdays),
    (rf"(?P<on>on\s)?(?!(?:tues|weds|thurs){END})(?P<days>{DAY_NAME}s{END}(?:\s?(?:,|and|&)\s?{DAY_NAME}s{END}){{0,6}})",
     _plural),
    (rf"(?:on\s)?(?P<days>{_DAYS_ALONE})", _days_alone),
    (rf"(bi-weekly|{'|'.join(_ADVERBS)}){END}", _adverb),
)  # fmt: skip


# Bounds of a rule: from and until when, how often, and exceptions: "starting Dec 8", "except Sundays".

_SINCE, _UNTIL, _EXCEPT, _AND = "since", "until", "except", "and"
_BEFORE = {  # the role of a bound by the words before it
    _SINCE: r"(?<![a-z])(?:starting|beginning|commencing|effective|as of|from|since)(?: from| on| at)?|[从自]",
    _UNTIL: r"(?<![a-z])(?:until|till?|through|up to|ending)(?: on)?|直到|直至|到|至",
    _EXCEPT: r"(?<![a-z])(?:except|excluding|but(?: not)?|other than|apart from|besides|skip(?:ping)?)"
    r"(?: for)?(?: on)?|除了?",
    _AND: r",| ?(?:, ?)?(?<![a-z])(?:and|or)(?: on)?| ?[&、和及与] ?",
    "to": r"(?<![a-z])to|-",
}
_AFTER = {  # and by those after it
    _SINCE: r" ?(?:onwards?|on)(?![a-z])|开始|起|から|以降",
    _UNTIL: r"为止|止|まで(?!に)",
    _EXCEPT: r"[之以除]?外の?",
}
_LED = lazy("|".join(rf"(?P<{role}>{words})" for role, words in _BEFORE.items()))
_LED_END = lazy(rf"(?:{_LED.pattern})(?: the)? ?$")
_FOLLOWED = lazy("|".join(rf"(?P<{role}>{words})" for role, words in _AFTER.items()))
_COUNT = lazy(
    rf",? (?:(?:for )?(?P<times>{NUMBER}) (?:times|occurrences)|for (?:the next )?(?P<n>{NUMBER})"
    r" (?P<unit>day|week|month|year)s?)(?![a-z])"
    r"|.{0,6}?[,，]?(?:连续|持续|一共|总共|共)(?P<many>\d{1,3})个?(?P<unit2>[次天日周月年])"
)
_UNITS_WHEN_BOUNDS = {"天": "day", "日": "day", "周": "week", "月": "month", "年": "year"}
_WEEKEND = lazy(r"(?:the )?weekends?|周末")
_STOP = lazy(r"[。！？!?;；\n]|\.\s")
_FURTHEST = 120  # characters between a rule and its bound
_NEAR = 24
_NEIGHBOURS = 4


class _Bound(NamedTuple):
    role: str
    start: int  # including the words of its role
    end: int


def with_bounds(low: str, readings: Sequence[Reading], today: date) -> list[Reading]:
    """The readings of a folded text, with bounds added to the rules beside them."""
    bounds = _bounds(low, readings)
    read: list[Reading | None] = list(readings)
    for at, bound in bounds.items():
        rule_at = _nearest(low, readings, at, bounds)
        rule = None if rule_at is None else read[rule_at]
        limit = readings[at]
        joined = rule and _join(rule, limit, bound, low[limit.start : limit.end], today)
        if rule_at is not None and joined:
            read[rule_at], read[at] = joined, None
    return [_count(low, reading) for reading in read if reading]


def _bounds(low: str, readings: Sequence[Reading]) -> dict[int, _Bound]:
    """The readings that are bounds, by index, if any other reading is a rule."""
    if not any(reading.sense.repeat for reading in readings):
        return {}
    bounds: dict[int, _Bound] = {}
    for at, reading in enumerate(readings):
        last = readings[at - 1].end if at else 0
        led = _LED_END.search(low, max(last, reading.start - _NEAR), reading.start)
        role = (led and led.lastgroup) or ""
        before = bounds.get(at - 1)
        if role == _AND and reading.sense.repeat and not reading.sense.weak:
            role = ""
        if role in {"to", _AND}:
            first, then = (_SINCE, _UNTIL) if role == "to" else (_EXCEPT, _EXCEPT)
            beside = before is not None and led is not None and led.start() <= before.end + 1
            role = then if beside and before and before.role == first else ""
        followed = _FOLLOWED.match(low, reading.end)
        after = (followed and followed.lastgroup) or ""
        if after == _SINCE and followed and followed[0].strip() == "on" and role != _SINCE:
            after = ""  # Friday on the phone
        if role or after:
            begin = led.start() if led and role else reading.start
            end = followed.end() if followed and after else reading.end
            bounds[at] = _Bound(after if after and role != _EXCEPT else role, begin, end)
    for at in [at for at in bounds if _are_days(at, bounds, readings)]:
        del bounds[at], bounds[at - 1]  # from Monday to Friday, every day: which week?
    return bounds


def _are_days(at: int, bounds: dict[int, _Bound], readings: Sequence[Reading]) -> bool:
    if at - 1 not in bounds or (bounds[at - 1].role, bounds[at].role) != (_SINCE, _UNTIL):
        return False
    return all(reading.sense.weekday is not None for reading in readings[at - 1 : at + 1])


def _nearest(
    low: str, readings: Sequence[Reading], at: int, bounds: dict[int, _Bound]
) -> int | None:
    """The nearest rule to a bound in the same sentence; None without one."""
    near = range(max(0, at - _NEIGHBOURS), min(len(readings), at + _NEIGHBOURS + 1))
    apart: dict[int, int] = {}
    for other in near:
        if other in bounds or not readings[other].sense.repeat:
            continue
        first, last = sorted((readings[at], readings[other]))
        gap = low[first.end : last.start]
        if len(gap) <= _FURTHEST and not _STOP.search(gap):
            apart[other] = len(gap)
    return min(apart, key=lambda other: apart[other], default=None)


def _join(rule: Reading, limit: Reading, bound: _Bound, words: str, today: date) -> Reading | None:
    """The rule with the bound; None where they do not fit."""
    if bound.role == _EXCEPT:
        sense = _without(rule.sense, limit.sense, words)
    else:
        sense = _limit(rule.sense, limit.sense, bound.role, today)
    if sense is None:
        return None
    clock = limit.sense
    if clock.clock is not None or clock.part:
        if sense.clock is not None or sense.part:
            return None
        sense = sense._replace(clock=clock.clock, dial=clock.dial, part=clock.part)
    others = (*rule.others, (bound.start, bound.end))
    return rule._replace(sense=sense._replace(weak=False), others=others)


def _limit(sense: Sense, limit: Sense, role: str, today: date) -> Sense | None:
    if limit.repeat or limit.at or limit.through is not None:
        return None
    day = day_of(limit, sense.since or today)
    if day and role == _SINCE and not sense.since:
        return sense._replace(since=day)
    if day and role == _UNTIL and not sense.until and limit.grain == "day":
        return sense._replace(until=day)
    return None


def _without(sense: Sense, limit: Sense, words: str) -> Sense | None:
    """A rule of days without some weekdays; None where these are not days of it."""
    repeat = sense.repeat
    if limit.repeat:
        days = set(limit.repeat.weekdays)
    elif _WEEKEND.match(words):
        days = {5, 6}
    else:
        days = set() if limit.weekday is None or limit.through is not None else {limit.weekday}
    if not repeat or not days or repeat.nth or sense.number:
        return None
    daily = repeat.unit == "day" and repeat.interval == 1
    there = range(7) if daily else repeat.weekdays
    left = tuple(day for day in there if day not in days)
    interval = 1 if daily else repeat.interval
    return sense._replace(repeat=Repeat("week", interval, left)) if left else None


def _count(low: str, rule: Reading) -> Reading:
    """A rule with its number of occurrences or duration, where that follows directly."""
    if not rule.sense.repeat or rule.sense.until:
        return rule
    for end in sorted({rule.end, *(end for _, end in rule.others)}):
        match = _COUNT.match(low, end)
        if not match:
            continue
        others = (*rule.others, (match.start(), match.end()))
        if match["times"] or match["unit2"] == "次":
            times = int(amount(match["times"] or match["many"]))
            sense = rule.sense._replace(times=times)
        else:
            unit = match["unit"] or _UNITS_WHEN_BOUNDS[match["unit2"]]
            sense = rule.sense._replace(length=(amount(match["n"] or match["many"]), unit))
        return rule._replace(sense=sense._replace(weak=False), others=others)
    return rule


# Several times of one day: at 8:00, 14:00 and 20:00; at 8am and 8pm tomorrow; every morning and evening.

_ONE_MORE = lazy(r"\s*(?:,|and|und|&|、|和|及|と|,\s*(?:and|und))\s*(?:at\s+)?")
_HALF = r"\s?[ap]\.?m\.?"
_CLOCK = rf"(?:\d{{1,2}}(?::\d\d(?:{_HALF})?|{_HALF}|\s?o'clock)|noon|midday|midnight)(?![a-z0-9])"
_CLOCKS = lazy(rf"(?:{_CLOCK}{_ONE_MORE.pattern})+(?={_CLOCK})")


def lists_times(low: str, first: Reading, dated: Reading) -> bool:
    """Whether times of day lead up to the one with the day: 8:00 and 20:00 tomorrow."""
    match = _CLOCKS.match(low, first.start)
    return match is not None and match.end() == dated.start


def more_times(low: str, main: Reading, readings: Sequence[Reading]) -> list[Reading]:
    """What happens at other times of the same day, too."""
    if not _is_timed(main.sense):
        return []
    ends = [main.end, *(end for _, end in main.others)]
    more: list[Reading] = []
    for reading in readings:
        sense, start, end = reading.sense, reading.start, reading.end
        if sense.dated or sense.repeat or not _is_timed(sense):
            continue
        before = next((last for last in ends if _ONE_MORE.fullmatch(low, last, start)), None)
        after = _ONE_MORE.match(low, end)
        if before is not None:
            start, ends = before, [end]
        elif after and lists_times(low, reading, main):
            end = after.end()
        else:
            continue
        both = main.sense._replace(clock=sense.clock, dial=sense.dial, part=sense.part)
        more.append(Reading(start, end, both))
    return more


def _is_timed(sense: Sense) -> bool:
    return sense.clock is not None or bool(sense.part)
