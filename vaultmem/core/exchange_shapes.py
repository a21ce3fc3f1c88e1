"""Memories in the shapes of two other programs, the "memories" and "memory-cli" seeds, as objects of JSON."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable

from vaultmem.adapter import Value
from vaultmem.core.decay import POLICIES
from vaultmem.core.exchange import MEMORIES, MEMORY_CLI, Exchanged, checked_id, text
from vaultmem.core.memory import CATEGORIES, DEFAULT_SCOPE, INBOX, SCOPE, MemoryRecord
from vaultmem.core.stamps import seconds, stamp
from vaultmem.errors import VaultmemError

_NEVER = "0001-01-01T00:00:00Z"  # a time that was never set, as Go writes it
_FRACTION = re.compile(r"(\.\d{6})\d+")  # of nanoseconds, six digits are understood
_NO_TAG = re.compile(r"[\s,#\[\]\"']")


def of_memories(record: MemoryRecord) -> dict[str, object]:
    """A memory as **memories** shows it (its section 4.2), with the fields it stores beside (3.1)."""
    return {
        "id": record["id"],
        "content": record["content"],
        "agent": record["agent"],
        "personality": record["personality"],
        "project": record["project"],
        "type": record["type"],
        "global": record["global"],
        "decay_policy": record["decay_policy"],
        "confidence": record["confidence"],
        "created_at": record["created_at"],
        "last_reinforced_at": record["last_reinforced_at"] or "",
        "deleted": record["deleted"],
    }


def of_memory_cli(record: MemoryRecord) -> dict[str, object]:
    """A memory as the struct Memory of **memory-cli** is written by Go."""
    return {
        "ID": record["id"],
        "Content": record["content"],
        "ContentHash": hashlib.sha256(record["content"].encode("utf-8", "replace")).hexdigest(),
        "Phase": record["phase"],
        "Category": record["category"],
        "Scope": record["scope"],
        "Tags": record["tags"],
        "Source": record["source"],
        "CreatedAt": record["created_at"],
        "UpdatedAt": record["updated_at"],
        "ExpiresAt": record["expires_at"],
        "AccessCount": record["access_count"],
        "Links": record["links"],
        "Version": record["version"],
    }


def from_memories(found: dict[str, object]) -> Exchanged:
    """What a line of **memories** says. Confidence is computed, never kept."""
    own, content = _identity(found)
    properties: dict[str, Value] = {
        "phase": INBOX,
        "category": INBOX,
        "scope": DEFAULT_SCOPE,
        **{name: _short(found, name) for name in ("agent", "personality", "project", "type")},
        "global": _flag(found, "global") or None,
        "decay_policy": _policy(text(found, "decay_policy")),
        **_moments(found, "created_at", "updated_at", "last_reinforced_at"),
    }
    return Exchanged(own, "", _flag(found, "deleted"), _kept(own, properties), content)


def from_memory_cli(found: dict[str, object]) -> Exchanged:
    """What a line of **memory-cli** says, whether its fields are spelled as in Go or as in its files."""
    named = {name.replace("_", "").lower(): value for name, value in found.items()}
    spelled = {
        "id": "id", "content": "content", "category": "category", "scope": "scope", "tags": "tags",
        "source": "source", "createdat": "created_at", "updatedat": "updated_at", "expiresat": "expires_at",
        "accesscount": "access_count", "links": "links", "version": "version",
    }  # fmt: skip
    given = {ours: named[theirs] for theirs, ours in spelled.items() if theirs in named}
    own, content = _identity(given)
    category = text(given, "category").lower() or INBOX
    if category not in CATEGORIES:
        raise VaultmemError(f"its category {category[:40]!r} is unknown")
    scope = text(given, "scope") or DEFAULT_SCOPE
    if not SCOPE.fullmatch(scope):
        raise VaultmemError(f"its scope {scope[:40]!r} is none")
    properties: dict[str, Value] = {
        "phase": INBOX if category == INBOX else "organized",
        "category": category,
        "scope": scope,
        "tags": [_tag(each) for each in _texts(given, "tags")] or None,
        "source": _short(given, "source"),
        "access_count": _count(given, "access_count") or None,
        "version": _count(given, "version") or None,
        **_moments(given, "created_at", "updated_at", "expires_at"),
    }
    links = tuple(checked_id(each) for each in _texts(given, "links"))
    return Exchanged(own, "", False, _kept(own, properties), content, links=links)


READERS: dict[str, Callable[[dict[str, object]], Exchanged]] = {
    MEMORIES: from_memories,
    MEMORY_CLI: from_memory_cli,
}
WRITERS: dict[str, Callable[[MemoryRecord], dict[str, object]]] = {
    MEMORIES: of_memories,
    MEMORY_CLI: of_memory_cli,
}


def _identity(found: dict[str, object]) -> tuple[str, str]:
    content = text(found, "content")
    if not content.strip():
        raise VaultmemError("it has no content")
    return (checked_id(text(found, "id")) if found.get("id") else ""), content


def _kept(own: str, properties: dict[str, Value]) -> dict[str, Value]:
    """What is said, with the id in front."""
    said = {key: value for key, value in properties.items() if value not in (None, "")}
    return {**({"id": own} if own else {}), **said}


def _short(found: dict[str, object], name: str) -> str:
    return " ".join(text(found, name).split())


def _tag(given: str) -> str:
    return _NO_TAG.sub("-", given.strip().removeprefix("#"))


def _policy(given: str) -> str:
    policy = given.strip().lower()
    if policy and policy not in POLICIES:
        raise VaultmemError(f"its decay policy {policy[:40]!r} is unknown")
    return policy


def _moments(found: dict[str, object], *names: str) -> dict[str, Value]:
    """Times as we write them; those that were never set are left out."""
    moments: dict[str, Value] = {}
    for name in names:
        given = _FRACTION.sub(r"\1", text(found, name))
        if not given or given == _NEVER:
            continue
        at = seconds(given)
        if at is None:
            raise VaultmemError(f'"{name}" is no time')
        moments[name] = stamp(at)
    if "created_at" in moments:
        moments.setdefault("updated_at", moments["created_at"])
    return moments


def _flag(found: dict[str, object], name: str) -> bool:
    given = found.get(name)
    if given is None:
        return False
    if not isinstance(given, bool):
        raise VaultmemError(f'"{name}" is not true or false')
    return given


def _count(found: dict[str, object], name: str) -> int:
    given = found.get(name)
    if given is None:
        return 0
    if isinstance(given, bool) or not isinstance(given, int) or not 0 <= given < 1 << 53:
        raise VaultmemError(f'"{name}" is no count')
    return given


def _texts(found: dict[str, object], name: str) -> list[str]:
    given = found.get(name)
    if given is None:
        return []
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
        raise VaultmemError(f'"{name}" is no list of texts')
    return [each for each in given if each.strip()]
