"""A vault with an index, and misbehaving agents."""

import contextlib
import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import Write
from tests.index_dump import synced
from vaultmem import paths

Handle = Callable[[socket.socket], None]


@pytest.fixture
def indexed(vault: Path, write: Write) -> Path:
    write("Note.md", "apple [[Other]]\n\n- [ ] pick 📅 2026-01-02\n")
    write("Other.md", "apple pear [[Note]]\n")
    synced(vault)
    return vault


@contextlib.contextmanager
def strange_agent(vault: Path, handle: Handle) -> Iterator[list[bytes]]:
    """Something that listens in place of a vault's agent; what it receives after a ping, and what it does to clients."""
    heard: list[bytes] = []

    def serve() -> None:
        while True:
            try:
                link, _ = listener.accept()
            except OSError:
                return
            with link, contextlib.suppress(OSError):
                asked = link.recv(1 << 20)
                if b'"id":0,"method":"ping"' in asked:
                    link.sendall(b'{"id": 0, "result": {}}\n')
                    asked = link.recv(1 << 20)
                heard.append(asked)
                handle(link)

    with deaf_agent(vault) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield heard
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(60)


@contextlib.contextmanager
def deaf_agent(vault: Path, most: int = 20) -> Iterator[socket.socket]:
    """Something that listens in place of a vault's agent, lets `most` clients connect, and never answers."""
    path = paths.socket_path(str(vault))
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.bind(path)
        deaf.listen(most)
        try:
            yield deaf
        finally:
            os.unlink(path)


def says(*lines: object) -> Handle:
    def handle(link: socket.socket) -> None:
        for line in lines:
            link.sendall(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n")

    return handle


STRANGE: dict[str, Handle] = {
    "ends at once": says(),
    "half a line": says(b'{"id": 1, "res'),
    "garbage": says(b"\xff\xfe\x00 garbage\n"),
    "no object": says([1, 2]),
    "text": says(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
    "empty": says(b"\n"),
    "deep": says(b"[" * 100_000 + b"\n"),
    "no result": says({"id": 1}),
    "odd error": says({"id": 1, "error": {"code": "x"}}),
    "odd progress": says({"id": 1, "progress": {"stage": None, "done": "x"}}),
    "no code": says({"id": 1, "result": {}}),
    "odd code": says({"id": 1, "result": {"code": "0", "parts": []}}),
    "odd parts": says({"id": 1, "result": {"code": 0, "parts": [["out"]]}}),
}
