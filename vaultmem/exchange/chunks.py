"""Cuts a long text into memories: the "logic" seed, sections 1.2 and 1.3.

Paragraphs are the boundaries; what is too long is cut at sentence ends, what is too short joins what comes next, until
both together are long enough, and never over a heading. A fenced block of code is one paragraph, whatever
stands in it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from vaultmem.vault.blocks import MAX_TOKENS, MIN_TOKENS, count_tokens

_GAP = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")
_HEADING = re.compile(r"[ ]{0,3}#{1,6}(?:[ \t]|\n|\Z)")
_FENCE = re.compile(r"[ ]{0,3}(`{3,}|~{3,})")
_SENTENCE = re.compile(r"(?<=[.!?])[ \n]+(?=[\"'“(\[]?[A-Z0-9À-Þ])|(?<=[。！？；])(?=\S)")


def clean(text: str) -> str:
    """In NFC, without outer blanks, with one empty line at most between paragraphs; markup stays."""
    text = unicodedata.normalize("NFC", text.replace("\r\n", "\n").replace("\r", "\n"))
    return "\n\n".join(_paragraphs(text.strip()))


def chunks(text: str) -> list[str]:
    """The parts of a cleaned text, in order, of 50 to 300 tokens where that can be."""
    return join_short(pieces(text))


def pieces(text: str) -> list[str]:
    """The paragraphs of a cleaned text, in order; one that is too long in several pieces."""
    result: list[str] = []
    for paragraph in _paragraphs(text):
        result += [paragraph] if count_tokens(paragraph) <= MAX_TOKENS else _cut(paragraph)
    return result


def join_short(pieces: Iterable[str]) -> list[str]:
    """What is too short joins what comes next, where both together fit. What has become long enough takes up no
    more: a part is one memory, not a page."""
    result: list[str] = []
    for piece in pieces:
        if result and _belong(result[-1], piece):
            result[-1] = f"{result[-1]}\n\n{piece}"
        else:
            result.append(piece)
    return result


def _paragraphs(text: str) -> list[str]:
    """What stands between empty lines; a fence keeps its empty lines."""
    result: list[list[str]] = [[]]
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            fence = "" if mark and mark[1].startswith(fence) else fence
        elif mark:
            fence = mark[1]
        elif not line.strip():
            result.append([])
            continue
        result[-1].append(line)
    return ["\n".join(lines) for lines in result if lines]


def _cut(paragraph: str) -> list[str]:
    """At the ends of sentences; a sentence that is too long for itself is cut between words."""
    if _FENCE.match(paragraph):
        return _pack(_fitting(paragraph.split("\n")), "\n")
    return _pack(_fitting(_SENTENCE.split(paragraph)), " ")


def _fitting(parts: Iterable[str]) -> list[str]:
    """The parts, and those that are too long for themselves in several."""
    result: list[str] = []
    for part in parts:
        fits = count_tokens(part) <= MAX_TOKENS
        result += [part] if fits else _pack(_words(part), " ")
    return result


def _words(sentence: str) -> list[str]:
    """Words, or pieces of text that is written without blanks."""
    result: list[str] = []
    for word in sentence.split():
        result += [word[at : at + MAX_TOKENS] for at in range(0, len(word), MAX_TOKENS)]
    return result


def _pack(parts: list[str], glue: str) -> list[str]:
    """As many neighbours together as fit."""
    packed: list[str] = []
    held: list[str] = []
    size = 0
    for part in parts:
        tokens = count_tokens(part) + 1
        if held and size + tokens > MAX_TOKENS:
            packed.append(glue.join(held))
            held, size = [], 0
        held.append(part)
        size += tokens
    return [*packed, glue.join(held)] if held else packed


def _belong(one: str, other: str) -> bool:
    if _HEADING.match(other) and not is_heading(one):
        return False
    return count_tokens(one) < MIN_TOKENS and count_tokens(f"{one}\n\n{other}") <= MAX_TOKENS


def is_heading(piece: str) -> bool:
    """Whether there is nothing but headings in it."""
    return all(_HEADING.match(line) for line in piece.split("\n") if line)
