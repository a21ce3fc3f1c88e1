"""A memory: what its front matter may say, what follows from its path, and how it is presented."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cache

from vaultmem.adapter import Properties
from vaultmem.light import TYPE_CHECKING, NamedTuple, NotRequired, TypedDict  # noqa: F401 - NotRequired stands in text
from vaultmem.notes.places import (
    ARCHIVE,
    CATEGORIES,
    ENTRIES,
    GENERATED,
    INBOX,
    KEYS,
    REMINDERS,
    category_of,
    key_of,
    with_our_keys,
)
from vaultmem.text.times import seconds
from vaultmem.text.values import EVERYBODY, PHASES, POLICIES, TYPES, lazy, value

if TYPE_CHECKING:
    from fsrs import Scheduler

__all__ = [
    "ARCHIVE", "CATEGORIES", "DEFAULT_SCOPE", "ENTRIES", "GENERATED", "INBOX", "KEYS", "PHASES", "POLICIES",
    "REMINDERS", "TYPES", "Memory", "MemoryRecord", "category_of", "key_of", "link_targets",
]  # fmt: skip

PASSING = ("episodic", "working")  # the types whose statements end some day
DEFAULT_SCOPE = EVERYBODY
_NAMESPACE = "6c1f5c0e-7e0c-5d3b-9a55-0f7d5a3f4b21"  # namespace of ids derived from a path


class Memory(NamedTuple):
    """One memory as it is on disk. Times are seconds since the epoch."""

    path: str  # in the vault
    id: str  # or the one that a file without one will get
    title: str  # the file's name without .md: what [[links]] call it
    category: str  # see category_of()
    phase: str
    scope: str
    tags: tuple[str, ...]
    created: float
    updated: float
    properties: Properties  # keys in our spelling; includes a person's own
    hash: str  # SHA-256 of the content, see text.similarity.content_hash
    opening: str  # see text.similarity.opening
    sketch: bytes  # see text.similarity.sketch
    size: int  # characters of content
    archived: bool = False
    adopted: bool = True  # False: a person's file without an id yet
    links: tuple[str, ...] = ()  # targets of the wikilinks in its content
    mtime: float = 0.0  # when the file was last written; 0.0 if unknown

    def text(self, key: str) -> str:
        """A text property; "" if missing."""
        raw = self.properties.get(key)
        return "" if raw is None or isinstance(raw, (list, dict)) else str(raw)

    @property
    def decay_policy(self) -> str:
        """Its policy as written, else stable."""
        return policy(self.properties.get("decay_policy"))

    @property
    def is_passing(self) -> bool:
        """Whether it states something that ends: an event or a working note, not a fact or preference."""
        return self.properties.get("memory_type") in PASSING

    @property
    def importance(self) -> float | None:
        """From 0.0 to 1.0, as of writing; None if unknown."""
        raw = self.properties.get("importance")
        return float(raw) if isinstance(raw, (int, float)) else None

    @property
    def expires(self) -> float | None:
        """When it ends, by its property expires_at."""
        return seconds(self.properties.get("expires_at"))

    @property
    def reinforced(self) -> float | None:
        """When its decay was last reset, according to its file."""
        return seconds(self.properties.get("last_reinforced_at"))

    @property
    def stored_reads(self) -> int:
        """How often it was read, according to its file; the ledger may have more."""
        return stored_reads(self.properties)

    @property
    def linked(self) -> tuple[str, ...]:
        """The titles or paths in its property `links`, without brackets."""
        return link_targets(self.properties.get("links"))


MemoryRecord = TypedDict("MemoryRecord", {
    "id": str, "content": str, "title": str, "path": str,  # in the vault
    "agent": str, "personality": str, "project": str, "type": str, "source": str, "memory_type": str,  # "" for none
    "global": bool, "decay_policy": str, "phase": str, "category": str, "scope": str, "tags": list[str],
    "confidence": float, "recency": float,  # from 0.0 to 1.0, computed now
    "importance": float | None, "access_count": int, "content_hash": str, "deleted": bool, "version": int,
    "links": list[str],  # ids of linked memories; titles of other notes
    # ISO 8601 in UTC:
    "created_at": str, "updated_at": str, "last_reinforced_at": str | None, "expires_at": str | None,
    "remind": "NotRequired[str]", "repeat": "NotRequired[str]",  # when a reminder is due, or its snooze ends; its rule
})  # fmt: skip
"""A memory as JSON and in the Python API."""


def stored_reads(properties: Properties) -> int:
    """How often a memory was read, according to its file."""
    raw = properties.get("access_count")
    return max(0, raw) if isinstance(raw, int) else 0


def sessions(properties: Properties) -> frozenset[str]:
    """The conversations that a memory comes from."""
    named = ("session_id", "conversation_id", "source_session_id")
    return frozenset(
        str(value) for key, value in properties.items() if value and key_of(key) in named
    )


def provisional(path: str, number: int = 1) -> str:
    """The id that a file without one will get; another number gives another id."""
    import uuid  # memories usually have their own ids

    return str(uuid.uuid5(uuid.UUID(_NAMESPACE), path if number == 1 else f"{path}#{number}"))


def new_id() -> str:
    """An id for a new memory: a random UUID (RFC 9562, version 4), without uuid4(), which loads `platform`."""
    number = int.from_bytes(os.urandom(16))
    number = number & ~(0xF << 76 | 0b11 << 62) | 4 << 76 | 0b10 << 62
    text = f"{number:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def link_targets(raw: object) -> tuple[str, ...]:
    """The targets in a property `links`: a list of [[..]], or a text containing some."""
    texts = raw if isinstance(raw, list) else [raw]
    results: list[str] = []
    for text in texts:
        if isinstance(text, str):
            results += [target.strip() for target in _LINK.findall(text)]
    return tuple(dict.fromkeys(results))


_LINK = lazy(r"\[\[([^\[\]|#\n]{1,500})(?:[|#][^\[\]\n]{0,500})?\]\]")


# The confidence of a memory: a pure function of its age, computed when read and never stored.

HALF_LIFE_HOURS = 720.0  # despite its name, the time until confidence is 0
RECENCY_DAYS = 30.0
CAN_BE_REINFORCED = POLICIES[2:]
FORGETTING = ("expire", "decay", "consolidate")  # the jobs that archive only for age
TIMES = ("created_at", "last_reinforced_at", "updated_at")


def policy(value: object) -> str:
    """The decay policy as written in the memory, else stable: a fact does not fade (SPEC, "Forgetting")."""
    return value if isinstance(value, str) and value in POLICIES else "stable"


def recency(created: float, now: float) -> float:
    """How recent something is, from 1.0 towards 0.0, rounded to four digits: exp(-age in days / 30), the recency of
    the "proxy" seed, step 3. Times are seconds since the epoch."""
    return round(math.exp(-max(0.0, now - created) / 86_400 / RECENCY_DAYS), 4)


@value
class Aging:
    """The properties of a note that determine its decay. Times are seconds since the epoch."""

    policy: str
    created: float
    reinforced: float | None
    updated: float | None = None
    id: str = ""

    def confidence(self, now: float, half_life: float = HALF_LIFE_HOURS) -> float:
        """Its confidence at a time, from 0.0 to 1.0; `half_life` is in hours. For fsrs see fsrs_confidence()."""
        if self.policy == "stable":
            return 1.0
        age_hours = (now - self.since) / 3600
        return round(min(1.0, max(0.0, 1.0 - age_hours / half_life)), 4)

    @property
    def since(self) -> float:
        """The time from which confidence decays."""
        if self.reinforced is not None and self.policy in CAN_BE_REINFORCED:
            return self.reinforced
        return self.created


NEVER = Aging("stable", 0.0, None)  # a note that is not a memory


def aging(properties: Properties) -> Aging:
    """How a note with these properties ages."""
    if "id" not in properties:
        return NEVER
    fields = with_our_keys(properties)
    kind = policy(fields.get("decay_policy"))
    return aging_of(kind, fields["id"], *(fields.get(key) for key in TIMES))


def aging_of(
    kind: str, own_id: object, created: object, reinforced: object, updated: object
) -> Aging:
    """How a memory with a policy ages, by its id and its TIMES as written."""
    since = None if kind == "stable" else seconds(created)
    if since is None:
        return NEVER
    return Aging(kind, since, seconds(reinforced), seconds(updated), str(own_id))


# The `fsrs` decay policy: how likely a memory is still known, given its reviews (owner of fsrs, which is optional).

FSRS = "fsrs"


@cache
def has_fsrs() -> bool:
    """Whether the package is installed: pip install 'vaultmem[fsrs]'."""
    from importlib.util import find_spec  # few memories use it

    return find_spec("fsrs") is not None


def retrievability(created: float, reviews: Iterable[float], now: float) -> float:
    """From 0.0 to 1.0, rounded to four digits: FSRS-6 with its default weights, without fuzz, every review rated
    "good"; writing counts as the first. Times are seconds since the epoch. Needs the package."""
    from fsrs import Card, Rating

    scheduler = _scheduler()
    card = Card(card_id=1, due=_moment(created))
    for at in sorted({created, *(at for at in reviews if created < at <= now)}):
        card, _ = scheduler.review_card(card, Rating.Good, _moment(at))
    return round(float(scheduler.get_card_retrievability(card, _moment(max(now, created)))), 4)


def fsrs_confidence(aging: Aging, reads: Iterable[float], now: float) -> float:
    """The confidence of a memory whose reviews are reads, edits and reinforcements. Without the package it fades."""
    if not has_fsrs():
        return aging.confidence(now)
    marks = (at for at in (aging.updated, aging.reinforced) if at is not None)
    return retrievability(aging.created, [*reads, *marks], now)


@cache
def _scheduler() -> Scheduler:
    from fsrs import Scheduler

    return Scheduler(enable_fuzzing=False)


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
