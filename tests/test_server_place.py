"""Where the agent's socket is, and whose it is."""

from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.server_run import (
    PATIENCE,
    Answers,
    Client,
    Connect,
    Serve,
    answers,
    connect,
    path,
    serve,
)
from vaultmem.agent import server as server_module
from vaultmem.agent.server import Server
from vaultmem.errors import StateError

__all__ = ["answers", "connect", "path", "serve"]  # fixtures


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
