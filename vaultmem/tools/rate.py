"""How much one client may ask for: so many calls a minute and fewer writes, in bursts if it likes."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable

from vaultmem.tools.tool import TooManyCallsError

CALLS, WRITES = 600, 60  # a minute
MOST_CLIENTS = 1_000  # remembered; who was quiet for longest is forgotten
_MINUTE = 60.0


class Limiter:
    """Counts by name. A bucket fills up again as time goes by. Any thread may take from it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._buckets: OrderedDict[tuple[str, int], tuple[float, float]] = OrderedDict()

    def take(self, names: Iterable[str], *, writes: bool) -> None:
        """Count one call for each name. Raises TooManyCallsError, and then nothing is counted."""
        limits = (CALLS, WRITES) if writes else (CALLS,)
        with self._lock:
            now = self._clock()
            taken: dict[tuple[str, int], float] = {}
            for name in names:
                for most in limits:
                    left = self._left(name, most, now)
                    if left < 1:
                        what = "writes" if most == WRITES else "calls"
                        wait = (1 - left) * _MINUTE / most
                        raise TooManyCallsError(
                            f"too many {what}: {most} a minute are let through; try again in {wait:.0f} s"
                        )
                    taken[name, most] = left - 1
            for key, left in taken.items():
                self._buckets[key] = (left, now)
                self._buckets.move_to_end(key)
            while len(self._buckets) > MOST_CLIENTS:
                self._buckets.popitem(last=False)

    def _left(self, name: str, most: int, now: float) -> float:
        left, since = self._buckets.get((name, most), (float(most), now))
        return min(float(most), left + (now - since) * most / _MINUTE)
