"""vaultmem mcp: the Model Context Protocol over stdin and stdout.

Light: if the agent runs, this process only forwards lines, and loads nothing but a client of its socket. Without an
agent it answers by itself.
"""

from __future__ import annotations

import os
import sys
import threading
import time

from vaultmem import client

TYPE_CHECKING = False  # as in text.values, without the price of another file
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import SimpleNamespace as Namespace
    from typing import BinaryIO

    from vaultmem.api.mcp import Protocol
    from vaultmem.output import Output

    # Takes a line and whether later ones depend on it; returns the lines to send.
    Answer = Callable[[bytes, bool], list[str]]

MOST = 1_000_000  # bytes of a line
MOST_READ = 1 << 24  # bytes up to which a longer one is read, so that its refusal has its id
AT_ONCE = 32  # requests; another one is read when one of them is answered
_PART = 65_536
_CANCELLED = b"notifications/cancelled"
_INITIALIZE = b'"initialize"'
_PARSE_ERROR, _INVALID_REQUEST, _FAILED, _INTERNAL = -32700, -32600, -32000, -32603


def run(args: Namespace, _output: Output) -> int:
    """Serve; called only with options that serve() does not know."""
    return serve(["--vault", args.vault] if args.vault else [])


def serve(words: list[str]) -> int:
    """Answer lines until stdin ends. `words` may name the vault."""
    relay = _Relay(client.vault_of(words))
    out = os.dup(1)
    os.dup2(2, 1)  # other output of this process must not disturb the protocol
    for handle in (0, out):
        _make_blocking(handle)
    try:
        with open(0, "rb", closefd=False) as stdin:
            Service(stdin, out, relay.answer).run()
    except KeyboardInterrupt:
        return 130
    return 0


def needs_no_parser(words: list[str]) -> bool:
    """Whether serve() knows these words."""
    return not words or (len(words) == 2 and words[0] == "--vault" and words[1][:1] != "-")


def _make_blocking(handle: int) -> None:
    """Wait for the client: otherwise a pause ends the lines, and a full pipe looks disconnected."""
    try:  # noqa: SIM105 - contextlib is slow to load
        os.set_blocking(handle, True)
    except (OSError, AttributeError):  # systems where it cannot be set
        pass


def read_lines(file: BinaryIO) -> Iterator[bytes]:
    """The non-empty lines without their ends, also an incomplete last one. A line without end is cut."""
    try:
        while line := file.readline(MOST_READ):
            if len(line) == MOST_READ and not line.endswith(b"\n"):
                while (rest := file.readline(_PART)) and not rest.endswith(b"\n"):
                    pass
            if line.strip():
                yield line.removesuffix(b"\n")
    except ConnectionError:  # a socket whose other end closed before it read all answers
        pass


class _Request:
    """A line that is being answered."""

    def __init__(self, line: bytes) -> None:
        self.line = line
        self.cancelled: list[object] = []  # ids: of a batch, some may be


class Service:
    """Reads lines in one thread, and answers each in one of its own, so that a quick request does not wait for a slow
    one."""

    def __init__(self, file: BinaryIO, out: int, answer: Answer, at_once: int = AT_ONCE) -> None:
        self._file, self._out, self._answer, self._at_once = file, out, answer, at_once
        self._room = threading.Semaphore(at_once)
        self._sending = threading.Lock()
        self._running: set[_Request] = set()

    def run(self) -> None:
        """Serve until the client hangs up and its requests are answered."""
        for line in read_lines(self._file):
            if _CANCELLED in line and self._cancel(line):
                continue
            request = _Request(line)
            if _INITIALIZE in line:  # what it settles applies to all later requests
                self._send(self._answer(line, True))
                continue
            self._room.acquire()
            self._running.add(request)
            threading.Thread(target=self._work, args=(request,), daemon=True).start()
        until = time.monotonic() + client.BY_MEANING
        for _ in range(self._at_once):
            self._room.acquire(timeout=max(0.0, until - time.monotonic()))

    def _work(self, request: _Request) -> None:
        try:
            lines = self._answer(request.line, False)
            if request.cancelled:
                lines = [*_without(lines, request.cancelled)]
            self._send(lines)
        finally:
            self._running.discard(request)
            self._room.release()

    def _cancel(self, line: bytes) -> bool:
        """If this line cancels a request, drop its reply. The request itself is carried out."""
        from vaultmem.text.values import json_object  # few requests are cancelled

        message = json_object(line)
        params = message.get("params")
        if message.get("method") != _CANCELLED.decode() or not isinstance(params, dict):
            return False
        for request in [*self._running]:
            request.cancelled.append(params.get("requestId"))
        return True

    def _send(self, lines: list[str]) -> None:
        """Send whole lines; waits for a client that is slow to read."""
        text = "".join(f"{line}\n" for line in lines)
        data = memoryview(text.encode("utf-8", "backslashreplace"))
        with self._sending:
            try:
                while data:
                    data = data[os.write(self._out, data) :]
            except OSError:
                pass  # the client is gone; what it requested is carried out


def _without(lines: list[str], ids: list[object]) -> Iterator[str]:
    """The lines without the replies to these requests."""
    import json  # few requests are cancelled

    for line in lines:
        reply = json.loads(line)
        replies = reply if isinstance(reply, list) else [reply]
        if left := [each for each in replies if each["id"] is None or each["id"] not in ids]:
            yield json.dumps(left if isinstance(reply, list) else left[0])


class _Relay:
    """Forwards each line to the agent; without one, answers here. Any thread may call it."""

    def __init__(self, vault: str) -> None:
        self._vault = vault
        self._lock = threading.Lock()
        self._settled: object = {}
        self._own: Protocol | None = None

    def answer(self, line: bytes, settles: bool) -> list[str]:
        """The lines to send. Only a line that `settles` something may change the state for later ones."""
        if len(line) > MOST:
            text = line.decode(errors="replace")
            return _refusal(text, _INVALID_REQUEST, f"a message may have {MOST:,} bytes")
        try:
            text = line.decode()
        except UnicodeDecodeError:
            return _refusal("", _PARSE_ERROR, "the line is not UTF-8")
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
