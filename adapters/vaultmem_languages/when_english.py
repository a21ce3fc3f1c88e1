"""Time expressions in English: next Friday at 9am, in two weeks, Monday week, the end of the month."""

from __future__ import annotations

import re
from datetime import date, datetime

from vaultmem.text.times import LAST, calendar_day, day_after, month_after
from vaultmem.text.values import lazy
from vaultmem_languages.when_english_dates import CLOCKS, FIGURES, MONTH_DAYS, NUMBERS, YEAR
from vaultmem_languages.when_english_repeat import REPEATS
from vaultmem_languages.when_parts import (
    DAY_NAME,
    DEADLINES,
    ORDINAL,
    Grain,
    Sense,
    later,
    lead,
    monday,
    month,
    nth_weekday,
    rules,
    shift_date,
    together,
    weekday,
    weekday_near,
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

_WORDS_TOO = {"mon", "wed", "sat", "sun"}  # other words: she sat, the sun
_NOT_DAYS = ("dr. ", "mr. ", "ms. ", "mrs. ", "good ", "black ", "ash ", "palm ", "cyber ", "easter ")  # fmt: skip
_UNIT = "(?P<unit{}>minute|min|m|hour|hr|h|day|week|wk|fortnight|month|year|yr)s?(?![a-z0-9_])"
_MONTHS_AHEAD = 14  # any weekday is the 13th of a month by then
_OF_ANOTHER = lazy(r"within\s[a-z0-9.\s]{1,30}\s(?:of|after|from(?!\snow|\stoday))\b")  # of what
_UNITS = {"min": "minute", "m": "minute", "hr": "hour", "h": "hour", "wk": "week", "yr": "year"}


def _delta(match: re.Match[str], now: datetime) -> Sense | None:
    """in 3 days, in half an hour, in an hour and a half, 2 weeks from now, 3 days ago, vor 3 Tagen."""
    before, after = match["before"], match["after"]
    if not (before or after) or _OF_ANOTHER.match(match.string, match.start()):
        return None
    way = -1 if before == "ago " or after == "ago" else 1
    many = 0.5 if match["half"] else amount(match["n"])
    many += 0.5 if match["more"] or match["and_half"] else 0
    sense = later(now, way * many, _UNITS.get(match["unit1"], match["unit1"]))
    if not match["n2"]:
        return sense
    unit = _UNITS.get(match["unit2"], match["unit2"])
    return together(sense, later(now, way * amount(match["n2"]), unit), now)


def _weekday_ahead(match: re.Match[str], now: datetime) -> Sense | None:
    """In two weeks on Monday."""
    return weekday_near(shift_date(now.date(), amount(match["n"]), "week"), weekday(match["name"]))


def _hours_and_minutes(match: re.Match[str], now: datetime) -> Sense | None:
    """In 1h30m, 2h 15m ago."""
    if not match["before"] and not match["after"]:
        return None
    way = -1 if match["after"] == "ago" else 1
    minutes = int(match["hours"]) * 60 + int(match["minutes"] or match["apart"])
    return later(now, way * minutes, "minute")


def _shift(match: re.Match[str], _: datetime) -> Sense | None:
    """A week from (Monday), a week (tomorrow), the day after (Dec 5), two days before (Christmas)."""
    days = {"day": 1, "week": 7, "fortnight": 14}[match["unit"]] * int(amount(match["n"] or "1"))
    if match["which"] in {"on", None} and match["unit"] == "day":
        return None
    return Sense(shift=-days if match["which"] == "before" else days, weak=True)


def _near_day(match: re.Match[str], now: datetime) -> Sense | None:
    words = match[0].removesuffix("'s")
    step = 1 if words.startswith(("tom", "tm")) else 0
    step = -1 if words.startswith(("yesterday", "last")) else step
    if "day after" in words or "day before" in words:
        step = 2 if "after" in words else -2
    part = "evening" if words.endswith("night") else ""
    if words.startswith("this"):
        part = words.split()[1]
    day = day_after(now.date(), step)
    return Sense(day=day, part=part, relative=True) if day else None


def _named_day(match: re.Match[str], now: datetime) -> Sense | None:
    """Friday, this Friday, next Friday, last Friday, the Friday after next."""
    name, which = match["name"], match["which"] or ""
    before = match.string[max(0, match.start() - 8) : match.start()]
    unsure = name in _WORDS_TOO and not which and lead(match) not in DEADLINES
    if before.endswith(_NOT_DAYS) or (unsure and not _is_day(match)):
        return None
    today, number = now.date(), weekday(name)
    to = weekday(match["through"]) if match["through"] else None
    if match["skip"]:
        which = "after next"
    if which in {"", "coming", "this coming"}:
        more = {"week": 7, "fortnight": 14}.get((match["more"] or "").strip())  # Monday week
        if match["weeks"]:  # Monday in two weeks
            more = 7 * int(amount(match["weeks"]))
        return Sense(weekday=number, through=to, shift=more, relative=True, proper=unsure)
    if which in {"last", "past", "this past"}:
        day = day_after(today, -((today.weekday() - number - 1) % 7 + 1))
    else:
        start = monday(today, {"this": 0, "next": 1, "after next": 2}[which])
        day = start and day_after(start, number)
    return Sense(day=day, through=to, relative=True) if day else None


def _weekday_the_nth(match: re.Match[str], now: datetime) -> Sense | None:
    """Friday the 13th: the next day that is both."""
    number, name, today = ordinal(match["number"]), weekday(match["name"]), now.date()
    months = (month_after(today.replace(day=1), step) for step in range(_MONTHS_AHEAD))
    days = (calendar_day(first.year, first.month, number) for first in months if first)
    coming = (day for day in days if day and day >= today and day.weekday() == name)
    day = next(coming, None)
    return Sense(day=day, relative=True) if day else None


def _is_day(match: re.Match[str]) -> bool:
    """Whether "Sat" can be Saturday here: before a time, or at the end of the clause."""
    if lead(match) == "the":
        return False
    rest = match.string[match.end() : match.end() + 16]
    ends = r"|$|[.!?;\n(]" if match["name"] != "sun" else r"|\("
    return bool(
        re.match(rf"[\s,]*(?:\d|at\s|morning|afternoon|evening|night|{MONTH_NAME}\s{ends})", rest)
    )


_DAY_ENDS = 18 * 60  # the working day, in minutes
_STEPS = {"this": 0, "coming": 1, "next": 1, "last": -1}
_FROM = frozenset({"from", "since", "starting", "beginning"})


def _period(match: re.Match[str], now: datetime) -> Sense | None:
    """Next week, this weekend, last month, the week after next, the week before last."""
    unit: str = match["unit"] or match["skipped"] or "weekend"
    far = -2 if match[0].endswith("last") else 2
    step = far if match["skipped"] else _STEPS.get(match["which"] or "", 0)
    today = now.date()
    if unit == "weekend":
        start = monday(today, step)
        saturday = start and day_after(start, 5)
        day = saturday and (max(today, saturday) if not step else saturday)
        return Sense(day=day, relative=True) if day else None
    day = _period_start(now, unit, step)
    if unit == "week" and match["which"] == "this" and lead(match) == "later":
        day = day_after(today, (4 if today.weekday() < 4 else 6) - today.weekday())  # its Friday
    grain: Grain = "week" if unit == "week" else "month" if unit == "month" else "year"
    return Sense(day=day, grain=grain, relative=True) if day else None


def _month(match: re.Match[str], now: datetime) -> Sense | None:
    """In March, March 2027, May next year; by March only beside a day, or in a reminder."""
    of, is_led = month(match["of"]), match["in"] is not None
    year = match["year"] and int(match["year"])
    if match["which"]:
        year = now.year + _STEPS[match["which"]]
    elif not is_led and not year and lead(match) not in DEADLINES | _FROM:
        return None
    weak = not (is_led or match["which"])
    if not year:
        return Sense(month=of, grain="month", weak=weak)
    day = calendar_day(year, of, 1)
    return Sense(day=day, grain="month", relative=bool(match["which"]), weak=weak) if day else None


def _period_start(now: datetime, unit: str, step: int) -> date | None:
    today = now.date()
    if unit == "week":
        return monday(today, step)
    if unit == "month":
        return month_after(today.replace(day=1), step)
    return calendar_day(today.year + step, 1, 1)


def _edge(match: re.Match[str], now: datetime) -> Sense | None:
    """End of next month, beginning of December, mid-January, early next week, late in March, end of the day."""
    edge, unit = match["edge"] or match["part"], match["unit"]
    edge = "end" if edge.startswith("last") else edge
    if unit == "day":
        sure = edge == "end" and (not match["the"] or lead(match) in DEADLINES - {"on"})
        return Sense(clock=_DAY_ENDS) if sure else None
    if not unit:
        number = {"end": LAST, "mid": 15, "middle": 15, "late": 21}.get(edge, 1)
        of = month(match["month"])
        if match["year"]:
            return Sense(day=calendar_day(int(match["year"]), of, number))
        return Sense(month=of, number=number)
    step = _STEPS.get(match["which"] or "", 0)
    begin = _period_start(now, unit, step)
    following = _period_start(now, unit, step + 1)
    if not (begin and following):
        return None
    if edge == "end":
        return Sense(day=day_after(following, -1), relative=True)
    days = {"mid": (2, 14, 181), "lat": (4, 20, 273)}.get(edge[:3], (0, 0, 0))
    after = days[("week", "month", "year").index(unit)]
    return Sense(day=day_after(begin, after), relative=True)


def _short(match: re.Match[str], now: datetime) -> Sense | None:
    """EOD, close of business, EOW, EOM, EOY."""
    if match[0] == "eod" or match[0].startswith("c"):
        return Sense(clock=_DAY_ENDS)
    following = _period_start(now, {"w": "week", "m": "month", "y": "year"}[match[0][2]], 1)
    return Sense(day=following and day_after(following, -1), relative=True) if following else None


def _nth_weekday(match: re.Match[str], now: datetime) -> Sense | None:
    """The first Monday of next month, the last Friday of December."""
    nth, number = ordinal(match["nth"]), weekday(match["name"])
    if nth > 5:
        return None
    today = now.date()
    if match["month"]:
        of = month(match["month"])
        day = calendar_day(today.year, of, 1)
        result = day and nth_weekday(day, number, nth)
        if result and result < today:
            day = calendar_day(today.year + 1, of, 1)
    else:
        day = _period_start(now, "month", 1 if match["which"] == "next" else 0)
        result = day and nth_weekday(day, number, nth)
        if result and result < today and match["which"] is None:
            day = _period_start(now, "month", 1)
    result = day and nth_weekday(day, number, nth)
    # "The first Monday of the month" is often one of each month.
    return Sense(day=result, relative=match["which"] is not None) if result else None


# After "Mon": its full stop, where a time goes on behind it, is no end of a sentence.
_SHORTENED = rf"(?:(?<!day)\.(?=,?\s(?:\d|at\s|noon|midnight|morning|afternoon|evening|night|{MONTH_NAME})))?"
_RULES = rules(
    ((r"(?P<before>(?:with)?in\s(?:about\s|exactly\s)?)?(?P<hours>\d{1,2})\s?h"
     rf"(?:(?P<minutes>\d{{1,2}})m?|\s(?P<apart>\d{{1,2}})\s?m){END}"
     rf"(?:\s(?P<after>from\snow{END}(?!\son\b)|ago{END}))?"), _hours_and_minutes),
    (rf"in\s(?P<n>{NUMBER})\sweeks?'?(?:\stime)?,?\son\s(?P<name>{DAY_NAME}){END}", _weekday_ahead),
    ((rf"(?P<before>ago |(?:with)?in\s(?:about\s|exactly\s)?)?(?:(?P<half>half\san?\s)|(?P<n>{NUMBER})"
     rf"(?P<and_half>\sand\sa\shalf)?(?:\s|-)?){_UNIT.format(1)}(?P<more>\sand\sa\shalf{END})?"
     rf"(?:\s?(?:and\s|,\s)?(?P<n2>\d{{1,3}}|{SPELLED})\s?{_UNIT.format(2)})?(?:'?\stime)?"
     rf"(?:\s(?P<after>from\s(?:now|today){END}(?!\son\b)|ago{END}))?"), _delta),
    (rf"(?:the\s)?(?:day\safter\stomorrow|day\sbefore\syesterday){END}", _near_day),
    ((rf"(?:(?:the|(?P<n>{NUMBER}))\s)?(?P<unit>day|week|fortnight)s?(?:\s(?P<which>from|after|before|on){END}"
     rf"(?=\s)(?!\s(?:next|last))|(?(n)(?=\s(?:today|tomorrow|{DAY_NAME}){END})|(?!)))"), _shift),
    (rf"(?:today|tonight|tomorrow|tmrw|tmr|yesterday|last\snight|this\s(?:morning|afternoon|evening))(?:'s)?{END}",
     _near_day),
    ((rf"(?:the\s)?(?P<nth>{ORDINAL})\s(?P<name>{DAY_NAME}){END}\s(?:of|in)\s"
     rf"(?:(?:the|(?P<which>this|next))\smonth{END}|(?P<month>{MONTH_NAME}))"), _nth_weekday),
    (rf"(?P<name>{DAY_NAME}),?\sthe\s(?P<number>\d{{1,2}}(?:st|nd|rd|th)){END}(?!\s(?:of|in)\s)", _weekday_the_nth),
    ((rf"(?P<between>between\s(?=(?:[a-z]+\s)?{DAY_NAME}\s(?:and|und)\s{DAY_NAME}{END}))?"
     rf"(?:(?P<which>this\scoming|this\spast|this|next|last|past|coming)\s)?(?P<name>{DAY_NAME})"
     rf"(?:'s)?{END}{_SHORTENED}(?P<skip>\safter\snext{END})?"
     rf"(?:\s?(?(between)(?:and|und)|(?:-|to|through))\s?(?P<through>{DAY_NAME}){END})?"
     rf"(?:(?P<more>\s(?:week|fortnight)(?!\s(?:of|from|and|in|on)){END})|\sin\s(?P<weeks>{NUMBER})\sweeks?(?!\s(?:of|from)){END})?"),
     _named_day),
    ((rf"(?P<in>in\s)?(?P<of>{MONTH_NAME})(?:\s(?:of\s)?(?P<which>this|next|last|coming)\syear{END}|{YEAR})"
     r"(?!\s?\d)"), _month),
    ((rf"(?P<which>this|next|last|coming)\s(?P<unit>weekend|week|month|year)(?:'s)?{END}"
     rf"|(?:the\s)?(?P<skipped>weekend|week|month|year)\s(?:after\snext|before\slast){END}"
     rf"|(?<=the\s)(?P<the>weekend){END}"), _period),
    ((r"(?:the\s)?(?:(?P<edge>end|last\sday|beginning|start|middle)\sof\s|(?P<part>mid|early|late)(?:[\s-]|\sin\s)?)"
     rf"(?P<the>the\s)?(?:(?:(?P<which>this|next|last)\s)?(?P<unit>day|week|month|year){END}"
     rf"|(?P<month>{MONTH_NAME}){YEAR})"), _edge),
    (rf"(?:cob|close\sof\sbusiness|eo[dwmy]){END}", _short),
)  # fmt: skip
RULES = [*FIGURES, *REPEATS, *MONTH_DAYS, *_RULES, *NUMBERS, *CLOCKS]
STARTS = frozenset(
    f"""{SPELLED.replace("|", " ")} a an ago the in within half at around about by before after between until from
    every each on this next last past coming today tonight tomorrow tmrw tmr yesterday day week fortnight month year
    weekend weekday weekdays weekends workday workdays working business end beginning start middle mid
    early late cob close first eod eow eom eoy daily nightly weekly bi biweekly fortnightly monthly quarterly yearly
    annually
    {" ".join(ORDINAL_WORDS)} christmas new halloween valentine quarter noon midday midnight
    morning afternoon evening night mornings afternoons evenings nights""".split()
)
NAMES = lazy(rf"(?:{DAY_NAME}s?|{MONTH_NAME}|mid[a-z]*)")
