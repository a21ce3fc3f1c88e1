"""vaultmem mcp: the Model Context Protocol over stdin and stdout.

Light: if the agent runs, this process only forwards lines, and loads nothing but a client of its socket. Without an
agent it answers by itself.
"""

from __future__ import annotations

import io
import os
import select
import sys
import time
from _thread import allocate_lock, start_new_thread

from vaultmem import client

TYPE_CHECKING = False  # as in text.values, without the price of another file
if TYPE_CHECKING:
    import typing
    from collections.abc import Iterator
    from types import SimpleNamespace as Namespace

    from _typeshed import WriteableBuffer as Buffer

    from vaultmem.api.mcp import Protocol
    from vaultmem.output import Output

    class Answers(typing.Protocol):
        """Answers lines. Any thread may call it."""

        def answer(self, line: bytes, *, settles: bool = False) -> list[str]:
            """The lines to send. Only a line that `settles` something may change the state for later ones."""


MOST = 1_000_000  # bytes of a line
AT_ONCE = 8  # requests; pings may be as many more
DEAF = 10.0  # seconds; a disconnected client that reads nothing for this long never will
_LOOK = 1.0  # seconds between looks at a client that may have hung up
_PART = 65_536
_SENT = 16_384  # bytes at once: a reading client takes this much quickly
_HUNG_UP = getattr(select, "POLLHUP", 0) | getattr(select, "POLLRDHUP", 0)
_CANCELLED = b"notifications/cancelled"
_INITIALIZE, _PING = b'"initialize"', b'"ping"'
_SHORT = 300  # bytes; no ping is longer
_NO_TEXT = '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the line is not UTF-8"}}'
_TOO_LONG = '{"jsonrpc":"2.0","id":%s,"error":{"code":-32600,"message":"a message may have 1,000,000 bytes"}}'
# At the beginning of a message that is not read whole, before its objects and lists.
_ID = rb'\s*\{[^{\[]*?"id"\s*:\s*(-?\d{1,18}(?=\s*[,}])|"[ -!#-\[\]-~]{0,200}")'
_BEGINNING = 1_000  # bytes of that beginning
_FAILED, _INTERNAL = -32000, -32603


def run(args: Namespace, _output: Output) -> int:
    """Serve; called only with options that serve() does not know."""
    return serve(["--vault", args.vault] if args.vault else [])


def serve(words: list[str]) -> int:
    """Answer lines until stdin ends. `words` may name the vault."""
    vault = client.vault_of(words)
    out = os.dup(1)
    os.dup2(2, 1)  # other output of this process must not disturb the protocol
    service, code = Service(Lines(0, out), Out(out), _Relay(vault)), 0
    try:
        service.run()
    except KeyboardInterrupt:
        code = 130
    if service.is_busy():  # no client waits for this
        return code
    os.dup2(out, 1)
    os.close(out)
    return code


def needs_no_parser(words: list[str]) -> bool:
    """Whether serve() knows these words."""
    return not words or (len(words) == 2 and words[0] == "--vault" and words[1][:1] != "-")


class _Source(io.RawIOBase):
    """What a handle has to read. It ends with its file, or when nobody reads the `answers` and all that arrived is
    read."""

    def __init__(self, handle: int, answers: int | None) -> None:
        self._handle, self._poll = handle, None
        if answers is not None and hasattr(select, "poll"):
            self._poll = select.poll()
            self._poll.register(handle, select.POLLIN)
            self._poll.register(answers, 0)

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, part: Buffer) -> int:
        """Wait for the next bytes; 0 at the end."""
        if self._poll and all(ready != self._handle for ready, _ in self._poll.poll()):
            return 0
        try:
            return os.readv(self._handle, [part])
        except ConnectionError:  # a socket whose other end closed before it read all answers
            return 0


class Lines:
    """The non-empty lines of a file handle without their ends, also an incomplete last one. An overlong line has one
    byte more than allowed, with only its beginning."""

    def __init__(self, handle: int, answers: int | None = None) -> None:
        self.is_over = False
        self._handle = _blocking(handle)
        self._source = _Source(self._handle, answers)

    def __iter__(self) -> Iterator[bytes]:
        with io.BufferedReader(self._source) as file:
            while line := file.readline(MOST + 1):
                if len(line) > MOST and not line.endswith(b"\n"):
                    yield line[:_BEGINNING].ljust(MOST + 1)
                    while (rest := file.readline(_PART)) and not rest.endswith(b"\n"):
                        pass
                elif line.strip():
                    yield line.removesuffix(b"\n")
        self.is_over = True

    def is_hung_up(self) -> bool:
        """Whether nothing more can arrive, even if earlier input is still unread."""
        if self.is_over or not _HUNG_UP:
            return self.is_over
        poll = select.poll()
        poll.register(self._handle, _HUNG_UP)
        return bool(poll.poll(0))


class Out:
    """The lines to a client, sent whole from any thread. Nothing is sent to a disconnected client."""

    def __init__(self, handle: int) -> None:
        self.is_over = False
        self._handle = _blocking(handle)
        self._lock = allocate_lock()
        self._stuck_since: float | None = None

    def send(self, lines: list[str]) -> None:
        """Send lines; waits for a client that is slow to read."""
        text = "".join(f"{line}\n" for line in lines)
        data = memoryview(text.encode("utf-8", "backslashreplace"))
        with self._lock:
            while data and not self.is_over:
                self._stuck_since = time.monotonic()
                try:
                    data = data[os.write(self._handle, data[:_SENT]) :]
                except OSError:
                    self.is_over = True
            self._stuck_since = None

    def stuck(self) -> float:
        """For how many seconds the client has not read what it is being sent."""
        since = self._stuck_since
        return 0.0 if since is None else time.monotonic() - since


def _blocking(handle: int) -> int:
    """The handle, set to wait for the client: if not, a pause ends the lines, and a full pipe looks disconnected."""
    try:  # noqa: SIM105 - contextlib is slow to load
        os.set_blocking(handle, True)
    except (OSError, AttributeError):  # systems where it cannot be set
        pass
    return handle


class _Request:
    """A line waiting for its answer."""

    def __init__(self, line: bytes) -> None:
        self.line = line
        self.is_cancelled = False
        self._id: list[object] = []

    def has_id(self, request_id: object) -> bool:
        """Whether it is the request with that id."""
        if not self._id:
            from vaultmem.text.values import json_object  # few requests are cancelled

            self._id = [json_object(self.line).get("id", json_object)]  # no line has that id
        return self._id[0] == request_id


class Service:
    """Reads in one thread, and answers in a few, so that a quick request does not wait for a slow one."""

    def __init__(self, lines: Lines, out: Out, answers: Answers, at_once: int = AT_ONCE) -> None:
        self._lines, self._out, self._answers = lines, out, answers
        self._at_once = at_once
        self._lock = allocate_lock()
        self._waiting: list[_Request] = []
        self._running: list[_Request] = []
        self._news = allocate_lock()  # free once another request is answered

    def run(self) -> None:
        """Serve until the client hangs up and its earlier requests are answered."""
        for line in self._lines:
            self._take(line)
            while not (self._has_room() or self._is_gone()):
                self._wait()
            if self._is_gone():
                return
        while self._waiting and not self._is_gone():
            self._wait()
        until = time.monotonic() + client.BY_MEANING
        while self._running and time.monotonic() < until and not self._is_gone():
            self._wait()

    def is_busy(self) -> bool:
        """Whether a request is still being answered."""
        return bool(self._running)

    def _wait(self) -> None:
        """Wait until a request is answered, but not for long."""
        self._news.acquire(timeout=_LOOK)

    def _has_room(self) -> bool:
        return sum(len(request.line) for request in self._waiting) < MOST

    def _take(self, line: bytes) -> None:
        if _CANCELLED in line and self._cancel(line):
            return
        request = _Request(line)
        if _INITIALIZE in line:  # what it settles applies to all later requests
            self._answer(request, settles=True)
            return
        is_ping = len(line) < _SHORT and _PING in line
        with self._lock:
            if len(self._running) >= self._at_once * (2 if is_ping else 1):
                self._waiting.append(request)
                return
            self._running.append(request)
        try:
            start_new_thread(self._work, (request,))
        except RuntimeError:  # the system gives no more threads
            self._work(request)

    def _cancel(self, line: bytes) -> bool:
        """If this line cancels a request, drop its reply. The request itself is carried out."""
        from vaultmem.text.values import json_object

        message = json_object(line)
        params = message.get("params")
        if message.get("method") != _CANCELLED.decode() or not isinstance(params, dict):
            return False
        request_id = params.get("requestId")
        with self._lock:
            self._waiting = [waiting for waiting in self._waiting if not waiting.has_id(request_id)]
            for request in self._running:
                request.is_cancelled |= request.has_id(request_id)
        return True

    def _is_gone(self) -> bool:
        """Whether no client will read what we send."""
        return self._out.is_over or (self._out.stuck() > DEAF and self._lines.is_hung_up())

    def _work(self, request: _Request) -> None:
        """Answer a request, then those that wait."""
        following: _Request | None = request
        while following:
            try:
                self._answer(following)
            finally:
                following = self._next(following)

    def _next(self, answered: _Request) -> _Request | None:
        """The oldest waiting request, if there is room for it."""
        with self._lock:
            self._running.remove(answered)
            if self._news.locked():
                self._news.release()
            if not self._waiting or len(self._running) >= self._at_once:
                return None
            self._running.append(self._waiting.pop(0))
            return self._running[-1]

    def _answer(self, request: _Request, *, settles: bool = False) -> None:
        lines = self._answers.answer(request.line, settles=settles)
        if lines and not request.is_cancelled:
            self._out.send(lines)


class _Relay:
    """Forwards each line to the agent; without one, answers here. Any thread may call it."""

    def __init__(self, vault: str) -> None:
        self._vault = vault
        self._lock = allocate_lock()
        self._settled: object = {}
        self._own: Protocol | None = None

    def answer(self, line: bytes, *, settles: bool = False) -> list[str]:
        """The lines to send. Only a line that `settles` something may change the state for later ones."""
        if len(line) > MOST:
            import re  # slow to load, and rarely needed

            id_match = re.match(_ID, line[:_BEGINNING])
            return [_TOO_LONG % (id_match[1].decode("ascii") if id_match else "null")]
        try:
            text = line.decode()
        except UnicodeDecodeError:
            return [_NO_TEXT]
        try:
            reply = self._by_agent(text) if len(text) <= client.MOST_FORWARDED else None
            lines, settled = self._by_us(text) if reply is None else reply
        except client.AgentError as error:
            return _refusal(text, _FAILED, " ".join(str(error).split()))
        except Exception as error:  # noqa: BLE001 - the border to the client, who must always get an answer
            sys.stderr.write(f"vaultmem: {type(error).__name__}: {error}\n")
            return _refusal(text, _INTERNAL, type(error).__name__)
        if settles:
            self._settled = settled
        return lines

    def _by_agent(self, line: str) -> tuple[list[str], object] | None:
        """The agent's reply; None if there is no agent, or one of another version."""
        params = {"line": line, "settled": self._settled}
        reply = client.ask(self._vault, "mcp", params, timeout=client.BY_MEANING)
        lines = reply and reply.get("lines")
        if not reply or not isinstance(lines, list):
            return None
        return [str(text) for text in lines], reply.get("settled")

    def _by_us(self, line: str) -> tuple[list[str], object]:
        from vaultmem.api.mcp import Settled

        lines, settled = self._protocol().answer(line, Settled.of(self._settled))
        return lines, settled.as_json()

    def _protocol(self) -> Protocol:
        with self._lock:
            if self._own is None:
                from vaultmem.api import Vault
                from vaultmem.api.mcp import Protocol
                from vaultmem.api.toolbox import Toolbox, ToolService

                vault = self._vault
                service = ToolService(Toolbox(), lambda: Vault(vault), str(os.getpid()))
                self._own = Protocol(service)
            return self._own


def _refusal(line: str, code: int, message: str) -> list[str]:
    from vaultmem.api.mcp import refusal

    return refusal(line, code, message)
