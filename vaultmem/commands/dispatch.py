"""The methods of the socket: commands with options as parameters or words, memory verbs, tools, MCP, and what only
the agent can do. `python -m vaultmem.commands.dispatch VAULT` answers keyword searches in a process of its own, for
the HTTP door while many wait for the agent."""

from __future__ import annotations

import gc
import logging
import os
import sys
import threading
from collections.abc import Callable
from itertools import groupby

from vaultmem import __version__, config
from vaultmem.api import Vault, rpc
from vaultmem.api.params import Declared, at_door, in_json
from vaultmem.api.rpc import Request, RequestError
from vaultmem.api.verbs import COMMAND, JSON, Param, commands, find_verb, resolve_command
from vaultmem.commands import tool_calls
from vaultmem.commands.parsing import from_params, parse
from vaultmem.commands.rendering import ask
from vaultmem.errors import StateError, UsageError, VaultmemError
from vaultmem.index.state import State
from vaultmem.light import GARBAGE, TYPE_CHECKING
from vaultmem.output import Captured, Output, Parts, Streams, json_text
from vaultmem.progress import report_to
from vaultmem.service.agent_health import freshness

if TYPE_CHECKING:
    from types import SimpleNamespace as Namespace

    from vaultmem.adapter import JsonObject
    from vaultmem.agent.agent import Agent
    from vaultmem.api.toolbox import Toolbox, ToolService
    from vaultmem.search.search import Searcher

Answer = Callable[[Request], object]
Texts = list[tuple[str, str]]  # the name of a stream, and a text
MOST_COLUMNS = 10_000

CHANGES_WITHIN = 20.0  # seconds that a request waits for a change

_NAME = Declared([Param("name", needed=True)])
_SEEN = Declared([Param("seen", kind="any")])
_MEMORY = Declared([Param("verb", needed=True), Param("params", kind="any"), Param("door")])
_NOTHING = Declared([])


def methods(host: Agent) -> Answer:
    """Answers every request that an agent understands."""
    return _Dispatcher(host).answer


class _Dispatcher:
    """The toolbox is built on first use and reused."""

    def __init__(self, host: Agent) -> None:
        self._host = host
        self._lock = threading.Lock()
        self._toolbox: Toolbox | None = None
        self._readers = {name for name, verb in commands().items() if verb.agent}
        self._table: dict[str, Answer] = {
            **dict.fromkeys(self._readers, self._command),
            "status": self._command,
            "run": self._run_words,
            "sync": lambda request: host.sync(
                **in_json("sync").check(request.params),  # type: ignore[arg-type] # as declared
            ),
            "index-writes": _plain(lambda: {"indexed": host.index_writes()}),
            "agent": _plain(host.status),
            "freshness": _plain(lambda: freshness(State(host.folder))),
            "memory": self._memory,
            "memory.job": self._memory,
            "jobs": _plain(lambda: {"jobs": (listed := host.jobs()), "count": len(listed)}),
            "jobs.run": lambda request: host.run_job(str(_NAME.check(request.params)["name"])),
            "changes": self._changes,
            "ping": _plain(lambda: {"version": __version__, "pid": os.getpid()}),
            "stop": _plain(self._stop),
            **dict.fromkeys(("tools/list", "tools/call", "prompt"), self._tool),
            "mcp": self._mcp,
        }

    def answer(self, request: Request) -> object:
        """The result of a request."""
        with at_door(JSON), report_to(request.progress):
            return self._method(request.method)(request)

    def _method(self, name: str) -> Answer:
        if name in self._table:
            return self._table[name]
        tools = [tool.name for tool in self._tools().tools()]
        if name in tools:
            return self._tool
        method_names = ", ".join(sorted([*self._table, *tools]))
        raise RequestError(
            rpc.UNKNOWN_METHOD, f"unknown method {name[:40]!r}; known: {method_names}"
        )

    def _stop(self) -> object:
        self._host.stop()
        return {"stopping": True, "pid": os.getpid()}

    def _changes(self, request: Request) -> object:
        """The counts of changes to notes, memories and jobs, as soon as they exceed those in "seen"."""
        seen: object = _SEEN.check(request.params).get("seen") or {}
        if not isinstance(seen, dict):
            raise RequestError(rpc.WRONG_PARAMS, '"seen" must be an object')
        return self._host.changes.wait(seen, CHANGES_WITHIN)

    def _memory(self, request: Request) -> object:
        """Run a memory verb with its parameters; "memory.job" is for verbs that may take long."""
        arguments = _MEMORY.check(request.params)
        params = arguments.get("params", {})
        if not isinstance(params, dict):
            raise RequestError(rpc.WRONG_PARAMS, '"params" must be an object')
        at = str(arguments.get("door", JSON))
        with at_door(at), self._host.vault() as vault:
            return vault.ask(str(arguments["verb"]), **params)

    # --- tools

    def _tools(self) -> Toolbox:
        with self._lock:
            if self._toolbox is None:
                from vaultmem.api.toolbox import Toolbox

                self._toolbox = Toolbox()
            return self._toolbox

    def _service(self, request: Request) -> ToolService:
        from vaultmem.api.toolbox import ToolService

        return ToolService(self._tools(), self._host.vault, request.peer)

    def _tool(self, request: Request) -> object:
        return self._service(request).answer(request.method, request.params)

    def _mcp(self, request: Request) -> object:
        """One line of the Model Context Protocol, for a process that only forwards lines."""
        from vaultmem.api.mcp import Protocol, Settled

        line, settled = request.text("line"), Settled.of(request.params.get("settled"))
        service, params = self._service(request), request.params
        if isinstance(client := params.get("client"), str):
            # From another door, which knows the client.
            service = service.of_client(client, reads_only=params.get("reads_only") is True)
        lines, settled = Protocol(service).answer(line, settled)
        return {"lines": lines, "settled": settled.as_json()}

    # --- commands

    def _command(self, request: Request) -> object:
        """The JSON that a reading command prints, for options given by their long names."""
        with self._host.vault() as vault:
            return _answer(vault, request.method, request.params)

    def _run_words(self, request: Request) -> object:
        """The method `run`: run the words of a command line, and return its output. Refuses what the agent cannot do
        exactly as the caller's own process would: invalid words (they may ask for help), other settings."""
        params, name = request.params, request.text("command")
        if name not in self._readers and name != "agent":
            raise _refusal("not a command that only reads")
        if params.get("version") != __version__:
            raise _refusal(f"the agent is vaultmem {__version__}")
        if params.get("environ") != self._host.settings_signature():
            raise _refusal("the agent has other settings in its environment")
        words = params.get("words")
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise RequestError(rpc.WRONG_PARAMS, '"words" must be a list of texts')
        try:
            args = parse(name, words)
            self._check_own(args, request.text("cwd"))
            stdin = params.get("given")
            stdin = stdin if isinstance(stdin, str) else None
            args.caller = request.text("cwd"), stdin or ""
            parts: Texts = []
            output = _output(parts, params, args.format)
            if name == "agent":
                code = tool_calls.run_here(args, output, self._service(request), stdin)
            else:
                code = self._carry_out(args, output)
        except UsageError as error:
            raise _refusal(str(error)) from error
        turns = groupby(parts, key=lambda part: part[0])
        return {
            "code": code,
            "parts": [(name, "".join(text for _, text in turn)) for name, turn in turns],
        }

    def _carry_out(self, args: Namespace, output: Output) -> int:
        try:
            with self._host.vault() as args.vault:
                return _run(args, output)
        except (UsageError, StateError):  # the caller may do better, and explains it better
            raise
        except VaultmemError as error:
            output.error(str(error))
            return error.exit_code

    def _check_own(self, args: Namespace, cwd: str) -> None:
        if getattr(args, "open", False) or getattr(args, "batch", False):
            raise _refusal("the caller's own process is needed")
        if args.vault:
            named = os.path.join(cwd, os.path.expanduser(args.vault))
            if "\0" in named or os.path.realpath(named) != os.path.realpath(self._host.folder):
                raise _refusal("the agent has another vault")


def _plain(work: Callable[[], object]) -> Answer:
    """A method that takes no parameters."""

    def answer(request: Request) -> object:
        _NOTHING.check(request.params)
        return work()

    return answer


def _answer(vault: Vault, name: str, params: JsonObject) -> object:
    output, args = Captured(), from_params(name, params)
    args.vault = vault
    _run(args, output)
    return output.value


def _run(args: Namespace, output: Output) -> int:
    """Run a command with an open vault. Returns its exit code."""
    verb = find_verb(args.command)
    with at_door(COMMAND):
        if verb.command:
            return int(resolve_command(verb.command)(args, output))
        return ask(args, output)


def _refusal(why: str) -> RequestError:
    return RequestError(rpc.UNKNOWN_METHOD, f"ask yourself: {why}")


def _output(parts: Texts, params: JsonObject, form: str) -> Output:
    """An Output that collects parts for the caller's terminal."""
    terminal, colour, links = (params.get(key) is True for key in ("terminal", "colour", "links"))
    columns = params.get("columns")
    columns = columns if isinstance(columns, int) and 0 < columns < MOST_COLUMNS else 0
    out, err = Parts("out", parts), Parts("err", parts)
    return Output(form, Streams(out, err, terminal, colour, columns, links))


# A process that only searches: request lines on stdin, reply lines on stdout, as on the socket.


class OpenVault(Vault):
    """A vault that stays open between requests. The sender first has the agent index earlier writes."""

    def __exit__(self, *_error: object) -> None:
        """Do nothing: the next request needs the index, too."""

    def searcher(self) -> Searcher:
        """The open index; answer() rebuilds it if it is damaged."""
        return self._refresh()


def reply(vault: Vault, line: bytes) -> str:
    """The reply line to a search request."""
    request = rpc.parse(line.decode())
    assert isinstance(request, dict)
    try:
        answer = {"result": _answer(vault, "search", request["params"])}
    except VaultmemError as error:
        answer = {"error": rpc.as_json(error)}
    return json_text({"id": request["id"], **answer})


def main() -> None:
    """Answer until stdin ends or the settings change."""
    gc.set_threshold(*GARBAGE)
    logging.disable()
    vault = OpenVault(sys.argv[1])
    settings = config.signature(vault.path)
    lines, replies = open(0, "rb", buffering=0), sys.stdout.buffer  # noqa: SIM115 - for as long as we run
    while (line := lines.readline()) and settings == config.signature(vault.path):
        replies.write(f"{reply(vault, line)}\n".encode())
        replies.flush()


if __name__ == "__main__":
    main()
