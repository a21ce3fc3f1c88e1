"""What a tool is: its name and schema, a call of it, and what comes out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from vaultmem.api.request import BUSY
from vaultmem.errors import UsageError, VaultmemError
from vaultmem.memories.model import Viewer, viewer

if TYPE_CHECKING:
    from vaultmem.api import Vault

ASSISTANT = "assistant"  # the client that says no name

Schema = Mapping[str, object]


class UnknownToolError(UsageError):
    """No tool has that name."""


class BlockedError(VaultmemError):
    """A hook did not let the call through."""


class TooManyCallsError(VaultmemError):
    """A client asks for more than is good for its neighbours."""

    code = BUSY


class Annotations(NamedTuple):
    """What a client may assume before it asks its user."""

    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False


class Call(NamedTuple):
    """One call. `arguments` fit the schema; `client` is who asks; `context` is what the session knows already."""

    name: str
    arguments: Mapping[str, object]
    client: str = ASSISTANT
    context: str = ""
    peer: str = ""  # the process at the other end of a socket

    @property
    def viewer(self) -> Viewer:
        """Who asks: the client, and the conversation or user that it names as its scope."""
        return viewer(self.client, [self.text("scope")])

    def text(self, name: str, default: str = "") -> str:
        """An argument that is text."""
        given = self.arguments.get(name)
        return given if isinstance(given, str) else default

    def number(self, name: str) -> int:
        """An argument that is a whole number."""
        given = self.arguments.get(name)
        return int(given) if isinstance(given, (int, float)) else 0

    def flag(self, name: str, *, default: bool = False) -> bool:
        """An argument that is true or false."""
        return self.arguments.get(name, default) is True

    def texts(self, name: str) -> list[str]:
        """An argument that is a list of texts."""
        given = self.arguments.get(name)
        return [one for one in given if isinstance(one, str)] if isinstance(given, list) else []


class Outcome(NamedTuple):
    """What a tool says: text, the full answer for a model, and the ids and places in it as data for programs. No door
    sends the same words twice."""

    text: str
    data: Mapping[str, object]


class Block(NamedTuple):
    """What a hook returns that does not let a call through."""

    reason: str


Run = Callable[["Vault", Call], Outcome]


class Tool(NamedTuple):
    """One tool. `run` gets an open vault and a call that fits the schema; it raises VaultmemError in one clear line."""

    name: str
    title: str  # for people, where the name does not say it; or ""
    description: str
    schema: Schema
    annotations: Annotations
    run: Run
    quiet: tuple[
        str, ...
    ] = ()  # parameters that are taken and not listed: few need them, and all pay for the list
