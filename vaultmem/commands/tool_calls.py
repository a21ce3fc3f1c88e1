"""vaultmem agent: the tools, for assistants that can run a command: JSON in, one line of JSON per call out.

Light: if the agent runs, the words and stdin are forwarded to it, and only a client of its socket is loaded. The
agent refuses, before any tool is called, what it does not do exactly as the command would; the command then runs
here, with what was read from stdin.
"""

from __future__ import annotations

import sys

from vaultmem import client

TYPE_CHECKING = False  # as in text.values, without the price of another file
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import SimpleNamespace as Namespace

    from vaultmem.adapter import JsonObject
    from vaultmem.api.toolbox import ToolService
    from vaultmem.output import Output


MOST = 1_000_000  # bytes of stdin
MOST_CALLS = 8  # carried out as one request of the socket, which must end within 30 s
_STDIN = "-"
_read: list[bytes] = []  # read from stdin before the agent refused


# --- through the agent


def forward(words: list[str]) -> int | None:
    """The exit code of the command, carried out by the agent; None if it was not. Raises AgentError."""
    _read.clear()
    text = None
    if reads_stdin(words):
        if client.needs_own_process(words) or client.is_terminal(sys.stdin):
            return None
        _read[:] = [_all_of_stdin()]
        text = _as_text(_read[0])
        if text is None:
            return None
    code = client.ask_agent("agent", words, text)
    if code is not None:
        _read.clear()
    return code


def reads_stdin(words: list[str]) -> bool:
    """Whether the calls are on stdin. False if in doubt: the command itself checks more closely."""
    if "--list-tools" in words:
        return False
    reads = True
    for word, following in zip(words, [*words, _STDIN][1:], strict=True):
        if word == "--prompt":
            reads = following == _STDIN or (following.startswith("--") and " " not in following)
        elif word.startswith("--prompt="):
            reads = word == "--prompt=-"
    return reads


def _all_of_stdin() -> bytes:
    """All of stdin, or one byte more than allowed."""
    buffer = getattr(sys.stdin, "buffer", None)
    return bytes(buffer.read(MOST + 1)) if buffer else sys.stdin.read(MOST + 1).encode()


def _as_text(data: bytes) -> str | None:
    """The text; None if the command must report what is wrong with it."""
    try:
        return data.decode() if len(data) <= client.MOST_FORWARDED and data.strip() else None
    except UnicodeDecodeError:
        return None


def run_here(args: Namespace, output: Output, tools: ToolService, stdin: str | None) -> int:
    """Run the command in the agent, for a process that forwarded it. Raises UsageError for what that process does
    better."""
    from vaultmem.errors import UsageError

    if stdin is None and _wants_stdin(args):
        raise UsageError("stdin was not forwarded")
    calls = list(_calls(args, stdin))
    if len(calls) > MOST_CALLS:
        raise UsageError("so many calls may take too long for one request")
    return _carry_out(args, output, tools, calls)


# --- the command


def run(args: Namespace, output: Output) -> int:
    """Call the tools; a failing call does not stop the others."""
    from contextlib import nullcontext

    from vaultmem.api.toolbox import Toolbox, ToolService
    from vaultmem.commands.rendering import open_vault

    calls = list(_calls(args, None))
    with open_vault(args, output) as vault:
        return _carry_out(args, output, ToolService(Toolbox(), lambda: nullcontext(vault)), calls)


def _carry_out(args: Namespace, output: Output, tools: ToolService, calls: list[JsonObject]) -> int:
    if args.list_tools:
        _list(tools, output)
        return 0
    results = [_result(tools, call, args.client) for call in calls]
    for result in results:
        if output.as_json or _wants_stdin(args):  # the caller is a program
            output.record(result)
        else:
            _show(result, output)
    return 0 if all(result["ok"] for result in results) else 1


def _wants_stdin(args: Namespace) -> bool:
    return not args.list_tools and args.prompt in (None, _STDIN)


def _calls(args: Namespace, stdin: str | None) -> Iterator[JsonObject]:
    """The calls; `stdin` is its text if already read."""
    from vaultmem.api.rpc import parse
    from vaultmem.errors import UsageError

    if args.list_tools:
        return
    if not _wants_stdin(args):
        yield {"prompt": args.prompt}
        return
    text = _stdin_text() if stdin is None else stdin.removeprefix("\ufeff")
    if args.prompt == _STDIN and not text.lstrip().startswith(("{", "[")):
        yield {"prompt": text.strip()}
        return
    try:
        value = parse(text)
    except ValueError as error:
        raise UsageError(f"stdin is not JSON: {error}") from error
    for call in value if isinstance(value, list) else [value]:
        if not isinstance(call, dict):
            raise UsageError("a call is an object; see vaultmem agent --help")
        yield call


def _stdin_text() -> str:
    from vaultmem.errors import UsageError

    if client.is_terminal(sys.stdin):
        raise UsageError("the calls are read from stdin; see vaultmem agent --help")
    data = _read.pop() if _read else _all_of_stdin()
    if len(data) > MOST:
        raise UsageError(f"stdin may have {MOST:,} bytes; make several calls of it")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError("stdin is not UTF-8") from None


def _list(tools: ToolService, output: Output) -> None:
    listed = tools.answer("tools/list", {})
    assert isinstance(listed, dict)
    output.answer(listed)
    for tool in listed["tools"]:
        params = ", ".join(tool["inputSchema"].get("properties", {}))
        output.line(f"{output.paint(tool['name'], 'bold')}({params})")
        output.line(f"  {tool['description']}")


def _result(tools: ToolService, call: JsonObject, name: str) -> JsonObject:
    """The result of one call, in any of its shapes."""
    from vaultmem.api.rpc import as_json
    from vaultmem.errors import VaultmemError

    method, params = _request(call, name)
    named = str((params.get("name") or "") if method == "tools/call" else method)
    head = {"id": call["id"]} if "id" in call else {}
    try:
        answer = tools.answer(method, params)
    except VaultmemError as error:
        return {**head, "name": named[:80], "ok": False, "error": as_json(error)}
    fields = answer if isinstance(answer, dict) else {"tools": answer}
    return {**head, "name": named, "ok": True, **fields}


def _request(call: JsonObject, name: str) -> tuple[str, JsonObject]:
    """The method and its parameters: of {"name", "params"}, {"method", "params"} or {"prompt"}."""
    arguments = call.get("params", call.get("arguments"))
    if "prompt" in call and "name" not in call:
        return "prompt", {"prompt": call["prompt"], "client": name}
    method = call.get("method")
    if method == "tools/list":
        return method, {}
    if method == "tools/call":
        return method, {**(arguments if isinstance(arguments, dict) else {}), "client": name}
    tool = call.get("name") if method is None else method
    return "tools/call", {"name": tool, "arguments": arguments, "client": name}


def _show(result: JsonObject, output: Output) -> None:
    error = result.get("error")
    if isinstance(error, dict):
        name = f"{result['name']}: " if result["name"] else ""
        output.error(f"{name}{error['message']}")
    else:
        output.text(f"{result.get('context', result.get('text', ''))}\n")
