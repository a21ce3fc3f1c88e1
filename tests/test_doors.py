"""The doors of the tools: a command with JSON on stdin, and the agent's socket, with well-behaved and misbehaving
clients."""

import json
import os
import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.agent_run import until
from tests.cli_run import Ran, on, one_line, process
from tests.doors_run import _WORDS, made
from tests.laws import examples, some
from tests.mcp_run import served
from tests.stand_in_agent import agent_for
from tests.tables import each_case
from tests.tool_run import OURS
from vaultmem import Vault
from vaultmem.agent.connection import Limits
from vaultmem.api import rpc as codes
from vaultmem.commands.parsing import parse
from vaultmem.commands.tool_calls import MOST_CALLS, reads_stdin
from vaultmem.errors import UsageError

__all__ = ["served"]  # fixtures

pytestmark = pytest.mark.usefixtures("without_a_model")


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("doors") / "vault")


def agent(vault: Path, given_: object, *words: str) -> Ran:
    data = given_ if isinstance(given_, bytes) else json.dumps(given_).encode()
    return on(vault, "agent", *words, "--format", "json", stdin=data)


def lines(ended: Ran) -> list[Any]:
    return [json.loads(line) for line in ended.out.splitlines()]


def test_the_tools_are_listed(served: Path) -> None:
    tools = agent(served, b"", "--list-tools").data["tools"]
    assert len(tools) == len(OURS)
    assert {"name", "description", "inputSchema", "annotations"} <= tools[0].keys()
    text = on(served, "agent", "--list-tools", "--format", "text")
    assert text.out.startswith("memory_write(content, category")


SHAPES = [
    {"name": "memory_search", "params": {"query": "oolong", "notes": True}},
    {"name": "memory_search", "arguments": {"query": "oolong", "notes": True}},
    {"method": "memory_search", "params": {"query": "oolong", "notes": True}},
    {"method": "tools/call", "params": {"name": "memory_search", "arguments": {"query": "oolong", "notes": True}}},
    {"method": "tools/call", "params": {"name": "memory_search", "params": {"query": "oolong", "notes": True}}},
]  # fmt: skip


@each_case("number", range(len(SHAPES)))
def test_a_call_has_several_shapes(served: Path, number: int) -> None:
    ended = agent(served, {"id": "x", **SHAPES[number]})
    assert ended.code == 0, ended.err
    (said,) = lines(ended)
    assert (said["id"], said["name"], said["ok"]) == ("x", "memory_search", True)
    assert said["data"]["results"][0]["path"] == "Tea.md"
    assert "Oolong" in said["text"]


def test_a_list_is_several_calls_and_one_that_fails_keeps_none_from_its_turn(
    served: Path,
) -> None:
    calls = [
        SHAPES[0],
        {"name": "memory_read", "params": {"id": "nobody"}},
        {"name": "nothing"},
        {},
        SHAPES[1],
    ]
    ended = agent(served, calls)
    assert ended.code == 1
    assert [line["ok"] for line in lines(ended)] == [True, False, False, False, True]
    failed = [line["error"]["code"] for line in lines(ended) if not line["ok"]]
    assert failed == [codes.NOT_FOUND, codes.WRONG_PARAMS, codes.WRONG_PARAMS]


def test_what_is_written_carries_the_name_of_the_client(served: Path) -> None:
    asked = {"name": "memory_write", "params": {"content": f"by a client of {os.urandom(4).hex()}"}}
    (said,) = lines(agent(served, asked, "--client", "my-agent"))
    assert said["data"]["agent"] == "my-agent"
    assert "agent: my-agent" in (served / said["data"]["path"]).read_text()


def test_a_prompt_is_answered_with_the_block(served: Path) -> None:
    for ended in (
        agent(served, b"", "--prompt", "oolong"),
        agent(served, {"prompt": "oolong"}, "--prompt", "-"),
        agent(served, {"prompt": "oolong"}),
        agent(served, b"oolong\n", "--prompt"),
    ):
        (said,) = lines(ended)
        assert said["prompt"] == "oolong"
        assert said["context"].startswith("<memory>\n[SEMANTIC] Tea.md:1: # Tea\n")
    text = on(served, "agent", "--prompt", "oolong", "--format", "text")
    assert "Oolong from the hill.\n</memory>\n" in text.out


@each_case(
    "data",
    [b"", b"\n", b"{", b"7", b"null", b'"x"', b"[7]", b"\xff", b'{"a": NaN}', b"[" * 100_000, b"x" * 1_000_001, b"[\n{"],
)  # fmt: skip
def test_wrong_stdin_is_one_clear_line(indexed: Path, data: bytes) -> None:
    ended = agent(indexed, data)
    assert ended.code == 2
    assert ended.out == ""
    assert len(json.loads(one_line(ended))["error"]) < 300


@settings(max_examples=some(15), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=st.binary(max_size=60) | st.text(alphabet='[]{}":,name1 \n', max_size=40).map(str.encode)
)
def test_no_bytes_make_it_fail_in_any_other_way(indexed: Path, data: bytes) -> None:
    ended = agent(indexed, data)
    assert ended.code in (0, 1, 2)
    assert "Traceback" not in ended.err


@pytest.mark.parametrize("count", [1, MOST_CALLS, MOST_CALLS + 1])
def test_each_call_is_made_once_however_many_there_are(served: Path, count: int) -> None:
    """More calls than fit one request are handed back and made one by one."""
    mark = os.urandom(4).hex()
    calls = [
        {"id": number, "name": "memory_write", "params": {"content": f"{mark} is {number} of them", "title": f"{mark} {number}"}}
        for number in range(count)
    ]  # fmt: skip
    said = lines(agent(served, calls))
    assert [each["id"] for each in said] == [*range(count)]
    assert all(each["ok"] and each["data"]["created"] for each in said), (
        "none of them was made before"
    )


def test_what_may_be_done_in_part_is_not_done_again(tmp_path: Path) -> None:
    indexed = made(tmp_path / "vault")
    with agent_for(indexed, Limits(answer=0.2)) as host:
        opens = host.vault

        def slowly() -> AbstractContextManager[Vault]:
            time.sleep(0.8)
            return opens()

        host.vault = slowly  # type: ignore[method-assign] # a host that is slow
        ended = process("agent", "--prompt", "oolong", "--vault", str(indexed), "--format", "json")
        assert (ended.code, ended.out) == (1, "")
        assert "took longer" in json.loads(one_line(ended))["error"]
        until(lambda: host.opened == 1)


@settings(max_examples=examples(500))
@given(words=st.lists(_WORDS, max_size=5))
def test_stdin_is_never_read_for_nothing(words: list[str]) -> None:
    try:
        args = parse("agent", words)
    except UsageError:
        return
    if args.list_tools or args.prompt not in (None, "-"):
        assert not reads_stdin(words)


def test_without_a_vault_that_is_named_it_is_the_one_around(
    vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(vault)
    listed = process("agent", "--list-tools")
    assert listed.code == 0
    ping = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n'
    assert json.loads(process("mcp", stdin=ping).out)["id"] == 1
