"""What wakes the agent's main thread: signals, and other threads.

A signal may reach any thread at any point, and a Python handler waits until the main thread runs again. So the system
itself writes the signal number into a pipe, and the main thread waits on that.
"""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from vaultmem.light import TypedDict
from vaultmem.progress import Progress

END, RESTART = int(signal.SIGTERM), int(signal.SIGHUP)
LOOK = 0  # not a signal: check whether all is well
_ENDS = (END, int(signal.SIGINT))
_MOST = 4096


class Wakeups:
    """Messages to the main thread: END, RESTART or LOOK."""

    def __init__(self) -> None:
        self._out, self._in = os.pipe()
        os.set_blocking(self._out, False)
        os.set_blocking(self._in, False)

    def send(self, order: int) -> None:
        """Send a message, from any thread."""
        os.write(self._in, bytes([order]))

    def wait(self, seconds: float) -> int | None:
        """Wait for a message and return it. END wins over simultaneous ones."""
        if not select.select([self._out], [], [], seconds)[0]:
            return None
        orders = os.read(self._out, _MOST)
        if any(order in _ENDS for order in orders):
            return END
        return RESTART if RESTART in orders else LOOK

    @contextmanager
    def from_signals(self) -> Iterator[None]:
        """Send END for SIGTERM and Ctrl-C, RESTART for SIGHUP, which is ignored while the agent ends until a
        successor listens."""
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


class Changes:
    """Counts changes by kind, for clients that wait for news."""

    KINDS = ("notes", "memories", "jobs")

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._counts = dict.fromkeys(self.KINDS, 0)
        self._is_over = False

    def count(self, kind: str) -> None:
        """Count one more change of a kind."""
        with self._changed:
            self._counts[kind] += 1
            self._changed.notify_all()

    def wait(self, seen: Mapping[str, int], seconds: float) -> dict[str, int]:
        """The counts, as soon as they differ from `seen`, or after the timeout."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_over or self._counts != seen, seconds)
            return dict(self._counts)

    def close(self) -> None:
        """Release all waiting threads."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()


# What the agent is doing now, for status and progress.


Stage = TypedDict("Stage", {"stage": str, "done": int, "total": int})
"""How far it is, as data."""


class StageProgress:
    """A Progress whose state other threads can read."""

    def __init__(self) -> None:
        self.name, self.total, self.done = "", 0, 0

    def stage(self, name: str, total: int) -> None:
        """Begin a stage."""
        self.name, self.total, self.done = name, total, 0

    def advance(self, count: int = 1) -> None:
        """Count this many more."""
        self.done += count

    def end(self) -> None:
        """Clear the stage."""
        self.name, self.total, self.done = "", 0, 0

    def as_dict(self) -> Stage | None:
        """The current stage; None when idle."""
        name, done, total = self.name, self.done, self.total
        return {"stage": name, "done": done, "total": total} if name else None


class Both:
    """A Progress that forwards to two others."""

    def __init__(self, one: Progress, other: Progress) -> None:
        self._both = one, other

    def stage(self, name: str, total: int) -> None:
        """Begin a stage."""
        for progress in self._both:
            progress.stage(name, total)

    def advance(self, count: int = 1) -> None:
        """Count this many more."""
        for progress in self._both:
            progress.advance(count)


# Background work yields while a request is answered: a person waits for the request.

LONGEST_REST = 0.02  # seconds
SHORTEST_WORK = 0.005  # seconds of work before the next rest: a note takes a fifth of a millisecond


class Throttle:
    """Counts the requests that are being answered."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._changed = threading.Condition(threading.Lock())
        self._busy = 0
        self._worker = threading.local()  # when each thread resumed after its last rest
        self.last_request = clock()

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Mark a request as being answered."""
        self.last_request = self._clock()
        with self._changed:
            self._busy += 1
        try:
            yield
        finally:
            with self._changed:
                self._busy -= 1
                if not self._busy:
                    self._changed.notify_all()

    def rest(self) -> None:
        """Called between two pieces of background work: waits while requests are answered, but never longer than it
        worked before. Under constant searching, indexing gets half of the time."""
        if not self._busy:
            return
        worked = self._clock() - getattr(self._worker, "resumed", 0.0)
        if worked < SHORTEST_WORK:
            return
        with self._changed:
            self._changed.wait_for(lambda: not self._busy, min(worked, LONGEST_REST))
        self._worker.resumed = self._clock()
