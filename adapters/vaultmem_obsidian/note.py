"""Reads one note as Obsidian does: its pieces (paragraphs, lists, tables, code) and everything in them."""

from __future__ import annotations

import re
from collections import Counter
from itertools import chain

from vaultmem.adapter import Heading, Note, Piece
from vaultmem.adapter.scan import blank_spans, hidden_spans, line_at, line_starts
from vaultmem.light import TYPE_CHECKING
from vaultmem_obsidian.habits import journal_day
from vaultmem_obsidian.links import (
    find_links,
    find_tags,
    merge_tags,
    property_aliases,
    property_links,
    property_tags,
)
from vaultmem_obsidian.task_lines import find_tasks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vaultmem.adapter import FrontMatter
    from vaultmem.adapter.scan import Hidden
    from vaultmem_obsidian.habits import Settings

_ANCHOR = re.compile(r"\^(?<!\S\^)([A-Za-z0-9-]+)[ \t]*+$", re.MULTILINE)


def read_note(path: str, text: str, front: FrontMatter, settings: Settings) -> Note:
    """The note in this file, see vaultmem.adapter.Rules.parse."""
    body, properties = front.body, front.properties
    spans = hidden_spans(text, body, indented=True)
    plain = blank_spans(text, spans)
    lines = Lines(text)
    starts = lines.starts
    links, places = find_links(text, plain, body, starts)
    drawing = path.lower().endswith(".excalidraw.md") or "excalidraw-plugin" in properties
    content = _Content(lines, line_at(starts, body) - 1, spans, drawing=drawing)
    content.read()
    return Note(
        title=path.rpartition("/")[2][:-3],
        pieces=tuple(content.pieces),
        properties=properties,
        frontmatter_error=front.error,
        aliases=property_aliases(properties) if properties else (),
        tags=merge_tags(chain(property_tags(properties), find_tags(plain, body, places))),
        headings=tuple(content.headings),
        links=(*(property_links(text, front) if properties else ()), *links),
        tasks=tuple(find_tasks(text, plain, body, starts, settings)),
        anchors=_anchors(plain, body, starts),
        journal=journal_day(path, settings.day_formats),
    )


def _anchors(plain: str, body: int, starts: list[int]) -> dict[str, int]:
    if plain.find("^", body) < 0:
        return {}
    return {match[1]: line_at(starts, match.start()) for match in _ANCHOR.finditer(plain, body)}


# Speakers: lines that begin with a name, in transcripts, interviews and exported chats.

_TIME = r"(?:[\[(]?\d{1,2}:\d{2}(?::\d{2})?[\])]?[ \t]*+(?:[-–][ \t]*+)?)?"
_LEAD = rf"(?>(?:[ \t>]|[-*+][ \t]|\d{{1,9}}[.)][ \t])*){_TIME}"
_BOLD = re.compile(rf"{_LEAD}\*\*([^*:：,，。\n]{{1,24}})(?:[:：]\*\*|\*\*[ \t]?[:：])")
_WORD = r"[^\W\d_][^\s:：*\[\](){}|`<>]*+"
_PLAIN = re.compile(rf"{_LEAD}({_WORD}(?:[ ]{_WORD}){{0,2}})(?::(?=\s)|：)")
_LONGEST_NAME = 24
_FEWEST_LINES = 4
_MOST_NAMES = 6


def speakers(body: list[str]) -> frozenset[str]:
    """The names of speakers if a whole note is a chat of `Name: text` lines; else empty.

    Four or more such lines, at most six names, one of which comes twice, and most of the lines.
    """
    lines = [line for line in body if ": " in line or "：" in line]
    if len(lines) < _FEWEST_LINES:
        return frozenset()
    half = len(list(filter(str.strip, body))) / 2
    if len(lines) <= half:
        return frozenset()
    counts = Counter(name for line in lines if (name := _plain_name(line)))
    total = counts.total()
    if total < _FEWEST_LINES or not len(counts) < total or len(counts) > _MOST_NAMES:
        return frozenset()
    return frozenset(counts) if total > half else frozenset()


def _plain_name(line: str) -> str | None:
    match = _PLAIN.match(line)
    return match[1] if match and len(match[1]) <= _LONGEST_NAME else None


def turns(
    lines: list[str], begin: int, end: int, names: frozenset[str]
) -> Iterator[tuple[int, int, str | None]]:
    """Yield the turns in the lines [begin, end) as (first, end, speaker); lines without a speaker stay together."""
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


_HEADING = re.compile(r"[ ]{0,3}(#{1,6})(?:[ \t]+(.*))?")
_ITEM = re.compile(r"[ \t]*+(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
_RULE = re.compile(r"[ \t]*+(?:(?:-[ \t]*+){3,}|(?:\*[ \t]*+){3,}|(?:_[ \t]*+){3,})")
_UNDERLINE = re.compile(r"[ ]{0,3}(?:=+|-+)[ \t]*+")
_TABLE_RULE = re.compile(r"^(?=[ \t|:]*+-)[ \t|:-]++$\n?", re.MULTILINE)
_QUOTE = re.compile(r"^(?>(?:[ \t]*+>)+)[ ]?(?:\[![^\]\n]*+\][+-]?[ \t]?)?", re.MULTILINE)
_BLOCK_ID = re.compile(r"(?:^|[ \t])\^[A-Za-z0-9-]+[ \t]*+$", re.MULTILINE)
_MARKS = re.compile(r"<!--|-->|%%|\*\*")
_SHORT_LIST = 400  # characters that stay together, about a hundred words


class Lines:
    """A text and its lines, numbered from 0."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.all = text.split("\n")
        self.starts = [*line_starts(self.all), len(text) + 1]

    def run(self, begin: int, end: int) -> str:
        """The lines [begin, end)."""
        return self.text[self.starts[begin] : self.starts[end] - 1]


class _Content:
    """The pieces and headings from a line on, read line by line: each new run ends the one before."""

    def __init__(self, lines: Lines, first: int, spans: list[Hidden], *, drawing: bool) -> None:
        self.lines = lines.all
        self.run = lines.run
        self.names = speakers(lines.all[first:])
        self.drawing = drawing  # its code is not text
        self.first = first
        places = ((span.begin, max(span.end - 1, span.begin)) for span in spans if span.fence)
        self.fences = {
            line_at(lines.starts, begin) - 1: line_at(lines.starts, last) - 1
            for begin, last in places
        }
        self.pieces: list[Piece] = []
        self.headings: list[Heading] = []
        self.path: list[Heading] = []
        self.above: tuple[str, ...] = ()
        self.kind = ""  # kind of the open run: text, list, quote, table or "" for none
        self.begin = 0
        self.items: list[int] = []  # lines of the outermost items of an open list
        self.margin = 0  # the indentation of these items

    def read(self) -> None:
        lines, fences = self.lines, self.fences
        line, end = self.first, len(lines)
        first = "-"
        while line < end:
            written = lines[line]
            before, first = first, written.lstrip()[:1]
            if line in fences:
                line = self._code(line, fences[line])
            elif not first:
                if self.kind and self.kind != "list":
                    self._close(line)
            elif not first.isalpha():
                self._take(line, written, first, goes_on=bool(before) or written[0] in " \t")
            elif self.kind != "text" and not (
                self.kind == "list" and (before or written[0] in " \t")
            ):
                self._begin("text", line)
            line += 1
        self._close(end)

    def _take(self, line: int, written: str, first: str, *, goes_on: bool) -> None:
        if first == "#" and (heading := _HEADING.fullmatch(written)):
            self._heading(line, len(heading[1]), heading[2] or "")
        elif first in "-*_=" and self._steers(line, written):
            return
        elif (first in "-*+" or first.isdigit()) and _ITEM.match(written):
            self._item(line, written)
        elif self.kind != "list" or not goes_on:  # otherwise it belongs to the item above
            self._begin("table" if first == "|" else "quote" if first == ">" else "text", line)

    def _steers(self, line: int, written: str) -> bool:
        """Whether a line only underlines a heading or divides."""
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
            self._begin("list", line)
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
            text = self.run(line, last + 1)
            self.pieces.append(Piece(text, line + 1, last + 1, self.above, "code"))
        return last

    def _begin(self, kind: str, line: int) -> None:
        """Open a run, unless one of this kind is open."""
        if self.kind != kind:
            self._close(line)
            self.kind = kind
            self.begin = line

    def _close(self, end: int) -> None:
        kind, begin = self.kind, self.begin
        if not kind:
            return
        self.kind = ""
        while not self.lines[end - 1].strip():
            end -= 1
        text = self.run(begin, end)
        if kind == "list":
            self._close_list(text, begin, end)
        elif kind == "table":
            self._add(_TABLE_RULE.sub("", text), begin, end, "table")
        elif self.names or "**" in text:
            for first, last, label in turns(self.lines, begin, end, self.names):
                self._add(self.run(first, last), first, last, "text", label)
        else:
            self._add(text, begin, end, "text")

    def _close_list(self, text: str, begin: int, end: int) -> None:
        parts: list[tuple[int, int, str | None]] = [(begin, end, None)]
        if self.names or "**" in text:
            parts = list(turns(self.lines, begin, end, self.names))
        if len(parts) == 1 and not parts[0][2] and len(text) > _SHORT_LIST:
            starts = sorted({begin, *self.items})
            parts = [(*span, None) for span in zip(starts, [*starts[1:], end], strict=True)]
        for first, last, label in parts:
            self._add(self.run(first, last), first, last, "list", label)

    def _add(self, text: str, begin: int, end: int, kind: str, label: str | None = None) -> None:
        text = _tidy(text)
        if text:
            self.pieces.append(Piece(text, begin + 1, end, self.above, kind, label))


def _tidy(text: str) -> str:
    """The text without markup that only the editor needs."""
    if ">" in text:
        text = _QUOTE.sub("", text)
    if "^" in text:
        text = _BLOCK_ID.sub("", text)
    if "**" in text or "%%" in text or "--" in text:
        text = _MARKS.sub("", text)
    return text.strip("\n").rstrip()
