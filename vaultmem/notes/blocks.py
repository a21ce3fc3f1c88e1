"""Groups the pieces of a note into blocks, the units of indexing and recall.

Semantic chunking of the "logic" seed, section 1.3: a block has 50 to 300 tokens. Pieces under one heading are joined,
a piece that is too long is cut at sentence ends, and one that is too short joins its neighbour. A turn of a
conversation (a piece with a label) stays a block of its own, however short: the answer to "what did Anne say" is one
turn, not three. An outline block includes its children.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from vaultmem.adapter import Note, Piece, Properties
from vaultmem.light import NamedTuple
from vaultmem.notes.places import CATEGORIES, category_of
from vaultmem.notes.speakers import with_speakers
from vaultmem.paths import blake2b
from vaultmem.text.times import local_day
from vaultmem.text.values import lazy

MIN_TOKENS = 50
MAX_TOKENS = 300
ENOUGH_TOKENS = 225  # about 900 characters: a vector blurs the meaning of longer blocks
HEADING_TOKENS = 40  # that headings may add to a full block
WINDOW_WORDS = 100  # about 60 of them are not stop words

_TURNS = ("user", "assistant")  # roles of speakers
_FIGURE = lazy(r"\d")
_OF_THE_NOTE = lazy(
    r"(?:date[ _-]?)?(?:created?|creation|modified|updated?|published?)(?:[ _-]?(?:at|on|date|time))?|"
    r"date|timestamp|[cm]time|sr[ _-].*|u?u?id|order",
    re.IGNORECASE,
)
_WORD = lazy(r"[^\W\d_]{2}")  # at least two letters: "T10:00Z" has none
_SPEAKER = lazy(
    r"(?:[\[(][^\])\n]{1,40}[\])] ?)?\**([^\W\d_][\w.'’-]*(?: [^\W\d_][\w.'’-]*){0,2})\**[:：]\**\s"
)
_SENTENCE_END = lazy(r"(?<=[.!?])\s+(?=[\"'(\[]?[A-Z0-9À-Þ])|(?<=[。！？；])|\n")


class Block(NamedTuple):
    """A run of text with its position in the note."""

    text: str
    line: int
    end_line: int
    headings: tuple[str, ...] = ()
    label: str | None = None
    is_properties: bool = False


def count_tokens(text: str) -> int:
    """The approximate number of tokens in a text: four Latin characters or one CJK character each.

    Four characters per token is the usual rule for English; UTF-8 spends two extra bytes on each CJK character, which
    counts them without looking at any.
    """
    if text.isascii():
        return (len(text) + 3) // 4
    wide = (len(text.encode("utf-8", "replace")) - len(text)) // 2
    return min(len(text), wide + (len(text) - wide + 3) // 4)


def group(pieces: Iterable[Piece]) -> list[Block]:
    """The blocks of a note, in order. Every line of every piece is in exactly one block's range."""
    return _join_short(_join_sections(with_speakers(list(pieces))))


def as_turn(blocks: list[Block], role: str) -> list[Block]:
    """The blocks of a conversation's turn. The speaker is the name before its first colon, perhaps after a time in
    brackets, else the role."""
    if role not in _TURNS:
        return blocks
    named = _SPEAKER.match(blocks[0].text)
    return [blocks[0]._replace(label=named[1] if named else role), *blocks[1:]]


def cut(piece: Piece) -> Iterator[Piece]:
    """Parts of at most MAX_TOKENS, cut at sentence ends (line ends in code) if there are any."""
    start, line = 0, piece.line
    for end in _cut_points(piece):
        text = piece.text[start:end]
        last = min(line + text.rstrip("\n").count("\n"), piece.end_line)
        if text.strip():
            yield Piece(text.strip("\n"), line, last, *piece[3:])
        line = min(line + text.count("\n"), piece.end_line)
        start = end


def _cut_points(piece: Piece) -> Iterator[int]:
    text, start, best = piece.text, 0, 0
    ends = [
        m.end()
        for m in (re.finditer("\n", text) if piece.kind == "code" else _SENTENCE_END.finditer(text))
    ]
    for end in [*ends, len(text)]:
        if _is_too_long(text, start, end):
            if best > start:
                yield best
                start = best
            while _is_too_long(text, start, end):  # one endless sentence
                start = _hard_cut(text, start)
                yield start
        best = end
    if start < len(text):
        yield len(text)


def _is_too_long(text: str, start: int, end: int) -> bool:
    # No token has more than four letters, so megabytes without a sentence end need no counting.
    return end - start > 4 * MAX_TOKENS or count_tokens(text[start:end]) > MAX_TOKENS


def _hard_cut(text: str, start: int) -> int:
    """Where to cut if no sentence ends: at a blank, else anywhere."""
    wide = not text[start : start + 4 * MAX_TOKENS].isascii()
    limit = start + (MAX_TOKENS if wide else 4 * MAX_TOKENS)
    blank = text.rfind(" ", start + 1, limit)
    return blank + 1 if blank > start else limit


def _join_sections(pieces: Iterable[Piece]) -> Iterator[Block]:
    run: list[Piece] = []
    total = 0
    for whole in pieces:
        size = count_tokens(whole.text)
        for piece in (whole,) if size <= MAX_TOKENS else cut(whole):
            if not piece.text or piece.text.isspace():
                continue
            tokens = size if piece is whole else count_tokens(piece.text)
            if run and not _goes_on(run[0], total, piece, tokens):
                start = _own_headings(run, piece, tokens)
                if start:
                    yield _block(run[:start])
                run = run[start:]
                total = sum(count_tokens(section.text) for section in run)
            run.append(piece)
            total += tokens
    if run:
        yield _block(run)


def _own_headings(run: list[Piece], piece: Piece, tokens: int) -> int:
    """The index at which the headings at the end of a run begin, if they belong to the next piece: they then begin
    the next block."""
    start = len(run)
    if piece.label:
        return start
    while start and _is_under(piece, run[start - 1]):
        tokens += count_tokens(run[start - 1].text)
        if tokens > MAX_TOKENS + HEADING_TOKENS:
            break
        start -= 1
    return start


def _is_under(piece: Piece, above: Piece) -> bool:
    """Whether a piece is under a heading, or under an item of an outline."""
    depth = len(above.headings)
    return (
        len(piece.headings) > depth
        and piece.headings[:depth] == above.headings
        and piece.headings[depth] == above.text.partition("\n")[0]
    )


def _goes_on(first: Piece, total: int, piece: Piece, tokens: int) -> bool:
    """Whether a piece belongs to the block that begins with `first` and has `total` tokens so far."""
    if first.label or piece.label or total + tokens > MAX_TOKENS:
        return False
    if piece.headings == first.headings:
        return total < ENOUGH_TOKENS
    return _is_under(piece, first)  # a child of the outline block that began this run


def _block(run: list[Piece]) -> Block:
    first = run[0]
    glue = "\n" if first.kind == "list" else "\n\n"
    end = max(first.end_line, run[-1].end_line)
    return Block(
        glue.join([piece.text for piece in run]), first.line, end, first.headings, first.label
    )


def _join_short(blocks: Iterable[Block]) -> list[Block]:
    """Join blocks under MIN_TOKENS to their neighbour; a heading between them goes into the text."""
    joined: list[Block] = []
    size = 0
    for block in blocks:
        tokens = count_tokens(block.text)
        if joined and _may_join(joined[-1], size, block, tokens):
            joined[-1] = _join(joined[-1], block)
            size += tokens
        else:
            joined.append(block)
            size = tokens
    return joined


def _may_join(before: Block, size: int, after: Block, tokens: int) -> bool:
    """Whether two neighbours may be joined: a short block takes in the next one; after a long block, a short one
    joins it only within the same section."""
    if before.label or after.label or size + tokens > MAX_TOKENS:
        return False
    return size < MIN_TOKENS or (tokens < MIN_TOKENS and after.headings == before.headings)


def _join(before: Block, after: Block) -> Block:
    new = [h for h in after.headings if h not in before.headings and h not in before.text]
    text = "\n\n".join([before.text, *new, after.text])
    return Block(text, before.line, max(before.end_line, after.end_line), *before[3:])


def of_properties(note: Note, text: str, body: int) -> list[Block]:
    """The blocks of a note's properties, up to character `body` or the first piece: if they say more than its name
    and tags, cannot be read, or are all there is. People search for `director: Agnès Varda` like any other text."""
    elsewhere = {note.title, *note.aliases, *note.tags}
    says_more = any(
        _says_more(key, str(value))
        for key, some in note.properties.items()
        for value in (some if isinstance(some, list) else [some])
        if not isinstance(value, bool | None) and str(value) not in elsewhere
    )
    if note.pieces and not says_more and not note.frontmatter_error:
        return []
    end = text.count("\n", 0, body) if body else note.pieces[0].line - 1 if note.pieces else None
    lines = enumerate(text.split("\n")[:end], start=1)
    pieces = [
        Piece(line_text.rstrip(), n, n, kind="list")
        for n, line_text in lines
        if line_text.strip(" \t\r-")
    ]
    return [block._replace(is_properties=True) for block in group(pieces)]


def _says_more(key: str, value: str) -> bool:
    """Whether a property says something in words, or in figures ("birthday: 1990-05-03", "rent: 780") of something else
    than the note itself ("created: 2026-11-01")."""
    return bool(_WORD.search(value) or (_FIGURE.search(value) and not _OF_THE_NOTE.fullmatch(key)))


def neighbour_text(blocks: list[Block], at: int) -> str:
    """The text of up to two blocks on either side of a short one, up to WINDOW_WORDS with its own.

    A short answer ("Yes, on Tuesday") is found by the question just before it. Measured: 13 points of recall on
    chats, and nothing for long blocks, which therefore get "" (docs/adr/0006).
    """
    room = WINDOW_WORDS - _word_count(blocks[at].text)
    if room <= 0 or blocks[at].is_properties or _is_inside_long_turn(blocks, at):
        return ""
    parts: list[str] = []
    for near in (at - 1, at + 1, at - 2, at + 2):
        if room <= 0:
            break
        if 0 <= near < len(blocks) and not blocks[near].is_properties:
            text = blocks[near].text
            words = _word_count(text)
            parts.append(text if words <= room else _beginning(text, len(text) * room // words))
            room -= words
    return "\n".join(parts)


def _is_inside_long_turn(blocks: list[Block], at: int) -> bool:
    """Whether a block is part of a turn of several blocks, such as an assistant's answer."""
    if blocks[at].label:
        return at + 1 < len(blocks) and not blocks[at + 1].label
    return any(block.label for block in blocks[:at])


def _beginning(text: str, length: int) -> str:
    """About the first `length` characters, without cutting a word in two."""
    blank = text.rfind(" ", 0, length + 1)
    return text[: blank if blank > length - 40 else length]


def _word_count(text: str) -> int:
    return count_tokens(text) * 3 // 4


# The size of a block, for ranking.

ENOUGH_WORDS = 10  # words of four letters or more; further ones do not count
_LONG_WORD = lazy(r"[^\W_]{4,}")
_QUESTION_END = lazy(r"[?？][*_\"'”’)\s]*\Z")


def size(block: Block) -> tuple[int, bool]:
    """The number of words of four letters or more (in CJK text, pairs of characters), at most ENOUGH_WORDS; and
    whether the block is a short turn that only asks a question, which resembles every question and answers none."""
    if block.is_properties:
        return 0, False
    # Without the speaker's name.
    text = re.split("[:：]", block.text, maxsplit=1)[-1] if block.label else block.text
    if len(text) > 40 * ENOUGH_WORDS:
        return ENOUGH_WORDS, False
    words = count_long_words(text)
    if words >= ENOUGH_WORDS:
        return ENOUGH_WORDS, False
    return words, bool(block.label and _QUESTION_END.search(text))


def count_long_words(text: str) -> int:
    """The number of words of four letters or more in a text; in CJK text, pairs of characters."""
    wide = 0 if text.isascii() else (len(text.encode("utf-8", "replace")) - len(text)) // 4
    return len(_LONG_WORD.findall(text)) + wide


# Facts derived from a note: its day, its category, the text to embed.

_DATE_KEYS = (
    "date", "day", "created", "created_at", "created-at", "date created", "创建时间", "日期",
)  # fmt: skip
_DUE_KEYS = frozenset(("due", "deadline", "remind", "scheduled", "date"))
_LONGEST_OPENING = 500
_LIST_MARK = lazy(r"(?:[-*+]|\d{1,9}[.)])\s+(?:\[.\]\s+)?")
_ENTRY_NAME = lazy(r"\A(\d{4}-\d\d-\d\d)T\d\d-\d\d-\d\dZ__[\w-]+\Z")
_ISO_DAY = lazy(r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?!\d)")
_NAME_DAY = lazy(r"(?<!\d)(\d{4})[-_.]?(0[1-9]|1[0-2])[-_.]?(0[1-9]|[12]\d|3[01])(?!\d)")


def note_day(path: str, properties: Properties, journal: str | None) -> str | None:
    """The ISO day that a note is about: its journal day, else a date property, else a date in its name; None if it
    has none."""
    if journal:
        return journal
    folded = {key.lower(): value for key, value in properties.items()}
    for key in _DATE_KEYS:
        value = folded.get(key)
        if isinstance(value, str) and (match := _ISO_DAY.match(value.strip())):
            return local_day(value) if len(value) > len(match[0]) else match[0]
    match = _NAME_DAY.search(path.rpartition("/")[2])
    if match and "1900" <= match[1] <= "2199":
        return "-".join(match.groups())
    return None


def category(path: str, properties: Properties, memory_folder: str) -> str | None:
    """The category of a memory (see places.category_of), or any other note's `category` property."""
    value = properties.get("category")
    if path.startswith(memory_folder + "/"):
        inner = path[len(memory_folder) + 1 :]
        if "id" in properties or inner.partition("/")[0] in CATEGORIES:
            return category_of(inner, value)
    return value if isinstance(value, str) and value else None


def embedded_text(title: str, block: Block) -> str:
    """The embedded text of a block: title and heading path, then the speaker, then the text. An entry of a
    conversation has its day as title."""
    name = _ENTRY_NAME.sub(r"\1", title) if "Z__" in title else title
    if block.is_properties:
        return block.text
    place = " > ".join((name, *block.headings))
    return f"{place}\n{block.text}"


def text_hash(text: str) -> bytes:
    """The 16 bytes under which the vector of exactly this text is stored."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def may_name_times(properties: Properties) -> bool:
    """Whether a note's properties may say that it is due."""
    return any(key.lower() in _DUE_KEYS for key in properties)


def opening(pieces: Iterable[Piece]) -> str:
    """The first line of a note that has words, without its list mark; "" if there is none."""
    for piece in pieces:
        if piece.kind in ("text", "list"):
            line = piece.text.strip().partition("\n")[0][:_LONGEST_OPENING]
            mark = _LIST_MARK.match(line)
            if words := line[mark.end() if mark else 0 :].strip():
                return words
    return ""
