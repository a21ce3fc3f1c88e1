"""The few shapes of ASGI that the proxy speaks, and answers of its own in the form that OpenAI's clients read."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import NamedTuple, cast

Scope = MutableMapping[str, object]
Receive = Callable[[], Awaitable[MutableMapping[str, object]]]
Send = Callable[[MutableMapping[str, object]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]  # as they came, in their order


class Fault(NamedTuple):
    """An answer that is ours: something is wrong before or behind the upstream."""

    status: int
    message: str
    kind: str = "invalid_request_error"
    code: str = ""
    allow: str = ""  # the methods that would be right


class GoneError(Exception):
    """The client has gone."""


def headers_of(scope: Scope) -> Headers:
    """The headers of a request."""
    return cast("Headers", scope["headers"])


def header(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> str:
    """The first header of a name, in lower case; "" if there is none."""
    return next((value.decode("latin-1") for key, value in headers if key.lower() == name), "")


async def send_fault(send: Send, fault: Fault) -> None:
    """Answer with a fault in OpenAI's shape."""
    error = {
        "message": fault.message,
        "type": fault.kind,
        "param": None,
        "code": fault.code or None,
    }
    extra = [(b"allow", fault.allow.encode())] if fault.allow else []
    await send_json(send, fault.status, {"error": error}, extra)


async def send_json(send: Send, status: int, value: object, extra: Headers | None = None) -> None:
    """Answer with a value."""
    body = json.dumps(value, ensure_ascii=False).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        *(extra or []),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})


async def next_piece(receive: Receive) -> tuple[bytes, bool]:
    """The next piece of a request's body, and whether more follows. Raises GoneError."""
    message = await receive()
    if message["type"] == "http.disconnect":
        raise GoneError
    return cast("bytes", message.get("body", b"")), bool(message.get("more_body", False))


async def until_gone(receive: Receive) -> None:
    """Return when the client goes; what it still sends is not read by anybody."""
    while (await receive())["type"] != "http.disconnect":
        pass
