"""Which places in the memory folder no memory may have, however they are spelled: a disk may not tell cases apart."""

from __future__ import annotations

import re
import unicodedata

from vaultmem.core.conflicts import conflict_original
from vaultmem.core.places import ARCHIVE, ARCHIVED_NOTES, CATEGORIES, ENTRIES, GENERATED

UNREAD = "node_modules"  # what editors do not look into
_GENERATED = {name.casefold() for name in GENERATED}
_FOLDERS = {*CATEGORIES, ARCHIVE, ENTRIES}
# What Windows takes for a device, whatever stands behind it.
_DEVICE = re.compile(
    r"(?:con|prn|aux|nul|(?:com|lpt)[0-9¹²³]|con(?:in|out)\$)(?= *(?:\.|\Z))", re.IGNORECASE
)


def is_generated(inner: str) -> bool:
    """Whether it is a page that vaultmem writes, or what a sync program calls a copy of one: these are read for
    answers, and only a person gives them."""
    return _folded(inner) in _GENERATED or _folded(conflict_original(inner) or "") in _GENERATED


def is_kept_free(inner: str) -> bool:
    """Whether nobody's memories lie there: pages of vaultmem, conversations, notes that were put away, and what is
    hidden from editors."""
    parts = _folded(inner).split("/")
    if UNREAD in parts or any(part.startswith(".") for part in parts):
        return True
    return is_generated(inner) or _is_below(parts, ENTRIES) or _is_below(parts, ARCHIVED_NOTES)


def is_in(inner: str, folder: str) -> bool:
    """Whether it lies in a folder of the memory folder, or is that folder."""
    return _is_below(_folded(inner).split("/"), folder)


def portable(inner: str) -> str:
    """The place as any system can have it: no blanks and dots at the ends of names, no devices and colons of Windows,
    and the folders of ours in the letters in which we write them."""
    parts = [_named(part) for part in inner.split("/")]
    if len(parts) > 1 and _folded(parts[0]) in _FOLDERS:
        parts[0] = _folded(parts[0])
    return "/".join(parts)


def _named(part: str) -> str:
    part = part.rstrip(" .").replace(":", "-")
    return _DEVICE.sub(lambda name: f"{name[0]} memory", part, count=1) if _DEVICE.match(part) else part  # fmt: skip


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()


def _is_below(parts: list[str], folder: str) -> bool:
    wanted = folder.split("/")
    return parts[: len(wanted)] == wanted
