"""Tags in the text and in properties, and aliases."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from vaultmem.adapter.scan import blanks

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from vaultmem.adapter import Value

# R-TAG-1. The "#" stands first so that the search can jump from one to the next.
_TAG = re.compile(r"#(?<!\S#)([^\s'\"!#$%&()*+,.:;<=>?@^`{|}~\[\]\\\u2000-\u206f\u2e00-\u2e7f]+)")
_HTML = re.compile(r"</?[A-Za-z][^<>\n]*+>")
_SEPARATORS = re.compile(r"[,，\s]+")


def find_tags(plain: str, body: int, links: list[tuple[int, int]]) -> list[str]:
    """The tags of the body as written; `plain` has no code, `links` are the spans of all links."""
    if plain.find("#", body) < 0:
        return []
    if "<" in plain:
        plain = _HTML.sub(lambda html: blanks(html[0]), plain)
    found = []
    begins = [begin for begin, _ in links]
    for match in _TAG.finditer(plain, body):
        before = bisect_right(begins, match.start()) - 1
        if before >= 0 and match.start() < links[before][1]:
            continue
        if tag := _valid(match[1]):
            found.append(tag)
    return found


def merged(tags: Iterable[str]) -> tuple[str, ...]:
    """Each tag once, without case, in its first spelling."""
    first: dict[str, str] = {}
    for tag in tags:
        first.setdefault(tag.lower(), tag)
    return tuple(first.values())


def property_tags(properties: Mapping[str, Value]) -> list[str]:
    """The tags in `tags` or `tag`: a list, or text with commas or blanks (R-TAG-4)."""
    found: list[str] = []
    for value in _values(properties, ("tags", "tag")):
        words = _SEPARATORS.split(value) if isinstance(value, str) else _texts(value)
        found += [tag for word in words if (tag := _valid(word.strip().removeprefix("#")))]
    return found


def property_aliases(properties: Mapping[str, Value]) -> tuple[str, ...]:
    """The names in `aliases` or `alias`: a list, or text with commas (R-ALIAS-2)."""
    found: list[str] = []
    for value in _values(properties, ("aliases", "alias")):
        names = value.split(",") if isinstance(value, str) else _texts(value)
        found += [name.strip() for name in names]
    return tuple(dict.fromkeys(name for name in found if name))


def _values(properties: Mapping[str, Value], keys: tuple[str, ...]) -> list[Value]:
    return [value for key, value in properties.items() if str(key).strip().lower() in keys]


def _texts(value: Value) -> list[str]:
    """The texts in a value, however nested: unquoted [[A]] is a list in a list in YAML."""
    if isinstance(value, list):
        return [text for item in value for text in _texts(item)]
    if isinstance(value, bool):
        return [str(value).lower()]
    return [str(value)] if isinstance(value, str | int | float) else []


def _valid(tag: str) -> str:
    """The tag without a trailing slash, or "" when it is only digits."""
    tag = tag.rstrip("/")
    return "" if tag.isascii() and tag.isdigit() else tag
