"""Who speaks: lines that begin with a name, in transcripts, interviews and exported chats."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_TIME = r"(?:[\[(]?\d{1,2}:\d{2}(?::\d{2})?[\])]?[ \t]*+(?:[-–][ \t]*+)?)?"
_LEAD = rf"(?:[ \t>]|[-*+][ \t]|\d{{1,9}}[.)][ \t])*+{_TIME}"
_BOLD = re.compile(rf"{_LEAD}\*\*([^*:：,，。\n]{{1,24}})(?:[:：]\*\*|\*\*[ \t]?[:：])")
_WORD = r"[^\W\d_][^\s:：*\[\](){}|`<>]*+"
_PLAIN = re.compile(rf"{_LEAD}({_WORD}(?:[ ]{_WORD}){{0,2}})(?::(?=\s)|：)")
_LONGEST_NAME = 24
_FEWEST_LINES = 4
_MOST_NAMES = 6


def speakers(body: list[str]) -> frozenset[str]:
    """The names that speak when a note as a whole is a chat of `Name: text` lines, else none.

    Four or more such lines, at most six names, one of which comes twice, and most of the lines.
    """
    lines = [line for line in body if line and not line.isspace()]
    if len(lines) < _FEWEST_LINES:
        return frozenset()
    counts: Counter[str] = Counter()
    for line in lines:
        if (": " in line or "：" in line) and (name := _plain_name(line)):
            counts[name] += 1
    total = counts.total()
    if total < _FEWEST_LINES or not len(counts) < total or len(counts) > _MOST_NAMES:
        return frozenset()
    return frozenset(counts) if total * 2 > len(lines) else frozenset()


def _plain_name(line: str) -> str | None:
    match = _PLAIN.match(line)
    return match[1] if match and len(match[1]) <= _LONGEST_NAME else None


def turns(
    lines: list[str], begin: int, end: int, names: frozenset[str]
) -> Iterator[tuple[int, int, str | None]]:
    """The lines [begin, end) as (first, end, speaker); what nobody is named for stays together."""
    first, label = begin, None
    for line in range(begin, end):
        speaker = _speaker(lines[line], names)
        if not speaker:
            continue
        if line > first:
            yield first, line, label
        first, label = line, speaker
    yield first, end, label


def _speaker(line: str, names: frozenset[str]) -> str | None:
    if "**" in line and (match := _BOLD.match(line)):
        return match[1].strip() or None
    if names and (name := _plain_name(line)) in names:
        return name
    return None
