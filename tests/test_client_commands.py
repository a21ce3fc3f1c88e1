"""Commands and syncs through an agent, also misbehaving ones, and how a process ends."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import Mock

import pytest

from tests.agent_run import agent_on
from tests.cli_run import Ran, at_terminal, on, one_line, ran
from tests.client_run import STRANGE, deaf_agent, indexed, says, strange_agent
from tests.conftest import Write
from tests.index_dump import synced
from tests.stand_in_agent import agent_for
from tests.tables import each_case
from vaultmem import Vault, cli, client
from vaultmem.agent.connection import Limits
from vaultmem.api.rpc import BUSY
from vaultmem.index.state import State
from vaultmem.output import Output

__all__ = ["indexed"]  # fixtures


@each_case("name", STRANGE)
def test_a_command_does_not_mind_a_strange_agent(indexed: Path, name: str) -> None:
    words = ("search", "apple", "--format", "json", "--vault", str(indexed))
    alone = ran(*words)
    with strange_agent(indexed, STRANGE[name]) as heard:
        assert ran(*words) == alone
        assert heard
    assert alone.code == 0


@each_case("words", [("search", "apple"), ("status",)])
def test_a_command_does_not_wait_long_for_a_silent_agent(
    indexed: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    """One that gives a sign of life, but no answer: the command asks it for nothing else that it can do itself."""
    monkeypatch.setattr(client, "FIRST_BYTE", 0.2)
    monkeypatch.setattr(client, "_silent", {})
    with strange_agent(indexed, silent) as heard:
        assert on(indexed, *words, "--format", "json").data
    assert len(heard) == 1


@each_case("words", [("write", "Quinces are sour"), ("list",), ("recall", "quinces")])
def test_an_agent_without_room_for_another_client_refuses_nothing(
    indexed: Path, words: tuple[str, ...]
) -> None:
    full = {"id": None, "error": {"code": BUSY, "message": "all connections are busy"}}
    with strange_agent(indexed, says(full)) as heard:
        assert on(indexed, *words).code == 0
        assert heard


def test_a_crowd_of_writers_loses_none(indexed: Path) -> None:
    """More than the agent has connections for: those that it refuses try again."""
    crowd = 2 * Limits().connections
    together = threading.Barrier(crowd)

    def write(number: int) -> bool:
        with Vault(str(indexed)) as vault:
            together.wait()
            return bool(vault.write(f"Ibis {number} was seen at lake {number * 17}")["id"])

    with agent_on(indexed), ThreadPoolExecutor(crowd) as threads:
        assert all(threads.map(write, range(crowd)))
    assert len([*indexed.glob("vaultmem/inbox/Ibis*.md")]) == crowd


def silent(link: socket.socket) -> None:
    link.settimeout(20)
    link.recv(1)


def test_a_slow_agent_still_gets_the_writes(indexed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It gave a sign of life; only what the caller can do itself is not asked for."""
    monkeypatch.setattr(client, "FIRST_BYTE", 0.2)
    replies = iter([b"", b'{"id": 1, "result": "written"}\n'])

    def second(link: socket.socket) -> None:
        link.sendall(next(replies))
        silent(link)

    with strange_agent(indexed, second):
        with pytest.raises(client.AgentError, match="timed out"):
            client.call(str(indexed), "list", {}, timeout=client.FIRST_BYTE)
        with pytest.raises(client.AgentError, match="does not answer"):
            client.call(str(indexed), "list", {}, timeout=client.FIRST_BYTE)
        assert client.call(str(indexed), "write", {}, timeout=None) == "written"


@each_case(
    "words, needs_agent",
    [
        (("doctor",), False), (("list",), False), (("hook", "session-start", "--harness", "claude"), False),
        (("write", "Plums are blue"), True), (("sync",), True), (("jobs", "run", "dream"), True),
    ],
)  # fmt: skip
def test_a_hanging_agent_is_asked_once_for_a_sign_of_life(
    indexed: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], needs_agent: bool
) -> None:
    """As after SIGSTOP. A write is not sent to it, or it would be carried out when the agent goes on."""
    monkeypatch.setattr(client, "SIGN_OF_LIFE", 0.2)
    monkeypatch.setattr(client, "BY_MEANING", 60.0)  # more than a test may take
    monkeypatch.setattr(client, "_silent", {})
    with deaf_agent(indexed) as deaf:
        ended = on(indexed, *words)
        deaf.settimeout(0)
        link, _ = deaf.accept()
        with pytest.raises(BlockingIOError):
            deaf.accept()
        with link:
            assert [json.loads(line)["method"] for line in link.makefile()] == ["ping"]
    if needs_agent:
        assert ended.code == 1
        assert one_line(ended) == f"vaultmem: {client.NO_SIGN}"
    else:
        assert client.NO_SIGN not in ended.err


def test_status_says_why_the_agent_has_none(indexed: Path) -> None:
    busy = {"id": 1, "error": {"code": -32000, "message": "too many clients at once"}}
    with strange_agent(indexed, says(busy)):
        shown = on(indexed, "status").out
    assert "too many clients at once; vaultmem restart starts another" in " ".join(shown.split())
    assert client.NO_SIGN not in shown
    assert "dialect obsidian" in " ".join(shown.split())


def test_a_suspended_agent_does_not_block_a_command(indexed: Path) -> None:
    """Its queue accepts clients as long as there is room; later ones cannot even connect."""
    with deaf_agent(indexed, 0) as deaf, socket.socket(socket.AF_UNIX) as waiting:
        waiting.connect(deaf.getsockname())
        assert on(indexed, "search", "apple", "--format", "json").data["count"] == 2


def test_interrupted_while_waiting(indexed: Path) -> None:
    asked = threading.Event()

    def hang(link: socket.socket) -> None:
        asked.set()
        silent(link)

    words = ("search", "apple", "-s", "--format", "text", "--vault", str(indexed))
    with strange_agent(indexed, hang):
        command = [sys.executable, "-m", "vaultmem", *words]
        running = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert asked.wait(60)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
    assert (running.returncode, out) == (130, "")
    assert "interrupted" in one_line(Ran(130, out, err))


ENTRY = "import sys; sys.argv[0] = 'vaultmem'; from vaultmem.cli import entry; entry()"


def test_a_process_ends_without_taking_python_down() -> None:
    """Threads may be running C++ code, which aborts if Python's exit ends them."""
    abort = "import atexit, os; atexit.register(os.abort)"
    for words in (["--version"], ["init", "/nowhere/at/all"]):
        ended = subprocess.run(
            [sys.executable, "-c", f"{abort}; {ENTRY}", *words], capture_output=True, check=False
        )
        assert ended.returncode in (0, 1), ended.stderr


def test_the_script_leaves_with_all_written(indexed: Path) -> None:
    def entered(*words: str) -> tuple[int, bytes, bytes]:
        """Run the function that the installed script calls."""
        command = [sys.executable, "-W", "error", "-c", ENTRY, *words, "--vault", str(indexed)]
        ended = subprocess.run(command, capture_output=True, timeout=60, check=False)
        return ended.returncode, ended.stdout, ended.stderr

    asked = ("links", "Note", "--format", "json"), ("links", "Nowhere")
    alone = [entered(*words) for words in asked]
    with agent_for(indexed) as host:
        assert [entered(*words) for words in asked] == alone
        assert host.opened == 2
    assert [code for code, _, _ in alone] == [0, 1]
    assert json.loads(alone[0][1])["count"] == 1


def test_a_reader_that_stops(indexed: Path, write: Write) -> None:
    write("Long.md", "".join(f"- [ ] apple number {n}\n" for n in range(5000)))
    synced(indexed)
    for agent in (agent_for(indexed), contextlib.nullcontext()):
        with agent:
            for run in ("-m vaultmem", f'-c "{ENTRY}"'):
                piped = f"{sys.executable} -W error {run} tasks --format text --vault '{indexed}' | head -n 1"
                ended = in_bash(piped)
                assert ended.code == 0, ended.err
                assert len(ended.out.splitlines()) == 1
                assert "5,001 tasks" in one_line(ended)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_an_answer_that_cannot_be_written(indexed: Path) -> None:
    command = f"{sys.executable} -m vaultmem tasks --json --vault '{indexed}' > /dev/full"
    for agent in (agent_for(indexed), contextlib.nullcontext()):
        with agent:
            for buffers in ("-u PYTHONUNBUFFERED", "PYTHONUNBUFFERED=1"):
                ended = in_bash(f"env {buffers} {command}")
                assert ended.code == 1
                assert "the answer cannot be written" in one_line(ended)
    assert in_bash(f"env -u PYTHONUNBUFFERED {command} 2> /dev/full").code == 1


def test_an_interrupt_while_modules_are_loaded(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli, "_run", Mock(side_effect=KeyboardInterrupt))
    assert cli.main(["dream"]) == 130
    assert capsys.readouterr().err == "vaultmem: interrupted\n"


def test_closed_streams(indexed: Path) -> None:
    with agent_for(indexed) as host:
        for closed in (">&-", "2>&-", "<&-", ">&- 2>&- <&-"):
            ended = in_bash(f"{sys.executable} -m vaultmem links Note --vault '{indexed}' {closed}")
            assert ended.code == 0
            assert "Traceback" not in ended.err
        assert host.opened == 4


def in_bash(command: str) -> Ran:
    words = ["bash", "-o", "pipefail", "-c", command]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    return Ran(ended.returncode, ended.stdout, ended.stderr)


def test_a_sync_goes_through_the_agent_that_holds_the_lock(indexed: Path, write: Write) -> None:
    write("New.md", "new")
    with agent_for(indexed) as host:
        ended = on(indexed, "sync", "--format", "json")
        assert ended.code == 0, ended.err
        told = [ended.data[name] for name in ("added", "embedded", "model")]
        assert told == [1, 7, "a-model"]
        assert "1 added" in ended.err
        assert "7 blocks embedded with a-model" in ended.err
        assert [one["embed"] for one in host.synced] == [False, True]
        host.synced.clear()
        more = ("--rebuild", "--confirm-removals", "--no-embed", "--format", "text")
        plain = on(indexed, "sync", *more)
        assert host.synced == [{"rebuild": True, "confirm_removals": True, "embed": False}]
        assert len(plain.err.splitlines()) == 1
        assert not plain.out
        host.synced.clear()
        assert on(indexed, "sync", "--dry-run", "--format", "json").data["dry_run"]
        assert not host.synced
    alone = on(indexed, "sync", "--no-embed", "--format", "json")
    assert alone.data.keys() == ended.data.keys()


def test_an_agent_that_ends_during_a_sync_is_done_without(indexed: Path) -> None:
    with strange_agent(
        indexed, says({"id": 1, "progress": {"stage": "reading", "done": 0, "total": 5}})
    ):
        ended = on(indexed, "sync", "--no-embed", "--format", "json")
    assert ended.code == 0
    assert ended.data["unchanged"] == 2


def test_a_sync_names_an_agent_of_another_version_that_holds_the_lock(indexed: Path) -> None:
    error = {"id": 1, "error": {"code": -32601, "message": "unknown method"}}
    with strange_agent(indexed, says(error)), State(str(indexed)).lock():
        ended = on(indexed, "sync", "--format", "text")
    assert ended.code == 1
    assert f"process {os.getpid()}" in one_line(ended)


def test_colours_and_order_on_a_terminal(indexed: Path) -> None:
    alone = at_terminal("search", "apple", "--vault", str(indexed))
    with agent_for(indexed) as host:
        assert at_terminal("search", "apple", "--vault", str(indexed)) == alone
        assert host.opened == 1


def test_only_work_that_can_be_resumed_says_so_when_interrupted(
    indexed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_declared: object, _args: object, output: Output) -> int:
        if has_progress:
            output.bar()
        raise KeyboardInterrupt

    monkeypatch.setattr("vaultmem.cli._carry_out", interrupted)
    for has_progress in (True, False):
        ended = ran("tasks", "--vault", str(indexed), "--format", "text")
        assert ended.code == 130
        assert ("progress is saved" in ended.err) is has_progress
        assert "interrupted" in ended.err
