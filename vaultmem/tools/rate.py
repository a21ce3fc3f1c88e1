"""How much one client may ask for, and all of them: so many calls a minute and fewer writes, in bursts if they like."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator

from vaultmem.tools.tool import TooManyCallsError

CALLS, WRITES = 600, 60  # a minute
# For all together: what a few busy clients need. A name can be made up, and a process started for each call.
ALL_CALLS, ALL_WRITES = 6_000, 600
MOST_CLIENTS = 1_000  # remembered; who was quiet for longest is forgotten
_MINUTE = 60.0
_ALL = ""  # the name of everybody


class Limiter:
    """Counts by name. A bucket fills up again as time goes by. Any thread may take from it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._buckets: OrderedDict[tuple[str, int], tuple[float, float]] = OrderedDict()

    def take(self, names: Iterable[str], *, writes: bool) -> None:
        """Count one call for each name, and for all. Raises TooManyCallsError, and then nothing is counted."""
        with self._lock:
            now = self._clock()
            taken: dict[tuple[str, int], float] = {}
            for name, most in _limits(names, writes=writes):
                left = self._left(name, most, now)
                if left < 1:
                    what = "writes" if most in (WRITES, ALL_WRITES) else "calls"
                    whose = " of all clients together" if name == _ALL else ""
                    wait = math.ceil((1 - left) * _MINUTE / most)
                    raise TooManyCallsError(
                        f"too many {what}{whose}: {most} a minute are let through; try again in {wait} s"
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


def _limits(names: Iterable[str], *, writes: bool) -> Iterator[tuple[str, int]]:
    """Each name with each of its limits; the limit of all comes last, so that it is told only where no other is."""
    given = [name for name in names if name]
    for name in given:
        yield from ((name, most) for most in ((CALLS, WRITES) if writes else (CALLS,)))
    yield from ((_ALL, most) for most in ((ALL_CALLS, ALL_WRITES) if writes else (ALL_CALLS,)))
