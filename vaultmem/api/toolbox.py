"""The registry of tools and the one dispatcher behind every door: checks, limits, hooks, events."""

from __future__ import annotations

import logging
import math
import re
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress

from vaultmem import plugins
from vaultmem.api import params, rpc, session
from vaultmem.api.session import Event
from vaultmem.api.tool import (
    ASSISTANT,
    Block,
    BlockedError,
    Call,
    Outcome,
    Tool,
    TooManyCallsError,
    UnknownToolError,
    client_name,
)
from vaultmem.api.verbs import JSON
from vaultmem.errors import UsageError, VaultmemError
from vaultmem.light import TYPE_CHECKING
from vaultmem.text.values import lazy, nearest

if TYPE_CHECKING:
    from queue import Queue

    from vaultmem.adapter import JsonObject
    from vaultmem.api import Vault

    Before = Callable[[Call], Block | None]
    After = Callable[[Call, Outcome], Outcome]
    OnEvent = Callable[[Event], object]

log = logging.getLogger("vaultmem.tools")

GROUP = "vaultmem.tools"  # entry points: a Tool, or a function that takes the toolbox
MOST = 1_000_000  # characters of arguments, and of an answer
MOST_TEXT = 100_000  # characters of text given to a model at once
_END = lazy(r"^(?:`{3,}|</\w+>)$", re.MULTILINE)  # of quoted text
_NAME = lazy(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")


class Toolbox:
    """Tools by name, and the hooks around them. Any thread may call. With `plain`, only our own tools."""

    def __init__(self, *, plain: bool = False, limiter: Limiter | None = None) -> None:
        from vaultmem.api.memory_tools import TOOLS

        self._tools: dict[str, Tool] = {}
        self._before: list[Before] = []
        self._after: list[After] = []
        self._on_event: list[OnEvent] = []
        self._limiter = limiter or Limiter()
        for tool in TOOLS:
            self.add(tool)
        if not plain:
            _add_installed(self)

    # --- the registry

    def add(self, tool: Tool) -> None:
        """Add a tool. Raises UsageError if the name is empty or taken."""
        if not _NAME.fullmatch(tool.name):
            raise UsageError(f"{tool.name[:40]!r} is not a valid name for a tool")
        if tool.name in self._tools:
            raise UsageError(f"a tool named {tool.name} already exists")
        self._tools[tool.name] = tool

    def tools(self) -> list[Tool]:
        """All tools, ours first."""
        return list(self._tools.values())

    def listed(self) -> list[JsonObject]:
        """All tools as JSON."""
        return [tool.to_json() for tool in self._tools.values()]

    # --- hooks

    def before(self, hook: Before) -> Before:
        """Call `hook` before each call; a Block that it returns stops the call."""
        self._before.append(hook)
        return hook

    def after(self, hook: After) -> After:
        """Let `hook` change the outcome of each call."""
        self._after.append(hook)
        return hook

    def on_event(self, hook: OnEvent) -> OnEvent:
        """Call `hook` with every event, at once and in the thread where it happens."""
        self._on_event.append(hook)
        return hook

    @contextmanager
    def subscribe(self, room: int = 256) -> Iterator[Queue[Event]]:
        """A channel with the events during the block, for any thread. One that finds it full is lost: a slow reader
        blocks no call."""
        import queue  # few subscribe

        channel: Queue[Event] = queue.Queue(room)

        def put(event: Event) -> None:
            with suppress(queue.Full):
                channel.put_nowait(event)

        self.on_event(put)
        try:
            yield channel
        finally:
            self._on_event.remove(put)

    def tell(self, event: Event) -> None:
        """Announce an event to the hooks. Any thread may tell."""
        for hook in tuple(self._on_event):
            try:
                hook(event)
            except Exception:  # the border to third-party code
                log.exception("a hook failed")

    # --- the dispatcher

    def call(self, vault: Vault, call: Call) -> Outcome:
        """Run a call. Raises VaultmemError in one clear line: UsageError for wrong arguments, BlockedError,
        TooManyCallsError. An exception in a hook becomes an error event and nothing else."""
        call = call._replace(client=client_name(call.client))
        try:
            tool = self._find(call.name)
            peer = [f"process {call.peer}"] if call.peer else []
            writes = not tool.annotations.read_only
            self._limiter.take([*peer, f"name {call.client}"], writes=writes)
            call = call._replace(arguments=params.check_object(tool.schema, call.arguments))
            if _size(call.arguments.values()) > MOST:
                raise UsageError(f"the arguments have more than {MOST:,} characters")
            for hook in self._before:
                if isinstance(block := self._run_hook("before", call, hook, call), Block):
                    raise BlockedError(f"{call.name} was blocked: {block.reason}")
            self.tell(Event(session.TOOL_START, call.client, call.name, call.arguments))
            with params.at_door(JSON):
                outcome = self._after_hooks(call, _outcome(tool, vault, call))
        except VaultmemError as error:
            self.tell(_failure(call.client, call.name, error))
            raise
        outcome = _bound(outcome)
        size = {"characters": len(outcome.text)}
        self.tell(Event(session.TOOL_END, call.client, call.name, size))
        return outcome

    def _find(self, name: str) -> Tool:
        tool = self._tools.get(name)
        if tool is None:
            near = nearest(name, self._tools)
            hint = f"did you mean {near}?" if near else f"there are {', '.join(self._tools)}"
            raise UnknownToolError(f"unknown tool {name[:40]!r}; {hint}")
        return tool

    def _after_hooks(self, call: Call, outcome: Outcome) -> Outcome:
        for hook in self._after:
            changed = self._run_hook("after", call, hook, call, outcome)
            if isinstance(changed, Outcome):
                outcome = changed
        return outcome

    def _run_hook(self, when: str, call: Call, hook: Callable[..., object], *of: object) -> object:
        try:
            return hook(*of)
        except Exception as error:  # the border to third-party code
            log.exception("a hook failed")
            self.tell(_failure(call.client, call.name, error, when))
            return None


def _size(values: Iterable[object]) -> int:
    size = 0
    for value in values:
        if isinstance(value, str):
            size += len(value)
        elif isinstance(value, (list, dict)):
            size += _size(value.values() if isinstance(value, dict) else value) + len(value)
    return size


def _outcome(tool: Tool, vault: Vault, call: Call) -> Outcome:
    try:
        return tool.run(vault, call)
    except VaultmemError as error:
        error.args = (for_tools(str(error)),)
        raise
    except Exception as error:  # the border to third-party tools, and to our own bugs
        log.exception("a tool failed")
        raise VaultmemError(f"{call.name} failed: {type(error).__name__}") from error


def _bound(outcome: Outcome) -> Outcome:
    """The outcome, cut to the size that every door accepts."""
    text, data = outcome
    if len(text) > MOST_TEXT:
        line = text.rfind("\n", MOST_TEXT - 200, MOST_TEXT)
        at = MOST_TEXT if line < 0 else line
        ends = _END.findall(text, at)[-1:]  # quoted text stays between its marks
        text = "\n".join([text[:at], *ends, f"(cut off here: {len(text):,} characters)"])
    if len(rpc.to_json(data)) > MOST * 9 // 10:
        data = {"cut": True}
    return Outcome(text, data)


def _failure(client: str, tool: str, error: Exception, hook: str = "") -> Event:
    data = {"error": f"{type(error).__name__}: {rpc.one_line(error)}"}
    return Event(session.ERROR, client, tool, {**data, "hook": hook} if hook else data)


# --- third-party tools


def _add_installed(toolbox: Toolbox) -> None:
    """Add the tools of entry points. One that cannot be loaded is reported on stderr and left out."""

    def failed(name: str, why: str) -> None:
        where = plugins.registered(GROUP)[name]
        sys.stderr.write(f"vaultmem: the tool {name} ({where}) is left out: {why}\n")

    plugins.load_each(GROUP, lambda _, loaded: _add_loaded(toolbox, loaded), failed)


def _add_loaded(toolbox: Toolbox, loaded: object) -> None:
    if isinstance(loaded, Tool):
        toolbox.add(loaded)
    elif callable(loaded):
        loaded(toolbox)
    else:
        raise TypeError(f"{type(loaded).__name__} is not a Tool")


# --- limits


class Limiter:
    """Limits calls per minute by name, and writes more strictly; bursts are allowed. Any thread may call."""

    CALLS, WRITES = 600, 60  # a minute
    # For all clients together: names can be invented, and a process started for each call.
    ALL_CALLS, ALL_WRITES = 6_000, 600
    MOST_CLIENTS = 1_000  # remembered names; the one quiet for longest is dropped

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._buckets: OrderedDict[tuple[str, str], tuple[float, float]] = OrderedDict()

    def take(self, names: Iterable[str], *, writes: bool) -> None:
        """Count one call for each name and in total. Raises TooManyCallsError, and then counts nothing."""
        with self._lock:
            now = self._clock()
            counted: dict[tuple[str, str], tuple[float, float]] = {}
            for name, what, most in self._limits(names, writes=writes):
                left, since = self._buckets.get((name, what), (float(most), now))
                left = min(float(most), left + (now - since) * most / 60)
                if left < 1:
                    whose = "" if name else " of all clients together"
                    wait = math.ceil((1 - left) * 60 / most)
                    raise TooManyCallsError(
                        f"too many {what}{whose}: {most} a minute are allowed; try again in {wait} s"
                    )
                counted[name, what] = left - 1, now
            for key, bucket in counted.items():
                self._buckets[key] = bucket
                self._buckets.move_to_end(key)
            while len(self._buckets) > self.MOST_CLIENTS:
                self._buckets.popitem(last=False)

    def _limits(self, names: Iterable[str], *, writes: bool) -> Iterator[tuple[str, str, int]]:
        """Each name with its limits; the overall one, without a name, comes last and is reported only if no other
        is."""
        for name in (*filter(None, names), ""):
            yield name, "calls", self.CALLS if name else self.ALL_CALLS
            if writes:
                yield name, "writes", self.WRITES if name else self.ALL_WRITES


# --- messages

_TYPED = lazy(r"\bvaultmem [a-z]")


def for_tools(message: str) -> str:
    """A message in one line for a client that cannot type: without advice that names a command."""
    first, *advice = rpc.one_line(message).split("; ")
    return "; ".join([first, *(part for part in advice if not _TYPED.search(part))])


# --- for one client


class ToolService:
    """The toolbox for one client; opens the vault for each request. `peer` is the process at the other end."""

    def __init__(
        self, toolbox: Toolbox, opened: Callable[[], AbstractContextManager[Vault]], peer: str = ""
    ) -> None:
        self.toolbox, self._opened, self._peer = toolbox, opened, peer
        self._client, self._reads_only = "", False

    def of_client(self, client: str, *, reads_only: bool) -> ToolService:
        """The same for a client whose name is fixed, whatever it calls itself, and which may be read-only."""
        service = ToolService(self.toolbox, self._opened)
        service._client, service._reads_only = client, reads_only
        return service

    def tools(self) -> list[Tool]:
        """The tools that the client may call."""
        tools = self.toolbox.tools()
        return [tool for tool in tools if tool.annotations.read_only or not self._reads_only]

    def call(self, name: str, arguments: JsonObject, client: str) -> Outcome:
        """Call a tool; raises like Toolbox.call()."""
        if self._reads_only and name not in (tool.name for tool in self.tools()):
            raise BlockedError(f"{name[:40]} changes notes, and this client may only read them")
        with self._opened() as vault:
            call = Call(name, arguments, self._client or client, "", self._peer)
            return self.toolbox.call(vault, call)

    def recall(self, query: str, client: str) -> Outcome:
        """The `<memory>` block for a query. Counts as a call."""
        return self.call("memory_recall", {"query": query[: session.MOST_QUERY]}, client)

    def answer(self, method: str, arguments: JsonObject) -> object:
        """Handle the methods `tools/list`, `tools/call`, `prompt` and the names of tools."""
        if method == "tools/list":
            return {"tools": self.toolbox.listed()}
        client = arguments.get("client")
        client = client if isinstance(client, str) else ASSISTANT
        if method == "prompt":
            query = text_of(arguments, "prompt")
            outcome = self.recall(query, client)
            return {"prompt": query, "context": outcome.text, **outcome.data}
        if method != "tools/call":
            return self.call(method, arguments, ASSISTANT).to_json()
        name = text_of(arguments, "name")
        if unknown := sorted(arguments.keys() - {"name", "arguments", "params", "client", "_meta"}):
            raise UsageError(f"unknown: {unknown[0][:40]!r}; known: name, arguments, client")
        tool_arguments = arguments.get("arguments", arguments.get("params"))
        if tool_arguments is not None and not isinstance(tool_arguments, dict):
            raise UsageError('"arguments" must be an object')
        return self.call(name, tool_arguments or {}, client).to_json()


def text_of(arguments: JsonObject, name: str) -> str:
    """A parameter that must be non-empty text. Raises UsageError."""
    value = arguments.get(name)
    if not isinstance(value, str) or not value.strip():
        raise UsageError(f'"{name}" must be text')
    return value
