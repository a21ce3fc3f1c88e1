"""What happens with tools, told to whoever listens. A listener that is too slow loses events, and blocks nobody."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator, Mapping
from typing import NamedTuple

AGENT_START, AGENT_END = "agent_start", "agent_end"
TOOL_START, TOOL_END, ERROR = "tool_start", "tool_end", "error"
KINDS = (AGENT_START, AGENT_END, TOOL_START, TOOL_END, ERROR)
ROOM = 256  # events that may wait for a listener


class Event(NamedTuple):
    """One thing that happened."""

    kind: str
    client: str
    tool: str = ""
    data: Mapping[str, object] = {}  # never changed


class Subscription:
    """The events since it was made, in order; those for which there was no room are counted in `lost`."""

    def __init__(self, channel: Channel, room: int) -> None:
        self.lost = 0
        self._channel = channel
        self._waiting: queue.Queue[Event] = queue.Queue(room)

    def __enter__(self) -> Subscription:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def put(self, event: Event) -> None:
        """Hand over an event, if there is room."""
        try:
            self._waiting.put_nowait(event)
        except queue.Full:
            self.lost += 1

    def get(self, timeout: float | None = None) -> Event | None:
        """The next event; None when none comes within so many seconds."""
        try:
            return self._waiting.get(timeout=timeout)
        except queue.Empty:
            return None

    def waiting(self) -> Iterator[Event]:
        """What has happened until now."""
        while True:
            try:
                yield self._waiting.get_nowait()
            except queue.Empty:
                return

    def close(self) -> None:
        """Hear no more."""
        self._channel.leave(self)


class Channel:
    """Tells every subscription of every event. Any thread may tell."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners: tuple[Subscription, ...] = ()

    def subscribe(self, room: int = ROOM) -> Subscription:
        """Hear of what happens from now on."""
        new = Subscription(self, max(1, room))
        with self._lock:
            self._listeners = (*self._listeners, new)
        return new

    def leave(self, gone: Subscription) -> None:
        """Tell it no more."""
        with self._lock:
            self._listeners = tuple(one for one in self._listeners if one is not gone)

    def tell(self, event: Event) -> None:
        """Tell everybody who listens now."""
        for listener in self._listeners:
            listener.put(event)
