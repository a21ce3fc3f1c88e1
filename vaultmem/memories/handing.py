"""What a source has found, ready to be handed on: without its secrets, in parts and batches that are small enough."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from vaultmem.adapter import Value
from vaultmem.core import secrets
from vaultmem.sources import Found

_MOST_ITEMS = 200  # of a batch: what a kill can undo of the work
_MOST_JSON = 500_000  # characters of a batch; the agent takes no line of a megabyte
_LONGEST = 60_000  # characters of an item: in JSON each may become six
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
    while len(text) - at > _LONGEST:
        gap = text.rfind("\n\n", at + _LONGEST // 2, at + _LONGEST)
        end = gap if gap > 0 else at + _LONGEST
        yield text[at:end]
        at = end
    yield text[at:]
