"""What wakes the agent's main thread: signals, and other threads.

A signal may come to any thread and in the middle of anything; a handler in Python waits until the main thread
runs again. So the system itself writes the number of the signal into a pipe, and the main thread waits there.
"""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager

END, ANEW = int(signal.SIGTERM), int(signal.SIGHUP)
LOOK = 0  # no signal: whether all is well
_ENDS = (END, int(signal.SIGINT))
_MOST = 4096


class Bell:
    """Rung by END, ANEW or LOOK."""

    def __init__(self) -> None:
        self._out, self._in = os.pipe()
        os.set_blocking(self._out, False)
        os.set_blocking(self._in, False)

    def ring(self, order: int) -> None:
        """From any thread."""
        os.write(self._in, bytes([order]))

    def heard(self, seconds: float) -> int | None:
        """Wait so long; what it was rung for. An END counts more than what came with it."""
        if not select.select([self._out], [], [], seconds)[0]:
            return None
        orders = os.read(self._out, _MOST)
        if any(order in _ENDS for order in orders):
            return END
        return ANEW if ANEW in orders else LOOK

    @contextmanager
    def rung_by_signals(self) -> Iterator[None]:
        """SIGTERM and Ctrl-C ring END, SIGHUP rings ANEW. In the end SIGHUP is ignored, also by the program
        that takes this one's place, until that listens."""
        numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        before = {number: signal.signal(number, lambda *_: None) for number in numbers}
        signal.set_wakeup_fd(self._in, warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, before[number])
            signal.set_wakeup_fd(-1)

    def close(self) -> None:
        """Ring no more."""
        os.close(self._out)
        os.close(self._in)
