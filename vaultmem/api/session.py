"""A client's session with the tools, and the events of tools."""

from __future__ import annotations

from collections.abc import Mapping

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
MOST_QUERY = 2_000  # characters of a prompt


class Event(NamedTuple):
    """One event."""

    kind: str
    client: str
    tool: str = ""
    data: Mapping[str, object] = {}  # never changed


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
