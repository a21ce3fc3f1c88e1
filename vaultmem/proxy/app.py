"""The addresses of the proxy (owner of starlette)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import NamedTuple

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from vaultmem import __version__
from vaultmem.proxy.asgi import App
from vaultmem.proxy.chats import Chats
from vaultmem.proxy.openapi import DESCRIPTION
from vaultmem.proxy.passing import METHODS, Passing


class Life(NamedTuple):
    """What is done before the first request is read, and when all is over."""

    begin: Callable[[], Awaitable[None]]
    end: Callable[[], Awaitable[None]]


def made(chats: Iterable[Chats], passing: Passing, waiting: Callable[[], int], life_: Life) -> App:
    """The application. `waiting` counts the turns that are not learned from yet."""

    async def health(_: Request) -> Response:
        return JSONResponse({"status": "ok", "version": __version__, "turns_waiting": waiting()})

    async def described(_: Request) -> Response:
        return JSONResponse(DESCRIPTION)

    @asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        await life_.begin()
        try:
            yield
        finally:
            await life_.end()

    app = Starlette(
        routes=[
            *(Route(f"/v1{one.path}", one, methods=["POST"]) for one in chats),
            Route("/v1/models", passing, methods=["GET"]),
            Route("/v1/{rest:path}", passing, methods=list(METHODS)),
            Route("/health", health, methods=["GET"]),
            Route("/openapi.json", described, methods=["GET"]),
        ],
        exception_handlers={HTTPException: _refused, Exception: _failed},
        lifespan=life,
    )
    app.router.redirect_slashes = False
    return app


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    said = {404: "there is nothing at this address", 405: "this address has no such method"}
    message = said.get(error.status_code, error.detail)
    code = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code)
    return _fault(error.status_code, message, code, dict(error.headers or {}))


async def _failed(_: Request, error: Exception) -> Response:
    return _fault(500, f"the proxy failed: {type(error).__name__}", "internal_error", {})


def _fault(status: int, message: str, code: str | None, headers: dict[str, str]) -> Response:
    kind = "invalid_request_error" if status < 500 else "server_error"
    error = {"message": message, "type": kind, "param": None, "code": code}
    return JSONResponse({"error": error}, status, headers)
