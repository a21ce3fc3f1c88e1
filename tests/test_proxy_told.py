"""What the proxy reports and learns, whom it refuses, and where keys go."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from tests.agent_run import until
from tests.cli_run import on
from tests.index_dump import synced
from tests.proxy_run import Proxied, proxied, user
from tests.proxy_vault import openai, proxy, scripted_llm, serving
from tests.scripted_llm import Arguments, Reply, ScriptedLlm, raw, text, tool_calls
from vaultmem_chat.memory_context import compose

__all__ = ["proxy", "scripted_llm", "serving"]  # fixtures


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
    data = json.loads(on(vault, "status", "--format", "json").out)["proxy"]
    assert data.pop("since") > 0
    assert data == {"told": 1, "nothing": 1, "slow": 1, "busy": 0, "failed": 1}
    said = on(vault, "status", "--format", "text").out
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
        asked = [
            chat for chat in scripted_llm.chats if chat.headers.get("user-agent") != "vaultmem"
        ]
        assert "Tromsø" not in asked[-1].body.decode()
    entries = vault / "vaultmem" / "entries" / "one" / ".records"
    assert len(list((entries / "turns" / "user").iterdir())) <= 2
    assert any("Zelmira" in one.read_text() for one in (entries / "facts").iterdir())


def _asked_with(proxy: Proxied, llm: ScriptedLlm, name: str, wanted: str) -> str:
    proxy.ask("Where do I live?", user=name)
    (sent,) = [chat for chat in llm.chats if chat.headers.get("user-agent") != "vaultmem"][-1:]
    told = sent.messages[0]["content"]
    return told if wanted in told else ""


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
    kept = {turn.conversation: turn.assistant for turn in proxy.ended_turns(100)}
    assert kept == {f"c{number}": said[number] for number in range(100)}


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


def test_web_pages_and_other_names_are_refused(proxy: Proxied, scripted_llm: ScriptedLlm) -> None:
    """By the guard of the HTTP door; test_proxy_parts.py has its table."""
    for headers, code in (
        ({"Host": "evil.example"}, "host_not_allowed"),
        ({"Origin": "http://evil.example"}, "origin_not_allowed"),
        ({"Sec_Fetch_Site": "cross-site"}, "origin_not_allowed"),
    ):
        seen = proxy.send("GET", "/v1/models", **headers)
        assert (seen.status, seen.data["error"]["code"]) == (403, code), headers
    assert not scripted_llm.requests
    for host in (f"LOCALHOST:{proxy.port}", f"[::1]:{proxy.port}", f"127.0.0.9:{proxy.port}"):
        own = f"http://{host.lower()}"
        assert proxy.send("GET", "/v1/models", Host=host, Origin=own).status == 200


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
    sent = [request.headers.get("authorization") for request in scripted_llm.requests]
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
    assert not [request for request in scripted_llm.requests if own_key in str(request.headers)]


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
    until(lambda: "chat 200" in caplog.text, 30)
    for word in ("quartz", "basalt", "sk-their"):
        assert word not in caplog.text
