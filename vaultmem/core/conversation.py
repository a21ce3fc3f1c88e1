"""Conversations in the memory folder: where their turns, facts and summaries lie, what they are called."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from hashlib import sha256
from typing import NamedTuple

from vaultmem.adapter import Value
from vaultmem.core.places import ENTRIES

MEMORY, USER, ASSISTANT, SUMMARY = ROLES = ("memory", "user", "assistant", "summary")
FACTS, TURNS, SUMMARIES, DELETED = "facts", "turns", "summaries", "deleted"
NAMESPACE = uuid.UUID("0c9b7c1e-5b1f-5a44-8e43-2f7a1f0d6a52")  # of ids that follow from others
# Characters of a conversation's id; with its prefix it is a scope, which has 200 at most.
LONGEST_ID = 180
FINAL = "L3/final"  # the name of the summary of all
_PLAIN = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?")
_MADE = re.compile(r".*-[0-9a-f]{8}")  # as folder_of() makes names
# Control characters, and what nobody sees but changes how a line looks; emoji need their joiner (U+200D).
_ODD = re.compile(
    "[\x00-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)
_OTHER = re.compile(r"[^a-z0-9]+")
_RESERVED = re.compile(r"con|prn|aux|nul|com\d|lpt\d", re.IGNORECASE)  # names that Windows keeps


class Entry(NamedTuple):
    """One note of a conversation as it is on the disk. Times are seconds since the epoch."""

    path: str  # in the vault
    id: str
    conversation: str
    role: str  # see ROLES
    content: str
    created: float
    updated: float
    properties: Mapping[str, Value]
    deleted: bool = False


def scope_of(conversation: str) -> str:
    """The scope of all that is said in a conversation."""
    return f"conversation:{conversation}"


def is_talk(name: str) -> bool:
    """Whether a scope, or whoever wrote something, is a conversation."""
    return name.startswith(scope_of(""))


def folder_of(conversation: str) -> str:
    """The name of its folder: the id itself where every file system takes it as it is, else one made of it and of its
    hash, so that no two conversations share a folder."""
    if _is_plain(conversation):
        return conversation
    short = _OTHER.sub("-", conversation.lower()).strip("-")[:40] or "conversation"
    return f"{short}-{sha256(conversation.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def _is_plain(name: str) -> bool:
    return (
        _PLAIN.fullmatch(name) is not None
        and _MADE.fullmatch(name) is None
        and not _RESERVED.fullmatch(name.partition(".")[0])
    )


def problem(conversation: str) -> str:
    """Why this can be no id of a conversation, in a few words; "" when it can."""
    if not conversation:
        return "is empty"
    if len(conversation) > LONGEST_ID:
        return f"has {len(conversation):,} characters, and may have {LONGEST_ID}"
    if _ODD.search(conversation) or conversation != conversation.strip():
        return "holds control characters, invisible ones, or blanks around it"
    return "begins with a colon" if conversation.startswith(":") else ""


def in_folder(folder: str, told: object) -> str:
    """The id of the conversation of an entry that lies in this folder and tells that `conversation_id`; "" where
    neither makes one: a folder that a person has renamed, or an entry of another conversation."""
    if isinstance(told, str) and not problem(told) and folder_of(told) == folder:
        return told
    return folder if _is_plain(folder) else ""


def role_in(inner: str) -> str:
    """The role of an entry by its place, a path in the folder of its conversation; "" where that tells none."""
    parts = inner.removeprefix(f"{DELETED}/").split("/")[:-1]
    if parts[:1] == [TURNS]:
        return parts[1] if parts[1:2] in ([USER], [ASSISTANT]) else ""
    return {FACTS: MEMORY, SUMMARIES: SUMMARY}.get(parts[0], "") if parts else ""


def entry_of(inner: str, properties: Mapping[str, Value]) -> tuple[str, str]:
    """The conversation and the role of an entry at a path in the memory folder; "" for what cannot be told."""
    parts = inner.split("/")
    if len(parts) < 3:
        return "", ""
    scope, prefix = properties.get("scope"), scope_of("")
    told: object = properties.get("conversation_id")
    if isinstance(scope, str) and scope.startswith(prefix):
        # Always text: an id such as 1.0 is a number where properties are typed.
        told = scope.removeprefix(prefix)
    role = role_in("/".join(parts[2:])) or str(properties.get("role") or "")
    return in_folder(parts[1], told), role if role in ROLES else ""


def is_away(inner: str) -> bool:
    """Whether a path in the memory folder is that of an entry that was deleted."""
    parts = inner.split("/")
    return parts[0] == ENTRIES and parts[2:3] == [DELETED]


def put_away(inner: str) -> str:
    """Where an entry goes that is deleted; both are paths in the memory folder. "" for what is no entry."""
    parts = inner.split("/")
    if len(parts) < 3 or parts[0] != ENTRIES:
        return ""
    rest = parts[2:] if parts[2] == DELETED else [DELETED, *parts[2:]]
    return "/".join((*parts[:2], *rest))


def place_of(conversation: str, role: str, name: str, *, deleted: bool = False) -> str:
    """The path of an entry in the memory folder. `name` is the file's, without .md; of a summary with its level
    before it: "L1/chunk_0", "L3/final"."""
    kind = {MEMORY: FACTS, SUMMARY: SUMMARIES}.get(role) or f"{TURNS}/{role}"
    away = f"{DELETED}/" if deleted else ""
    return f"{ENTRIES}/{folder_of(conversation)}/{away}{kind}/{name}.md"


def name_of(created: str, id_: str) -> str:
    """The name of a turn's or a fact's file, from its time as it is written and its id; times sort as names do."""
    return f"{created.replace(':', '-')}__{id_}"


def derived_id(*parts: str) -> str:
    """The id of what follows from something that has one: the same again after a kill."""
    return str(uuid.uuid5(NAMESPACE, "\x00".join(parts)))
