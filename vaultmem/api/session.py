"""A client's session with the tools, and the events of tools. A slow listener loses events but never blocks a call."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator, Mapping

from vaultmem.api.tool import ASSISTANT, Call, Outcome, client_name
from vaultmem.errors import VaultmemError
from vaultmem.light import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from vaultmem.adapter import JsonObject
    from vaultmem.api import Vault
    from vaultmem.api.toolbox import Toolbox

AGENT_START, AGENT_END = "agent_start", "agent_end"
TOOL_START, TOOL_END, ERROR = "tool_start", "tool_end", "error"
KINDS = (AGENT_START, AGENT_END, TOOL_START, TOOL_END, ERROR)
ROOM = 256  # events that are held for a listener
MOST_QUERY = 2_000  # characters of a prompt


class Event(NamedTuple):
    """One event."""

    kind: str
    client: str
    tool: str = ""
    data: Mapping[str, object] = {}  # never changed


class Subscription:
    """The events since it was created, in order; `lost` counts those for which there was no room."""

    def __init__(self, leave: Callable[[Subscription], object], room: int) -> None:
        self.lost = 0
        self._leave = leave
        self._events: queue.Queue[Event] = queue.Queue(room)

    def __enter__(self) -> Subscription:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def put(self, event: Event) -> None:
        """Add an event, if there is room."""
        try:
            self._events.put_nowait(event)
        except queue.Full:
            self.lost += 1

    def get(self, timeout: float | None = None) -> Event | None:
        """The next event; None if none arrives in time."""
        try:
            return self._events.get(timeout=timeout)
        except queue.Empty:
            return None

    def waiting(self) -> Iterator[Event]:
        """The queued events."""
        while not self._events.empty():
            yield self._events.get_nowait()

    def close(self) -> None:
        """End the subscription."""
        self._leave(self)


class Session:
    """Use it with `with`: it announces its start and its end.

    with Vault("~/notes") as vault, Session(Toolbox(), vault, "my agent") as session:
        session.inject_context("the flat in Lisbon")
        print(session.call("memory_search", {"query": "rent"}).text)
    """

    def __init__(self, toolbox: Toolbox, vault: Vault, client: str = ASSISTANT) -> None:
        self.toolbox, self.vault, self.client = toolbox, vault, client_name(client)
        self.context = ""
        self._is_new = False  # the context is for the next call

    def __enter__(self) -> Session:
        self.toolbox.tell(Event(AGENT_START, self.client))
        return self

    def __exit__(self, *_: object) -> None:
        self.toolbox.tell(Event(AGENT_END, self.client))

    def inject_context(self, query: str) -> str:
        """Recall for a query; calls pass the result to tools and hooks, and the next outcome begins with it."""
        from vaultmem.api.memory_tools import recall

        call = Call("memory_recall", {"query": query[:MOST_QUERY]}, self.client)
        try:
            self.context = recall(self.vault, call).text
        except VaultmemError as error:
            self.toolbox.tell(Event(ERROR, self.client, "", {"error": str(error)}))
            raise
        self._is_new = True
        return self.context

    def call(self, name: str, arguments: JsonObject | None = None) -> Outcome:
        """Call a tool; raises like Toolbox.call()."""
        call = Call(name, arguments or {}, self.client, self.context)
        outcome = self.toolbox.call(self.vault, call)
        if not self._is_new:
            return outcome
        self._is_new = False
        return outcome._replace(text=f"{self.context}\n\n{outcome.text}")
