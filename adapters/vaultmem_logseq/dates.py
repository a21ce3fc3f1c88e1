"""SCHEDULED and DEADLINE lines (R-LS-14)."""

from __future__ import annotations

import re
from datetime import date
from typing import NamedTuple

LINE = re.compile(r"[ \t]*+(?:SCHEDULED|DEADLINE): ?[<\[]", re.IGNORECASE)
_STAMP = re.compile(
    r"(SCHEDULED|DEADLINE):[ \t]++[<\[](\d{4})-(\d{1,2})-(\d{1,2})(?!\d)([^<>\[\]\n]{0,80}+)[>\]]",
    re.IGNORECASE | re.ASCII,
)
_TIME = re.compile(r"[ \t](\d{1,2}):(\d{2})(?!\d)", re.ASCII)
_REPEATER = re.compile(r"[ \t]((?:\.\+|\+\+|\+)\d{1,4}[hdwmy])(?![^ \t])", re.ASCII)


class Stamp(NamedTuple):
    """One date of a block."""

    deadline: bool
    when: str  # "2026-11-21" or "2026-11-21T09:00"
    repeater: str | None


def stamps(line: str) -> list[Stamp]:
    """The dates on one line; the weekday may be missing, impossible dates are no dates."""
    return [stamp for found in _STAMP.finditer(line) if (stamp := _stamp(found))]


def spans(line: str) -> list[tuple[int, int]]:
    """Where on the line a date stands, also an impossible one."""
    return [found.span() for found in _STAMP.finditer(line)]


def _stamp(found: re.Match[str]) -> Stamp | None:
    try:
        day = date(int(found[2]), int(found[3]), int(found[4])).isoformat()
    except ValueError:
        return None
    time = _TIME.search(found[5])
    clock = f"T{int(time[1]):02}:{time[2]}" if time and int(time[1]) < 24 and time[2] < "60" else ""
    repeater = _REPEATER.search(found[5])
    return Stamp(found[1].upper() == "DEADLINE", day + clock, repeater[1] if repeater else None)
