"""German times, translated into English ones: am nächsten Freitag um halb neun is on next Friday at half past eight.

One grammar reads both. The words are in words.toml, in the order in which they are tried.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from vaultmem.text.values import lazy
from vaultmem_languages import pattern, words

_IS_GERMAN = pattern("german_times", "sign")
_NAME = lazy(r"<([a-z]+)>")


@cache
def _rules() -> tuple[tuple[re.Pattern[str], str], ...]:
    """German patterns and their English translations, in the order in which they are tried."""
    lines = words("german_times", "phrases").strip("\n").split("\n")
    rules = [(german, english) for german, _, english in (line.partition(" = ") for line in lines)]
    for name, read in (("days", _day), ("months", _month), ("numbers", _number)):
        pairs = [pair.split(" = ") for pair in words("german_times", name).split(", ")]
        for at, (german, english) in enumerate(pairs):
            rules += read(german, english, at, pairs[at - 1][1])
    return tuple(
        (re.compile(_with_parts(german), re.IGNORECASE), english) for german, english in rules
    )


def _with_parts(german: str) -> str:
    """A pattern with names in <> replaced by other texts of the section."""
    full = _NAME.sub(lambda part: words("german_times", part[1]), german)
    return _with_parts(full) if _NAME.search(full) else full


def _day(german: str, english: str, *_: object) -> list[tuple[str, str]]:
    """Freitags, Freitagabend, Freitag."""
    begins = rf"{german}(?=(?:morgen|(?:vor|nach)?mittag|abend|nacht)<end>)"
    return [(f"{german}s<end>", f"every {english}"), (begins, f"{english} "), (f"{german}<end>", english)]  # fmt: skip


def _month(german: str, english: str, at: int, _: str) -> list[tuple[str, str]]:
    """Mai; am 3.5., where the year is not written."""
    return [(rf"<led>(\d{{1,2}})\.\s?0?{at + 1}\.(?! ?\d)", rf"\1 {english}"), (f"{german}<end>", english)]  # fmt: skip


def _number(german: str, english: str, _: int, before: str) -> list[tuple[str, str]]:
    """Halb neun is half past eight."""
    return [
        (f"halb {german}<end>", f"half past {before}"), (rf"viertel nach {german}<end>", f"quarter past {english}"),
        (f"viertel vor {german}<end>", f"quarter to {english}"), (f"um {german}<end>", f"at {english}"),
        (f"{german}(?= <unit>| uhr<end>)", english),
    ]  # fmt: skip


def in_english(text: str) -> tuple[str, Sequence[int]]:
    """The text with its German times in English, and the original offset of each character."""
    if not _IS_GERMAN.search(text):
        return text, range(len(text))
    result: list[str] = []
    places: list[int] = []
    at, is_open = 0, True
    while at < len(text):
        english, end = _at(text, at) if is_open and text[at].isalnum() else None, at + 1
        if english:
            written, end = english
            result.append(written)
            places += _spread(at, end, len(written))
        else:
            result.append(text[at])
            places.append(at)
        is_open = english is not None or not text[at].isalnum()
        at = end
    return "".join(result), places


def _spread(start: int, end: int, count: int) -> Sequence[int]:
    """The original offsets of `count` characters; a time may begin and end within them."""
    if count == end - start:
        return range(start, end)
    return [start] * (count // 2) + [end - 1] * (count - count // 2)


def _at(text: str, at: int) -> tuple[str, int] | None:
    for german, english in _rules():
        if match := german.match(text, at):
            return match.expand(english), match.end()
    return None
