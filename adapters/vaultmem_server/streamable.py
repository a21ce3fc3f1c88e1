"""The Model Context Protocol over streamable HTTP (revision 2025-11-25 of its section "Transports").

Messages are passed to the agent and back unchanged. A quick answer is JSON; for a slow one the response becomes a
stream of server-sent events, which a client resumes with Last-Event-ID after a broken connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from vaultmem.api.mcp import BATCHED, ENVELOPES, HANDSHAKES, MOST_BATCH, is_batch
from vaultmem.api.verbs import every
from vaultmem_server.http_app import current_caller, vault_for
from vaultmem_server.link import JsonObject, LinkError, inside
from vaultmem_server.tokens import WRITE, Caller

if TYPE_CHECKING:
    from vaultmem_server.door import Door

SESSION, VERSION, LAST = "mcp-session-id", "mcp-protocol-version", "last-event-id"
SOON = 1.0  # seconds within which an answer is plain JSON
QUIET = 15.0  # seconds between keep-alive comments of a stream
MOST_SESSIONS, MOST_OF_TOKEN = 2_000, 100  # in all, and of one token
MOST_STREAMS = 32  # of a session
IDLE = 3_600.0  # seconds after which an unused session is forgotten
_STREAM = {"cache-control": "no-cache, no-transform", "x-accel-buffering": "no"}
_CANCELLED, _PROGRESS = "notifications/cancelled", "notifications/progress"
_ENVELOPE = "io.modelcontextprotocol/protocolVersion"
_EVENT = re.compile(r"([0-9]{1,9})-([0-9]{1,9})")  # the id of an event: stream and index
_INTERNAL = -32603
_WRITERS = {name.replace("-", "_") for name, verb in every().items() if verb.tool and verb.writes}


@dataclass
class Stream:
    """The events in answer to a request or a batch, with ids for clients that resume."""

    number: int
    requests: list[object]  # their ids
    events: list[str] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    is_over: bool = False
    task: asyncio.Task[None] | None = None

    def send(self, message: str) -> None:
        """Add an event."""
        self.events.append(message)
        self.changed.set()

    def stop(self) -> None:
        """Stop waiting for the answer."""
        if self.task is not None:
            self.task.cancel()
        self.end()

    def end(self) -> None:
        """Mark the stream as complete."""
        self.is_over = True
        self.changed.set()

    async def after(self, seen: int) -> AsyncIterator[bytes]:
        """Yield the events after the first `seen` as bytes, until the last."""
        while True:
            for at, message in enumerate(self.events[seen:], seen + 1):
                yield f"id: {self.number}-{at}\nevent: message\ndata: {message}\n\n".encode()
            seen = max(seen, len(self.events))
            if self.is_over and seen == len(self.events):
                return
            self.changed.clear()
            try:
                await asyncio.wait_for(self.changed.wait(), QUIET)
            except TimeoutError:
                yield b": still here\n\n"


@dataclass
class Session:
    """The state of a client: its vault, and the streams that it may resume."""

    id: str
    token: str  # the key of its token
    vault: str
    settled: object = None
    used: float = field(default_factory=time.monotonic)
    streams: OrderedDict[int, Stream] = field(default_factory=OrderedDict)
    _count: int = 0

    def stream(self, requests: list[object]) -> Stream:
        """A new stream, which replaces the oldest finished one if there are too many."""
        self._count += 1
        new = self.streams[self._count] = Stream(self._count, requests)
        over = [number for number, stream in self.streams.items() if stream.is_over]
        for number in over[: max(0, len(self.streams) - MOST_STREAMS)]:
            del self.streams[number]
        if len(self.streams) > MOST_STREAMS:
            del self.streams[self._count]
            raise HTTPException(429, f"a session may have {MOST_STREAMS} requests at once")
        return new


class Sessions:
    """The sessions by id; each belongs to one token."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[str, Session] = OrderedDict()

    def begin(self, caller: Caller, vault: str) -> Session:
        """A new session."""
        now = time.monotonic()
        for id_ in [id_ for id_, session in self._sessions.items() if now - session.used > IDLE]:
            self.end(self._sessions[id_])
        sessions = [
            session for session in self._sessions.values() if session.token == caller.token.key
        ]
        if len(sessions) >= MOST_OF_TOKEN:  # no token can end the sessions of another
            self.end(sessions[0])
        while len(self._sessions) >= MOST_SESSIONS:
            self.end(next(iter(self._sessions.values())))
        new = Session(secrets.token_urlsafe(24), caller.token.key, vault)
        self._sessions[new.id] = new
        return new

    def named(self, id_: str, caller: Caller, vault: str) -> Session:
        """The session of a request. Raises HTTPException 404, after which a client starts a new one."""
        session = self._sessions.get(id_)
        if session is None or session.token != caller.token.key or session.vault != vault:
            raise HTTPException(404, "no such session; initialize again")
        session.used = time.monotonic()
        self._sessions.move_to_end(id_)
        return session

    def end(self, session: Session) -> None:
        """Forget a session and stop its streams."""
        self._sessions.pop(session.id, None)
        for stream in session.streams.values():
            stream.stop()


def routes(door: Door) -> list[BaseRoute]:
    """The routes /mcp, for a token with one vault, and /mcp/NAME, for several."""
    endpoint = _Endpoint(door)
    methods = ["POST", "GET", "DELETE"]
    return [
        Route("/mcp", endpoint.answer, methods=methods),
        Route("/mcp/{vault}", endpoint.answer, methods=methods),
    ]


class _Endpoint:
    def __init__(self, door: Door) -> None:
        self._door = door
        self._sessions = Sessions()

    async def answer(self, request: Request) -> Response:
        caller = current_caller(request)
        vault = vault_for(self._door, caller, request.path_params.get("vault", ""))
        version = request.headers.get(VERSION)
        if version is not None and version not in (*HANDSHAKES, *ENVELOPES):
            raise HTTPException(400, f"{VERSION} {version[:20]!r} is not supported")
        id_ = request.headers.get(SESSION, "")
        if request.method == "POST":
            return await self._post(request, caller, vault, id_)
        if not id_:
            raise HTTPException(400, f"{SESSION} is missing")
        session = self._sessions.named(id_, caller, vault)
        if request.method == "DELETE":
            self._sessions.end(session)
            return Response(status_code=204)
        return self._resume(request, session)

    async def _post(self, request: Request, caller: Caller, vault: str, id_: str) -> Response:
        accepted = request.headers.get("accept", "*/*")
        if not any(kind in accepted for kind in ("application/json", "*/*", "application/*")):
            kinds = "application/json and text/event-stream"
            raise HTTPException(406, f"the client must accept {kinds}")
        if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            raise HTTPException(415, "the body must be application/json")
        try:
            message = json.loads((await request.body()).decode())
        except (ValueError, RecursionError) as error:
            raise HTTPException(400, "the body is not JSON") from error
        session = self._session(message, caller, vault, id_)
        batched = is_batch(message, inside(session.settled, "version"))
        requests = _requests(session, message if batched else [message])
        if not requests:
            return Response(status_code=202)
        stream = session.stream([each["id"] for each in requests])
        stream.task = asyncio.create_task(self._answer_all(session, stream, caller, requests))
        with contextlib.suppress(TimeoutError):
            if "text/event-stream" in accepted:
                await asyncio.wait_for(asyncio.shield(stream.task), SOON)
            else:
                await stream.task
        begins = inside(message, "method") == "initialize"
        headers = {SESSION: session.id} if begins else {}
        if stream.is_over and len(stream.events) == len(requests):
            session.streams.pop(stream.number, None)
            replies = f"[{','.join(stream.events)}]" if batched else stream.events[0]
            return Response(replies, media_type="application/json", headers=headers)
        if stream.is_over and not stream.events:
            return Response(status_code=202, headers=headers)
        return StreamingResponse(
            stream.after(0), media_type="text/event-stream", headers={**headers, **_STREAM}
        )

    def _session(self, message: object, caller: Caller, vault: str, id_: str) -> Session:
        if id_:
            return self._sessions.named(id_, caller, vault)
        if inside(message, "method") == "initialize":
            return self._sessions.begin(caller, vault)
        if inside(message, "params", "_meta", _ENVELOPE) in ENVELOPES:  # it names its own version
            return Session("", caller.token.key, vault)
        raise HTTPException(400, f"{SESSION} is missing: initialize first")

    async def _answer_all(
        self, session: Session, stream: Stream, caller: Caller, requests: list[JsonObject]
    ) -> None:
        try:
            for message in requests:
                await self._carry_out(session, stream, caller, message)
        finally:
            stream.end()

    async def _carry_out(
        self, session: Session, stream: Stream, caller: Caller, message: JsonObject
    ) -> None:
        """Call the agent, and add its messages to the stream."""
        client, line = caller.client or caller.token.name, json.dumps(message)
        request: JsonObject = {"line": line, "settled": session.settled, "client": client}
        request["reads_only"] = not caller.may(WRITE)
        status, token = 500, inside(message, "params", "_meta", "progressToken")
        wants_progress = isinstance(token, (str, int))

        def on_progress(state: JsonObject) -> None:
            params = {"progressToken": token, "progress": state.get("done", 0), "total": state.get("total", 0),
                      "message": state.get("stage", "")}  # fmt: skip
            stream.send(json.dumps({"jsonrpc": "2.0", "method": _PROGRESS, "params": params}))

        try:
            link = self._door.links[session.vault]
            reply = await link.call("mcp", request, on_progress if wants_progress else None)
            assert isinstance(reply, dict)
            for reply_line in reply["lines"]:
                stream.send(str(reply_line))
            if message["method"] == "initialize":
                session.settled = reply["settled"]
            status = 200
        except LinkError as error:
            status = error.status
            problem = {"code": _INTERNAL, "message": str(error)}
            stream.send(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": problem}))
        finally:
            if tool := _tool_of(message):
                outcome = (
                    422 if status == 200 and any(map(_is_refusal, stream.events[-1:])) else status
                )
                self._door.audit.write(caller, session.vault, tool, outcome)

    def _resume(self, request: Request, session: Session) -> Response:
        """The rest of a stream. Without Last-Event-ID there is nothing to send, as we send no unsolicited
        messages."""
        last = _EVENT.fullmatch(request.headers.get(LAST, ""))
        if last is None:
            advice = "Last-Event-ID takes up a stream that broke off"
            raise HTTPException(405, f"there are no unsolicited messages; {advice}")
        number, seen = map(int, last.groups())
        stream = session.streams.get(number)
        if stream is None:
            raise HTTPException(404, "that stream is over and forgotten")
        return StreamingResponse(
            stream.after(seen), media_type="text/event-stream", headers=_STREAM
        )


def _requests(session: Session, messages: list[object]) -> list[JsonObject]:
    """The messages to answer; what others cancel is cancelled, but none of several. Raises HTTPException."""
    objects: list[JsonObject] = [each for each in messages if isinstance(each, dict)]
    if len(objects) < len(messages):
        why = f"the body must be one message, an object, or up to {MOST_BATCH} in version {BATCHED}"
        raise HTTPException(400, why)
    if len(objects) > 1 and any(each.get("method") == "initialize" for each in objects):
        raise HTTPException(400, "initialize cannot be part of a batch")
    for message in objects:
        if message.get("method") == _CANCELLED:
            _cancel(session, message)
    return [
        each for each in objects if {"method", "id"} <= each.keys() and each["method"] != _CANCELLED
    ]


def _cancel(session: Session, message: JsonObject) -> None:
    """Stop waiting for a request. The agent finishes what it has begun: writes are atomic."""
    request_id = inside(message, "params", "requestId")
    for stream in session.streams.values():
        is_open = stream.task is not None and not stream.is_over
        if request_id is not None and stream.requests == [request_id] and is_open:
            stream.stop()


def _is_refusal(reply: str) -> bool:
    """Whether a reply is an error, or the result of a tool that is one."""
    answer = json.loads(reply)
    return bool(inside(answer, "error") or inside(answer, "result", "isError"))


def _tool_of(message: JsonObject) -> str:
    """The tool that a message calls, if it may write; "" for other messages."""
    name = inside(message, "params", "name")
    if inside(message, "method") != "tools/call" or not isinstance(name, str):
        return ""
    return name[:64] if name.removeprefix("memory_") in _WRITERS else ""
