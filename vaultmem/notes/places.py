"""Where in the memory folder what lies: categories, archive, conversations, what is written by us."""

from __future__ import annotations

import re
import unicodedata

from vaultmem.text import values
from vaultmem.text.values import TYPE_CHECKING, lazy

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeVar

    _V = TypeVar("_V")


CATEGORIES, INBOX, REMINDERS = values.CATEGORIES, values.INBOX, values.REMINDERS
ARCHIVE, ENTRIES, GENERATED = values.ARCHIVE, values.ENTRIES, values.GENERATED
EXPECTATIONS = GENERATED[3]
_EDITED = (EXPECTATIONS, GENERATED[-1])  # pages of which the person merges the copies
SYNC = values.SYNC  # the logs by which machines agree
RECORDS = values.RECORDS
# What a person's own notes keep their paths in, when they are put away.
ARCHIVED_NOTES = f"{ARCHIVE}/notes"


CHAT = "Chat"  # how the name of the page of a conversation begins
_TRANSCRIPT = lazy(rf"{CHAT} \d{{4}}-\d\d-\d\d .*\.md\Z", re.IGNORECASE)


def category_of(inner: str, value: object) -> str:
    """The category of the file at `inner`, its path in the memory folder, with that property. A person who moves
    it into the folder of a category means that; in the inbox, or in a folder of no category, its word counts."""
    folder = inner.partition("/")[0] if "/" in inner else ""
    category = value if isinstance(value, str) and value in CATEGORIES else ""
    if folder in CATEGORIES and folder != INBOX:
        return folder
    return category or INBOX


def in_conversation(path: str, folder: str) -> bool:
    """Whether the file at a path of the vault is an entry of a conversation: nobody's memory yet."""
    return path.startswith(f"{folder}/{ENTRIES}/")


def phase_of(category: str) -> str:
    """The phase of a memory in a category."""
    return "inbox" if category == INBOX else "organized"


def file_name(path: str) -> str:
    """The name of a note's file, by which links lead to it."""
    return path.rpartition("/")[2].removesuffix(".md")


def folded_name(path: str) -> str:
    """The same without its case and whatever ending: by it notes of one name are known."""
    name = path.rpartition("/")[2]
    return unicodedata.normalize("NFC", (name.rpartition(".")[0] or name).casefold())


def entry_parts(parts: list[str]) -> list[str]:
    """The path of an entry in the folder of its conversation, from that in the memory folder; earlier versions had
    their records where the page is."""
    return parts[3:] if parts[2:3] == [RECORDS] else parts[2:]


def page_path(folder: str, setting: str) -> str:
    """Where pending.md is, by the setting pending.path; "" for nowhere."""
    return "" if setting == "off" else setting or f"{folder}/{GENERATED[0]}"


def ours_as(path: str, folder: str, page: str = "") -> str:
    """What the index takes a note for: what is generated from the index ("") must not come back into it, such as the
    page of pending items, and what was put away is a "file", which can be linked to and is not found."""
    if path == page:
        return ""
    if not path.startswith(folder + "/"):
        return "" if f"/{RECORDS}/" in path else "note"
    inner = path[len(folder) + 1 :]
    parts = inner.split("/")
    if is_our_page(inner):
        return "file" if _is_transcript(inner) else ""
    away = parts[0] == ARCHIVE or (parts[0] == ENTRIES and entry_parts(parts)[:1] == ["deleted"])
    return "file" if away else "note"


def is_our_page(inner: str) -> bool:
    """Whether what is at a path in the memory folder is a page of ours, in our own spelling, and no memory."""
    return inner in GENERATED or inner.startswith(f"{SYNC}/") or _is_transcript(inner)


def _is_copy(inner: str) -> bool:
    """Whether a sync program made it of a page of ours that takes in what its copies say."""
    original = _conflict_original(inner)
    return original in GENERATED and original not in _EDITED


def _conflict_original(inner: str) -> str | None:
    from vaultmem.vault.conflicts import conflict_original  # who searches does without

    return conflict_original(inner)


def is_recorded(inner: str) -> bool:
    """Whether the history keeps it: memories and expectations, no page that is made of others, no copy of one, wherever
    it was put, and no view."""
    is_made = is_our_page(inner) or _is_copy(inner.removeprefix(f"{ARCHIVE}/"))
    return inner == EXPECTATIONS or not (is_made or is_view(inner))


def _is_transcript(inner: str) -> bool:
    """Whether it is the page of a conversation, which is made of its entries."""
    parts = inner.split("/")
    return len(parts) == 3 and parts[0] == ENTRIES and bool(_TRANSCRIPT.match(parts[2]))


def is_view(inner: str) -> bool:
    """Whether it is a view of memories that an editor keeps there: it is the person's, and tells of no memory."""
    return "/" not in inner and inner.endswith(".base")


# Which places in the memory folder no memory may have, however they are spelled: a disk may not tell cases apart.

UNREAD = "node_modules"  # what editors do not look into
_GENERATED = {name.casefold() for name in GENERATED}
_FOLDERS = {*CATEGORIES, ARCHIVE, ENTRIES, SYNC}
# What Windows takes for a device, whatever stands behind it.
_DEVICE = lazy(
    r"(?:con|prn|aux|nul|(?:com|lpt)[0-9¹²³]|con(?:in|out)\$)(?= *(?:\.|\Z))", re.IGNORECASE
)


def is_generated(inner: str) -> bool:
    """Whether it is a page that vaultmem writes, or what a sync program calls a copy of one: these are read for
    answers, and only a person gives them."""
    if is_in(inner, SYNC):
        return True
    return _fold(inner) in _GENERATED or _fold(_conflict_original(inner) or "") in _GENERATED


def is_reserved(inner: str) -> bool:
    """Whether nobody's memories lie there: pages of vaultmem, conversations, notes that were put away, and what is
    hidden from editors."""
    parts = _fold(inner).split("/")
    if UNREAD in parts or any(part.startswith(".") for part in parts):
        return True
    return is_generated(inner) or _is_below(parts, ENTRIES) or _is_below(parts, ARCHIVED_NOTES)


def is_in(inner: str, folder: str) -> bool:
    """Whether it lies in a folder of the memory folder, or is that folder."""
    return _is_below(_fold(inner).split("/"), folder)


def portable(inner: str) -> str:
    """The place as any system can have it: no blanks and dots at the ends of names, no devices and colons of Windows,
    and the folders of ours in the letters in which we write them."""
    parts = [_category_in(part) for part in inner.split("/")]
    if len(parts) > 1 and _fold(parts[0]) in _FOLDERS:
        parts[0] = _fold(parts[0])
    return "/".join(parts)


def _category_in(part: str) -> str:
    part = part.rstrip(" .").replace(":", "-")
    return _DEVICE.sub(lambda name: f"{name[0]} memory", part, count=1) if _DEVICE.match(part) else part  # fmt: skip


def _fold(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()


def _is_below(parts: list[str], folder: str) -> bool:
    wanted = folder.split("/")
    return parts[: len(wanted)] == wanted


# The properties of memories: what they are called.

# In this order they are written: what a person reads, and what a program alone needs, which is one line (compact_line).
LINE = "vaultmem"
COMPACT = (
    "id", "phase", "memory_type", "decay_policy", "importance", "conversation_id", "session_id", "role", "summary_kind",
    "replaced_by", "compressed", "compression_source", "source_session_id", "summary_level", "input_tokens",
    "output_tokens", "compression", "covers_until", "covers", "made_by", "drawn_from", "content_hash", "evicted",
    "source_hash", "access_count", "created_at", "updated_at", "last_reinforced_at", "version",
)  # fmt: skip
KEYS = (
    "category", "scope", "tags", "aliases", *values.TEXT_PROPERTIES, "global", "links",
    "due", "remind", "repeat", "expires_at", "until", "source_path", "deleted_at", "by", *COMPACT, LINE,
)  # fmt: skip


def key_of(written: str) -> str:
    """Our spelling of a key that Logseq or a person spelled with dashes or capitals."""
    folded = written.strip().lower().replace("-", "_").replace(" ", "_")
    return folded if folded in KEYS else written


def named(properties: Mapping[str, _V]) -> dict[str, _V]:
    """Properties by our spelling of their keys."""
    return {key_of(key): value for key, value in properties.items()}
