"""The replies of a scripted language model, and their encoding."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

_ids = itertools.count(1)


def response_of(
    content: str, calls: list[dict[str, Any]], wants: Mapping[str, Any]
) -> dict[str, Any]:
    """A whole response of the Responses API."""
    output: list[dict[str, Any]] = []
    for call in calls:
        space, _, name = call["function"]["name"].rpartition("::")
        output.append({
            "type": "function_call", "id": f"fc_{call['id']}", "call_id": call["id"], "status": "completed",
            "name": name, "arguments": call["function"]["arguments"], **({"namespace": space} if space else {}),
        })  # fmt: skip
    if content:
        part = {"type": "output_text", "text": content, "annotations": []}
        output.append({
            "type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part],
        })  # fmt: skip
    return {
        "id": f"resp_{next(_ids)}", "object": "response", "created_at": 1_700_000_000, "status": "completed",
        "model": wants.get("model", "m"), "output": output, "parallel_tool_calls": True, "tool_choice": "auto",
        "tools": [], "error": None, "incomplete_details": None,
    }  # fmt: skip


def response_events(
    content: str, calls: list[dict[str, Any]], wants: Mapping[str, Any]
) -> list[bytes]:
    """The same as a stream of events, as OpenAI's client reads them."""
    end = response_of(content, calls, wants)
    begun = {**end, "status": "in_progress", "output": []}
    events: list[dict[str, Any]] = [{"type": "response.created", "response": begun}]
    for place, item in enumerate(end["output"]):
        empty = {**item, "status": "in_progress"}
        if item["type"] == "message":
            empty["content"] = []
        about = {"output_index": place, "item_id": item["id"]}
        events.append({"type": "response.output_item.added", "output_index": place, "item": empty})
        if item["type"] == "message":
            at = {**about, "content_index": 0}
            part = item["content"][0]
            events.append({
                "type": "response.content_part.added", **at, "part": {**part, "text": ""},
            })  # fmt: skip
            events += [
                {"type": "response.output_text.delta", **at, "delta": piece, "logprobs": []}
                for piece in (content[n : n + 7] for n in range(0, len(content), 7))
            ]
            events.append({
                "type": "response.output_text.done", **at, "text": content, "logprobs": [],
            })  # fmt: skip
        events.append({"type": "response.output_item.done", "output_index": place, "item": item})
    events.append({"type": "response.completed", "response": end})
    return [
        f"event: {one['type']}\ndata: {json.dumps({**one, 'sequence_number': n}, ensure_ascii=False)}\n\n".encode()
        for n, one in enumerate(events)
    ]


def message_of(
    content: str, calls: list[dict[str, Any]], wants: Mapping[str, Any]
) -> dict[str, Any]:
    """A whole message of the Messages API."""
    blocks = [{"type": "text", "text": content}] if content else []
    blocks += [
        {"type": "tool_use", "id": call["id"], "name": call["function"]["name"],
         "input": json.loads(call["function"]["arguments"])}
        for call in calls
    ]  # fmt: skip
    return {
        "id": f"msg_{next(_ids)}", "type": "message", "role": "assistant", "model": wants.get("model", "m"),
        "content": blocks, "stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }  # fmt: skip


def message_events(
    content: str, calls: list[dict[str, Any]], wants: Mapping[str, Any]
) -> list[bytes]:
    """The same as a stream of events, as Anthropic's client reads them."""
    end = message_of(content, calls, wants)
    begun = {**end, "content": [], "stop_reason": None}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": begun}, {"type": "ping"}]
    for index, block in enumerate(end["content"]):
        is_text = block["type"] == "text"
        empty = {**block, **({"text": ""} if is_text else {"input": {}})}
        events.append({"type": "content_block_start", "index": index, "content_block": empty})
        whole = block["text"] if is_text else json.dumps(block["input"])
        kind, name = ("text_delta", "text") if is_text else ("input_json_delta", "partial_json")
        events += [
            {"type": "content_block_delta", "index": index, "delta": {"type": kind, name: whole[at : at + 7]}}
            for at in range(0, len(whole), 7)
        ]  # fmt: skip
        events.append({"type": "content_block_stop", "index": index})
    delta = {"stop_reason": end["stop_reason"], "stop_sequence": None}
    events.append({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 1}})
    events.append({"type": "message_stop"})
    return [
        f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n".encode()
        for event in events
    ]


MODEL = "scripted"
CREATED = 1_700_000_000


@dataclass(frozen=True)
class Arguments:
    """One request as received."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

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
    body: bytes | None = None  # sent as it is, instead of a completion
    wait: float = 0.0
    pause: float = 0.0
    size: int = 0
    cut: int | None = None
    silent: bool = False  # the connection is closed without a reply

    def slowly(self, pause: float, size: int = 0) -> Reply:
        return replace(self, pause=pause, size=size)

    def cut_after(self, count: int) -> Reply:
        return replace(self, cut=count)


def text(content: str) -> Reply:
    return Reply(content=content)


def as_json(value: object) -> Reply:
    return text(json.dumps(value, ensure_ascii=False))


def tool_calls(*calls: tuple[str, Mapping[str, Any]]) -> Reply:
    return Reply(calls=calls)


def raw(body: bytes, status: int = 200, **headers: str) -> Reply:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(body=body, status=status, headers=named)


def status(code: int, message: str = "") -> Reply:
    content = {"error": {"message": message or f"status {code}", "type": "scripted", "code": None}}
    return Reply(body=json.dumps(content).encode(), status=code)


def too_many(seconds: float | str) -> Reply:
    return replace(status(429, "Too many requests"), headers={"Retry-After": str(seconds)})


def hang() -> Reply:
    return Reply(content="too late", wait=60.0)


def hang_up() -> Reply:
    return Reply(silent=True)


def huge(size: int) -> Reply:
    return text("x" * size)


def stream_error(content: str, message: str) -> Reply:
    """A stream that reports an error after some words, with status 200."""
    events = [event_of(chunk({"role": "assistant", "content": content}))]
    events.append(b"data: " + json.dumps({"error": {"message": message}}).encode() + b"\n\n")
    return raw(b"".join(events), Content_Type="text/event-stream")


APIS = {
    "/v1/responses": (response_of, response_events),
    "/v1/messages": (message_of, message_events),
}


def pieces_of(reply: Reply, path: str, wants: Mapping[str, Any]) -> list[bytes]:
    """The body as the API at this path has it, in the pieces in which it is sent."""
    if reply.body is not None:
        pieces = [reply.body]
    elif path not in APIS:
        pieces = events_of(reply, wants) if wants.get("stream") else [whole_of(reply, wants)]
    else:
        whole, events = APIS[path]
        given = reply.content or "", calls_of(reply), wants
        is_stream = bool(wants.get("stream"))
        pieces = (
            events(*given)
            if is_stream
            else [json.dumps(whole(*given), ensure_ascii=False).encode()]
        )
    if not reply.size:
        return pieces
    body = b"".join(pieces)
    return [body[at : at + reply.size] for at in range(0, len(body), reply.size)]


def calls_of(reply: Reply) -> list[dict[str, Any]]:
    return [
        {
            "id": f"call_{n}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        for n, (name, arguments) in enumerate(reply.calls)
    ]


def whole_of(reply: Reply, wants: Mapping[str, Any]) -> bytes:
    message: dict[str, Any] = {"role": "assistant", "content": reply.content}
    if reply.calls:
        message["tool_calls"] = calls_of(reply)
    ending = "tool_calls" if reply.calls else "stop"
    content = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": CREATED,
        "model": wants.get("model", MODEL),
        "choices": [{"index": 0, "message": message, "finish_reason": ending}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }
    return json.dumps(content, ensure_ascii=False).encode()


def events_of(reply: Reply, wants: Mapping[str, Any]) -> list[bytes]:
    model = str(wants.get("model", MODEL))
    events = [chunk({"role": "assistant", "content": None if reply.calls else ""}, model)]
    content = reply.content or ""
    at = 0
    while at < len(content):  # words, or their equivalent in text without spaces
        end = content.find(" ", at + 1)
        end = min(len(content) if end < 0 else end, at + 2_000)
        events.append(chunk({"content": content[at:end]}, model))
        at = end
    for number, call in enumerate(calls_of(reply)):
        arguments = call["function"].pop("arguments")
        first = {"index": number, **call, "function": {**call["function"], "arguments": ""}}
        events.append(chunk({"tool_calls": [first]}, model))
        for start in range(0, len(arguments), 7):
            part = {"index": number, "function": {"arguments": arguments[start : start + 7]}}
            events.append(chunk({"tool_calls": [part]}, model))
    events.append(chunk({}, model, "tool_calls" if reply.calls else "stop"))
    if (wants.get("stream_options") or {}).get("include_usage"):
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        events.append({**chunk({}, model), "choices": [], "usage": usage})
    return [*map(event_of, events), b"data: [DONE]\n\n"]


def chunk(
    delta: Mapping[str, Any], model: str = MODEL, ending: str | None = None
) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": CREATED,
        "model": model,
        "choices": [{"index": 0, "delta": dict(delta), "finish_reason": ending}],
    }


def event_of(data: Mapping[str, Any]) -> bytes:
    return b"data: " + json.dumps(data, ensure_ascii=False).encode() + b"\n\n"
