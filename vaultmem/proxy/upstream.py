"""The server that answers (owner of httpx here): one origin, and nothing is ever sent to another.

Requests and answers are passed on as they are, byte for byte: no redirect is followed, nothing is unpacked, nothing
tried again; that is for the client, which knows what it asked.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import NamedTuple
from urllib.parse import unquote

import httpx

from vaultmem.core.llm_url import endpoint, is_here
from vaultmem.proxy.asgi import Fault, Headers
from vaultmem.store.keys import Key
from vaultmem.store.llm_wire import certificates

CONNECT, SILENCE = 10.0, 600.0  # seconds; the second is what clients wait for by themselves
_UNQUOTED = 3  # times that a path is decoded to see where it leads
FULL, MOST_POOLS = 8, 64  # answers that come in through one pool of connections; such pools
# Clients want a key: this one says that it is ours to give.
_PLACEHOLDERS = (b"bearer vaultmem", b"bearer")
_AUTH = (b"authorization", b"api-key", b"x-api-key", b"x-goog-api-key")
_HOPS = frozenset((
    b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection", b"te",
    b"trailer", b"transfer-encoding", b"upgrade",
))  # fmt: skip
_OURS = frozenset((b"host", b"content-length", b"expect", b"x-vaultmem"))


class Asked(NamedTuple):
    """A request as it goes on."""

    method: str
    path: str  # behind /v1, as it was written, with its query
    headers: Headers
    body: bytes | AsyncIterator[bytes] | None


class UpstreamError(Exception):
    """There is no answer; says what the client is told instead."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


class _Pool:
    """Some connections, and how many answers are coming in on them."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client = client
        self.busy = 0


class Reply:
    """An answer that is coming in."""

    def __init__(self, response: httpx.Response, pool: _Pool) -> None:
        self._response, self._pool = response, pool
        self._is_open = True
        self.status = response.status_code
        self.headers = passed_on(response.headers.raw)

    async def pieces(self) -> AsyncIterator[bytes]:
        """Its bytes as they come. Raises UpstreamError where they end too soon."""
        try:
            async for piece in self._response.aiter_raw():
                yield piece
        except (httpx.HTTPError, httpx.StreamError) as error:
            raise UpstreamError(_fault(error)) from error

    async def close(self) -> None:
        """Ask for no more of it."""
        if self._is_open:
            self._is_open = False
            self._pool.busy -= 1
        with contextlib.suppress(httpx.HTTPError, OSError, RuntimeError):
            await self._response.aclose()


class Upstream:
    """Where requests go. `key` is put in where a client has none of its own."""

    def __init__(self, address: str, key: Key | None = None) -> None:
        self._root = endpoint(address)
        self._key = key
        # A proxy of the environment sees nothing of what goes through TLS, and all of what does not.
        self._trusts = self._root.startswith("https:") and not is_here(self._root)
        self._pools: list[_Pool] = []

    async def send(self, asked: Asked) -> Reply:
        """The beginning of the answer. Raises UpstreamError."""
        url = httpx.URL(self._root + asked.path)
        request = httpx.Request(
            asked.method, url, headers=self._with_key(asked.headers), content=asked.body
        )
        pool = self._with_room()
        pool.busy += 1
        try:
            return Reply(await pool.client.send(request, stream=True, follow_redirects=False), pool)
        except BaseException as error:  # whatever it is, nothing is coming in
            pool.busy -= 1
            if isinstance(error, (httpx.HTTPError, httpx.InvalidURL)):
                raise UpstreamError(_fault(error)) from error
            raise

    def _with_room(self) -> _Pool:
        """The first pool that is not full, so that open connections are used again. A pool looks at each of its
        connections for every request, three times over: one for a hundred streams would cost half a second."""
        free = next((pool for pool in self._pools if pool.busy < FULL), None)
        if free is None and len(self._pools) == MOST_POOLS:
            return min(self._pools, key=lambda pool: pool.busy)
        if free is None:
            free = _Pool(self._client())
            self._pools.append(free)
        return free

    def _client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            timeout=httpx.Timeout(SILENCE, connect=CONNECT),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=FULL),
            trust_env=self._trusts,
            verify=certificates(self._root),
        )

    def _with_key(self, headers: Headers) -> Headers:
        if self._key is None or carries_key(headers):
            return headers
        others = [(name, value) for name, value in headers if name.lower() != b"authorization"]
        return [*others, (b"authorization", self._key.header().encode("ascii"))]

    async def close(self) -> None:
        """Let go of all connections."""
        for pool in self._pools:
            await pool.client.aclose()


def carries_key(headers: Headers) -> bool:
    """Whether a client has a key of its own."""
    return any(
        name.lower() in _AUTH and value.strip().lower() not in (*_PLACEHOLDERS, b"")
        for name, value in headers
    )


def passed_on(headers: Headers) -> Headers:
    """The headers that are meant for the other end, and not for the next one on the way."""
    named = {
        one.strip().lower()
        for name, value in headers
        if name.lower() == b"connection"
        for one in value.split(b",")
    }
    return [pair for pair in headers if pair[0].lower() not in _HOPS | named]


def for_upstream(headers: Headers, length: int | None = None) -> Headers:
    """The headers of a client's request as they go on; `length` is that of a body that is known. Then the answer is to
    be read as well, so it is asked for unpacked."""
    kept = [pair for pair in passed_on(headers) if pair[0].lower() not in _OURS]
    if length is None:
        names = {name.lower() for name, _ in headers}
        if b"transfer-encoding" in names:  # it goes before a length that is named besides
            return kept
        lengths = [pair for pair in headers if pair[0].lower() == b"content-length"]
        return [*kept, *lengths[:1]]
    others = [pair for pair in kept if pair[0].lower() != b"accept-encoding"]
    return [
        *others,
        (b"accept-encoding", b"identity"),
        (b"content-length", str(length).encode()),
    ]


def leads_out(path: str) -> bool:
    """Whether a path would leave the folder it is put behind."""
    plain = path.partition("?")[0]
    for _ in range(_UNQUOTED):  # some servers decode what was decoded already, and slashes with it
        plain = unquote(plain)
    parts = [part.partition(";")[0] for part in plain.replace("\\", "/").split("/")]
    return "\\" in plain or "." in parts or ".." in parts


def _fault(error: Exception) -> Fault:
    if isinstance(error, httpx.TimeoutException):
        return Fault(
            504, "the upstream did not answer in time", "upstream_error", "upstream_timeout"
        )
    kind = "cannot be reached" if isinstance(error, httpx.ConnectError) else "ended the connection"
    return Fault(502, f"the upstream {kind}", "upstream_error", "upstream_unreachable")
