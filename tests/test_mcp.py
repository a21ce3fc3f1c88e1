"""The Model Context Protocol, spoken with its official SDK's client, and by hand where that client is too polite."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.laws import JSON, examples
from tests.lazy import Lazy
from tests.mcp_run import CLOSED_BY_NOTE, indexed, line, served
from tests.tables import each_case
from tests.tool_run import OURS
from vaultmem import Vault
from vaultmem.api.mcp import BATCHED, ENVELOPES, HANDSHAKES, MOST_BATCH, Protocol, Settled, refusal
from vaultmem.api.toolbox import Toolbox, ToolService
from vaultmem.commands.mcp_server import read_lines
from vaultmem.errors import VaultNotFoundError

__all__ = ["indexed", "served"]  # fixtures

pytestmark = pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")
mcp, errors, versions = map(Lazy, ("mcp", "mcp.shared.exceptions", "mcp_types.version"))


def talk(vault: Path, mode: str, said: Callable[[mcp.Client], Awaitable[Any]]) -> Any:
    environ = {**os.environ, "VAULTMEM_EMBEDDING_MODEL": "off"}
    words = ["-m", "vaultmem", "mcp", "--vault", str(vault)]
    server = mcp.StdioServerParameters(command=sys.executable, args=words, env=environ)

    async def session() -> Any:
        async with mcp.Client(server, mode=mode) as one:
            return await said(one)

    return asyncio.run(asyncio.wait_for(session(), 60))


def test_every_version_that_the_sdk_speaks_is_known() -> None:
    assert HANDSHAKES == versions.HANDSHAKE_PROTOCOL_VERSIONS
    assert ENVELOPES == versions.MODERN_PROTOCOL_VERSIONS


async def everything(one: mcp.Client) -> dict[str, Any]:
    """One round through everything the server has."""
    tools = (await one.list_tools()).tools
    assert len({tool.name for tool in tools}) == len(tools) == len(OURS)
    with pytest.raises(errors.MCPError, match="did you mean memory_search") as unknown:
        await one.call_tool("memory_searhc", {"query": "x"})
    with pytest.raises(errors.MCPError, match="no note is called") as missing:
        await one.read_resource("vaultmem://note/../../etc/passwd")
    templates = (await one.list_resource_templates()).resource_templates
    assert [template.uri_template for template in templates] == ["vaultmem://note/{+path}"]
    resources = (await one.list_resources()).resources
    assert [str(resource.uri) for resource in resources] == ["vaultmem://pending"]
    assert [prompt.name for prompt in (await one.list_prompts()).prompts] == ["recall"]
    assert "memory" in str(one.instructions)
    return {
        "written": await one.call_tool(
            "memory_write", {"content": f"Ann likes {one.protocol_version}"}
        ),
        "wrong": await one.call_tool("memory_search", {"qeury": "x"}),
        "codes": [unknown.value.code, missing.value.code],
        "pending": (await one.read_resource("vaultmem://pending")).contents[0].text,
        "note": (await one.read_resource("vaultmem://note/Health/Knee.md")).contents[0].text,
        "prompt": (await one.get_prompt("recall", {"about": "stairs"})).messages[0].content.text,
    }


@pytest.mark.parametrize("version", [*HANDSHAKES, *ENVELOPES])
def test_the_sdks_client_works(served: Path, version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp.client.session.LATEST_HANDSHAKE_VERSION", version)
    found = talk(served, "auto" if version in ENVELOPES else "legacy", everything)
    assert found["written"].is_error is False
    assert f"Ann likes {version}" in found["written"].content[0].text
    # Clients that get both show their model only the structured content.
    assert found["written"].structured_content is None
    assert found["wrong"].is_error is True
    assert 'did you mean "query"?' in found["wrong"].content[0].text
    assert found["codes"] == [-32602, -32602 if version in ENVELOPES else -32002]
    assert "ring the surgery" in found["pending"]
    assert "The stairs hurt." in found["note"]
    assert found["prompt"].startswith("stairs\n")
    assert "<memory>" in found["prompt"]


@pytest.fixture
def spoken(indexed: Path) -> Protocol:
    return Protocol(ToolService(Toolbox(plain=True), lambda: Vault(str(indexed))))


def one(protocol: Protocol, text: str) -> Any:
    (said,), _ = protocol.answer(text, Settled())
    return json.loads(said)


def test_an_unknown_version_is_answered_with_the_known_ones(spoken: Protocol) -> None:
    asked = line("initialize", protocolVersion="1999-01-01", clientInfo={"name": "old"})
    said, settled = spoken.answer(asked, Settled())
    assert json.loads(said[0])["result"]["protocolVersion"] == HANDSHAKES[-1]
    assert settled == Settled(HANDSHAKES[-1], "old")
    meta = {"io.modelcontextprotocol/protocolVersion": "2031-01-01"}
    error = one(spoken, line("tools/list", _meta=meta))["error"]
    assert error["code"] == -32022
    assert error["data"] == {"supported": [*ENVELOPES], "requested": "2031-01-01"}


@each_case("text, code",
    [
        ("{", -32700), ("nonsense", -32700), ('{"a": NaN}', -32700), ("[" * 100_000, -32700), ("1" * 5_000, -32700),
        ("7", -32600), ("null", -32600), (f"[{line('ping')}]", -32600), ('{"id": 1}', -32600), ('{"jsonrpc": "2.0", "id": null, "method": "ping"}', -32600),
        ('{"jsonrpc": "2.0", "id": true, "method": "ping"}', -32600), (line("nothing"), -32601),
        ('{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}', -32602),
        (line("tools/call"), -32602), (line("prompts/get", name="other"), -32602), (line("prompts/get", name="recall"), -32602),
        (line("resources/read", uri="file:///etc/passwd"), -32002), (line("resources/read", uri="vaultmem://note/%FF%00"), -32002),
        (line("server/discover"), -32601),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_by_its_code(spoken: Protocol, text: str, code: int) -> None:
    reply = one(spoken, text)
    assert reply["error"]["code"] == code
    assert "\n" not in reply["error"]["message"]


def test_the_id_of_a_request_is_any_text_or_number(spoken: Protocol) -> None:
    for id_ in ("", "\ud800", 0, -1, 10**30, 1.0, 1.5):
        assert one(spoken, line("ping", id_))["id"] == id_


def test_notifications_and_answers_get_none(spoken: Protocol) -> None:
    for text in (
        '{"jsonrpc": "2.0", "method": "notifications/initialized"}',
        '{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}}',
        '{"jsonrpc": "2.0", "id": 4, "result": {}}',
        '{"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "memory_delete"}}',
    ):
        assert spoken.answer(text, Settled())[0] == []


@each_case(
    "path", ["Diary.md", ".obsidian/Plugin.md", "Out.md", "../outside.md", "%2E%2E/outside.md", "/etc/passwd", "Nowhere.md"]
)  # fmt: skip
def test_no_address_leads_to_what_is_not_to_be_read(spoken: Protocol, path: str) -> None:
    reply = one(spoken, line("resources/read", uri=f"vaultmem://note/{path}"))
    assert reply["error"]["code"] == -32002
    assert "stairs" not in json.dumps(reply)


def test_a_note_cannot_end_its_own_fence(spoken: Protocol) -> None:
    said = one(spoken, line("resources/read", uri="vaultmem://note/Fence.md"))
    assert "result" in said, said
    text = said["result"]["contents"][0]["text"]
    _, fence, rest = text.partition("`````\n")
    assert fence
    assert rest == f"{CLOSED_BY_NOTE}\n`````"


methods = st.sampled_from(
    ["initialize", "ping", "tools/list", "tools/call", "resources/read", "resources/list", "prompts/get", "nothing"]
)  # fmt: skip
messages = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | JSON,
        "id": st.integers() | st.text(max_size=5) | JSON,
        "method": methods | JSON,
        "params": JSON
        | st.fixed_dictionaries(
            {"name": st.sampled_from(["memory_search", "recall", "x"]), "arguments": JSON}, optional={"_meta": JSON}
        ),
    },
)  # fmt: skip


def no_vault() -> Any:
    raise VaultNotFoundError("there is no vault")


@settings(max_examples=examples(150))
@given(
    said=messages | st.lists(messages, max_size=3) | JSON,
    version=st.sampled_from(HANDSHAKES),
)
def test_every_message_has_its_answer_or_none(said: object, version: str) -> None:
    protocol = Protocol(ToolService(Toolbox(plain=True), no_vault))
    lines, settled = protocol.answer(json.dumps(said), Settled(version))
    assert len(lines) <= 1
    assert Settled.of(settled.as_json()) == settled
    for text in lines:
        assert text.isascii()
        assert "\n" not in text
        replies = json.loads(text)
        for reply in replies if isinstance(replies, list) else [replies]:
            assert reply["jsonrpc"] == "2.0"
            assert ("result" in reply) != ("error" in reply)


@settings(max_examples=examples(100))
@given(said=st.lists(messages, max_size=MOST_BATCH + 1))
def test_a_batch_is_answered_as_its_messages_are(said: list[object]) -> None:
    protocol, settled = Protocol(ToolService(Toolbox(plain=True), no_vault)), Settled(BATCHED)
    begins = [isinstance(each, dict) and each.get("method") == "initialize" for each in said]
    alone = [
        reply for each, begun in zip(said, begins, strict=True) if not begun
        for reply in protocol.answer(json.dumps(each), settled)[0]
    ]  # fmt: skip
    lines, after = protocol.answer(json.dumps(said), settled)
    assert after == settled, "a batch settles nothing"
    if 0 < len(said) <= MOST_BATCH:
        replies = json.loads(lines[0]) if lines else []
        mended = [each for each in replies if "part of a batch" not in str(each)]
        assert mended == [json.loads(reply) for reply in alone]
    else:
        assert json.loads(lines[0])["error"]["code"] == -32600


def test_a_batch_that_fails_as_a_whole_is_refused_with_each_id() -> None:
    batch = '[{"jsonrpc": "2.0", "id": 1, "method": "ping"}, {"jsonrpc": "2.0", "method": "x"}, {"id": 2}]'
    (line,) = refusal(batch, -32000, "it took too long")
    assert [reply["id"] for reply in json.loads(line)] == [1, 2]


def test_a_socket_that_closes_before_it_has_read_all_answers_is_at_its_end() -> None:
    ours, theirs = socket.socketpair()
    with ours, ours.makefile("rb") as file:
        ours.sendall(b"an answer")
        theirs.sendall(b"a request\n")
        theirs.close()
        assert [*read_lines(file)] == [b"a request"]
