"""Moments as they stand in properties: 2026-11-22T10:00:00Z."""

from __future__ import annotations


def stamp(seconds: float) -> str:
    """A moment in UTC, in whole seconds."""
    from datetime import UTC, datetime  # a search only reads confidence, and mostly of no memory

    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds(stamp: object) -> float | None:
    """Seconds since the epoch of an ISO day or time; one without a zone is in UTC. None for anything else."""
    if not isinstance(stamp, str):
        return None
    from datetime import UTC, datetime

    try:
        moment = datetime.fromisoformat(stamp.strip())
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError, OSError):
        return None
