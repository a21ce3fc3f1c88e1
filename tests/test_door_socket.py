"""The socket of tools: one connection that stays open, malformed lines, floods, and clients that do not read."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.agent_run import PATIENCE, Agent, agent_on, until
from tests.cli_run import process
from tests.doors_run import _WORDS, made
from tests.laws import examples
from tests.tool_run import OURS
from vaultmem import client, paths
from vaultmem.api import rpc as codes
from vaultmem.api.toolbox import Limiter

pytestmark = pytest.mark.usefixtures("without_a_model")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    vault = tmp_path_factory.mktemp("socket") / "vault"
    (vault / ".obsidian").mkdir(parents=True)
    (vault / "Tea.md").write_text("# Tea\n\nOolong from the hill.\n")
    with agent_on(vault) as one:
        yield one.watches()


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
        found = line.ask(
            "tools/call", 7, name="memory_search", arguments={"query": "oolong", "notes": True}
        )
        assert found["id"] == 7
        assert found["result"]["data"]["results"][0]["path"] == "Tea.md"
        short = line.ask("memory_search", [1], query="oolong", notes=True)
        assert short["id"] == [1]
        assert short["result"] == found["result"]


def test_json_rpc_by_the_book(running: Agent) -> None:
    with Line(running.vault) as line:
        line.send(
            b'{"jsonrpc": "2.0", "method": "memory_list"}\n{"jsonrpc": "2.0", "id": 2, "method": "memory_list"}\n'
        )
        assert line.reply()["jsonrpc"] == "2.0", "the first asks for no answer"
        assert line.ask("memory_nothing").get("jsonrpc") is None


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
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


@settings(max_examples=examples(80), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    words=st.lists(_WORDS, max_size=5) | st.just(7),
    given_=st.none() | st.text(max_size=30) | st.integers()
    | st.sampled_from(['{"name": "memory_list"}', '[{"name": "memory_list"}, {"prompt": "x"}, {}]', "[" * 100_000, "[" + "{}," * 50 + "{}]"]),
)  # fmt: skip
def test_odd_arguments_over_the_socket_are_answered_or_returned(
    running: Agent, words: object, given_: object
) -> None:
    asked = {**client._request("agent", []), "words": words, "given": given_}
    with Line(running.vault) as line:
        reply = line.ask("run", **asked)
        if "error" in reply:
            assert reply["error"]["code"] in (codes.UNKNOWN_METHOD, codes.WRONG_PARAMS, codes.BUSY)
        else:
            assert reply["result"]["code"] in (0, 1)
            assert not [text for _, text in reply["result"]["parts"] if "Traceback" in text]
        assert "result" in line.ask("ping")


def test_a_hundred_clients_at_once(running: Agent) -> None:
    before = settled_numbers(running)
    failed: list[str] = []

    def work(number: int) -> None:
        try:
            with Line(running.vault) as line:
                gate.wait(PATIENCE)
                for turn in range(3):
                    said = line.ask("tools/call", f"{number} {turn}", name="memory_search", client=f"c{number}",
                                    arguments={"query": "oolong", "notes": True})  # fmt: skip
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
        lambda: settled_numbers(running)[1] <= before[1] + 8 and sockets(running) <= 8,
        what="connections or threads are left over",
    )


def sockets(running: Agent) -> int:
    """How many sockets it has open."""
    count = 0
    for each in Path(f"/proc/{running.process.pid}/fd").iterdir():
        with contextlib.suppress(OSError):  # closed just now
            count += os.readlink(each).startswith("socket:")
    return count


def settled_numbers(running: Agent) -> tuple[int, int, int]:
    assert running.pid() == running.process.pid
    return running.numbers()


def test_a_flooding_client_is_refused_and_others_are_served(tmp_path: Path) -> None:
    indexed = made(tmp_path / "vault")
    with agent_on(indexed) as flooded:
        flooded.answers()
        with Line(indexed) as line:
            told = [line.ask("tools/call", name="memory_tag", client=f"other {n}", arguments={"id": "nobody"}) for n in range(Limiter.WRITES + 40)]  # fmt: skip
            refused = [each["error"] for each in told if each["error"]["code"] == codes.BUSY]
            assert refused, "a process that changes its name is the same process"
            assert "too many writes" in refused[0]["message"]
            assert "result" in line.ask("memory_list")
        asked = {"name": "memory_write", "params": {"content": "from next door"}}
        words = ("agent", "--client", "neighbour", "--vault", str(indexed), "--format", "json")
        ended = process(*words, stdin=json.dumps(asked).encode())
        assert ended.code == 0, ended.err
        assert ended.data["data"]["agent"] == "neighbour"
