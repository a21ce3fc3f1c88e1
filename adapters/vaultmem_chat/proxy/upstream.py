"""The server that answers (owner of httpx here): one origin, and nothing is ever sent to another.

Requests and answers are passed on as they are, byte for byte: no redirect is followed, nothing is unpacked, nothing
tried again; that is for the client, which knows its request.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import NamedTuple
from urllib.parse import unquote

import httpx

from vaultmem.credentials import Key
from vaultmem.text.urls import endpoint
from vaultmem_chat.llm.wire import certificates, trusts_proxies
from vaultmem_server.guard import Headers, header

CONNECT, SILENCE = 10.0, 600.0  # seconds; the second is what clients wait for by themselves
_UNQUOTED = 3  # times that a path is decoded to see where it leads
# Clients want a key: this one says that it is ours to give.
_PLACEHOLDERS = (b"bearer vaultmem", b"bearer")
_AUTH = (b"authorization", b"api-key", b"x-api-key", b"x-goog-api-key")
_HOPS = frozenset((
    b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection", b"te",
    b"trailer", b"transfer-encoding", b"upgrade",
))  # fmt: skip
_OURS = frozenset((b"host", b"content-length", b"expect", b"x-vaultmem"))


class Request(NamedTuple):
    """A request as it goes on."""

    method: str
    path: str  # behind /v1, as it was written, with its query
    headers: Headers
    body: bytes | AsyncIterator[bytes] | None


class UpstreamError(Exception):
    """There is no answer, or not all of it; its text is what the client gets instead."""

    def __init__(self, error: Exception) -> None:
        late = isinstance(error, httpx.TimeoutException)
        unreachable = isinstance(error, httpx.ConnectError)
        what = "cannot be reached" if unreachable else "ended the connection"
        super().__init__(f"the upstream {'did not answer in time' if late else what}")
        self.status = 504 if late else 502
        self.code = "upstream_timeout" if late else "upstream_unreachable"


class Reply:
    """An answer that is coming in."""

    def __init__(self, response: httpx.Response) -> None:
        self._response = response
        self.status = response.status_code
        self.headers = end_to_end(response.headers.raw)

    async def pieces(self) -> AsyncIterator[bytes]:
        """Its bytes as they come. Raises UpstreamError where they end too soon."""
        try:
            async for piece in self._response.aiter_raw():
                yield piece
        except (httpx.HTTPError, httpx.StreamError) as error:
            raise UpstreamError(error) from error

    async def close(self) -> None:
        """Ask for no more of it."""
        with contextlib.suppress(httpx.HTTPError, OSError, RuntimeError):
            await self._response.aclose()


class Upstream:
    """Where requests go. `key` is put in where a client has none of its own."""

    def __init__(self, address: str, key: Key | None = None) -> None:
        self._root = endpoint(address)
        self._key = key
        self._client = httpx.AsyncClient(
            timeout=httpx.Timeout(SILENCE, connect=CONNECT),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=20),
            trust_env=trusts_proxies(self._root),
            verify=certificates(self._root),
        )

    async def send(self, request: Request) -> Reply:
        """The beginning of the answer. Raises UpstreamError."""
        headers = self._with_key(request.headers)
        try:
            url = httpx.URL(self._root + request.path)
            built = httpx.Request(request.method, url, headers=headers, content=request.body)
            return Reply(await self._client.send(built, stream=True, follow_redirects=False))
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise UpstreamError(error) from error

    def _with_key(self, headers: Headers) -> Headers:
        if self._key is None or carries_key(headers):
            return headers
        others = [(name, value) for name, value in headers if name.lower() != b"authorization"]
        return [*others, (b"authorization", self._key.header().encode("ascii"))]

    async def close(self) -> None:
        """Let go of all connections."""
        await self._client.aclose()


def carries_key(headers: Headers) -> bool:
    """Whether a client has a key of its own."""
    return any(
        name.lower() in _AUTH and value.strip().lower() not in (*_PLACEHOLDERS, b"")
        for name, value in headers
    )


def end_to_end(headers: Headers) -> Headers:
    """The headers that are meant for the other end, and not for the next one on the way."""
    hops = [value for name, value in headers if name.lower() == b"connection"]
    named = {one.strip().lower() for one in b",".join(hops).split(b",")}
    return [pair for pair in headers if pair[0].lower() not in _HOPS | named]


def for_upstream(headers: Headers, length: int | None = None) -> Headers:
    """The headers of a client's request as they go on; where the body is known, the answer is read, and unpacked."""
    passed = [pair for pair in end_to_end(headers) if pair[0].lower() not in _OURS]
    if length is None:
        if header(headers, b"transfer-encoding"):  # it goes before a length that is named besides
            return passed
        lengths = [pair for pair in headers if pair[0].lower() == b"content-length"]
        return [*passed, *lengths[:1]]
    others = [pair for pair in passed if pair[0].lower() != b"accept-encoding"]
    return [*others, (b"accept-encoding", b"identity"), (b"content-length", str(length).encode())]


def leads_out(path: str) -> bool:
    """Whether a path would leave the folder it is put behind."""
    plain = path.partition("?")[0]
    for _ in range(_UNQUOTED):  # some servers decode what was decoded already, and slashes with it
        plain = unquote(plain)
    parts = [part.partition(";")[0] for part in plain.replace("\\", "/").split("/")]
    return "\\" in plain or "." in parts or ".." in parts
