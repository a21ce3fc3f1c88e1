"""The layout of the memory folder: categories, archive, conversations, generated pages; links that open a note."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from vaultmem.text import values
from vaultmem.text.values import TYPE_CHECKING, lazy

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeVar

    _V = TypeVar("_V")


CATEGORIES, INBOX, REMINDERS = values.CATEGORIES, values.INBOX, values.REMINDERS
ARCHIVE, ENTRIES, GENERATED = values.ARCHIVE, values.ENTRIES, values.GENERATED
EXPECTATIONS = GENERATED[2]
_EDITED = (EXPECTATIONS, GENERATED[-1])  # pages whose conflict copies the person merges
SYNC = values.SYNC  # the sync logs of machines
RECORDS = values.RECORDS
# Archived notes of the person's own, under their former paths.
ARCHIVED_NOTES = f"{ARCHIVE}/notes"
OUTLINE = "outline"  # the page style of Logseq (vaultmem.adapter.Rules.page_style); anything else is an Obsidian note


CHAT = "Chat"  # prefix of the names of conversation pages
_TRANSCRIPT = lazy(rf"{CHAT} \d{{4}}-\d\d-\d\d .*\.md\Z", re.IGNORECASE)


def category_of(inner: str, value: object) -> str:
    """The category of the file at `inner`, a path in the memory folder, whose property `category` is `value`. A
    category's folder decides, because a person may move files there; in the inbox or any other folder the property
    decides."""
    folder = inner.partition("/")[0] if "/" in inner else ""
    category = value if isinstance(value, str) and value in CATEGORIES else ""
    if folder in CATEGORIES and folder != INBOX:
        return folder
    return category or INBOX


def in_conversation(path: str, folder: str) -> bool:
    """Whether the file at a path of the vault is an entry of a conversation, and so not a memory yet."""
    return path.startswith(f"{folder}/{ENTRIES}/")


def phase_of(category: str) -> str:
    """The phase of a memory in a category."""
    return "inbox" if category == INBOX else "organized"


def file_name(path: str) -> str:
    """The file name of a note without its ending, which links refer to."""
    return path.rpartition("/")[2].removesuffix(".md")


def folded_name(path: str) -> str:
    """The file name in lower case, without any ending, which identifies notes of the same name."""
    name = path.rpartition("/")[2]
    return unicodedata.normalize("NFC", (name.rpartition(".")[0] or name).casefold())


def entry_parts(parts: list[str]) -> list[str]:
    """The parts of an entry's path inside its conversation's folder, given those in the memory folder; earlier
    versions kept the records beside the page."""
    return parts[3:] if parts[2:3] == [RECORDS] else parts[2:]


def page_path(folder: str, setting: str) -> str:
    """The path of pending.md by the setting pending.path; "" when it is off."""
    return "" if setting == "off" else setting or f"{folder}/{GENERATED[0]}"


def index_kind(path: str, folder: str, page: str = "") -> str:
    """How the index treats a path: "" for pages generated from the index, such as the pending items, which must not
    come back into it; "file" for archived notes, which can be linked to but are not found; else "note"."""
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
    """Whether a path in the memory folder is that of a generated page, spelled as we write it."""
    return inner in GENERATED or inner.startswith(f"{SYNC}/") or _is_transcript(inner)


def _is_copy(inner: str) -> bool:
    """Whether it is a conflict copy of a generated page that takes over answers from its copies."""
    original = _conflict_original(inner)
    return original in GENERATED and original not in _EDITED


def _conflict_original(inner: str) -> str | None:
    from vaultmem.vault.conflicts import conflict_original  # not needed for a search

    return conflict_original(inner)


def is_recorded(inner: str) -> bool:
    """Whether the history records it: memories and expectations, but no generated pages, copies of them (wherever
    they are) or views."""
    is_made = is_our_page(inner) or _is_copy(inner.removeprefix(f"{ARCHIVE}/"))
    return inner == EXPECTATIONS or not (is_made or is_view(inner))


def _is_transcript(inner: str) -> bool:
    """Whether it is the page of a conversation, which is generated from its entries."""
    parts = inner.split("/")
    return len(parts) == 3 and parts[0] == ENTRIES and bool(_TRANSCRIPT.match(parts[2]))


def is_view(inner: str) -> bool:
    """Whether it is an editor's view of memories, which belongs to the person and is not a memory."""
    return "/" not in inner and inner.endswith(".base")


# Paths in the memory folder that no memory may have, in any spelling, as a disk may ignore case.

UNREAD = "node_modules"  # folders that editors ignore
_GENERATED = {name.casefold() for name in GENERATED}
_FOLDERS = {*CATEGORIES, ARCHIVE, ENTRIES, SYNC}
# Names that Windows takes for devices, whatever follows.
_DEVICE = lazy(
    r"(?:con|prn|aux|nul|(?:com|lpt)[0-9¹²³]|con(?:in|out)\$)(?= *(?:\.|\Z))", re.IGNORECASE
)


def is_generated(inner: str) -> bool:
    """Whether it is a page that vaultmem writes, or a conflict copy of one: these are read for answers, which only a
    person may give."""
    if is_in(inner, SYNC):
        return True
    return _fold(inner) in _GENERATED or _fold(_conflict_original(inner) or "") in _GENERATED


def is_reserved(inner: str) -> bool:
    """Whether memories are not allowed there: generated pages, conversations, archived notes, and folders hidden from
    editors."""
    parts = _fold(inner).split("/")
    if UNREAD in parts or any(part.startswith(".") for part in parts):
        return True
    return is_generated(inner) or _is_below(parts, ENTRIES) or _is_below(parts, ARCHIVED_NOTES)


def is_in(inner: str, folder: str) -> bool:
    """Whether it is inside a folder of the memory folder, or is that folder."""
    return _is_below(_fold(inner).split("/"), folder)


def portable(inner: str) -> str:
    """The path in a form valid on any system: no blanks or dots at the ends of names, no Windows device names or
    colons, and our own folders in our spelling."""
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
    folder_parts = folder.split("/")
    return parts[: len(folder_parts)] == folder_parts


# The names of the properties of memories.

# In writing order: first those for a person, then those for programs, on one line (pages).
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
    """Our spelling of a key written with dashes or capitals by Logseq or a person."""
    folded = written.strip().lower().replace("-", "_").replace(" ", "_")
    return folded if folded in KEYS else written


def with_our_keys(properties: Mapping[str, _V]) -> dict[str, _V]:
    """Properties with keys in our spelling."""
    return {key_of(key): value for key, value in properties.items()}


# Links that open a note in its editor.

_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
MOST_ENCODED = 4096  # cached paths: each search result has one
_ENCODED = [chr(c) if c in _PLAIN else f"%{c:02X}" for c in range(256)]


def editor_uri(template: str, vault: str, path: str, title: str) -> str:
    """The link that opens a note; `vault` is the path of the vault's folder."""
    folder = vault.replace("\\", "/").rstrip("/")
    name = folder.rpartition("/")[2]
    parts = {"{vault}": name, "{path}": path, "{title}": title}
    for field, text in parts.items():
        if field in template:
            template = template.replace(field, percent_encode(text))
    if "{abs}" not in template:
        return template
    whole = "/".join(map(percent_encode, f"{folder}/{path}".split("/")))
    return template.replace("{abs}", whole)


@lru_cache(MOST_ENCODED)
def percent_encode(text: str) -> str:
    """Like urllib.parse.quote(text, safe=""), whose import takes half a Python start."""
    return "".join(map(_ENCODED.__getitem__, text.encode("utf-8", "replace")))
