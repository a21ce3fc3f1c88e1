"""Connections to the agents: requests go over a few open sockets to each vault's agent, and under load searches also
go to a second process."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

from vaultmem import client, paths
from vaultmem.api.rpc import (
    INVALID_REQUEST,
    NOT_FOUND,
    PARSE_ERROR,
    UNKNOWN_METHOD,
    WRONG_PARAMS,
    to_json,
)
from vaultmem.api.verbs import JSON
from vaultmem.errors import VaultmemError

MOST_OPEN = 24  # connections to one agent, which accepts 110 in all
SEARCHES = 1  # of one agent at once: two would share its interpreter, for a third more work
CROWD = 6  # keyword searches of one vault at once, above which a second process takes some
PATIENCE = 60.0  # seconds for an answer
START_WITHIN = 20.0  # seconds for an agent that was just started
_LONGEST = 1 << 26  # bytes of a reply
_RETRY = 0.05
_BROKEN = OSError, EOFError, ValueError, LookupError  # of a lost connection, and of a late reply
_RESULT, _END = b'{"id": 1, "result": ', b"}\n"  # the text around a result in a reply
_FIRST = b'{"id": 1, "params": {"query": "note", "keyword": true}}\n'  # opens what a search needs

JsonObject = dict[str, object]
OnProgress = Callable[[JsonObject], None]


def of_memories(verb: str, params: JsonObject) -> JsonObject:
    """The parameters of the method `memory` for a verb."""
    return {"verb": verb, "params": params, "door": JSON}


def inside(value: object, *names: str) -> object:
    """The value at a path of names in nested JSON objects; None if one is missing."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


class LinkError(VaultmemError):
    """An error of the agent; `status` is the HTTP status."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        statuses = {
            WRONG_PARAMS: 400, PARSE_ERROR: 400, INVALID_REQUEST: 413,  # ours are too large, or nothing
            NOT_FOUND: 404, UNKNOWN_METHOD: 404, client.NO_ANSWER: 503, client.BUSY: 503,
        }  # fmt: skip
        self.status = statuses.get(code, 422)


class _Connection(NamedTuple):
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def is_usable(self) -> bool:
        return not (self.reader.at_eof() or self.writer.is_closing())


class Reader:
    """A second process for keyword searches, one at a time. It ends with the door."""

    def __init__(self, vault: str) -> None:
        self._command = [sys.executable, "-P", "-m", "vaultmem.commands.dispatch", vault]
        self._process: asyncio.subprocess.Process | None = None
        self._starting: asyncio.Task[None] | None = None
        self.is_busy = False

    def wake(self) -> bool:
        """Whether it is ready for a request; starts it if it is not running."""
        if not self.is_busy and (self._process is None or self._process.returncode is not None):
            self.is_busy = True
            self._starting = asyncio.create_task(self._start())
        return not self.is_busy

    async def _start(self) -> None:
        pipe, none = subprocess.PIPE, subprocess.DEVNULL
        with contextlib.suppress(*_BROKEN):
            self._process = await asyncio.create_subprocess_exec(
                *self._command, stdin=pipe, stdout=pipe, stderr=none, limit=_LONGEST
            )
            await self.answer(_FIRST)
        self.is_busy = False

    async def answer(self, line: bytes) -> bytes:
        """The reply to a request. Without one, ends the process and raises one of _BROKEN."""
        process, self._process = self._process, None
        assert process
        assert process.stdin
        assert process.stdout
        try:
            reply = await _exchange(_Connection(process.stdout, process.stdin), line, None)
        except BaseException:  # the next request would get the rest of the reply
            process.stdin.close()
            raise
        self._process = process
        return reply

    def close(self) -> None:
        """End the process."""
        if self._starting:
            self._starting.cancel()
        if self._process and self._process.stdin:
            self._process.stdin.close()


class Link:
    """The connections to the agent of one vault, for one event loop."""

    def __init__(self, vault: str) -> None:
        self.vault = vault
        self._free: list[_Connection] = []
        self._room = asyncio.Semaphore(MOST_OPEN)
        self._searches = asyncio.Semaphore(SEARCHES)
        self._pair = asyncio.Semaphore(2)  # keyword searches, one of them by the agent
        self._searching = 0
        self._indexed = 0.0  # everything written before this time is in the index
        self.reader = Reader(vault)
        self.in_flight = 0

    async def call(
        self, method: str, params: JsonObject, on_progress: OnProgress | None = None
    ) -> object:
        """The result of a method. Raises LinkError."""
        return json.loads(await self.answer(method, params, on_progress))

    async def answer(
        self, method: str, params: JsonObject, on_progress: OnProgress | None = None
    ) -> bytes:
        """The JSON of a result, as the agent wrote it. Raises LinkError; a request is never sent twice."""
        request = {"id": 1, "method": method, "params": params, "progress": on_progress is not None}
        line = f"{to_json(request)}\n".encode()
        self.in_flight += 1
        try:
            if method == "search" and params.get("keyword") is True:
                return _result(await self._by_keyword(line))
            async with self._searches if method == "search" else self._room:
                return _result(await self._by_agent(line, on_progress))
        finally:
            self.in_flight -= 1

    async def _by_keyword(self, line: bytes) -> bytes:
        """The reply to a keyword search: from the agent, or under load from the first free process."""
        self._searching += 1
        came = time.monotonic()
        try:
            async with self._pair:
                is_crowd = self._searching >= CROWD and self._searches.locked()
                reply = await self._beside(line, came) if is_crowd else b""
                if reply:
                    return reply
                async with self._searches:
                    return await self._by_agent(line)
        finally:
            self._searching -= 1

    async def _beside(self, line: bytes, came: float) -> bytes:
        """The reply of the second process, which sees earlier writes; b"" without one."""
        if not self.reader.wake():
            return b""
        self.reader.is_busy = True
        try:
            if self._indexed <= came:  # otherwise the writes were indexed after this search arrived
                begun = time.monotonic()
                await self.answer("index-writes", {})
                self._indexed = begun
            return await self.reader.answer(line)
        except _BROKEN:
            return b""
        finally:
            self.reader.is_busy = False

    async def _by_agent(self, line: bytes, on_progress: OnProgress | None = None) -> bytes:
        connection = await self._connection()
        try:
            reply = await _exchange(connection, line, on_progress)
        except BaseException as error:
            connection.writer.close()
            if not isinstance(error, _BROKEN):
                raise
            why = f": {str(error) or type(error).__name__}"
            if isinstance(error, TimeoutError):
                why = f" within {PATIENCE:.0f} seconds; it may still carry that out"
            raise LinkError(client.NO_ANSWER, f"the agent did not answer{why}") from error
        self._free.append(connection)
        return reply

    def close(self) -> None:
        """Close all connections."""
        for connection in self._free:
            connection.writer.close()
        self._free.clear()
        self.reader.close()

    async def _connection(self) -> _Connection:
        while self._free:
            connection = self._free.pop()
            if connection.is_usable():
                return connection
            connection.writer.close()
        try:
            path = paths.socket_path(self.vault)
            if not client.is_ours(path):
                raise PermissionError("its socket belongs to somebody else")
            return _Connection(*await asyncio.open_unix_connection(path, limit=_LONGEST))
        except OSError as error:
            why = "the agent of this vault does not run; vaultmem start"
            raise LinkError(client.NO_ANSWER, why) from error


async def _exchange(connection: _Connection, line: bytes, on_progress: OnProgress | None) -> bytes:
    """The reply to a request. Raises one of _BROKEN without one in time."""
    async with asyncio.timeout(PATIENCE):
        connection.writer.write(line)
        await connection.writer.drain()
        while True:
            answer = await connection.reader.readline()
            if not answer.endswith(b"\n"):
                raise EOFError("the connection was closed early")
            state = json.loads(answer).get("progress") if on_progress else None
            if on_progress is None or not isinstance(state, dict):
                return answer
            on_progress(state)


def _result(reply: bytes) -> bytes:
    """The result in an agent's reply, which is usually passed on unparsed. Raises LinkError."""
    if reply.startswith(_RESULT):
        return reply[len(_RESULT) : -len(_END)]
    problem = json.loads(reply)["error"]
    raise LinkError(int(problem["code"]), str(problem["message"]))


class Companion:
    """Keeps an agent running for a vault: starts one if needed, restarts it, and ends it with the door."""

    def __init__(self, vault: str, command: list[str]) -> None:
        self.vault, self._command = vault, command
        self._process: subprocess.Popen[bytes] | None = None

    async def watch(self) -> None:
        """Keep an agent running until cancelled."""
        wait = 1.0
        while True:
            if not await asyncio.to_thread(self._answers):
                if self._process is None or self._process.poll() is not None:
                    none = subprocess.DEVNULL
                    self._process = subprocess.Popen(
                        self._command, stdin=none, stdout=none, stderr=none
                    )
                wait = min(30.0, wait * 2)
            else:
                wait = 1.0
            await asyncio.sleep(wait)

    async def ready(self) -> None:
        """Wait until an agent answers, for a limited time."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(START_WITHIN):
                while not await asyncio.to_thread(self._answers):
                    await asyncio.sleep(_RETRY)

    def end(self) -> None:
        """End the agent, if it is ours."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(5)
            except subprocess.TimeoutExpired:
                self._process.kill()

    def _answers(self) -> bool:
        try:
            return client.call(self.vault, "ping", {}, timeout=2.0) is not client.NO_AGENT
        except client.AgentError:
            return os.path.exists(paths.socket_path(self.vault))
