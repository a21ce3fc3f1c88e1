"""A service of embeddings on loopback: a vector counts words, so that texts with the same words are near; `same` are words
that mean one thing. Records what it is sent; `fails` is what it answers instead, and `longest` what a text may have."""

import json
import threading
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SIZES = {"small": 64, "large": 96}


class ScriptedEmbeddings:
    """The server."""

    def __init__(self, port: int = 0) -> None:
        self.requests: list[dict[str, Any]] = []
        self.headers: list[Mapping[str, str]] = []
        self.fails: tuple[int, object] | None = None
        self.same: dict[str, str] = {}
        self.longest = 10_000
        self._server = ThreadingHTTPServer(("127.0.0.1", port), _Handler)
        self._server.daemon_threads = True
        self._server.scripted = self  # type: ignore[attr-defined]
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    @property
    def texts(self) -> list[str]:
        """All that was sent, but for what asks how long a vector is."""
        sent = [text for one in self.requests for text in one["input"]]
        return [text for text in sent if not text.startswith("How many numbers")]

    def answer(self, asked: dict[str, Any]) -> tuple[int, object]:
        if self.fails:
            return self.fails
        if any(len(text) > self.longest for text in asked["input"]):
            return 400, {"error": {"message": "the input is longer than the context"}}
        size = SIZES[asked["model"]]
        data = [
            {"index": at, "embedding": self._vector(text, size)}
            for at, text in enumerate(asked["input"])
        ]
        return 200, {"object": "list", "data": data[::-1]}

    def _vector(self, text: str, size: int) -> list[float]:
        vector = [0.0] * size
        for word in text.lower().split():
            vector[zlib.crc32(self.same.get(word, word).encode()) % size] += 3.0
        return vector

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        scripted: ScriptedEmbeddings = self.server.scripted  # type: ignore[attr-defined]
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert self.path == "/v1/embeddings"
        scripted.requests.append(asked)
        scripted.headers.append({name.lower(): value for name, value in self.headers.items()})
        status, told = scripted.answer(asked)
        body = told if isinstance(told, bytes) else json.dumps(told).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing on stderr."""


@contextmanager
def embeddings(port: int = 0) -> Iterator[ScriptedEmbeddings]:
    """One for as long as the block lasts."""
    made = ScriptedEmbeddings(port)
    try:
        yield made
    finally:
        made.close()
