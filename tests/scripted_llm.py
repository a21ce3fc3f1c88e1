"""A language model that says what a test told it to: a real HTTP server on loopback that plays a script.

    def test_x(scripted_llm: ScriptedLlm) -> None:
        scripted_llm.play(text("Hello"), as_json({"facts": ["a"]}), status(500), too_many(1), fenced([1]))
        ... something asks http://127.0.0.1:PORT/v1, which is scripted_llm.url ...
        assert scripted_llm.requests[0].data["messages"][-1]["content"] == "..."

* `url`: what goes into llm.base_url, or into the openai client.
* `play(*replies)`: each POST of a chat takes the next one. When none is left, `otherwise` answers: a reply (at first
  text("OK")) or a function of the request: `scripted_llm.otherwise = lambda asked: as_json(...)`.
* `requests`: everything that came, in order: `Arguments(method, path, headers, body, at)`, with `.data` (the body as JSON),
  `.messages`, `.schema_mode` ("json_schema", "json_object" or ""), `.schema`. `chats` are those that were chats.
  Names of headers are in lower case.
* `refuses`: words such as "json_schema", "max_tokens", "temperature": a request with that field, or with a
  response_format of that type, is answered by a 400 that speaks of it, and takes nothing from the script.
* `models`: what GET /v1/models lists. `models_status`: with which status.
* `responses`: those that came by the Responses API, which take from the same script.
* `wait_for(count, seconds=60.0)`: until so many chats have come.

A reply is streamed (SSE, with `data: [DONE]`) when the request says `"stream": true`, else it is one JSON body:

* text(said), as_json(value), tool_calls(("name", {arguments}), ...), raw(body, status=200, **headers)
* as a model says JSON: fenced(value), prose(value), thinking(value), broken(value), wrong_ids(count)
* status(code, message=""), too_many(seconds), hang(seconds=60.0), hang_up(), huge(size), stream_error(said, message)
* and of any reply: `.late(seconds)` before the first byte, `.slowly(pause, size)` between pieces of so many bytes (for a
  stream 0: between events), `.cut_after(bytes)` of the body, then the connection is closed.

The server ends with the test, whatever still hangs.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests import scripted_responses

MODEL = "scripted"
CREATED = 1_700_000_000


@dataclass(frozen=True)
class Arguments:
    """One request as it came."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    at: float  # of time.monotonic()

    @cached_property
    def data(self) -> Any:
        return json.loads(self.body)

    @property
    def messages(self) -> list[dict[str, Any]]:
        return list(self.data["messages"])

    @property
    def schema_mode(self) -> str:
        return str((self.data.get("response_format") or {}).get("type", ""))

    @property
    def schema(self) -> Any:
        return ((self.data.get("response_format") or {}).get("json_schema") or {}).get("schema")


@dataclass(frozen=True)
class Reply:
    """One answer, and how it is sent."""

    content: str | None = None
    calls: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None  # as it stands, instead of a completion
    wait: float = 0.0
    pause: float = 0.0
    size: int = 0
    cut: int | None = None
    silent: bool = False  # the connection is closed without a word

    def late(self, seconds: float) -> Reply:
        return replace(self, wait=seconds)

    def slowly(self, pause: float, size: int = 0) -> Reply:
        return replace(self, pause=pause, size=size)

    def cut_after(self, count: int) -> Reply:
        return replace(self, cut=count)


def text(said: str) -> Reply:
    return Reply(content=said)


def as_json(value: object) -> Reply:
    return text(json.dumps(value, ensure_ascii=False))


def fenced(value: object) -> Reply:
    return text(f"```json\n{json.dumps(value, ensure_ascii=False, indent=2)}\n```")


def prose(value: object) -> Reply:
    said = json.dumps(value, ensure_ascii=False)
    return text(
        f"Sure! Here is the JSON [as asked]:\n\n{said}\n\nLet me know if {{anything}} is missing."
    )


def thinking(value: object) -> Reply:
    said = json.dumps(value, ensure_ascii=False)
    return text(
        f'<think>\nThey want JSON, perhaps {{"wrong": [1]}}. Let me see.\n</think>\n\n{said}'
    )


def broken(value: object) -> Reply:
    """Cut off two thirds in, as when there are no tokens left."""
    said = json.dumps(value, ensure_ascii=False)
    return text(said[: len(said) * 2 // 3])


def wrong_ids(count: int = 3) -> Reply:
    """Decisions about memories that nobody has shown."""
    return as_json([{"id": 900 + n, "event": "DELETE", "text": "made up"} for n in range(count)])


def tool_calls(*calls: tuple[str, Mapping[str, Any]]) -> Reply:
    return Reply(calls=calls)


def raw(body: bytes, status: int = 200, **headers: str) -> Reply:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(body=body, status=status, headers=named)


def status(code: int, message: str = "") -> Reply:
    said = {"error": {"message": message or f"status {code}", "type": "scripted", "code": None}}
    return Reply(body=json.dumps(said).encode(), status=code)


def too_many(seconds: float | str) -> Reply:
    return replace(status(429, "Too many requests"), headers={"Retry-After": str(seconds)})


def hang(seconds: float = 60.0) -> Reply:
    return text("too late").late(seconds)


def hang_up() -> Reply:
    return Reply(silent=True)


def huge(size: int) -> Reply:
    return text("x" * size)


def stream_error(said: str, message: str) -> Reply:
    """A stream that tells of an error after some words, with status 200."""
    events = [_event(_chunk({"role": "assistant", "content": said}))]
    events.append(b"data: " + json.dumps({"error": {"message": message}}).encode() + b"\n\n")
    return raw(b"".join(events), Content_Type="text/event-stream")


class ScriptedLlm:
    """The server; see the top of this file."""

    def __init__(self) -> None:
        self.requests: list[Arguments] = []
        self.otherwise: Reply | Callable[[Arguments], Reply] = text("OK")
        self.refuses: set[str] = set()
        self.models = [MODEL]
        self.models_status = 200
        self._script: deque[Reply] = deque()
        self._lock = threading.Condition()
        self.ended = threading.Event()
        self._server = _Server(self)
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
        return [one for one in self.requests if one.path.endswith("/responses")]

    @property
    def chats(self) -> list[Arguments]:
        return [one for one in self.requests if one.path.endswith("/chat/completions")]

    def play(self, *replies: Reply) -> None:
        with self._lock:
            self._script.extend(replies)

    def forget(self) -> None:
        """Be as at the start, for the next test."""
        with self._lock:
            self._script.clear()
            self.requests = []
            self.otherwise, self.refuses = text("OK"), set()
            self.models, self.models_status = [MODEL], 200

    @property
    def left(self) -> int:
        """How much of the script has not been played."""
        return len(self._script)

    def wait_for(self, count: int, seconds: float = 60.0) -> list[Arguments]:
        with self._lock:
            self._lock.wait_for(lambda: len(self.chats) >= count, seconds)
            assert len(self.chats) >= count, f"{len(self.chats)} chats came, not {count}"
            return self.chats

    def close(self) -> None:
        self.ended.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def heard(self, asked: Arguments) -> None:
        with self._lock:
            self.requests.append(asked)
            self._lock.notify_all()

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

    def __init__(self, llm: ScriptedLlm) -> None:
        self.llm = llm
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is a part of many scripts."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 the name is that of the standard library
        """Nothing on stderr."""

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
                {"id": one, "object": "model", "created": CREATED, "owned_by": "test"}
                for one in llm.models
            ]
            self._send(raw(json.dumps({"object": "list", "data": listed}).encode()))

    def do_POST(self) -> None:
        body = self._body()
        asked = self._heard(body)
        if self.path.partition("?")[0] not in ("/v1/chat/completions", "/v1/responses"):
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
        asked = Arguments(self.command, self.path, headers, body, time.monotonic())
        self.server.llm.heard(asked)
        return asked

    def _send(self, reply: Reply, wants: Mapping[str, Any] | None = None) -> None:
        wants = wants or {}
        if self.server.llm.ended.wait(reply.wait) or reply.silent:
            self._hang_up()
            return
        streamed = reply.body is None and bool(wants.get("stream"))
        if reply.body is not None:
            pieces = [reply.body]
        elif self.path.partition("?")[0].endswith("/responses"):
            given = reply.content or "", _calls(reply), wants
            whole = json.dumps(scripted_responses.whole(*given), ensure_ascii=False).encode()
            pieces = scripted_responses.events(*given) if streamed else [whole]
        else:
            pieces = _events(reply, wants) if streamed else [_whole(reply, wants)]
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
        self._write(_resized(pieces, reply.size), reply, chunked)

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


def _resized(pieces: list[bytes], size: int) -> list[bytes]:
    if not size:
        return pieces
    whole = b"".join(pieces)
    return [whole[at : at + size] for at in range(0, len(whole), size)]


def _calls(reply: Reply) -> list[dict[str, Any]]:
    return [
        {
            "id": f"call_{n}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(given)},
        }
        for n, (name, given) in enumerate(reply.calls)
    ]


def _whole(reply: Reply, wants: Mapping[str, Any]) -> bytes:
    message: dict[str, Any] = {"role": "assistant", "content": reply.content}
    if reply.calls:
        message["tool_calls"] = _calls(reply)
    ending = "tool_calls" if reply.calls else "stop"
    said = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": CREATED,
        "model": wants.get("model", MODEL),
        "choices": [{"index": 0, "message": message, "finish_reason": ending}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }
    return json.dumps(said, ensure_ascii=False).encode()


def _events(reply: Reply, wants: Mapping[str, Any]) -> list[bytes]:
    model = str(wants.get("model", MODEL))
    events = [_chunk({"role": "assistant", "content": None if reply.calls else ""}, model)]
    said = reply.content or ""
    at = 0
    while at < len(said):  # words, or what stands for them where there are no spaces
        end = said.find(" ", at + 1)
        end = min(len(said) if end < 0 else end, at + 2_000)
        events.append(_chunk({"content": said[at:end]}, model))
        at = end
    for number, call in enumerate(_calls(reply)):
        given = call["function"].pop("arguments")
        first = {"index": number, **call, "function": {**call["function"], "arguments": ""}}
        events.append(_chunk({"tool_calls": [first]}, model))
        for start in range(0, len(given), 7):
            part = {"index": number, "function": {"arguments": given[start : start + 7]}}
            events.append(_chunk({"tool_calls": [part]}, model))
    events.append(_chunk({}, model, "tool_calls" if reply.calls else "stop"))
    if (wants.get("stream_options") or {}).get("include_usage"):
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        events.append({**_chunk({}, model), "choices": [], "usage": usage})
    return [*map(_event, events), b"data: [DONE]\n\n"]


def _chunk(
    delta: Mapping[str, Any], model: str = MODEL, ending: str | None = None
) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": CREATED,
        "model": model,
        "choices": [{"index": 0, "delta": dict(delta), "finish_reason": ending}],
    }


def _event(data: Mapping[str, Any]) -> bytes:
    return b"data: " + json.dumps(data, ensure_ascii=False).encode() + b"\n\n"


@contextmanager
def running() -> Iterator[ScriptedLlm]:
    """A server for as long as the block lasts, for what is no test function."""
    llm = ScriptedLlm()
    try:
        yield llm
    finally:
        llm.close()


@pytest.fixture
def scripted_llm() -> Iterator[ScriptedLlm]:
    """A model that plays a script, for one test."""
    with running() as llm:
        yield llm
