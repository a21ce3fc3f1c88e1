"""The methods of the socket: commands with their options as parameters, verbs of memories, tools, and what only the
agent can do."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from vaultmem import __version__
from vaultmem.agent.host import Host
from vaultmem.api import params as declared
from vaultmem.api import rpc as codes
from vaultmem.api.rpc import Request, RequestError
from vaultmem.api.verbs import JSON, Param, commands
from vaultmem.commands.parsing import declared as verb_of
from vaultmem.commands.remote import Command, run_words
from vaultmem.commands.tool_methods import METHODS, ToolMethods
from vaultmem.errors import NoteNotFoundError

Answer = Callable[[Request], object]

_NAME = Param("name", needed=True)
_MEMORY = (Param("verb", needed=True), Param("params", kind="any"), Param("door"))


def methods(host: Host) -> Answer:
    """Answers every request that an agent understands."""
    asked = {name: Command(host, name) for name, one in commands().items() if one.agent}
    tools = ToolMethods(host)
    table: dict[str, Answer] = {
        **{name: command.answer for name, command in asked.items()},
        "status": Command(host, "status").answer,
        "run": lambda request: run_words(
            host, {**asked, "agent": tools.command(request)}, request.params
        ),
        "sync": lambda request: host.sync(
            **_checked(request, *verb_of("sync").of(JSON)), progress=request.progress
        ),
        "index-writes": _plain(lambda: {"indexed": host.index_writes()}),
        "agent": _plain(host.status),
        "memory": lambda request: _memory(host, request),
        "memory.job": lambda request: _memory(host, request),
        "jobs": _plain(lambda: {"jobs": (listed := host.jobs()), "count": len(listed)}),
        "jobs.run": lambda request: host.run_job(str(_checked(request, _NAME)["name"])),
        "ping": _plain(lambda: {"version": __version__, "pid": os.getpid()}),
        "stop": _plain(lambda: _stop(host)),
        **dict.fromkeys(METHODS, tools.answer),
    }

    def answer(request: Request) -> object:
        with declared.asked_at(JSON):
            return _method(table, tools, request)(request)

    return answer


def _method(table: Mapping[str, Answer], tools: ToolMethods, request: Request) -> Answer:
    method = table.get(request.method)
    if method is not None:
        return method
    names = tools.names()
    if request.method in names:
        return tools.answer
    known = ", ".join(sorted([*table, *names]))
    message = f"unknown method {request.method[:40]!r}; known: {known}"
    raise RequestError(codes.UNKNOWN_METHOD, message)


def _checked(request: Request, *params: Param) -> dict[str, bool]:
    """The parameters of a request. Raises UsageError."""
    known = {one.outside: one for one in params}
    found: dict[str, bool] = declared.check_by(  # type: ignore[assignment] # as declared
        known, declared.object_of(params), request.params
    )
    return found


def _plain(work: Callable[[], object]) -> Answer:
    """A method that takes no parameters."""

    def answer(request: Request) -> object:
        _checked(request)
        return work()

    return answer


def _memory(host: Host, request: Request) -> object:
    """A verb of memories with its parameters; "memory.job" is for those that may take long."""
    given: dict[str, object] = {**_checked(request, *_MEMORY)}
    params = given.get("params", {})
    if not isinstance(params, dict):
        raise RequestError(codes.WRONG_PARAMS, '"params" must be an object')
    try:
        with declared.asked_at(str(given.get("door", JSON))), host.vault() as vault:
            return vault.ask(str(given["verb"]), **params)
    except NoteNotFoundError as error:
        raise RequestError(codes.NOT_FOUND, str(error)) from error


def _stop(host: Host) -> object:
    host.stop()
    return {"stopping": True, "pid": os.getpid()}
