"""One request to the service of a language model, and its reply (owner of httpx_sse, and of httpx for our own calls).

Each request has a connection of its own: calls are few and take seconds. httpx counts its timeouts from byte to byte,
so a timer beside it ends the connection when the whole has taken too long.
"""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from vaultmem.credentials import Key
from vaultmem.errors import LlmError
from vaultmem.text.urls import is_local
from vaultmem_chat.llm import replies

if TYPE_CHECKING:
    import ssl

    import httpx

MOST_BYTES = 4_000_000
MOST_STREAMED = 64_000_000  # a word in a stream takes some hundred bytes
CONNECT = 10.0  # seconds
MOST_EVENT = 1_000_000  # bytes of one event; longer ones are skipped
_BLANK_LINE = re.compile(rb"(?:\r\n|\n|\r(?!\n)){2}")
_OPENED = ("connect_tcp.complete", "start_tls.complete")


class UnreachableError(LlmError):
    """The service cannot be reached, or broke off: the next try may do better."""


class Reply(NamedTuple):
    """A reply of a service."""

    status: int
    body: bytes
    retry_after: str  # a header; "" without it
    location: str  # likewise


class Wire(NamedTuple):
    """Where requests go, with which key, and how long one may take, in seconds."""

    url: str  # see text.urls.endpoint
    key: Key | None
    seconds: float
    settings: str = "llm"  # the group of settings that holds these

    def get(self, path: str) -> Reply:
        """GET. Raises LlmError, or UnreachableError where it may pass."""
        return self.exchange(path, None, MOST_BYTES)

    def exchange(self, path: str, content: bytes | None, most: int) -> Reply:
        """POST a body of JSON, or GET without one; the reply of at most so many bytes."""
        with _time_limit(self.seconds) as limit, self._opened(path, content, limit) as response:
            body = b"".join(_pieces(response, most))
            return _reply(response, replies.status(response.status_code, body), body)

    @contextmanager
    def streamed(self, path: str, content: bytes) -> Iterator[tuple[Reply, Iterator[bytes]]]:
        """POST a body of JSON; the reply without its body, and that as it comes. Raises LlmError."""
        with self._opened(path, content, _TimeLimit()) as response:
            yield _reply(response, response.status_code), _pieces(response, MOST_STREAMED)

    @contextmanager
    def _opened(
        self, path: str, content: bytes | None, limit: _TimeLimit
    ) -> Iterator[httpx.Response]:
        """The reply to a request, of which only the headers have come."""
        import httpx

        headers = {
            "Accept": "application/json, text/event-stream",
            "Accept-Encoding": "identity",
            "User-Agent": "vaultmem",
            **({} if content is None else {"Content-Type": "application/json"}),
            **({"Authorization": self.key.header()} if self.key else {}),
        }
        method, extensions = "GET" if content is None else "POST", {"trace": limit.watch}
        try:
            with (
                self._client() as client,
                client.stream(
                    method, self.url + path, content=content, headers=headers, extensions=extensions
                ) as response,
            ):
                yield response
        except httpx.HTTPError as error:
            raise self._explain(error, limit.is_over) from None

    def _client(self) -> httpx.Client:
        """A proxy of the environment is used for https only, where it carries what it cannot read. No redirect is
        followed: a request goes where the settings say, and nowhere else."""
        import httpx

        try:
            return httpx.Client(
                verify=certificates(self.url),
                trust_env=trusts_proxies(self.url),
                timeout=httpx.Timeout(self.seconds, connect=min(self.seconds, CONNECT)),
                follow_redirects=False,
            )
        except (ImportError, ValueError, httpx.InvalidURL) as error:
            raise LlmError(
                f"the proxy that the environment names cannot be used ({_short(error)})"
            ) from None

    def _explain(self, error: httpx.HTTPError, is_late: bool) -> LlmError:
        import httpx

        if is_late or isinstance(error, httpx.ReadTimeout | httpx.WriteTimeout):
            late = f"{self.url} took longer than {self.seconds:g} s to answer"
            return LlmError(f"{late}; {self.settings}.timeout says how long it may")
        if "CERTIFICATE_VERIFY_FAILED" in str(error):
            return LlmError(
                f"the certificate of {self.url} is not trusted; SSL_CERT_FILE may name one more"
            )
        if isinstance(error, httpx.RemoteProtocolError | httpx.ReadError):
            return UnreachableError(f"{self.url} broke off in the middle of its answer")
        return UnreachableError(
            f"{self.url} cannot be reached ({_short(error)}); is it running, is {self.settings}.base_url right?"
        )


def trusts_proxies(url: str) -> bool:
    """Whether a proxy of the environment may be used: it sees nothing of what goes through TLS."""
    return url.startswith("https:") and not is_local(url)


def _reply(response: httpx.Response, status: int, body: bytes = b"") -> Reply:
    get = response.headers.get
    return Reply(status, body, get("Retry-After", ""), get("Location", ""))


def _pieces(response: httpx.Response, most: int) -> Iterator[bytes]:
    """The bytes of a reply as they come."""
    if response.headers.get("Content-Encoding", "identity") != "identity":
        raise LlmError(f"{response.url} answers in an encoding that was not asked for")
    size = 0
    for piece in response.iter_raw():
        size += len(piece)
        if size > most:
            raise LlmError(f"{response.url} answers with more than {most // 1_000_000} MB")
        yield piece


class Events:
    """Server-sent events out of bytes that may be cut anywhere: gives the data of each event that has ended."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._searched = 0  # bytes of these in which no event ends
        self._is_begun = False  # a byte order mark counts before the first event only

    def feed(self, piece: bytes) -> list[str]:
        """The data of the events that end in this piece."""
        self._held += piece
        ends = [one.end() for one in _BLANK_LINE.finditer(self._held, self._searched)]
        block = bytes(self._held[: ends[-1]]) if ends else b""
        del self._held[: len(block)]
        if len(self._held) > MOST_EVENT:
            self._held[:] = b":"  # the rest of this line is a comment
        self._searched = max(0, len(self._held) - 3)
        mark = b"" if self._is_begun else b"\xef\xbb\xbf"
        self._is_begun = self._is_begun or bool(block)
        return _event_data(block.removeprefix(mark)) if block else []

    def close(self) -> list[str]:
        """The data of an event that was not ended; some servers leave the last line break out."""
        return self.feed(b"\n\n")


def _event_data(block: bytes) -> list[str]:
    """The data of whole events."""
    import httpx
    from httpx_sse import EventSource

    response = httpx.Response(200, headers={"Content-Type": "text/event-stream"}, content=block)
    return [event.data for event in EventSource(response).iter_sse() if event.data]


class _TimeLimit:
    """Ends the connections that it has seen opened when time is up."""

    def __init__(self) -> None:
        self.is_over = False
        self._lock = threading.Lock()
        self._open: list[socket.socket] = []

    def watch(self, event: str, info: Mapping[str, Any]) -> None:
        """The trace of httpx: notes each connection that is opened."""
        if not event.endswith(_OPENED):
            return
        with self._lock:
            self._open.append(info["return_value"].get_extra_info("socket"))
        if self.is_over:
            self.end()

    def end(self) -> None:
        """Time is up."""
        with self._lock:
            self.is_over = True
            for sock in self._open:
                with suppress(OSError):
                    # Past TLS, which another thread reads.
                    socket.socket.shutdown(sock, socket.SHUT_RDWR)


@contextmanager
def _time_limit(seconds: float) -> Iterator[_TimeLimit]:
    limit = _TimeLimit()
    timer = threading.Timer(seconds, limit.end)
    timer.daemon = True
    timer.start()
    try:
        yield limit
    finally:
        timer.cancel()


def certificates(url: str) -> ssl.SSLContext | bool:
    """Whom to trust there: for https certifi's list, or what SSL_CERT_FILE and SSL_CERT_DIR name."""
    return _certificates() if url.startswith("https:") else False


@cache
def _certificates() -> ssl.SSLContext:
    import httpx

    return httpx.create_ssl_context()


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:120] or type(error).__name__
