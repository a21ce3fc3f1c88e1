"""Spans of time as people write them: "5m", "1h30m", "7d"."""

from __future__ import annotations

import re

from vaultmem.core.wording import plural

UNITS = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
NAMES = {604_800: "week", 86_400: "day", 3_600: "hour", 60: "minute", 1: "second"}
LONGEST = 3_660 * 86_400  # ten years; calendars and clocks can count with it everywhere
_PARTS = re.compile(r"(?:[0-9]{1,10}[wdhms])+")
_PART = re.compile(r"([0-9]{1,10})([wdhms])")


def seconds(text: str) -> int:
    """The seconds of a span: "7d", "168h", "1h30m", "2w". ValueError for anything else, and for none."""
    compact = text.strip().lower().replace(" ", "")
    if not _PARTS.fullmatch(compact):
        raise ValueError("a length of time such as 30s, 5m, 1h30m, 7d or 2w")
    total = sum(int(number) * UNITS[unit] for number, unit in _PART.findall(compact))
    if not 1 <= total <= LONGEST:
        raise ValueError("a length of time from 1s to 3660d")
    return total


def spoken(span: float) -> str:
    """A span for a person, by its two largest units: "1 hour 30 minutes"."""
    left = round(span)
    if left < 1:
        return "less than a second"
    said = []
    for size, name in NAMES.items():
        count, left = divmod(left, size)
        if count:
            said.append(plural(count, name))
        if len(said) == 2 or (said and not count):
            break
    return " ".join(said)
