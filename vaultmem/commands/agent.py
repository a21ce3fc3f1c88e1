"""vaultmem agent: the tools for assistants that can run a command: JSON in, a line of JSON for each call out."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

from vaultmem import client
from vaultmem.api.rpc import PARSE_ERROR, RequestError, as_json, parse
from vaultmem.commands.handed import MOST, MOST_CALLS, stdin_bytes
from vaultmem.errors import UsageError, VaultmemError
from vaultmem.output import Output
from vaultmem.text.values import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from typing import Protocol

    from vaultmem.api import Vault
    from vaultmem.api.toolbox import ToolService

    class Answers(Protocol):
        """Whoever answers the methods of the tools."""

        def answer(self, method: str, params: Mapping[str, object]) -> object:
            """The result of a method. Raises VaultmemError."""


_STDIN = "-"
_NEEDS_OWN = (client.NO_ANSWER, client.UNKNOWN_METHOD)


def run(args: argparse.Namespace, output: Output) -> int:
    """Call the tools; what fails is told in its line, and keeps no other from its turn."""
    asked = list(_asked(args, None))
    door = _Door(args, output)
    try:
        return _carried_out(args, output, door, asked)
    finally:
        door.close()


def run_here(args: argparse.Namespace, output: Output, door: Answers, given: str | None) -> int:
    """The same in the sync agent for a command elsewhere, with what its stdin says. Raises UsageError for what the
    command does better itself, before anything is done."""
    if given is None and _reads_stdin(args):
        raise UsageError("stdin was not handed on")
    asked = list(_asked(args, given))
    if len(asked) > MOST_CALLS:
        raise UsageError("so many calls may take too long for one request")
    return _carried_out(args, output, door, asked)


def _carried_out(
    args: argparse.Namespace,
    output: Output,
    door: Answers,
    asked: list[Mapping[str, object] | RequestError],
) -> int:
    if args.list_tools:
        _list(door, output)
        return 0
    results = [_answered(door, one, args.client) for one in asked]
    for result in results:
        _show(result, output)
    return 0 if all(result["ok"] for result in results) else 1


def _reads_stdin(args: argparse.Namespace) -> bool:
    return not args.list_tools and args.prompt in (None, _STDIN)


def _asked(
    args: argparse.Namespace, given: str | None
) -> Iterator[Mapping[str, object] | RequestError]:
    """The calls; `given` is what stdin says, if it was read already."""
    if args.list_tools:
        return
    if not _reads_stdin(args):
        yield {"prompt": args.prompt}
        return
    text = _stdin() if given is None else given.removeprefix("\ufeff")
    if args.prompt == _STDIN and not text.lstrip().startswith(("{", "[")):
        yield {"prompt": text.strip()}
        return
    for found in _values(text):
        for one in found if isinstance(found, list) else [found]:
            if not isinstance(one, dict | RequestError):
                raise UsageError("a call is an object; see vaultmem agent --help")
            yield one


def _stdin() -> str:
    if client.is_terminal(sys.stdin):
        raise UsageError("the calls are read from stdin; see vaultmem agent --help")
    data = stdin_bytes()
    if len(data) > MOST:
        raise UsageError(f"stdin may have {MOST:,} bytes; make several calls of it")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError("stdin is not UTF-8") from None


def _values(text: str) -> list[object]:
    """One JSON value, or one on each line."""
    if not text.strip():
        raise UsageError("nothing on stdin; see vaultmem agent --help")
    lines = [line for line in text.splitlines() if line.strip()]
    try:
        return [parse(text)]
    except ValueError as error:
        said = str(error)
    found = [_line(number, line) for number, line in enumerate(lines, start=1)]
    if all(isinstance(one, RequestError) for one in found):
        raise UsageError(f"stdin is no JSON: {said}")
    return found


def _line(number: int, line: str) -> object:
    """The value on a line; one that is broken keeps no other from its turn."""
    try:
        return parse(line)
    except ValueError as error:
        return RequestError(PARSE_ERROR, f"line {number} is no JSON: {error}")


def _list(door: Answers, output: Output) -> None:
    found = door.answer("tools/list", {})
    assert isinstance(found, dict)
    if output.as_json:
        output.data(found)
        return
    for tool in found["tools"]:
        given = ", ".join(tool["inputSchema"].get("properties", {}))
        output.line(f"{output.paint(tool['name'], 'bold')}({given})")
        output.line(f"  {tool['description']}")


def _answered(
    door: Answers, one: Mapping[str, object] | RequestError, name: str
) -> dict[str, object]:
    """One call in any of its shapes."""
    if isinstance(one, RequestError):
        return {"name": None, "ok": False, "error": as_json(one)}
    method, params = _shape(one, name)
    named = str((params.get("name") or "") if method == "tools/call" else method)
    head = {"id": one["id"]} if "id" in one else {}
    try:
        found = door.answer(method, params)
    except VaultmemError as error:
        return {**head, "name": named[:80], "ok": False, "error": as_json(error)}
    return {
        **head,
        "name": named,
        "ok": True,
        **(found if isinstance(found, dict) else {"tools": found}),
    }


def _shape(one: Mapping[str, object], name: str) -> tuple[str, dict[str, object]]:
    """The method and its parameters: {"name", "params"}, {"method", "params"} or {"prompt"}."""
    given = one.get("params", one.get("arguments"))
    params = given if isinstance(given, dict) else {}
    if "prompt" in one and "name" not in one:
        return "prompt", {"prompt": one["prompt"], "client": name}
    method = one.get("method")
    if method == "tools/list":
        return method, {}
    if method == "tools/call":
        return method, {**params, "client": name}
    tool = one.get("name") if method is None else method
    return "tools/call", {"name": tool, "arguments": given, "client": name}


def _show(result: dict[str, object], output: Output) -> None:
    if output.as_json:
        output.record(result)
        return
    error = result.get("error")
    if isinstance(error, dict):
        name = f"{result['name']}: " if result["name"] else ""
        output.error(f"{name}{error['message']}")
    else:
        output.text(f"{result.get('context', result.get('text', ''))}\n")


class _Door:
    """The sync agent, if one runs, else the tools here."""

    def __init__(self, args: argparse.Namespace, output: Output) -> None:
        self._args, self._output = args, output
        self._vault: Vault | None = None
        self._here: ToolService | None = None
        self._folder = client.vault_of(["--vault", args.vault] if args.vault else [])

    def answer(self, method: str, params: Mapping[str, object]) -> object:
        """The result of a method. Raises VaultmemError."""
        if self._here is None:
            try:
                found = client.call(self._folder, method, {**params}, timeout=client.BY_MEANING)
            except client.AgentError as error:
                if error.code not in _NEEDS_OWN:
                    raise
            else:
                if found is not client.NOBODY:
                    return found
        return self._opened().answer(method, params)

    def _opened(self) -> ToolService:
        if self._here is None:
            from contextlib import nullcontext

            from vaultmem.api.toolbox import Toolbox, ToolService
            from vaultmem.commands.shared import open_vault

            self._vault = vault = open_vault(self._args, self._output)
            self._here = ToolService(Toolbox(), lambda: nullcontext(vault))
        return self._here

    def close(self) -> None:
        """Let go of the vault."""
        if self._vault is not None:
            self._vault.close()
