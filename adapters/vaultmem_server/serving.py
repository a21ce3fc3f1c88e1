"""Listens, and serves until a signal ends it (owner of uvicorn)."""

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

LAST_BYTES = 5  # seconds that streams get when we end
HALF = 10.0  # seconds in which a request that is half sent must go on
LEAST = 1_000  # bytes that count as going on: one byte every few seconds holds a connection, and asks nothing
_BACKLOG = 512


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens there. Raises VaultmemError in one line."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        kind, _, _, _, address = socket.getaddrinfo(host, port, family, socket.SOCK_STREAM)[0]
        # Only where the protocol is named does asyncio send each piece at once, without waiting 40 ms for an
        # acknowledgement of the one before: an answer has two, its head and its body.
        listening = socket.socket(kind, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    except OSError as error:
        raise VaultmemError(f"no address of this machine is called {host}") from error
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        problem = f"{host}:{port} cannot be listened on: {error.strerror}"
        raise VaultmemError(f"{problem}; choose another with --port") from error
    return listening


class Connection(H11Protocol):
    """Closes when a request has begun to come and does not go on; and when none comes at all."""

    _came = 0  # bytes since it was looked at last
    _watch: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        """A client is there."""
        super().connection_made(transport)
        self.timeout_keep_alive_task = self.loop.call_later(
            self.timeout_keep_alive, self.timeout_keep_alive_handler
        )

    def data_received(self, data: bytes) -> None:
        """The next bytes of a request."""
        super().data_received(data)
        self._came += len(data)
        if self._watch is None and self._is_half():
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone."""
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
    """Ends on SIGINT and SIGTERM, and leaves it at that; the second one is for those who cannot wait."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Listen for signals, where we may."""
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
    """What serves an application, with TLS by a certificate and its key (PEM files); `should_exit` ends it. It says
    nothing by itself, and adds no header to answers."""
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
