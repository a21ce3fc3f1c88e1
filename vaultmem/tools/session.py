"""A session: one client that works with the tools of one vault, and what it was told at the beginning."""

from __future__ import annotations

from collections.abc import Mapping

from vaultmem.errors import VaultmemError
from vaultmem.text.values import TYPE_CHECKING
from vaultmem.tools import events, recalled
from vaultmem.tools.events import Event
from vaultmem.tools.tool import ASSISTANT, Call, Outcome
from vaultmem.tools.toolbox import Toolbox, client_name

if TYPE_CHECKING:
    from vaultmem.api import Vault


class Session:
    """Use it with `with`: it tells when it begins and ends.

    with Vault("~/notes") as vault, Session(Toolbox(), vault, "my agent") as session:
        session.inject_context("the flat in Lisbon")
        print(session.call("memory_search", {"query": "rent"}).text)
    """

    def __init__(self, toolbox: Toolbox, vault: Vault, client: str = ASSISTANT) -> None:
        self.toolbox, self.vault, self.client = toolbox, vault, client_name(client)
        self.context = ""
        self._is_told = True

    def __enter__(self) -> Session:
        self.toolbox.tell(Event(events.AGENT_START, self.client))
        return self

    def __exit__(self, *_: object) -> None:
        self.toolbox.tell(Event(events.AGENT_END, self.client))

    def inject_context(self, query: str) -> str:
        """Recall what is known about a query. The block is kept: tools and hooks find it in the call, and it stands
        before what the next call says."""
        try:
            asked = {"query": query[: recalled.MOST_QUERY]}
            self.context = recalled.recall(
                self.vault, Call("memory_recall", asked, self.client)
            ).text
        except VaultmemError as error:
            self.toolbox.tell(Event(events.ERROR, self.client, "", {"error": str(error)}))
            raise
        self._is_told = False
        return self.context

    def call(self, name: str, arguments: Mapping[str, object] | None = None) -> Outcome:
        """Call a tool; errors as Toolbox.call()."""
        asked = Call(name, arguments or {}, self.client, self.context)
        outcome = self.toolbox.call(self.vault, asked)
        if self._is_told:
            return outcome
        self._is_told = True
        return outcome._replace(text=f"{self.context}\n\n{outcome.text}")
