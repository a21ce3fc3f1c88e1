"""How a memory is presented, as JSON and in the Python API; and which memories a list includes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from vaultmem.adapter import Properties, Value
from vaultmem.ledger.reads import ReadCount
from vaultmem.light import TYPE_CHECKING, NamedTuple
from vaultmem.memories import model
from vaultmem.memories.access import canonical_name
from vaultmem.memories.model import DEFAULT_SCOPE, Memory, MemoryRecord
from vaultmem.text.times import stamp
from vaultmem.text.values import TEXT_PROPERTIES, lazy

if TYPE_CHECKING:
    from vaultmem.memories.store import Session


class MemoryFilters(NamedTuple):
    """The filters of a list; "" means any. `since` and `until` are local days, inclusive."""

    # Phase, category, scope and text properties; none is "".
    fields: Mapping[str, str]
    everywhere: bool  # only global ones
    tags: tuple[str, ...]
    since: str
    until: str
    min_confidence: float
    compressed: bool  # include compressed memories
    words: tuple[str, ...] = ()  # in the title or the opening, ignoring case


FILTERS = ("phase", "category", "scope", *TEXT_PROPERTIES)
_FIELDS = ("phase", "category", "scope")
_LINE = lazy(r":\d+$")


def reads_of(memory: Memory, reads: Mapping[str, ReadCount]) -> int:
    """How often it was read."""
    counted = reads.get(memory.id)
    return max(memory.stored_reads, counted.number if counted else 0)


def confidence(
    memory: Memory,
    reads: Mapping[str, ReadCount],
    now: float,
    half_life: float = model.HALF_LIFE_HOURS,
) -> float:
    """Its confidence, by its policy. With `fsrs`, reads and edits count as reviews."""
    policy = memory.decay_policy
    aging = model.Aging(policy, memory.created, memory.reinforced, memory.updated, memory.id)
    if policy != model.FSRS:
        return aging.confidence(now, half_life)
    counted = reads.get(memory.id)
    return model.fsrs_confidence(aging, counted.times if counted else (), now)


def record(
    session: Session, memory: Memory, content: str, counts: Mapping[str, ReadCount]
) -> MemoryRecord:
    """The record of a memory."""
    expires, reinforced, now = memory.expires, memory.reinforced, session.now
    result: MemoryRecord = {
        "id": memory.id, "content": content.rstrip("\n"), "title": memory.title, "path": memory.path,
        "agent": memory.text("agent"), "personality": memory.text("personality"),
        "project": memory.text("project"), "type": memory.text("type"),
        "global": memory.properties.get("global") is True, "decay_policy": memory.decay_policy,
        "confidence": confidence(memory, counts, now, session.store.half_life),
        "recency": model.recency(memory.created, now), "phase": memory.phase, "category": memory.category,
        "scope": memory.scope, "tags": list(memory.tags), "source": memory.text("source"),
        "memory_type": memory.text("memory_type"), "importance": memory.importance,
        "access_count": reads_of(memory, counts), "links": [session.id_of(title) for title in memory.linked],
        "content_hash": memory.hash, "created_at": stamp(memory.created), "updated_at": stamp(memory.updated),
        "last_reinforced_at": None if reinforced is None else stamp(reinforced),
        "expires_at": None if expires is None else stamp(expires), "deleted": memory.archived,
        "version": _version(memory.properties.get("version")),
    }  # fmt: skip
    if remind := memory.text("remind"):
        from vaultmem.memories.item_answers import reminds_at  # few memories are reminders

        result["remind"] = reminds_at(memory.id, remind, memory.text("repeat"), session.answers)
    if repeat := memory.text("repeat"):
        result["repeat"] = repeat
    return result


def _version(value: Value) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 1


def filtered(session: Session, memories: Sequence[Memory], filters: MemoryFilters) -> list[Memory]:
    """The wanted memories, newest first."""
    every = [] if filters.compressed else [memory.properties for memory in memories]
    sums = (
        model.sessions(properties) for properties in every if properties.get("compression_source")
    )
    summed = frozenset[str]().union(*sums)
    results = [
        memory
        for memory in memories
        if _fits(memory, filters) and not _is_hidden(memory.properties, summed)
    ]
    if filters.min_confidence > 0:
        least = filters.min_confidence
        sure = (
            confidence(result, session.reads, session.now, session.store.half_life)
            for result in results
        )
        results = [memory for memory, how in zip(results, sure, strict=True) if how >= least]
    results.sort(key=lambda memory: (-memory.created, -memory.mtime, memory.path))
    return results


def _is_hidden(properties: Properties, summed: frozenset[str]) -> bool:
    """Whether a summary represents the memory with these properties."""
    is_marked = properties.get("compressed") is True
    return is_marked and not summed.isdisjoint(model.sessions(properties))


def _fits(memory: Memory, filters: MemoryFilters) -> bool:
    if not has_values(memory, filters.fields):
        return False
    if filters.everywhere and memory.properties.get("global") is not True:
        return False
    if not all(word in f"{memory.title.lower()} {memory.opening}" for word in filters.words):
        return False
    tags = [tag.lower() for tag in memory.tags] if filters.tags else []
    has_tags = all(tag.lower().lstrip("#") in tags for tag in filters.tags)
    return has_tags and _is_in_period(memory, filters)


def has_values(memory: Memory, fields: Mapping[str, str]) -> bool:
    """Whether a memory has these values."""
    return all(
        getattr(memory, name) == value
        if name in _FIELDS
        else _plain(name, memory.text(name)) == _plain(name, value)
        for name, value in fields.items()
    )


def _plain(name: str, value: str) -> str:
    """A value for comparison. An assistant has one name; a note as a source may be named with or without folder,
    ending and line."""
    if name == "agent":
        return canonical_name(value)
    lower = value.lower()
    if name != "source":
        return lower
    return _LINE.sub("", lower.strip("[]")).removesuffix(".md").rpartition("/")[2]


def _is_in_period(memory: Memory, filters: MemoryFilters) -> bool:
    if not (filters.since or filters.until):
        return True
    day = datetime.fromtimestamp(memory.created).astimezone().date().isoformat()
    return (not filters.since or day >= filters.since) and (
        not filters.until or day <= filters.until
    )


def is_visible_to(memory: Memory, scope: str) -> bool:
    """Whether the memory is visible in that scope."""
    return memory.scope in (scope, DEFAULT_SCOPE)
