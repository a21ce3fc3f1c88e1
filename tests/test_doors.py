"""The doors of the tools: a command with JSON on stdin, and the agent's socket, with well-behaved and misbehaving
clients."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.agent_run import PATIENCE, Agent, agent_on, until
from tests.cli_run import Ran, on, one_line, process
from tests.index_dump import synced
from tests.laws import examples, some
from tests.mcp_run import served
from tests.stand_in_agent import agent_for
from tests.tables import each_case
from tests.tool_run import OURS
from vaultmem import Vault, client, paths
from vaultmem.agent.connection import Limits
from vaultmem.api import rpc as codes
from vaultmem.api.toolbox import Limiter
from vaultmem.commands.parsing import parse
from vaultmem.commands.tool_calls import MOST_CALLS, reads_stdin
from vaultmem.errors import UsageError

__all__ = ["served"]  # fixtures

pytestmark = pytest.mark.usefixtures("without_a_model")
WORDS = st.sampled_from([
    "--prompt", "--prompt=", "--prompt=-", "--prompt=tea", "-", "--", "-5", "tea", "--list-tools", "--client", "me",
    "--client=--prompt", "--vault", "--format", "json", "--tea is hot", "-x", "",
])  # fmt: skip


def made(vault: Path) -> Path:
    """A vault with an index; each agent has its own."""
    (vault / ".obsidian").mkdir(parents=True)
    (vault / "Tea.md").write_text("# Tea\n\nOolong from the hill.\n")
    synced(vault)
    return vault


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("doors") / "vault")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    with agent_on(made(tmp_path_factory.mktemp("socket") / "vault")) as one:
        yield one.watches()


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


ASKED = {"query": "oolong", "notes": True}
SHAPES: list[dict[str, object]] = [
    {"name": "memory_search", "params": ASKED}, {"name": "memory_search", "arguments": ASKED},
    {"method": "memory_search", "params": ASKED},
    {"method": "tools/call", "params": {"name": "memory_search", "arguments": ASKED}},
    {"method": "tools/call", "params": {"name": "memory_search", "params": ASKED}},
]  # fmt: skip


def test_a_call_has_several_shapes_and_one_that_fails_stops_no_other(served: Path) -> None:
    wrong = [{"name": "memory_read", "params": {"id": "nobody"}}, {"name": "nothing"}, {}]
    ended = agent(served, [*wrong, *({"id": "x", **one} for one in SHAPES)])
    assert ended.code == 1
    failed, right = lines(ended)[: len(wrong)], lines(ended)[len(wrong) :]
    assert [one["error"]["code"] for one in failed] == [
        codes.NOT_FOUND, codes.WRONG_PARAMS, codes.WRONG_PARAMS,
    ]  # fmt: skip
    assert len(right) == len(SHAPES)
    for one in right:
        assert (one["id"], one["name"], one["ok"]) == ("x", "memory_search", True)
        assert one["data"]["results"][0]["path"] == "Tea.md"
        assert "Oolong" in one["text"]
    assert agent(served, SHAPES[0]).code == 0


def test_what_is_written_carries_the_name_of_the_client(served: Path) -> None:
    asked = {"name": "memory_write", "params": {"content": f"by a client of {os.urandom(4).hex()}"}}
    (said,) = lines(agent(served, asked, "--client", "my-agent"))
    assert said["data"]["agent"] == "my-agent"
    assert "agent: my-agent" in (served / said["data"]["path"]).read_text()


WRONG = [
    b"",
    b"{",
    b"7",
    b"null",
    b"[7]",
    b"\xff",
    b'{"a": NaN}',
    b"[" * 100_000,
    b"x" * 1_000_001,
    b"[\n{",
]


@each_case("data", WRONG)
def test_wrong_stdin_is_one_clear_line(indexed: Path, data: bytes) -> None:
    ended = agent(indexed, data)
    assert (ended.code, ended.out) == (2, "")
    assert len(json.loads(one_line(ended))["error"]) < 300


@settings(max_examples=some(15), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=st.binary(max_size=60) | st.text(alphabet='[]{}":,name1 \n', max_size=40).map(str.encode)
)
def test_no_bytes_make_it_fail_in_any_other_way(indexed: Path, data: bytes) -> None:
    ended = agent(indexed, data)
    assert ended.code in (0, 1, 2)
    assert "Traceback" not in ended.err


def test_a_prompt_is_answered_with_the_block(served: Path) -> None:
    for given_, words in (
        (b"", ("--prompt", "oolong")), ({"prompt": "oolong"}, ("--prompt", "-")), ({"prompt": "oolong"}, ()),
        (b"oolong\n", ("--prompt",)),
    ):  # fmt: skip
        (said,) = lines(agent(served, given_, *words))
        assert said["prompt"] == "oolong"
        assert said["context"].startswith("<memory>\n[SEMANTIC] Tea.md:1: # Tea\n")
    text = on(served, "agent", "--prompt", "oolong", "--format", "text")
    assert "Oolong from the hill.\n</memory>\n" in text.out


def test_each_call_is_made_once_however_many_there_are(served: Path) -> None:
    """More calls than fit one request are handed back and made one by one."""
    mark = os.urandom(4).hex()
    calls = [
        {"id": number, "name": "memory_write", "params": {"content": f"{mark} is {number} of them", "title": f"{mark} {number}"}}
        for number in range(MOST_CALLS + 1)
    ]  # fmt: skip
    told = lines(agent(served, calls))
    assert [each["id"] for each in told] == [*range(len(calls))]
    assert all(each["ok"] and each["data"]["created"] for each in told), "none was made before"


def test_what_may_be_done_in_part_is_not_done_again(tmp_path: Path) -> None:
    indexed = made(tmp_path / "vault")
    with agent_for(indexed, Limits(answer=1.0)) as host:
        opens, answered = host.vault, threading.Event()

        def slowly() -> AbstractContextManager[Vault]:
            assert answered.wait(60)
            return opens()

        host.vault = slowly  # type: ignore[method-assign] # a host that is slow
        ended = process("agent", "--prompt", "oolong", "--vault", str(indexed), "--format", "json")
        assert (ended.code, ended.out) == (1, "")
        assert "took longer" in json.loads(one_line(ended))["error"]
        answered.set()
        until(lambda: host.opened == 1)


@settings(max_examples=examples(500))
@given(words=st.lists(WORDS, max_size=5))
def test_stdin_is_never_read_for_nothing(words: list[str]) -> None:
    try:
        args = parse("agent", words)
    except UsageError:
        return
    if args.list_tools or args.prompt not in (None, "-"):
        assert not reads_stdin(words)


def test_the_vault_is_the_one_around(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(vault)
    listed = process("agent", "--list-tools")
    assert listed.code == 0
    ping = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n'
    assert json.loads(process("mcp", stdin=ping).out)["id"] == 1


class Line:
    """One connection that stays open."""

    def __init__(self, vault: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(paths.socket_path(str(vault)))
        self._file = self.socket.makefile("rb")

    def __enter__(self) -> Line:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def reply(self) -> Any:
        """The next line; None at the end."""
        with contextlib.suppress(ConnectionError):
            if line := self._file.readline():
                return json.loads(line)
        return None

    def ask(self, method: str, id_: object = 1, /, **params: object) -> Any:
        self.send(json.dumps({"id": id_, "method": method, "params": params}).encode() + b"\n")
        return self.reply()


def test_the_socket_lists_calls_and_stays_open(running: Agent) -> None:
    with Line(running.vault) as line:
        tools = line.ask("tools/list", "a")
        assert tools["id"] == "a"
        assert len(tools["result"]["tools"]) == len(OURS)
        found = line.ask("tools/call", 7, name="memory_search", arguments=ASKED)
        assert found["id"] == 7
        assert found["result"]["data"]["results"][0]["path"] == "Tea.md"
        short = line.ask("memory_search", [1], **ASKED)
        assert (short["id"], short["result"]) == ([1], found["result"])
        assert "jsonrpc" not in short
        line.send(b'{"jsonrpc": "2.0", "method": "memory_list"}\n')  # asks for no answer
        line.send(b'{"jsonrpc": "2.0", "id": 2, "method": "memory_list"}\n')
        assert (told := line.reply())["jsonrpc"] == "2.0"
        assert told["id"] == 2


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=st.binary(max_size=200).filter(lambda data: b"\n" not in data)
    | st.sampled_from([b"[" * 100_000, b'{"id":1,"method":"memory_list","params":{"limit":NaN}}', b'{"id":1,"id":2,"method":"memory_list"}',
                       b'{"method":"memory_list","params":' + b'{"a":' * 50_000 + b"}" * 50_000 + b"}"])
)  # fmt: skip
def test_a_wild_line_has_one_answer_and_hurts_no_other(running: Agent, data: bytes) -> None:
    with Line(running.vault) as line:
        line.send(data + b'\n{"id": "after", "method": "ping"}\n')
        reply = line.reply()
        if data.strip():
            assert "error" in reply or "result" in reply
            reply = line.reply()
        assert reply["id"] == "after"


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    words=st.lists(WORDS, max_size=5) | st.just(7),
    given_=st.none() | st.text(max_size=30) | st.integers()
    | st.sampled_from(['{"name": "memory_list"}', '[{"name": "memory_list"}, {"prompt": "x"}, {}]', "[" * 100_000, "[" + "{}," * 50 + "{}]"]),
)  # fmt: skip
def test_odd_arguments_over_the_socket_are_answered_or_returned(
    running: Agent, words: object, given_: object
) -> None:
    asked = {**client._request("agent", [], None), "words": words, "given": given_}
    with Line(running.vault) as line:
        reply = line.ask("run", **asked)
        if "error" in reply:
            assert reply["error"]["code"] in (codes.UNKNOWN_METHOD, codes.WRONG_PARAMS, codes.BUSY)
        else:
            assert reply["result"]["code"] in (0, 1)
            assert not [text for _, text in reply["result"]["parts"] if "Traceback" in text]
        assert "result" in line.ask("ping")


def test_a_hundred_clients_at_once(running: Agent) -> None:
    before = running.numbers()
    failed: list[str] = []

    def work(number: int) -> None:
        try:
            with Line(running.vault) as line:
                gate.wait(PATIENCE)
                for turn in range(3):
                    said = line.ask("tools/call", f"{number} {turn}", name="memory_search", client=f"c{number}",
                                    arguments=ASKED)  # fmt: skip
                    assert said["id"] == f"{number} {turn}"
                    assert said["result"]["data"]["count"] == 1, said
                gate.wait(PATIENCE)  # so all of them were there at once
        except BaseException as error:  # noqa: BLE001 - told below, in the thread of the test
            failed.append(repr(error))
            gate.abort()

    gate = threading.Barrier(100)
    # One process each would be a hundred processes, so they share the limit of one process.
    assert Limiter.CALLS > 300
    threads = [threading.Thread(target=work, args=(number,)) for number in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed, failed[:3]
    until(
        lambda: running.numbers()[1] <= before[1] + 8 and sockets(running) <= 8,
        what="connections or threads are left over",
    )


def sockets(running: Agent) -> int:
    """How many sockets it has open."""
    count = 0
    for each in Path(f"/proc/{running.process.pid}/fd").iterdir():
        with contextlib.suppress(OSError):  # closed just now
            count += os.readlink(each).startswith("socket:")
    return count


def test_a_flooding_client_is_refused_and_others_are_served(tmp_path: Path) -> None:
    indexed = made(tmp_path / "vault")
    with agent_on(indexed) as flooded:
        flooded.answers()
        with Line(indexed) as line:
            told = [line.ask("tools/call", name="memory_tag", client=f"other {n}", arguments={"id": "nobody"}) for n in range(Limiter.WRITES + 40)]  # fmt: skip
            refused = [each["error"] for each in told if each["error"]["code"] == codes.TOO_MANY]
            assert refused, "a process that changes its name is the same process"
            assert "too many writes" in refused[0]["message"]
            assert "result" in line.ask("memory_list")
        asked = {"name": "memory_write", "params": {"content": "from next door"}}
        words = ("agent", "--client", "neighbour", "--vault", str(indexed), "--format", "json")
        ended = process(*words, stdin=json.dumps(asked).encode())
        assert ended.code == 0, ended.err
        assert ended.data["data"]["agent"] == "neighbour"
