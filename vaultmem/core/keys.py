"""The properties of memories: what they are called."""

from __future__ import annotations

from vaultmem.core.values import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeVar

    _V = TypeVar("_V")

# The order in which they are written.
KEYS = (
    "id", "phase", "category", "scope", "tags", "aliases", "source", "agent", "personality", "project", "type",
    "global", "memory_type", "decay_policy", "importance", "links", "due", "remind", "repeat", "expires_at",
    "conversation_id", "session_id", "role", "summary_kind", "replaced_by", "until", "compressed", "compression_source",
    "source_session_id", "summary_level", "input_tokens", "output_tokens", "compression", "covers_until",
    "covers", "made_by", "content_hash", "evicted",
    "source_path", "source_hash", "access_count", "created_at", "updated_at", "last_reinforced_at",
    "deleted_at", "by", "version",
)  # fmt: skip


def key_of(written: str) -> str:
    """Our spelling of a key that Logseq or a person spelled with dashes or capitals."""
    folded = written.strip().lower().replace("-", "_").replace(" ", "_")
    return folded if folded in KEYS else written


def named(properties: Mapping[str, _V]) -> dict[str, _V]:
    """Properties by our spelling of their keys."""
    return {key_of(key): value for key, value in properties.items()}
