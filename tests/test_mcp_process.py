"""The Model Context Protocol as a process: slow tools, clients that do not read, code that prints, and its end."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.agent_run import PATCHED, agent_on, until
from tests.laws import examples
from tests.mcp_run import indexed, line, made, served
from tests.tool_run import OURS
from vaultmem.commands.mcp_server import MOST, MOST_READ, Service, read_lines

__all__ = ["indexed", "served"]  # fixtures

pytestmark = pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")


def mcp_process(vault: Path, given: bytes, **environ: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "vaultmem", "mcp", "--vault", str(vault)],
        input=given, capture_output=True, timeout=60, check=False,
        env={**os.environ, "VAULTMEM_EMBEDDING_MODEL": "off", **environ},
    )  # fmt: skip


def replies(ended: subprocess.CompletedProcess[bytes]) -> list[Any]:
    assert b"Traceback" not in ended.stderr, ended.stderr.decode()
    return [json.loads(each) for each in ended.stdout.splitlines()]


SLOW = """
    import os, time
    from vaultmem.api.tool import Annotations, Outcome, Tool
    def run(vault, call):
        folder = call.text("folder")
        open(os.path.join(folder, "begun " + call.text("name")), "w").close()
        while not os.path.exists(os.path.join(folder, "go")):
            time.sleep(0.01)
        return Outcome("done " + call.text("name"), {})
    schema = {"type": "object", "properties": {"folder": {"type": "string"}, "name": {"type": "string"}}}
    tool = Tool("slow", "Slow", "Waits.", schema, Annotations(read_only=True), run)
"""


class Talk:
    """A `vaultmem mcp` driven by a test. `patch` is Python that it runs first."""

    def __init__(self, vault: Path, patch: str = "pass", **environ: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", PATCHED.format(patch), "mcp", "--vault", str(vault)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, "VAULTMEM_EMBEDDING_MODEL": "off", **environ},
        )  # fmt: skip
        assert self.process.stdin
        assert self.process.stdout
        assert self.process.stderr
        self.stdin, self.stdout = self.process.stdin, self.process.stdout
        self.stderr = self.process.stderr

    def __enter__(self) -> Talk:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        for stream in (self.stdin, self.stdout, self.stderr):
            with contextlib.suppress(OSError):
                stream.close()
        self.process.wait()

    def say(self, *lines: str) -> None:
        self.stdin.write("".join(f"{each}\n" for each in lines).encode())
        self.stdin.flush()

    def hear(self) -> Any:
        return json.loads(self.stdout.readline())


@pytest.fixture(scope="module", params=["with an agent", "without"])
def slow(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Path, str]]:
    """A vault and the folder where a slow tool is installed."""
    folder = tmp_path_factory.mktemp("slow")
    plug_in(folder, "slow", SLOW)
    vault = made(tmp_path_factory.mktemp("patient") / "vault")
    if request.param == "without":
        yield vault, str(folder)
    else:
        with agent_on(vault, PYTHONPATH=str(folder)):
            yield vault, str(folder)


def waits(name: str, folder: Path) -> str:
    return line("tools/call", name, name="slow", arguments={"folder": str(folder), "name": name})


def test_what_is_slow_or_cancelled_holds_up_nobody(slow: tuple[Path, str], tmp_path: Path) -> None:
    """And with an interruption it ends while something runs."""
    vault, installed = slow
    names = [f"slow {number}" for number in range(8)]
    with Talk(vault, PYTHONPATH=installed) as talk:
        talk.say(line("initialize", "first", protocolVersion="2025-11-25"))
        assert talk.hear()["id"] == "first"
        talk.say(*(waits(name, tmp_path) for name in names))
        until(lambda: len([*tmp_path.glob("begun *")]) == 8, what="they are begun together")
        talk.say(line("ping", "quick"), line("tools/list", "list"))
        assert {talk.hear()["id"] for _ in range(2)} == {"quick", "list"}
        talk.say(cancelled(names[1]), line("ping", "after it"))
        assert talk.hear()["id"] == "after it"
        (tmp_path / "go").touch()
        talk.stdin.close()
        said = [json.loads(each) for each in talk.stdout]
        assert {each["id"]: each["result"]["content"][0]["text"] for each in said} == {
            name: f"done {name}" for name in names if name != names[1]
        }
        assert talk.process.wait(60) == 0
    (tmp_path / "go").unlink()
    with Talk(vault, PYTHONPATH=installed) as talk:
        talk.say(waits("for ever", tmp_path))
        until(lambda: [*tmp_path.glob("begun for ever")])
        talk.process.send_signal(signal.SIGINT)
        assert talk.process.wait(60) == 130
        (tmp_path / "go").touch()


def test_nothing_is_lost_without_blocking_and_it_ends_with_a_silent_client(served: Path) -> None:
    """A pause is not the end of the lines, and a client that is slow to read is there."""
    given_, asked = os.pipe()
    heard, out = os.pipe()
    for handle in (given_, out):
        os.set_blocking(handle, False)
    command = [sys.executable, "-m", "vaultmem", "mcp", "--vault", str(served)]
    with subprocess.Popen(command, stdin=given_, stdout=out) as process:
        os.close(given_)
        os.close(out)
        with os.fdopen(heard, "rb") as answers, os.fdopen(asked, "w") as lines:
            for number in range(2):
                print(line("ping", number), file=lines, flush=True)
                assert answers.readline()
            lines.writelines(f"{line('tools/list', number)}\n" for number in range(100))
            lines.close()
            until(lambda: filled(heard) > 40_000)
            time.sleep(0.1)  # until the pipe is full
            assert len(answers.readlines()) == 100
        assert process.wait(60) == 0
    with Talk(served) as talk:
        talk.say(*(line("tools/list", number) for number in range(100)))
        until(lambda: filled(talk.stdout.fileno()) > 40_000)  # the pipe is full
        talk.stdout.close()
        talk.stdin.close()
        assert talk.process.wait(60) == 0


def filled(handle: int) -> int:
    """The bytes waiting in a pipe."""
    import array
    import fcntl
    import termios

    found = array.array("i", [0])
    fcntl.ioctl(handle, termios.FIONREAD, found)
    return found[0]


def test_what_was_asked_before_the_client_hung_up_is_carried_out() -> None:
    """A client that only wants something noted need not wait for the answer."""
    taken = list[bytes]()

    def answer(asked: bytes, _settles: bool) -> list[str]:
        taken.append(asked)
        return ["an answer"]

    hears, answers = os.pipe()
    os.close(hears)
    Service(io.BytesIO(b"one\ntwo\n"), answers, answer).run()
    os.close(answers)
    assert sorted(taken) == [b"one", b"two"]


@settings(max_examples=examples(25))
@given(
    order=st.permutations(range(12)),
    which=st.sets(st.integers(0, 11), max_size=4),
    threads=st.integers(1, 4),
)
def test_each_request_has_one_answer(order: list[int], which: set[int], threads: int) -> None:
    """A cancelled request has at most one, and its thread is free again."""
    back, out = os.pipe()
    lines = [*(line("x", number) for number in order), *map(cancelled, which)]
    Service(io.BytesIO("\n".join(lines).encode()), out, echo, threads).run()
    os.close(out)
    with os.fdopen(back) as said:
        ids = [json.loads(each)["id"] for each in said]
    assert len(ids) == len(set(ids))
    assert set(ids) >= {*order} - which


def test_a_part_of_a_batch_can_be_cancelled() -> None:
    """What is cancelled is over when the next line is read."""
    next_line = threading.Event()

    def answer(asked: bytes, _settles: bool) -> list[str]:
        if b"ping" in asked:
            next_line.set()
            return []
        next_line.wait(60)
        return [asked.decode()]

    back, out = os.pipe()
    batches = [f"[{', '.join(line('x', number) for number in ids)}]" for ids in ((1, 2, 3), (4,))]
    lines = [*batches, line("x", 5), *map(cancelled, (2, 4, 5, None)), line("ping", 6)]
    Service(io.BytesIO("\n".join(lines).encode()), out, answer).run()
    os.close(out)
    with os.fdopen(back) as said:
        (answered,) = map(json.loads, said)
    assert [each["id"] for each in answered] == [1, 3]


def cancelled(id_: object) -> str:
    message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id_}}
    return json.dumps(message)


def echo(asked: bytes, _settles: bool) -> list[str]:
    """Answers with the id of the request, some later than others."""
    found = json.loads(asked)
    time.sleep(found["id"] % 3 / 1_000)
    return [json.dumps({"id": found["id"]})]


def test_a_third_party_that_prints_does_not_disturb(tmp_path: Path) -> None:
    indexed = made(tmp_path / "vault")
    source = """
        from vaultmem.api.tool import Annotations, Outcome, Tool
        print("hello from a plugin")
        def run(vault, call):
            print("working")
            return Outcome("done", {})
        tool = Tool("noisy", "Noisy", "Prints.", {"type": "object"}, Annotations(), run)
    """
    plug_in(tmp_path, "noisy", source)
    asked = line("tools/call", name="noisy", arguments={}).encode() + b"\n"
    ended = mcp_process(indexed, asked, PYTHONPATH=str(tmp_path))
    assert replies(ended)[0]["result"]["content"][0]["text"] == "done"
    assert b"hello from a plugin" in ended.stderr
    assert b"working" in ended.stderr
    ended = mcp_process(tmp_path / "nowhere", b"")
    assert (ended.returncode, ended.stdout) == (1, b"")
    assert ended.stderr.startswith(b"vaultmem: ")
    assert ended.stderr.count(b"\n") == 1


def plug_in(folder: Path, name: str, source: str, target: str = "tool") -> None:
    """Create a package as if installed, with one entry point."""
    import textwrap

    (folder / f"{name}_plugin.py").write_text(textwrap.dedent(source))
    info = folder / f"{name}_plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[vaultmem.tools]\n{name} = {name}_plugin:{target}\n")


@pytest.mark.parametrize("served", ["with an agent"], indirect=True)
def test_where_an_agent_answers_little_is_loaded(served: Path) -> None:
    code = (
        "import sys; from vaultmem import cli; code = cli.main(sys.argv[1:]);"
        "heavy = {'argparse', 'json', 're', 'typing', 'socket', 'vaultmem.api.vault', 'vaultmem.output'};"
        "sys.stderr.write(' '.join(sorted(heavy & sys.modules.keys()))); sys.exit(code)"
    )
    ended = subprocess.run(
        [sys.executable, "-S", "-c", code, "mcp", "--vault", str(served)], input=line("tools/list").encode(),
        capture_output=True, timeout=60, check=False, env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
    )  # fmt: skip
    assert len(replies(ended)[0]["result"]["tools"]) == len(OURS)
    assert ended.stderr == b""


@settings(max_examples=examples(60))
@given(parts=st.lists(st.binary(min_size=1, max_size=30), max_size=12))
def test_lines_are_those_of_the_bytes(parts: list[bytes]) -> None:
    whole = b"".join(parts)
    assert [*read_lines(io.BytesIO(whole))] == [each for each in whole.split(b"\n") if each.strip()]


def test_it_ends_with_its_stdin_and_goes_on_after_anything(served: Path) -> None:
    assert mcp_process(served, b"").returncode == 0
    wild = [
        b"\xff\xfe\x00", b"{", b"[" * 200_000, b"x" * (MOST_READ + 5), b'{"jsonrpc": "2.0", "id": 1, "method": "ping"',
        b'"' + b"\\u0000" * 1_000 + b'"', os.urandom(5_000).replace(b"\n", b""), b'{"a":1,"a":2}', b"-Infinity",
    ]  # fmt: skip
    half = line("ping", "last").encode()  # of a line
    large = line("tools/call", "large", name="x" * MOST).encode()
    ended = mcp_process(served, b"\n\n" + b"\n".join([*wild, large, half]))
    assert ended.returncode == 0
    assert ended.stderr == b""
    found = replies(ended)  # in any order
    (refused,) = (each for each in found if each["id"] == "large")
    assert refused["error"]["message"] == "a message may have 1,000,000 bytes"
    found.remove(refused)
    found.remove({"jsonrpc": "2.0", "id": "last", "result": {}})
    assert len(found) == len(wild)
    assert {each["error"]["code"] for each in found} <= {-32700, -32600}
