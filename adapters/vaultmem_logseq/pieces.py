"""The searchable pieces of an outline: a block each, long ones by paragraph."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from vaultmem.adapter import Piece

if TYPE_CHECKING:
    from collections.abc import Iterable

    from vaultmem_logseq.outline import Block

_LONG = 1_000  # characters; a block up to this size stays whole
_STEP = re.compile(r"^[ \t]*+(```|~~~)|\n(?:[ \t]*+\n)++", re.MULTILINE)  # fence or gap
_TITLE_LIMIT = 200
_DEEPEST = 32  # more parents than this say nothing and would make a degenerate outline quadratic


def pieces(blocks: Iterable[Block]) -> tuple[Piece, ...]:
    """One piece for every block with text, with its parents' first lines as headings."""
    found: list[Piece] = []
    parents: list[tuple[int, tuple[str, ...]]] = []  # level, and the headings of the children
    for block in blocks:
        while parents and parents[-1][0] >= block.level:
            parents.pop()
        headings = parents[-1][1] if parents else ()
        if block.text:
            found.extend(_block_pieces(block, headings))
        if block.level:
            parents.append((block.level, _below(headings, block.text)))
    return tuple(found)


def _below(headings: tuple[str, ...], text: str) -> tuple[str, ...]:
    title = text.partition("\n")[0][:_TITLE_LIMIT]
    return (*headings, title) if title and len(headings) < _DEEPEST else headings


def _block_pieces(block: Block, headings: tuple[str, ...]) -> list[Piece]:
    kind = "list" if block.bullet and not block.heading else "text"
    if len(block.text) <= _LONG and block.level:
        return [Piece(block.text, block.line, block.end_line, headings, kind)]
    return _paragraphs(block, headings, kind)


def _paragraphs(block: Block, headings: tuple[str, ...], kind: str) -> list[Piece]:
    """Cut at blank lines outside code; the parts after the first have its first line above them."""
    found: list[Piece] = []
    inside = headings
    begin, row = 0, 0
    for end, following in _cuts(block.text):
        text = block.text[begin:end]
        last = row + text.count("\n")
        found.append(Piece(text, block.line_of(row), block.line_of(last), inside, kind))
        if block.heading and len(found) == 1:
            inside = _below(headings, text)
        row = last + block.text.count("\n", end, following)
        begin = following
    return found


def _cuts(text: str) -> list[tuple[int, int]]:
    """Where each paragraph ends and where the next one begins."""
    found = []
    code = ""
    for step in _STEP.finditer(text):
        if not step[1]:
            found += [] if code else [step.span()]
        elif not code:
            code = step[1]
        elif code == step[1]:
            code = ""
    return [*found, (len(text), len(text))]
