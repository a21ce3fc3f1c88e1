"""How much of the processor something takes. Wall time is never asserted, and the processor's own with patience: where
others use the machine, too, the same work may take ten times as long for a while. Something passes at the first good
try of some; what is truly slow is slow at each of them."""

import time
from collections.abc import Callable

TRIES = 5
NOISE = 0.01  # seconds; what takes less says nothing


def takes_less(seconds: float, work: Callable[[], object]) -> bool:
    """Whether it takes less, for what would take minutes if it were wrong. Allow many times what it takes at rest."""
    return _at_some_try(lambda: spent(work) < seconds)


def is_linear(work: Callable[[int], object], small: int, large: int) -> bool:
    """Whether it takes time in proportion to a size, three times as much being noise. Let `large` be eight times `small`
    or more: what is quadratic then takes 64 times as long."""

    def in_proportion() -> bool:
        last, most = spent(lambda: work(large)), 3 * large / small
        return last < most * NOISE or last < most * spent(lambda: work(small))

    return _at_some_try(in_proportion)


def spent(work: Callable[[], object]) -> float:
    """Seconds of the processor that this thread spends on it."""
    started = time.thread_time()
    work()
    return time.thread_time() - started


def _at_some_try(holds: Callable[[], bool]) -> bool:
    for attempt in range(TRIES):
        time.sleep(attempt)  # 0 at first; a machine that stalls may have stopped to
        if holds():
            return True
    return False
