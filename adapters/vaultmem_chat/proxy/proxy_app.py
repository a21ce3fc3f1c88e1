"""The routes of the proxy (owner of starlette): chats, all other requests below /v1, and its health."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from contextlib import AbstractAsyncContextManager
from typing import TypeVar

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from vaultmem import __version__
from vaultmem_chat.proxy.chats import Chats, Exchange
from vaultmem_chat.proxy.upstream import Reply, Upstream, UpstreamError, for_upstream, leads_out
from vaultmem_server.guard import Guard
from vaultmem_server.http_app import limit

log = logging.getLogger("vaultmem.proxy")

MOST_BODY = 32_000_000  # bytes
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
_T = TypeVar("_T")
_MESSAGES = {404: "there is nothing at this address", 405: "this address has no such method"}
_CODES = {404: "not_found", 405: "method_not_allowed"}

Endpoint = Callable[[Request], Awaitable[Response]]
Lifespan = Callable[[Starlette], AbstractAsyncContextManager[None]]


def build(
    chats: Iterable[Chats], server: Upstream, guard: Guard, waiting: Callable[[], int], lifespan: Lifespan
) -> Starlette:  # fmt: skip
    """The application. `waiting` returns the number of turns in the queue."""

    async def health(_: Request) -> Response:
        return JSONResponse({"status": "ok", "version": __version__, "turns_waiting": waiting()})

    app = Starlette(
        routes=[
            *(Route(f"/v1{chat.form.path}", chat_with(chat), methods=["POST"]) for chat in chats),
            Route("/v1/{rest:path}", forward_to(server), methods=list(METHODS)),
            Route("/health", health, methods=["GET"]),
        ],
        middleware=[Middleware(_Guarded, guard)],
        exception_handlers=dict.fromkeys((*_OURS, Exception), _handle),
        lifespan=lifespan,
    )  # fmt: skip
    app.router.redirect_slashes = False
    return app


class _Guarded:
    """Middleware that applies the guard to all requests."""

    def __init__(self, app: ASGIApp, guard: Guard) -> None:
        self._app, self._guard = app, guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            if refusal := self._guard.refusal(scope["headers"], scope["path"]):
                await _error(*refusal)(scope, receive, send)
                return
            scope = {**scope, "headers": self._guard.without_key(scope["headers"])}
        await self._app(scope, receive, send)


class _Relay(StreamingResponse):
    """Streams the upstream's answer. If that is cut off, so is this one."""

    def __init__(
        self, reply: Reply, pieces: AsyncIterator[bytes], close: Callable[[], Awaitable[None]]
    ) -> None:
        super().__init__(pieces, reply.status)
        self.raw_headers = reply.headers
        self._close = close

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        except UpstreamError as error:
            log.info("an answer is cut off: %s", error)
        finally:
            await self._close()


def chat_with(chats: Chats) -> Endpoint:
    """The endpoint of one of the chat APIs."""

    async def chat(request: Request) -> Response:
        body = await Request(request.scope, limit(request.receive, MOST_BODY)).body()
        exchange = Exchange(chats)
        try:
            sending = exchange.send(request.headers.raw, body, _query(request))
            reply = await _while_connected(request, sending)
        except BaseException:
            await exchange.close()
            raise
        return _Relay(reply, exchange.pieces(), exchange.close)

    return chat


def forward_to(server: Upstream) -> Endpoint:
    """The endpoint for everything else of the upstream: models, embeddings, files."""

    async def forward(request: Request) -> Response:
        began, path = time.monotonic(), _path(request)
        headers = request.headers
        has_length = headers.get("content-length") not in (None, "0")
        body = request.stream() if has_length or "transfer-encoding" in headers else None
        sending = server.send(request.method, path, for_upstream(headers.raw), body)
        # Reading a body detects that the client has disconnected.
        reply = await (sending if body else _while_connected(request, sending))
        log.info("%s %s in %.2f s", request.method, reply.status, time.monotonic() - began)
        return _Relay(reply, reply.pieces(), reply.close)

    return forward


def _path(request: Request) -> str:
    """The raw path after /v1. Raises HTTPException for one that leads out of it."""
    raw = str(request.scope["raw_path"], "ascii", "replace")
    path = raw.removeprefix("/v1") + _query(request)
    if not raw.startswith("/v1/") or leads_out(path):
        raise HTTPException(404)
    return path


def _query(request: Request) -> str:
    query = str(request.scope["query_string"], "ascii", "replace")
    return f"?{query}" if query else ""


async def _while_connected(request: Request, work: Coroutine[None, None, _T]) -> _T:
    """Run the work while the client is connected. When it disconnects, stops the work and raises ClientDisconnect."""
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_left(request))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise ClientDisconnect
    finally:
        leaving.cancel()
        working.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _error(
    status: int, message: str, code: str | None, headers: dict[str, str] | None = None
) -> Response:
    """An error response in OpenAI's format, and in Anthropic's, which names its own type."""
    kinds = {500: "server_error", 502: "upstream_error", 504: "upstream_error"}
    kind = kinds.get(status, "invalid_request_error")
    error = {"message": message, "type": kind, "param": None, "code": code}
    return JSONResponse({"type": "error", "error": error}, status, headers)


def _as_answer(error: Exception) -> Response:
    match error:
        case HTTPException():
            status = error.status_code
            is_plain = error.detail in ("Not Found", "Method Not Allowed")
            message = _MESSAGES[status] if is_plain else error.detail
            return _error(status, message, _CODES.get(status), dict(error.headers or {}))
        case UpstreamError():
            return _error(error.status, str(error), error.code)
        case ClientDisconnect():
            return Response(status_code=499)  # which no client reads
    return _error(500, f"the proxy failed: {type(error).__name__}", "internal_error")


async def _handle(_: Request, error: Exception) -> Response:
    return _as_answer(error)


_OURS = (HTTPException, UpstreamError, ClientDisconnect)


async def in_form(request: Request, endpoint: Endpoint) -> Response:
    """The response of an endpoint, with errors in OpenAI's format."""
    try:
        return await endpoint(request)
    except _OURS as error:
        return _as_answer(error)
