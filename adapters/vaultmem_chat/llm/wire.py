"""Requests to the service of a language model (owner of httpx_sse, and of httpx for our own calls).

Each request has a connection of its own: calls are few and take seconds. The timeouts of httpx apply between bytes,
so a whole call has a thread of its own, which is left behind when its time is over.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from vaultmem.credentials import Key
from vaultmem.errors import LlmError
from vaultmem.text.urls import is_local
from vaultmem_chat.llm import replies

if TYPE_CHECKING:
    import ssl

    import httpx

MOST_BYTES = 4_000_000
MOST_STREAMED = 64_000_000  # a word in a stream takes a few hundred bytes
CONNECT = 10.0  # seconds
MOST_EVENT = 1_000_000  # bytes of one event; longer ones are skipped
_BLANK_LINE = re.compile(rb"(?:\r\n|\n|\r(?!\n)){2}")


class UnreachableError(LlmError):
    """The service cannot be reached, or closed the connection; a retry may succeed."""


class Reply(NamedTuple):
    """A reply of a service."""

    status: int
    body: bytes
    retry_after: str  # a header; "" without it
    location: str  # likewise


class Wire(NamedTuple):
    """The address, key and timeout (in seconds) of requests."""

    url: str  # see text.urls.endpoint
    key: Key | None
    seconds: float
    settings: str = "llm"  # the group of these settings

    def get(self, path: str) -> Reply:
        """Send a GET request. Raises LlmError, or UnreachableError where a retry may succeed."""
        return self.exchange(path, None, MOST_BYTES)

    def exchange(self, path: str, content: bytes | None, most: int) -> Reply:
        """POST a JSON body, or GET without one. Returns the reply, of at most `most` bytes. Raises as get() does."""
        reply: Future[Reply] = Future()
        until = time.monotonic() + self.seconds

        def call() -> None:
            try:
                with self._opened(path, content) as response:
                    body = b"".join(self._in_time(_pieces(response, most), until))
                    status = replies.status(response.status_code, body)
                    reply.set_result(_reply(response, status, body))
            except Exception as error:  # noqa: BLE001 - raised again by result()
                reply.set_exception(error)

        threading.Thread(target=call, name="exchange", daemon=True).start()
        try:
            return reply.result(self.seconds)
        except TimeoutError:
            raise self._late() from None

    @contextmanager
    def streamed(self, path: str, content: bytes) -> Iterator[tuple[Reply, Iterator[bytes]]]:
        """POST a JSON body. Gives the reply without its body, and the body as it arrives. Raises LlmError."""
        with self._opened(path, content) as response:
            yield _reply(response, response.status_code), _pieces(response, MOST_STREAMED)

    @contextmanager
    def _opened(self, path: str, content: bytes | None) -> Iterator[httpx.Response]:
        """The reply to a request, with only its headers read."""
        import httpx

        headers = {
            "Accept": "application/json, text/event-stream",
            "Accept-Encoding": "identity",
            "User-Agent": "vaultmem",
            **({} if content is None else {"Content-Type": "application/json"}),
            **({"Authorization": self.key.header()} if self.key else {}),
        }
        method = "GET" if content is None else "POST"
        try:
            with (
                self._client() as client,
                client.stream(
                    method, self.url + path, content=content, headers=headers
                ) as response,
            ):
                yield response
        except httpx.HTTPError as error:
            raise self._explain(error) from None

    def _client(self) -> httpx.Client:
        """A client that uses a proxy of the environment only for https, which it cannot read, and follows no
        redirects: requests only go to the address in the settings."""
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
                f"the proxy of the environment cannot be used ({_short(error)})"
            ) from None

    def _in_time(self, pieces: Iterator[bytes], until: float) -> Iterator[bytes]:
        """The pieces; ends a thread that was left behind."""
        for piece in pieces:
            if time.monotonic() > until:
                raise self._late()
            yield piece

    def _late(self) -> LlmError:
        late = f"{self.url} took longer than {self.seconds:g} s to answer"
        return LlmError(f"{late}; see {self.settings}.timeout")

    def _explain(self, error: httpx.HTTPError) -> LlmError:
        import httpx

        if isinstance(error, httpx.ReadTimeout | httpx.WriteTimeout):
            return self._late()
        if "CERTIFICATE_VERIFY_FAILED" in str(error):
            return LlmError(
                f"the certificate of {self.url} is not trusted; add it with SSL_CERT_FILE"
            )
        if isinstance(error, httpx.RemoteProtocolError | httpx.ReadError):
            return UnreachableError(f"{self.url} interrupted its answer")
        return UnreachableError(
            f"{self.url} cannot be reached ({_short(error)}); is it running, and is {self.settings}.base_url right?"
        )


def trusts_proxies(url: str) -> bool:
    """Whether a proxy of the environment may be used: it cannot read TLS."""
    return url.startswith("https:") and not is_local(url)


def _reply(response: httpx.Response, status: int, body: bytes = b"") -> Reply:
    get = response.headers.get
    return Reply(status, body, get("Retry-After", ""), get("Location", ""))


def _pieces(response: httpx.Response, most: int) -> Iterator[bytes]:
    if response.headers.get("Content-Encoding", "identity") != "identity":
        raise LlmError(f"{response.url} answers in an encoding that was not requested")
    size = 0
    for piece in response.iter_raw():
        size += len(piece)
        if size > most:
            raise LlmError(f"{response.url} answers with more than {most // 1_000_000} MB")
        yield piece


class Events:
    """Parses server-sent events from chunks of bytes: returns the data of each complete event."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._searched = 0  # length of the bytes searched for the end of an event

    def feed(self, piece: bytes) -> list[str]:
        """The data of the events that this chunk completes."""
        self._held += piece
        ends = [match.end() for match in _BLANK_LINE.finditer(self._held, self._searched)]
        block = bytes(self._held[: ends[-1]]) if ends else b""
        del self._held[: len(block)]
        if len(self._held) > MOST_EVENT:
            self._held[:] = b":"  # so that the rest of this line is a comment
        self._searched = max(0, len(self._held) - 3)
        return _event_data(block) if block else []

    def close(self) -> list[str]:
        """The data of an event without its final line break, which some servers omit."""
        return self.feed(b"\n\n")


def _event_data(block: bytes) -> list[str]:
    import httpx
    from httpx_sse import EventSource

    response = httpx.Response(200, headers={"Content-Type": "text/event-stream"}, content=block)
    return [event.data for event in EventSource(response).iter_sse() if event.data]


def certificates(url: str) -> ssl.SSLContext | bool:
    """The certificates to trust for https: certifi's, or those of SSL_CERT_FILE and SSL_CERT_DIR."""
    return _certificates() if url.startswith("https:") else False


@cache
def _certificates() -> ssl.SSLContext:
    import httpx

    return httpx.create_ssl_context()


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:120] or type(error).__name__
