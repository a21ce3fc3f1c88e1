"""Both ends of a conversation in lines: what comes in on a file handle, and what goes out on another.

Light: it loads nothing but what Python has built in.
"""

from __future__ import annotations

import os
import select
import time
from _thread import allocate_lock

MOST = 1_000_000  # bytes of a line
_PART = 65_536
_SENT = 16_384  # bytes at once: who reads at all, reads so much soon
_HUNG_UP = getattr(select, "POLLHUP", 0) | getattr(select, "POLLRDHUP", 0)


class Lines:
    """The lines of a file handle, as they come."""

    def __init__(self, handle: int) -> None:
        self.handle = handle
        self.is_over = False
        self._held = bytearray()
        self._skips = False

    def fill(self) -> None:
        """Read once; waits where nothing has come."""
        part = os.read(self.handle, _PART)
        self.is_over = not part
        self._held += part
        if len(self._held) > MOST and b"\n" not in self._held:
            self._skips = True
            self._held.clear()

    def ready(self) -> list[bytes]:
        """The lines that have come whole and are not empty, without their ends; with the end, also the last half one.
        One that is too long comes as one byte more than may be, whatever was in it."""
        *lines, rest = self._held.split(b"\n")
        self._held = bytearray() if self.is_over else rest
        if self.is_over:
            lines.append(rest)
        found = []
        for line in lines:
            skipped, self._skips = self._skips, False
            if skipped or len(line) > MOST:
                found.append(b" " * (MOST + 1))
            elif line.strip():
                found.append(bytes(line))
        return found

    def has_come(self) -> bool:
        """Whether there is more to read at once."""
        return not self.is_over and bool(select.select([self.handle], [], [], 0)[0])

    def is_hung_up(self) -> bool:
        """Whether nothing more can come: also where what came before that has not been read."""
        if self.is_over or not _HUNG_UP:
            return self.is_over
        asked = select.poll()
        asked.register(self.handle, _HUNG_UP)
        return bool(asked.poll(0))


class Out:
    """The lines to a client: whole ones, whichever thread sends them. A client that is gone gets none."""

    def __init__(self, handle: int) -> None:
        self.is_over = False
        self._handle = handle
        self._lock = allocate_lock()
        self._stuck_since: float | None = None

    def send(self, lines: list[str]) -> None:
        """Send lines; waits for a client that is slow to read."""
        text = "".join(f"{each}\n" for each in lines)
        data = memoryview(text.encode("utf-8", "backslashreplace"))
        with self._lock:
            while data and not self.is_over:
                self._stuck_since = time.monotonic()
                try:
                    data = data[os.write(self._handle, data[:_SENT]) :]
                except OSError:
                    self.is_over = True
            self._stuck_since = None

    def stuck(self) -> float:
        """For how many seconds the client has read nothing of what it is being sent."""
        since = self._stuck_since
        return 0.0 if since is None else time.monotonic() - since
