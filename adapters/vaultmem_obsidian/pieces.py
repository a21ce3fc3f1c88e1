"""Cut the body of a note into pieces: headings, paragraphs, lists, tables, code."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from vaultmem.adapter import Heading, Piece
from vaultmem.adapter.scan import line_at, line_starts
from vaultmem_obsidian.speech import speakers, turns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vaultmem.adapter.scan import Hidden

_HEADING = re.compile(r"[ ]{0,3}(#{1,6})(?:[ \t]+(.*))?")
_ITEM = re.compile(r"[ \t]*+(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
_RULE = re.compile(r"[ \t]*+(?:(?:-[ \t]*+){3,}|(?:\*[ \t]*+){3,}|(?:_[ \t]*+){3,})")
_UNDERLINE = re.compile(r"[ ]{0,3}(?:=+|-+)[ \t]*+")
_TABLE_RULE = re.compile(r"^(?=[ \t|:]*+-)[ \t|:-]++$\n?", re.MULTILINE)
_QUOTE = re.compile(r"^(?:[ \t]*+>)++[ ]?(?:\[![^\]\n]*+\][+-]?[ \t]?)?", re.MULTILINE)
_BLOCK_ID = re.compile(r"(?:^|[ \t])\^[A-Za-z0-9-]+[ \t]*+$", re.MULTILINE)
_MARKS = re.compile(r"<!--|-->|%%|\*\*")
_SHORT_LIST = 400  # characters that stay together, about a hundred words


class Content(NamedTuple):
    """What the body of a note consists of."""

    pieces: list[Piece]
    headings: list[Heading]


def read_pieces(text: str, first_line: int, spans: list[Hidden], *, drawing: bool) -> Content:
    """The pieces and headings from `first_line` on; a drawing's code is no text."""
    lines = text.split("\n")
    reader = _Reader(lines, speakers(lines[first_line - 1 :]), drawing=drawing)
    reader.fences = _fences(text, spans)
    reader.read(first_line - 1)
    return Content(reader.pieces, reader.headings)


def _fences(text: str, spans: list[Hidden]) -> dict[int, int]:
    """First and last line (from 0) of each fenced code block."""
    fenced = [span for span in spans if span.fence]
    if not fenced:
        return {}
    starts = line_starts(text)
    return {
        line_at(starts, span.begin) - 1: line_at(starts, max(span.end - 1, span.begin)) - 1
        for span in fenced
    }


class _Reader:
    """Line by line: what a line begins ends the run before it."""

    def __init__(self, lines: list[str], names: frozenset[str], *, drawing: bool) -> None:
        self.lines = lines
        self.names = names
        self.drawing = drawing
        self.fences: dict[int, int] = {}
        self.pieces: list[Piece] = []
        self.headings: list[Heading] = []
        self.path: list[Heading] = []
        self.above: tuple[str, ...] = ()
        self.kind = ""  # of the run that is open: text, list, quote, table or "" for none
        self.begin = 0
        self.items: list[int] = []  # where the outermost items of an open list begin
        self.margin = 0  # the indentation of these items

    def read(self, line: int) -> None:
        lines, fences = self.lines, self.fences
        end = len(lines)
        blank = False
        while line < end:
            written = lines[line]
            if line in fences:
                line = self._code(line, fences[line])
            elif not written or written.isspace():
                if self.kind != "list":
                    self._close(line)
            else:
                self._take(line, written, after_blank=blank)
            blank = not written or written.isspace()
            line += 1
        self._close(end)

    def _take(self, line: int, written: str, *, after_blank: bool) -> None:
        first = written.lstrip()[0]
        if first == "#" and (heading := _HEADING.fullmatch(written)):
            self._heading(line, len(heading[1]), heading[2] or "")
        elif first in "-*_=" and self._steers(line, written):
            return
        elif (first in "-*+" or first.isdigit()) and _ITEM.match(written):
            self._item(line, written)
        elif self.kind == "list" and (written[0] in " \t" or not after_blank):
            return  # goes on with the item above
        else:
            kind = {"|": "table", ">": "quote"}.get(first, "text")
            if self.kind != kind:
                self._close(line)
                self._open(kind, line)

    def _steers(self, line: int, written: str) -> bool:
        """A line under a heading, or one that only divides."""
        short = line - self.begin <= 2
        if self.kind == "text" and short and _UNDERLINE.fullmatch(written):
            title = " ".join(text.strip() for text in self.lines[self.begin : line])
            begin, self.kind = self.begin, ""
            self._heading(begin, 1 if "=" in written else 2, title, line)
            return True
        if _RULE.fullmatch(written):
            self._close(line)
            return True
        return False

    def _heading(self, line: int, level: int, written: str, last: int = -1) -> None:
        self._close(line)
        text = written.rstrip()
        bare = text.rstrip("#")
        if not bare or bare[-1] in " \t":
            text = bare.rstrip()
        heading = Heading(level, text, line + 1)
        self.headings.append(heading)
        while self.path and self.path[-1].level >= level:
            self.path.pop()
        above = tuple([h.text for h in self.path if h.text])
        self.path.append(heading)
        self.above = (*above, text) if text else above
        if text:
            end = max(last, line) + 1
            self.pieces.append(Piece(_tidy(text), line + 1, end, above, "heading"))

    def _item(self, line: int, written: str) -> None:
        margin = len(written) - len(written.lstrip())
        if self.kind != "list":
            self._close(line)
            self._open("list", line)
            self.margin = margin
            self.items = []
        if margin <= self.margin:
            self.items.append(line)

    def _code(self, line: int, last: int) -> int:
        written = self.lines[line]
        inside = written[:1] in {" ", "\t"} or bool(_ITEM.match(written))
        if self.kind == "list" and inside:
            if _ITEM.match(written):
                self._item(line, written)
            return last
        if self.kind == "quote" and written.lstrip().startswith(">"):
            return last
        self._close(line)
        if not self.drawing:
            text = "\n".join(self.lines[line : last + 1])
            self.pieces.append(Piece(text, line + 1, last + 1, self.above, "code"))
        return last

    def _open(self, kind: str, line: int) -> None:
        self.kind = kind
        self.begin = line

    def _close(self, end: int) -> None:
        kind, begin = self.kind, self.begin
        self.kind = ""
        if not kind:
            return
        lines = self.lines
        while not lines[end - 1].strip():
            end -= 1
        if kind == "list":
            self._close_list(begin, end)
        elif kind == "table":
            text = _TABLE_RULE.sub("", "\n".join(lines[begin:end]))
            self._add(text, begin, end, "table")
        else:
            self._close_text(begin, end)

    def _close_text(self, begin: int, end: int) -> None:
        for first, last, label in turns(self.lines, begin, end, self.names):
            self._add("\n".join(self.lines[first:last]), first, last, "text", label)

    def _close_list(self, begin: int, end: int) -> None:
        lines = self.lines
        parts = list(turns(lines, begin, end, self.names))
        if len(parts) > 1 or parts[0][2]:
            for first, last, label in parts:
                self._add("\n".join(lines[first:last]), first, last, "list", label)
            return
        text = "\n".join(lines[begin:end])
        if len(text) <= _SHORT_LIST:
            self._add(text, begin, end, "list")
            return
        for first, last in self._item_runs(begin, end):
            self._add("\n".join(lines[first:last]), first, last, "list")

    def _item_runs(self, begin: int, end: int) -> Iterator[tuple[int, int]]:
        starts = self.items if self.items and self.items[0] == begin else [begin, *self.items]
        yield from zip(starts, [*starts[1:], end], strict=True)

    def _add(self, text: str, begin: int, end: int, kind: str, label: str | None = None) -> None:
        text = _tidy(text)
        if text:
            self.pieces.append(Piece(text, begin + 1, end, self.above, kind, label))


def _tidy(text: str) -> str:
    """The words, without the marks that only steer the editor."""
    if ">" in text:
        text = _QUOTE.sub("", text)
    if "^" in text:
        text = _BLOCK_ID.sub("", text)
    if "**" in text or "%%" in text or "--" in text:
        text = _MARKS.sub("", text)
    return text.strip("\n").rstrip()
