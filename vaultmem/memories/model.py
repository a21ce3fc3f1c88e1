"""A memory: what its front matter may say, what follows from where it lies, and how it is shown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypedDict

from vaultmem.adapter import Value
from vaultmem.memories import decay
from vaultmem.text.times import seconds
from vaultmem.text.values import lazy, value
from vaultmem.vault.places import (
    ARCHIVE,
    CATEGORIES,
    ENTRIES,
    GENERATED,
    INBOX,
    KEYS,
    REMINDERS,
    category_of,
    key_of,
)

# Who may see what, and whose words may be quoted without approval: the one rule behind every door. Pure.

EVERYBODY = "global"
SCOPE = lazy(r"global|(?:agent|conversation|user):[^\s:][^\n]{0,199}")
_AGENT, _NAMED = "agent:", ("conversation:", "user:")
DREAM = "dream"  # the property `source` of the memories that dreams make
# Programs that run assistants, and the two whose memories can be taken in; vaultmem connect knows the first ones.
ASSISTANTS = ("claude", "codex", "gemini", "copilot", "cursor", "opencode", "car-agent", "fingersaver")  # fmt: skip
UNKNOWN = frozenset(("", "assistant", "mcp", "unknown"))  # names of clients that give none
PRIVATE, OTHER_SCOPE = "private", "of another scope"  # reasons
CONNECTED, OWN, ALL = TRUST = ("connected", "own", "all")  # the setting recall.trust


@value
class Viewer:
    """Who asks, and the conversations and users that it names as those it speaks for."""

    name: str = ""  # "" for the person
    also: frozenset[str] = frozenset()

    @property
    def scope(self) -> str:
        """Their own scope; that of everybody for the person, who needs none."""
        if not self.name:
            return EVERYBODY
        return self.name if self.name.startswith(_NAMED) else f"{_AGENT}{self.name}"

    def sees(self, scope: str) -> bool:
        """Whether what has this scope is for them."""
        if not self.name or scope in (EVERYBODY, self.name) or scope in self.also:
            return True
        return scope.startswith(_AGENT) and is_same(scope.removeprefix(_AGENT), self.name)


PERSON = Viewer()


@value
class Origin:
    """Where a memory comes from."""

    writer: str = ""  # the assistant that wrote it; "" for the person
    outside: bool = False  # from the web, or from another program


def viewer(by: str, scopes: Iterable[str] = ()) -> Viewer:
    """Who asks, by the name given. Of the scopes that a request names, those of other assistants give it nothing."""
    return Viewer(by, frozenset(one for one in scopes if one.startswith(_NAMED)))


def hidden(properties: Mapping[str, object], to: Viewer, *, memory: bool) -> str:
    """Why `to` may not see a note with these properties; "" when it may. The person may see everything."""
    if not to.name:
        return ""

    return reason(scope_of(properties, memory=memory), to, private=is_private(properties))


def reason(scope: str, to: Viewer, *, private: bool) -> str:
    """The same for what has this scope, and is kept private or not."""
    if private and to.name:
        return PRIVATE
    return "" if to.sees(scope) else OTHER_SCOPE


def scope_of(properties: Mapping[str, object], *, memory: bool) -> str:
    """The scope of a note. In a memory an unknown word hides it from all assistants; in any other note it is the
    person's own word and limits nothing."""
    raw = next((one for key, one in properties.items() if key_of(key) == "scope"), None)
    scope = raw.strip() if isinstance(raw, str) else ""
    return scope if scope and (memory or SCOPE.fullmatch(scope)) else EVERYBODY


def known_as(name: str) -> str:
    """One name for an assistant, however its program spells it: Claude Code calls itself claude-code, Codex
    codex-mcp-client."""
    if name.startswith(_NAMED):
        return name
    folded = re.sub(r"[\W_]+", "-", name.lower()).strip("-").removeprefix("github-")
    return next(
        (one for one in ASSISTANTS if f"{folded}-".startswith(f"{one}-")), name.lower().strip()
    )


def is_same(one: str, other: str) -> bool:
    """Whether two names are those of one assistant."""
    return one == other or known_as(one) == known_as(other)


def origin(properties: Mapping[str, object]) -> Origin:
    """The origin of a memory, by its properties in our spelling. The name of an assistant as its source means the
    writer, and nothing of the web."""
    source, writer = properties.get("source"), str(properties.get("agent") or "")
    named = source if isinstance(source, str) and _is_assistant(source, writer) else ""
    outside = any(one not in (None, "", DREAM, named) for one in (source, properties.get("url")))
    return Origin(writer or named, outside)


def _is_assistant(source: str, writer: str) -> bool:
    return known_as(source) in ASSISTANTS or (bool(writer) and is_same(source, writer))


def is_trusted(one: Origin, to: Viewer, trust: str) -> bool:
    """Whether it may be quoted without approval."""
    if trust == ALL or (to.name and one.writer and is_same(one.writer, to.name)):
        return True
    if one.outside:
        return False
    return not (one.writer and to.name) or (trust == CONNECTED and is_connected(one.writer))


def may_stand_for(one: Origin, other: Origin, trust: str) -> bool:
    """Whether everybody who may read the other may read the one in its place."""
    if _is_public(one, trust):
        return True
    return is_of_one_writer(one, other) and not _is_public(other, trust)


def standing(one: Origin) -> int:
    """Whose words stay where several say the same: 0 the person's own, 1 those of a connected assistant, 2 others."""
    return 0 if one == Origin() else 1 if is_connected(one.writer) and not one.outside else 2


def is_of_one_writer(one: Origin, other: Origin) -> bool:
    """Whether the words of both may stand under one name."""
    return one.outside == other.outside and is_same(one.writer, other.writer)


def _is_public(one: Origin, trust: str) -> bool:
    return trust == ALL or is_trusted(one, Viewer("an assistant that wrote nothing"), trust)


def is_connected(writer: str) -> bool:
    """Whether a writer is an assistant with a name. A conversation stays private."""
    return known_as(writer) not in UNKNOWN and not writer.startswith(_NAMED)


def attribution(one: Origin, to: Viewer) -> str:
    """The note beside unapproved words of others; "" for one's own."""
    if one.writer.startswith(_NAMED) or (to.name and is_same(one.writer, to.name)):
        return ""
    if not (one.writer or one.outside):
        return ""
    return f"{f'by {one.writer}' if one.writer else 'from elsewhere'}, not approved"


__all__ = [
    "ARCHIVE", "CATEGORIES", "DEFAULT_SCOPE", "ENTRIES", "GENERATED", "INBOX", "KEYS", "PHASES", "REMINDERS", "SCOPE",
    "TYPES", "Memory", "MemoryRecord", "category_of", "key_of", "link_targets",
]  # fmt: skip

PHASES = ("inbox", "organized")
TYPES = ("episodic", "semantic", "procedural", "working")
PASSING = ("episodic", "working")  # what memories of these types state ends some day
DEFAULT_SCOPE = EVERYBODY


class Memory(NamedTuple):
    """One memory as it is on the disk. Times are seconds since the epoch."""

    path: str  # in the vault
    id: str  # of a file that has none yet, the one it will get
    title: str  # the file's name without .md: what [[links]] call it
    category: str  # see category_of()
    phase: str
    scope: str
    tags: tuple[str, ...]
    created: float
    updated: float
    properties: Mapping[str, Value]  # by our spelling of the keys; those of a person among them
    hash: str  # SHA-256 of the content, see text.similarity.content_hash
    opening: str  # see text.similarity.opening
    sketch: tuple[int, ...]  # see text.similarity.sketch
    size: int  # characters of content
    archived: bool = False
    adopted: bool = True  # False: a person's file that has no id yet
    links: tuple[str, ...] = ()  # targets of the wikilinks in its content
    mtime: float = 0.0  # when the file was last written; 0.0 if unknown

    def text(self, key: str) -> str:
        """A property that is text; "" where there is none."""
        raw = self.properties.get(key)
        return "" if raw is None or isinstance(raw, (list, dict)) else str(raw)

    @property
    def decay_policy(self) -> str:
        """Its policy: as written, else stable."""
        return decay.policy(self.properties.get("decay_policy"))

    @property
    def is_passing(self) -> bool:
        """Whether it states something that ends: an event or a working note, not a fact or a preference."""
        return self.properties.get("memory_type") in PASSING

    @property
    def importance(self) -> float | None:
        """From 0.0 to 1.0, as it was when it was written; None if unknown."""
        raw = self.properties.get("importance")
        return float(raw) if isinstance(raw, (int, float)) else None

    @property
    def expires(self) -> float | None:
        """When it ends by its own word."""
        return seconds(self.properties.get("expires_at"))

    @property
    def stored_reads(self) -> int:
        """How often it was read, by its file; the ledger may have more."""
        raw = self.properties.get("access_count")
        return max(0, raw) if isinstance(raw, int) else 0

    @property
    def linked(self) -> tuple[str, ...]:
        """The titles or paths in its property `links`, without brackets."""
        return link_targets(self.properties.get("links"))


MemoryRecord = TypedDict(
    "MemoryRecord",
    {
        "id": str,
        "content": str,
        "title": str,
        "path": str,  # in the vault
        "agent": str,  # "" for none, here and below
        "personality": str,
        "project": str,
        "type": str,
        "global": bool,
        "decay_policy": str,
        "confidence": float,  # 0.0 to 1.0, computed now
        "recency": float,  # 1.0 when it was just written, computed now
        "phase": str,
        "category": str,
        "scope": str,
        "tags": list[str],
        "source": str,
        "memory_type": str,
        "importance": float | None,
        "access_count": int,
        "links": list[str],  # ids of linked memories; titles of what is no memory
        "content_hash": str,
        "created_at": str,  # ISO 8601 in UTC, like all times
        "updated_at": str,
        "last_reinforced_at": str | None,
        "expires_at": str | None,
        "deleted": bool,
        "version": int,
    },
)
"""A memory as JSON and in the Python API."""


def link_targets(raw: object) -> tuple[str, ...]:
    """What a property `links` leads to: a list of [[..]], or text with some."""
    texts = raw if isinstance(raw, list) else [raw]
    results: list[str] = []
    for text in texts:
        if isinstance(text, str):
            results += [each.strip() for each in _LINK.findall(text)]
    return tuple(dict.fromkeys(results))


_LINK = lazy(r"\[\[([^\[\]|#\n]{1,500})(?:[|#][^\[\]\n]{0,500})?\]\]")


# Private notes.

_NO = ("false", "no", "0", "none", "")
_HEAD = 4_000  # characters
_LINE = lazy(r"^[ \t\"']*private[ \t\"']*::?[ \t]*(\S*)", re.IGNORECASE | re.MULTILINE)


def is_private(properties: Mapping[str, object]) -> bool:
    """Whether its property `private` is set, in whatever letters; who writes anything but no there means it."""
    return any(
        key.strip().lower() == "private" and str(value).strip().lower() not in _NO
        for key, value in properties.items()
    )


def says_private(text: str) -> bool:
    """Whether a note whose properties cannot be read is marked as private at its beginning: when in doubt, it is."""
    if not text.lstrip("\ufeff").startswith("---"):
        return False
    return any(match[1].strip("\"',").lower() not in _NO for match in _LINE.finditer(text[:_HEAD]))
