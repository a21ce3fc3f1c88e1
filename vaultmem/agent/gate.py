"""Background work steps aside while a request is answered: a person waits for the one, nobody for the other."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LONGEST_REST = 0.02  # seconds
SHORTEST_WORK = 0.005  # seconds of work before the next rest: a note takes a fifth of a millisecond


class Gate:
    """Counts the requests that are being answered."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._changed = threading.Condition(threading.Lock())
        self._busy = 0
        self._worker = threading.local()  # when each thread went on after its last rest
        self.last_request = clock()

    @contextmanager
    def answering(self) -> Iterator[None]:
        """While a request is answered."""
        self._enter()
        self.last_request = self._clock()
        try:
            yield
        finally:
            self._leave()

    @contextmanager
    def stepping_out(self) -> Iterator[None]:
        """While a request waits for background work: that must not step aside for it."""
        self._leave()
        try:
            yield
        finally:
            self._enter()

    def _enter(self) -> None:
        with self._changed:
            self._busy += 1

    def _leave(self) -> None:
        with self._changed:
            self._busy -= 1
            if not self._busy:
                self._changed.notify_all()

    def rest(self) -> None:
        """To be called between two pieces of background work: waits while requests are answered, but never
        for longer than was worked before. Under steady searching the index gets half of the time."""
        if not self._busy:
            return
        worked = self._clock() - getattr(self._worker, "resumed", 0.0)
        if worked < SHORTEST_WORK:
            return
        with self._changed:
            self._changed.wait_for(lambda: not self._busy, min(worked, LONGEST_REST))
        self._worker.resumed = self._clock()
