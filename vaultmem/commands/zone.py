"""The time zone of the settings, for the process of a command."""

from __future__ import annotations

import os
import time

_given = os.environ.get("TZ")


def use_zone(name: str) -> None:
    """Have all local times of this process in that zone; "" for the one it began with."""
    wanted = name or _given
    if os.environ.get("TZ") == wanted or not hasattr(time, "tzset"):
        return
    if wanted is None:
        del os.environ["TZ"]
    else:
        os.environ["TZ"] = wanted
    time.tzset()
