"""Who may ask the proxy and the HTTP door: by which name and from which page; and requests that are never finished."""

import socket
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agent_run import until
from tests.proxy_run import Proxied, proxy, serving
from vaultmem.credentials import Key
from vaultmem_server import serving as door
from vaultmem_server.guard import Guard
from vaultmem_server.serving import Connection

__all__ = ["proxy", "serving"]  # fixtures

HEAD = b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: 9000\r\n"


@pytest.mark.parametrize(
    ("listens", "host", "passes"),
    [
        ("127.0.0.1", "localhost:8100", True), ("127.0.0.1", "box:8100", False), ("box", "box:8100", True),
        ("0.0.0.0", "192.168.1.5:8100", True), ("0.0.0.0", "evil.example:8100", False),
        ("0.0.0.0", "host.docker.internal:8100", True), ("127.0.0.1", "host.docker.internal:8100", False),
        ("::", "[fe80::1]:8100", True), ("192.168.1.5", "192.168.1.5:8100", True),
        ("192.168.1.5", "192.168.1.6:8100", False), ("127.0.0.1", "127.0.0.1:8100:8100", False),
        ("127.0.0.1", "[::1]8100", False), ("127.0.0.1", "user@127.0.0.1:8100", False),
        ("127.0.0.1", "127.0.0.1", False), ("127.0.0.1", "127.0.0.1:1", False), ("127.0.0.1", "[::2]:8100", False),
        ("127.0.0.1", "127.0.0.1.evil.example:8100", False), ("127.0.0.1", "localhost:8100x", False), ("127.0.0.1", "", False),
    ],
)  # fmt: skip
def test_a_name_that_leads_here_is_no_name_of_ours(listens: str, host: str, passes: bool) -> None:
    refused = Guard(listens, 8100).refusal([(b"host", host.encode())], "/v1/models")
    assert (refused is None) == passes


@pytest.mark.parametrize(
    ("host", "came_from", "passes"),
    [
        ("192.168.1.5:8100", "http://192.168.1.5:8100", True), ("192.168.1.5:8100", "http://192.168.1.6:8100", False),
        ("192.168.1.5:8100", "http://203.0.113.9:8100", False), ("192.168.1.5:8100", "https://192.168.1.5:8100", False),
        ("192.168.1.5:8100", "http://localhost:8100", False), ("LocalHost:8100", "http://localhost:8100", True),
        ("192.168.1.5:8100", "http://", False), ("192.168.1.5:8100", "null", False), ("192.168.1.5:8100", "", False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("key", [None, Key("open-sesame-1")])
def test_a_page_is_ours_only_by_the_name_that_it_asks(
    host: str, came_from: str, passes: bool, key: Key | None
) -> None:
    """A page that has the key is a page still."""
    asked = [
        (b"host", host.encode()),
        (b"origin", came_from.encode()),
        (b"authorization", b"Bearer open-sesame-1"),
    ]
    guard = Guard("0.0.0.0", 8100, key)
    refused = guard.refusal(asked, "/")
    assert (refused.status if refused else 200) == (200 if passes else 403)
    assert guard.refusal([*asked, (b"origin", b"http://203.0.113.9:8100")], "/")


@given(st.text(max_size=30))
def test_no_name_of_elsewhere_passes(name: str) -> None:
    host = f"{name}.example:8100".encode("latin-1", "replace")
    assert Guard("0.0.0.0", 8100).refusal([(b"host", host)], "/")


def test_web_pages_and_other_names_are_refused(proxy: Proxied) -> None:
    for headers, code in (
        ({"Host": "evil.example"}, "host_not_allowed"), ({"Origin": "http://evil.example"}, "origin_not_allowed"),
        ({"Sec_Fetch_Site": "cross-site"}, "origin_not_allowed"),
    ):  # fmt: skip
        seen = proxy.send("GET", "/v1/models", **headers)
        assert (seen.status, seen.data["error"]["code"]) == (403, code), headers
    assert not proxy.llm.requests
    for host in (f"LOCALHOST:{proxy.port}", f"[::1]:{proxy.port}", f"127.0.0.9:{proxy.port}"):
        own = f"http://{host.lower()}"
        assert proxy.send("GET", "/v1/models", Host=host, Origin=own).status == 200


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/", 404), ("GET", "/v2/models", 404), ("GET", "/health/", 404), ("POST", "/health", 405),
        ("OPTIONS", "/v1/chat/completions", 405), ("OPTIONS", "/v1/files", 405),
        ("GET", "/v1/../admin", 404), ("GET", "/v1/%2e%2e/admin", 404), ("GET", "/v1/a/%2E./x", 404),
        ("GET", "/%761/models", 404), ("GET", "/v1/..%5cadmin", 404),
        ("TRACE", "/v1/models", 405), ("GET", "/docs", 404),
    ],
)  # fmt: skip
def test_what_is_not_there_is_told_in_their_shape(
    proxy: Proxied, method: str, path: str, expected: int
) -> None:
    seen = proxy.send(method, path)
    assert seen.status == expected
    assert set(seen.data["error"]) == {"message", "type", "param", "code"}
    if expected == 405:
        assert seen.header("allow")
    assert not proxy.llm.requests


class Client:
    """A client that sends what it is told to."""

    def __init__(self, proxy: Proxied) -> None:
        self.socket = socket.create_connection(("127.0.0.1", proxy.port), timeout=60)
        self.there = until(lambda: self._there(proxy), 60)

    def _there(self, proxy: Proxied) -> Connection | None:
        """Its connection in the proxy, once that has a loop."""
        own = self.socket.getsockname()
        for one in proxy.made.server.server_state.connections:
            if isinstance(one, Connection) and one.client == own and one.loop:
                return one
        return None

    def send(self, data: bytes) -> None:
        seen, is_watched = self.there._came, self.there._watch is not None
        self.socket.sendall(data)
        until(lambda: self.there._came >= seen + len(data) if is_watched else self.there._watch, 60)

    def looked_at(self) -> None:
        """Run the timeout check."""
        if self.there._watch:
            self.there.loop.call_soon_threadsafe(self.there._look)

    def is_closed(self) -> bool:
        """Waits for the end of the connection."""
        with self.socket, suppress(ConnectionResetError):
            return self.socket.recv(1) == b""
        return True


@pytest.mark.parametrize(
    "sent", [b"PO", HEAD, HEAD + b"\r\n", HEAD + b"\r\n{", HEAD + b"Expect: 100-continue\r\n"]
)
def test_a_request_that_stops_in_the_middle_keeps_no_connection(
    proxy: Proxied, sent: bytes
) -> None:
    client = Client(proxy)
    client.send(sent % proxy.port if b"%d" in sent else sent)
    client.looked_at()
    assert client.is_closed()


def test_a_connection_that_sends_too_slowly_is_closed(proxy: Proxied) -> None:
    client = Client(proxy)
    client.send(HEAD % proxy.port + b"\r\n")
    client.send(b"x" * door.LEAST)
    client.looked_at()
    until(lambda: client.there._came == 0, 60)
    client.send(b"x")
    client.looked_at()
    assert client.is_closed()


def test_a_request_with_two_lengths_is_refused_and_so_is_all_behind_it(proxy: Proxied) -> None:
    """A server in front may have read the rest as the first one's body, and a client's own request as another's."""
    behind = b"GET /v1/models HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % proxy.port
    with socket.create_connection(("127.0.0.1", proxy.port), timeout=60) as client:
        client.sendall(HEAD % proxy.port + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + behind)
        received = b""
        while piece := client.recv(65_536):
            received += piece
    assert received.startswith(b"HTTP/1.1 400 ")
    assert b"two lengths" in received
    assert not proxy.llm.requests
