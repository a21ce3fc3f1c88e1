"""The socket of the agent: framing, limits, what a hostile or dying client can do, and whose the socket is."""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli_run import started
from tests.effort import TRIES
from tests.stand_in_agent import logged_by
from vaultmem.agent import server as server_module
from vaultmem.agent.connection import Limits
from vaultmem.agent.server import Server
from vaultmem.api import rpc as codes
from vaultmem.api.rpc import Request, RequestError
from vaultmem.errors import StateError, VaultmemError

PATIENCE = 60  # seconds for what is a matter of milliseconds
PAUSE = (
    0.2  # seconds after which a thread of the server has gone to rest, however busy the machine is
)
QUICK = Limits(line_bytes=2000, connections=5, half_sent=0.4, unread=0.4, answer=0.4)


class Client:
    """One connection, line by line."""

    def __init__(self, path: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(path)
        self._lines = self.socket.makefile("rb")

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def reply(self) -> Any:
        """The next line, None when the connection has ended."""
        try:
            line = self._lines.readline()
        except ConnectionResetError:
            return None
        return json.loads(line) if line else None

    def ask(self, method: str, **params: object) -> Any:
        self.send(json.dumps({"id": 1, "method": method, "params": params}).encode() + b"\n")
        return self.reply()

    def close(self) -> None:
        self._lines.close()
        self.socket.close()


class Answers:
    """What the server of a test can be asked."""

    def __init__(self) -> None:
        self.release = threading.Event()
        self.entered = threading.Event()

    def __call__(self, request: Request) -> object:
        match request.method:
            case "echo":
                return request.params
            case "big":
                return "x" * 5_000_000
            case "wait" | "sync":
                self.entered.set()
                assert self.release.wait(PATIENCE)
                return "waited"
            case "count":
                request.progress.stage("counting", 50)
                for _ in range(50):
                    time.sleep(0.005)
                    request.progress.advance()
                return "counted"
            case "fail":
                raise ZeroDivisionError("a secret\nof two lines")
            case "ours":
                raise VaultmemError("no such\nnote")
            case "odd":
                return {1, object}
        raise RequestError(codes.UNKNOWN_METHOD, f"unknown method {request.method!r}")


@pytest.fixture
def answers() -> Iterator[Answers]:
    found = Answers()
    yield found
    found.release.set()


Serve = Callable[..., Server]
Connect = Callable[[], Client]


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "run" / "agent.sock")


@pytest.fixture
def serve(path: str, answers: Answers) -> Iterator[Serve]:
    started: list[Server] = []

    def start(limits: Limits | None = None) -> Server:
        server = Server(path, answers, limits)
        server.start()
        started.append(server)
        return server

    yield start
    answers.release.set()
    for server in started:
        server.stop()


@pytest.fixture
def connect(path: str, serve: Serve) -> Iterator[Connect]:
    del serve  # clients are closed before servers stop
    clients: list[Client] = []

    def made() -> Client:
        clients.append(Client(path))
        return clients[-1]

    yield made
    for client in clients:
        client.close()


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def error_of(reply: Any) -> int:
    """The code of an error, which is told in one line."""
    assert reply is not None
    assert "result" not in reply
    assert reply["error"]["message"]
    assert "\n" not in reply["error"]["message"]
    return int(reply["error"]["code"])


# --- requests


def test_requests_in_one_piece_and_in_single_bytes(serve: Serve, connect: Connect) -> None:
    serve()
    client = connect()
    lines = b"".join(b'{"id": %d, "method": "echo"}\n' % number for number in range(300))
    client.send(lines)
    assert [client.reply()["id"] for _ in range(300)] == list(range(300))
    for byte in b'{"id": "slow", "method": "echo"}\r\n':
        client.send(bytes([byte]))
    assert client.reply() == {"id": "slow", "result": {}}


@pytest.mark.parametrize(
    "given", [None, 0, 1.5, "a", "\ud800", "泡菜", [1, {"a": None}], {"b": []}, True]
)
def test_any_id_comes_back(serve: Serve, connect: Connect, given: object) -> None:
    serve()
    client = connect()
    client.send(
        json.dumps({"id": given, "method": "echo", "params": {"x": "\udcff"}}).encode() + b"\n"
    )
    assert client.reply() == {"id": given, "result": {"x": "\udcff"}}


WRONG = [
    (b"{broken", codes.PARSE_ERROR),
    (b"\xff\xfe\x00\x01", codes.PARSE_ERROR),
    (b"\xef\xbb\xbf{}", codes.PARSE_ERROR),
    (b"[" * 900, codes.PARSE_ERROR),
    (b'{"a":' * 350 + b"1" + b"}" * 350, codes.INVALID_REQUEST),
    (b'{"id": NaN, "method": "echo"}', codes.PARSE_ERROR),
    (b'{"id": 1e999, "method": "echo"}', codes.PARSE_ERROR),
    (b'{"id": 1, "method": "echo"} {}', codes.PARSE_ERROR),
    (b"\x00", codes.PARSE_ERROR),
    (b"nul", codes.PARSE_ERROR),
    (b"null", codes.INVALID_REQUEST),
    (b"[]", codes.INVALID_REQUEST),
    (b"5", codes.INVALID_REQUEST),
    (b'"text"', codes.INVALID_REQUEST),
    (b"{}", codes.INVALID_REQUEST),
    (b'{"method": 5}', codes.INVALID_REQUEST),
    (b'{"method": "echo", "params": [1]}', codes.WRONG_PARAMS),
    (b'{"method": "echo", "params": null}', codes.WRONG_PARAMS),
    (b'{"method": "nothing"}', codes.UNKNOWN_METHOD),
    (b'{"method": "\\ud800"}', codes.UNKNOWN_METHOD),
    (b'{"method": "ours"}', codes.FAILED),
    (b'{"method": "odd"}', codes.INTERNAL_ERROR),
]


@pytest.mark.parametrize(("line", "code"), WRONG)
def test_a_wrong_request_hurts_only_itself(
    serve: Serve, connect: Connect, line: bytes, code: int, caplog: pytest.LogCaptureFixture
) -> None:
    serve(Limits(line_bytes=5000))
    client = connect()
    with caplog.at_level(logging.CRITICAL):
        client.send(b"\n  \n" + line + b"\n")
        assert error_of(client.reply()) == code
        assert client.ask("echo") == {"id": 1, "result": {}}


@pytest.mark.parametrize("depth", [500, 900, 1100, 50_000])
@pytest.mark.parametrize(
    "place", [b'{"id": %s, "method": "echo"}', b'{"id": 1, "method": "echo", "params": {"x": %s}}']
)
def test_deep_nesting(
    serve: Serve, connect: Connect, place: bytes, depth: int, caplog: pytest.LogCaptureFixture
) -> None:
    serve()
    client = connect()
    with caplog.at_level(logging.CRITICAL):
        client.send(place % (b"[" * depth + b"]" * depth) + b"\n")
        reply = client.reply()
    assert "result" in reply or error_of(reply) in (codes.PARSE_ERROR, codes.INTERNAL_ERROR)
    assert client.ask("echo") == {"id": 1, "result": {}}


def test_an_id_at_the_brink(serve: Serve, connect: Connect) -> None:
    """What could just be read may be too deep to be written again."""
    serve()
    client = connect()
    for depth in range(900, 1000):
        client.send(b'{"id": %s, "method": "echo"}\n' % (b"[" * depth + b"]" * depth))
        line = client._lines.readline()  # as bytes: it may be too deep for the test as well
        assert line.endswith(b'"result": {}}\n') or b'"code": -32700' in line


def test_an_exception_is_told_without_its_secrets_and_logged(
    serve: Serve, connect: Connect
) -> None:
    serve()
    with logged_by("vaultmem.server") as said:
        reply = connect().ask("fail")
    assert error_of(reply) == codes.INTERNAL_ERROR
    assert "secret" not in json.dumps(reply)
    assert "Traceback" not in json.dumps(reply)
    assert len(said) == 1
    assert "ZeroDivisionError: a secret" in said[0]


def test_progress_comes_in_few_lines(serve: Serve, connect: Connect) -> None:
    serve(Limits(progress_gap=0.05))
    client = connect()
    client.send(b'{"id": 7, "method": "count", "progress": true}\n')
    lines = []
    while "result" not in (line := client.reply()):
        lines.append(line)
    assert line == {"id": 7, "result": "counted"}
    assert {one["id"] for one in lines} == {7}
    assert lines[0]["progress"] == {"stage": "counting", "done": 0, "total": 50}
    done = [one["progress"]["done"] for one in lines]
    assert done == sorted(done)
    assert 1 < len(lines) < 40
    assert client.ask("count") == {"id": 1, "result": "counted"}, (
        "no progress unless it is asked for"
    )


# --- limits


def test_a_line_may_be_large_but_not_endless(serve: Serve, connect: Connect) -> None:
    assert Limits().line_bytes == 1_000_000
    serve()
    client = connect()
    text = "x" * 999_000
    assert client.ask("echo", x=text)["result"]["x"] == text
    client.send(b"y" * 1_000_001)
    assert error_of(client.reply()) == codes.INVALID_REQUEST
    assert client.reply() is None


def test_half_a_request_is_dropped(serve: Serve, connect: Connect) -> None:
    server = serve(QUICK)
    client = connect()
    client.send(b'{"id": 1, "meth')
    assert error_of(client.reply()) == codes.INVALID_REQUEST
    assert client.reply() is None
    until(lambda: server.counters().open == 0)


def test_half_a_request_in_drops_is_dropped(serve: Serve, connect: Connect) -> None:
    server = serve(QUICK)
    client = connect()
    assert client.ask("echo") is not None
    for _ in range(PATIENCE * 50):
        try:
            client.send(b" {")
        except OSError:
            break
        time.sleep(0.02)
    else:
        pytest.fail("it was served for ever")
    until(lambda: server.counters().open == 0)


def test_an_idle_client_lives(serve: Serve, connect: Connect) -> None:
    serve(QUICK)
    client = connect()
    time.sleep(1.0)  # longer than every limit of QUICK
    assert client.ask("echo") is not None
    client.send(b'{"id": 1, "meth')
    time.sleep(0.1)
    client.send(b'od": "echo"}\n')
    assert client.reply() == {"id": 1, "result": {}}
    time.sleep(1.0)
    assert client.ask("echo") is not None


def test_a_client_that_reads_nothing_is_cut_off(serve: Serve, connect: Connect) -> None:
    server = serve(QUICK)
    client = connect()
    client.send(b'{"id": 1, "method": "big"}\n')
    until(lambda: server.counters().served == 1)
    until(lambda: server.counters().open == 0)
    got = 0
    while part := client.socket.recv(1 << 20):
        got += len(part)
    assert 0 < got < 5_000_000


def test_a_client_that_reads_slowly_gets_all(serve: Serve, connect: Connect) -> None:
    serve(QUICK)

    def amount() -> int:
        client, got = connect(), 0
        client.send(b'{"id": 1, "method": "big"}\n')
        while got < 5_000_000 and (part := client.socket.recv(2 << 20)):
            got += len(part)
            time.sleep(0.05)
        return got

    # Where others keep the processor from us for as long as the limit, we are cut off with right.
    whole = 5_000_000 + len('{"id": 1, "result": ""}\n')
    assert any(amount() == whole for _ in range(TRIES))


def test_a_hundred_idle_clients_and_one_more(serve: Serve, connect: Connect) -> None:
    most = Limits().connections
    assert most >= 100
    server = serve()
    clients = []
    for number in range(most):
        clients.append(connect())
        assert clients[-1].ask("echo") is not None
        if number == 1:
            time.sleep(PAUSE)
    assert clients[0].ask("echo") is not None, "so the second is idle for the longest time"
    time.sleep(PAUSE)
    assert server.counters().open == most
    new = connect()
    assert new.ask("echo") == {"id": 1, "result": {}}
    assert clients[1].reply() is None
    assert server.counters().open == most
    assert all(client.ask("echo") for client in [clients[0], *clients[2:]])


def test_when_all_are_busy_the_next_is_told_so(
    serve: Serve, connect: Connect, answers: Answers
) -> None:
    server = serve(Limits(connections=3))
    clients = [connect() for _ in range(3)]
    for client in clients:
        client.send(b'{"id": 1, "method": "wait"}\n')
    until(lambda: server.counters().in_flight == 3)
    new = connect()
    assert error_of(new.reply()) == codes.BUSY
    assert new.reply() is None
    answers.release.set()
    assert [client.reply()["result"] for client in clients] == ["waited"] * 3
    assert connect().ask("echo") is not None


def test_a_request_that_takes_too_long(serve: Serve, connect: Connect, answers: Answers) -> None:
    server = serve(QUICK)
    slow, sync, other = connect(), connect(), connect()
    slow.send(b'{"id": "late", "method": "wait"}\n')
    sync.send(b'{"id": "s", "method": "sync"}\n')
    reply = slow.reply()
    assert reply["id"] == "late"
    assert error_of(reply) == codes.TOOK_TOO_LONG
    assert slow.reply() is None
    assert other.ask("echo") is not None, "nobody else is disturbed"
    answers.release.set()
    assert sync.reply() == {"id": "s", "result": "waited"}, "a sync may take its time"
    until(lambda: server.counters().open == 2)
    assert server.counters().in_flight == 0


def test_a_late_request_after_a_long_rest(serve: Serve, connect: Connect) -> None:
    """The watch sleeps while there is nothing to watch, and must wake up."""
    server = serve(QUICK)
    until(lambda: server._dormant)
    client = connect()
    assert client.ask("echo") is not None
    until(lambda: server._dormant)
    client.send(b'{"id": 1, "method": "wait"}\n')
    assert error_of(client.reply()) == codes.TOOK_TOO_LONG


KILLED = """
import socket, sys, time
link = socket.socket(socket.AF_UNIX)
link.connect(sys.argv[1])
link.sendall(sys.argv[2].encode())
print("sent", flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize(
    "sent", ["", '{"id": 1', '{"id": 1, "method": "big"}\n', '{"id": 1, "method": "wait"}\n']
)
def test_a_client_that_is_killed(
    serve: Serve, connect: Connect, answers: Answers, path: str, sent: str
) -> None:
    server = serve()
    with started([sys.executable, "-c", KILLED, path, sent], stdout=subprocess.PIPE) as victim:
        assert victim.stdout
        assert victim.stdout.readline() == b"sent\n"
        until(lambda: server.counters().open == 1)
        victim.kill()
    answers.release.set()
    until(lambda: server.counters().open == 0)
    assert connect().ask("echo") is not None


@pytest.mark.skipif(
    not hasattr(time, "pthread_getcpuclockid"), reason="needs a clock of each thread"
)
def test_at_rest_it_costs_nothing(serve: Serve, connect: Connect) -> None:
    server = serve(QUICK)
    clients = [connect() for _ in range(5)]
    assert all(client.ask("echo") for client in clients)
    until(lambda: server._dormant)
    threads = [*server._threads, *server._clients.values()]
    assert len(threads) > 5
    clocks = [time.pthread_getcpuclockid(thread.ident or 0) for thread in threads]
    before = sum(map(time.clock_gettime, clocks))
    time.sleep(1.0)
    assert sum(map(time.clock_gettime, clocks)) - before < 0.05
    assert server._dormant


# --- the end


def test_stop_ends_all(serve: Serve, connect: Connect, answers: Answers, path: str) -> None:
    before = threading.active_count()
    server = serve()
    idle, half, stuck = connect(), connect(), connect()
    assert idle.ask("echo") is not None
    half.send(b'{"id"')
    stuck.send(b'{"id": 1, "method": "wait"}\n')
    assert answers.entered.wait(PATIENCE)
    started = time.monotonic()
    server.stop()
    assert time.monotonic() - started < PATIENCE  # it promises one second; machines may be slow
    assert not os.path.exists(path)
    assert [one.reply() for one in (idle, stuck)] == [None, None]
    server.stop()
    answers.release.set()
    until(lambda: threading.active_count() == before)


def test_stop_lets_an_answer_out(serve: Serve, connect: Connect, answers: Answers) -> None:
    server = serve()
    client = connect()
    client.send(b'{"id": 1, "method": "wait"}\n')
    assert answers.entered.wait(PATIENCE)
    threading.Timer(0.1, answers.release.set).start()
    server.stop()
    assert client.reply() == {"id": 1, "result": "waited"}


# --- the place


def mode(path: str) -> int:
    return stat.S_IMODE(os.lstat(path).st_mode)


@pytest.mark.parametrize("mask", [0, 0o022, 0o077, 0o777])
def test_nobody_else_can_reach_it(path: str, serve: Serve, mask: int) -> None:
    before = os.umask(mask)
    try:
        Path(path).parent.mkdir(
            mode=0o700
        )  # with a umask that takes everything nobody can make folders
        os.chmod(os.path.dirname(path), 0o700)
        serve()
    finally:
        os.umask(before)
    assert mode(os.path.dirname(path)) == 0o700
    assert mode(path) == 0o600


def test_the_socket_is_private_from_its_first_moment(
    path: str, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []

    class Watched(socket.socket):
        def bind(self, address: Any) -> None:
            super().bind(address)
            seen.append(mode(address))

    monkeypatch.setattr(server_module.socket, "socket", Watched)
    before = os.umask(0)
    try:
        serve()
    finally:
        os.umask(before)
    if sys.platform == "linux":
        assert seen == [0o600]
    assert mode(path) == 0o600


@pytest.mark.parametrize("loose", [0o777, 0o755, 0o500])
def test_a_folder_of_ours_that_others_can_enter_is_closed(
    path: str, serve: Serve, loose: int
) -> None:
    os.mkdir(os.path.dirname(path))
    os.chmod(os.path.dirname(path), loose)
    serve()
    assert mode(os.path.dirname(path)) == 0o700


def refused(path: str, answers: Answers) -> str:
    with pytest.raises(StateError) as error:
        Server(path, answers).start()
    return str(error.value)


def test_a_folder_that_is_a_link_is_refused(path: str, answers: Answers, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    os.symlink(tmp_path / "elsewhere", os.path.dirname(path))
    assert "is a link" in refused(path, answers)
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_somebody_else_is_refused(path: str, answers: Answers) -> None:
    os.mkdir(os.path.dirname(path), 0o700)
    os.chown(os.path.dirname(path), 12345, -1)
    assert "somebody else" in refused(path, answers)
    assert os.lstat(os.path.dirname(path)).st_uid == 12345


def test_what_is_no_socket_is_left_alone(path: str, answers: Answers, tmp_path: Path) -> None:
    os.mkdir(os.path.dirname(path))
    Path(path).write_text("mine")
    assert "is no socket" in refused(path, answers)
    assert Path(path).read_text() == "mine"
    Path(path).unlink()
    os.symlink(tmp_path / "gone", path)
    assert "is no socket" in refused(path, answers)


def test_a_path_that_no_socket_can_have(tmp_path: Path, answers: Answers) -> None:
    assert "cannot listen" in refused(str(tmp_path / "run" / ("x" * 120)), answers)


LEFT = """
import os, signal, sys
from vaultmem.agent.server import Server
Server(sys.argv[1], print).start()
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_agent_left_is_replaced(path: str, serve: Serve, connect: Connect) -> None:
    ended = subprocess.run([sys.executable, "-c", LEFT, path], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert stat.S_ISSOCK(os.lstat(path).st_mode)
    serve()
    assert connect().ask("echo") is not None


def test_a_live_one_is_never_replaced(
    path: str, serve: Serve, connect: Connect, answers: Answers
) -> None:
    serve()
    client = connect()
    assert "another process listens" in refused(path, answers)
    assert client.ask("echo") is not None
    assert connect().ask("echo") is not None


def test_one_that_is_too_busy_to_answer_is_alive(path: str, answers: Answers) -> None:
    os.mkdir(os.path.dirname(path), 0o700)
    with socket.socket(socket.AF_UNIX) as deaf, socket.socket(socket.AF_UNIX) as waiting:
        deaf.bind(path)
        deaf.listen(0)
        waiting.connect(path)  # its queue is full now
        assert "another process listens" in refused(path, answers)
        assert os.path.exists(path)


def test_of_two_that_start_at_once_one_wins(path: str, answers: Answers) -> None:
    ended = subprocess.run([sys.executable, "-c", LEFT, path], check=False)
    assert ended.returncode == -signal.SIGKILL
    servers = [Server(path, answers) for _ in range(8)]
    failed: list[StateError] = []

    def begin(server: Server) -> None:
        try:
            server.start()
        except StateError as error:
            failed.append(error)

    threads = [threading.Thread(target=begin, args=(server,)) for server in servers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    client = Client(path)
    assert client.ask("echo") is not None
    client.close()
    for server in servers:
        server.stop()
    assert len(failed) == 7


def test_stop_leaves_the_socket_of_another(path: str, serve: Serve) -> None:
    server = serve()
    os.unlink(path)
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(path)
        server.stop()
        assert os.path.exists(path)


def test_somebody_elses_process_is_not_answered(
    serve: Serve, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve()
    assert connect().ask("echo") is not None
    monkeypatch.setattr(server_module.os, "getuid", lambda: 12345)
    client = connect()
    try:
        client.send(b'{"method": "echo"}\n')
    except BrokenPipeError:
        return
    assert client.reply() is None


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
def test_a_process_of_another_user_is_not_answered(serve: Serve, path: str) -> None:
    """Even if it could get at the socket."""
    serve()
    os.chmod(path, 0o666)
    folder = os.path.dirname(path)
    while folder != "/":
        os.chmod(folder, mode(folder) | 0o111)
        folder = os.path.dirname(folder)
    code = (
        "import os, socket, sys; os.setuid(12345); s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])\n"
        "try:\n s.sendall(b'{\"method\": \"echo\"}\\n'); print(s.recv(100))\nexcept OSError as e: print(b'')"
    )
    ended = subprocess.run([sys.executable, "-S", "-c", code, path], capture_output=True, timeout=PATIENCE, check=False)  # fmt: skip
    if ended.returncode == 0:  # a folder above may still be closed to it
        assert ended.stdout.strip() == b"b''"
