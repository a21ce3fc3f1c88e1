"""All other requests below /v1, passed on as they are."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator
from typing import cast

from vaultmem.proxy.asgi import (
    Fault,
    GoneError,
    Headers,
    Receive,
    Scope,
    Send,
    header,
    headers_of,
    next_piece,
    send_fault,
)
from vaultmem.proxy.chats import Sender
from vaultmem.proxy.relay import pass_on, while_there
from vaultmem.proxy.upstream import Asked, UpstreamError, for_upstream, leads_out

log = logging.getLogger("vaultmem.proxy")

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
NO_SUCH = Fault(404, "there is nothing at this address", code="not_found")


class Passing:
    """Whatever the upstream can do besides: models, embeddings, files."""

    def __init__(self, upstream: Sender) -> None:
        self._upstream = upstream

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        began, status = time.monotonic(), "-"
        try:
            status = await self._answer(scope, receive, send)
        except GoneError:
            status = "left by the client"
        finally:
            took = time.monotonic() - began
            log.info("%s %s in %.2f s", scope["method"], status, took)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> str:
        path = _behind(scope)
        if not path or leads_out(path):
            await send_fault(send, NO_SUCH)
            return "404"
        headers = headers_of(scope)
        body = _body(receive) if _has_body(headers) else None
        asked = Asked(str(scope["method"]), path, for_upstream(headers), body)
        if body is None:
            return await while_there(receive, self._passed(asked, receive, send))
        return await self._passed(asked, receive, send)

    async def _passed(self, asked: Asked, receive: Receive, send: Send) -> str:
        try:
            reply = await self._upstream.send(asked)
        except UpstreamError as error:
            await send_fault(send, error.fault)
            return str(error.fault.status)
        if asked.body is not None:  # all of it is sent: now only the client's going is waited for
            await while_there(receive, pass_on(reply, send, None))
        else:
            await pass_on(reply, send, None)
        return str(reply.status)


def _behind(scope: Scope) -> str:
    """What stands behind /v1 in the address, as it was written; "" for an address that hides it."""
    raw = cast("bytes", scope["raw_path"]).decode("ascii", "replace")
    query = cast("bytes", scope["query_string"]).decode("ascii", "replace")
    if not raw.startswith("/v1/"):
        return ""
    return raw.removeprefix("/v1") + (f"?{query}" if query else "")


def _has_body(headers: Headers) -> bool:
    return header(headers, b"content-length") not in ("", "0") or bool(
        header(headers, b"transfer-encoding")
    )


async def _body(receive: Receive) -> AsyncIterator[bytes]:
    more = True
    while more:
        piece, more = await next_piece(receive)
        if piece:
            yield piece
