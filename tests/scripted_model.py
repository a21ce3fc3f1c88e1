"""A scripted model for real assistants: on loopback, in the four protocols they speak.

To the first request that offers the script's tool it answers with a call of it, to every other with a text. It
records what it receives. The protocols: Messages (Anthropic), Responses and Chat Completions (OpenAI),
generateContent (Gemini); of each only what a whole answer in one stream needs.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TEXT = "All done."
Events = list[tuple[str, Any]]  # the name of an event, "" for none, and its data


class Model:
    """What it calls, and what it received."""

    def __init__(self, tool: str, arguments: dict[str, Any]) -> None:
        self.tool, self.arguments = tool, arguments
        self.url = ""
        self._lock = threading.Lock()
        self.begin()

    def begin(self) -> None:
        """Forget what it received, and restart the script."""
        self.requests: list[dict[str, Any]] = []
        self._called = False

    def reply(self, path: str, asked: dict[str, Any]) -> bytes:
        """The stream that answers a request."""
        with self._lock:
            self.requests.append(asked)
            offered = next((offer for offer in offers(asked) if offer.endswith(self.tool)), "")
            call = "" if self._called else offered
            self._called = self._called or bool(call)
        protocols = {
            "/messages": self._messages,
            "/responses": self._responses,
            "/chat/completions": self._chat,
        }
        plain = path.partition("?")[0]
        made = next((one for end, one in protocols.items() if plain.endswith(end)), self._gemini)
        lines = [
            (f"event: {name}\n" if name else "")
            + f"data: {data if isinstance(data, str) else json.dumps(data)}\n\n"
            for name, data in made(call)
        ]
        return "".join(lines).encode()

    def _messages(self, call: str) -> Events:
        usage = {"input_tokens": 1, "output_tokens": 1}
        block: dict[str, Any] = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": TEXT}
        if call:
            block = {"type": "tool_use", "id": "toolu_1", "name": call, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(self.arguments)}
        start = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": [],
            "stop_reason": None,
            "usage": usage,
        }
        end = {"stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None}
        events = [
            {"type": "message_start", "message": start},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": end, "usage": usage},
            {"type": "message_stop"},
        ]
        return [(str(event["type"]), event) for event in events]

    def _responses(self, call: str) -> Events:
        item: dict[str, Any] = {
            "type": "message", "id": "m_1", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": TEXT, "annotations": []}],
        }  # fmt: skip
        if call:
            space, _, name = call.rpartition("::")
            item = {
                "type": "function_call", "id": "f_1", "call_id": "call_1", "name": name, "status": "completed",
                "arguments": json.dumps(self.arguments), **({"namespace": space} if space else {}),
            }  # fmt: skip
        made = {
            "id": "r_1",
            "object": "response",
            "model": "m",
            "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2},
        }
        events = [
            {
                "type": "response.created",
                "response": {**made, "status": "in_progress", "output": []},
            },
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {
                "type": "response.completed",
                "response": {**made, "status": "completed", "output": [item]},
            },
        ]
        return [(str(event["type"]), event) for event in events]

    def _chat(self, call: str) -> Events:
        delta: dict[str, Any] = {"role": "assistant", "content": TEXT}
        if call:
            function = {"name": call, "arguments": json.dumps(self.arguments)}
            delta = {
                "role": "assistant",
                "tool_calls": [
                    {"index": 0, "id": "call_1", "type": "function", "function": function}
                ],
            }
        chunk = {"id": "c_1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        finish = "tool_calls" if call else "stop"
        return [
            ("", {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}),
            (
                "",
                {
                    **chunk,
                    "choices": [{"index": 0, "delta": {}, "finish_reason": finish}],
                    "usage": usage,
                },
            ),
            ("", "[DONE]"),
        ]

    def _gemini(self, call: str) -> Events:
        part = {"functionCall": {"name": call, "args": self.arguments}} if call else {"text": TEXT}
        content = {"role": "model", "parts": [part]}
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        return [
            (
                "",
                {
                    "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
                    "usageMetadata": usage,
                },
            )
        ]


def offers(asked: dict[str, Any]) -> list[str]:
    """The names of the tools in a request, with their namespace if any."""
    names: list[str] = []
    for tool in asked.get("tools") or []:
        inner = tool.get("functionDeclarations") or (
            tool.get("tools") if tool.get("type") == "namespace" else None
        )
        space = f"{tool['name']}::" if tool.get("type") == "namespace" else ""
        names += [
            space + str(one.get("name") or one.get("function", {}).get("name", ""))
            for one in inner or [tool]
        ]
    return names


def words(value: Any) -> Iterator[str]:
    """All texts in a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for one in value.values() if isinstance(value, dict) else value:
            yield from words(one)


@contextmanager
def serving(model: Model) -> Iterator[Model]:
    """The model, at its URL."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            """Print nothing."""

        def do_GET(self) -> None:
            self._send(b'{"data": [], "models": []}', "application/json")

        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if self.headers.get("Transfer-Encoding"):
                data = b"".join(self._chunks())
            self._send(model.reply(self.path, json.loads(data)), "text/event-stream")

        def _chunks(self) -> Iterator[bytes]:
            while size := int(self.rfile.readline(), 16):
                yield self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()

        def _send(self, data: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        model.url = f"http://127.0.0.1:{server.server_address[1]}"
        try:
            yield model
        finally:
            server.shutdown()
            thread.join()
