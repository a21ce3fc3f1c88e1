"""Titles of memories, which are their file names: valid on every system and not taken in the vault."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import accumulate

from vaultmem.text.sanitize import columns, graphemes, without_invisible
from vaultmem.text.times import without_days
from vaultmem.text.values import ARCHIVE, CATEGORIES, ENTRIES, GENERATED, SYNC, lazy

UNTITLED = "Untitled"
MAX_CHARACTERS = 80
MAX_BYTES = 180
_COLUMNS = 60  # columns of a title taken from the content; a Chinese character has two
_SHORTEST = 16  # columns: titles are not cut shorter
_LOOKED_AT = 20_000  # characters read of the content
_ROUNDS = 20

# --- From the content

_FENCE = lazy(r"[ \t>]*(?:[-*+] +)?(?:`{3}|~{3})")
_PROPERTY = lazy(r"[ \t]*(?:- +)?[^\s:`\[\](){}#]{1,80}::(?:[ \t]|$)")
_START = lazy(
    r"[ \t]*(?:>[ \t]*|[-*+] +|\d{1,3}[.)] +|#{1,6}(?:[ \t]+|$)|\[[^\]\n]\][ \t]+|\[![\w-]{1,40}\][-+]?[ \t]*"
    r"|(?:TODO|DOING|DONE|NOW|LATER|WAITING) +)"
)
_WIKILINK = lazy(r"!?\[\[([^\[\]|\n]{1,300})(?:\|([^\[\]\n]{0,300}))?\]\]")
_LINK = lazy(r"!?\[([^\[\]\n]{0,300})\]\([^()\n]{0,500}\)")
_TAG = lazy(r"<!--[^\n]{0,500}?-->|</?[a-zA-Z][^<>\n]{0,300}>")
_ESCAPED = lazy(r"\\([!-/:-@\[-`{-~])")
_EMPHASIS = lazy(r"\*+|~~|==|`+|(?<!\w)_+|_+(?!\w)|[ \t]\^[A-Za-z0-9-]+[ \t]*$")
_SENTENCE_END = lazy(
    r"(?<=[^\W\d]{3})[.!?](?= )|[!?](?= )|;(?= )|:(?= 1[.)] )|\d\.(?= [^\W\d_])|[。！？；]"
)
MORE = "…"  # after a cut within a statement
_WORD = lazy(r"\w+")
_YAML = lazy(r"[\w-]{1,40}:(?:[ \t]|$)|[ \t]+\S|[ \t]*-[ \t]|#|[ \t]*$")
# A cut title does not end with these.
_FUNCTION_WORD = lazy(
    r"(?<=\S)[\s,;:–—-]+(?:an?|the|of|and|or|but|nor|with|without|over|under|to|for|from|in|into|on|onto|at|by|as|is|are|was"
    r"|were|be|been|than|that|which|who|because|if|when|while|so|its?|this|these|those|my|our|your|his|her|their|will|would"
    r"|can|has|have|had|not|via|per|between|about|after|before|until|since|through|against|&)[\s,;:–—-]*$"
    r"|(?<=[\u4e00-\u9fff])[的和与及跟在把被向从对于而且或是]$",
    re.IGNORECASE,
)
_TRAILING = " \t.,;:!?…-–—·/\\&+=|(<[{、。，；：！？（「『《【"

# --- File names

_BETWEEN = lazy(r"(?<=\w)[/\\:|](?=\w)")
_COLON = lazy(r"(?<=\w): +(?=[\w\"'“‘«(])")
_PARTS = lazy(r"[/\\|<>:]")
_MARKS = lazy(r"[*?\"#^\[\]]")
_PERCENT = lazy(r"%(?=[0-9A-Fa-f]{2})|%(?=%)")  # Logseq reads %2F as "/"; %% is a comment
_LOWBARS = lazy(r"_{3,}")  # Logseq reads three as "/"
_LEADING = lazy(r"(?:[ .~]|-(?!\d))+")
# Endings of other kinds of files: [[it]] would lead there, or sync programs would skip it.
_ENDING = lazy(
    r"\.(?=(?:tmp|swp|swo|bak|part|partial|crdownload|lock|markdown|org|txt|canvas|base|excalidraw|pdf|avif|bmp"
    r"|gif|jpe?g|png|svg|webp|flac|m4a|mp[34]|ogg|ogv|wav|webm|3gp|mkv|mov)$)",
    re.IGNORECASE,
)
_NOTE_ENDING = lazy(r"(?<=.)\.md$", re.IGNORECASE)
_DEVICE = lazy(r"(?:CON|PRN|AUX|NUL|(?:COM|LPT)[0-9¹²³]|CON(?:IN|OUT)\$) *(?:\.|$)", re.IGNORECASE)
_NUMBERED = lazy(r"^(.*\S) \(([1-9][0-9]?)\)$")
_CONFLICTED = lazy(r"conflicted copy", re.IGNORECASE)
_STAMPED = lazy(r"[._](?=(?:sync-)?conflict-)")
_DATE_PART = lazy(
    r"\d{1,8}(?:st|nd|rd|th)?|[wq]\d{1,2}|(?:jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec)[a-z]{0,6}"
    r"|(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?",
    re.IGNORECASE,
)
_DATE_SEPARATOR = lazy(r"[\s,._/'’年月日-]+")
_RESERVED = frozenset(
    [name.removesuffix(".md").lower() for name in GENERATED] + [*CATEGORIES, ARCHIVE, ENTRIES, SYNC]
)


def title_of(content: str) -> str:
    """A readable title, from the first line that has words; "" if there is none.

    Emoji alone are enough. It has about 60 columns, and ends with a statement or with a word and "…".
    """
    for line in _lines(content[:_LOOKED_AT]):
        title = _cut_to_columns(_plain(line))
        if any(piece.isalnum() or unicodedata.category(piece) == "So" for piece in title):
            return title
    return ""


def repeats(title: str, content: str) -> bool:
    """Whether a title says what a title taken from the content would, in any spelling and without what a dream adds to
    relative times."""
    titles = without_days(title), title_of(without_days(content))
    own, other = (_WORD.findall(text.lower()) for text in titles)
    return bool(other) and own[: len(other)] == other


def safe_title(title: str) -> str:
    """The title as a valid file name on Windows, macOS and Linux, in Obsidian and in Logseq, not mistakable for a
    sync conflict, a daily note or a file of ours. Idempotent."""
    for _ in range(_ROUNDS):  # the result of one step may need another
        before, title = title, _step(title)
        if title == before:
            return title
    return UNTITLED


def free_title(content: str, day: str, own_id: str, taken: Callable[[str], bool]) -> str:
    """A free title for a new memory: from its content, else with its ISO day, else with a piece of its id."""
    title = safe_title(title_of(content))
    result = map(safe_title, _candidates(title, f", {day}", own_id))
    return next(candidate for candidate in result if not taken(candidate))


def free_path(path: str, own_id: str, taken: Callable[[str], bool]) -> str:
    """The path if it is free, else its name with a piece of the id."""
    folder, slash, name = path.rpartition("/")
    stem, dot, ending = name.rpartition(".")
    if not dot:
        stem, ending = name, ""
    result = (
        f"{folder}{slash}{candidate}{dot}{ending}" for candidate in _candidates(stem, "", own_id)
    )
    return next(candidate for candidate in result if not taken(candidate))


def _candidates(title: str, addition: str, own_id: str) -> Iterator[str]:
    yield title
    if addition:
        yield _shorten(title, addition)
    letters = "".join(filter(str.isalnum, own_id)).lower() or "0"
    for length in dict.fromkeys(min(n, len(letters)) for n in (6, 8, 12, len(letters))):
        yield _shorten(title, f"{addition} {letters[:length]}")
    for number in itertools.count(2):  # even if both the title and the id are taken
        yield _shorten(title, f"{addition} {letters} n{number}")


def _shorten(title: str, addition: str) -> str:
    room = _cut(title, MAX_CHARACTERS - len(addition), MAX_BYTES - len(addition.encode()))
    return room.rstrip(" .,") + addition


def _lines(content: str) -> Iterable[str]:
    """The lines from which a title may be taken: first those of the text, then those of its code and of properties
    before it."""
    lines = content.split("\n")
    begin = _front(lines)
    code: list[str] = []
    inside = False
    for line in lines[begin:]:
        if _FENCE.match(line):
            inside = not inside
        elif inside:
            code.append(line)
        elif not _PROPERTY.match(line):
            yield line
    yield from code
    yield from lines[:begin]


def _front(lines: list[str]) -> int:
    """How many lines at the top look like YAML properties."""
    start = next((at for at, line in enumerate(lines) if line.strip()), 0)
    if lines[start].rstrip() != "---":
        return 0
    for at, line in enumerate(lines[start + 1 :], start + 1):
        if line.rstrip() in ("---", "..."):
            return at + 1
        if not _YAML.match(line):
            return at
    return len(lines)


def _plain(line: str) -> str:
    line = line[:2_000].strip()
    for _ in range(10):
        match = _START.match(line)
        if match is None:
            break
        line = line[match.end() :]
    line = _WIKILINK.sub(lambda link: link[2] or link[1], line)
    line = _LINK.sub(lambda link: link[1], line)
    line = _ESCAPED.sub(r"\1", _EMPHASIS.sub("", _TAG.sub(" ", line)))
    return " ".join(line.split())


def _cut_to_columns(text: str) -> str:
    pieces = list(graphemes(text[:1_000]))
    ends = list(accumulate(map(columns, pieces)))
    if not ends or ends[-1] <= _COLUMNS:
        return text.rstrip(_TRAILING)
    fit = sum(end < _COLUMNS for end in ends)  # with room for the ellipsis
    head = "".join(pieces[:fit])
    least = len("".join(pieces[: sum(end < _SHORTEST for end in ends)]))
    sentence = _SENTENCE_END.search(text[: len(head) + 1], least)
    if sentence:
        return text[: sentence.end()].rstrip(_TRAILING)
    blank = len(head) if pieces[fit] == " " else head.rfind(" ")
    cut = _trim_ending(head[:blank] if blank >= least else head, least).rstrip(_TRAILING)
    return f"{cut}{MORE}" if cut else ""


def _trim_ending(cut: str, least: int) -> str:
    """The cut text without trailing words that require another: "MySQL over"."""
    while match := _FUNCTION_WORD.search(cut, least):
        cut = cut[: match.start()]
    return cut


@lru_cache(64)  # the next step reads this one's result
def _step(title: str) -> str:
    title = without_invisible(title[:1_000])
    title = _PARTS.sub(" ", _BETWEEN.sub("-", _COLON.sub(" - ", title)))
    title = _LOWBARS.sub("__", _PERCENT.sub("", _MARKS.sub("", title)))
    title = " ".join(title.split())
    leading = _LEADING.match(title)
    title = title[leading.end() :] if leading else title
    title = _unmistaken(title.rstrip(" .~"))
    return _cut(title, MAX_CHARACTERS, MAX_BYTES).rstrip(" .~") or UNTITLED


def _unmistaken(title: str) -> str:
    """The title, changed if it could be mistaken for something else."""
    title = _ENDING.sub(" ", _NOTE_ENDING.sub("", title))
    if "conflict" in title.lower():
        title = _CONFLICTED.sub("conflict copy", _STAMPED.sub(" ", title))
        title = title.replace("(", "").replace(")", "")
    title = _NUMBERED.sub(r"\1 \2", title)  # "Plan (1)" is a copy of "Plan" for every program
    device = _DEVICE.match(title)
    if device:
        title = title.replace(".", " ", 1) if "." in device[0] else f"{title} memory"
    if title.lower() in _RESERVED:
        return f"{title} memory"
    return f"Memory of {title}" if _is_date(title) else title


def _is_date(title: str) -> bool:
    """Whether a daily note could have this name, in any date format."""
    if not any(letter.isdigit() for letter in title):
        return False
    parts = [part for part in _DATE_SEPARATOR.split(title) if part]
    if not all(_DATE_PART.fullmatch(part) for part in parts):
        return False
    return len(parts) > 1 or len(title) in {6, 8}


def _cut(title: str, characters: int, size: int) -> str:
    """As much of the title as fits, in whole graphemes; a grapheme too large for any title is left out."""
    pieces: list[str] = []
    for piece in graphemes(title):
        if len(piece) > MAX_CHARACTERS // 2:
            continue
        characters -= len(piece)
        size -= len(piece.encode())
        if characters < 0 or size < 0:
            break
        pieces.append(piece)
    return "".join(pieces)


# Names of conversations.

# Characters; with its prefix it is a scope, which has 200 at most.
LONGEST_CONVERSATION = 180
# Control characters, and invisible ones that change how a line is displayed; emoji need their joiner (U+200D).
_ODD = lazy("[\x00-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")


def conversation_problem(conversation: str) -> str:
    """Why this cannot be a conversation's id, in a few words; "" if it can."""
    if not conversation:
        return "is empty"
    if len(conversation) > LONGEST_CONVERSATION:
        return f"has {len(conversation):,} characters, and may have {LONGEST_CONVERSATION}"
    if _ODD.search(conversation) or conversation != conversation.strip():
        return "holds control or invisible characters, or begins or ends with a blank"
    return "begins with a colon" if conversation.startswith(":") else ""
