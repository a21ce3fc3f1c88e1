"""A door process with two vaults behind it, and the requests of a client on another machine."""

import http.client
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.agent_run import DYING, PATIENCE, until
from tests.cli_run import started
from tests.conftest import fill
from vaultmem import paths
from vaultmem_server.tokens import ADMIN, READ, WRITE, TokenStore

PROTOCOL = "2025-11-25"


class Answer(NamedTuple):
    """What a client received."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def data(self) -> Any:
        return json.loads(self.body)


class Door:
    """A door process with two vaults, and tokens of all kinds."""

    def __init__(self, url: str, port: int, tokens: dict[str, str], folder: Path) -> None:
        self.url, self.port, self.tokens, self.folder = url, port, tokens, folder

    def send(
        self, method: str, path: str, body: object = None, token: str = "", **headers: str
    ) -> Answer:
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if token:
            named["Authorization"] = f"Bearer {self.tokens.get(token, token)}"
        content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        try:
            link.request(method, path, content, named)
            answer = link.getresponse()
            lower = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, lower, answer.read())
        finally:
            link.close()

    def ask(self, verb: str, token: str = "claude", **params: object) -> Answer:
        return self.send("POST", f"/api/v1/{verb}", {"vault": "home", **params}, token)

    def mcp(
        self, message: object, token: str = "claude", session: str = "", **headers: str
    ) -> Answer:
        own = {"Content_Type": "application/json", "Accept": "application/json, text/event-stream"}
        extra = {"Mcp_Session_Id": session} if session else {}
        return self.send("POST", "/mcp/home", message, token, **{**own, **extra, **headers})

    def session(self, token: str = "claude") -> str:
        hello = {
            "protocolVersion": PROTOCOL,
            "capabilities": {},
            "clientInfo": {"name": "somebody", "version": "1"},
        }
        answer = self.mcp(request("initialize", 1, **hello), token)
        assert answer.data["result"]["protocolVersion"] == PROTOCOL
        return answer.headers["mcp-session-id"]


def request(method: str, id_: object = 1, **params: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}


@contextmanager
def opened(folder: Path, *more: str) -> Iterator[Door]:
    """A door with the vaults `home` and `work`, and tokens by short names."""
    vaults = [folder / "home", folder / "work"]
    for vault in vaults:
        fill(vault, {
            ".obsidian/app.json": "{}", "Boiler.md": f"# Boiler\n\nMr Ansah services the boiler at {vault.name}.\n",
            "Secret.md": "---\nprivate: true\n---\nThe PIN of the boiler is 5150.\n",
        })  # fmt: skip
    store = TokenStore()
    home = [paths.vault_id(str(vaults[0]))]
    tokens = {
        "claude": store.add("claude-laptop", WRITE, "claude"),
        "codex": store.add("codex-laptop", WRITE, "codex"),
        "reader": store.add("reader", READ),
        "me": store.add("me", ADMIN),
        "home": store.add("home-only", READ, vaults=home),
        "over": store.add("over", ADMIN, lifetime=-1.0),
        "gone": store.add("gone", ADMIN),
    }
    store.revoke("gone")
    words = ["--http", "127.0.0.1:0", *more]
    for vault in vaults:
        words += ["--vault", str(vault)]
    with serving(words) as port:
        one = Door(f"http://127.0.0.1:{port}", port, tokens, folder)
        until(lambda: one.ask("search", query="boiler").data.get("count"))
        yield one
    for token in store.all():  # other modules have their own doors
        store.revoke(token.name)


@contextmanager
def serving(words: list[str]) -> Iterator[int]:
    """A `vaultmem serve` with these words, until the end of the test; gives the port where it answers."""
    command = [*DYING, sys.executable, "-m", "vaultmem", "serve", *words]
    environ = {**os.environ, "VAULTMEM_EMBEDDING_MODEL": "off"}
    with started(command, stderr=subprocess.PIPE, env=environ) as process:
        assert process.stderr
        line = process.stderr.readline().decode()
        port = int(re.findall(r":(\d+)/mcp", line)[0])
        until(lambda: _listens(port))
        yield port
        process.terminate()
        process.wait(60)
        said = process.stderr.read().decode()
        assert "Traceback" not in said, said
        assert "child process" not in said, said  # from asyncio, if it ended while being killed


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    """A door with tokens, shared by all tests of a module."""
    with opened(tmp_path_factory.mktemp("door")) as one:
        yield one
