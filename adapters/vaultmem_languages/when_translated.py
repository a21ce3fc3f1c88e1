"""Times in other languages, translated into English ones: am nächsten Freitag um halb neun is on next Friday at half
past eight. One grammar reads all. A language is a section of words.toml, such as german_times.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from vaultmem.text.values import lazy, toml_table
from vaultmem_languages import pattern, words

_PART = lazy(r"<([a-z]+)>")


@cache
def _signs() -> dict[str, re.Pattern[str]]:
    """What shows that a text has times in a language, by its section."""
    sections = toml_table("vaultmem_languages", "words")
    return {name: pattern(name, "sign") for name in sections if name.endswith("_times")}


@cache
def _rules(section: str) -> tuple[tuple[re.Pattern[str], str], ...]:
    """Patterns of a language and their English translations, in the order in which they are tried."""

    def with_parts(foreign: str) -> str:
        full = _PART.sub(lambda part: words(section, part[1]), foreign)
        return with_parts(full) if _PART.search(full) else full

    rules = (line.partition(" = ") for line in _lines(section))
    return tuple(
        (re.compile(with_parts(foreign), re.IGNORECASE), english) for foreign, _, english in rules
    )


def _lines(section: str) -> Iterator[str]:
    """The phrases, and the forms of each day, month and number."""
    yield from words(section, "phrases").strip("\n").split("\n")
    for kind in ("day", "month", "number"):
        pairs = [pair.split(" = ") for pair in words(section, f"{kind}s").split(", ")]
        forms = words(section, f"forms_of_{kind}s").strip("\n")
        for number, (word, english) in enumerate(pairs):
            lines = forms.replace("<word>", word).replace("<english>", english)
            before = pairs[number - 1][1]
            yield from (
                lines.replace("<place>", str(number + 1)).replace("<before>", before).split("\n")
            )


def in_english(text: str) -> tuple[str, Sequence[int]]:
    """The text with its times in English, and the original offset of each character."""
    section = next((name for name, sign in _signs().items() if sign.search(text)), None)
    if section is None:
        return text, range(len(text))
    result: list[str] = []
    places: list[int] = []
    at, is_open = 0, True
    while at < len(text):
        english, end = _at(text, at, section) if is_open and text[at].isalnum() else None, at + 1
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


def _at(text: str, at: int, section: str) -> tuple[str, int] | None:
    for foreign, english in _rules(section):
        if match := foreign.match(text, at):
            return match.expand(english), match.end()
    return None
