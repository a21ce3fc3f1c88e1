"""Listens, and serves until a signal (owner of uvicorn)."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from vaultmem.errors import VaultmemError

LAST_BYTES = 5  # seconds for streams to end at shutdown
HALF = 10.0  # seconds within which an incomplete request must make progress
LEAST = 1_000  # bytes that count as progress: a byte now and then would hold a connection
_BACKLOG = 512


def listen(host: str, port: int) -> socket.socket:
    """A listening socket. Raises VaultmemError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        kind, _, _, _, address = socket.getaddrinfo(host, port, family, socket.SOCK_STREAM)[0]
        # Only with an explicit protocol does asyncio send each part at once, without waiting 40 ms for the previous
        # acknowledgement: an answer has two, head and body.
        listening = socket.socket(kind, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    except OSError as error:
        raise VaultmemError(f"{host} is not an address of this machine") from error
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        problem = f"cannot listen on {host}:{port}: {error.strerror}"
        raise VaultmemError(f"{problem}; choose another with --port") from error
    return listening


class Connection(H11Protocol):
    """A connection that closes when an incomplete request makes no progress, or when no request arrives."""

    _came = 0  # bytes since the last check
    _watch: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        """A client has connected."""
        super().connection_made(transport)
        self.timeout_keep_alive_task = self.loop.call_later(
            self.timeout_keep_alive, self.timeout_keep_alive_handler
        )

    def data_received(self, data: bytes) -> None:
        """Bytes of a request have arrived."""
        super().data_received(data)
        self._came += len(data)
        if self._watch is None and self._is_half():
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has disconnected."""
        super().connection_lost(exc)
        if self._watch is not None:
            self._watch.cancel()

    def _is_half(self) -> bool:
        if self.cycle is None or self.cycle.response_complete:
            return bool(self.conn.trailing_data[0]) or bool(self.cycle and self.cycle.more_body)
        return self.cycle.more_body

    def _wait(self) -> None:
        self._came, self._watch = 0, self.loop.call_later(HALF, self._look)

    def _look(self) -> None:
        self._watch = None
        if not self._is_half():
            return
        if self._came >= LEAST or self.flow.read_paused:  # paused: the next server takes its time
            self._wait()
        else:
            self.transport.close()


class Server(uvicorn.Server):
    """A server that shuts down on SIGINT and SIGTERM without raising the signal again; a second signal forces it."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle signals, where possible."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        numbers = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self._on_signal) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _on_signal(self, *_: object) -> None:
        self.force_exit = self.should_exit
        self.should_exit = True


def server(
    app: Callable[..., Awaitable[None]], certificate: tuple[str, str] | None = None
) -> Server:
    """A server for an application, with TLS if there are a certificate and its key (PEM files); `should_exit` stops
    it. It logs nothing and adds no headers."""
    cert, key = certificate or (None, None)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "uvicorn.asgi"):
        logging.getLogger(name).disabled = True
    return Server(
        uvicorn.Config(
            app,
            http=Connection, ws="none", loop="asyncio", lifespan="on", interface="asgi3", log_config=None,
            access_log=False, proxy_headers=False, server_header=False, date_header=False,
            timeout_graceful_shutdown=LAST_BYTES, timeout_keep_alive=75, backlog=_BACKLOG,
            ssl_certfile=cert, ssl_keyfile=key,
        )
    )  # fmt: skip
