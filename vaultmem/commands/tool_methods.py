"""The tools as methods of the socket: `tools/list`, `tools/call`, `prompt`, every tool by its name, and `mcp`."""

from __future__ import annotations

import argparse
import threading
from typing import TYPE_CHECKING

from vaultmem.agent.host import Host
from vaultmem.api.rpc import WRONG_PARAMS, Request, RequestError
from vaultmem.commands import agent
from vaultmem.commands.remote import Command
from vaultmem.output import Output

if TYPE_CHECKING:
    from vaultmem.api.toolbox import Toolbox, ToolService
    from vaultmem.commands.parsing import Parser

METHODS = ("tools/list", "tools/call", "prompt", "mcp")


class ToolMethods:
    """The toolbox of the agent, loaded when it is first asked for."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._lock = threading.Lock()
        self._toolbox: Toolbox | None = None
        self._command = Command(host, "agent")

    def names(self) -> list[str]:
        """The tools that can be called by name."""
        return [tool.name for tool in self._loaded().tools()]

    def command(self, request: Request) -> Command:
        """`vaultmem agent` for the process that hands its words on."""
        return _Handed(self._host, self._command, self, request)

    def door(self, request: Request) -> ToolService:
        """The tools for whoever sent the request."""
        from vaultmem.api.toolbox import ToolService

        return ToolService(self._loaded(), self._host.vault, request.peer)

    def answer(self, request: Request) -> object:
        """The result of one of the methods, or of a tool."""
        door = self.door(request)
        if request.method == "mcp":
            return _conversed(door, request)
        return door.answer(request.method, request.params)

    def _loaded(self) -> Toolbox:
        with self._lock:
            if self._toolbox is None:
                from vaultmem.api.toolbox import Toolbox

                self._toolbox = Toolbox()
            return self._toolbox


class _Handed(Command):
    """The command for one request; it asks the tools of the sync agent."""

    def __init__(self, host: Host, kept: Command, tools: ToolMethods, request: Request) -> None:
        super().__init__(host, kept.name)
        self._kept, self._tools, self._request = kept, tools, request

    @property
    def parser(self) -> Parser:
        """The same for all requests."""
        return self._kept.parser

    def run(self, args: argparse.Namespace, output: Output) -> int:
        """Call the tools."""
        given = self._request.params.get("given")
        door = self._tools.door(self._request)
        return agent.run_here(args, output, door, given if isinstance(given, str) else None)


def _conversed(door: ToolService, request: Request) -> object:
    """One line of the Model Context Protocol, for a process that only hands lines on."""
    from vaultmem.api.mcp import Protocol, Settled

    line = request.params.get("line")
    if not isinstance(line, str):
        raise RequestError(WRONG_PARAMS, '"line" must be text')
    said, settled = Protocol(door).answer(line, Settled.of(request.params.get("settled")))
    return {"said": said, "settled": settled.as_json()}
