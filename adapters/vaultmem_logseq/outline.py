"""The outline of a page: its blocks with their text, markers, dates and properties, and its searchable pieces."""

from __future__ import annotations

import re

from vaultmem.adapter import Piece
from vaultmem.light import TYPE_CHECKING, NamedTuple
from vaultmem_logseq import properties, tasks
from vaultmem_logseq.properties import Property
from vaultmem_logseq.references import UUID

if TYPE_CHECKING:
    from collections.abc import Iterable

    from vaultmem_logseq.tasks import Stamp

_START = re.compile(r"^([ \t]*+)(?:-(?=[ \t]|$)|(#++)(?=[ \t]|$))", re.MULTILINE)
MARKERS = "TODO|DOING|NOW|LATER|DONE|WAITING|WAIT|CANCELED|CANCELLED|IN-PROGRESS|STARTED"
_HEAD = re.compile(rf"(?:(#++)[ \t]++|#++$)?(?:({MARKERS}) +(?=\S))?(?:\[#([ABC])\][ \t]*+)?")
_BULLET_HEAD = re.compile(r"[#\[TDNLWCIS]")
# Only blocks with one of these have lines that are not text.
_SPECIAL = re.compile(r"::|:LOGBOOK:|SCHEDULED:|DEADLINE:", re.IGNORECASE)
_STRUCTURE = re.compile(r"[ \t]*+(?:$|[|>]|#\+|\*[ \t]|\+[ \t]|\d++[.)][ \t])")
_UUID = re.compile(UUID)


class Block(NamedTuple):
    """One block; lines count from 1 in the file, offsets are those of the file's text."""

    level: int  # 1 for the outermost; 0 for the text before the first block
    text: str  # without bullet, indentation, marker, properties and dates
    line: int
    end_line: int
    start: int
    title: str = ""  # the first line of the text, as the editor shows it
    id: str | None = None
    marker: str | None = None
    priority: str | None = None
    heading: int = 0  # 1 to 6 for a heading
    bullet: bool = False
    properties: tuple[Property, ...] = ()
    scheduled: Stamp | None = None
    deadline: Stamp | None = None
    lines: tuple[int, ...] = ()  # of each line of the text, where lines between them are not text

    def line_of(self, row: int) -> int:
        """The line in the file of a line of the text, counted from 0."""
        return self.lines[row] if self.lines else self.line + row


def outline(text: str, shape: str, start: int = 0) -> list[Block]:
    """All blocks in order, the text before the first one as a block of level 0.

    `shape` is the text with code blanked (masks.Masks.shape); `start` is where the body begins.
    """
    starts = list(_START.finditer(shape, start))
    line = text.count("\n", 0, start) + 1
    first = starts[0].start() if starts else len(text)
    blocks = []
    if first > start:
        blocks.append(_preface(text[start:first], shape[start:first], line, start))
        line += text.count("\n", start, first)
    levels = Levels()
    for index, match in enumerate(starts):
        end = starts[index + 1].start() if index + 1 < len(starts) else len(text)
        raw = text[match.end() : end]
        level = levels.level(1 if match[2] else len(match[1]) + 1)
        if "\n" not in raw[:-1]:
            blocks.append(_short(raw, match, level, line))
            line += raw.count("\n")
        else:
            blocks.append(_long(raw, shape[match.end() : end], match, level, line))
            line += raw.count("\n")
    return blocks


class Levels:
    """The depth of each block by the indentation of those above it."""

    def __init__(self) -> None:
        self.widths: list[int] = []

    def level(self, width: int) -> int:
        """The level of the next block, by the columns before its bullet."""
        while self.widths and self.widths[-1] >= width:
            self.widths.pop()
        self.widths.append(width)
        return len(self.widths)


class _Head(NamedTuple):
    title: str
    marker: str | None
    priority: str | None
    heading: int


def _head(line: str, match: re.Match[str]) -> _Head:
    marks = len(match[2] or "")
    if not _BULLET_HEAD.match(line):
        return _Head(line, None, None, min(marks, 6))
    head = _HEAD.match(line)
    assert head is not None  # every part of it may be missing
    if not marks and head[0].startswith("#"):
        marks = len(head[1] or head[0].strip())
    elif marks and head[1]:
        return _Head(line, None, None, min(marks, 6))
    return _Head(line[head.end() :], head[2], head[3], min(marks, 6))


def _short(raw: str, match: re.Match[str], level: int, line: int) -> Block:
    """A block of one line, by far the most frequent kind."""
    title = raw.strip()
    bullet = match[2] is None
    if "::" in title and (field := _property(raw.rstrip("\n"), line, match.end())):
        return Block(
            level, "", line, line, match.start(), id=block_id((field,)), bullet=bullet, properties=(field,)
        )  # fmt: skip
    head = _head(title, match)
    return Block(
        level, head.title, line, line, match.start(), head.title, None,
        head.marker, head.priority, head.heading, bullet,
    )  # fmt: skip


def _long(raw: str, shape: str, match: re.Match[str], level: int, line: int) -> Block:
    body = Body(len(match[1]) + 2)
    first, _, rest = raw.partition("\n")
    title = first.strip()
    head = _Head("", None, None, 0)
    if "::" in title and (field := _property(first, line, match.end())):
        body.properties.append(field)
    else:
        head = _head(title, match)
    body.read(rest, shape[len(first) + 1 :], line + 1, match.end() + len(first) + 1)
    text, lines = join_rows([head.title, *body.rows], [line, *body.numbers])
    return Block(
        level, text, line, line + raw.rstrip().count("\n"), match.start(), head.title,
        block_id(body.properties), head.marker, head.priority, head.heading, match[2] is None,
        tuple(body.properties), body.scheduled, body.deadline, lines,
    )  # fmt: skip


def _preface(raw: str, shape: str, line: int, start: int) -> Block:
    body = Body(0)
    body.read(raw, shape, line, start)
    text, lines = join_rows(body.rows, body.numbers)
    end_line = line + raw.rstrip().count("\n")
    return Block(
        0, text, line, end_line, start, id=block_id(body.properties),
        properties=tuple(body.properties), lines=lines,
    )  # fmt: skip


def join_rows(rows: list[str], numbers: list[int]) -> tuple[str, tuple[int, ...]]:
    """The text of these lines without empty ones around it, and the number of each."""
    text = "\n".join(rows)
    stripped = text.lstrip("\n")
    skipped = len(text) - len(stripped)
    stripped = stripped.rstrip()
    return stripped, tuple(numbers[skipped : skipped + stripped.count("\n") + 1])


class Body:
    """Reads the lines of a block after its first one, by their kind."""

    special = _SPECIAL

    def __init__(self, indent: int) -> None:
        self.indent = indent
        self.rows: list[str] = []
        self.numbers: list[int] = []  # the line of each kept one
        self.properties: list[Property] = []
        self.scheduled: Stamp | None = None
        self.deadline: Stamp | None = None
        self.in_paragraph = False
        self.in_logbook = False

    def read(self, raw: str, shape: str, line: int, offset: int) -> None:
        """All lines after the first: unchanged, and with code and comments blanked out."""
        if not self.special.search(raw):
            self.rows = [self.unindented(row) for row in raw.split("\n")]
            self.numbers = list(range(line, line + len(self.rows)))
            return
        for line_text, visible in zip(raw.split("\n"), shape.split("\n"), strict=True):
            self.take(line_text, visible, line, offset)
            line += 1
            offset += len(line_text) + 1

    def take(self, raw: str, visible: str, line: int, offset: int) -> None:
        """A line that may be a property, a date or part of the log book."""
        if self.in_logbook or (not visible.strip() and raw.strip().upper() == ":LOGBOOK:"):
            self.in_logbook = raw.strip().upper() != ":END:"
            self.in_paragraph = False
        elif tasks.DATE_LINE.match(visible):
            if not self.in_paragraph:
                self.date(visible)
        elif "::" in visible and (field := _property(raw, line, offset)):
            self.properties.append(field)
            self.in_paragraph = False
        else:
            self.rows.append(self.unindented(raw))
            self.numbers.append(line)
            self.in_paragraph = not _STRUCTURE.match(visible)

    def date(self, line: str) -> None:
        """A line of SCHEDULED and DEADLINE stamps."""
        for stamp in tasks.stamps(line):
            if stamp.deadline:
                self.deadline = self.deadline or stamp
            else:
                self.scheduled = self.scheduled or stamp

    def unindented(self, line: str) -> str:
        """The line without the indentation of its block."""
        if not line[: self.indent].strip():
            return line[self.indent :]
        return line.lstrip()


def _property(line: str, number: int, offset: int) -> Property | None:
    match = properties.LINE.fullmatch(line)
    if match is None:
        return None
    begin, end = match.span(2) if match[2] else (match.end(), match.end())
    key = properties.key_of(match[1])
    return Property(key, match[2] or "", number, offset + begin, offset + end)


def block_id(properties: Iterable[Property]) -> str | None:
    """The uuid by which references find the block (R-LS-10)."""
    for field in properties:
        if field.key == "id" and _UUID.fullmatch(field.value):
            return field.value.lower()
    return None


_LONG = 1_000  # characters; a block up to this size stays whole
_STEP = re.compile(r"^[ \t]*+(```|~~~)|\n(?>(?:[ \t]*+\n)+)", re.MULTILINE)  # fence or gap
_TITLE_LIMIT = 200
_WORD = re.compile(r"[^\W\d_]{2}")
# Words of markup: the ends of a container, macros, and the ids of referenced blocks.
_MARKUP = re.compile(
    rf"(?<=#\+)(?:BEGIN|END)_\w++|(?<=\{{\{{)(?:embed|query)\b|(?<=\(\(){UUID}(?=\)\))",
    re.IGNORECASE,
)
_DEEPEST = 32  # more parents add nothing and would make a degenerate outline quadratic


def pieces(blocks: Iterable[Block]) -> tuple[Piece, ...]:
    """One piece for every block with text, with its parents' first lines as headings."""
    results: list[Piece] = []
    parents: list[tuple[int, tuple[str, ...]]] = []  # level, and the headings of the children
    for block in blocks:
        while parents and parents[-1][0] >= block.level:
            parents.pop()
        headings = parents[-1][1] if parents else ()
        results.extend(_block_pieces(block, headings))
        if block.level:
            parents.append((block.level, _below(headings, block.text)))
    return tuple(map(_without_markup, results))


def _without_markup(piece: Piece) -> Piece:
    """The piece without words that are not part of its text; the remaining text keeps its lines."""
    is_plain = not ("#+" in piece.text or "{{" in piece.text or "((" in piece.text)
    return piece if is_plain else piece._replace(text=_MARKUP.sub("", piece.text))


def _below(headings: tuple[str, ...], text: str) -> tuple[str, ...]:
    title = text.partition("\n")[0][:_TITLE_LIMIT]
    return (*headings, title) if title and len(headings) < _DEEPEST else headings


def _block_pieces(block: Block, headings: tuple[str, ...]) -> list[Piece]:
    kind = "list" if block.bullet and not block.heading else "text"
    if not block.level:  # its properties are the page's
        return _paragraphs(block, headings, kind) if block.text else []
    fields = [field for field in block.properties if _says_more(field)]
    if len(block.text) <= _LONG:
        text = "\n".join((*filter(None, [block.text]), *(f"{p.key}:: {p.value}" for p in fields)))
        return [Piece(text, block.line, block.end_line, headings, kind)] if text else []
    below = [Piece(f"{p.key}:: {p.value}", p.line, p.line, headings, kind) for p in fields]
    return [*_paragraphs(block, headings, kind), *below]


def _says_more(field: Property) -> bool:
    """Whether a person may search for a block's property: it has words and is not one of Logseq's own."""
    return bool(_WORD.search(field.value)) and not properties.is_own(field.key)


def _paragraphs(block: Block, headings: tuple[str, ...], kind: str) -> list[Piece]:
    """Cut at blank lines outside code; the parts after the first have its first line above them."""
    results: list[Piece] = []
    inside = headings
    begin, row = 0, 0
    for end, following in _cuts(block.text):
        text = block.text[begin:end]
        last = row + text.count("\n")
        results.append(Piece(text, block.line_of(row), block.line_of(last), inside, kind))
        if block.heading and len(results) == 1:
            inside = _below(headings, text)
        row = last + block.text.count("\n", end, following)
        begin = following
    return results


def _cuts(text: str) -> list[tuple[int, int]]:
    """Where each paragraph ends and where the next one begins."""
    results = []
    code = ""
    for step in _STEP.finditer(text):
        if not step[1]:
            results += [] if code else [step.span()]
        elif not code:
            code = step[1]
        elif code == step[1]:
            code = ""
    return [*results, (len(text), len(text))]
