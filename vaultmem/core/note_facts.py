"""Facts about a note that follow from what was read: its day, its category, the text to embed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from vaultmem.adapter import Piece
from vaultmem.core.blocks import Block
from vaultmem.core.places import CATEGORIES, category_of

_DATE_KEYS = (
    "date",
    "day",
    "created",
    "created_at",
    "created-at",
    "date created",
    "创建时间",
    "日期",
)
_DUE_KEYS = frozenset(("due", "deadline", "remind", "scheduled", "date"))
_LONGEST_OPENING = 500
_LIST_MARK = re.compile(r"(?:[-*+]|\d{1,9}[.)])\s+(?:\[.\]\s+)?")
_ISO_DAY = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?!\d)")
_NAME_DAY = re.compile(r"(?<!\d)(\d{4})[-_.]?(0[1-9]|1[0-2])[-_.]?(0[1-9]|[12]\d|3[01])(?!\d)")


def note_day(path: str, properties: Mapping[str, object], journal: str | None) -> str | None:
    """The ISO day a note speaks of: its journal day, else a date property, else a date in its name."""
    if journal:
        return journal
    folded = {key.lower(): value for key, value in properties.items()}
    for key in _DATE_KEYS:
        value = folded.get(key)
        if isinstance(value, str) and (match := _ISO_DAY.match(value.strip())):
            return match[0]
    match = _NAME_DAY.search(path.rpartition("/")[2])
    if match and "1900" <= match[1] <= "2199":
        return "-".join(match.groups())
    return None


def category(path: str, properties: Mapping[str, object], memory_folder: str) -> str | None:
    """The category of a memory (see places.category_of), or the `category` property of any other note."""
    given = properties.get("category")
    if path.startswith(memory_folder + "/"):
        inner = path[len(memory_folder) + 1 :]
        if "id" in properties or inner.partition("/")[0] in CATEGORIES:
            return category_of(inner, given)
    return given if isinstance(given, str) and given else None


def embedded_text(title: str, block: Block) -> str:
    """What is embedded of a block: title and heading path first, then who speaks, then the text."""
    place = " > ".join((title, *block.headings))
    return f"{place}\n{block.text}"


def names_times(properties: Mapping[str, object]) -> bool:
    """Whether properties of a note may say that it is due."""
    return any(key.lower() in _DUE_KEYS for key in properties)


def opening(pieces: Iterable[Piece]) -> str:
    """The first line of a note that says something, for its reader: without the mark of a list."""
    for piece in pieces:
        if piece.kind in ("text", "list"):
            line = piece.text.strip().partition("\n")[0][:_LONGEST_OPENING]
            if words := _LIST_MARK.sub("", line, count=1).strip():
                return words
    return ""
