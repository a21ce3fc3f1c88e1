"""vaultmem mcp: the Model Context Protocol over stdin and stdout.

Light: where the sync agent runs, this process only hands lines on, and loads nothing but a client of its socket.
Without one it answers by itself.
"""

from __future__ import annotations

import os
import sys

from vaultmem import client

TYPE_CHECKING = False  # as in core.values, without the price of another file
if TYPE_CHECKING:
    import argparse

    from vaultmem.output import Output
    from vaultmem.tools.mcp import Protocol

EPILOG = """\
For assistants: add it to a client as the server "vaultmem mcp --vault FOLDER". It has the tools that
vaultmem agent --list-tools lists, the resources vaultmem://pending and vaultmem://note/PATH, and the prompt recall.
It ends when its stdin ends; stdout carries the protocol and nothing else."""

MOST = 1_000_000  # bytes of a line
RELAYED = 250_000  # characters; what is longer might be too long for the socket once it is quoted
PATIENCE = 32.0  # seconds; the agent gives up after 30
_PART = 65_536
_CANCELLED = b"notifications/cancelled"
_NO_TEXT = '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the line is not UTF-8"}}'
_TOO_LONG = '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a message may have 1,000,000 bytes"}}'
_FAILED, _INTERNAL = -32000, -32603


def arguments(_parser: argparse.ArgumentParser) -> None:
    """No options but those that all commands have."""


def run(args: argparse.Namespace, _output: Output) -> int:
    """Serve; comes here only with options that the short way does not know."""
    return serve(["--vault", args.vault] if args.vault else [])


def serve(words: list[str]) -> int:
    """Answer lines until stdin ends. `words` may name the vault."""
    vault = client.vault_of(words)
    out = os.dup(1)
    os.dup2(2, 1)  # whatever else prints in this process must not disturb the protocol
    try:
        lines, answering = Lines(0), _Answering(vault)
        while (line := lines.next()) is not None:
            if lines.is_cancelled(line):
                continue
            said = answering.answer(line)
            if said and not lines.is_cancelled(line):
                _send(
                    out, "".join(f"{each}\n" for each in said).encode("utf-8", "backslashreplace")
                )
    except KeyboardInterrupt:
        return 130
    finally:
        os.dup2(out, 1)
        os.close(out)
    return 0


def takes(words: list[str]) -> bool:
    """Whether these words need no parser."""
    return not words or (len(words) == 2 and words[0] == "--vault" and words[1][:1] != "-")


def _send(out: int, data: bytes) -> None:
    while data:
        data = data[os.write(out, data) :]


class Lines:
    """The lines of a file handle. What has come already is looked through for what was cancelled."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._held = bytearray()
        self._is_over = self._skips = False

    def next(self) -> bytes | None:
        """The next line that is not empty, without its end; None at the end. One that is too long comes as one
        byte more than may be, whatever was in it."""
        while True:
            end = self._held.find(b"\n")
            if end < 0 and not self._is_over:
                self._read()
                continue
            line = bytes(self._held if end < 0 else self._held[:end])
            del self._held[: len(line) + 1]
            skipped, self._skips = self._skips, False
            if skipped or len(line) > MOST:
                return b" " * (MOST + 1)
            if line.strip():
                return line
            if end < 0:
                return None

    def _read(self) -> None:
        part = os.read(self._handle, _PART)
        self._is_over = not part
        self._held += part
        if len(self._held) > MOST and b"\n" not in self._held:
            self._skips = True
            self._held.clear()

    def is_cancelled(self, line: bytes) -> bool:
        """Whether the client has cancelled this request by now."""
        self._look()
        if _CANCELLED not in self._held:
            return False
        asked = _loaded(line)
        given = (_loaded(each) for each in bytes(self._held).split(b"\n") if _CANCELLED in each)
        params = [each.get("params") for each in given if each.get("method") == _CANCELLED.decode()]
        ids = [each.get("requestId") for each in params if isinstance(each, dict)]
        return "id" in asked and asked["id"] in ids

    def _look(self) -> None:
        """Read what has come, without waiting and not too much of it."""
        import select

        while not self._is_over and len(self._held) < MOST:
            if not select.select([self._handle], [], [], 0)[0]:
                return
            part = os.read(self._handle, _PART)
            self._is_over = not part
            self._held += part


def _loaded(line: bytes) -> dict[str, object]:
    import json

    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


class _Answering:
    """Asks the agent for each line; where there is none, answers here."""

    def __init__(self, vault: str) -> None:
        self._vault = vault
        self._settled: object = {}
        self._here: Protocol | None = None

    def answer(self, line: bytes) -> list[str]:
        """The lines to send."""
        if len(line) > MOST:
            return [_TOO_LONG]
        try:
            text = line.decode()
        except UnicodeDecodeError:
            return [_NO_TEXT]
        if len(text) <= RELAYED:
            try:
                said = self._by_agent(text)
            except client.AgentError as error:
                return _refusal(text, _FAILED, str(error))
            if said is not None:
                return said
        return self._by_us(text)

    def _by_agent(self, line: str) -> list[str] | None:
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
        self._settled = found.get("settled")
        return [str(each) for each in found["said"]]

    def _by_us(self, line: str) -> list[str]:
        from vaultmem.tools.mcp import Settled

        try:
            said, settled = self._protocol().answer(line, Settled.of(self._settled))
        except Exception as error:  # noqa: BLE001 - the border to the client, who must always get an answer
            sys.stderr.write(f"vaultmem: {type(error).__name__}: {error}\n")
            return _refusal(line, _INTERNAL, type(error).__name__)
        self._settled = settled.as_json()
        return said

    def _protocol(self) -> Protocol:
        if self._here is None:
            from vaultmem.api import Vault
            from vaultmem.tools.door import Door
            from vaultmem.tools.mcp import Protocol
            from vaultmem.tools.toolbox import Toolbox

            vault = self._vault
            self._here = Protocol(Door(Toolbox(), lambda: Vault(vault)))
        return self._here


def _refusal(line: str, code: int, message: str) -> list[str]:
    from vaultmem.tools.mcp import refusal

    return refusal(line, code, " ".join(message.split()))
