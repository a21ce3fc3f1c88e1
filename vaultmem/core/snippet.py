"""The part of a block worth showing for a query, and where the found words stand in it."""

from __future__ import annotations

import re
from collections.abc import Callable

from vaultmem.core.values import value

_ASCII_WORD = r"\w+"
_ANY_WORD = (
    r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+"
)


@value
class Snippet:
    """A text without line breaks, and (start, end) offsets of the found words in it."""

    text: str
    marks: list[tuple[int, int]]


def snippet(
    text: str, wanted: set[str], stem: Callable[[str], list[str]], width: int = 240
) -> Snippet:
    """The window of at most `width` characters with most of the wanted tokens.

    `wanted` are tokens as the analyzer gives them, `stem` is the analyzer: a word is marked when one of
    its tokens is wanted.
    """
    flat = " ".join(text.split())
    known: dict[str, bool] = {}
    marks = []
    starts = {token[0] for token in wanted}
    # re compiles (and keeps) a pattern when it is first used: the wide one takes 2 ms.
    for match in re.finditer(_ASCII_WORD if flat.isascii() else _ANY_WORD, flat):
        word = match[0].lower()
        if word[0] not in starts and word.isascii():
            continue  # no stemmer changes a first letter
        if word not in known:
            known[word] = not wanted.isdisjoint(stem(word))
        if known[word]:
            marks.append(match.span())
    return _window(flat, _merged(marks), width)


def _merged(marks: list[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, end in marks:
        if joined and joined[-1][1] == start:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


def _window(flat: str, marks: list[tuple[int, int]], width: int) -> Snippet:
    if len(flat) <= width:
        return Snippet(flat, marks)
    start = _best_start(flat, marks, width)
    end = min(len(flat), start + width)
    if start > 0:
        blank = flat.find(" ", start, start + 20)
        start = blank + 1 if blank >= 0 else start
    if end < len(flat):
        blank = flat.rfind(" ", end - 20, end)
        end = blank if blank > start else end
    before, after = "…" if start else "", "…" if end < len(flat) else ""
    shift = len(before) - start
    inside = [(a + shift, b + shift) for a, b in marks if a >= start and b <= end]
    return Snippet(before + flat[start:end] + after, inside)


def _best_start(flat: str, marks: list[tuple[int, int]], width: int) -> int:
    """Where the window with most different found words begins."""
    best, best_count = 0, 0
    for first, (start, _) in enumerate(marks[:200]):
        words = {flat[a:b].lower() for a, b in marks[first : first + 40] if b <= start + width - 40}
        if len(words) > best_count:
            best, best_count = max(0, start - 30), len(words)
    return min(best, max(0, len(flat) - width))
