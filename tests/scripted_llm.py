"""A language model that says what a test told it to: a real HTTP server on loopback that plays a script.

    def test_x(scripted_llm: ScriptedLlm) -> None:
        scripted_llm.play(text("Hello"), as_json({"facts": ["a"]}), status(500), too_many(1))
        ... something asks http://127.0.0.1:PORT/v1, which is scripted_llm.url ...
        assert scripted_llm.requests[0].data["messages"][-1]["content"] == "..."

* `url`: what goes into llm.base_url, or into the openai client.
* `play(*replies)`: each POST of a chat takes the next one. When none is left, `otherwise` answers: a reply (at first
  text("OK")) or a function of the request: `scripted_llm.otherwise = lambda asked: as_json(...)`.
* `requests`: everything that came, in order: `Arguments(method, path, headers, body)`, with `.data` (the body as JSON),
  `.messages`, `.schema_mode` ("json_schema", "json_object" or ""), `.schema`. `chats` are those that were chats.
  Names of headers are in lower case.
* `refuses`: words such as "json_schema", "max_tokens", "temperature": a request with that field, or with a
  response_format of that type, is answered by a 400 that speaks of it, and takes nothing from the script.
* `models`: what GET /v1/models lists. `models_status`: with which status.
* `responses`, `messages`: those that came by the Responses API or the Messages API, which take from the same script.

A reply is streamed (SSE, with `data: [DONE]`) when the request says `"stream": true`, else it is one JSON body:

* text(said), as_json(value), tool_calls(("name", {arguments}), ...), raw(body, status=200, **headers)
* status(code, message=""), too_many(seconds), hang(), hang_up(), huge(size), stream_error(said, message)
* and of any reply: `.slowly(pause, size)` between pieces of so many bytes (for a
  stream 0: between events), `.cut_after(bytes)` of the body, then the connection is closed.

The server ends with the test, whatever still hangs.
"""

import json
import socket
import ssl
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

import pytest

from tests.scripted_replies import CREATED, MODEL, Arguments, Reply, pieces_of, raw, status, text


class ScriptedLlm:
    """The server; see the top of this file."""

    paths: tuple[str, ...] = ("/v1/chat/completions", "/v1/responses", "/v1/messages")

    def __init__(self, certificate: Path | None = None) -> None:
        self.requests: list[Arguments] = []
        self.otherwise: Reply | Callable[[Arguments], Reply] = text("OK")
        self.refuses: set[str] = set()
        self.models = [MODEL]
        self.models_status = 200
        self._script: deque[Reply] = deque()
        self._lock = threading.Lock()
        self.ended = threading.Event()
        self._server = _Server(self, certificate)
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.02,), daemon=True
        )
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def responses(self) -> list[Arguments]:
        return [request for request in self.requests if request.path.endswith("/responses")]

    @property
    def messages(self) -> list[Arguments]:
        return [request for request in self.requests if request.path.startswith("/v1/messages")]

    @property
    def chats(self) -> list[Arguments]:
        return [request for request in self.requests if request.path.endswith("/chat/completions")]

    def play(self, *replies: Reply) -> None:
        with self._lock:
            self._script.extend(replies)

    def forget(self) -> None:
        """Reset for the next test."""
        with self._lock:
            self._script.clear()
            self.requests = []
            self.otherwise, self.refuses = text("OK"), set()
            self.models, self.models_status = [MODEL], 200

    @property
    def left(self) -> int:
        """How many replies of the script are left."""
        return len(self._script)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def heard(self, asked: Arguments) -> None:
        with self._lock:
            self.requests.append(asked)

    def next(self, asked: Arguments) -> Reply:
        refused = _refused(asked, self.refuses)
        if refused:
            return status(400, f"'{refused}' is not supported with this model")
        with self._lock:
            reply = self._script.popleft() if self._script else self.otherwise
        return reply(asked) if callable(reply) else reply


def _refused(asked: Arguments, words: set[str]) -> str:
    with suppress(ValueError, AttributeError):
        if asked.schema_mode in words:
            return f"response_format.type {asked.schema_mode}"
        return next((word for word in sorted(words) if word in asked.data), "")
    return ""


class _Server(ThreadingHTTPServer):
    request_queue_size = 256
    daemon_threads = True
    block_on_close = False

    def __init__(self, llm: ScriptedLlm, certificate: Path | None) -> None:
        self.llm = llm
        super().__init__(("127.0.0.1", 0), _Handler)
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.socket = context.wrap_socket(self.socket, server_side=True)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Many scripts have a client that disconnects."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 the name is that of the standard library
        """Print nothing on stderr."""

    def handle(self) -> None:
        with suppress(ConnectionError, TimeoutError):
            super().handle()

    def do_GET(self) -> None:
        self._heard(b"")
        llm = self.server.llm
        if self.path.partition("?")[0] != "/v1/models":
            self._send(status(404, f"no {self.path} here"))
        elif llm.models_status != 200:
            self._send(status(llm.models_status))
        else:
            listed = [
                {"id": model, "object": "model", "created": CREATED, "owned_by": "test"}
                for model in llm.models
            ]
            self._send(raw(json.dumps({"object": "list", "data": listed}).encode()))

    def do_POST(self) -> None:
        body = self._body()
        asked = self._heard(body)
        if not self.path.partition("?")[0].endswith(self.server.llm.paths):
            self._send(status(404, f"no {self.path} here"))
            return
        reply = self.server.llm.next(asked)
        wants: dict[str, Any] = {}
        with suppress(ValueError):
            wants = asked.data if isinstance(asked.data, dict) else {}
        self._send(reply, wants)

    def _body(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _heard(self, body: bytes) -> Arguments:
        headers = {name.lower(): value for name, value in self.headers.items()}
        asked = Arguments(self.command, self.path, headers, body)
        self.server.llm.heard(asked)
        return asked

    def _send(self, reply: Reply, wants: Mapping[str, Any] | None = None) -> None:
        wants = wants or {}
        if self.server.llm.ended.wait(reply.wait) or reply.silent:
            self._hang_up()
            return
        streamed = reply.body is None and bool(wants.get("stream"))
        pieces = pieces_of(reply, self.path.partition("?")[0], wants)
        chunked = streamed or "event-stream" in reply.headers.get("Content-Type", "")
        kind = "text/event-stream" if streamed else "application/json"
        self.send_response(reply.status)
        for name, value in {"Content-Type": kind, **reply.headers}.items():
            self.send_header(name, value)
        if chunked:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", str(sum(map(len, pieces))))
        self.end_headers()
        self._write(pieces, reply, chunked)

    def _write(self, pieces: list[bytes], reply: Reply, chunked: bool) -> None:
        room = reply.cut
        for number, piece in enumerate(pieces):
            if number and reply.pause and self.server.llm.ended.wait(reply.pause):
                self._hang_up()
                return
            part = piece if room is None else piece[:room]
            if part:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part) if chunked else part)
                self.wfile.flush()
            if room is not None:
                room -= len(part)
                if room <= 0:
                    self._hang_up()
                    return
        if chunked:
            self.wfile.write(b"0\r\n\r\n")

    def _hang_up(self) -> None:
        self.close_connection = True
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def scripted_llm() -> Iterator[ScriptedLlm]:
    """A model that follows a script, for one test."""
    with ScriptedLlm() as llm:
        yield llm
