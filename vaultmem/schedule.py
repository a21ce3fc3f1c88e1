"""Schedules in local time: the time zone of this computer, and the next time of a schedule."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo

from vaultmem.light import TYPE_CHECKING
from vaultmem.text import times
from vaultmem.text.times import Cron

if TYPE_CHECKING:
    from apscheduler.triggers.base import BaseTrigger

_WEEKDAYS = "sun mon tue wed thu fri sat".split()  # APScheduler counts weekdays from Monday
_TICK = timedelta(microseconds=1)


class LocalZone(tzinfo):
    """The time zone of this computer, including daylight saving changes: datetime.now(LocalZone()).

    datetime.now().astimezone() has only the current offset, which is wrong after the next change.
    """

    def utcoffset(self, when: datetime | None) -> timedelta:
        """The offset at a local time."""
        local = (when or datetime.now(UTC)).replace(tzinfo=None, microsecond=0)
        # Not astimezone(): since Python 3.12 it maps a skipped hour to the one before.
        return local - datetime.fromtimestamp(local.timestamp(), UTC).replace(tzinfo=None)

    def dst(self, when: datetime | None) -> timedelta | None:  # noqa: ARG002 - as tzinfo has it
        """Unknown, and not needed."""
        return None

    def tzname(self, when: datetime | None) -> str | None:
        """The system's name of the zone at that time."""
        return when.replace(tzinfo=None).astimezone().tzname() if when else None

    def fromutc(self, when: datetime) -> datetime:
        """The local time of a moment."""
        at = when.replace(tzinfo=UTC).timestamp()
        return datetime.fromtimestamp(at).replace(tzinfo=self)  # noqa: DTZ006 - it knows an hour that comes twice


def next_time(
    schedule: str, counted_from: float | None, now: float, timezone: tzinfo | None = None
) -> float | None:
    """When a job runs next, in seconds since the epoch: the first time after its last run, or now if that has passed.

    A job that never ran counts from now, as does one whose last run is in the future. None for "off".
    """
    parsed = times.read_schedule(schedule)
    if parsed is None:
        return None
    start = now if counted_from is None else min(counted_from, now)
    due = _next_by_cron(parsed, start, timezone) if isinstance(parsed, Cron) else start + parsed
    return None if due is None else max(due, now)


def _next_by_cron(cron: Cron, start: float, timezone: tzinfo | None) -> float | None:
    """The first matching time after `start`. Of an hour that occurs twice in autumn, only the first counts, unless
    the hour is left open; a time skipped in spring moves by an hour."""
    zone = timezone or LocalZone()
    trigger = _cron_trigger(cron, zone)
    due: datetime | None = datetime.fromtimestamp(start, zone)
    while due is not None:
        due = trigger.get_next_fire_time(None, (due.astimezone(UTC) + _TICK).astimezone(zone))
        if due is not None and (cron.hourly or not due.fold):
            return due.timestamp()
    return None


def _cron_trigger(cron: Cron, zone: tzinfo) -> BaseTrigger:
    from apscheduler.triggers.combining import OrTrigger  # imports asyncio
    from apscheduler.triggers.cron import CronTrigger

    days: dict[str, str] = {"day": _listed(cron.day)}
    weekdays: dict[str, str] = {"day_of_week": ",".join(_WEEKDAYS[n] for n in cron.weekday)}
    rest = {
        "month": _listed(cron.month),
        "hour": _listed(cron.hour),
        "minute": _listed(cron.minute),
    }
    fits = [days, weekdays] if cron.either else [days | weekdays]
    return OrTrigger([CronTrigger(**rest, **fit, timezone=zone) for fit in fits])


def _listed(numbers: list[int]) -> str:
    return ",".join(map(str, numbers))
