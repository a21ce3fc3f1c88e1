"""The upstream server (owner of httpx here): requests are only ever sent to its one origin.

Requests and answers are passed on byte for byte, without redirects, decompression or retries, which are left to the
client.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from urllib.parse import unquote

import httpx

from vaultmem.credentials import Key
from vaultmem.text.urls import endpoint
from vaultmem_chat.llm.wire import certificates, trusts_proxies
from vaultmem_server.guard import Headers, header

CONNECT, SILENCE = 10.0, 600.0  # seconds; the second is the default of clients
_UNQUOTED = 3  # how often a path is decoded to find out where it leads
# Clients need some key: this one means that we provide it.
_PLACEHOLDERS = (b"bearer vaultmem", b"bearer", b"vaultmem")
API_KEY = b"x-api-key"  # where Anthropic's API takes keys
_AUTH = (b"authorization", b"api-key", API_KEY, b"x-goog-api-key")
_HOPS = frozenset((
    b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection", b"te",
    b"trailer", b"transfer-encoding", b"upgrade",
))  # fmt: skip
_OURS = frozenset((b"host", b"content-length", b"expect", b"x-vaultmem"))


class UpstreamError(Exception):
    """There is no answer, or not all of it; the client gets its text instead."""

    def __init__(self, error: Exception) -> None:
        late = isinstance(error, httpx.TimeoutException)
        unreachable = isinstance(error, httpx.ConnectError)
        what = "cannot be reached" if unreachable else "ended the connection"
        super().__init__(f"the upstream {'did not answer in time' if late else what}")
        self.status = 504 if late else 502
        self.code = "upstream_timeout" if late else "upstream_unreachable"


class Reply:
    """An answer of the upstream that is arriving."""

    def __init__(self, response: httpx.Response) -> None:
        self._response = response
        self.status = response.status_code
        self.headers = end_to_end(response.headers.raw)

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield its bytes as they arrive. Raises UpstreamError if they end early."""
        try:
            async for piece in self._response.aiter_raw():
                yield piece
        except (httpx.HTTPError, httpx.StreamError) as error:
            raise UpstreamError(error) from error

    async def close(self) -> None:
        """Stop reading it."""
        with contextlib.suppress(httpx.HTTPError, OSError, RuntimeError):
            await self._response.aclose()


class Upstream:
    """The upstream server. `key` is added if a client has none."""

    def __init__(self, address: str, key: Key | None = None) -> None:
        self._root = endpoint(address)
        self._key = key
        self._client = httpx.AsyncClient(
            timeout=httpx.Timeout(SILENCE, connect=CONNECT),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=20),
            trust_env=trusts_proxies(self._root),
            verify=certificates(self._root),
        )

    async def send(
        self, method: str, path: str, headers: Headers, body: bytes | AsyncIterator[bytes] | None
    ) -> Reply:
        """Send a request to the raw path after /v1, with its query. Returns the beginning of the answer. Raises
        UpstreamError."""
        try:
            url = httpx.URL(self._root + path)
            built = httpx.Request(method, url, headers=self._with_key(headers), content=body)
            response = await self._client.send(built, stream=True, follow_redirects=False)
            if not 200 <= response.status_code <= 599:  # no server can send that on
                await response.aclose()
                raise httpx.RemoteProtocolError(f"status {response.status_code}")
            return Reply(response)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise UpstreamError(error) from error

    def _with_key(self, headers: Headers) -> Headers:
        if self._key is None or carries_key(headers):
            return headers
        others = [pair for pair in headers if pair[0].lower() not in (b"authorization", API_KEY)]
        ours = self._key.header().encode("ascii")
        if header(headers, API_KEY):
            return [*others, (API_KEY, ours.partition(b" ")[2])]
        return [*others, (b"authorization", ours)]

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()


def carries_key(headers: Headers) -> bool:
    """Whether a client sends a key of its own."""
    return any(
        name.lower() in _AUTH and value.strip().lower() not in (*_PLACEHOLDERS, b"")
        for name, value in headers
    )


def end_to_end(headers: Headers) -> Headers:
    """The end-to-end headers, without hop-by-hop ones."""
    hops = [value for name, value in headers if name.lower() == b"connection"]
    named = {name.strip().lower() for name in b",".join(hops).split(b",")}
    return [pair for pair in headers if pair[0].lower() not in _HOPS | named]


def for_upstream(headers: Headers, length: int | None = None) -> Headers:
    """The headers of a client's request for the upstream; with a known body, its length is set and the answer must be
    readable."""
    passed = [pair for pair in end_to_end(headers) if pair[0].lower() not in _OURS]
    if length is None:
        if header(headers, b"transfer-encoding"):  # it takes precedence over a length
            return passed
        lengths = [pair for pair in headers if pair[0].lower() == b"content-length"]
        return [*passed, *lengths[:1]]
    others = [pair for pair in passed if pair[0].lower() != b"accept-encoding"]
    return [*others, (b"accept-encoding", b"identity"), (b"content-length", str(length).encode())]


def leads_out(path: str) -> bool:
    """Whether a path would leave its base path."""
    plain = path.partition("?")[0]
    for _ in range(_UNQUOTED):  # some servers decode twice, including slashes
        plain = unquote(plain)
    parts = [part.partition(";")[0] for part in plain.replace("\\", "/").split("/")]
    return "\\" in plain or "." in parts or ".." in parts
