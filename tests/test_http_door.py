"""The HTTP door as a program on another machine sees it: a real door, real agents behind it, the official client."""

from __future__ import annotations

import asyncio
import json
import re
import socket
from contextlib import suppress
from pathlib import Path

import pytest

from tests.agent_run import until
from tests.cli_run import ran
from tests.http_run import Answer, Door, door, request
from tests.lazy import Lazy
from tests.tables import each_case
from vaultmem.api.verbs import JSON, every
from vaultmem_server import rest
from vaultmem_server.streamable import MOST_OF_TOKEN
from vaultmem_server.tokens import ADMIN, READ, TokenStore

__all__ = ["door"]  # fixtures
httpx2, mcp, mcp_http = map(Lazy, ("httpx2", "mcp", "mcp.client.streamable_http"))

pytestmark = pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")
PATHS = [("POST", "/api/v1/search"), ("GET", "/api/v1/openapi.json"), ("GET", "/metrics"), ("POST", "/mcp"), ("GET", "/")]  # fmt: skip


def test_nobody_comes_in_without_a_valid_token(door: Door) -> None:
    wrong = ["over", "gone", "vmt_000000000000_x", "nonsense"]
    for token, (method, path) in [
        *(("", each) for each in PATHS),
        *((one, PATHS[0]) for one in wrong),
    ]:
        answer = door.send(method, path, {"query": "boiler"}, token)
        assert answer.status == 401, (token, path)
        assert b"Ansah" not in answer.body
    assert set(door.send("GET", "/health").data) == {"status", "version"}
    passing = TokenStore().add("short", READ)
    assert door.ask("search", passing, query="boiler").status == 200
    TokenStore().revoke("short")
    assert door.ask("search", passing, query="boiler").status == 401, "at once"
    store = Path(TokenStore().path)
    assert store.stat().st_mode & 0o777 == 0o600
    for token in door.tokens.values():
        assert token.split("_", 2)[2] not in store.read_text()  # a secret may hold "_" itself


def test_each_acts_as_itself(door: Door) -> None:
    own = door.ask("write", content="The zebra is called Zed.", scope="agent:claude").data
    assert own["agent"] == "claude"

    def finds(query: str, sign: str) -> set[str]:
        who = ("claude", "codex", "reader", "me")
        return {one for one in who if sign.encode() in door.ask("search", one, query=query).body}

    assert finds("zebra", own["path"]) == {"claude", "me"}
    assert finds("boiler PIN", "5150") == {"me"}
    forged = door.ask("write", by="codex", content="x")
    assert forged.status == 400, "nobody speaks in another's name"


def test_a_scope_limits_what_is_done(door: Door) -> None:
    assert door.ask("write", "reader", content="x").status == 403
    assert door.ask("undo", "claude").status == 403
    assert door.ask("recall", "claude", query="boiler", without=["mmr"]).status == 400
    assert door.ask("history", "me").status == 200
    for verb in every().values():
        needed = rest.scope_of(verb)
        assert needed == ADMIN or (
            verb.tool is not None and any(param.name == "by" for param in verb.params)
        )


def test_what_openapi_lists_can_be_asked_with_what_it_lists(door: Door) -> None:
    for name, verb in rest.exposed_verbs().items():
        asked_here = [one for one in rest.params_for(verb, ADMIN) if one.doors == "agent"]
        assert not asked_here, f"{name}: parts of us tell each other {asked_here[0].name}"
        answer = door.ask(name, "me", vault="home", **({"dry_run": True} if verb.writes else {}))
        if answer.status == 400 and (wrong := re.match(r'"(\w+)" ', answer.data["error"])):
            assert wrong[1] in {one.outside for one in rest.params_for(verb, ADMIN)}, answer.data
        assert "unknown parameter" not in answer.data.get("error", ""), (name, answer.data)
        assert "vaultmem " not in answer.data.get("error", ""), "a program types no commands"
    first = door.ask("export", "me", vault="home", category="people").data
    assert (first["lines"], first["next"]) == ([], None)


def test_who_acts_as_an_assistant_has_no_verb_that_does_not_know_who_asks(door: Door) -> None:
    token = TokenStore().add("claude-keeper", ADMIN, "claude")
    for name, verb in rest.exposed_verbs().items():
        if not any(one.name == "by" for one in verb.of(JSON)):
            assert door.ask(name, token, vault="home").status == 403, name
    assert door.ask("set", token, note="Secret", key="a", value="b").status == 403
    assert door.ask("why", token, query="boiler", note="Secret").status == 403
    assert b"5150" not in door.ask("search", token, query="boiler PIN").body
    assert door.ask("history", token).status == 200


def test_a_token_names_its_vaults(door: Door) -> None:
    assert door.ask("search", "home", query="boiler", vault="work").status == 404
    assert door.send("POST", "/api/v1/search", {"query": "boiler"}, "home").data["count"] == 1
    assert "work" in door.send("POST", "/api/v1/search", {"query": "boiler"}, "me").data["error"]
    said = door.ask("recall", "me", query="who services the boiler", vault="work")
    assert b"at work" in said.body


def test_one_search_goes_over_several_vaults(door: Door) -> None:
    def search(token: str, **params: object) -> Answer:
        return door.send("POST", "/api/v1/search", {"query": "boiler", **params}, token)

    both = search("claude", vaults="*").data
    assert {one["vault"] for one in both["results"]} == {"home", "work"}
    assert not [one for one in both["results"] if "Secret" in one["path"]]
    mine = search("me", vaults=["work", "home"]).data
    assert {one["path"] for one in mine["results"]} == {"Boiler.md", "Secret.md"}
    assert len(search("me", vaults="*", limit=1).data["results"]) == 1
    # A token finds where it may; naming another vault only returns that it is not theirs.
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
    assert door.ask("write", content="x", agent="me").status == 400
    hello = {"capabilities": {}, "clientInfo": {"name": "old", "version": "1"}}
    greeting = request("initialize", 1, protocolVersion="2025-03-26", **hello)
    calls = [
        request("tools/call", id_, name="memory_write", arguments={"content": text})
        for id_, text in ((7, "The tortoise likes dandelions."), (8, ""))
    ]
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    for token, calls_made in (("claude", calls), ("reader", calls[:1])):
        session = door.mcp(greeting, token).headers["mcp-session-id"]
        assert [door.mcp(call, token, session).status for call in calls_made] == [200] * len(
            calls_made
        )
        alone = [door.mcp(call, token, session).data for call in calls_made]
        assert door.mcp([*calls_made, note], token, session).data == alone
    newer = door.mcp(calls, "claude", door.session())
    assert newer.status == 400, "later versions have no batches"
    lines = [json.loads(line) for line in trail.read_text().splitlines()[before:]]
    assert [(line["token"], line["client"], line["what"], line["status"]) for line in lines] == [
        ("claude-laptop", "claude", "write", "200"),
        ("claude-laptop", "claude", "write", "400"),
        *(("claude-laptop", "claude", "memory_write", "200"),
        ("claude-laptop", "claude", "memory_write", "422")) * 3,
        *(("reader", "reader", "memory_write", "422"),) * 3,
    ]  # fmt: skip


def test_openapi_lists_what_can_be_asked(door: Door) -> None:
    document = door.send("GET", "/api/v1/openapi.json", token="me").data
    assert set(document["paths"]) == {f"/api/v1/{name}" for name in rest.exposed_verbs()}
    body = document["paths"]["/api/v1/write"]["post"]["requestBody"]
    properties = body["content"]["application/json"]["schema"]["properties"]
    assert "content" in properties
    assert "by" not in properties


def test_metrics_count_requests_and_know_the_agents(door: Door) -> None:
    def metrics(token: str = "reader") -> str:
        return door.send("GET", "/metrics", token=token).body.decode()

    def refused() -> int:
        found = re.search(r'requests_total\{route="refused",status="401"\} (\d+)', metrics())
        return int(found[1]) if found else 0

    text, before = metrics(), refused()
    assert re.search(r'vaultmem_http_requests_total\{route="/api/v1",status="200"\} \d+', text)
    assert 'vaultmem_recalls_skipped{vault="home"} 0' in text
    age = re.search(r'vaultmem_index_age_seconds\{vault="home"\} ([-+0-9.e]+)', text)
    assert age
    assert 0 <= float(age[1]) < 3_600
    for line in text.splitlines():
        assert re.fullmatch(r"#.*|[a-z_]+(\{[^}]*\})? [-+0-9.e]+", line), line
    assert door.send("OPTIONS", "*").status == 401
    assert refused() == before + 1, "a request for no path is counted, too"
    for path in ("/mcp/work", "/mcp/made-up", "/made/up", "/api/v1/made-up"):
        door.send("POST", path, {}, "me")
    own = metrics("home")  # what the token opens, and nothing that a client made up
    assert 'vaultmem_up{vault="home"} 1' in own
    assert "work" not in own
    assert "made" not in own


def test_the_text_of_a_memory_is_the_same_by_every_door(door: Door) -> None:
    """A character that some programs take for a line end is a character like any other."""
    content = "The cistern's valves:\u2028left,\x85right."
    arguments = {"content": content, "category": "knowledge"}
    message = request("tools/call", 7, name="memory_write", arguments=arguments)
    assert door.mcp(message, session=door.session()).status == 200
    found = door.ask("list", "me", words="valves").data["memories"]
    assert [one["content"].strip() for one in found] == [content]


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


def test_what_is_no_request_gets_no_answer(door: Door) -> None:
    session = door.session()
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert door.mcp(note, "claude", session)[0::2] == (202, b"")
    assert door.mcp(b"{nonsense", "claude", session).status == 400
    assert door.mcp(request("ping"), "claude", session, Content_Type="text/plain").status == 415
    old = {"Mcp_Protocol_Version": "1999-01-01"}
    assert door.mcp(request("ping"), "claude", session, **old).status == 400


def test_an_assistant_is_connected_with_a_door(
    door: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    for token, path in (("home", ""), ("claude", "/mcp/work")):
        words = ("--remote", door.url + path, "--token", door.tokens[token])
        assert ran("connect", "claude", *words).err == ""
    entry = json.loads((tmp_path / ".claude.json").read_text())["mcpServers"]["vaultmem"]
    assert entry["url"] == f"{door.url}/mcp/work"


# --- What a web page, a flood, a chain of servers or a slow client could do


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


def test_a_client_that_leaves_early_is_no_failure(door: Door) -> None:
    """The door has nothing in its log then, as its fixture checks at the end."""
    line = HEAD % door.tokens["me"].encode()
    for start in (line, b"POST /ui/enter HTTP/1.1\r\nHost: localhost\r\nX-Vaultmem: 1\r\n"):
        with socket.create_connection(("127.0.0.1", door.port)) as link:
            link.sendall(start + b"Content-Length: 100\r\n\r\n{")
    counted = 'route="/api/v1",status="499"'
    until(lambda: counted in door.send("GET", "/metrics", token="me").body.decode())


def test_what_only_the_agent_finds_too_large_is_told_as_such(door: Door) -> None:
    assert door.ask("write", content="x" * 1_100_000).status == 413
