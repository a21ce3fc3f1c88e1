"""The proxy over real sockets: what the upstream gets, what the client sees, what is stored."""

from __future__ import annotations

import gzip
import http.client
import json
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from tests.index_dump import synced
from tests.proxy_run import Proxied, openai, proxied, proxy, serving, user
from tests.scripted_replies import Reply, raw, status, text, too_many, tool_calls

__all__ = ["proxy", "serving"]  # fixtures

STREAM = (
    b': hello\n\ndata: {"choices":[{"index":0,"delta":{"content":"Hi \xc3\xa9"},"finish_reason":null}]}\r\n\r\n'
    b'data: {"odd" : [1,2],\ndata: "choices":[{"index":0,"delta":{"content":" there"},"finish_reason":"stop"}]}\n\n'
    b"data: [DONE]\n\n"
)

ODD = (
    '{ "messages":[{"role":"system","content":null},\t{"content":[{"type":"text","text":"q\\u00e9"},{"type":"image_url",'
    '"image_url":{"url":"data:image/png;base64,iVBOR/+=="}}],"role":"user"}] , "x_unknown":1.50e3,"tools":[{"a":"计划"}],'
    '"stream":false}\n'
).encode()


def test_a_body_gets_one_message_and_no_other_byte(proxy: Proxied) -> None:
    proxy.remembers("The user likes tea")
    assert proxy.chat(ODD).status == 200
    sent = proxy.llm.chats[0].body
    at = ODD.index(b'{"content":[')
    assert sent.startswith(ODD[:at])
    assert sent.endswith(b"," + ODD[at:])
    put = json.loads(sent[at : len(sent) - len(ODD[at:]) - 1])
    assert put["role"] == "system"
    assert "[memory] The user likes tea" in put["content"]


@pytest.mark.parametrize("body", [
    b"", b"{", b"[1]", b'{"messages": []}', b'{"messages": "x"}', b"\xff\xfe{\x00}\x00",
    b'\xef\xbb\xbf{"messages": [{"role": "user", "content": "a"}]}',
    b'{"messages": [{"role": "user", "content": "a"}], "messages": 1}',
], ids=range(8))  # fmt: skip
def test_odd_bodies_are_the_upstreams_business(proxy: Proxied, body: bytes) -> None:
    proxy.remembers("The user likes tea")
    proxy.llm.play(status(400, "what is this?"))
    seen = proxy.chat(body)
    assert (seen.status, seen.data["error"]["message"]) == (400, "what is this?")
    assert proxy.llm.chats[0].body == body
    assert proxy.turns() == []


def test_a_body_may_be_large_but_not_endless(proxy: Proxied) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 10_000_000}}
    assert proxy.ask([{"type": "text", "text": "what is it?"}, image]).status == 200
    assert len(proxy.llm.chats[0].body) > 10_000_000
    seen = proxy.chat(b" " * 32_000_001)
    assert (seen.status, seen.data["error"]["type"]) == (413, "invalid_request_error")
    assert len(proxy.llm.chats) == 1


@pytest.mark.parametrize("size", [0, 1, 7, 64])
def test_a_stream_is_seen_as_it_was_sent(proxy: Proxied, size: int) -> None:
    proxy.llm.play(raw(STREAM, Content_Type="text/event-stream; charset=utf-8").slowly(0.0, size))
    seen = proxy.ask("a", stream=True)
    assert seen.body == STREAM
    assert seen.header("content-type") == "text/event-stream; charset=utf-8"
    assert proxy.ended_turns(1)[0].assistant == "Hi é there"


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
def test_a_packed_answer_stays_packed(proxy: Proxied, kind: str) -> None:
    packed = gzip.compress(STREAM)
    proxy.llm.play(raw(packed, Content_Type=kind, Content_Encoding="gzip").slowly(0.0, 5))
    seen = proxy.ask("a", headers={"Accept-Encoding": "gzip, br"})
    assert seen.body == packed
    assert seen.header("content-encoding") == "gzip"
    assert proxy.llm.chats[0].headers["accept-encoding"] == "identity"
    assert proxy.ended_turns(1)[0].assistant is None


@pytest.mark.parametrize("reply", [too_many(7), status(500, "broken"), status(999, "odd")])
def test_errors_pass_through_and_the_words_are_kept(proxy: Proxied, reply: Reply) -> None:
    proxy.llm.play(reply)
    seen = proxy.ask("I said this")
    if reply.status == 999:  # no server can send it
        assert (seen.status, seen.data["error"]["code"]) == (502, "upstream_unreachable")
    else:
        assert (seen.status, seen.body) == (reply.status, reply.body)
    if reply.status == 429:
        assert seen.header("retry-after") == "7"
    (kept,) = proxy.ended_turns(1)
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
def test_an_answer_that_is_cut_is_cut_here_and_not_kept(proxy: Proxied, streams: bool) -> None:
    proxy.llm.play(text("one two three four five six").cut_after(150))
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
        server.settimeout(60)
        upstream, _ = server.accept()
        with upstream:
            upstream.settimeout(60)
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


@pytest.mark.parametrize("streams", [True, False])
def test_an_answer_is_kept_before_its_end_is_passed_on(
    proxy: Proxied, monkeypatch: pytest.MonkeyPatch, streams: bool
) -> None:
    finish = proxy.made._turns.queue.finish
    begun, may_end = Event(), Event()

    def held(*given: Any) -> Any:
        begun.set()
        assert may_end.wait(60)
        return finish(*given)

    monkeypatch.setattr(proxy.made._turns.queue, "finish", held)
    proxy.llm.play(text("one two"))
    with ThreadPoolExecutor(1) as client:
        asking = client.submit(proxy.ask, "a", stream=streams)
        try:
            assert begun.wait(60)
            with pytest.raises(TimeoutError):
                asking.result(0.3)
        finally:
            may_end.set()
        assert asking.result(60).status == 200
    assert proxy.turns()[0].assistant == "one two"


def test_a_tools_result_goes_on_with_the_turn(proxy: Proxied) -> None:
    proxy.remembers("The user lives in Bergen")
    proxy.llm.play(
        tool_calls(("weather", {"city": "Bergen"})), tool_calls(("time", {})), text("It rains.")
    )
    client = proxy.client()
    messages: list[Any] = [user("Do I need an umbrella?")]
    for _ in range(3):
        said = client.chat.completions.create(model="m", messages=messages).choices[0].message
        messages.append(said.model_dump(exclude_none=True))
        calls = [call.id for call in said.tool_calls or ()]
        messages += [{"role": "tool", "tool_call_id": id_, "content": "rain"} for id_ in calls]
    (kept,) = proxy.ended_turns(1)
    assert (kept.user, kept.assistant) == ("Do I need an umbrella?", "It rains.")
    told = ["Bergen" in json.dumps(chat.messages[0]) for chat in proxy.llm.chats]
    assert told == [True, False, False]


def test_a_turn_whose_tools_never_answer_ends_with_the_next(proxy: Proxied) -> None:
    proxy.llm.play(tool_calls(("weather", {})), text("ok"))
    proxy.ask("first", stream=True)
    assert [turn.is_open for turn in proxy.turns()] == [True]
    proxy.ask("second")
    kept = [(turn.user, turn.assistant) for turn in proxy.ended_turns(2)]
    assert kept == [("first", None), ("second", "ok")]


@pytest.mark.parametrize("how", [
    {"headers": {"X_Vaultmem": "OFF"}}, {"headers": {"X_Vaultmem": "0"}}, {"headers": {"X_Vaultmem": "No"}},
    {"metadata": {"vaultmem": "off"}}, {"metadata": {"vaultmem": "No"}}, {"user": "x" * 201}, {"user": "a\u202eb"},
    {"messages": [user("### Task:\nGenerate a title.")]}, {"headers": {"Content_Encoding": "gzip"}},
], ids=range(9))  # fmt: skip
def test_some_requests_are_none_of_ours(proxy: Proxied, how: dict[str, Any]) -> None:
    proxy.remembers("The user likes tea")
    assert proxy.ask("a", **how).status == 200
    sent = proxy.llm.chats[0]
    assert len(sent.messages) == 1
    assert "x-vaultmem" not in sent.headers
    assert proxy.turns() == []


def test_a_queue_that_cannot_be_written_stops_nobody(
    proxy: Proxied, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(proxy.made._turns.queue, "folder", str(tmp_path / "file" / "turns"))
    proxy.llm.play(text("fine"))
    assert proxy.ask("a").data["choices"][0]["message"]["content"] == "fine"
