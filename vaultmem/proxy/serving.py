"""Listens, and serves until it is told to end (owner of uvicorn)."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
import threading
from collections.abc import Iterator

import uvicorn

from vaultmem.errors import VaultmemError
from vaultmem.proxy.asgi import App

LAST_BYTES = 5  # seconds that streams get when we end
_BACKLOG = 512


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens there. Raises VaultmemError in one line."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        kind, address = _resolved(host, port, family)
        listening = socket.socket(kind, socket.SOCK_STREAM)
    except OSError as error:
        raise VaultmemError(f"no address of this machine is called {host}") from error
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        said = f"{host}:{port} cannot be listened on: {error.strerror}"
        raise VaultmemError(f"{said}; choose another with --port") from error
    return listening


def _resolved(
    host: str, port: int, family: socket.AddressFamily
) -> tuple[socket.AddressFamily, tuple[object, ...]]:
    found = socket.getaddrinfo(host, port, family, socket.SOCK_STREAM)[0]
    return found[0], found[4]


class Server(uvicorn.Server):
    """Ends on SIGINT and SIGTERM, and leaves it at that; the second one is for those who cannot wait."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Listen for signals, where we may."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        numbers = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self._heard) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _heard(self, *_: object) -> None:
        self.force_exit = self.should_exit
        self.should_exit = True


def server(app: App) -> Server:
    """What serves an application; `should_exit` ends it. It says nothing by itself, and adds no header to answers."""
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "uvicorn.asgi"):
        logging.getLogger(name).disabled = True
    return Server(
        uvicorn.Config(
            app,
            http="h11", ws="none", loop="asyncio", lifespan="on", interface="asgi3", log_config=None,
            access_log=False, proxy_headers=False, server_header=False, date_header=False,
            timeout_graceful_shutdown=LAST_BYTES, timeout_keep_alive=75, backlog=_BACKLOG,
        )
    )  # fmt: skip


def serve(made: Server, listening: socket.socket) -> None:
    """Serve until it ends."""
    asyncio.run(made.serve(sockets=[listening]))
