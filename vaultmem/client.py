"""The client of the agent's socket. Imports little, so that the agent's answer arrives before a parser would be loaded.

No caller depends on an agent: if none listens, or one of another version does, the caller does the work itself.
"""

from __future__ import annotations

import os
import stat
import sys
import time

from vaultmem import __version__, paths
from vaultmem.errors import VaultmemError, VaultNotFoundError

TYPE_CHECKING = False  # as in text.values, without importing another file
if TYPE_CHECKING:
    import _socket
    from collections.abc import Callable, Iterator
    from typing import Any, Protocol, TextIO

    from vaultmem.adapter import JsonObject
    from vaultmem.progress import Progress

    class Writable(Protocol):
        """A stream to write text to."""

        @property
        def encoding(self) -> str | None:
            """The encoding of its file, if it has one."""

        def write(self, text: str, /) -> int:
            """Write."""


FIRST_BYTE = SIGN_OF_LIFE = 5.0  # seconds, after which the caller does the work itself
BY_MEANING = 32.0  # the model may have to load first; the agent gives up after 30
MOST_FORWARDED = 250_000  # characters of text; more might exceed the limit of a request once quoted
_CONNECT = 2.0
_AT_ONCE = 0.25  # seconds in which a program that starts another writes to its stdin, if it does
_PART = 65_536
_MOST = 1 << 28  # bytes of a reply, far more than any agent sends
# Codes of AgentError. HANGS: a call that only the agent can carry out was not sent, as the agent gives no sign of life;
# UNKNOWN_METHOD: it has another version; BUSY: it has taken no request.
NO_ANSWER, HANGS, UNKNOWN_METHOD, BUSY = 0, 1, -32601, -32001
NO_SIGN = "the agent does not answer; vaultmem restart ends it and starts another"
OTHER_VERSION = "the running agent is another version of vaultmem; run vaultmem restart"
_SILENCE = 30.0  # seconds in which an agent that did not answer in time is not called again
_silent: dict[object, tuple[float, bool]] = {}  # their sockets: until when, and whether they live
_OWN_PROCESS = {"--help", "-h", "--open", "--batch"}  # need the caller's terminal or stdin


class AgentError(VaultmemError):
    """The agent returned an error, or did not answer (`code` NO_ANSWER)."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class NoAgent:
    """The result of call() when no agent listens; false in a condition."""

    def __bool__(self) -> bool:
        return False


NO_AGENT = NoAgent()


def call(
    vault: str, method: str, params: JsonObject, *, timeout: float | None = FIRST_BYTE,
    progress: Progress | None = None,
) -> object:  # fmt: skip
    """Call a method of the agent. Returns its result, or NO_AGENT when no agent listens. `timeout` is the longest
    silence to accept, in seconds; None, for what only the agent can carry out, waits as long as it takes. Raises
    AgentError for an error, and if the agent exits or stops responding."""
    # One that is short only asks for a sign of life itself.
    is_short = timeout is not None and timeout < FIRST_BYTE
    hangs = AgentError(NO_ANSWER if timeout else HANGS, NO_SIGN)
    until, lives = _silent.get(socket := _socket_of(vault), (0.0, False))
    if not is_short and until > time.monotonic() and not (lives and timeout is None):
        raise hangs
    link = _connect(vault)
    if link is None:
        return NO_AGENT
    request = {"id": 1, "method": method, "params": params, "progress": bool(progress)}
    try:
        lines = _lines(link)
        if not is_short and not _is_alive(link, lines):
            _silent[socket] = time.monotonic() + _SILENCE, False
            raise hangs
        link.settimeout(timeout)
        link.sendall(f"{_to_json(request)}\n".encode())
        result = _result(lines, progress)
    except (OSError, ValueError, RecursionError) as error:
        if isinstance(error, TimeoutError) and not is_short:
            _silent[socket] = time.monotonic() + _SILENCE, True
        why = str(error) or type(error).__name__
        code = BUSY if isinstance(error, BrokenPipeError) else NO_ANSWER  # refused at its door
        raise AgentError(code, f"the agent did not answer: {why}") from error
    else:
        _silent.pop(socket, None)
        return result
    finally:
        link.close()


def _is_alive(link: _socket.socket, lines: Iterator[str]) -> bool:
    """Whether the agent gives a sign of life: one that hangs accepts connections, too."""
    link.settimeout(SIGN_OF_LIFE)
    try:
        link.sendall(b'{"id":0,"method":"ping","params":{}}\n')
        _result(lines, None)
    except TimeoutError:
        return False
    return True


def _socket_of(vault: str) -> object:
    """The socket and when it was created: a restarted agent has a new one."""
    try:
        path = paths.socket_path(vault)
        return path, os.lstat(path).st_ctime_ns
    except (OSError, ValueError):
        return object()  # there is none, and it equals no other


def ask(
    vault: str, method: str, params: JsonObject, *, timeout: float | None = FIRST_BYTE,
    progress: Progress | None = None,
) -> dict[str, Any] | None:  # fmt: skip
    """Like call(), for callers that can do the work themselves: returns None if no agent listens, it does not answer
    in time, or it has another version. Raises AgentError for other errors."""
    try:
        reply = call(vault, method, params, timeout=timeout, progress=progress)
    except AgentError as error:
        if error.code in (NO_ANSWER, UNKNOWN_METHOD, BUSY):
            return None
        raise
    return reply if isinstance(reply, dict) else None


def is_of_other_version(vault: str) -> bool:
    """Whether the running agent has another version than this process."""
    from vaultmem import machine

    try:
        agent = (ask(vault, "status", {}) or {}).get("agent")
    except AgentError:
        return False
    return isinstance(agent, dict) and agent.get("version") != machine.program()


def _connect(vault: str) -> _socket.socket | None:
    try:
        path = paths.socket_path(vault)
        if not is_ours(path):
            return None
        import _socket  # the whole socket module would import selectors and enum

        link = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    except (OSError, ValueError, AttributeError):  # the last: a system without Unix sockets
        return None
    try:
        link.settimeout(_CONNECT)
        link.connect(path)
    except OSError:
        link.close()
        return None
    return link


def is_ours(path: str) -> bool:
    """Whether no other user could have created the socket."""
    folder, socket = os.lstat(os.path.dirname(path)), os.lstat(path)
    return (
        stat.S_ISDIR(folder.st_mode)
        and stat.S_IMODE(folder.st_mode) == 0o700
        and stat.S_ISSOCK(socket.st_mode)
        and folder.st_uid == socket.st_uid == os.getuid()
    )


def _lines(link: _socket.socket) -> Iterator[str]:
    held: list[bytes] = []
    size = 0
    while size < _MOST and (part := link.recv(_PART)):
        *ended, rest = part.split(b"\n")
        for line in ended:
            yield (b"".join(held) + line).decode()
            held, size = [], 0
        held.append(rest)
        size += len(rest)


def _result(lines: Iterator[str], progress: Progress | None) -> object:
    stage, done = "", 0
    for line in lines:
        reply = _read(line)
        if not isinstance(reply, dict):
            break
        state, error = reply.get("progress"), reply.get("error")
        if isinstance(state, dict) and progress:
            stage, done = _follow(progress, state, stage, done)
        elif isinstance(error, dict):
            raise AgentError(_number(error, "code"), str(error.get("message")))
        elif "result" in reply:
            return reply["result"]
    raise ValueError("the connection was closed early")


def _follow(progress: Progress, state: JsonObject, stage: str, done: int) -> tuple[str, int]:
    """Report a line of progress. Returns the current stage and count."""
    name, now = str(state.get("stage")), _number(state, "done")
    if name != stage or now < done:
        progress.stage(name, _number(state, "total"))
        done = 0
    progress.advance(now - done)
    return name, now


def _number(fields: JsonObject, name: str) -> int:
    number = fields.get(name)
    return number if isinstance(number, int) else 0


def ask_agent(command: str, words: list[str], stdin: str | None = None) -> int | None:
    """Run a command in the agent and print its output. Returns the exit code; None if the agent cannot run it."""
    if needs_own_process(words):
        return None
    stdin = stdin_so_far() if command == "hook" else stdin
    by_meaning = command in ("recall", "agent") or "-s" in words or "--semantic" in words
    timeout = BY_MEANING if by_meaning else FIRST_BYTE
    try:
        reply = call(vault_of(words), "run", _request(command, words, stdin), timeout=timeout)
    except AgentError as error:
        if command == "agent" and error.code not in (NO_ANSWER, UNKNOWN_METHOD, BUSY):
            raise  # a tool may have been called
        return None
    except (VaultmemError, OSError, ValueError):
        return None
    return _print_reply(reply)


def needs_own_process(words: list[str]) -> bool:
    """Whether no agent can do it for the caller."""
    return bool(os.environ.get("VAULTMEM_DEBUG")) or not _OWN_PROCESS.isdisjoint(words)


def _print_reply(reply: object) -> int | None:
    if not isinstance(reply, dict) or not isinstance(reply.get("code"), int):
        return None
    try:
        parts = [(str(name), str(text)) for name, text in reply["parts"]]
    except (KeyError, TypeError, ValueError):
        return None
    show_parts(parts)
    return int(reply["code"])


_stdin: list[str] = []  # it can be read once


def stdin_so_far() -> str:
    """The text on stdin: what is there, or comes at once if the working directory says nothing about the session."""
    if not _stdin:
        _stdin.append(_read_stdin())
    return _stdin[0]


def _read_stdin() -> str:
    import select

    wait = 0.0 if paths.is_project(paths.here()) else _AT_ONCE
    try:
        number = sys.stdin.fileno()
        comes = not os.isatty(number) and select.select([number], [], [], wait)[0]
        return os.read(number, _PART).decode("utf-8", "replace") if comes else ""
    except (OSError, ValueError, AttributeError):  # there is no stdin
        return ""


def vault_of(words: list[str]) -> str:
    """The vault that the arguments refer to, chosen as the command itself would choose it."""
    named = ""
    for word, following in zip(words, [*words, ""][1:], strict=True):
        if word == "--":
            break
        if word == "--vault":
            named = following
        elif word.startswith("--vault="):
            named = word[len("--vault=") :]
    try:
        return paths.choose_vault(named, None)
    except VaultNotFoundError:
        from vaultmem import config  # the settings may name one

        return config.choose_vault(named)


def _request(command: str, words: list[str], stdin: str | None) -> JsonObject:
    request: JsonObject = {
        "command": command, "words": words, "given": stdin, "cwd": os.getcwd(), "terminal": is_terminal(sys.stdout),
        "colour": wants_colour(sys.stdout), "version": __version__, "environ": settings(),
    }  # fmt: skip
    if request["terminal"]:
        from vaultmem import screen

        request = {**request, "columns": screen.size(sys.stdout)[0], "links": screen.has_links()}
    return request


def settings() -> dict[str, str]:
    """The parts of this process's environment that affect the answers of commands; the agent compares them with its
    own."""
    values = {
        name: value
        for name, value in os.environ.items()
        if name.startswith("VAULTMEM_") and name not in (*paths.NO_SETTINGS, "VAULTMEM_VAULT")
    }
    # Not TZ: a service lacks it but has the same zone.
    zone = " ".join([*time.tzname, str(time.timezone)])
    return {**values, "config": paths.config_file(), "zone": zone}


def show_parts(parts: list[tuple[str, str]]) -> None:
    """Write texts to their streams, or all to a pager if they are longer than the screen of a person."""
    if is_terminal(sys.stdout):
        from vaultmem import screen

        whole = "".join(text for _, text in parts)
        if screen.wants_pager(whole) and screen.page(whole):
            return
    for name, text in parts:
        stream = sys.stderr if name == "err" else sys.stdout
        put(stream, text)
        stream.flush()


def put(stream: Writable, text: str) -> None:
    """Write text; characters that the stream's encoding lacks are replaced."""
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "replace").decode(encoding))


def is_terminal(stream: TextIO) -> bool:
    """Whether a stream is a terminal."""
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):
        return False


def wants_colour(stream: TextIO) -> bool:
    """Whether to write in colour to a stream."""
    return (
        is_terminal(stream) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    )


class _Plain:
    """The scanner's options: those of json.loads by default."""

    strict = False
    object_hook = object_pairs_hook = None
    parse_float, parse_int, parse_constant = float, int, float


try:  # the core of json; all of it would load re, over half of a bare Python start
    from _json import encode_basestring_ascii as _quoted
    from _json import make_scanner

    _scan: Callable[[str, int], tuple[object, int]] = make_scanner(_Plain)  # type: ignore[arg-type] # only its fields count
except ImportError:
    import json

    _quoted, _scan = json.dumps, json.JSONDecoder().raw_decode


def _read(line: str) -> object:
    try:
        return _scan(line, 0)[0]
    except StopIteration:
        raise ValueError("no JSON") from None


def _to_json(value: object) -> str:
    """A value as JSON, in ASCII."""
    if isinstance(value, str):
        return _quoted(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, dict):
        return (
            f"{{{','.join(f'{_quoted(name)}:{_to_json(inner)}' for name, inner in value.items())}}}"
        )
    if isinstance(value, (list, tuple)):
        return f"[{','.join(map(_to_json, value))}]"
    return repr(value)
