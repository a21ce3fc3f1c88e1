"""The parameters of tools that few calls have, through MCP and through the batch on stdin."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli_run import on
from vaultmem import Vault
from vaultmem.api.mcp import Protocol, Settled
from vaultmem.api.toolbox import Toolbox, ToolService

Tool = Callable[..., str]  # what it says, or the error


def by_mcp(vault: Path) -> Tool:
    protocol = Protocol(ToolService(Toolbox(), lambda: Vault(str(vault))))

    def call(name: str, **arguments: object) -> str:
        params = {"name": name, "arguments": arguments}
        line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        reply = json.loads(protocol.answer(line, Settled(client="claude"))[0][0])
        return str(
            reply["error"]["message"] if "error" in reply else reply["result"]["content"][0]["text"]
        )

    return call


def by_batch(vault: Path) -> Tool:
    def call(name: str, **arguments: object) -> str:
        calls = json.dumps([{"name": name, "params": arguments}]).encode()
        ended = on(vault, "agent", stdin=calls)
        found = json.loads(ended.out)
        [found] = found if isinstance(found, list) else [found]
        return str(found.get("text") or found["error"]["message"])

    return call


@pytest.fixture(params=[by_mcp, by_batch])
def tool(request: pytest.FixtureRequest, vault: Path, monkeypatch: pytest.MonkeyPatch) -> Tool:
    monkeypatch.setenv("VAULTMEM_EMBEDDING_MODEL", "off")
    return request.param(vault)  # type: ignore[no-any-return]


def test_what_replaces_what_and_what_held_when(
    tool: Tool, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids: list[str] = []
    for day, street in (("08-01", "Mill Lane"), ("09-01", "High Street"), ("10-01", "Dock Road")):
        monkeypatch.setenv("VAULTMEM_NOW", f"2026-{day}T12:00:00Z")
        given = {
            "content": f"Ann's address is {street}",
            "project": "move",
            "expires": "2027-01-01",
        }
        if ids:  # the third replaces what is in the archive by then
            given["replaces"] = ids[0]
        said = tool("memory_write", **given)
        assert said.startswith("written")
        assert ("\nreplaced" in said) == bool(ids)
        ids += re.findall(r"\(([0-9a-f]{8}),", said)[:1]
    [file] = vault.rglob("*Dock Road*.md")
    text = file.read_text(encoding="utf-8")
    assert "project: move" in text
    assert "expires_at: 2027-01-01" in text.replace('"', "").replace("'", "")
    with Vault(str(vault)) as opened:
        opened.sync()
    monkeypatch.setenv("VAULTMEM_NOW", "2026-10-02T12:00:00Z")
    now = tool("memory_recall", query="Ann's address")
    assert "Dock Road" in now
    assert "Mill Lane" not in now
    then = tool("memory_recall", query="Ann's address", as_of="2026-08-15")
    assert "Mill Lane" in then
    assert "Dock Road" not in then
