"""One text as it was handed over to be taken in, by whomever: read with care, and without the secrets in its names."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from vaultmem.adapter import Value
from vaultmem.errors import UsageError
from vaultmem.exchange.sources import Found
from vaultmem.memories.asked import Asked
from vaultmem.text import secrets
from vaultmem.text.secrets import Redacted
from vaultmem.text.times import seconds, stamp
from vaultmem.vault.places import KEYS, key_of

_MOST_TAGS, _MOST_KEYS, _LONGEST, _MOST_LISTED = 50, 30, 200, 50
_TAG = re.compile(r"[^\s,#\[\]\"'\x00-\x1f\x7f]+")
_KEY = re.compile(r"[^\W\d][\w -]{0,49}")
_ONE_LINE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
_LATEST = 253_402_300_800  # seconds since the epoch: the year 10000
_DATES = ("created_at", "created", "date")
_DAY = re.compile(r"(?<!\d)(\d{4})[-_](\d{2})[-_](\d{2})(?!\d)")
_NOT_TAKEN = frozenset(  # said elsewhere, or read by vaultmem in its own way
    (
        "title",
        "name",
        "tag",
        "alias",
        "cssclass",
        "cssclasses",
        "answered",
        "content_hash",
        "confidence",
    )
)


class Item(NamedTuple):
    """One text as it was handed over."""

    path: str
    text: str  # as it is: it may hold secrets
    title: str
    about: Asked
    properties: dict[str, Value]  # without tags
    date: str = ""  # when it was written, as far as its properties or its name say
    redacted: tuple[str, ...] = ()  # what was taken out of all that names the text


def item_of(asked: Asked, given: Mapping[str, object]) -> Item:
    """The text with what is said about it; what is odd there is left out. Raises UsageError when there is no text."""
    text = given.get("text")
    if not isinstance(text, str):
        raise UsageError('each of "items" must have a "text"')
    line = _Lines()
    held = given.get("properties")
    properties = line.properties(held) if isinstance(held, dict) else {}
    about = {
        "source": asked.needed("source"), "tags": line.tags(given.get("tags")), "by": asked.text("by") or None,
        "project": line.of(properties.pop("project", "")), "type": line.of(properties.pop("type", "")),
    }  # fmt: skip
    links: list[Value] = [
        f"[[{each}]]" for each in line.names(given.get("links")) if "]]" not in each
    ]
    aliases: list[Value] = [*line.names(given.get("aliases"))]
    path, title = _line(given.get("path"), 1_000), _line(given.get("title"))
    properties |= {"aliases": aliases, "source_path": path.text, "links": links}
    name = secrets.title_without_marks(title.text)
    kinds = (*line.kinds, *secrets.in_either(title, path))
    date = _date(given, held if isinstance(held, dict) else {}, path.text)
    return Item(path.text, text, name, Asked(about), properties, date, kinds)


def _date(given: Mapping[str, object], properties: Mapping[str, object], path: str) -> str:
    """The day or moment of a text, in ISO: from its properties, else that of a journal, else from the name of its file,
    else when its file was written last."""
    for key in _DATES:
        stated = properties.get(key)
        if isinstance(stated, str) and seconds(stated) is not None:
            return stated
    named = _DAY.search(path.rpartition("/")[2])
    for day in (given.get("day"), "-".join(named.groups()) if named else ""):
        if isinstance(day, str) and seconds(day) is not None:
            return day
    written = given.get("written")
    if isinstance(written, (int, float)) and 0 < written < _LATEST:
        return stamp(written)
    return ""


def _line(given: object, most: int = _LONGEST) -> Redacted:
    """One line without secrets: they are looked for before it is cut."""
    found = secrets.redacted(_ONE_LINE.sub(" ", str(given or "")).strip()[: 4 * most])
    return found._replace(text=found.text[:most])


class _Lines:
    """Short texts of one line; counts what is taken out of them."""

    def __init__(self) -> None:
        self.kinds: list[str] = []

    def of(self, given: object, most: int = _LONGEST) -> str:
        """One of them."""
        found = _line(given, most)
        self.kinds += found.kinds
        return found.text

    def all_of(self, given: object) -> list[str]:
        """Each of a list once."""
        listed = given if isinstance(given, (list, tuple)) else []
        found = (self.of(each) for each in listed if isinstance(each, (str, int)))
        return [*dict.fromkeys(each for each in found if each)][:_MOST_LISTED]

    def names(self, given: object) -> list[str]:
        """The same, of names: a mark is none."""
        kept = map(secrets.title_without_marks, self.all_of(given))
        return [*dict.fromkeys(each for each in kept if each)]

    def tags(self, given: object) -> list[str]:
        """Those that can be tags."""
        dashed = (each.replace(" ", "-") for each in self.names(given))
        return [tag for tag in dashed if _TAG.fullmatch(tag) and not tag.isdigit()][:_MOST_TAGS]

    def properties(self, given: Mapping[str, object]) -> dict[str, Value]:
        """Properties of another program's note that say nothing to vaultmem but may to the person; `private` and `url`
        are among them. What vaultmem writes itself nobody else may set."""
        found: dict[str, Value] = {}
        for key, value in given.items():
            own = key_of(key)
            if own in ("project", "type") and isinstance(value, str):
                found[own] = value
            elif own not in KEYS and own.lower() not in _NOT_TAKEN and _KEY.fullmatch(key):
                plain = self.value(key, value)
                if plain is not None and len(found) < _MOST_KEYS:
                    found[key] = plain
        return found

    def value(self, key: str, given: object) -> Value:
        """A value that is one line, a number, true or false, or a list of lines; None for what is not. A secret is
        looked for behind the name of the property."""
        if isinstance(given, (bool, int, float)):
            return given
        if isinstance(given, list):
            return [*self.all_of(given)] or None
        if not isinstance(given, str):
            return None
        line = self.of(given, 1_000)
        kept = secrets.behind(key, line)
        self.kinds += kept.kinds
        return kept.text or None


# What a source has found, ready to be handed on: without its secrets, in parts and batches that are small enough.

_MOST_ITEMS = 200  # of a batch: what a kill can undo of the work
_MOST_JSON = 500_000  # characters of a batch; the agent takes no line of a megabyte
_LONGEST_HANDING = 60_000  # characters of an item: in JSON each may become six
_MOST_OF_PROPERTIES = 20_000  # characters
_NAMES = frozenset("title name tag tags alias aliases links".split())  # said beside the properties


class Piece(NamedTuple):
    """What is handed on of one text: all of it, or one of several parts that are small enough."""

    found: Found  # without secrets, but for its text and its path, which the report tells
    path: str
    text: str
    redacted: tuple[str, ...]

    def handed(self) -> dict[str, object]:
        """As the verb wants it."""
        found = self.found
        return {
            "path": self.path, "text": self.text, "title": found.title, "tags": list(found.tags),
            "aliases": list(found.aliases), "links": list(found.links), "properties": dict(found.properties),
            "day": found.day, "written": found.written,
        }  # fmt: skip


def pieces(found: Found) -> Iterator[Piece]:
    """A text as it can be handed on. What was taken out, of it and of all that names it, is said of the first part."""
    kinds: list[str] = []
    named = found._replace(
        tags=_clean(found.tags, kinds), aliases=_clean(found.aliases, kinds), links=_clean(found.links, kinds),
        properties=_properties(found, kinds),
    )  # fmt: skip
    path, title, text = map(secrets.redacted, (found.path, found.title, found.text))
    kinds += secrets.in_either(title, path)
    named, redacted = named._replace(title=title.text), (*text.kinds, *kinds)
    for part in _cut(text.text):
        yield Piece(named, path.text, part, redacted)
        named, redacted = named._replace(title="", aliases=(), links=()), ()


def batches(pieces: Iterator[Piece]) -> Iterator[list[Piece]]:
    """As many, one behind the other, as may be handed on at once."""
    batch: list[Piece] = []
    size = 0
    for piece in pieces:
        more = len(json.dumps(piece.handed()))
        if batch and (size + more > _MOST_JSON or len(batch) >= _MOST_ITEMS):
            yield batch
            batch, size = [], 0
        batch.append(piece)
        size += more
    if batch:
        yield batch


def _clean(given: Iterable[str], kinds: list[str]) -> tuple[str, ...]:
    found = [secrets.redacted(each) for each in given]
    kinds += (kind for each in found for kind in each.kinds)
    return tuple(each.text for each in found)


def _properties(found: Found, kinds: list[str]) -> dict[str, Value]:
    """No more of them than a note should have. A secret is looked for behind the name of its property."""
    kept: dict[str, Value] = {}
    size = 0
    for key, value in found.properties.items():
        size += len(key) + len(str(value))
        if size < _MOST_OF_PROPERTIES and key.lower() not in _NAMES:
            kept[key] = _value(key, value, kinds)
    return kept


def _value(key: str, value: Value, kinds: list[str]) -> Value:
    if isinstance(value, list):
        return [_value(key, each, kinds) for each in value]
    if not isinstance(value, str):
        return value
    clean = secrets.behind(key, value)
    kinds += clean.kinds
    return clean.text


def _cut(text: str) -> Iterator[str]:
    """A text in parts that can be handed on, at its paragraphs where that can be."""
    at = 0
    while len(text) - at > _LONGEST_HANDING:
        gap = text.rfind("\n\n", at + _LONGEST_HANDING // 2, at + _LONGEST_HANDING)
        end = gap if gap > 0 else at + _LONGEST_HANDING
        yield text[at:end]
        at = end
    yield text[at:]


# What stands in a note for its editor alone, and says nothing where there is no such editor.

_CODE = re.compile(
    r"^[ \t]*(?P<mark>`{3,}|~{3,}).*?^[ \t]*(?P=mark)|`[^`\n]+`", re.MULTILINE | re.DOTALL
)
_UUID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_LINE = r"^[ \t]*(?:[-*][ \t]+)?(?:collapsed|id|heading|background-color|logseq\.[\w.-]+)::[^\n]*(?:\n|\Z)"
_MACHINERY = re.compile(
    rf"%%(?:[^%]|%(?!%))*%%|{_LINE}|\[(?P<label>[^\]\n]+)\]\(\(\({_UUID}\)\)\)"
    rf"|\{{\{{(?:query|renderer|embed[ \t]+\(\({_UUID}\)\))[^{{}}\n]*\}}\}}|\(\({_UUID}\)\)",
    re.MULTILINE,
)  # fmt: skip
_BULLET = re.compile(r"^[ \t]*[-*+][ \t]*\n", re.MULTILINE)


def without_machinery(text: str) -> str:
    """The text without comments, queries, the state of outlines and references to blocks, which only their own vault
    has; code stays as it is."""
    parts, at = [], 0
    for code in _CODE.finditer(text):
        parts += [_cleaned(text[at : code.start()]), code[0]]
        at = code.end()
    return "".join([*parts, _cleaned(text[at:])])


def _cleaned(text: str) -> str:
    found = _MACHINERY.sub(lambda match: match["label"] or "", text)
    return text if found == text else _BULLET.sub("", f"{found}")
