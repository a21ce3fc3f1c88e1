"""The HTTP door as a program on another machine meets it: a real door, real agents behind it, the official client."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.cli_run import one_line, ran
from tests.http_run import Answer, Door, opened, request, serving
from tests.lazy import Lazy
from vaultmem.api.verbs import every
from vaultmem_server import rest
from vaultmem_server.tokens import ADMIN, READ, TokenStore

httpx2, mcp, mcp_http = map(Lazy, ("httpx2", "mcp", "mcp.client.streamable_http"))
pytestmark = pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    with opened(tmp_path_factory.mktemp("door")) as one:
        yield one


# --- who comes in


PATHS = [
    ("POST", "/api/v1/search"),
    ("GET", "/api/v1/openapi.json"),
    ("GET", "/metrics"),
    ("POST", "/mcp"),
    ("GET", "/"),
]


def test_nobody_comes_in_without_a_valid_token(door: Door) -> None:
    wrong = ["over", "gone", "vmt_000000000000_x", "nonsense"]
    for token, (method, path) in [
        *(("", each) for each in PATHS),
        *((each, PATHS[0]) for each in wrong),
    ]:
        answer = door.send(method, path, {"query": "boiler"}, token)
        assert answer.status == 401, (token, path)
        assert b"Ansah" not in answer.body
    assert set(door.send("GET", "/health").data) == {"status", "version"}


def test_a_token_is_nowhere_but_with_its_holder(door: Door) -> None:
    store = TokenStore()
    text = Path(store.path).read_text()
    assert Path(store.path).stat().st_mode & 0o777 == 0o600
    for token in door.tokens.values():
        assert token.split("_", 2)[2] not in text  # a secret may hold "_" itself


def test_a_revoked_token_is_refused_at_once(door: Door) -> None:
    token = TokenStore().add("short", READ)
    assert door.ask("search", token, query="boiler").status == 200
    TokenStore().revoke("short")
    assert door.ask("search", token, query="boiler").status == 401


# --- what it sees and may do


def test_each_acts_as_itself(door: Door) -> None:
    own = door.ask("write", content="The zebra is called Zed.", scope="agent:claude").data
    assert own["agent"] == "claude"
    found = {
        who: own["path"] in {one["path"] for one in door.ask("search", who, query="zebra").data["results"]}
        for who in ("claude", "codex", "me")
    }  # fmt: skip
    assert found == {"claude": True, "codex": False, "me": True}
    private = {
        who: b"5150" in door.ask("search", who, query="boiler PIN").body
        for who in ("claude", "reader", "me")
    }
    assert private == {"claude": False, "reader": False, "me": True}
    assert door.ask("write", by="codex", content="x").status == 400, (
        "nobody speaks in another's name"
    )


def test_a_scope_limits_what_is_done(door: Door) -> None:
    assert door.ask("write", "reader", content="x").status == 403
    assert door.ask("undo", "claude").status == 403
    assert door.ask("recall", "claude", query="boiler", without=["mmr"]).status == 400
    assert door.ask("history", "me").status == 200
    for verb in every().values():
        needed = rest.scope_of(verb)
        assert needed == ADMIN or (
            verb.tool is not None and any(one.name == "by" for one in verb.params)
        )


def test_a_token_names_its_vaults(door: Door) -> None:
    assert door.ask("search", "home", query="boiler", vault="work").status == 404
    assert door.send("POST", "/api/v1/search", {"query": "boiler"}, "home").data["count"] == 1
    assert "work" in door.send("POST", "/api/v1/search", {"query": "boiler"}, "me").data["error"]
    assert (
        b"at work" in door.ask("recall", "me", query="who services the boiler", vault="work").body
    )


def test_one_search_goes_over_several_vaults(door: Door) -> None:
    def search(token: str, **params: object) -> Answer:
        return door.send("POST", "/api/v1/search", {"query": "boiler", **params}, token)

    both = search("claude", vaults="*").data
    assert {one["vault"] for one in both["results"]} == {"home", "work"}
    assert not [one for one in both["results"] if "Secret" in one["path"]]
    mine = search("me", vaults=["work", "home"]).data
    assert {one["path"] for one in mine["results"]} == {"Boiler.md", "Secret.md"}
    assert len(search("me", vaults="*", limit=1).data["results"]) == 1
    # A token finds where it may; who names another vault hears no more than that it is not theirs.
    assert {one["vault"] for one in search("home", vaults="*").data["results"]} == {"home"}
    assert search("home", vaults=["home", "work"]).status == 404
    for wrong in ([], "home", 7, None, [7]):
        assert search("me", vaults=wrong).status == 400, wrong
    assert search("me", vaults="*", vault="home").status == 400


def test_every_write_leaves_a_line(door: Door) -> None:
    trail = Path(TokenStore().path).with_name("audit.log")
    before = len(trail.read_text().splitlines()) if trail.exists() else 0
    door.ask("write", content="The tortoise is called Ada.")
    door.ask("search", query="tortoise")
    lines = [json.loads(line) for line in trail.read_text().splitlines()[before:]]
    assert [(line["token"], line["client"], line["what"], line["status"]) for line in lines] == [
        ("claude-laptop", "claude", "write", "200")
    ]


def test_openapi_lists_what_can_be_asked(door: Door) -> None:
    document = door.send("GET", "/api/v1/openapi.json", token="me").data
    assert set(document["paths"]) == {f"/api/v1/{name}" for name in rest.exposed_verbs()}
    schema = document["paths"]["/api/v1/write"]["post"]["requestBody"]["content"][
        "application/json"
    ]["schema"]
    assert "content" in schema["properties"]
    assert "by" not in schema["properties"]


def test_metrics_count_requests_and_know_the_agents(door: Door) -> None:
    text = door.send("GET", "/metrics", token="reader").body.decode()
    assert re.search(r'vaultmem_http_requests_total\{route="/api/v1",status="200"\} \d+', text)
    assert 'vaultmem_up{vault="home"} 1' in text
    assert 'vaultmem_recalls_skipped{vault="home"} 0' in text
    age = re.search(r'vaultmem_index_age_seconds\{vault="home"\} ([-+0-9.e]+)', text)
    assert age
    assert 0 <= float(age[1]) < 3_600
    assert all(
        re.fullmatch(r"#.*|[a-z_]+(\{[^}]*\})? [-+0-9.e]+", line) for line in text.splitlines()
    )


# --- the Model Context Protocol


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_official_client_gets_along(door: Door, mode: str) -> None:
    async def talk() -> tuple[list[str], str]:
        headers = {"Authorization": f"Bearer {door.tokens['claude']}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as web,
            mcp.Client(
                mcp_http.streamable_http_client(f"{door.url}/mcp/home", http_client=web), mode=mode
            ) as client,
        ):
            tools = [tool.name for tool in (await client.list_tools()).tools]
            said = await client.call_tool("memory_recall", {"query": "who services the boiler?"})
            return tools, said.content[0].text

    tools, text = asyncio.run(asyncio.wait_for(talk(), 60))
    assert {"memory_write", "memory_recall", "memory_search"} <= set(tools)
    assert "Ansah" in text


def test_a_reader_has_no_tool_that_writes(door: Door) -> None:
    session = door.session("reader")
    tools = door.mcp(request("tools/list"), "reader", session).data["result"]["tools"]
    assert {tool["name"] for tool in tools}.isdisjoint({"memory_write", "memory_delete"})
    call = request("tools/call", 2, name="memory_write", arguments={"content": "x"})
    assert door.mcp(call, "reader", session).data["result"]["isError"]


def test_a_session_is_its_holder_s(door: Door) -> None:
    session = door.session()
    assert door.mcp(request("ping"), "claude", session).status == 200
    assert door.mcp(request("ping"), "codex", session).status == 404
    assert door.mcp(request("ping"), "claude", "made-up").status == 404
    assert door.mcp(request("ping"), "claude").status == 400
    assert door.send("DELETE", "/mcp/home", token="claude", Mcp_Session_Id=session).status == 204
    assert door.mcp(request("ping"), "claude", session).status == 404


def test_a_client_calls_itself_what_it_likes_and_is_its_token(door: Door) -> None:
    session = door.session("codex")
    call = request(
        "tools/call", 3, name="memory_write", arguments={"content": "The gecko is called Gil."}
    )
    door.mcp(call, "codex", session)
    record = door.ask("list", "me", limit=50).body.decode()
    assert re.search(r'Gil\.".*?"agent": "codex"', record)


def test_what_is_no_request_gets_no_answer(door: Door) -> None:
    session = door.session()
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert door.mcp(note, "claude", session)[0::2] == (202, b"")
    assert door.mcp(b"{nonsense", "claude", session).status == 400
    assert door.mcp(request("ping"), "claude", session, Content_Type="text/plain").status == 415
    assert (
        door.mcp(request("ping"), "claude", session, Mcp_Protocol_Version="1999-01-01").status
        == 400
    )


def test_an_assistant_is_connected_with_a_door_that_knows_its_token(
    door: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    refusals = {
        ("over", ""): "does not know this token",
        ("claude", ""): "this token opens: home, work",
        ("home", "/mcp/work"): "this token opens: home",
    }
    for (token, path), says in refusals.items():
        words = ("--remote", door.url + path, "--token", door.tokens[token])
        refused = ran("connect", "claude", *words)
        assert refused.code == 1
        assert says in one_line(refused)
        assert not list(tmp_path.iterdir())
    for token, path in (("home", ""), ("claude", "/mcp/work")):
        words = ("--remote", door.url + path, "--token", door.tokens[token])
        assert ran("connect", "claude", *words).err == ""
    entry = json.loads((tmp_path / ".claude.json").read_text())["mcpServers"]["vaultmem"]
    assert entry["url"] == f"{door.url}/mcp/work"


# --- attacks


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 403),
        ({"Host": "evil.example:80"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Content_Length": "99999999"}, 413),
    ],
)
def test_what_a_web_page_or_a_flood_would_send_is_refused(
    door: Door, headers: dict[str, str], status: int
) -> None:
    assert door.send("POST", "/api/v1/search", b"{}", "me", **headers).status == status


def test_odd_bodies_end_in_one_line(door: Door) -> None:
    for body in (
        b"[]",
        b"{",
        b"[" * 50_000,
        b'{"query": NaN}',
        b'{"query": 3}',
        b'{"wat": 1}',
        b'{"vault": "nope"}',
        b"\xff",
    ):
        answer = door.send("POST", "/api/v1/search", body, "claude")
        assert answer.status in (400, 404), body[:20]
        assert "\n" not in answer.data["error"]
    for path in (
        "/mcp/home/../work",
        "/mcp/%68ome/x",
        "//api/v1/search",
        "/health/../metrics",
        "/health/..%2fmetrics",
        "/api/v1/../agent",
        "/api/v1/hook",
        "/api/v1/take-in",
        "/api/v1/sync%00",
        "/mcp/..%2f..",
        "/api/v1/",
    ):
        assert door.send("POST", path, {}, "me").status in (404, 405), path


def raw(door: Door, *parts: bytes) -> bytes:
    """All that comes back for these bytes, until the door closes the connection or says no more."""
    received = b""
    with socket.create_connection(("127.0.0.1", door.port), timeout=20) as link, suppress(OSError):
        with suppress(
            BrokenPipeError, ConnectionResetError
        ):  # it has closed before it was sent all
            for part in parts:
                link.sendall(part)
        while piece := link.recv(65_536):
            received += piece
    return received


BEHIND = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n"


@pytest.mark.parametrize(
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
    """Behind a request whose length is in doubt stands another one, which a server in front has not seen."""
    own = door.tokens["me"].encode()
    head = b"POST /api/v1/search HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n" % own
    assert b"vaultmem_up" not in raw(door, head + lines + BEHIND % own)


def test_more_than_fits_is_refused_however_it_is_sent(door: Door) -> None:
    own = door.tokens["me"].encode()
    line = b"POST /api/v1/search HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n" % own
    chunks = b"10000\r\n" + b"x" * 65_536 + b"\r\n"
    assert b" 413 " in raw(door, line + b"Transfer-Encoding: chunked\r\n\r\n", *[chunks] * 24)
    assert b" 200 " not in raw(door, line + b"X: " + b"x" * 200_000 + b"\r\n\r\n")
    assert b" 200 " not in raw(door, b"GET /" + b"x" * 200_000 + b" HTTP/1.1\r\n\r\n")
    assert door.ask("search", query="boiler").status == 200


def test_what_was_seen_on_the_way_cannot_be_used_again(door: Door) -> None:
    """Neither a session that is over, nor the session or the stream of another token, nor a token that was revoked
    since the session began."""
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


def test_a_slow_client_holds_nobody_up(door: Door) -> None:
    slow = [socket.create_connection(("127.0.0.1", door.port)) for _ in range(60)]
    try:
        for link in slow:
            link.sendall(b"POST /api/v1/search HTTP/1.1\r\nHost: lo")
        assert door.ask("search", query="boiler").status == 200
    finally:
        for link in slow:
            link.close()


# --- how it is opened


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--http", "0.0.0.0:0"], "--tls-cert"),
        (["--http", "localhost"], "an address and a port"),
        (["--http", "127.0.0.1:0", "--tls-cert", "nothing.pem"], "go together"),
        (["--vault", ".", "--vault", ".."], "one vault"),
    ],
)
def test_a_door_that_would_be_open_to_all_stays_shut(
    vault: Path, words: list[str], says: str
) -> None:
    named = [] if "--vault" in words else ["--vault", str(vault)]
    command = [sys.executable, "-m", "vaultmem", "serve", *words, *named]
    ended = subprocess.run(command, capture_output=True, timeout=60, check=False)
    assert ended.returncode == 2
    assert says in ended.stderr.decode()
    assert len(ended.stderr.splitlines()) == 1


@pytest.mark.skipif(not shutil.which("openssl"), reason="there is no openssl to make a certificate")
def test_with_a_certificate_nobody_listens_in(vault: Path, tmp_path: Path) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
            "-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(cert)]  # fmt: skip
    subprocess.run(make, check=True, capture_output=True)
    words = [
        "--http",
        "0.0.0.0:0",
        "--tls-cert",
        str(cert),
        "--tls-key",
        str(key),
        "--vault",
        str(vault),
    ]
    with serving(words) as port:
        trusted = ssl.create_default_context(cafile=str(cert))
        answer = httpx2.get(f"https://localhost:{port}/health", verify=trusted)
        assert answer.json()["status"] == "ok"
