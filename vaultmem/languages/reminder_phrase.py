"""The words with which somebody sets a reminder: when it speaks, and what beside that was not understood.

Every word of a time counts: what is neither part of the time nor plainly text of the reminder is told, so that no
rule is set that means less than was said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from vaultmem.languages import when, when_words
from vaultmem.languages.when_parts import Reading, merged
from vaultmem.languages.when_words import folded
from vaultmem.text.values import lazy

_OPENING = lazy(r"(?:(?:please )?remind (?:me|us) )?(?:at )?")
_ENDS = lazy(r"\s*(?:$|[,.;:!?，。；：、])")
_FILLS = lazy(r"(?:[\s,.，。]|(?:at|on|from|in|by|the|of|的|于|在)(?![a-z]))*")


class Phrase(NamedTuple):
    """What was said, understood as far as it goes."""

    moment: when.Moment | None  # to come; None where no time is named
    words: str  # that say when, as they stand there
    rest: tuple[str, ...]  # words of time that are not understood


def read(text: str, now: datetime) -> Phrase:
    """When the words of a reminder want it to speak."""
    low = folded(text)
    found = [each for each in when.readings(text, now) if when.moment_of(each, now)]
    main = _main(low, found, now)
    if main is None:
        return Phrase(None, "", _words(text, when_words.left(low, [], "")))
    main = _with_clock(low, main, found)
    moment = when.moment_of(main, now)
    taken = sorted([(main.start, main.end), *main.others])
    repeats = (moment and moment.repeat) or ""
    spans = [*when_words.left(low, taken, repeats)]
    if main.sense.through is not None and not repeats:  # Mon-Fri at 9 is hardly once
        spans.append((main.start, main.end))
    spans += [
        (each.start, each.end)
        for each in _others(found, taken)
        if _counts(low, each, taken, repeats, now)
    ]
    rest = _words(text, _joined(text, sorted(spans)))
    return Phrase(moment, " ".join(_words(text, taken)), rest)


def is_whole(text: str, now: datetime) -> bool:
    """Whether all that a text says of a time is understood."""
    return not read(text, now).rest


def alone(text: str, now: datetime) -> Phrase:
    """The same of words that say when and nothing else: all beside it is not understood."""
    for given in (text, f"at {text}", f"in {text}", f"every {text}"):
        found = read(given, now)
        if found.moment is None:
            continue
        low = folded(given)
        pieces = re.split("|".join(map(re.escape, folded(found.words).split(" "))), low)
        more = tuple(each.strip(" ,.") for each in pieces if not _FILLS.fullmatch(each))
        return found._replace(rest=found.rest or more)
    return Phrase(None, "", (text,))


def _main(low: str, found: Sequence[Reading], now: datetime) -> Reading | None:
    """What says when: a rule, else the first time to come, else a word such as biweekly that stands apart."""
    strong = [each for each in found if not each.sense.weak]
    rules = [each for each in strong if each.sense.repeat]
    if rules:
        return rules[0]
    coming = [each for each in strong if _is_to_come(each, now)]
    weak = [each for each in found if each.sense.repeat and not each.sense.repeat.weekdays]
    apart = next((each for each in weak if _stands_apart(low, each)), None)
    if apart and all(map(_is_clock, coming)):
        return apart
    if coming:
        first = coming[0]
        dated = [each for each in coming if each.sense.dated]
        opens = _OPENING.fullmatch(low, 0, first.start) is not None
        return dated[0] if dated and opens and _is_clock(first) else first
    return None


def _is_to_come(reading: Reading, now: datetime) -> bool:
    moment = when.moment_of(reading, now)
    return moment is not None and when.is_to_come(moment, now)


def _stands_apart(low: str, each: Reading) -> bool:
    if _OPENING.fullmatch(low, 0, each.start):
        return True
    return bool(_ENDS.match(low, each.end)) and not when_words.is_noun(low, each.start, each.end)


def _is_clock(each: Reading) -> bool:
    sense = each.sense
    return not (sense.dated or sense.repeat or sense.at)


def _with_clock(low: str, main: Reading, found: Sequence[Reading]) -> Reading:
    """With the time of day that stands apart: tomorrow call Bob at 3pm."""
    for each in found:
        if each == main or each.sense.weak or not _is_clock(each):
            continue
        both = merged(main.sense, each.sense._replace(weak=False))
        if both and not when_words.is_noun(low, each.start, each.end):
            kept = main.sense._replace(clock=both.clock, dial=both.dial, part=both.part)
            return main._replace(sense=kept, others=(*main.others, (each.start, each.end)))
    return main


def _others(found: Sequence[Reading], taken: Sequence[when_words.Span]) -> list[Reading]:
    return [
        each
        for each in found
        if (not each.sense.weak or (each.sense.repeat and each.sense.repeat.weekdays))
        and all(each.end <= start or end <= each.start for start, end in taken)
    ]


def _counts(
    low: str, each: Reading, taken: list[when_words.Span], repeats: str, now: datetime
) -> bool:
    """Whether another time belongs to the first: it repeats, touches it, or stands by a rule and is no noun."""
    if when_words.touches(low, taken, each.start, each.end):
        return not low.startswith("'s", each.end)
    if each.sense.repeat:
        return True
    is_text = when_words.is_noun(low, each.start, each.end) or not _is_to_come(each, now)
    return bool(repeats) and not is_text


def _joined(text: str, spans: Sequence[when_words.Span]) -> list[when_words.Span]:
    """Spans that overlap or touch as one: except in August."""
    found: list[when_words.Span] = []
    for start, end in spans:
        if found and not text[found[-1][1] : start].strip():
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found


def _words(text: str, spans: Iterable[when_words.Span]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(" ".join(text[start:end].split()) for start, end in spans))
