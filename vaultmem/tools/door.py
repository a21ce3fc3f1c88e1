"""What every door does alike: JSON in, a call of the toolbox on an open vault, JSON out, errors as codes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

from vaultmem.errors import UsageError
from vaultmem.text.values import TYPE_CHECKING
from vaultmem.tools import recalled
from vaultmem.tools.tool import ASSISTANT, Call, Outcome
from vaultmem.tools.toolbox import Toolbox

if TYPE_CHECKING:
    from vaultmem.api import Vault


class Door:
    """The toolbox, and how to open the vault for one request. `peer` is the process at the other end."""

    def __init__(
        self, toolbox: Toolbox, opened: Callable[[], AbstractContextManager[Vault]], peer: str = ""
    ) -> None:
        self.toolbox, self.opened, self.peer = toolbox, opened, peer

    def call(self, name: str, arguments: Mapping[str, object], client: str) -> Outcome:
        """Call a tool; errors as Toolbox.call()."""
        with self.opened() as vault:
            return self.toolbox.call(vault, Call(name, arguments, client, "", self.peer))

    def block(self, query: str, client: str) -> Outcome:
        """The `<memory>` block for a query. It counts as a call."""
        return self.call("memory_recall", {"query": query[: recalled.MOST_QUERY]}, client)

    def answer(self, method: str, params: Mapping[str, object]) -> object:
        """The methods `tools/list`, `tools/call`, `prompt` and the names of tools."""
        if method == "tools/list":
            return {"tools": self.toolbox.listed()}
        if method == "tools/call":
            return self._called(params)
        if method == "prompt":
            query = _text(params, "prompt")
            found = self.block(query, _client(params))
            return {"prompt": query, "context": found.text, **found.data}
        return _as_json(self.call(method, params, ASSISTANT))

    def _called(self, params: Mapping[str, object]) -> object:
        name = _text(params, "name")
        known = {"name", "arguments", "params", "client", "_meta"}
        if unknown := sorted(params.keys() - known):
            raise UsageError(f"unknown: {unknown[0][:40]!r}; known: name, arguments, client")
        arguments = params.get("arguments", params.get("params"))
        if arguments is not None and not isinstance(arguments, dict):
            raise UsageError('"arguments" must be an object')
        return _as_json(self.call(name, arguments or {}, _client(params)))


def _as_json(outcome: Outcome) -> dict[str, object]:
    return {"text": outcome.text, "data": outcome.data}


def _text(params: Mapping[str, object], name: str) -> str:
    found = params.get(name)
    if not isinstance(found, str) or not found.strip():
        raise UsageError(f'"{name}" must be text')
    return found


def _client(params: Mapping[str, object]) -> str:
    found = params.get("client")
    return found if isinstance(found, str) else ASSISTANT
