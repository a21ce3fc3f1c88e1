"""The bytes of a page of pending items as text, whatever was done to them, and back."""

from __future__ import annotations

import codecs
import re

from vaultmem.core import pending_lines
from vaultmem.core.pending_merge import read
from vaultmem.store import vault

_HEAD = 8_192  # characters in which the mark is looked for
_ID = re.compile(r"\^vm-|vm-id::", re.IGNORECASE)
_FENCE = re.compile(r" {0,3}(?:```|~~~)")
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)


def as_text(data: bytes) -> tuple[str, bool]:
    """The text, and whether all of the bytes can be had back from it; a wrong letter stays what it was."""
    if data.startswith(_WIDE):
        return vault.decode(data)[0].replace("\0", "").replace("\ufffd", ""), False
    text = data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape")
    plain = text.replace("\0", "")
    return plain, plain == text or is_blank(plain)


def as_bytes(text: str) -> bytes:
    """The bytes of a text that as_text() has given."""
    return text.encode("utf-8", "surrogateescape")


def is_blank(text: str) -> bool:
    """Whether nothing is there, as sync programs and power cuts leave it."""
    return not text.strip("\ufeff\0 \t\r\n")


def _is_marked(head: str) -> bool:
    """Whether the mark is a line of the page, and not an example of one in a note that tells of such pages."""
    fence = False
    for line in pending_lines.lines_of(head):
        if _FENCE.match(line):
            fence = not fence
        elif not fence and pending_lines.is_mark(line):
            return True
    return False


def is_ours(text: str, style: str) -> bool:
    """Whether it is a page of ours, even a damaged one, and not a note that a person has given its name."""
    if is_blank(text) or _is_marked(text[:_HEAD]):
        return True
    if not _ID.search(text):
        return False
    lines = pending_lines.lines_of(text)
    return any(map(pending_lines.is_ours, lines)) and any(one.id for one in read(text, style).found)
