"""Requests that are begun and not finished do not keep a connection open."""

import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.agent_run import until
from tests.index_dump import synced
from tests.proxy_run import Proxied, proxied
from tests.scripted_llm import ScriptedLlm, scripted_llm
from vaultmem_server import serving
from vaultmem_server.serving import Connection

__all__ = ["scripted_llm"]

HEAD = b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: 9000\r\n"


@pytest.fixture
def proxy(vault: Path, scripted_llm: ScriptedLlm) -> Iterator[Proxied]:
    synced(vault)
    with proxied(vault, scripted_llm) as made:
        yield made


class Client:
    """A client that sends what it is told to."""

    def __init__(self, proxy: Proxied) -> None:
        self.socket = socket.create_connection(("127.0.0.1", proxy.port), timeout=60)
        self._loop = until(lambda: [one.loop for one in self._there(proxy)], 60)[0]
        (self.there,) = self._there(proxy)

    @staticmethod
    def _there(proxy: Proxied) -> list[Connection]:
        return [
            connection
            for connection in proxy.made.server.server_state.connections
            if isinstance(connection, Connection)
        ]

    def send(self, data: bytes) -> None:
        seen, is_watched = self.there._came, self.there._watch is not None
        self.socket.sendall(data)
        until(lambda: self.there._came >= seen + len(data) if is_watched else self.there._watch, 60)

    def looked_at(self) -> None:
        """Run the timeout check."""
        if self.there._watch:
            self._loop.call_soon_threadsafe(self.there._look)

    def is_closed(self) -> bool:
        """Waits for the end of the connection."""
        with self.socket, suppress(ConnectionResetError):
            return self.socket.recv(1) == b""
        return True


@pytest.mark.parametrize(
    "sent", [b"PO", HEAD, HEAD + b"\r\n", HEAD + b"\r\n{", HEAD + b"Expect: 100-continue\r\n"]
)
def test_what_stops_in_the_middle_is_closed(proxy: Proxied, sent: bytes) -> None:
    client = Client(proxy)
    client.send(sent % proxy.port if b"%d" in sent else sent)
    client.looked_at()
    assert client.is_closed()


def test_a_connection_that_sends_too_slowly_is_closed(proxy: Proxied) -> None:
    client = Client(proxy)
    client.send(HEAD % proxy.port + b"\r\n")
    client.send(b"x" * serving.LEAST)
    client.looked_at()
    until(lambda: client.there._came == 0, 60)
    client.send(b"x")
    client.looked_at()
    assert client.is_closed()


def test_a_request_with_two_lengths_is_refused_and_so_is_all_behind_it(
    proxy: Proxied, scripted_llm: ScriptedLlm
) -> None:
    """A server in front may have read the rest as the first one's body, and a client's own request as another's."""
    head, before = HEAD % proxy.port, len(scripted_llm.requests)
    behind = b"GET /v1/models HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % proxy.port
    with socket.create_connection(("127.0.0.1", proxy.port), timeout=60) as client:
        client.sendall(head + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + behind)
        received = b""
        while piece := client.recv(65_536):
            received += piece
    assert received.startswith(b"HTTP/1.1 400 ")
    assert b"two lengths" in received
    assert len(scripted_llm.requests) == before
