"""What a person decided about an item on the page: done, dropped, or snoozed until a day typed in the line."""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import NamedTuple

from vaultmem.core.pending_lines import Found
from vaultmem.core.pending_page import Item, due_parts, own_words

DECIDED = ("done", "dropped", "snoozed")  # of two copies of an item, the first of these wins
_LOOKED_AT = 300  # characters
_DAY = re.compile(r"(?<![\d-])\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d)?(?![\d-])")
_FIELD = r"📅\ufe0f? ?"
_DATED = rf"{_FIELD}\d{{4}}-\d\d-\d\d"
_UNTIL = re.compile(r"\b(?:until|till|til)\b|[直延]?[到至]", re.IGNORECASE)
_LINK = re.compile(r"\[\[([^\[\]]*)\]\]")


class Ack(NamedTuple):
    """What a person decided about an item."""

    state: str  # open, done, dropped or snoozed
    until: str | None = None  # an ISO day or time, of what is snoozed


def ack_of(found: Found, item: Item | None, now: datetime | None) -> Ack:
    """What one line says; `item` is the one it was written for, if it is known."""
    if found.state != "snoozed":
        return Ack(found.state)
    return Ack(found.state, _until(found, item, now))


def _until(found: Found, item: Item | None, now: datetime | None) -> str | None:
    """The day that a person typed; the one that we wrote is none, nor the day that a link to the note names."""
    own = due_parts(item)[0] if item else ""
    # Of an unknown item nobody knows whether the date is the one that we wrote.
    ours = [*map(re.escape, own_words(item)), _FIELD + (own or "-")] if item else [_DATED]
    words = re.sub("|".join(ours), " ", found.words)
    told = _UNTIL.search(words)
    # "until [[2026-11-25]]" names a day; a link elsewhere is rather to the note, under an older name.
    typed = _LINK.sub(r" . \1 . ", words[told.end() :]) if told else _LINK.sub(" . ", words)
    if now is not None and (told or (item and words != found.words)):
        days = _spoken(typed, now)
    else:
        days = [match[0].replace(" ", "T") for match in _DAY.finditer(typed)]
    if not told:
        days = [day for day in days if day[:10] != own]
    if item and found.day != own:
        days.insert(0, found.day)
    return next((day for day in days if day and _is_day(day)), None)


def _spoken(words: str, now: datetime) -> list[str]:
    from vaultmem.core import when  # the grammar is only for who snoozes in words

    return [when.iso(moment) for moment in when.find(words[:_LOOKED_AT], now)]


def _is_day(day: str) -> bool:
    try:
        date.fromisoformat(day[:10])
    except ValueError:
        return False
    return True


def stronger(one: Ack | None, other: Ack) -> Ack:
    """The more decided of two; of two that are snoozed, the one with a day, and the later day."""
    if one is None:
        return other
    ranks = [
        DECIDED.index(ack.state) if ack.state in DECIDED else len(DECIDED) for ack in (one, other)
    ]
    if ranks[0] != ranks[1]:
        return one if ranks[0] < ranks[1] else other
    return max(one, other, key=lambda ack: ack.until or "")
