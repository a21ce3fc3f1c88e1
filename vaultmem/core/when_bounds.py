"""From when and until when something repeats, how often, and on which days not: "starting Dec 8", "except Sundays".

Such a bound may stand apart from its rule in the sentence: every Friday pay the cleaner until Dec 31.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

from vaultmem.core.when_parts import Reading, Repeat, Sense, day_of
from vaultmem.core.when_words import NUMBER, amount

_SINCE, _UNTIL, _EXCEPT, _AND = "since", "until", "except", "and"
_BEFORE = {  # what a bound is by the words before it
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
_LED = re.compile("|".join(rf"(?P<{role}>{words})" for role, words in _BEFORE.items()))
_LED_END = re.compile(rf"(?:{_LED.pattern})(?: the)? ?$")
_FOLLOWED = re.compile("|".join(rf"(?P<{role}>{words})" for role, words in _AFTER.items()))
_COUNT = re.compile(
    rf",? (?:(?:for )?(?P<times>{NUMBER}) (?:times|occurrences)|for (?:the next )?(?P<n>{NUMBER})"
    r" (?P<unit>day|week|month|year)s?)(?![a-z])"
    r"|.{0,6}?[,，]?(?:连续|持续|一共|总共|共)(?P<many>\d{1,3})个?(?P<unit2>[次天日周月年])"
)
_UNITS = {"天": "day", "日": "day", "周": "week", "月": "month", "年": "year"}
_WEEKEND = re.compile(r"(?:the )?weekends?|周末")
_STOP = re.compile(r"[。！？!?;；\n]|\.\s")
_FURTHEST = 120  # characters between a rule and its bound
_NEAR = 24
_NEIGHBOURS = 4


class _Bound(NamedTuple):
    role: str
    start: int  # with the words that tell its role
    end: int


def bounded(low: str, found: Sequence[Reading], today: date) -> list[Reading]:
    """The readings of a folded text, with each bound that stands by a rule taken into it."""
    bounds = _bounds(low, found)
    read: list[Reading | None] = list(found)
    for at, bound in bounds.items():
        rule_at = _nearest(low, found, at, bounds)
        rule = None if rule_at is None else read[rule_at]
        limit = found[at]
        joined = rule and _joined(rule, limit, bound, low[limit.start : limit.end], today)
        if rule_at is not None and joined:
            read[rule_at], read[at] = joined, None
    return [_counted(low, each) for each in read if each]


def _bounds(low: str, found: Sequence[Reading]) -> dict[int, _Bound]:
    """The readings that are bounds, by their numbers, if any of the others is a rule."""
    if not any(each.sense.repeat for each in found):
        return {}
    bounds: dict[int, _Bound] = {}
    for at, each in enumerate(found):
        last = found[at - 1].end if at else 0
        led = _LED_END.search(low, max(last, each.start - _NEAR), each.start)
        role = (led and led.lastgroup) or ""
        before = bounds.get(at - 1)
        if role == _AND and each.sense.repeat and not each.sense.weak:
            role = ""
        if role in {"to", _AND}:
            beside = before is not None and led is not None and led.start() <= before.end + 1
            wanted = {"to": _SINCE, _AND: _EXCEPT}[role]
            role = (
                {"to": _UNTIL, _AND: _EXCEPT}[role]
                if beside and before and before.role == wanted
                else ""
            )
        followed = _FOLLOWED.match(low, each.end)
        told = (followed and followed.lastgroup) or ""
        if told == _SINCE and followed and followed[0].strip() == "on" and role != _SINCE:
            told = ""  # Friday on the phone
        if role or told:
            begin = led.start() if led and role else each.start
            end = followed.end() if followed and told else each.end
            bounds[at] = _Bound(told if told and role != _EXCEPT else role, begin, end)
    for at in [at for at in bounds if _are_days(at, bounds, found)]:
        del bounds[at], bounds[at - 1]  # from Monday to Friday, every day: which week?
    return bounds


def _are_days(at: int, bounds: dict[int, _Bound], found: Sequence[Reading]) -> bool:
    if at - 1 not in bounds or (bounds[at - 1].role, bounds[at].role) != (_SINCE, _UNTIL):
        return False
    return all(each.sense.weekday is not None for each in found[at - 1 : at + 1])


def _nearest(low: str, found: Sequence[Reading], at: int, bounds: dict[int, _Bound]) -> int | None:
    """The rule in the same sentence that a bound stands nearest to."""
    near = range(max(0, at - _NEIGHBOURS), min(len(found), at + _NEIGHBOURS + 1))
    apart: dict[int, int] = {}
    for other in near:
        if other in bounds or not found[other].sense.repeat:
            continue
        first, last = sorted((found[at], found[other]))
        gap = low[first.end : last.start]
        if len(gap) <= _FURTHEST and not _STOP.search(gap):
            apart[other] = len(gap)
    return min(apart, key=lambda other: apart[other], default=None)


def _joined(
    rule: Reading, limit: Reading, bound: _Bound, words: str, today: date
) -> Reading | None:
    """The rule with the bound in it; None where they do not fit."""
    if bound.role == _EXCEPT:
        sense = _without(rule.sense, limit.sense, words)
    else:
        sense = _limited(rule.sense, limit.sense, bound.role, today)
    if sense is None:
        return None
    clock = limit.sense
    if clock.clock is not None or clock.part:
        if sense.clock is not None or sense.part:
            return None
        sense = sense._replace(clock=clock.clock, dial=clock.dial, part=clock.part)
    others = (*rule.others, (bound.start, bound.end))
    return rule._replace(sense=sense._replace(weak=False), others=others)


def _limited(sense: Sense, limit: Sense, role: str, today: date) -> Sense | None:
    if limit.repeat or limit.at or limit.through is not None:
        return None
    day = day_of(limit, sense.since or today)
    if day and role == _SINCE and not sense.since:
        return sense._replace(since=day)
    if day and role == _UNTIL and not sense.until and limit.grain == "day":
        return sense._replace(until=day)
    return None


def _without(sense: Sense, limit: Sense, words: str) -> Sense | None:
    """A rule of days without some weekdays; None where they are not days of it."""
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


def _counted(low: str, rule: Reading) -> Reading:
    """A rule with how often or how long, where that stands right behind it."""
    if not rule.sense.repeat or rule.sense.until:
        return rule
    for end in sorted({rule.end, *(end for _, end in rule.others)}):
        found = _COUNT.match(low, end)
        if not found:
            continue
        others = (*rule.others, (found.start(), found.end()))
        if found["times"] or found["unit2"] == "次":
            times = int(amount(found["times"] or found["many"]))
            sense = rule.sense._replace(times=times)
        else:
            unit = found["unit"] or _UNITS[found["unit2"]]
            sense = rule.sense._replace(length=(amount(found["n"] or found["many"]), unit))
        return rule._replace(sense=sense._replace(weak=False), others=others)
    return rule
