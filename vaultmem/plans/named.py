"""Finds names of notes in plain text, many names at once: for proposals, so rather too few than too many."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

MOST_WORDS = 6
SHORTEST_CJK = 4  # shorter ones are mostly ordinary words, or parts of longer ones
LONGEST_CJK = 12
SINGLE = 6  # letters of a title of one word; shorter ones are mostly ordinary words
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_RUN = re.compile(rf"[{_CJK}]{{2,}}")
_WORD = re.compile(rf"[^\W_{_CJK}]+(?:['’-][^\W_{_CJK}]+)*")
_OPENS = re.compile(
    r"(?:^|[.!?:;|。！？：；])[\s\"'“”‘’(*_>#=~-]*(?:\d+[.)]\s+)?(?:\[.\]\s+)?[\s*_=~\"'“”‘’]*$"
)
_LABEL = re.compile(r"[*_ ]*[:：]")
_DETERMINERS = frozenset(  # what begins with one of these is said without meaning a note
    ["a", "all", "an", "any", "every", "my", "new", "no", "other", "our", "some", "the", "this"]
)
_DATE = re.compile(r"[\d\s.:/_-]+")


def names(titles: Iterable[str]) -> dict[str, str]:
    """What to look for: the titles that are worth it and that only one note has, by their folded words."""
    found: dict[str, str] = {}
    twice: set[str] = set()
    for title in titles:
        key = _key(title)
        if key is None:
            continue
        if key in found:
            twice.add(key)
        found[key] = title
    return {key: title for key, title in found.items() if key not in twice}


def _key(title: str) -> str | None:
    if _DATE.fullmatch(title):
        return None
    run = _RUN.fullmatch(title)
    if run:
        return title if SHORTEST_CJK <= len(title) <= LONGEST_CJK else None
    words = _WORD.findall(title)
    if " ".join(words) != " ".join(title.split()) or not 1 <= len(words) <= MOST_WORDS:
        return None  # with marks inside it is hardly written so in a sentence
    if len(words) == 1 and (len(title) < SINGLE or title[0].islower()):
        return None
    if words[0].lower() in _DETERMINERS:
        return None
    return " ".join(words).lower()


def named(text: str, wanted: Mapping[str, str]) -> Iterator[tuple[int, str, str]]:
    """The first place of each name as (line, words as they stand, title); the longest name at a place wins."""
    seen: set[str] = set()
    for number, line in enumerate(text.split("\n"), 1):
        for words, title in _in_line(line, wanted):
            if title not in seen:
                seen.add(title)
                yield number, words, title


def _in_line(line: str, wanted: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    words = list(_WORD.finditer(line))
    at = 0
    while at < len(words):
        for count in range(min(MOST_WORDS, len(words) - at), 0, -1):
            start, end = words[at].start(), words[at + count - 1].end()
            title = wanted.get(" ".join(line[start:end].lower().split()))
            if title is not None and _is_meant(line, start, end, title):
                yield line[start:end], title
                at += count - 1
                break
        at += 1
    for run in _RUN.finditer(line):
        yield from _in_run(run[0], wanted)


def _is_meant(line: str, start: int, end: int, title: str) -> bool:
    """Whether words are meant as a name: no label of what follows; and a single word is written as the title is,
    and its capital is not that of any first word."""
    if _LABEL.match(line, end) and _OPENS.search(line[:start]):
        return False
    if len(title.split()) > 1:
        return True
    if line[start:end] != title:
        return False
    has_inner = any(letter.isupper() or letter.isdigit() for letter in title[1:])
    return (has_inner and not title.isupper()) or not _OPENS.search(line[:start])


def _in_run(run: str, wanted: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(run):
        for length in range(min(LONGEST_CJK, len(run) - at), SHORTEST_CJK - 1, -1):
            title = wanted.get(run[at : at + length])
            if title is not None:
                yield run[at : at + length], title
                at += length - 1
                break
        at += 1
