"""One request to the service of a language model, and its reply (owner of httpx_sse, and of httpx for our own calls).

Each request has a connection of its own: calls are few and take seconds. httpx counts its timeouts from byte to byte,
so a clock beside it ends the connection when the whole has taken too long.
"""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from vaultmem.errors import LlmError
from vaultmem.llm import answers
from vaultmem.llm import request as llm_url
from vaultmem.llm.credentials import Key

if TYPE_CHECKING:
    import ssl
    from typing import Protocol

    import httpx

    class Stream(Protocol):
        """What is needed of a connection that httpcore has opened."""

        def get_extra_info(self, info: str) -> object:
            """Its socket, among others."""


MOST_BYTES = 4_000_000
MOST_STREAMED = 64_000_000  # a word in a stream takes some hundred bytes
CONNECT = 10.0  # seconds
MOST_EVENT = 1_000_000  # bytes of one event; longer ones are passed over
_BLANK_LINE = re.compile(rb"(?:\r\n|\n|\r(?!\n)){2}")
_OPENED = ("connect_tcp.complete", "start_tls.complete")


class UnreachableError(LlmError):
    """The service cannot be reached, or broke off: the next try may do better."""


class Reply(NamedTuple):
    """What came back."""

    status: int
    body: bytes
    retry_after: str  # "" when it was not told
    location: str  # likewise


class Wire(NamedTuple):
    """Where requests go, with which key, and how long one may take, in seconds."""

    url: str  # see llm_url.endpoint
    key: Key | None
    seconds: float
    settings: str = "llm"  # the group of settings that says so

    def send(self, path: str, body: Mapping[str, object] | None = None) -> Reply:
        """POST a body of JSON, or GET without one. Raises LlmError, or UnreachableError where it may pass."""
        content = None
        if body is not None:
            content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        return self.exchange(path, content, MOST_BYTES)

    def exchange(self, path: str, content: bytes | None, most: int) -> Reply:
        """The same of a body as it is written already, for a reply of at most so many bytes."""
        with _clock(self.seconds) as clock, self._opened(path, content, clock) as response:
            body = b"".join(_pieces(response, most))
            told = response.headers.get
        status = answers.status(response.status_code, body)
        return Reply(status, body, told("Retry-After", ""), told("Location", ""))

    @contextmanager
    def streamed(self, path: str, content: bytes) -> Iterator[tuple[Reply, Iterator[bytes]]]:
        """POST a body of JSON; the reply without its body, and that as it comes, which may take as long as it likes
        while bytes come. Raises LlmError."""
        with self._opened(path, content, _Clock()) as response:
            told = response.headers.get
            head = Reply(response.status_code, b"", told("Retry-After", ""), told("Location", ""))
            yield head, _pieces(response, MOST_STREAMED)

    @contextmanager
    def _opened(self, path: str, content: bytes | None, clock: _Clock) -> Iterator[httpx.Response]:
        """The reply to a request, of which only the headers have come."""
        import httpx

        headers = {
            "Accept": "application/json, text/event-stream",
            "Accept-Encoding": "identity",
            "User-Agent": "vaultmem",
        }
        if content is not None:
            headers["Content-Type"] = "application/json"
        if self.key:
            headers["Authorization"] = self.key.header()
        with self._client() as client:
            request = client.build_request(
                "GET" if content is None else "POST",
                self.url + path,
                content=content,
                headers=headers,
                extensions={"trace": clock.hears},
            )
            try:
                response = client.send(request, stream=True)
                try:
                    yield response
                finally:
                    response.close()
            except httpx.HTTPError as error:
                raise self._told(error, clock.is_over) from None

    def _client(self) -> httpx.Client:
        """A proxy of the environment is used for https only, where it carries what it cannot read. No redirect is
        followed: what is asked goes where the settings say, and nowhere else."""
        import httpx

        secure = self.url.startswith("https:")
        try:
            return httpx.Client(
                verify=certificates(self.url),
                trust_env=secure and not llm_url.is_here(self.url),
                timeout=httpx.Timeout(self.seconds, connect=min(self.seconds, CONNECT)),
                follow_redirects=False,
            )
        except (ImportError, ValueError, httpx.InvalidURL) as error:
            raise LlmError(
                f"the proxy that the environment names cannot be used ({_short(error)})"
            ) from None

    def _told(self, error: httpx.HTTPError, too_late: bool) -> LlmError:
        import httpx

        if too_late or isinstance(error, httpx.ReadTimeout | httpx.WriteTimeout):
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
        return _data_of(block.removeprefix(mark)) if block else []

    def close(self) -> list[str]:
        """The data of an event that was not ended; some servers leave the last line break out."""
        return self.feed(b"\n\n")


def _data_of(block: bytes) -> list[str]:
    """The data of whole events."""
    import httpx
    from httpx_sse import EventSource

    response = httpx.Response(200, headers={"Content-Type": "text/event-stream"}, content=block)
    return [event.data for event in EventSource(response).iter_sse() if event.data]


class _Clock:
    """Ends the connections it has heard of when time is up."""

    def __init__(self) -> None:
        self.is_over = False
        self._lock = threading.Lock()
        self._open: list[socket.socket] = []

    def hears(self, event: str, info: Mapping[str, Stream]) -> None:
        """The trace of httpx: notes each connection that is opened."""
        if not event.endswith(_OPENED):
            return
        sock = info["return_value"].get_extra_info("socket")
        with self._lock:
            if isinstance(sock, socket.socket):
                self._open.append(sock)
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
def _clock(seconds: float) -> Iterator[_Clock]:
    clock = _Clock()
    timer = threading.Timer(seconds, clock.end)
    timer.daemon = True
    timer.start()
    try:
        yield clock
    finally:
        timer.cancel()


def certificates(url: str) -> ssl.SSLContext:
    """Whom to trust there; made once in a process."""
    return _certificates() if url.startswith("https:") else _none()


@cache
def _certificates() -> ssl.SSLContext:
    """Whom to trust: certifi's list, or what SSL_CERT_FILE and SSL_CERT_DIR name."""
    import httpx

    return httpx.create_ssl_context()


@cache
def _none() -> ssl.SSLContext:
    """Trusts nobody, and is made a hundred times faster: for plain http."""
    import ssl

    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:120] or type(error).__name__
