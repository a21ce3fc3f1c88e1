"""The socket of the agent: framing, limits, what a hostile or dying client can do, and whose the socket is."""

import itertools
import json
import logging
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.server_run import (
    ECHOED,
    Answers,
    Client,
    Connect,
    Serve,
    answers,
    connect,
    error_of,
    path,
    serve,
)
from tests.stand_in_agent import logged_by
from vaultmem.agent import server as server_module
from vaultmem.agent.connection import Limits
from vaultmem.agent.server import Server
from vaultmem.api import rpc as codes
from vaultmem.errors import StateError

__all__ = ["answers", "connect", "path", "serve"]  # fixtures


def test_requests_in_one_piece_and_in_single_bytes(serve: Serve, connect: Connect) -> None:
    serve()
    client = connect()
    lines = b"".join(b'{"id": %d, "method": "echo"}\n' % number for number in range(300))
    client.send(lines)
    assert [client.reply()["id"] for _ in range(300)] == list(range(300))
    for byte in b'{"id": "slow", "method": "echo"}\r\n':
        client.send(bytes([byte]))
    assert client.reply() == {"id": "slow", "result": {}}


def test_any_id_comes_back(serve: Serve, connect: Connect) -> None:
    serve()
    client = connect()
    for given in IDS:
        line = json.dumps({"id": given, "method": "echo", "params": {"x": "\udcff"}})
        client.send(line.encode() + b"\n")
        assert client.reply() == {"id": given, "result": {"x": "\udcff"}}


WRONG = [
    (b"{broken", codes.PARSE_ERROR), (b"\xff\xfe\x00\x01", codes.PARSE_ERROR), (b"\xef\xbb\xbf{}", codes.PARSE_ERROR),
    (b'{"a":' * 350 + b"1" + b"}" * 350, codes.INVALID_REQUEST), (b'{"id": NaN, "method": "echo"}', codes.PARSE_ERROR),
    (b'{"id": 1e999, "method": "echo"}', codes.PARSE_ERROR), (b'{"id": 1, "method": "echo"} {}', codes.PARSE_ERROR),
    (b"nul", codes.PARSE_ERROR), (b"null", codes.INVALID_REQUEST), (b'"text"', codes.INVALID_REQUEST), (b"{}", codes.INVALID_REQUEST),
    (b'{"method": 5}', codes.INVALID_REQUEST), (b'{"method": "echo", "params": [1]}', codes.WRONG_PARAMS),
    (b'{"method": "echo", "params": null}', codes.WRONG_PARAMS), (b'{"method": "nothing"}', codes.UNKNOWN_METHOD),
    (b'{"method": "\\ud800"}', codes.UNKNOWN_METHOD), (b'{"method": "ours"}', codes.FAILED), (b'{"method": "odd"}', codes.INTERNAL_ERROR),
]  # fmt: skip


IDS = [None, 0, 1.5, "a", "\ud800", "泡菜", [1, {"a": None}], {"b": []}, True]


def test_a_wrong_request_hurts_only_itself(
    serve: Serve, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    serve(Limits(line_bytes=5000))
    client = connect()
    with caplog.at_level(logging.CRITICAL):
        for line, code in WRONG:
            client.send(b"\n  \n" + line + b"\n")
            assert error_of(client.reply()) == code, line
            assert client.ask("echo") == ECHOED


def test_deep_nesting(serve: Serve, connect: Connect, caplog: pytest.LogCaptureFixture) -> None:
    serve()
    client = connect()
    places = b'{"id": %s, "method": "echo"}', b'{"id": 1, "method": "echo", "params": {"x": %s}}'
    with caplog.at_level(logging.CRITICAL):
        for place, depth in itertools.product(places, (500, 900, 1100, 50_000)):
            client.send(place % (b"[" * depth + b"]" * depth) + b"\n")
            reply = client.reply()
            assert "result" in reply or error_of(reply) in (codes.PARSE_ERROR, codes.INTERNAL_ERROR)
            assert client.ask("echo") == ECHOED


@pytest.mark.parametrize("mask", [0, 0o022, 0o077, 0o777])
def test_nobody_else_can_reach_it_from_its_first_moment(
    path: str, serve: Serve, mask: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []

    class Watched(socket.socket):
        def bind(self, address: Any) -> None:
            super().bind(address)
            seen.append(mode(address))

    monkeypatch.setattr(server_module.socket, "socket", Watched)
    before = os.umask(mask)
    try:
        # with a umask that takes everything nobody can make folders
        Path(path).parent.mkdir(mode=0o700)
        os.chmod(os.path.dirname(path), 0o700)
        serve()
    finally:
        os.umask(before)
    assert mode(os.path.dirname(path)) == 0o700
    assert mode(path) == 0o600
    if sys.platform == "linux":
        assert not seen[0] & 0o077


def test_what_is_no_socket_is_left_alone(path: str, answers: Answers, tmp_path: Path) -> None:
    os.mkdir(os.path.dirname(path))
    Path(path).write_text("mine")
    assert "is not a socket" in refused(path, answers)
    assert Path(path).read_text() == "mine"
    Path(path).unlink()
    os.symlink(tmp_path / "gone", path)
    assert "is not a socket" in refused(path, answers)
    assert "cannot listen" in refused(str(tmp_path / "run" / ("x" * 120)), answers)


def test_an_exception_is_logged_without_its_secrets(serve: Serve, connect: Connect) -> None:
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


# --- Where the socket is, and whose it is


def mode(path: str) -> int:
    return stat.S_IMODE(os.lstat(path).st_mode)


@pytest.mark.parametrize("loose", [0o777, 0o755, 0o500])
def test_our_folder_that_others_can_enter_is_closed(path: str, serve: Serve, loose: int) -> None:
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
    assert "another user" in refused(path, answers)
    assert os.lstat(os.path.dirname(path)).st_uid == 12345


LEFT = """
import os, signal, sys
from vaultmem.agent.server import Server
Server(sys.argv[1], print).start()
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_live_one_is_never_replaced(
    path: str, serve: Serve, connect: Connect, answers: Answers
) -> None:
    serve()
    client = connect()
    assert "another process listens" in refused(path, answers)
    assert client.ask("echo") == ECHOED
    assert connect().ask("echo") == ECHOED


def test_a_server_too_busy_to_answer_is_not_replaced(path: str, answers: Answers) -> None:
    os.mkdir(os.path.dirname(path), 0o700)
    with socket.socket(socket.AF_UNIX) as deaf, socket.socket(socket.AF_UNIX) as waiting:
        deaf.bind(path)
        deaf.listen(0)
        waiting.connect(path)  # its queue is full now
        assert "another process listens" in refused(path, answers)
        assert os.path.exists(path)


def test_of_two_that_start_at_once_one_wins(
    path: str, answers: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fresh socket that does not listen yet looks like a leftover."""
    chmod = os.chmod

    def slowly(place: str, mode: int) -> None:
        chmod(place, mode)
        time.sleep(0.05)

    monkeypatch.setattr(server_module.os, "chmod", slowly)
    ended = subprocess.run([sys.executable, "-c", LEFT, path], check=False)
    assert ended.returncode == -signal.SIGKILL
    servers = [Server(path, answers) for _ in range(8)]
    with ThreadPoolExecutor(len(servers)) as pool:
        begun = [pool.submit(server.start) for server in servers]
    client = Client(path)
    assert client.ask("echo") == ECHOED
    client.close()
    for server in servers:
        server.stop()
    assert sum(isinstance(each.exception(), StateError) for each in begun) == 7


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
    assert connect().ask("echo") == ECHOED
    monkeypatch.setattr(server_module.os, "getuid", lambda: 12345)
    client = connect()
    try:
        client.send(b'{"method": "echo"}\n')
    except BrokenPipeError:
        return
    assert client.reply() is None
