"""What a web page, a flood, a chain of servers or a slow client could do to the HTTP door."""

import shutil
import socket
import ssl
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from tests.cli_run import one_line, process
from tests.http_run import Door, door, request, serving
from tests.lazy import Lazy
from tests.tables import each_case
from vaultmem_server.streamable import MOST_OF_TOKEN
from vaultmem_server.tokens import READ, TokenStore

__all__ = ["door"]  # fixtures
httpx2 = Lazy("httpx2")

pytestmark = pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")


WRONG = [
    {"Host": "evil.example"}, {"Host": "evil.example:80"}, {"Origin": "http://evil.example"}, {"Origin": "null"},
]  # fmt: skip
ODD = [b"[]", b"{", b"[" * 50_000, b'{"query": NaN}', b'{"query": 3}', b'{"wat": 1}', b'{"vault": "nope"}', b"\xff"]  # fmt: skip
NOWHERE = [
    "/mcp/home/../work", "/mcp/%68ome/x", "//api/v1/search", "/health/../metrics", "/health/..%2fmetrics", "/api/v1/../agent",
    "/api/v1/hook", "/api/v1/take-in", "/api/v1/sync%00", "/mcp/..%2f..", "/api/v1/",
]  # fmt: skip


def test_what_a_web_page_or_a_flood_would_send_is_refused(door: Door) -> None:
    path = "/api/v1/search"
    for headers in WRONG:
        assert door.send("POST", path, b"{}", "me", **headers).status == 403, headers
    assert door.send("POST", path, b"{}", "me", Content_Length="99999999").status == 413
    for body in ODD:
        answer = door.send("POST", path, body, "claude")
        assert answer.status in (400, 404), body[:20]
        assert "\n" not in answer.data["error"]
    for nowhere in NOWHERE:
        assert door.send("POST", nowhere, {}, "me").status in (404, 405), nowhere


def test_an_event_id_that_was_never_sent_opens_no_stream(door: Door) -> None:
    session = door.session()
    for last in ("9" * 5_000 + "-1", "1-" + "9" * 5_000, "\xb2-1", "-", "1-"):
        again = {"Last_Event_ID": last, "Mcp_Session_Id": session}
        assert door.send("GET", "/mcp/home", None, "claude", **again).status == 405, last[:9]


def test_behind_a_web_server_there_is_no_page_and_no_name_passes_for_an_address(
    vault: Path,
) -> None:
    """What other machines reach does not serve the page, whatever address it listens at; and if it listens at all of
    them, a page of another machine can have a name of hexadecimal digits."""
    for address, status in (("127.0.0.1:0", 403), ("0.0.0.0:0", 200)):
        with serving(["--http", address, "--behind-proxy", "--vault", str(vault)]) as port:
            there = Door("", port, {}, vault)
            assert there.send("GET", "/ui/enter", Host=f"127.0.0.1:{port}").status == 401
            assert there.send("GET", "/health", Host=f"facade.de:{port}").status == 403
            assert there.send("GET", "/health", Host="10.1.2.3").status == status


def raw(door: Door, *parts: bytes) -> bytes:
    """Everything that is returned for these bytes, until the door closes the connection or falls silent."""
    received = b""
    with socket.create_connection(("127.0.0.1", door.port), timeout=20) as link, suppress(OSError):
        # it closed before everything was sent
        with suppress(BrokenPipeError, ConnectionResetError):
            for part in parts:
                link.sendall(part)
        while piece := link.recv(65_536):
            received += piece
            link.settimeout(1)  # it is silent and may leave the connection open
    return received


HEAD = b"POST /api/v1/search HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n"
BEHIND = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n"


@each_case(
    "lines",
    [
        b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"Content-Length: 0\r\nContent-Length: 60\r\n\r\n",
        b"Content-Length: +0\r\n\r\n",
        b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    ],
)
def test_what_two_servers_would_read_in_two_ways_smuggles_nothing(door: Door, lines: bytes) -> None:
    """Behind a request of ambiguous length is another one, which a server in front has not seen."""
    own = door.tokens["me"].encode()
    assert b"vaultmem_up" not in raw(door, HEAD % own + lines + BEHIND % own)


def test_more_than_fits_is_refused_however_it_is_sent(door: Door) -> None:
    line = HEAD % door.tokens["me"].encode()
    chunks = b"10000\r\n" + b"x" * 65_536 + b"\r\n"
    assert b" 413 " in raw(door, line + b"Transfer-Encoding: chunked\r\n\r\n", *[chunks] * 24)
    assert b" 200 " not in raw(door, line + b"X: " + b"x" * 200_000 + b"\r\n\r\n")
    assert b" 200 " not in raw(door, b"GET /" + b"x" * 200_000 + b" HTTP/1.1\r\n\r\n")
    assert door.ask("search", query="boiler").status == 200


def test_what_was_seen_on_the_way_cannot_be_used_again(door: Door) -> None:
    """Neither an ended session, nor another token's session or stream, nor a token that was revoked since the session
    began."""
    token = TokenStore().add("passing", READ)
    session = door.session(token)
    assert door.mcp(request("ping"), token, session).status == 200
    again = {"Accept": "text/event-stream", "Last_Event_ID": "1-0", "Mcp_Session_Id": session}
    assert door.send("GET", "/mcp/home", None, "codex", **again).status == 404
    TokenStore().revoke("passing")
    assert door.mcp(request("ping"), token, session).status == 401
    assert door.send("GET", "/mcp/home", None, token, **again).status == 401
    renewed = TokenStore().add("passing", READ)
    assert door.mcp(request("ping"), renewed, session).status == 404
    TokenStore().revoke("passing")


def test_a_token_that_begins_many_sessions_ends_its_own_oldest(door: Door) -> None:
    theirs, first = door.session("codex"), door.session("reader")
    last = [door.session("reader") for _ in range(MOST_OF_TOKEN)][-1]
    assert door.mcp(request("ping"), "codex", theirs).status == 200
    assert door.mcp(request("ping"), "reader", last).status == 200
    assert door.mcp(request("ping"), "reader", first).status == 404


def test_a_slow_client_holds_nobody_up(door: Door) -> None:
    slow = [socket.create_connection(("127.0.0.1", door.port)) for _ in range(60)]
    try:
        for link in slow:
            link.sendall(b"POST /api/v1/search HTTP/1.1\r\nHost: lo")
        assert door.ask("search", query="boiler").status == 200
    finally:
        for link in slow:
            link.close()


@each_case(
    "words, reason",
    [
        ("--http 0.0.0.0:0", "--tls-cert"), ("--http localhost", "an address and a port"), ("--vault . --vault ..", "one vault"),
        ("--http 127.0.0.1:0 --tls-cert nothing.pem", "go together"),
    ],
)  # fmt: skip
def test_serve_refuses_to_listen_unprotected(vault: Path, words: str, reason: str) -> None:
    named = [] if "--vault" in words else ["--vault", str(vault)]
    refused = process("serve", *words.split(), *named)
    assert refused.code == 2
    assert reason in one_line(refused)


@pytest.mark.skipif(not shutil.which("openssl"), reason="there is no openssl to make a certificate")
def test_with_a_certificate_connections_are_encrypted(vault: Path, tmp_path: Path) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
            "-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(cert)]  # fmt: skip
    subprocess.run(make, check=True, capture_output=True)
    words = f"--http 0.0.0.0:0 --tls-cert {cert} --tls-key {key} --vault {vault}"
    with serving(words.split()) as port:
        trusted = ssl.create_default_context(cafile=str(cert))
        answer = httpx2.get(f"https://localhost:{port}/health", verify=trusted)
        assert answer.json()["status"] == "ok"
