"""The lines of a page of pending items as editors and people leave them: which are ours, what a box says."""

from __future__ import annotations

import re
from typing import NamedTuple

from vaultmem.core.pending_page import HEADINGS, MORE, NOTES, NOTHING, OLDER_MORE, TITLE

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_BULLET = re.compile(r"[ \t>]*(?:[-*+•]|\d{1,9}[.)])(?:[ \t]+|$|(?=\\?\[))")
_BOX = re.compile(r"\\?\[[ \t]*([^\]\[\s]?)[ \t]*\\?\](?=[ \t]|$)")
_MARKER = re.compile(r"([A-Z][A-Z-]+)(?=[ \t]|$)")
_ID = re.compile(r"(?<!\S)\\?\^(vm-[a-z2-7]{6,})(?![\w-])", re.IGNORECASE)
_ID_PROPERTY = re.compile(r"[ \t]*vm-id::[ \t]*(vm-[a-z2-7]{6,})[ \t]*", re.IGNORECASE)
_DEADLINE = re.compile(r"[ \t]*(?:DEADLINE|SCHEDULED):[ \t]*<(\d{4}-\d\d-\d\d)[^<>]*>[ \t]*")
_OF_BLOCK = re.compile(
    r"[ \t]*(?:id:: *[0-9a-f-]{36}|collapsed:: *\w+|:LOGBOOK:|CLOCK:.*|:END:)[ \t]*", re.IGNORECASE
)
_HEADING = re.compile(r"[ \t]*(?:[-*+][ \t]+)?#{1,6}[ \t]+")
_MORE = re.compile(
    rf"[ \t]*(?:[-*+][ \t]+)?\\?\+\d+ (?:{re.escape(MORE)}|{re.escape(OLDER_MORE)})[ \t]*"
)
_NOTHING = re.compile(rf"[ \t]*(?:[-*+][ \t]+)?{re.escape(NOTHING)}[ \t]*")
_MARK = re.compile(r"[ \t]*generated::?[ \t]*[\"']?vaultmem[\"']?[ \t]*", re.IGNORECASE)
_CONFLICT = re.compile(r"(?:<{7}|={7}|>{7}|\|{7})(?: .*)?")
_OURS = frozenset(heading.casefold() for heading in HEADINGS.values())
_STATES = {
    **dict.fromkeys(["x", "X", "✓", "✔", "☑", "✅", "DONE"], "done"),
    **dict.fromkeys(["-", "CANCELED", "CANCELLED"], "dropped"),
    **dict.fromkeys([">", "LATER"], "snoozed"),
    **dict.fromkeys(["TODO", "DOING", "NOW", "WAITING", "WAIT", "IN-PROGRESS", "STARTED"], "open"),
}


class Found(NamedTuple):
    """An item as the page has it."""

    id: str  # "" when the line has lost it
    state: str  # open, done, dropped or snoozed
    words: str  # behind the box
    day: str  # of an outline's DEADLINE, or ""


class Piece(NamedTuple):
    """An item with the lines that belong to it: its own, and those of others between them."""

    found: Found
    others: list[str]
    end: int  # the number of the line after it


def lines_of(text: str) -> list[str]:
    """The lines, each with its end, whatever system wrote it."""
    return _LINE.findall(text)


def bare(line: str) -> str:
    """A line without its end, and without what a wrong encoding has put between its letters."""
    return line.rstrip("\r\n").replace("\0", "").replace("\ufeff", "").replace("\xa0", " ")


def heading(line: str) -> str:
    """The words of a heading, lower case; "" for any other line."""
    shown = bare(line)
    mark = _HEADING.match(shown)
    return shown[mark.end() :].rstrip("# \t").casefold() if mark else ""


def is_notes(line: str) -> bool:
    """Whether the part of a person begins here."""
    return heading(line) == NOTES.casefold()


def is_section(line: str) -> bool:
    """Whether this is the heading of one of our sections."""
    return heading(line) in _OURS


def is_conflict(line: str) -> bool:
    """Whether a merge has left this line."""
    return bool(_CONFLICT.fullmatch(bare(line)))


def is_mark(line: str) -> bool:
    """Whether the line says who writes the page; linters quote such words."""
    return bool(_MARK.fullmatch(bare(line)))


def is_ours(line: str) -> bool:
    """Whether the line is one that we write on every page, and that says nothing."""
    shown = bare(line)
    plain = shown.strip(" \t-*+")
    if heading(line) == TITLE.casefold() or is_section(line) or is_mark(plain):
        return True
    return any(form.fullmatch(shown) for form in (_MORE, _NOTHING, _ID_PROPERTY))


def piece(lines: list[str], at: int) -> Piece | None:
    """The item that begins at a line: one with an id, or one with a box that has lost it. None for any other."""
    shown = bare(lines[at])
    bullet = _BULLET.match(shown)
    if not bullet:
        return None
    state, words = _state(shown[bullet.end() :])
    own = _ID.search(shown)
    end, identity, day = (at + 1, own[1], "") if own else _block_end(lines, at + 1)
    if not identity and state is None:
        return None
    if not identity:
        return Piece(Found("", state or "open", words, ""), [], at + 1)
    others = [line for line in lines[at + 1 : end] if not _belongs(bare(line))]
    return Piece(
        Found(identity.lower(), state or "open", _ID.sub("", words).strip(), day), others, end
    )


def _state(words: str) -> tuple[str | None, str]:
    """What a box or a marker says, and the words behind it; None where there is neither."""
    words = words.lstrip("> \t") if not words.startswith(">]") else words
    box = _BOX.match(words)
    if box:
        return _STATES.get(box[1], "open"), words[box.end() :].strip()
    marker = _MARKER.match(words)
    if marker and marker[1] in _STATES:
        return _STATES[marker[1]], words[marker.end() :].strip()
    return None, words.strip()


def _block_end(lines: list[str], start: int) -> tuple[int, str, str]:
    """Where the block of an outline ends that begins above, its id and its day."""
    identity = day = ""
    last = start
    for at in range(start, len(lines)):
        shown = bare(lines[at])
        if not shown.strip() or _BULLET.match(shown) or _HEADING.match(shown):
            break
        named, dated = _ID_PROPERTY.fullmatch(shown), _DEADLINE.fullmatch(shown)
        if named and identity:
            break
        identity = named[1] if named else identity
        day = dated[1] if dated else day
        last = at + 1 if _belongs(shown) else last
    return last, identity, day


def _belongs(shown: str) -> bool:
    """Whether a line below an item is part of it, and not a remark of a person."""
    return any(form.fullmatch(shown) for form in (_ID_PROPERTY, _DEADLINE, _OF_BLOCK))
