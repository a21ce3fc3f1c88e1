"""Characters as people see them: a letter with its accents, a family of emoji, a flag."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

JOINER = "\u200d"
_FLAGS = range(0x1F1E6, 0x1F200)
_SKINS = range(0x1F3FB, 0x1F400)
_LATE_JAMO = range(
    0x1160, 0x1200
)  # vowels and finals, which stand in the square of the letter before
_WIDE = ("W", "F")


def graphemes(text: str) -> Iterator[str]:
    """The text in pieces that must not be parted: near enough to Unicode's UAX 29 to cut a title."""
    if text.isascii():
        yield from text
        return
    start = 0
    flags = 0  # of those at the end of the piece
    for at in range(1, len(text)):
        flags = flags + 1 if ord(text[at - 1]) in _FLAGS else 0
        if not _belongs(text, at, flags):
            yield text[start:at]
            start = at
    yield text[start:]


def _belongs(text: str, at: int, flags: int) -> bool:
    """Whether the character at a place belongs to the piece before it."""
    here, before = text[at], text[at - 1]
    if here.isascii():
        return False
    code = ord(here)
    if here == JOINER or code in _SKINS or unicodedata.category(here)[0] == "M":
        return True
    if before == JOINER:
        return unicodedata.category(here) in {"So", "Sm"}
    return (code in _FLAGS and flags % 2 == 1) or code in _LATE_JAMO


def columns(piece: str) -> int:
    """How wide a piece is shown: 2 for Chinese, Japanese, Korean and emoji, else 1."""
    return 2 if unicodedata.east_asian_width(piece[0]) in _WIDE else 1
