"""One text as it was handed over to be taken in, by whomever: read with care, and without the secrets in its names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from vaultmem.adapter import Value
from vaultmem.core import secrets
from vaultmem.core.keys import KEYS, key_of
from vaultmem.core.secrets import Redacted
from vaultmem.core.stamps import seconds, stamp
from vaultmem.errors import UsageError
from vaultmem.memories.asked import Asked

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
