"""Answers requests on a Unix socket: one thread listens, one watches the time, and one serves each client.

The folder of the socket is private, and processes of other users are refused.
"""

from __future__ import annotations

import contextlib
import logging
import os
import selectors
import socket
import stat
import struct
import threading
import time
from collections.abc import Callable

from vaultmem import paths
from vaultmem.agent import connection
from vaultmem.agent.connection import Connection, Limits, refuse
from vaultmem.api import rpc as codes
from vaultmem.api.rpc import Request
from vaultmem.errors import StateError

log = logging.getLogger("vaultmem.server")

_STOP_GENTLY = 0.5  # seconds for running requests to be answered
LOOKS = 16  # at running requests, within the time that one may take
_STOP_AT_ALL = 0.2  # and for threads with nothing to wait for to end


class Server:
    """Answers requests at `path` by calling `answer`, in many threads at once."""

    def __init__(
        self, path: str, answer: Callable[[Request], object], limits: Limits | None = None
    ) -> None:
        self.path = path
        self.answer = answer
        self.limits = limits or Limits()
        self._clients: dict[Connection, threading.Thread] = {}
        self._changed = threading.Condition()
        self._stopping = False
        self.served = 0  # requests since it started
        self._listener: socket.socket | None = None
        self._place: tuple[int, int] | None = None  # identity of the socket's file
        # Wakes the listening thread.
        self._bell: tuple[socket.socket, socket.socket] | None = None
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Listen; clients that connect afterwards are answered. Raises StateError if that fails."""
        self._listener = listen(self.path)
        status = os.lstat(self.path)
        self._place = (status.st_dev, status.st_ino)
        self._bell = socket.socketpair()
        for work in (self._accept, self._watch):
            thread = threading.Thread(target=work, name=f"vaultmem-{work.__name__}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def stop(self) -> None:
        """Let requests that are nearly done be answered, and end all within a second."""
        with self._changed:
            if self._stopping:
                return
            self._stopping = True
            self._changed.notify_all()
        if self._listener and self._bell:
            self._bell[0].send(b"!")
            with contextlib.suppress(OSError):
                if self.is_in_place():
                    os.unlink(self.path)
            self._join(self._threads, _STOP_AT_ALL)
            for end in (self._listener, *self._bell):
                end.close()
        with self._changed:
            clients = dict(self._clients)
        for client in clients:
            client.hang_up(socket.SHUT_RD)
        self._join([*clients.values()], _STOP_GENTLY)
        for client in clients:
            client.hang_up()
        self._join([*clients.values()], _STOP_AT_ALL)

    def is_in_place(self) -> bool:
        """Whether the socket's file is still our own: the state may be deleted at any time."""
        try:
            status = os.lstat(self.path)
        except OSError:
            return False
        return (status.st_dev, status.st_ino) == self._place

    def connections(self) -> int:
        """How many clients are connected."""
        return len(self._clients)

    def _accept(self) -> None:
        assert self._listener
        assert self._bell
        with selectors.DefaultSelector() as ready:
            ready.register(self._listener, selectors.EVENT_READ)
            ready.register(self._bell[1], selectors.EVENT_READ)
            was_logged = False
            while ready.select() and not self._stopping:
                try:
                    link, _ = self._listener.accept()
                except OSError as error:
                    if not was_logged:
                        log.warning("cannot accept clients: %s", error)
                    was_logged = True
                    time.sleep(0.1)  # probably out of file descriptors; some will be closed soon
                    continue
                was_logged = False
                self._let_in(link)

    def _let_in(self, link: socket.socket) -> None:
        if not is_ours(link):
            log.warning("somebody else's process connected, and was refused")
            link.close()
            return
        client = Connection(link, self)
        thread = threading.Thread(
            target=self._attend, args=(client,), name="vaultmem-client", daemon=True
        )
        with self._changed:
            room = len(self._clients) < self.limits.connections or self._make_room()
            if room:
                self._clients[client] = thread
        if not room:
            refuse(link, codes.BUSY, f"all {self.limits.connections} connections are busy")
            return
        try:
            thread.start()
        except RuntimeError as error:  # the system allows no more threads
            log.warning("a client could not be let in: %s", error)
            self._forget(client)
            refuse(link, codes.BUSY, "the agent has no room for another connection")

    def _make_room(self) -> bool:
        """Disconnect the client that has been idle longest."""
        latest = time.monotonic() - connection.SILENT
        idle = [
            (since, id(client), client)
            for client in self._clients
            if (since := client.idle_since) and since <= latest
        ]
        if not idle:
            return False
        _, _, longest = min(idle)
        del self._clients[longest]
        longest.hang_up()
        return True

    def _attend(self, client: Connection) -> None:
        try:
            client.run()
        finally:
            self._forget(client)

    def _forget(self, client: Connection) -> None:
        with self._changed:
            self._clients.pop(client, None)

    def _watch(self) -> None:
        """Cut off requests that take too long."""
        limit = self.limits.answer
        with self._changed:
            while not self._stopping:
                self._changed.wait(limit / LOOKS)
                overdue = time.monotonic() - limit
                for client in self._clients:
                    if client.began is not None and client.began <= overdue:
                        client.cut()

    @staticmethod
    def _join(threads: list[threading.Thread], seconds: float) -> None:
        until = time.monotonic() + seconds
        for thread in threads:
            if thread.is_alive() and thread is not threading.current_thread():
                thread.join(max(0.0, until - time.monotonic()))


# The socket, and who may be at its other end.

BACKLOG = 128
_LIVE_WITHIN = 2.0  # seconds for a listener to take our trial connection


def listen(path: str) -> socket.socket:
    """A listening socket that only its owner can reach. A file left over by a killed agent is replaced.

    Raises StateError if another process listens there, or if something there is not ours.
    """
    folder = os.path.dirname(path)
    paths.make_private(folder)
    ours = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        # Otherwise another starting agent would take the new socket for a leftover.
        with paths.FolderLock(folder):
            _remove_leftover(path)
            # On Linux the file is private from the start; elsewhere the folder keeps others out.
            with contextlib.suppress(OSError):
                os.fchmod(ours.fileno(), 0o600)
            ours.bind(path)
            os.chmod(path, 0o600)
            ours.listen(BACKLOG)
    except (OSError, StateError) as error:
        ours.close()
        if isinstance(error, StateError):
            raise
        raise StateError(f"cannot listen on {path}: {error.strerror or error}") from error
    return ours


def _remove_leftover(path: str) -> None:
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(status.st_mode):
        raise StateError(f"{path} is not a socket; remove it, the agent listens there")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as trial:
        trial.settimeout(_LIVE_WITHIN)
        try:
            trial.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)
            return
        except FileNotFoundError:
            return
        except OSError:
            pass  # it listens, but is too busy for us
    raise StateError(f"another process listens on {path}; vaultmem stop stops the agent")


def is_ours(connection: socket.socket) -> bool:
    """Whether the process at the other end runs as the same user as this one."""
    try:
        return _peer_uid(connection) == os.getuid()
    except (OSError, struct.error):
        return False


def _peer_uid(connection: socket.socket) -> int:
    if hasattr(socket, "SO_PEERCRED"):
        form = "3i"
        raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize(form))
        return int(struct.unpack(form, raw)[1])
    local, peer_credentials = 0, 1  # SOL_LOCAL and LOCAL_PEERCRED of macOS and the BSDs
    credentials = connection.getsockopt(local, peer_credentials, 128)
    return int(struct.unpack_from("2I", credentials)[1])  # struct xucred: version, uid
