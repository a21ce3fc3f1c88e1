"""The processor time that something takes. Wall time is never asserted, and processor time only with patience: on a
shared machine the same work may take ten times as long for a while. A test passes at the first good try of several;
truly slow code is slow each time."""

import time
from collections.abc import Callable

TRIES = 5
NOISE = 0.01  # seconds; shorter times mean nothing


def takes_less(seconds: float, work: Callable[[], object]) -> bool:
    """Whether it takes less, for work that would take minutes if it were wrong. Allow many times what it takes at
    rest."""
    return _at_some_try(lambda: spent(work) < seconds)


def is_linear(work: Callable[[int], object], small: int, large: int) -> bool:
    """Whether the time is proportional to a size, with a factor of three as noise. Let `large` be at least eight
    times `small`: quadratic work then takes 64 times as long."""

    def in_proportion() -> bool:
        last, most = spent(lambda: work(large)), 3 * large / small
        return last < most * NOISE or last < most * spent(lambda: work(small))

    return _at_some_try(in_proportion)


def spent(work: Callable[[], object]) -> float:
    """Processor seconds that this thread spends on it."""
    started = time.thread_time()
    work()
    return time.thread_time() - started


def _at_some_try(holds: Callable[[], bool]) -> bool:
    for attempt in range(TRIES):
        time.sleep(attempt)  # 0 at first; a stalled machine may have counted nothing
        if holds():
            return True
    return False
