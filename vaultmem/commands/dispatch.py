"""The methods of the socket: commands with their options as parameters, and what only the agent can do."""

from __future__ import annotations

import os
from collections.abc import Callable

from vaultmem import __version__
from vaultmem.agent import request as codes
from vaultmem.agent.host import Host
from vaultmem.agent.request import Request, RequestError
from vaultmem.commands.params import Params, switches, text
from vaultmem.commands.remote import Command, run_words
from vaultmem.commands.table import ASKED_OF_AGENT
from vaultmem.commands.tool_methods import METHODS, ToolMethods
from vaultmem.errors import UsageError

_SYNC = {"rebuild": False, "confirm_removals": False, "embed": False}


def methods(host: Host) -> Callable[[Request], object]:
    """Answers every request that an agent understands."""
    commands = {name: Command(host, name) for name in (*ASKED_OF_AGENT, "status")}
    asked = {name: commands[name] for name in ASKED_OF_AGENT}
    tools = ToolMethods(host)
    table: dict[str, Callable[[Request], object]] = {
        **{name: command.answer for name, command in commands.items()},
        "run": lambda request: run_words(
            host, {**asked, "agent": tools.command(request)}, request.params
        ),
        "sync": lambda request: _sync(host, request),
        "index-writes": lambda request: _index_writes(host, request.params),
        "agent": lambda request: _agent(host, request.params),
        "memory": lambda request: _memory(host, request.params),
        "memory.job": lambda request: _memory(host, request.params),
        "jobs": lambda request: _jobs(host, request.params),
        "jobs.run": lambda request: _run_job(host, request.params),
        "ping": lambda request: _ping(request.params),
        "stop": lambda request: _stop(host, request.params),
        **dict.fromkeys(METHODS, tools.answer),
    }

    def answer(request: Request) -> object:
        method = table.get(request.method)
        if method is not None:
            return method(request)
        names = tools.names()
        if request.method in names:
            return tools.answer(request)
        known = ", ".join(sorted([*table, *names]))
        said = f"unknown method {request.method[:40]!r}; known: {known}"
        raise RequestError(codes.UNKNOWN_METHOD, said)

    return answer


def _sync(host: Host, request: Request) -> object:
    wanted = switches(request.params, _SYNC)
    return host.sync(
        rebuild=wanted["rebuild"],
        confirm_removals=wanted["confirm_removals"],
        embed=wanted["embed"],
        progress=request.progress,
    )


def _index_writes(host: Host, params: Params) -> object:
    switches(params, {})
    return {"indexed": host.index_writes()}


def _agent(host: Host, params: Params) -> object:
    switches(params, {})
    return host.status()


def _memory(host: Host, params: Params) -> object:
    """A verb of memories with its parameters; "memory.job" is for those that may take long."""
    verb = text(params, "verb")
    asked = params.get("params", {})
    if not isinstance(asked, dict) or params.keys() - {"verb", "params"}:
        raise RequestError(codes.WRONG_PARAMS, 'the parameters are "verb" and "params"')
    try:
        with host.vault() as vault:
            return vault.ask(verb, **asked)
    except UsageError as error:
        raise RequestError(codes.WRONG_PARAMS, str(error)) from error


def _jobs(host: Host, params: Params) -> object:
    switches(params, {})
    listed = host.jobs()
    return {"jobs": listed, "count": len(listed)}


def _run_job(host: Host, params: Params) -> object:
    name = text(params, "name")
    switches({other: found for other, found in params.items() if other != "name"}, {})
    return host.run_job(name)


def _ping(params: Params) -> object:
    switches(params, {})
    return {"version": __version__, "pid": os.getpid()}


def _stop(host: Host, params: Params) -> object:
    switches(params, {})
    host.stop()
    return {"stopping": True, "pid": os.getpid()}
