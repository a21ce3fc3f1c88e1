"""Time expressions in notes, for all languages in one grammar, relative to the day they were written.

Pieces are read from left to right and joined if they belong to one time: "next Friday" and "at 9am". The week runs
from Monday to Sunday, a bare weekday is the next one after today, "next" is in the following week, "morning" is 9:00,
"evening" 20:00; "at 3" and 3:15 are in the afternoon, 03:15 is in the night.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta

from vaultmem.adapter import Moment
from vaultmem.text.times import calendar_day, day_after
from vaultmem.text.values import lazy
from vaultmem_languages import (
    intentions,
    pattern,
    when_chinese,
    when_english,
    when_english_repeat,
    when_translated,
)
from vaultmem_languages.when_parts import (
    PARTS,
    Reading,
    Rule,
    Sense,
    day_of,
    merge,
    rule_text,
    shift_date,
)
from vaultmem_languages.when_words import normalize

ALL_DAY = time(9)
_DAY = 24 * 60  # minutes
_EARLY = 5 * 60, 9 * 60  # later than such a time, its evening is meant
_TOKEN = lazy(rf"[a-z]+|[0-9]+|@|[{when_chinese.STARTS}]")
# Of a number or a word.
_INSIDE = frozenset("0123456789abcdefghijklmnopqrstuvwxyz_$€£¥#.:/\\-+=^~第")
# A blank between figures and a Chinese unit: 12 月 5 日, 每月 1 号.
_GAP = lazy(
    r"(?<=[0-9]) (?=[号日月年点时分天周星礼个小刻季])"
    r"|(?<=[\u4e00-\u9fff]) (?=[0-9]{1,4} ?[号日月年点时分天周星礼个小刻季])"
)
_COUNTED = f"第百千万.{when_chinese.DIGITS}"  # a number continues, or is an ordinal
_GLUE = lazy(
    r" {0,3}(?:[,、-] {0,2})?"
    r"(?:(?:at|on|by|in|of|the|from|around|about|before|starting|的|之|于|在)(?![a-z]) {0,2}){0,2}"
    r"| {0,2}(?P<bracket>\()|\) {0,2}"
)
_LIMIT = lazy(r"within\b|.*内\Z", re.IGNORECASE)
_ROUNDS = 5
_CUT_WORD = lazy(r"[a-z0-9]{2}")
_LONGEST_GLUE = 24
_BESIDE = 40  # characters
_MORNING, _EVENING = pattern("occasions", "morning"), pattern("occasions", "evening")
_SETTLED = lazy(
    r" ?\((\d{4})(?:-(\d\d)(?:-(\d\d)(?: (\d\d):(\d\d))?)?|-w(\d\d))?\)",
)


def find(text: str, now: datetime) -> list[Moment]:
    """All times that a text names, in order, anywhere in it."""
    result: list[Moment] = []
    for reading in readings(text, now):
        is_age = reading.sense.grain == "year" and when_chinese.AGE.match(text, reading.end)
        moment = None if reading.sense.weak or is_age else moment_of(reading, now)
        result += [moment] if moment else []
    return result


def reminder(text: str, now: datetime) -> Moment | None:
    """The first future time at which the text clearly asks for something; None without one.

    Code, quotes, headings and links do not count.
    """
    return _to_come(text, now, lambda *at: not intentions.is_end(*at) and intentions.is_plain(*at))


def end(text: str, now: datetime) -> Moment | None:
    """The future time until which a sentence of the text holds; None without one."""
    return _to_come(text, now, intentions.is_end)


def _to_come(text: str, now: datetime, fits: Callable[[str, int, int], bool]) -> Moment | None:
    """The first future time whose position in the plain prose of a text fits."""
    open_text = intentions.prose(text)
    coming = (moment for moment in find(open_text, now) if moment.is_to_come(now))
    return next(
        (reading for reading in coming if fits(open_text, reading.start, reading.end)), None
    )


def absolute(text: str, written: datetime) -> str:
    """The text with each relative time followed by the day it meant: tomorrow (2026-11-22).

    A bare "Friday" may be the last or the next, and "within 30 days" of anything: a day is added only if the intent is
    plain.
    """
    for _ in range(_ROUNDS):  # an added bracket may split what was one unusual word: 0:00年底
        resolved = _with_days(text, written)
        if resolved == text:
            break
        text = resolved
    return text


def _with_days(text: str, written: datetime) -> str:
    open_text = intentions.prose(text)
    parts: list[str] = []
    at = 0
    for reading in readings(open_text, written):
        sense = reading.sense
        moment = None if sense.weak else moment_of(reading, written)
        if not moment or not moment.relative or not (sense.dated or sense.at):
            continue
        is_sure = (sense.day or sense.at) and not _LIMIT.match(open_text, *reading[:2])
        if not is_sure and not intentions.is_plain(open_text, *reading[:2]):
            continue
        day = _render_moment(moment, sense)
        wide = "\u2e80" <= text[reading.end - 1] <= "\u9fff"
        parts += [text[at : reading.end], f"（{day}）" if wide else f" ({day})"]
        at = reading.end
    return "".join([*parts, text[at:]])


def _render_moment(moment: Moment, sense: Sense) -> str:
    if sense.at and not moment.all_day:
        return f"{moment.when:%Y-%m-%d %H:%M}"
    if sense.grain == "week":
        return f"{moment.when:%G-W%V}"
    resolved = moment.when - timedelta(days=minutes_of(sense) // _DAY)  # Friday midnight: Friday
    return f"{resolved:%Y-%m-%d}"[: {"day": 10, "month": 7, "year": 4}[sense.grain]]


def readings(text: str, now: datetime) -> Iterator[Reading]:
    """Yield the joined pieces, including weak ones, which mean nothing alone."""
    english, stood = when_translated.in_english(text)
    compact, gaps = _without_gaps(english)
    places = [stood[at] for at in gaps]
    for bound in when_english_repeat.with_bounds(
        normalize(compact), list(_read(compact, now)), now.date()
    ):
        others = tuple((places[start], places[end - 1] + 1) for start, end in bound.others)
        yield Reading(places[bound.start], places[bound.end - 1] + 1, bound.sense, others)


def _without_gaps(text: str) -> tuple[str, Sequence[int]]:
    """The text without blanks inside Chinese times, and the original offset of each character."""
    gaps = {gap.start() for gap in _GAP.finditer(normalize(text))}
    if not gaps:
        return text, range(len(text))
    places = [at for at in range(len(text)) if at not in gaps]
    return "".join(text[at] for at in places), places


def _read(text: str, now: datetime) -> Iterator[Reading]:
    low = normalize(text)
    current: Reading | None = None
    for piece in _pieces(text, low, now):
        if current and piece.start < current.end:
            continue  # inside the brackets of a day that was added earlier
        joined = join(low, current, piece) if current else None
        if current and not joined:
            yield current
        current = _settle(low, joined or piece)
    if current:
        yield current


def join(low: str, first: Reading, second: Reading) -> Reading | None:
    """Two readings joined, if they are adjacent in the folded text and belong to one time; else None."""
    if second.start - first.end > _LONGEST_GLUE:
        return None
    glue = _GLUE.fullmatch(low, first.end, second.start)
    if not glue or (glue["bracket"] and not (first.sense.dated and second.sense.dated)):
        return None
    if "before" in glue[0] and (not first.sense.dated or second.sense.dated):
        return None  # the night before Christmas is not Christmas night
    sense = merge(first.sense, second.sense)
    return Reading(first.start, second.end, sense) if sense else None


def _settle(low: str, reading: Reading) -> Reading:
    """The reading with the day in brackets that follows a relative time, which is what was meant."""
    sense = reading.sense
    added = _SETTLED.match(low, reading.end)
    if not added or not sense.relative:
        return reading
    year, month, number, week = (int(added[index] or 0) for index in (1, 2, 3, 6))
    if week:  # "later this week" is its Friday, whatever week it is read in
        of_week = sense.day.isoweekday() if sense.day and sense.grain == "week" else 1
        is_valid = 1 <= week <= 52 and 1 <= year <= 9998
        day = date.fromisocalendar(year, week, of_week) if is_valid else None
    else:
        day = calendar_day(year, month or 1, number or 1)
    if not day:
        return reading
    clock = sense.clock
    if added[4]:
        clock = int(added[4]) * 60 + int(added[5])
        if clock >= _DAY:
            return reading
    resolved = Sense(day=day, clock=clock, dial=sense.dial, part=sense.part, repeat=sense.repeat)
    return Reading(reading.start, added.end(), resolved)


def _pieces(text: str, low: str, now: datetime) -> Iterator[Reading]:
    at = 0
    for token in _TOKEN.finditer(low):
        start = token.start()
        if start < at or (token[0].isascii() and _is_inside(low, start)):
            continue
        for rule, read in _rules(token[0], low[start - 1] if start > at else ""):
            match = rule.match(low, start)
            sense = read(match, now) if match else None
            if not match or not sense or _CUT_WORD.match(low, match.end() - 1):
                continue
            if sense.proper and text[start : match.end()].islower():
                continue
            yield Reading(start, match.end(), _on_occasion(low, start, match.end(), sense))
            at = match.end()
            break


def _on_occasion(low: str, start: int, end: int, sense: Sense) -> Sense:
    """The sense with the half of the day that words beside a clock name: dinner 6:15, wake me at 6."""
    if sense.clock is None or sense.dial == "set" or not 1 <= sense.clock // 60 < 12:
        return sense
    line = (
        low[low.rfind("\n", 0, start) + 1 : start][-_BESIDE:]
        + low[end : end + _BESIDE].partition("\n")[0]
    )
    if sense.clock // 60 >= 5 and _EVENING.search(line):
        return sense._replace(clock=sense.clock + _DAY // 2, dial="set")
    return sense._replace(dial="set") if _MORNING.search(line) else sense


def _is_inside(low: str, start: int) -> bool:
    """Whether an offset is inside a number or a word; "due:Friday" and 截止：12月5日 begin after the colon."""
    before = low[start - 1 : start]
    if before == ":" and start > 1 and not low[start - 2].isdigit():
        return False
    return bool(before) and before in _INSIDE


def _rules(word: str, before: str) -> list[Rule]:
    if not word.isascii():
        counted = word in when_chinese.DIGITS and before and before in _COUNTED
        return [] if counted else when_chinese.RULES
    if word.isdigit():
        return [*when_english.RULES, *when_chinese.RULES] if len(word) <= 4 else []
    is_english = word in when_english.STARTS or word == "@" or when_english.NAMES.fullmatch(word)
    return when_english.RULES if is_english else []


def moment_of(reading: Reading, now: datetime) -> Moment | None:
    """The moment of a reading; None for never, or for a reading that means nothing alone."""
    try:
        resolved = _resolve(reading.sense, now)
    except (OverflowError, ValueError):  # beyond the calendar
        return None
    if not resolved:
        return None
    when, repeat = resolved
    sense = reading.sense
    all_day = not sense.at and sense.clock is None and not sense.part
    clock_alone = not sense.dated and not sense.at and not sense.repeat
    relative = (sense.relative or clock_alone) and not sense.repeat
    return Moment(when, all_day, repeat, reading.start, reading.end, relative, sense.grain)


def _resolve(sense: Sense, now: datetime) -> tuple[datetime, str | None] | None:
    if sense.at:
        return sense.at, None
    if sense.repeat:
        return _first(sense, now)
    today = now.date()
    day = day_of(sense, today)
    if not day and (sense.dated or (sense.clock is None and not sense.part)):
        return None
    soon = _local(day or today, sense, now)
    if not _after(soon, now) and _may_be_evening(sense, day):
        soon = _local(
            day or today, sense._replace(clock=minutes_of(sense) + _DAY // 2, dial="set"), now
        )
    is_past = not day and not _after(soon, now)
    return (_local(today + timedelta(days=1), sense, now) if is_past else soon), None


def _may_be_evening(sense: Sense, day: date | None) -> bool:
    """Whether a time in the morning that is past may mean the evening: at 7, 5:30, today at 9."""
    first, last = _EARLY
    last = _DAY // 2 if day else last
    return sense.dial in {"bare", "near"} and not sense.part and first <= minutes_of(sense) < last


def _first(sense: Sense, now: datetime) -> tuple[datetime, str] | None:
    """The first future time that fits a rule, and the rule."""
    sense = _within_its_day(sense)
    day = _first_day(sense, now)
    if sense.since and sense.since > now.date():
        sense = sense._replace(since=None)  # it is the first day
    if day and sense.length:
        end = shift_date(day, *sense.length)
        sense = sense._replace(until=end and day_after(end, -1))
    rule = rule_text(sense, sense.repeat.interval) if sense.repeat else None
    if not day or not rule or (sense.until and day > sense.until):
        return None
    return _local(day, sense, now), rule


def _first_day(sense: Sense, now: datetime) -> date | None:
    from vaultmem.text.recurrence import next_day, occurrences_around, read_rule  # only for rules

    repeat, today, since = sense.repeat, now.date(), sense.since
    fitting = rule_text(sense._replace(until=None, times=0, since=None), 1)
    if not repeat or not fitting:
        return None
    if since and since <= today:  # counted from there
        rule = read_rule(rule_text(sense, repeat.interval) or "")
        day = day_after(today, -1)
        while rule and day and (day := occurrences_around(rule, since, day)[1]):
            if _after(_local(day, sense, now), now):
                break
        return day if rule else None
    today = since or today
    if not repeat.weekdays and not sense.number:
        timed = sense.clock is not None or bool(sense.part)
        if since or (timed and _after(_local(today, sense, now), now)):
            return today
        return shift_date(
            today, 1 if timed and repeat.unit == "day" else repeat.interval, repeat.unit
        )
    day = next_day(fitting, today - timedelta(days=1), today)
    while day and not since and not _after(_local(day, sense, now), now):
        day = next_day(fitting, day, day)
    return day


def _within_its_day(sense: Sense) -> Sense:
    """The sense with its time within its day: every Friday at midnight is every Saturday at 0:00."""
    past, minutes = divmod(minutes_of(sense), _DAY)
    repeat = sense.repeat
    if not past or not repeat:
        return sense
    if not repeat.nth:
        days = tuple(sorted((day + past) % 7 for day in repeat.weekdays))
        repeat = repeat._replace(weekdays=days)
    return sense._replace(clock=minutes, dial="set", part="", repeat=repeat)


def _after(moment: datetime, now: datetime) -> bool:
    return moment.astimezone(UTC) > now.astimezone(UTC)


def _local(day: date, sense: Sense, now: datetime) -> datetime:
    """The day with its clock time in the zone of now; a time that a change of clocks skips moves on."""
    minutes = minutes_of(sense)
    clock = time(minutes // 60 % 24, minutes % 60)
    day += timedelta(days=minutes // _DAY)
    local = datetime.combine(day, clock, tzinfo=now.tzinfo)
    return local.astimezone(UTC).astimezone(now.tzinfo)


def minutes_of(sense: Sense) -> int:
    """The minutes from midnight, beyond 24 hours for the small hours of "tonight at 1"."""
    if sense.clock is None:
        return 60 * PARTS.get(sense.part, ALL_DAY.hour)
    if sense.dial == "set":
        return sense.clock
    hour, minute = divmod(sense.clock, 60)
    return (hour + _more_hours(hour, sense)) * 60 + minute


def _more_hours(hour: int, sense: Sense) -> int:
    if not sense.part:
        return 12 if sense.dial == "bare" and 1 <= hour <= 6 else 0
    if sense.part in {"evening", "late"} and hour in {0, 12}:
        return 24 - hour
    if sense.part == "small hours":
        return -12 if hour == 12 else 0
    if sense.part == "evening" and hour < 5:
        return 24
    first_late = {"afternoon": 1, "dusk": 1, "evening": 5, "late": 7, "noon": 1}.get(sense.part, 12)
    last_late = 3 if sense.part == "noon" else 11
    return 12 if first_late <= hour <= last_late else 0
