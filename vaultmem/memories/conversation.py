"""Conversations in the memory folder: the paths and names of their turns, facts and summaries."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from vaultmem.adapter import Properties, Value
from vaultmem.light import TYPE_CHECKING, NamedTuple, Protocol
from vaultmem.memories.access import is_private
from vaultmem.notes.places import ENTRIES, INBOX, RECORDS, entry_parts
from vaultmem.text.titles import conversation_problem
from vaultmem.text.values import lazy

if TYPE_CHECKING:
    from typing import TypeVar

    Some = TypeVar("Some", bound="Compressible")

MEMORY, USER, ASSISTANT, SUMMARY = ROLES = ("memory", "user", "assistant", "summary")
FACTS, TURNS, SUMMARIES, DELETED = "facts", "turns", "summaries", "deleted"
NAMESPACE = "0c9b7c1e-5b1f-5a44-8e43-2f7a1f0d6a52"  # namespace of derived ids
FINAL = "L3/final"  # the name of the overall summary
# The second is that of agent-cli before it had levels (the "proxy" seed, section 2.1).
_FINALS = (f"/{SUMMARIES}/{FINAL}.md", f"/{SUMMARIES}/summary.md")
_PLAIN = lazy(r"[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?")
_MADE = lazy(r".*-[0-9a-f]{8}")  # the form of names from folder_of()
_ID = lazy(r"[0-9A-Za-z][0-9A-Za-z_-]{0,79}")
_OTHER = lazy(r"[^a-z0-9]+")
_RESERVED = lazy(r"con|prn|aux|nul|com\d|lpt\d", re.IGNORECASE)  # names reserved by Windows


class Entry(NamedTuple):
    """One note of a conversation, as it is on disk. Times are seconds since the epoch."""

    path: str  # path in the vault
    id: str
    conversation: str
    role: str  # see ROLES
    content: str
    created: float
    updated: float
    properties: Properties
    deleted: bool = False

    @property
    def is_private(self) -> bool:
        """Whether the person hides it from assistants and models."""
        return is_private(self.properties)

    @property
    def is_turn(self) -> bool:
        """Whether the person or the assistant said it."""
        return self.role in (USER, ASSISTANT)

    @property
    def is_of_session(self) -> bool:
        """Whether it is the summary of an old session, which is kept among the facts."""
        return self.properties.get("compression_source") is True

    @property
    def is_final(self) -> bool:
        """Whether it is the summary of the whole conversation."""
        return self.role == SUMMARY and self.path.endswith(_FINALS)

    @property
    def is_fact(self) -> bool:
        """Whether it was learned from a turn."""
        return self.role == MEMORY and not self.is_of_session


def scope_of(conversation: str) -> str:
    """The scope of everything said in a conversation."""
    return f"conversation:{conversation}"


def is_talk(name: str) -> bool:
    """Whether a scope or writer is a conversation."""
    return name.startswith(scope_of(""))


def folder_of(conversation: str) -> str:
    """The name of its folder: the id itself if every file system accepts it, else a name made from it and its hash,
    so that no two conversations share a folder."""
    if _is_plain(conversation):
        return conversation
    short = _OTHER.sub("-", conversation.lower()).strip("-")[:40] or "conversation"
    from hashlib import sha256  # loads OpenSSL

    return f"{short}-{sha256(conversation.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def _is_plain(name: str) -> bool:
    return (
        _PLAIN.fullmatch(name) is not None
        and _MADE.fullmatch(name) is None
        and not _RESERVED.fullmatch(name.partition(".")[0])
    )


def in_folder(folder: str, written: object) -> str:
    """The conversation id of an entry in this folder with this `conversation_id`; "" if neither gives one."""
    if (
        isinstance(written, str)
        and not conversation_problem(written)
        and folder_of(written) == folder
    ):
        return written
    return folder if _is_plain(folder) else ""


def role_in(inner: str) -> str:
    """The role of an entry, by its path in its conversation's folder; "" if it has none."""
    parts = inner.removeprefix(f"{DELETED}/").split("/")[:-1]
    if parts[:1] == [TURNS]:
        return parts[1] if parts[1:2] in ([USER], [ASSISTANT]) else ""
    return {FACTS: MEMORY, SUMMARIES: SUMMARY}.get(parts[0], "") if parts else ""


def entry_of(inner: str, properties: Properties) -> tuple[str, str]:
    """The conversation and role of an entry at a path in the memory folder; "" if unknown."""
    parts = inner.split("/")
    if len(parts) < 3:
        return "", ""
    scope, prefix = properties.get("scope"), scope_of("")
    written: object = properties.get("conversation_id")
    if isinstance(scope, str) and scope.startswith(prefix):
        # Always text: an id such as 1.0 would be read as a number.
        written = scope.removeprefix(prefix)
    role = role_in("/".join(entry_parts(parts))) or str(properties.get("role") or "")
    return in_folder(parts[1], written), role if role in ROLES else ""


def is_away(inner: str) -> bool:
    """Whether a path in the memory folder is that of a deleted entry."""
    parts = inner.split("/")
    return parts[0] == ENTRIES and entry_parts(parts)[:1] == [DELETED]


def put_away(inner: str) -> str:
    """The path of an entry once deleted; both paths are relative to the memory folder. "" if it is not an entry."""
    parts = inner.split("/")
    if len(parts) < 3 or parts[0] != ENTRIES:
        return ""
    if is_away(inner):
        return inner
    return "/".join((*parts[:2], RECORDS, DELETED, *entry_parts(parts)))


def place_of(conversation: str, role: str, name: str) -> str:
    """The path of an entry in the memory folder; `name` is the file's, for a summary with its level: "L1/chunk_0"."""
    kind = {MEMORY: FACTS, SUMMARY: SUMMARIES}.get(role) or f"{TURNS}/{role}"
    return f"{ENTRIES}/{folder_of(conversation)}/{RECORDS}/{kind}/{name}.md"


def name_of(created: str, id_: str) -> str:
    """The file name of a turn or fact, from its time and id; names sort by time."""
    return f"{created.replace(':', '-')}__{id_}"


def basic_properties(id_: str, conversation: str, role: str) -> dict[str, Value]:
    """The properties that every entry has. Nobody has vouched for it, so its phase is that of new memories; it does
    not fade, since conversations have their own way of removing old entries."""
    return {
        "id": id_, "phase": INBOX, "category": INBOX, "scope": scope_of(conversation),
        "decay_policy": "stable", "conversation_id": conversation, "role": role,
    }  # fmt: skip


def is_entry_id(text: str) -> bool:
    """Whether it can be the id of an entry, which becomes part of a file name."""
    return _ID.fullmatch(text) is not None


def derived_id(*parts: str) -> str:
    """The id of something derived from another id: the same again after a kill."""
    import uuid

    return str(uuid.uuid5(uuid.UUID(NAMESPACE), "\x00".join(parts)))


# Which sessions are old enough to be compressed, and which turns must make room.

TOKENS = 160  # of a session's summary
# Words: more than these add no information; how much less a question tells.
MOST_WORTH, ASKING = 20, 3
NOTHING = "Nothing to remember was said."  # the summary of mere greetings


class Compressible(Protocol):
    """A session, of whatever it consists."""

    @property
    def is_compressed(self) -> bool:
        """Whether a summary represents it."""


def to_compress(every: Sequence[Some], threshold: int) -> list[Some]:
    """The oldest uncompressed sessions: half the threshold once there are more sessions than that, and as many again
    each time that many have been added. It follows from their number alone, so that an interrupted job continues
    where it was. Never the last session, which may still be going on."""
    if len(every) <= threshold:
        return []
    half = max(1, threshold // 2)
    target = half * (1 + (len(every) - threshold - 1) // half)
    done = sum(entry.is_compressed for entry in every)
    loose = [entry for entry in every[:-1] if not entry.is_compressed]
    return loose[: max(0, target - done)]


def to_evict(entries: Iterable[Entry], most: int) -> list[Entry]:
    """The least informative turns, until `most` facts and turns are left: summed-up ones first, facts last."""
    evictable = [
        entry
        for entry in entries
        if (entry.is_turn or entry.role == MEMORY) and not entry.is_of_session
    ]
    surplus = max(0, len(evictable) - most)
    if not surplus:
        return []
    evictable.sort(key=lambda one: (one.created, one.path))
    newest = {entry.id for entry in evictable[-(most // 10) :]} if most >= 10 else set()
    evictable.sort(key=lambda one: (one.role == MEMORY, one.id in newest, *_worth(one)))
    return evictable[:surplus]


def _worth(entry: Entry) -> tuple[bool, int, float, str]:
    if entry.role == MEMORY:
        return False, 0, entry.created, entry.path
    # Only needed for conversations that are summed up.
    from vaultmem.notes.blocks import count_long_words

    words = min(count_long_words(entry.content), MOST_WORTH)
    words -= ASKING if entry.content.rstrip().endswith(("?", "？")) else 0
    return entry.properties.get("compressed") is not True, words, entry.created, entry.path
