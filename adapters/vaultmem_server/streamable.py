"""The Model Context Protocol over streamable HTTP (revision 2025-11-25 of its section "Transports").

Each request stands alone: a message goes to the agent, and the answer is JSON. A client names its version in a header,
and its name is that of its token, so there are no sessions; the agent answers within half a minute, so there are no
streams of events.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from vaultmem.api.mcp import BATCHED, ENVELOPES, HANDSHAKES, MOST_BATCH, is_batch, refusal
from vaultmem.api.rpc import INTERNAL_ERROR
from vaultmem.api.verbs import every
from vaultmem_server.http_app import current_caller, vault_for
from vaultmem_server.link import JsonObject, LinkError, inside
from vaultmem_server.tokens import WRITE, Caller

if TYPE_CHECKING:
    from vaultmem_server.door import Door

VERSION = "mcp-protocol-version"
_WRITERS = {name.replace("-", "_") for name, verb in every().items() if verb.tool and verb.writes}


def routes(door: Door) -> list[BaseRoute]:
    """The routes /mcp, for a token with one vault, and /mcp/NAME, for several."""

    async def answer(request: Request) -> Response:
        caller = current_caller(request)
        vault = vault_for(door, caller, request.path_params.get("vault", ""))
        # Without the header, a client is of the version before the one that introduced it.
        version = request.headers.get(VERSION, BATCHED)
        calls, line = _read(request, version, await request.body())
        if not calls:
            return Response(status_code=202)
        named: JsonObject = {"line": line, "settled": {"version": version}}
        reply, status = await _ask(door, vault, caller, named)
        for tool, outcome in _writes(calls, reply, status):
            door.audit.write(caller, vault, tool, outcome)
        return Response(reply, media_type="application/json")

    return [Route(path, answer, methods=["POST"]) for path in ("/mcp", "/mcp/{vault}")]


def _read(request: Request, version: str, body: bytes) -> tuple[list[JsonObject], str]:
    """The messages to answer, and all messages as a line for the agent. Raises HTTPException."""
    if version not in (*HANDSHAKES, *ENVELOPES):
        raise HTTPException(400, f"{VERSION} {version[:20]!r} is not supported")
    accepted = request.headers.get("accept", "*/*")
    if not any(kind in accepted for kind in ("application/json", "*/*", "application/*")):
        raise HTTPException(406, "the client must accept application/json")
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise HTTPException(415, "the body must be application/json")
    try:
        message = json.loads(body.decode())
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, "the body is not JSON") from error
    messages = message if is_batch(message, version) else [message]
    objects: list[JsonObject] = [each for each in messages if isinstance(each, dict)]
    if len(objects) < len(messages):
        why = f"the body must be one message, an object, or up to {MOST_BATCH} in version {BATCHED}"
        raise HTTPException(400, why)
    return [each for each in objects if {"method", "id"} <= each.keys()], json.dumps(message)


async def _ask(door: Door, vault: str, caller: Caller, request: JsonObject) -> tuple[str, int]:
    """The agent's reply as JSON, and its HTTP status for the audit log."""
    who = {"client": caller.client or caller.token.name, "reads_only": not caller.may(WRITE)}
    try:
        reply = await door.links[vault].call("mcp", {**request, **who})
    except LinkError as error:
        return refusal(str(request["line"]), INTERNAL_ERROR, str(error))[0], error.status
    assert isinstance(reply, dict)
    return str(reply["lines"][0]), 200


def _writes(calls: list[JsonObject], reply: str, status: int) -> Iterator[tuple[str, int]]:
    """The calls of tools that may write, for the audit log, each with its status."""
    tools = [(tool, call["id"]) for call in calls if (tool := _tool_of(call))]
    answer = json.loads(reply) if tools else None
    for tool, id_ in tools:
        answers = answer if isinstance(answer, list) else [answer]
        mine = next((each for each in answers if inside(each, "id") == id_), None)
        is_refused = bool(inside(mine, "error") or inside(mine, "result", "isError"))
        yield tool, 422 if is_refused and status == 200 else status


def _tool_of(message: JsonObject) -> str:
    """The tool that a message calls, if it may write; "" for other messages."""
    name = inside(message, "params", "name")
    if inside(message, "method") != "tools/call" or not isinstance(name, str):
        return ""
    return name[:64] if name.removeprefix("memory_") in _WRITERS else ""
