"""Parses the words of a reminder: when it is due, and which time words were not understood.

Every word of a time counts: one that is neither part of the time nor clearly text of the reminder is reported, so
that no rule is set that means less than the words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from vaultmem.adapter import Phrase
from vaultmem.text.values import lazy
from vaultmem_languages import intentions, pattern, when, when_translated
from vaultmem_languages.when_english_dates import FIGURES_ALONE, days_in_figures, two_days
from vaultmem_languages.when_english_repeat import lists_times, more_times
from vaultmem_languages.when_parts import DAY_NAME, Reading, Sense, merge
from vaultmem_languages.when_words import MONTH_NAME, ORDINAL_WORDS, normalize

_OPENING = lazy(r"(?:(?:please )?remind (?:me|us) )?(?:(?:at|by|before) )?")
_CAPITALS = {code: code - 32 for code in range(ord("a"), ord("z") + 1)}
_ENDS = lazy(r"\s*(?:$|[,.;:!?，。；：、])")
_FILLS = lazy(r"(?:[\s,.，。]|(?:at|on|from|in|by|the|of|的|于|在)(?![a-z]))*")


_LONGEST = 2_000  # characters: each time is compared with all others

Span = tuple[int, int]


def read(text: str, now: datetime) -> Phrase:
    """Parse the words of a reminder; of a long text, only its beginning."""
    if len(text) > _LONGEST:
        return read(text[:_LONGEST], now)._replace(task=when.absolute(text, now))
    written = text
    text, stood = when_translated.in_english(written)

    def quote(spans: Iterable[Span]) -> tuple[str, ...]:
        return _words(written, ((stood[start], stood[end - 1] + 1) for start, end in spans))

    low = normalize(text)
    every = _with_bare_days(low, _with_small_names(text, low, now))
    result = [reading for reading in every if when.moment_of(reading, now)]
    main = _main(low, result, now)
    unread = _unread(low, every, dated=main is not None and not _is_clock(main))
    if main is None:
        return Phrase(None, "", quote(_join(text, sorted([*_left(low, [], ""), *unread]))))
    main = _with_day(low, _with_clock(low, main, result), result)
    more = [_with_its_half(each) for each in more_times(low, main, result)]
    main = _with_its_half(main) if more else main
    moment = when.moment_of(main, now)
    spans = [(main.start, main.end), *main.others, *(each[:2] for each in more)]
    used = _join(text, sorted(spans))
    if either := two_days(low, used, now.date()):
        return Phrase(None, " ".join(quote(used)), (), either)
    repeats = (moment and moment.repeat) or ("every day" if more else "")  # or so it may be meant
    spans = [*_left(low, used, repeats), *unread]
    if main.sense.through is not None and not repeats:  # Mon-Fri at 9 is hardly a single time
        spans.append((main.start, main.end))
    for reading in result:
        says = not reading.sense.weak or (reading.sense.repeat and reading.sense.repeat.weekdays)
        if says and _is_apart(reading, used) and _counts(low, reading, used, repeats, now):
            spans.append((reading.start, reading.end))
    if main.sense.weak:  # 15:00 bis 16:00
        spans += [
            each[:2]
            for each in every
            if _is_apart(each, used)
            and (each.sense.clock is not None or _touches(low, used, *each[:2]))
        ]
    rest = quote(_join(text, sorted(spans)))
    task = _task(written, [*stood, len(written)], low, used) or when.absolute(written, now)
    others = [when.moment_of(each, now) for each in more]
    coming = [each for each in (moment, *others) if each and each.is_to_come(now)]
    first, again = coming[0] if coming else moment, tuple(coming[1:])
    words, also = " ".join(quote(used)), quote(each[:2] for each in more)
    return Phrase(first, words, rest or also, (), task, () if rest else again)


def _with_its_half(reading: Reading) -> Reading:
    """The reading without a doubt about the half of the day."""
    clock = when.minutes_of(reading.sense)
    return reading._replace(sense=reading.sense._replace(clock=clock, dial="set", part=""))


def _task(text: str, stood: Sequence[int], low: str, used: Sequence[Span]) -> str:
    """The words without a time at their beginning or end (on the day itself, "tomorrow" would be wrong); else ""."""
    head, body, tail, spans = "", 0, len(low), [span for span in used if not _is_noun(low, *span)]
    while spans and _FOLLOWS.fullmatch(low, spans[-1][1], tail):
        before = _before(low, spans[-1][0])
        if _BOUND.search(low, max(0, before - _NEAR), before):
            break
        tail = before
        spans.pop()
    while spans and (follows := _FOLLOWS.match(low, spans[0][1])):
        before = _before(low, spans[0][0])
        if before > body and (body or not _CALL.fullmatch(low, 0, before)):
            break
        if not body and before:
            head = text[: stood[before]] + " " * low[:before].isascii()
        body = follows.end()
        spans.pop(0)
    return "" if spans else (head + text[stood[body] : stood[tail]]).strip()


def _before(low: str, place: int) -> int:
    """The offset of the small words before a time."""
    match = _LEADS.search(low, max(0, place - _NEAR), place)
    return match.start() if match else place


def _with_small_names(text: str, low: str, now: datetime) -> list[Reading]:
    """The readings, including days such as sun and may 5 in lower case: beside a time of day, and at the beginning or
    end of a reminder, they are days."""
    usual = list(when.readings(text, now))
    added = [
        reading
        for reading in when.readings(text.translate(_CAPITALS), now)
        if reading not in usual and (reading.sense.clock is not None or _stands_apart(low, reading))
    ]
    covered = [(reading.start, reading.end) for reading in added]
    return sorted([*(reading for reading in usual if _is_apart(reading, covered)), *added])


def _is_apart(reading: Reading, spans: Iterable[Span]) -> bool:
    """Whether it shares no character with any of these."""
    return all(reading.end <= start or end <= reading.start for start, end in spans)


# A day in figures, the 5th at the beginning, and an hour at the end: in a note a fraction, a floor and a number; in a
# reminder times.

_ONE_MEANING = 13 * 60  # minutes: 3:16 may be a verse,
_STEP = 5  # but people plan by five minutes
_HOUR_LAST = lazy(r" (?P<hour>\d{1,2})[.!]?\Z")
_NTH_FIRST = lazy(r"(?:on )?the (?P<number>\d{1,2})(?:st|nd|rd|th) ")


def _with_bare_days(low: str, readings: Sequence[Reading]) -> list[Reading]:
    """The readings, including weak days that only count in a reminder, unless a time is beside them."""
    bare = [
        Reading(*match.span(), sense._replace(weak=True))
        for match in FIGURES_ALONE.finditer(low)
        for sense in days_in_figures(match)[:1]
        if match["mark"] == "/"
    ]
    if (match := _NTH_FIRST.match(low)) and 1 <= int(match["number"]) <= 31:
        weak = not intentions.is_order(low[match.end() :])  # the 20th floor
        bare.append(Reading(0, match.end() - 1, Sense(number=int(match["number"]), weak=weak)))
    if (match := _HOUR_LAST.search(low)) and any(r.end == match.start() for r in readings):
        clock = Sense(clock=60 * int(match["hour"]), dial="bare", weak=True)
        bare += [Reading(*match.span("hour"), clock)] if int(match["hour"]) < 24 else []
    taken = [(reading.start, reading.end) for reading in readings]
    bare = [reading for reading in bare if _is_apart(reading, taken)]
    result: list[Reading] = []
    for reading in sorted([*readings, *bare]):
        beside = result and (reading in bare or result[-1] in bare)
        joined = when.join(low, result[-1], reading) if beside else None
        result[-1:] = [joined] if joined else [*result[-1:], reading]
    return result


def alone(text: str, now: datetime) -> Phrase:
    """Parse words that only say when: anything else is not understood."""
    for phrase in (text, f"at {text}", f"in {text}", f"every {text}"):
        result = read(phrase, now)
        if result.either:
            return result
        if result.moment is None:
            continue
        low = normalize(phrase)
        pieces = re.split("|".join(map(re.escape, normalize(result.words).split(" "))), low)
        more = tuple(piece.strip(" ,.") for piece in pieces if not _FILLS.fullmatch(piece))
        again = () if more else result.again
        return result._replace(rest=result.rest or more, again=again)
    return Phrase(None, "", (text,))


def _main(low: str, readings: Sequence[Reading], now: datetime) -> Reading | None:
    """The reading that says when: a rule, else the first future time, else a separate word such as biweekly."""
    strong = [reading for reading in readings if not reading.sense.weak]
    rules = [reading for reading in strong if reading.sense.repeat]
    if rules:
        return rules[0]
    coming = [reading for reading in strong if _is_to_come(reading, now)]
    coming = [each for each in coming if not _is_noun(low, *each[:2])] or coming
    weak = [each for each in readings if each.sense.repeat and not each.sense.repeat.weekdays]
    apart = next((reading for reading in weak if _stands_apart(low, reading)), None)
    if apart and all(map(_is_clock, coming)):
        return apart
    if coming:
        first = coming[0]
        dated = next((reading for reading in coming if reading.sense.dated), None)
        if dated and _is_clock(first):
            is_list = lists_times(low, first, dated)
            return dated if is_list or _is_first(low, first) else first
        return first
    weak = [reading for reading in readings if reading.sense.weak and _is_to_come(reading, now)]
    return next((reading for reading in weak if _counts_alone(low, reading)), None)


def _counts_alone(low: str, reading: Reading) -> bool:
    """Whether a clock, a part of the day, a month, a day in figures or a holiday opens or ends the words: noon lunch,
    晚上吃药, trip March 2027, call Mum 12/25, rent 1st, call Bob 14:30."""
    sense = reading.sense
    if _is_first(low, reading):
        return sense.number is None or sense.month is not None
    named = sense.number is not None and not low.startswith(ORDINAL_WORDS, reading.start)
    clock = 1 if sense.clock is None else sense.clock
    timed = clock >= _ONE_MEANING or clock % _STEP == 0
    timed = timed and not low.startswith("at ", reading.start)  # the sun may set at 5
    other = bool(sense.part) or sense.grain == "month"
    return (named or timed or other) and _stands_apart(low, reading)


def _is_first(low: str, reading: Reading) -> bool:
    return _OPENING.fullmatch(low, 0, reading.start) is not None


def _is_to_come(reading: Reading, now: datetime) -> bool:
    moment = when.moment_of(reading, now)
    return moment is not None and moment.is_to_come(now)


def _stands_apart(low: str, reading: Reading) -> bool:
    return _is_first(low, reading) or (
        bool(_ENDS.match(low, reading.end)) and not _is_noun(low, reading.start, reading.end)
    )


def _is_clock(reading: Reading) -> bool:
    sense = reading.sense
    return not (sense.dated or sense.repeat or sense.at)


def _with_clock(low: str, main: Reading, readings: Sequence[Reading]) -> Reading:
    """The reading with a separate time of day: tomorrow call Bob at 3pm."""
    for reading in readings:
        if reading == main or not _is_clock(reading):
            continue
        # It must open or end the words, away from the day: tomorrow call Bob 14:30.
        if reading.sense.weak:
            beside = _touches(low, [(main.start, main.end), *main.others], *reading[:2])
            if reading.sense.clock is None or beside or not _stands_apart(low, reading):
                continue
        both = merge(main.sense, reading.sense._replace(weak=False))
        if both and not _is_noun(low, reading.start, reading.end):
            sense = main.sense._replace(clock=both.clock, dial=both.dial, part=both.part)
            return main._replace(sense=sense, others=(*main.others, (reading.start, reading.end)))
    return main


def _with_day(low: str, main: Reading, readings: Sequence[Reading]) -> Reading:
    """A rule with a separate day: Monday 9am standup every week."""
    for reading in readings:
        span = reading.start, reading.end
        if span in main.others or not reading.sense.dated or _is_noun(low, *span):
            continue
        sense, both = main.sense, merge(main.sense, reading.sense)
        if both and both.repeat:
            both = both._replace(since=sense.since, until=sense.until, times=sense.times)
            both = both._replace(length=sense.length, weak=False)
            main = main._replace(sense=both, others=(*main.others, span))
    return main


def _counts(low: str, reading: Reading, used: list[Span], repeats: str, now: datetime) -> bool:
    """Whether another time belongs to the first: it repeats, touches it, or is beside a rule and not a noun."""
    if _touches(low, used, reading.start, reading.end):
        return not low.startswith("'s", reading.end)
    if reading.sense.repeat:
        return True
    is_text = _is_noun(low, reading.start, reading.end) or not _is_to_come(reading, now)
    return bool(repeats) and not is_text


def _join(text: str, spans: Sequence[Span]) -> list[Span]:
    """Join spans that overlap or touch."""
    result: list[Span] = []
    for start, end in spans:
        if result and not text[result[-1][1] : start].strip():
            result[-1] = result[-1][0], max(end, result[-1][1])
        else:
            result.append((start, end))
    return result


def _words(text: str, spans: Iterable[Span]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(" ".join(text[start:end].split()) for start, end in spans))


# Time words beside a time that belong to it, in English, Chinese and Japanese, and that no reading takes

_NTH = rf"(?:{'|'.join(ORDINAL_WORDS)}|last|\d{{1,2}}(?:st|nd|rd|th))"


def _pattern(name: str) -> re.Pattern[str]:
    return pattern("reminders", name, 0, nth=_NTH, month=MONTH_NAME, day=DAY_NAME)


_SHAPES = _pattern("shapes")  # a clock or a date by its form
_FEASTS = _pattern("feasts")
_ANYWHERE = _pattern("anywhere")  # of how often something happens, anywhere
_OF_A_RULE, _OF_A_YEAR = _pattern("of_a_rule"), _pattern("of_a_year")  # anywhere
_BEHIND, _BEHIND_RULE = _pattern("behind"), _pattern("behind_rule")  # if they touch a time
_BEFORE, _BEFORE_RULE = _pattern("before"), _pattern("before_rule")
_NOUN = _pattern("noun")
_OFTEN = _pattern("often")
_CALL, _LEADS, _FOLLOWS, _BOUND = map(_pattern, ("call", "leads", "follows", "bound"))
_BETWEEN = _pattern("between")  # two parts of one time
_OTHER_DAYS = _pattern("other_days")  # in languages whose times are not supported
_GOES_ON = lazy(r" [a-z\x80-\U0010ffff]")
_NEAR = 32


def _unread(low: str, readings: Sequence[Reading], *, dated: bool) -> list[Span]:
    """The spans of invalid times and dates: 25:00, 13pm, Feb 30; and if no day was read, of days in other languages."""
    read = [span for each in readings for span in ((each.start, each.end), *each.others)]
    shapes = [match.span() for match in _SHAPES.finditer(low)]
    days = [] if dated else [match.span() for match in _OTHER_DAYS.finditer(low)]
    return [*days, *(span for span in shapes if not any(_is_within(span, each) for each in read))]


def _is_within(span: Span, other: Span) -> bool:
    return other[0] <= span[0] and span[1] <= other[1]


def _left(low: str, used: list[Span], repeats: str) -> Iterator[Span]:
    """Yield the spans of such words in a folded text outside the understood parts; `repeats` is the rule made of
    those, or ""."""
    hidden = low
    for start, end in used:
        hidden = hidden[:start] + "\0" * (end - start) + hidden[end:]
    for match in _ANYWHERE.finditer(low):  # every single Monday, of which Monday was understood
        if not any(_is_within(match.span(), each) for each in used):
            yield match.span()
    if repeats:
        yield from (match.span() for match in _OF_A_RULE.finditer(hidden))
    elif not used:
        yield from (match.span() for match in _FEASTS.finditer(low))
    for match in _OFTEN.finditer(hidden):
        ends = not _GOES_ON.match(hidden, match.end())
        if (repeats or ends) and not _is_report(hidden, match, repeats):
            yield match.span()
    for start, end in used:
        yield from _beside(hidden, start, end, repeats)


def _beside(hidden: str, start: int, end: int, repeats: str) -> Iterator[Span]:
    behinds = (_BEHIND, _BEHIND_RULE) if repeats else (_BEHIND,)
    if repeats in {"every year", "every month"}:  # on a day that nobody understands
        behinds = (*behinds, _OF_A_YEAR)
    for behind in behinds:
        if match := behind.match(hidden, end):
            yield match.span(match.lastgroup or 0)
    for before in (_BEFORE, _BEFORE_RULE) if repeats else (_BEFORE,):
        if match := before.search(hidden, max(0, start - _NEAR), start):
            yield match.span("word")


def _is_noun(low: str, start: int, end: int) -> bool:
    """Whether a time is part of the reminder's text: the 3pm meeting, Monday's list, slides for Monday."""
    if low.startswith("'s", end) or low.startswith("'s", end - 2):
        return True
    return _NOUN.search(low, max(0, start - _NEAR), start) is not None


def _touches(low: str, used: list[Span], start: int, end: int) -> bool:
    """Whether only a small word separates a span from an understood part."""
    return any(
        _BETWEEN.fullmatch(low, min(end, last), max(start, first)) is not None
        for first, last in used
        if last <= start or end <= first
    )


def _is_report(hidden: str, match: re.Match[str], repeats: str) -> bool:
    """The monthly report; write weekly report, every week."""
    if not _GOES_ON.match(hidden, match.end()):
        return False
    if _is_noun(hidden, *match.span()):
        return True
    unit = {"daily": "day", "nightly": "day"}.get(match[0], match[0].removesuffix("ly"))
    return not repeats or repeats.startswith((f"every {unit}", "every weekday"))
