"""The proxy over real sockets: what the upstream gets, what the client sees, what is kept."""

from __future__ import annotations

import asyncio
import gzip
import http.client
import json
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from tests.agent_run import until
from tests.cli_run import ran
from tests.index_dump import synced
from tests.lazy import Lazy
from tests.proxy_run import Proxied, proxied, user
from tests.scripted_llm import (
    Arguments,
    Reply,
    ScriptedLlm,
    raw,
    running,
    status,
    text,
    too_many,
    tool_calls,
)
from vaultmem_chat.memory_context import compose

openai = Lazy("openai")

STREAM = (
    b': hello\n\ndata: {"choices":[{"index":0,"delta":{"content":"Hi \xc3\xa9"},"finish_reason":null}]}\r\n\r\n'
    b'data: {"odd" : [1,2],\ndata: "choices":[{"index":0,"delta":{"content":" there"},"finish_reason":"stop"}]}\n\n'
    b"data: [DONE]\n\n"
)


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Proxied, ScriptedLlm]]:
    """One of both for all tests, which begin with neither knowing of those before."""
    vault = tmp_path_factory.mktemp("serving") / "vault"
    (vault / ".obsidian").mkdir(parents=True)
    synced(vault)
    with running() as llm, proxied(vault, llm) as made:
        yield made, llm


@pytest.fixture
def scripted_llm(serving: tuple[Proxied, ScriptedLlm]) -> ScriptedLlm:
    serving[1].forget()
    return serving[1]


@pytest.fixture
def proxy(serving: tuple[Proxied, ScriptedLlm], scripted_llm: ScriptedLlm) -> Proxied:
    assert scripted_llm is serving[1]
    serving[0].forget()
    return serving[0]


# --- Byte for byte


ODD = (
    '{ "messages":[{"role":"system","content":null},\t{"content":[{"type":"text","text":"q\\u00e9"},{"type":"image_url",'
    '"image_url":{"url":"data:image/png;base64,iVBOR/+=="}}],"role":"user"}] , "x_unknown":1.50e3,"tools":[{"a":"计划"}],'
    '"stream":false}\n'
).encode()


def test_a_body_gets_one_message_and_no_other_byte(
    proxy: Proxied, scripted_llm: ScriptedLlm
) -> None:
    proxy.remembers("The user likes tea")
    assert proxy.chat(ODD).status == 200
    sent = scripted_llm.chats[0].body
    at = ODD.index(b'{"content":[')
    assert sent.startswith(ODD[:at])
    assert sent.endswith(b"," + ODD[at:])
    put = json.loads(sent[at : len(sent) - len(ODD[at:]) - 1])
    assert put["role"] == "system"
    assert "[memory] The user likes tea" in put["content"]


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[1]", b'{"messages": []}', b'{"messages": "x"}', b"\xff\xfe{\x00}\x00",
     b'\xef\xbb\xbf{"messages": [{"role": "user", "content": "a"}]}',
     b'{"messages": [{"role": "user", "content": "a"}], "messages": 1}'],
    ids=range(8),
)  # fmt: skip
def test_odd_bodies_are_the_upstreams_business(
    proxy: Proxied, scripted_llm: ScriptedLlm, body: bytes
) -> None:
    proxy.remembers("The user likes tea")
    scripted_llm.play(status(400, "what is this?"))
    seen = proxy.chat(body)
    assert (seen.status, seen.data["error"]["message"]) == (400, "what is this?")
    assert scripted_llm.chats[0].body == body
    assert proxy.turns() == []


def test_a_body_may_be_large_but_not_endless(proxy: Proxied, scripted_llm: ScriptedLlm) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 10_000_000}}
    assert proxy.ask([{"type": "text", "text": "what is it?"}, image]).status == 200
    assert len(scripted_llm.chats[0].body) > 10_000_000
    seen = proxy.chat(b" " * 32_000_001)
    assert (seen.status, seen.data["error"]["type"]) == (413, "invalid_request_error")
    assert len(scripted_llm.chats) == 1


@pytest.mark.parametrize("size", [0, 1, 7, 64])
def test_a_stream_is_seen_as_it_was_sent(
    proxy: Proxied, scripted_llm: ScriptedLlm, size: int
) -> None:
    scripted_llm.play(
        raw(STREAM, Content_Type="text/event-stream; charset=utf-8").slowly(0.0, size)
    )
    seen = proxy.ask("a", stream=True)
    assert seen.body == STREAM
    assert seen.header("content-type") == "text/event-stream; charset=utf-8"
    assert proxy.ended_turns(1)[0].assistant == "Hi é there"


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
def test_a_packed_answer_stays_packed_and_is_understood(
    proxy: Proxied, scripted_llm: ScriptedLlm, kind: str
) -> None:
    plain = (
        STREAM if "stream" in kind else b'{"choices":[{"message":{"content":"Hi \xc3\xa9 there"}}]}'
    )
    packed = gzip.compress(plain)
    scripted_llm.play(raw(packed, Content_Type=kind, Content_Encoding="gzip").slowly(0.0, 5))
    seen = proxy.ask("a", headers={"Accept-Encoding": "gzip, br"})
    assert seen.body == packed
    assert seen.header("content-encoding") == "gzip"
    assert scripted_llm.chats[0].headers["accept-encoding"] == "identity"
    assert proxy.ended_turns(1)[0].assistant == "Hi é there"


def test_words_arrive_while_the_model_still_speaks(
    proxy: Proxied, scripted_llm: ScriptedLlm
) -> None:
    scripted_llm.play(text("one two three four").slowly(0.15))
    messages: Any = [user("a")]
    stream = proxy.client().chat.completions.create(model="m", messages=messages, stream=True)
    came = [time.monotonic() for _ in stream]
    assert came[-1] - came[0] > 0.5


def test_headers_go_on_but_for_those_of_the_way(proxy: Proxied, scripted_llm: ScriptedLlm) -> None:
    headers = {"Authorization": "Bearer mine", "X_Custom": "1", "Connection": "keep-alive, X-Hop", "X_Hop": "1",
               "TE": "trailers", "X_Conversation_Id": "c1", "User_Agent": "me"}  # fmt: skip
    proxy.ask("a", headers=headers)
    sent = scripted_llm.chats[0].headers
    assert sent["host"] == f"127.0.0.1:{scripted_llm.port}"
    assert (sent["authorization"], sent["x-custom"], sent["user-agent"]) == (
        "Bearer mine",
        "1",
        "me",
    )
    assert not {"x-hop", "te", "connection", "x-vaultmem"} & sent.keys()
    assert sent["content-length"] == str(len(scripted_llm.chats[0].body))


# --- Errors


@pytest.mark.parametrize(
    "reply", [too_many(7), status(500, "broken"), status(401, "no"), status(529, "busy")]
)
def test_errors_pass_through_and_the_words_are_kept(
    proxy: Proxied, scripted_llm: ScriptedLlm, reply: Reply
) -> None:
    scripted_llm.play(reply)
    seen = proxy.ask("I said this")
    assert (seen.status, seen.body) == (reply.status, reply.body)
    if reply.status == 429:
        assert seen.header("retry-after") == "7"
    kept = proxy.ended_turns(1)[0]
    assert (kept.user, kept.assistant) == ("I said this", None)


def test_an_upstream_that_is_not_there_is_told_in_their_shape(vault: Path) -> None:
    synced(vault)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        with proxied(vault, f"http://127.0.0.1:{free.getsockname()[1]}/v1") as proxy:
            seen = proxy.ask("I said this")
            assert (seen.status, seen.data["error"]["code"]) == (502, "upstream_unreachable")
            assert proxy.ended_turns(1)[0].user == "I said this"
            with pytest.raises(openai.InternalServerError):
                proxy.client().models.list()


@pytest.mark.parametrize("streams", [True, False])
def test_an_answer_that_is_cut_is_cut_here_and_not_kept(
    proxy: Proxied, scripted_llm: ScriptedLlm, streams: bool
) -> None:
    scripted_llm.play(text("one two three four five six").cut_after(150))
    with pytest.raises((http.client.IncompleteRead, http.client.HTTPException, ConnectionError)):
        proxy.ask("a", stream=streams)
    kept = proxy.ended_turns(1)[0]
    assert (kept.user, kept.assistant) == ("a", None)


@pytest.mark.parametrize(
    ("path", "begun"),
    [
        ("/v1/chat/completions", True), ("/v1/chat/completions", False), ("/v1/models", False), ("/v1/files", True),
    ],
)  # fmt: skip
def test_a_client_that_leaves_ends_the_connection_to_the_upstream(
    vault: Path, path: str, begun: bool
) -> None:
    body = b"" if path == "/v1/models" else b'{"messages": [{"role": "user", "content": "hi"}]}'
    synced(vault)
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        proxied(vault, f"http://127.0.0.1:{server.getsockname()[1]}/v1") as proxy,
        socket.create_connection(("127.0.0.1", proxy.port), timeout=60) as client,
    ):
        verb = b"POST" if body else b"GET"
        head = b"%b %b HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: %d\r\n\r\n"
        client.sendall(head % (verb, path.encode(), proxy.port, len(body)) + body)
        server.settimeout(20)
        upstream, _ = server.accept()
        with upstream:
            upstream.settimeout(20)
            assert upstream.recv(1)
            if begun:
                upstream.sendall(
                    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n: x\n\n"
                )
                while b": x" not in client.recv(1_000):
                    pass
            client.close()
            while upstream.recv(65_536):
                pass


# --- Turns


@pytest.mark.parametrize("streams", [True, False])
def test_an_answer_is_kept_before_its_end_is_passed_on(
    proxy: Proxied, scripted_llm: ScriptedLlm, monkeypatch: pytest.MonkeyPatch, streams: bool
) -> None:
    finish = proxy.made._turns.queue.finish
    begun, may_end = Event(), Event()

    def held(*given: Any) -> Any:
        begun.set()
        assert may_end.wait(60)
        return finish(*given)

    monkeypatch.setattr(proxy.made._turns.queue, "finish", held)
    scripted_llm.play(text("one two"))
    with ThreadPoolExecutor(1) as client:
        asking = client.submit(proxy.ask, "a", stream=streams)
        try:
            assert begun.wait(60)
            with pytest.raises(TimeoutError):
                asking.result(0.3)
        finally:
            may_end.set()
        assert asking.result(20).status == 200
    assert proxy.turns()[0].assistant == "one two"


def test_a_tools_result_goes_on_with_the_turn(proxy: Proxied, scripted_llm: ScriptedLlm) -> None:
    proxy.remembers("The user lives in Bergen")
    scripted_llm.play(
        tool_calls(("weather", {"city": "Bergen"})), tool_calls(("time", {})), text("It rains.")
    )
    client = proxy.client()
    messages: list[Any] = [user("Do I need an umbrella?")]
    for _ in range(3):
        said = client.chat.completions.create(model="m", messages=messages).choices[0].message
        messages.append(said.model_dump(exclude_none=True))
        messages += [
            {"role": "tool", "tool_call_id": call.id, "content": "rain"}
            for call in said.tool_calls or ()
        ]
    (kept,) = proxy.ended_turns(1)
    assert (kept.user, kept.assistant) == ("Do I need an umbrella?", "It rains.")
    assert ["Bergen" in json.dumps(one.messages[0]) for one in scripted_llm.chats] == [
        True,
        False,
        False,
    ]


def test_a_turn_whose_tools_never_answer_ends_with_the_next(
    proxy: Proxied, scripted_llm: ScriptedLlm
) -> None:
    scripted_llm.play(tool_calls(("weather", {})), text("ok"))
    proxy.ask("first", stream=True)
    assert [one.is_open for one in proxy.turns()] == [True]
    proxy.ask("second")
    assert [(one.user, one.assistant) for one in proxy.ended_turns(2)] == [
        ("first", None),
        ("second", "ok"),
    ]


@pytest.mark.parametrize(
    "how",
    [
        {"headers": {"X_Vaultmem": "OFF"}}, {"metadata": {"vaultmem": "off"}}, {"user": "x" * 201},
        {"user": "a\u202eb"}, {"messages": [user("### Task:\nGenerate a title.")]},
        {"headers": {"Content_Encoding": "gzip"}},
        *({"headers": {"X_Vaultmem": said}} for said in ("false", "0", "No", "none", "Disabled")),
        {"metadata": {"vaultmem": "No"}},
    ],
    ids=range(12),
)  # fmt: skip
def test_some_requests_are_none_of_ours(
    proxy: Proxied, scripted_llm: ScriptedLlm, how: dict[str, Any]
) -> None:
    proxy.remembers("The user likes tea")
    assert proxy.ask("a", **how).status == 200
    sent = scripted_llm.chats[0]
    assert len(sent.messages) == 1
    assert "x-vaultmem" not in sent.headers
    assert proxy.turns() == []


def test_a_queue_that_cannot_be_written_stops_nobody(
    proxy: Proxied, scripted_llm: ScriptedLlm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(proxy.made._turns.queue, "folder", str(tmp_path / "file" / "turns"))
    scripted_llm.play(text("fine"))
    assert proxy.ask("a").data["choices"][0]["message"]["content"] == "fine"


# --- Memory


def test_what_became_of_recall_is_in_the_answer_and_counted_in_status(
    vault: Path, scripted_llm: ScriptedLlm, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced(vault)
    with proxied(vault, scripted_llm) as proxy:
        never = Event()
        told: dict[str, Any] = {
            "nothing": compose("", [], ()),
            "x": compose("s", [("user", "y")], ()),
        }
        proxy.made._memory._ask = lambda _id, asked, _, __: told[asked]  # type: ignore[method-assign]
        seen = [proxy.ask(asked).header("x-vaultmem-recall") for asked in ("x", "nothing", "odd")]
        monkeypatch.setattr(proxy.made._memory, "patience", 0.1)
        proxy.made._memory._ask = lambda *_: never.wait(60)  # type: ignore[assignment,method-assign,return-value]
        seen.append(proxy.ask("slow").header("x-vaultmem-recall"))
        seen.append(proxy.ask("x", headers={"X-Vaultmem": "off"}).header("x-vaultmem-recall"))
        never.set()
    assert seen == [
        "1 memory and the summary", "none: nothing fits", "none: recall failed: KeyError",
        "none: recall took over 0.1 s (proxy.patience)", "off",
    ]  # fmt: skip
    data = json.loads(ran("status", "--vault", str(vault), "--format", "json").out)["proxy"]
    assert data.pop("since") > 0
    assert data == {"told": 1, "nothing": 1, "slow": 1, "busy": 0, "failed": 1}
    said = ran("status", "--vault", str(vault), "--format", "text").out
    assert (
        "4 chats since it started just now: 1 with memory, 1 nothing fits, without: 1 slow, 1 failed"
        in said
    )


def test_what_is_said_is_remembered_in_its_conversation_only(
    vault: Path, scripted_llm: ScriptedLlm
) -> None:
    synced(vault)

    def answer(asked: Arguments) -> Reply:
        return text(
            "Bees are fine." if asked.headers.get("user-agent") != "vaultmem" else "no JSON"
        )

    scripted_llm.otherwise = answer
    with proxied(vault, scripted_llm, learns=True, warm=True) as proxy:
        proxy.ask("My name is Zelmira and I live in Tromsø.", user="one")
        until(lambda: not proxy.turns(), 30)
        assert proxy.send("GET", "/health").data["turns_waiting"] == 0
        told = until(lambda: _asked_with(proxy, scripted_llm, "one", "Tromsø"), 20)
        assert "[memory] I live in Tromsø" in told
        assert "[user] My name is Zelmira and I live in Tromsø." in told
        _asked_with(proxy, scripted_llm, "two", "")
        asked = [one for one in scripted_llm.chats if one.headers.get("user-agent") != "vaultmem"]
        assert "Tromsø" not in asked[-1].body.decode()
    entries = vault / "vaultmem" / "entries" / "one" / ".records"
    assert len(list((entries / "turns" / "user").iterdir())) <= 2
    assert any("Zelmira" in one.read_text() for one in (entries / "facts").iterdir())


def _asked_with(proxy: Proxied, llm: ScriptedLlm, name: str, wanted: str) -> str:
    proxy.ask("Where do I live?", user=name)
    (sent,) = [one for one in llm.chats if one.headers.get("user-agent") != "vaultmem"][-1:]
    told = sent.messages[0]["content"]
    return told if wanted in told else ""


# --- Clients


def test_the_official_client_streams_with_tools_and_images(
    proxy: Proxied, scripted_llm: ScriptedLlm
) -> None:
    proxy.remembers("The user likes tea")
    scripted_llm.play(tool_calls(("look", {"at": "计划"})))
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    tools: Any = [
        {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
    ]
    given = ""
    messages: Any = [user([{"type": "text", "text": "what is it?"}, image])]
    for part in proxy.client().chat.completions.create(
        model="m", messages=messages, tools=tools, stream=True, stream_options={"include_usage": True},
        extra_headers={"X-Conversation-Id": "c"},
    ):  # fmt: skip
        for choice in part.choices:
            for call in choice.delta.tool_calls or ():
                given += (call.function and call.function.arguments) or ""
    assert json.loads(given) == {"at": "计划"}
    sent = scripted_llm.chats[0]
    assert (sent.messages[1], sent.data["tools"]) == (messages[0], tools)


def test_a_hundred_streams_at_once(proxy: Proxied, scripted_llm: ScriptedLlm) -> None:
    def answer(asked: Arguments) -> Reply:
        return text("echo " + " ".join([asked.messages[-1]["content"]] * 20)).slowly(0.01)

    scripted_llm.otherwise = answer

    async def one(client: openai.AsyncOpenAI, number: int) -> str:
        stream = await client.chat.completions.create(  # type: ignore[call-overload]
            model="m", messages=[user(f"n{number}")], stream=True, user=f"c{number}"
        )
        return "".join(
            [part.choices[0].delta.content or "" async for part in stream if part.choices]
        )

    async def everyone() -> list[str]:
        async with openai.AsyncOpenAI(base_url=proxy.url, api_key="k", max_retries=0) as client:
            return list(await asyncio.gather(*(one(client, number) for number in range(100))))

    said = asyncio.run(everyone())
    assert said == ["echo " + " ".join([f"n{number}"] * 20) for number in range(100)]
    kept = {one.conversation: one.assistant for one in proxy.ended_turns(100)}
    assert kept == {f"c{number}": said[number] for number in range(100)}


# --- Other addresses


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
    proxy: Proxied, scripted_llm: ScriptedLlm, method: str, path: str, expected: int
) -> None:
    seen = proxy.send(method, path)
    assert seen.status == expected
    assert set(seen.data["error"]) == {"message", "type", "param", "code"}
    if expected == 405:
        assert seen.header("allow")
    assert not scripted_llm.requests


# --- Who may ask


def test_web_pages_and_other_names_are_refused(proxy: Proxied, scripted_llm: ScriptedLlm) -> None:
    port = proxy.port
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", "127.0.0.1:1", f"127.0.0.1.evil.example:{port}",
                 f"[::2]:{port}", f"localhost.evil:{port}", f"localhost:{port}x", f"10.0.0.1:{port}", ""):  # fmt: skip
        seen = proxy.send("GET", "/v1/models", Host=host)
        assert (seen.status, host) == (403, host)
    for origin in (
        "http://evil.example",
        "null",
        "",
        f"https://localhost:{port}",
        "http://localhost:1",
        "file://",
    ):
        seen = proxy.send("GET", "/v1/models", Origin=origin)
        assert (seen.status, seen.data["error"]["code"]) == (403, "origin_not_allowed"), origin
    assert proxy.send("GET", "/v1/models", Sec_Fetch_Site="cross-site").status == 403
    assert not scripted_llm.requests
    for host in (f"localhost:{port}", f"LOCALHOST:{port}", f"[::1]:{port}", f"127.0.0.9:{port}"):
        own = f"http://{host.lower()}"
        assert proxy.send("GET", "/v1/models", Host=host, Origin=own).status == 200


# --- Keys


OWN = {"VAULTMEM_LLM_KEY": "env:OWN_KEY"}


@pytest.fixture
def own_key(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("OWN_KEY", "sk-own-secret")
    return "sk-own-secret"


def test_a_key_is_put_in_where_there_is_none(
    vault: Path, scripted_llm: ScriptedLlm, own_key: str, caplog: pytest.LogCaptureFixture
) -> None:
    synced(vault)
    caplog.set_level("DEBUG")
    environ = {**OWN, "VAULTMEM_LLM_BASE_URL": scripted_llm.url}
    with proxied(vault, scripted_llm, environ=environ, upstream=None) as proxy:
        proxy.ask("a")
        proxy.ask("a", headers={"Authorization": "Bearer vaultmem"})
        proxy.ask("a", headers={"Authorization": "Bearer theirs"})
        proxy.ask("a", headers={"Api_Key": "theirs"})
        proxy.send("GET", "/v1/models")
    sent = [one.headers.get("authorization") for one in scripted_llm.requests]
    ours = f"Bearer {own_key}"
    assert sent == [ours, ours, "Bearer theirs", None, ours]
    assert own_key not in caplog.text


def test_our_key_goes_to_no_other_server(
    vault: Path, scripted_llm: ScriptedLlm, own_key: str
) -> None:
    synced(vault)
    environ = {**OWN, "VAULTMEM_LLM_BASE_URL": f"http://127.0.0.1:{scripted_llm.port + 1}/v1"}
    with proxied(vault, scripted_llm, environ=environ) as proxy:
        proxy.ask("a")
    with proxied(vault, scripted_llm, environ=OWN) as proxy:
        proxy.ask("a")
    assert not [one for one in scripted_llm.requests if own_key in str(one.headers)]


def test_a_redirect_is_the_clients_business(
    vault: Path, scripted_llm: ScriptedLlm, own_key: str
) -> None:
    synced(vault)
    scripted_llm.play(raw(b"{}", 307, Location="http://127.0.0.1:9/v1/chat/completions"))
    environ = {**OWN, "VAULTMEM_LLM_BASE_URL": scripted_llm.url}
    with proxied(vault, scripted_llm, environ=environ) as proxy:
        seen = proxy.ask("a")
    assert (seen.status, seen.header("location")) == (307, "http://127.0.0.1:9/v1/chat/completions")
    assert own_key not in str(seen)
    assert len(scripted_llm.requests) == 1


def test_no_line_of_the_log_tells_what_was_said(
    proxy: Proxied, scripted_llm: ScriptedLlm, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    scripted_llm.play(text("an answer of quartz"))
    proxy.ask("a question of basalt", headers={"Authorization": "Bearer sk-their-key"})
    until(lambda: "chat 200" in caplog.text, 5)
    for word in ("quartz", "basalt", "sk-their"):
        assert word not in caplog.text
