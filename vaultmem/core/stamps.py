"""Moments as they stand in properties: 2026-11-22T10:00:00Z."""

from __future__ import annotations

from vaultmem.core.values import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime


_FIRST, _LAST = (
    -62_135_000_000.0,
    253_402_000_000.0,
)  # a day within what calendars know, in any zone


def stamp(seconds: float) -> str:
    """A moment in UTC, in whole seconds."""
    from datetime import UTC, datetime  # a search only reads confidence, and mostly of no memory

    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def fine_stamp(seconds: float) -> str:
    """The same to the millisecond, for what comes in quick succession."""
    from datetime import UTC, datetime

    moment = datetime.fromtimestamp(int(seconds * 1000) / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def seconds(stamp: object) -> float | None:
    """Seconds since the epoch of an ISO day or time; one without a zone is in UTC. None for anything else."""
    if not isinstance(stamp, str):
        return None
    from datetime import UTC, datetime

    try:
        moment = datetime.fromisoformat(stamp.strip())
        found = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError, OSError):
        return None
    return found if _FIRST <= found <= _LAST else None


def moment(given: str, now: datetime, *, ahead: bool) -> float | None:
    """What a person means by a day, a time or a span such as 7d: a day begins on the clock of `now`, and so does a time
    that names no zone; a span is counted ahead from now, or back. None for anything else."""
    from vaultmem.core import durations

    at = _clock_time(given, now)
    if at is not None:
        return at
    try:
        span = durations.seconds(given)
    except ValueError:
        return None
    return now.timestamp() + (span if ahead else -span)


def _clock_time(given: str, now: datetime) -> float | None:
    from datetime import datetime

    try:
        found = datetime.fromisoformat(given.strip())
        at = (found if found.tzinfo else found.replace(tzinfo=now.tzinfo)).timestamp()
    except (ValueError, OverflowError):
        return None
    return at if _FIRST <= at <= _LAST else None
