"""One text to ingest, from any client: validated, and without secrets in its names."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

from vaultmem.adapter import JsonObject, Piece, Value
from vaultmem.errors import UsageError
from vaultmem.light import NamedTuple
from vaultmem.memories.arguments import Arguments
from vaultmem.notes import blocks
from vaultmem.notes.blocks import MAX_TOKENS, MIN_TOKENS, count_tokens
from vaultmem.notes.places import KEYS, key_of
from vaultmem.plugins import language
from vaultmem.text import secrets
from vaultmem.text.sanitize import BEFORE, not_run
from vaultmem.text.times import seconds, stamp
from vaultmem.text.values import BLOCK_ID, EDITOR_LINE, lazy

_MOST_TAGS, _MOST_KEYS, _LONGEST, _MOST_LISTED = 50, 30, 200, 50
_TAG = re.compile(r"[^\s,#\[\]\"'\x00-\x1f\x7f]+")
_KEY = re.compile(r"[^\W\d][\w -]{0,49}")
_ONE_LINE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
_LATEST = 253_402_300_800  # seconds since the epoch: the year 10000
_DATES = ("created_at", "created", "date")
_DAY = re.compile(r"(?<!\d)(\d{4})[-_](\d{2})[-_](\d{2})(?!\d)")
_NOT_TAKEN = frozenset(  # stated elsewhere, or with their own meaning in vaultmem
    "title name tag alias cssclass cssclasses answered content_hash confidence".split()
)


class Item(NamedTuple):
    """One text as it was sent."""

    path: str
    text: str  # unchanged: it may hold secrets
    title: str
    about: Arguments
    properties: dict[str, Value]  # without tags
    date: str = ""  # when it was written, according to its properties or its name
    redacted: tuple[str, ...] = ()  # the kinds of secrets removed from title, tags and links


def item_of(params: Arguments, record: JsonObject) -> Item:
    """The text with its properties, without invalid ones. Raises UsageError when there is no text."""
    text = record.get("text")
    if not isinstance(text, str):
        raise UsageError('each of "items" must have a "text"')
    lines = _Lines()
    held = record.get("properties")
    held = held if isinstance(held, dict) else {}
    properties = lines.properties(held)
    about = {
        "source": params.needed("source"), "tags": lines.tags(record.get("tags")), "by": params.text("by") or None,
        "project": lines.line(properties.pop("project", "")), "type": lines.line(properties.pop("type", "")),
    }  # fmt: skip
    links: list[Value] = [
        f"[[{link}]]" for link in lines.names(record.get("links")) if "]]" not in link
    ]
    aliases: list[Value] = [*lines.names(record.get("aliases"))]
    path, title = _line(record.get("path"), 1_000), _line(record.get("title"))
    properties |= {"aliases": aliases, "source_path": path.text, "links": links}
    name = secrets.title_without_marks(title.text)
    kinds = (*lines.kinds, *secrets.kinds_in_either(title, path))
    return Item(
        path.text, text, name, Arguments(about), properties, _date(record, held, path.text), kinds
    )


def _date(record: JsonObject, properties: JsonObject, path: str) -> str:
    """The day or moment of a text, in ISO: from its properties, else its journal, else its file name, else its file's
    modification time."""
    named = _DAY.search(path.rpartition("/")[2])
    stated = [properties.get(key) for key in _DATES]
    for day in (*stated, record.get("day"), "-".join(named.groups()) if named else ""):
        if isinstance(day, str) and seconds(day) is not None:
            return day
    written = record.get("written")
    if isinstance(written, (int, float)) and 0 < written < _LATEST:
        return stamp(written)
    return ""


def _line(value: object, most: int = _LONGEST) -> secrets.Redacted:
    """One line without secrets, which are removed before it is cut."""
    result = secrets.redact_foreign(_ONE_LINE.sub(" ", str(value or "")).strip()[: 4 * most])
    return result._replace(text=result.text[:most])


class _Lines:
    """Reads short one-line texts, and collects the kinds of secrets removed from them."""

    def __init__(self) -> None:
        self.kinds: list[str] = []

    def line(self, value: object, most: int = _LONGEST) -> str:
        """The value as one line."""
        result = _line(value, most)
        self.kinds += result.kinds
        return result.text

    def listed(self, value: object) -> list[str]:
        """The lines of a list, without duplicates."""
        items = value if isinstance(value, (list, tuple)) else []
        result = (self.line(item) for item in items if isinstance(item, (str, int)))
        return [*dict.fromkeys(entry for entry in result if entry)][:_MOST_LISTED]

    def names(self, value: object) -> list[str]:
        """The names in a list; the mark of a removed secret is not a name."""
        names = map(secrets.title_without_marks, self.listed(value))
        return [*dict.fromkeys(name for name in names if name)]

    def tags(self, value: object) -> list[str]:
        """The valid tags in a list."""
        dashed = (name.replace(" ", "-") for name in self.names(value))
        return [tag for tag in dashed if _TAG.fullmatch(tag) and not tag.isdigit()][:_MOST_TAGS]

    def properties(self, held: JsonObject) -> dict[str, Value]:
        """Properties of another program's note that vaultmem does not use but the person may, such as `private` and
        `url`. Properties that vaultmem writes itself cannot be set."""
        result: dict[str, Value] = {}
        for key, value in held.items():
            field = key_of(key)
            if field in ("project", "type") and isinstance(value, str):
                result[field] = value
            elif field not in KEYS and field.lower() not in _NOT_TAKEN and _KEY.fullmatch(key):
                plain = self._value(key, value)
                if plain is not None and len(result) < _MOST_KEYS:
                    result[key] = plain
        return result

    def _value(self, key: str, value: object) -> Value:
        """A value that is one line, a number, true or false, or a list of lines; None for any other. The name of the
        property helps to detect secrets."""
        if isinstance(value, (bool, int, float)):
            return value
        if isinstance(value, list):
            return [*self.listed(value)] or None
        if not isinstance(value, str):
            return None
        plain = secrets.redact_property(key, self.line(value, 1_000))
        self.kinds += plain.kinds
        return plain.text or None


# Markup that only a note's editor understands; and lines of small talk.

_CODE = rf"(?P<code>{BEFORE}(?P<mark>`{{3,}}+|~{{3,}}+).*?^[ \t>]*(?P=mark)|`[^`\n]+`)"
_FLAGS = re.MULTILINE | re.DOTALL | re.IGNORECASE
_MARKUP = re.compile(
    rf"{_CODE}|%%(?:[^%]|%(?!%))*%%|{EDITOR_LINE}|\[(?P<label>[^\[\]\n]+)\]\(\(\({BLOCK_ID}\)\)\)"
    rf"|\{{\{{(?:query|renderer|embed[ \t]+\(\({BLOCK_ID}\)\))[^{{}}\n]*\}}\}}|\(\({BLOCK_ID}\)\)"
    r"|\#\+BEGIN_QUERY(?:(?!\#\+BEGIN_QUERY).)*?\#\+END_QUERY",
    _FLAGS,
)
_BULLET = re.compile(rf"{_CODE}|^[ \t]*[-*+][ \t]*\n", _FLAGS)
_SMALL_TALK = lazy(
    lambda: (
        rf"{_CODE}|^[^\w\n]*(?:(?>{language().table('notions')['small_talk']})(?![a-z0-9])[^\w\n]*)+(?:\n|\Z)"
    ),
    _FLAGS,
)


def without_editor_markup(text: str) -> str:
    """The text without comments, queries, outline state and block references, which only make sense in their own
    vault; code stays, and is displayed where an editor would run it."""
    result = _MARKUP.sub(lambda match: match["code"] or match["label"] or "", text)
    if result != text:
        result = _BULLET.sub(lambda match: match["code"] or "", result)
    return not_run(result)  # repeat, as removing markup may create more


def without_small_talk(text: str) -> str:
    """The text without lines of thanks, laughter and greetings; a text with only such lines is left unchanged."""
    result = _SMALL_TALK.sub(lambda match: match["code"] or "", text)
    return result if result.strip() else text


# Cuts a long text into memories: the "logic" seed, sections 1.2 and 1.3.

_GAP = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")
_HEADING = re.compile(r"[ ]{0,3}#{1,6}(?:[ \t]|\n|\Z)")
_FENCE = re.compile(r"[ ]{0,3}(`{3,}|~{3,})")


def clean(text: str) -> str:
    """The text in NFC, without outer blanks, with at most one empty line between paragraphs; markup stays."""
    text = unicodedata.normalize("NFC", text.replace("\r\n", "\n").replace("\r", "\n"))
    return "\n\n".join(_paragraphs(text.strip()))


def chunks(text: str) -> list[str]:
    """The parts of a cleaned text, in order, of 50 to 300 tokens where possible."""
    return join_short(pieces(text))


def pieces(text: str) -> list[str]:
    """The paragraphs of a cleaned text, in order; long ones are cut."""
    result: list[str] = []
    for paragraph in _paragraphs(text):
        result += [paragraph] if count_tokens(paragraph) <= MAX_TOKENS else _cut(paragraph)
    return result


def join_short(pieces: Iterable[str]) -> list[str]:
    """Join short pieces to the next if both fit together. A part that is long enough grows no further: it is one
    memory, not a page."""
    result: list[str] = []
    for piece in pieces:
        if result and _belong(result[-1], piece):
            result[-1] = f"{result[-1]}\n\n{piece}"
        else:
            result.append(piece)
    return result


def _paragraphs(text: str) -> list[str]:
    """The paragraphs between empty lines; fenced blocks keep their empty lines."""
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


def _cut(paragraph: str) -> Iterator[str]:
    """Cut a paragraph at sentence ends (code at line ends), and a sentence that is too long between words."""
    kind = "code" if _FENCE.match(paragraph) else "text"
    for piece in blocks.cut(Piece(paragraph, 1, 1, kind=kind)):
        yield piece.text if kind == "code" else piece.text.strip()


def _belong(one: str, other: str) -> bool:
    if _HEADING.match(other) and not is_heading(one):
        return False
    return count_tokens(one) < MIN_TOKENS and count_tokens(f"{one}\n\n{other}") <= MAX_TOKENS


def is_heading(piece: str) -> bool:
    """Whether a piece consists of headings only."""
    return all(_HEADING.match(line) for line in piece.split("\n") if line)
