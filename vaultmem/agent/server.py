"""Answers requests on a Unix socket: one thread listens, one watches the time, and one serves each client."""

from __future__ import annotations

import contextlib
import logging
import os
import selectors
import socket
import threading
import time
from collections.abc import Callable

from vaultmem.agent.connection import Connection, Limits, refuse
from vaultmem.agent.peer import is_ours, listen
from vaultmem.api import rpc as codes
from vaultmem.api.rpc import Request
from vaultmem.text.values import value

log = logging.getLogger("vaultmem.server")

_STOP_GENTLY = 0.5  # seconds in which requests that run may still be answered
_STOP_AT_ALL = 0.2  # and those in which threads must be gone that have nothing to wait for


@value
class Counters:
    """How busy the server is; `served` counts all requests since it started."""

    open: int
    in_flight: int
    served: int


class Server:
    """Requests at `path` are answered by `answer`, which is called in many threads at once."""

    def __init__(
        self, path: str, answer: Callable[[Request], object], limits: Limits | None = None
    ) -> None:
        self.path = path
        self.answer = answer
        self.limits = limits or Limits()
        self._clients: dict[Connection, threading.Thread] = {}
        self._changed = threading.Condition()
        self._served = self._in_flight = 0
        self._dormant = self._stopping = False
        self._listener: socket.socket | None = None
        self._place: tuple[int, int] | None = None  # of the socket's file
        self._bell: tuple[socket.socket, socket.socket] | None = (
            None  # wakes the thread that listens
        )
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Listen; a client that connects after this is answered. Raises StateError when it cannot be."""
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
            self._remove_socket()
            self._join(self._threads, _STOP_AT_ALL)
            for end in (self._listener, *self._bell):
                end.close()
        clients = self._connections()
        for client in clients:
            client.hang_up(socket.SHUT_RD)
        self._join([*clients.values()], _STOP_GENTLY)
        for client in clients:
            client.hang_up()
        self._join([*clients.values()], _STOP_AT_ALL)

    def is_in_place(self) -> bool:
        """Whether the socket's file is still the one that was made: state may be deleted at any time."""
        try:
            status = os.lstat(self.path)
        except OSError:
            return False
        return (status.st_dev, status.st_ino) == self._place

    def counters(self) -> Counters:
        """How busy it is now."""
        with self._changed:
            return Counters(len(self._clients), self._in_flight, self._served)

    def begun(self) -> None:
        """A request begins; the watch wakes up if there was nothing to watch."""
        with self._changed:
            self._in_flight += 1
            if self._dormant:
                self._dormant = False
                self._changed.notify_all()

    def ended(self) -> None:
        """A request has its answer."""
        with self._changed:
            self._in_flight -= 1
            self._served += 1

    def _connections(self) -> dict[Connection, threading.Thread]:
        with self._changed:
            return dict(self._clients)

    def _accept(self) -> None:
        assert self._listener
        assert self._bell
        with selectors.DefaultSelector() as ready:
            ready.register(self._listener, selectors.EVENT_READ)
            ready.register(self._bell[1], selectors.EVENT_READ)
            was_said = False
            while ready.select() and not self._stopping:
                try:
                    link, _ = self._listener.accept()
                except OSError as error:
                    if not was_said:
                        log.warning("clients cannot be let in: %s", error)
                    was_said = True
                    time.sleep(0.1)  # out of files, most likely; some will be closed soon
                    continue
                was_said = False
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
        except RuntimeError as error:  # the system gives no more threads
            log.warning("a client could not be let in: %s", error)
            self._forget(client)
            refuse(link, codes.BUSY, "the agent has no room for another connection")

    def _make_room(self) -> bool:
        """Send away the client that has been idle for the longest time."""
        idle = [(since, id(one), one) for one in self._clients if (since := one.idle_since)]
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
        """Cut off requests that take too long. Asleep while there are none: a server at rest costs nothing."""
        with self._changed:
            while not self._stopping:
                served = self._served
                self._changed.wait(self._cut_overdue())
                if not self._in_flight and served == self._served and not self._stopping:
                    self._dormant = True
                    self._changed.wait()

    def _cut_overdue(self) -> float:
        """The seconds until the next request is overdue. One that begins later has longer, so nobody has
        to wake the watch for it."""
        limit, now = self.limits.answer, time.monotonic()
        soonest = limit
        for client in self._clients:
            began = client.began
            if began is None:
                continue
            if began + limit <= now:
                client.cut()
            else:
                soonest = min(soonest, began + limit - now)
        return max(soonest, limit / 100)

    def _remove_socket(self) -> None:
        """Only if it is still the one we made."""
        with contextlib.suppress(OSError):
            if self.is_in_place():
                os.unlink(self.path)

    @staticmethod
    def _join(threads: list[threading.Thread], seconds: float) -> None:
        until = time.monotonic() + seconds
        for thread in threads:
            if thread.is_alive() and thread is not threading.current_thread():
                thread.join(max(0.0, until - time.monotonic()))
