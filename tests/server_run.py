"""A server of the agent's socket for tests, and its clients."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from vaultmem.agent.connection import Limits
from vaultmem.agent.server import Server
from vaultmem.api import rpc as codes
from vaultmem.api.rpc import Request, RequestError
from vaultmem.errors import VaultmemError

PATIENCE = 60  # seconds for what takes milliseconds
ECHOED = {"id": 1, "result": {}}  # what `ask("echo")` returns


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
        """The next line; None once the connection has ended."""
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
    """What a test's server answers."""

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


def error_of(reply: Any) -> int:
    """The code of an error, which is reported in one line."""
    assert reply is not None
    assert "result" not in reply
    assert reply["error"]["message"]
    assert "\n" not in reply["error"]["message"]
    return int(reply["error"]["code"])
