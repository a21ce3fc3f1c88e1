"""The current time, for everything except file ages and waiting times.

VAULTMEM_NOW sets the clock of a process, for tests and for simulations of weeks: an ISO 8601 time (local without an
offset) or seconds since the epoch, from which the clock runs on. Outside tests (VAULTMEM_TESTS=1) the agent refuses
to start with it.
"""

from __future__ import annotations

import os
import time

from vaultmem.errors import UsageError
from vaultmem.text.values import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

NAME = "VAULTMEM_NOW"
_DAY, _LAST_YEAR = 86_400, 9_000  # of the years after it, a reminder or decay may pass the last one
_own_zone = os.environ.get("TZ")
# The setting last read, and its offset from the real clock.
_offset: tuple[str, float] = ("", 0.0)


def seconds() -> float:
    """Seconds since the epoch."""
    value = os.environ.get(NAME, "")
    return time.time() + _distance(value) if value else time.time()


def local() -> datetime:
    """The local time, with its offset."""
    from datetime import datetime

    return datetime.fromtimestamp(seconds()).astimezone()


def use_zone(name: str) -> None:
    """Use a time zone for all local times of this process; "" restores the original one."""
    zone = name or _own_zone
    if os.environ.get("TZ") == zone or not hasattr(time, "tzset"):
        return
    if zone is None:
        del os.environ["TZ"]
    else:
        os.environ["TZ"] = zone
    time.tzset()


def check() -> None:
    """Raise UsageError for a clock or a time zone with which no local time can be written."""
    local_time = time.localtime(seconds())
    if abs(local_time.tm_gmtoff) >= _DAY:
        raise UsageError(
            f"the time zone {os.environ.get('TZ')!r} is a day from UTC; set TZ, such as TZ=Europe/Berlin"
        )
    if not 1 < local_time.tm_year < _LAST_YEAR:
        raise UsageError(f"the clock shows the year {local_time.tm_year}; set it right")


def is_set() -> bool:
    """Whether the clock is not the real one."""
    return bool(os.environ.get(NAME))


def _distance(setting: str) -> float:
    global _offset  # noqa: PLW0603 - read once for each value
    if _offset[0] != setting:
        _offset = setting, _parse(setting) - time.time()
    return _offset[1]


def _parse(setting: str) -> float:
    from datetime import datetime

    try:
        return float(setting)
    except ValueError:
        pass
    try:
        return datetime.fromisoformat(setting).timestamp()
    except (ValueError, OverflowError, OSError) as error:
        raise UsageError(
            f"{NAME} is not a time ({setting}); write it like 2026-11-22T09:00"
        ) from error
