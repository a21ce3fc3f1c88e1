"""The application behind the door (owner of starlette here): authentication, refusals, and routes."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vaultmem import __version__, plugins
from vaultmem.api.toolbox import for_tools
from vaultmem.errors import StateError
from vaultmem_server import guard
from vaultmem_server.link import LinkError
from vaultmem_server.tokens import Caller

if TYPE_CHECKING:
    from vaultmem_server.door import Door

# The names with which mounted packages define routes: starlette has one owner here.
__all__ = [
    "ASGIApp", "BaseRoute", "HTTPException", "Message", "Middleware", "Mount", "Receive", "RedirectResponse", "Request",
    "Response", "Route", "Scope", "Send", "StaticFiles", "StreamingResponse",
]  # fmt: skip

log = logging.getLogger("vaultmem.http")

Lifespan = Callable[[Starlette], AbstractAsyncContextManager[None]]
Endpoint = Callable[[Request], Awaitable[Response]]

MOUNTS = "vaultmem.http"  # entry points: door -> routes below /NAME, with their own access control
HEALTH = "/health"
MOST_BODY = 1_200_000  # bytes
CALLS = 6_000  # of one token per minute
GONE = 499  # as in nginx: the client left before its request was complete; nobody gets the response
_FAILURES = HTTPException, LinkError, StateError, ClientDisconnect, Exception
_PLAIN = {401: "a valid token is needed: Authorization: Bearer vmt_…", 404: "there is nothing at this address",
          405: "this address has no such method"}  # fmt: skip


def caller_of(request: Request, door: Door) -> Caller | None:
    """The client of a request; None for an unknown one. The one place of authentication: OAuth would go here."""
    scheme, _, text = request.headers.get("authorization", "").partition(" ")
    token = door.tokens.holder(text.strip()) if scheme.lower() == "bearer" else None
    return Caller(token, _address(request)) if token else None


def require(caller: Caller, scope: str) -> None:
    """Raise HTTPException where the token lacks the scope."""
    if not caller.may(scope):
        raise HTTPException(
            403, f"this token has the scope {caller.token.scope}; {scope} is needed"
        )


def current_caller(request: Request) -> Caller:
    """The authenticated client."""
    caller = request.scope["vaultmem.caller"]
    assert isinstance(caller, Caller)
    return caller


def allowed_vaults(door: Door, caller: Caller) -> list[str]:
    """The names of the vaults that a token opens."""
    return [name for name, own_id in door.ids.items() if caller.token.opens(own_id)]


def vault_for(door: Door, caller: Caller, name: str = "") -> str:
    """The vault of a request: by its name, or the only one that the token opens. Raises HTTPException."""
    mine = allowed_vaults(door, caller)
    if name in mine:
        return name
    if name or not mine:
        vaults = f"it opens {', '.join(mine)}" if mine else "it opens none that is served here"
        raise HTTPException(404, f"no vault {name[:40]!r} for this token: {vaults}")
    if len(mine) > 1:
        raise HTTPException(400, f"name one of the vaults {', '.join(mine)}")
    return mine[0]


def build(door: Door, lifespan: Lifespan) -> Starlette:
    """The application."""
    from vaultmem_server import rest, streamable

    async def health(_: Request) -> Response:
        return JSONResponse({"status": "ok", "version": __version__})

    async def failed(_: Request, error: Exception) -> Response:
        return _failure(error)

    mounted = _mounted_routes(door)
    paths = [route.path for route in mounted if hasattr(route, "path")]
    prefixes = tuple(path for path in paths if not _guarded(path, door))
    app = Starlette(
        routes=[Route(HEALTH, health), *rest.routes(door), *streamable.routes(door), *mounted],
        middleware=[Middleware(_Door, door, (HEALTH, *prefixes))],
        exception_handlers=dict.fromkeys(_FAILURES, failed),
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    return app


def _mounted_routes(door: Door) -> list[BaseRoute]:
    """The routes of other packages. Those that cannot be loaded are logged and left out."""
    routes: list[BaseRoute] = []

    def leave_out(name: str, why: str) -> None:
        log.warning("%s is left out: %s", name, why)
        door.left_out[name] = why

    plugins.load_each(MOUNTS, lambda _, mount: routes.extend(mount(door)), leave_out)
    return routes


class _Door:
    """Middleware for all requests: checks host, token, size and rate, and counts requests."""

    def __init__(self, app: ASGIApp, door: Door, free: tuple[str, ...]) -> None:
        self._app, self._door, self._free = app, door, free
        self._rates = _Rates()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500
        self._door.last_request = time.monotonic()

        async def counted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                no_sniff = (b"x-content-type-options", b"nosniff")
                message["headers"] = [*message.get("headers", ()), no_sniff]
            await send(message)

        request = Request(scope, receive)
        try:
            if refusal := self._refusal(request):
                await refusal(scope, receive, counted)
            else:
                await self._app(scope, limit(receive, _most(scope["path"], self._door)), counted)
        finally:
            self._door.metrics.count(_route(scope, status), status, time.perf_counter() - began)

    def _odd(self, request: Request, most: int) -> Response | None:
        """The refusal of a request for another host, or with an ambiguous or excessive length; else None."""
        if why := _foreign(request, self._door):
            self._door.metrics.refused[why] += 1
            return _error(403, f"the {why} is not one of this server")
        if guard.has_two_lengths(request.headers.raw):
            two = guard.TWO_LENGTHS
            return _error(two.status, two.message, two.headers)
        length = request.headers.get("content-length", "")
        if length.isascii() and length.isdecimal() and int(length) > most:
            return _error(413, f"a request may have {most:,} bytes")
        return None

    def _refusal(self, request: Request) -> Response | None:
        path = request.scope["path"]
        if refusal := self._odd(request, _most(path, self._door)):
            return refusal
        if any(path == prefix or path.startswith(f"{prefix}/") for prefix in self._free):
            return None
        caller = caller_of(request, self._door)
        if caller is None:
            self._door.metrics.refused["token"] += 1
            return _error(401, _PLAIN[401], {"www-authenticate": "Bearer"})
        request.scope["vaultmem.caller"] = caller
        if wait := self._rates.take(caller.token.key):
            self._door.metrics.refused["rate"] += 1
            what = f"more than {CALLS} requests a minute; try again in {wait} s"
            return _error(429, what, {"retry-after": str(wait)})
        return None


def _route(scope: Scope, status: int) -> str:
    """The route for counting: without invented paths and names of vaults."""
    first, *more = scope["path"].split("/")[1:3] or [""]  # OPTIONS * has no slash
    if status == 404 or not ("vaultmem.caller" in scope or first == "health"):
        return "refused"
    return f"/{first}" if first == "mcp" else "/".join(["", first, *more])


def _foreign(request: Request, door: Door) -> str:
    """The header that shows that a web page sent the request, or that it is for another host; else "". A page in a
    browser can send requests here, but not hide its origin."""
    host = request.headers.get("host", "").lower()
    name, _ = guard.split_host(host)
    is_any = bool(door.names & guard.WILDCARDS)
    if name not in door.names and not (is_any and guard.is_address(name)):
        return "Host"
    origin = request.headers.get("origin")
    if origin is not None and origin.lower().partition("://")[2] != host:
        return "Origin"
    return ""


def _guarded(path: str, door: Door) -> str:
    """The path of the mounted package with tokens that a path belongs to; "" for none."""
    return next((prefix for prefix in door.guarded if path.startswith(f"{prefix}/")), "")


def _most(path: str, door: Door) -> int:
    return door.guarded.get(_guarded(path, door), MOST_BODY)


def limit(receive: Receive, most: int) -> Receive:
    """Limit a body to a size, as its length may be unstated."""
    size = 0

    async def limited() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > most:
            raise HTTPException(413, f"a request may have {most:,} bytes")
        return message

    return limited


def _address(request: Request) -> str:
    return request.client.host if request.client else ""


class _Rates:
    """Counts requests by token, with bursts up to a minute's worth."""

    def __init__(self) -> None:
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, key: str) -> int:
        """Count a request. Returns 0, or the seconds to wait."""
        now = time.monotonic()
        left, since = self._left.get(key, (float(CALLS), now))
        left = min(float(CALLS), left + (now - since) * CALLS / 60)
        if left < 1:
            return math.ceil((1 - left) * 60 / CALLS)
        self._left[key] = (left - 1, now)
        return 0


def _error(status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"error": message}, status, headers)


def _failure(error: Exception) -> Response:
    if isinstance(error, HTTPException):
        is_plain = error.detail in ("Not Found", "Method Not Allowed")
        text = _PLAIN[error.status_code] if is_plain else error.detail
        return _error(error.status_code, text, dict(error.headers or {}))
    if isinstance(error, LinkError):
        return _error(error.status, for_tools(str(error)))
    if isinstance(error, ClientDisconnect):
        return _error(GONE, "the client left")
    if isinstance(error, StateError):
        log.error("%s", error)
        return _error(500, "the server cannot read its tokens; its log says more")
    log.exception("a request failed", exc_info=error)
    return _error(500, f"the server failed: {type(error).__name__}")
