"""The registry of tools and the one dispatcher behind every door: checks, limits, hooks, events."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Mapping

from vaultmem.api import schema
from vaultmem.api.near import nearest
from vaultmem.api.params import asked_at
from vaultmem.api.verbs import JSON
from vaultmem.errors import UsageError, VaultmemError
from vaultmem.text.sanitize import one_line
from vaultmem.text.values import TYPE_CHECKING
from vaultmem.tools import events
from vaultmem.tools.events import Channel, Event, Subscription
from vaultmem.tools.rate import Limiter
from vaultmem.tools.strict_json import written
from vaultmem.tools.tool import (
    ASSISTANT,
    Annotations,
    Block,
    BlockedError,
    Call,
    Outcome,
    Tool,
    UnknownToolError,
)
from vaultmem.tools.worded import for_tools

if TYPE_CHECKING:
    from vaultmem.api import Vault

    Before = Callable[[Call], Block | None]
    After = Callable[[Call, Outcome], Outcome]
    OnEvent = Callable[[Event], object]

log = logging.getLogger("vaultmem.tools")

MOST = 1_000_000  # characters of arguments, and of what is answered
MOST_TEXT = 100_000  # characters of text that a model gets at once
MOST_NAME = 60  # characters of a client's name
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")
_TALK = "conversation:"  # so conversations are called, which are told of what was said in them
_PERSON = ("you", "person", "")  # how the history calls the person; no client is called so


class Toolbox:
    """Tools by name, and the hooks around them. Any thread may call. With `plain`, only our own tools."""

    def __init__(self, *, plain: bool = False, limiter: Limiter | None = None) -> None:
        from vaultmem.tools.memory_tools import TOOLS
        from vaultmem.tools.plugged import plug_in

        self._tools: dict[str, Tool] = {}
        self._before: list[Before] = []
        self._after: list[After] = []
        self._on_event: list[OnEvent] = []
        self._limiter = limiter or Limiter()
        self.channel = Channel()
        for tool in TOOLS:
            self.add(tool)
        if not plain:
            plug_in(self)

    # --- the registry

    def add(self, tool: Tool) -> None:
        """One tool more. Raises UsageError when its name is taken, or none."""
        if not _NAME.fullmatch(tool.name):
            raise UsageError(f"{tool.name[:40]!r} is no name for a tool")
        if tool.name in self._tools:
            raise UsageError(f"a tool named {tool.name} is there already")
        self._tools[tool.name] = tool

    def tools(self) -> list[Tool]:
        """All tools, ours first."""
        return list(self._tools.values())

    def has(self, name: str) -> bool:
        """Whether there is such a tool."""
        return name in self._tools

    def listed(self) -> list[dict[str, object]]:
        """All tools as JSON."""
        return [as_json(tool) for tool in self._tools.values()]

    # --- hooks

    def before(self, hook: Before) -> Before:
        """Ask `hook` before each call; a Block that it returns stops the call."""
        self._before.append(hook)
        return hook

    def after(self, hook: After) -> After:
        """Let `hook` change what a call says."""
        self._after.append(hook)
        return hook

    def on_event(self, hook: OnEvent) -> OnEvent:
        """Tell `hook` of every event, at once and in the thread where it happens."""
        self._on_event.append(hook)
        return hook

    def subscribe(self, room: int = events.ROOM) -> Subscription:
        """The events from now on."""
        return self.channel.subscribe(room)

    def tell(self, event: Event) -> None:
        """Something has happened."""
        self.channel.tell(event)
        for hook in self._on_event:
            try:
                hook(event)
            except Exception as error:
                log.exception("a hook failed")
                self.channel.tell(_failure(event.client, event.tool, error, "on_event"))

    # --- the dispatcher

    def call(self, vault: Vault, call: Call) -> Outcome:
        """Carry out a call. Raises VaultmemError in one clear line: UsageError for what makes no sense, BlockedError,
        TooManyCallsError. A hook that raises is an error event and nothing else."""
        call = call._replace(client=client_name(call.client))
        try:
            tool = self._named(call.name)
            self._let_through(tool, call)
            call = call._replace(arguments=_checked(tool, call.arguments))
            self._ask_hooks(call)
            self.tell(Event(events.TOOL_START, call.client, call.name, call.arguments))
            with asked_at(JSON):
                outcome = self._after_hooks(call, _carried_out(tool, vault, call))
        except VaultmemError as error:
            self.tell(_failure(call.client, call.name, error))
            raise
        outcome = _bounded(outcome)
        self.tell(Event(events.TOOL_END, call.client, call.name, {"characters": len(outcome.text)}))
        return outcome

    def _named(self, name: str) -> Tool:
        tool = self._tools.get(name)
        if tool is None:
            near = nearest(name, self._tools)
            known = f"did you mean {near}?" if near else f"there are {', '.join(self._tools)}"
            raise UnknownToolError(f"unknown tool {name[:40]!r}; {known}")
        return tool

    def _let_through(self, tool: Tool, call: Call) -> None:
        names = [*([f"process {call.peer}"] if call.peer else []), f"name {call.client}"]
        self._limiter.take(names, writes=not tool.annotations.read_only)

    def _ask_hooks(self, call: Call) -> None:
        for hook in self._before:
            try:
                found = hook(call)
            except Exception as error:
                log.exception("a hook failed")
                self.tell(_failure(call.client, call.name, error, "before"))
                continue
            if isinstance(found, Block):
                raise BlockedError(f"{call.name} was blocked: {found.reason}")

    def _after_hooks(self, call: Call, outcome: Outcome) -> Outcome:
        for hook in self._after:
            try:
                changed = hook(call, outcome)
            except Exception as error:
                log.exception("a hook failed")
                self.tell(_failure(call.client, call.name, error, "after"))
                continue
            if isinstance(changed, Outcome):
                outcome = changed
        return outcome


def client_name(given: str) -> str:
    """The name of a client in one harmless line; never that of the person, nor of a conversation."""
    name = one_line(given, MOST_NAME)
    return ASSISTANT if name.lower() in _PERSON or name.lower().startswith(_TALK) else name


def as_json(tool: Tool) -> dict[str, object]:
    """A tool as the protocols list it."""
    return {
        "name": tool.name,
        **({"title": tool.title} if tool.title else {}),
        "description": tool.description,
        "inputSchema": schema.listed(tool.schema, tool.quiet),
        "annotations": _hints(tool.annotations),
    }


def _hints(known: Annotations) -> dict[str, bool]:
    """What a client may assume; what only repeats what it has to expect is left out where nobody would look for it, for
    every word of the list costs tokens in each session."""
    if known.read_only:
        return {"readOnlyHint": True}
    hints = {"destructiveHint": known.destructive}
    return {**hints, "idempotentHint": True} if known.idempotent else hints


def _checked(tool: Tool, arguments: Mapping[str, object]) -> dict[str, object]:
    given = schema.check(tool.schema, arguments)
    if _size(given.values()) > MOST:
        raise UsageError(f"the arguments have more than {MOST:,} characters")
    return given


def _size(values: Iterable[object]) -> int:
    size = 0
    for value in values:
        if isinstance(value, str):
            size += len(value)
        elif isinstance(value, (list, dict)):
            size += _size(value.values() if isinstance(value, dict) else value) + len(value)
    return size


def _carried_out(tool: Tool, vault: Vault, call: Call) -> Outcome:
    try:
        return tool.run(vault, call)
    except VaultmemError as error:
        error.args = (for_tools(str(error)),)
        raise
    except Exception as error:  # the border to tools of third parties, and to our own mistakes
        log.exception("a tool failed")
        raise VaultmemError(f"{call.name} failed: {type(error).__name__}") from error


def _bounded(outcome: Outcome) -> Outcome:
    """What may be sent: no more than every door takes."""
    text, data = outcome
    if len(text) > MOST_TEXT:
        text = f"{text[:MOST_TEXT]}\n(cut off here: {len(outcome.text):,} characters)"
    if len(written(data)) > MOST * 9 // 10:
        data = {"cut": True}
    return Outcome(text, data)


def _failure(client: str, tool: str, error: Exception, hook: str = "") -> Event:
    said = " ".join(str(error).split())
    data: dict[str, object] = {"error": f"{type(error).__name__}: {said}"}
    return Event(events.ERROR, client, tool, {**data, "hook": hook} if hook else data)
