"""What a scripted model says by the Responses API: one body, or the events of a stream, as OpenAI's client reads them."""

import itertools
import json
from collections.abc import Mapping
from typing import Any

_ids = itertools.count(1)


def whole(said: str, calls: list[dict[str, Any]], wants: Mapping[str, Any]) -> dict[str, Any]:
    """The whole response."""
    output: list[dict[str, Any]] = [
        {"type": "function_call", "id": f"fc_{call['id']}", "call_id": call["id"], "status": "completed",
         "name": call["function"]["name"], "arguments": call["function"]["arguments"]}
        for call in calls
    ]  # fmt: skip
    if said:
        part = {"type": "output_text", "text": said, "annotations": []}
        output.append({
            "type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part],
        })  # fmt: skip
    return {
        "id": f"resp_{next(_ids)}", "object": "response", "created_at": 1_700_000_000, "status": "completed",
        "model": wants.get("model", "m"), "output": output, "parallel_tool_calls": True, "tool_choice": "auto",
        "tools": [], "error": None, "incomplete_details": None,
    }  # fmt: skip


def events(said: str, calls: list[dict[str, Any]], wants: Mapping[str, Any]) -> list[bytes]:
    """The same as a stream."""
    end = whole(said, calls, wants)
    begun = {**end, "status": "in_progress", "output": []}
    found: list[dict[str, Any]] = [{"type": "response.created", "response": begun}]
    for place, item in enumerate(end["output"]):
        empty = {**item, "status": "in_progress"}
        if item["type"] == "message":
            empty["content"] = []
        about = {"output_index": place, "item_id": item["id"]}
        found.append({"type": "response.output_item.added", "output_index": place, "item": empty})
        if item["type"] == "message":
            at = {**about, "content_index": 0}
            part = item["content"][0]
            found.append({
                "type": "response.content_part.added", **at, "part": {**part, "text": ""},
            })  # fmt: skip
            found += [
                {"type": "response.output_text.delta", **at, "delta": piece, "logprobs": []}
                for piece in (said[n : n + 7] for n in range(0, len(said), 7))
            ]
            found.append({
                "type": "response.output_text.done", **at, "text": said, "logprobs": [],
            })  # fmt: skip
        found.append({"type": "response.output_item.done", "output_index": place, "item": item})
    found.append({"type": "response.completed", "response": end})
    return [
        f"event: {one['type']}\ndata: {json.dumps({**one, 'sequence_number': n}, ensure_ascii=False)}\n\n".encode()
        for n, one in enumerate(found)
    ]
