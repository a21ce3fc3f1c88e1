"""vaultmem mcp: the Model Context Protocol over stdin and stdout.

Light: where the sync agent runs, this process only hands lines on, and loads nothing but a client of its socket.
Without one it answers by itself.
"""

from __future__ import annotations

import os
import select
import sys
import time
from _thread import allocate_lock, start_new_thread

from vaultmem import client
from vaultmem.commands.stdio import MOST, Lines, Out

TYPE_CHECKING = False  # as in text.values, without the price of another file
if TYPE_CHECKING:
    import argparse
    import typing

    from vaultmem.api.mcp import Protocol
    from vaultmem.output import Output

    class Answers(typing.Protocol):
        """Whoever has the answers. Any thread may ask."""

        def answer(self, line: bytes, *, settles: bool = False) -> list[str]:
            """The lines to send. Only what `settles` something may change what holds for all others."""


RELAYED = 250_000  # characters; what is longer might be too long for the socket once it is quoted
PATIENCE = 32.0  # seconds; the agent gives up after 30
AT_ONCE = 8  # requests; pings may be as many more
DEAF = 10.0  # seconds; who has hung up and reads nothing for so long never will
_LOOK = 1.0  # seconds between looks at a client that may have hung up
_CANCELLED = b"notifications/cancelled"
_INITIALIZE, _PING = b'"initialize"', b'"ping"'
_SHORT = 300  # bytes; no ping is longer
_NO_TEXT = '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the line is not UTF-8"}}'
_TOO_LONG = '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a message may have 1,000,000 bytes"}}'
_FAILED, _INTERNAL = -32000, -32603


def run(args: argparse.Namespace, _output: Output) -> int:
    """Serve; comes here only with options that the short way does not know."""
    return serve(["--vault", args.vault] if args.vault else [])


def serve(words: list[str]) -> int:
    """Answer lines until stdin ends. `words` may name the vault."""
    vault = client.vault_of(words)
    out = os.dup(1)
    os.dup2(2, 1)  # whatever else prints in this process must not disturb the protocol
    service, code = Service(Lines(0), Out(out), _Answering(vault)), 0
    try:
        service.run()
    except KeyboardInterrupt:
        code = 130
    if service.is_busy():  # with what nobody waits for any more
        return code
    service.close()
    os.dup2(out, 1)
    os.close(out)
    return code


def takes(words: list[str]) -> bool:
    """Whether these words need no parser."""
    return not words or (len(words) == 2 and words[0] == "--vault" and words[1][:1] != "-")


class _Request:
    """A line that waits for its answer."""

    def __init__(self, line: bytes) -> None:
        self.line = line
        self.is_cancelled = False
        self._id: list[object] = []

    def has_id(self, wanted: object) -> bool:
        """Whether it is the request with that id."""
        if not self._id:
            self._id = [_loaded(self.line).get("id", _loaded)]  # no line has that one
        return self._id[0] == wanted


class Service:
    """Reads in one thread, and answers in a few: whoever asks something quick does not wait for what is slow."""

    def __init__(self, lines: Lines, out: Out, answers: Answers, at_once: int = AT_ONCE) -> None:
        self._lines, self._out, self._answers = lines, out, answers
        self._at_once = at_once
        self._lock = allocate_lock()
        self._waiting: list[_Request] = []
        self._running: list[_Request] = []
        self._bell = os.pipe()  # rings when a request has its answer

    def run(self) -> None:
        """Until the client hangs up, and what it asked before has its answer."""
        while not self._is_gone() and (self._waiting or not self._lines.is_over):
            self._listen()
            while self._waiting and len(self._running) < self._at_once:
                self._begin(self._waiting.pop(0))
        until = time.monotonic() + PATIENCE
        while self._running and time.monotonic() < until and not self._is_gone():
            self._waited([], _LOOK)

    def is_busy(self) -> bool:
        """Whether a request is being answered still."""
        return bool(self._running)

    def close(self) -> None:
        """Let go of what it holds, when it is busy no more."""
        with self._lock:
            for end in self._bell:
                os.close(end)

    # --- what comes

    def _listen(self) -> None:
        """Wait until something comes or a request has its answer; take in all that has come: it may cancel what
        came before it."""
        if self._lines.is_over or not self._has_room():
            self._waited([], _LOOK)
            return
        if not self._waited([self._lines.handle], None):
            return
        self._lines.fill()
        self._take()
        while self._has_room() and self._lines.has_come():
            self._lines.fill()
            self._take()

    def _waited(self, handles: list[int], seconds: float | None) -> bool:
        """Wait until a request has its answer, or there is something to read; whether there is."""
        ready = select.select([self._bell[0], *handles], [], [], seconds)[0]
        if self._bell[0] in ready:
            os.read(self._bell[0], 4_096)
        return len(ready) > (self._bell[0] in ready)

    def _has_room(self) -> bool:
        return sum(len(each.line) for each in self._waiting) < MOST

    def _take(self) -> None:
        for line in self._lines.ready():
            if _CANCELLED in line and self._cancel(line):
                continue
            request = _Request(line)
            if _INITIALIZE in line:  # what it settles holds for all that comes after it
                self._begin(request, settles=True)
            elif len(line) < _SHORT and _PING in line and len(self._running) < self._at_once * 2:
                self._begin(request)
            else:
                self._waiting.append(request)

    def _cancel(self, line: bytes) -> bool:
        """Leave unanswered what this line cancels, if it is one that does. What was begun is carried out: it may be
        half done."""
        found = _loaded(line)
        params = found.get("params")
        if found.get("method") != _CANCELLED.decode() or not isinstance(params, dict):
            return False
        wanted = params.get("requestId")
        self._waiting = [each for each in self._waiting if not each.has_id(wanted)]
        with self._lock:
            for request in self._running:
                request.is_cancelled |= request.has_id(wanted)
        return True

    def _is_gone(self) -> bool:
        """Whether nobody will read what we say."""
        return self._out.is_over or (self._out.stuck() > DEAF and self._lines.is_hung_up())

    # --- answers

    def _begin(self, request: _Request, *, settles: bool = False) -> None:
        """Answer a request in a thread; here, what settles something for those after it."""
        with self._lock:
            self._running.append(request)
        try:
            if not settles:
                start_new_thread(self._work, (request,))
                return
        except RuntimeError:
            pass  # the system gives no more threads
        self._work(request, settles=settles)

    def _work(self, request: _Request, settles: bool = False) -> None:
        try:
            said = self._answers.answer(request.line, settles=settles)
            if said and not request.is_cancelled:
                self._out.send(said)
        finally:
            with self._lock:
                self._running.remove(request)
                os.write(self._bell[1], b"!")


def _loaded(line: bytes) -> dict[str, object]:
    import json

    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


class _Answering:
    """Asks the agent for each line; where there is none, answers here. Any thread may ask."""

    def __init__(self, vault: str) -> None:
        self._vault = vault
        self._lock = allocate_lock()
        self._settled: object = {}
        self._here: Protocol | None = None

    def answer(self, line: bytes, *, settles: bool = False) -> list[str]:
        """The lines to send. Only what `settles` something may change what holds for all others."""
        if len(line) > MOST:
            return [_TOO_LONG]
        try:
            text = line.decode()
        except UnicodeDecodeError:
            return [_NO_TEXT]
        try:
            found = self._by_agent(text) if len(text) <= RELAYED else None
            said, settled = self._by_us(text) if found is None else found
        except client.AgentError as error:
            return _refusal(text, _FAILED, str(error))
        except Exception as error:  # noqa: BLE001 - the border to the client, who must always get an answer
            sys.stderr.write(f"vaultmem: {type(error).__name__}: {error}\n")
            return _refusal(text, _INTERNAL, type(error).__name__)
        if settles:
            self._settled = settled
        return said

    def _by_agent(self, line: str) -> tuple[list[str], object] | None:
        """What the agent says; None where there is none, or one of another version."""
        asked = {"line": line, "settled": self._settled}
        try:
            found = client.call(self._vault, "mcp", asked, timeout=PATIENCE)
        except client.AgentError as error:
            if error.code in (client.NO_ANSWER, client.UNKNOWN_METHOD):
                return None
            raise
        if not isinstance(found, dict) or not isinstance(found.get("said"), list):
            return None
        return [str(each) for each in found["said"]], found.get("settled")

    def _by_us(self, line: str) -> tuple[list[str], object]:
        from vaultmem.api.mcp import Settled

        said, settled = self._protocol().answer(line, Settled.of(self._settled))
        return said, settled.as_json()

    def _protocol(self) -> Protocol:
        with self._lock:
            if self._here is None:
                from vaultmem.api import Vault
                from vaultmem.api.mcp import Protocol
                from vaultmem.api.toolbox import Toolbox, ToolService

                vault = self._vault
                self._here = Protocol(
                    ToolService(Toolbox(), lambda: Vault(vault), str(os.getpid()))
                )
            return self._here


def _refusal(line: str, code: int, message: str) -> list[str]:
    from vaultmem.api.mcp import refusal

    return refusal(line, code, " ".join(message.split()))
