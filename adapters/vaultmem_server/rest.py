"""The verbs as JSON: POST /api/v1/<verb>, their description as OpenAPI, and what is counted."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from vaultmem import __version__
from vaultmem.api.params import object_of
from vaultmem.api.rpc import to_json
from vaultmem.api.verbs import JSON, Param, Verb, every
from vaultmem_server import several
from vaultmem_server.app import allowed_vaults, current_caller, require, vault_for
from vaultmem_server.link import JsonObject, LinkError, of_memories
from vaultmem_server.metrics import CONTENT_TYPE
from vaultmem_server.tokens import ADMIN, READ, WRITE, Caller

if TYPE_CHECKING:
    from vaultmem.adapter.services import Schema
    from vaultmem_server.door import Door

API = "/api/v1"
VAULT = Param("vault", "the vault, where the door has several")
VAULTS = Param(several.NAMES, f'several vaults instead, by name, or "{several.ALL}"', kind="any")
_SKIPPED = ("slow", "busy", "failed")  # why the proxy passed a chat on without memory
_JSON = "application/json"
_UNTOLD = ("by",)  # who asks is the holder of the token


@cache
def exposed_verbs() -> dict[str, Verb]:
    """The verbs that requests may name: those of memories, and those that find. Parts of vaultmem that ask each other
    are none of them."""
    return {
        name: one
        for name, one in every().items()
        if (one.group or one.tool or one.method not in ("", "-"))
        and (one.run or one.agent)
        and name not in ("hook", "agent")
    }


def scope_of(verb: Verb) -> str:
    """The scope that a verb needs. Assistants have the verbs that they have as tools; the others are the person's."""
    if not (verb.tool and any(one.name == "by" for one in verb.params)):
        return ADMIN
    return WRITE if verb.run and verb.writes else READ


def params_for(verb: Verb, scope: str) -> list[Param]:
    """The parameters that a request with this scope may name: an assistant those of its tool."""
    own = [one for one in verb.of(JSON) if one.outside not in _UNTOLD]
    if scope == ADMIN or verb.tool is None:
        return own
    listed = {*verb.tool.params, *verb.tool.quiet}
    return [one for one in own if one.outside in listed]


@cache
def _allowed_params(name: str, scope: str) -> frozenset[str]:
    return frozenset(one.outside for one in params_for(exposed_verbs()[name], scope))


def routes(door: Door) -> list[BaseRoute]:
    """The addresses of the verbs."""
    verbs = exposed_verbs()

    async def answer(request: Request) -> Response:
        caller, name = current_caller(request), request.path_params["verb"]
        verb = verbs.get(name)
        if verb is None:
            raise HTTPException(
                404, f"no verb is called {name[:40]!r}; {API}/openapi.json lists them"
            )
        require(caller, scope_of(verb))
        params = await _params(request)
        if name == several.VERB and several.NAMES in params:
            return Response(to_json(await _search_several(door, caller, params)), media_type=_JSON)
        vault = vault_for(door, caller, str(params.pop("vault", "")))
        status = 500
        try:
            result = await _ask(door, vault, caller, name, params)
            status = 200
        except LinkError as error:
            status = error.status
            raise
        finally:
            if verb.run and verb.writes:
                door.audit.write(caller, vault, name, status)
        return Response(result, media_type=_JSON)

    async def openapi(_: Request) -> Response:
        return JSONResponse(description(verbs))

    async def vaults(request: Request) -> Response:
        caller = current_caller(request)
        return JSONResponse(
            {
                "vaults": allowed_vaults(door, caller),
                "scope": caller.token.scope,
                "client": caller.client or "you",
            }
        )

    async def metrics(_: Request) -> Response:
        return Response(door.metrics.render(await _gauges(door)), media_type=CONTENT_TYPE)

    return [
        Route(f"{API}/openapi.json", openapi),
        Route(f"{API}/vaults", vaults),
        Route(f"{API}/{{verb}}", answer, methods=["POST"]),
        Route("/metrics", metrics),
    ]


async def _ask(door: Door, vault: str, caller: Caller, name: str, params: JsonObject) -> bytes:
    """The answer of a vault, as its agent wrote it."""
    verb, allowed = exposed_verbs()[name], _allowed_params(name, caller.token.scope)
    if unknown := sorted(params.keys() - allowed):
        known_ones = ", ".join(sorted(allowed)) or "none"
        raise HTTPException(
            400, f"{name} has no parameter {unknown[0][:40]!r} here; it has: {known_ones}"
        )
    if caller.client and any(one.name == "by" for one in verb.params):
        params["by"] = caller.client
    method, sent = ("memory", of_memories(name, params)) if verb.run else (name, params)
    return await door.links[vault].answer(method, sent)


async def _params(request: Request) -> JsonObject:
    body = await request.body()
    if not body.strip():
        return {}
    try:
        params = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, "the body is no JSON") from error
    if not isinstance(params, dict):
        raise HTTPException(400, "the body must be an object: the parameters by name")
    return params


async def _search_several(door: Door, caller: Caller, params: JsonObject) -> JsonObject:
    if "vault" in params:
        raise HTTPException(400, f'say "vault" or "{several.NAMES}", not both')
    names = several.chosen(params.pop(several.NAMES), allowed_vaults(door, caller))

    async def ask(vault: str, own: JsonObject) -> object:
        return json.loads(await _ask(door, vault, caller, several.VERB, own))

    return await several.search(ask, names, params)


async def _gauges(door: Door) -> dict[str, tuple[str, dict[str, float]]]:
    """What the agents say of themselves."""
    facts: dict[str, dict[str, float]] = {}
    for name, link in door.links.items():
        try:
            status = await door.call(name, "agent")
            fresh = await door.call(name, "freshness")
        except LinkError:
            facts[name] = {"up": 0.0}
            continue
        assert isinstance(status, dict)
        assert isinstance(fresh, dict)
        facts[name] = {
            "up": 1.0,
            "requests_waiting": float(link.in_flight),
            "index_current": float(bool(status.get("current"))),
            "index_waiting": _count(status.get("waiting")),
            "embedding_waiting": _count(_inner(status, "embedding", "waiting")),
            "agent_memory_bytes": _count(status.get("memory_bytes")),
            "agent_requests": _count(status.get("requests")),
            "index_age_seconds": max(0.0, time.time() - _count(fresh.get("synced"))),
            "recalls_skipped": sum(_count(_inner(fresh, "recalls", one)) for one in _SKIPPED),
        }
    about = {
        "up": "Whether the agent answers", "requests_waiting": "Requests that the agent has not answered yet",
        "index_current": "Whether the index knows all of the vault", "index_waiting": "Notes to be indexed",
        "embedding_waiting": "Blocks to be embedded", "agent_memory_bytes": "Memory of the agent",
        "agent_requests": "Requests that the agent has answered",
        "index_age_seconds": "Time since the index was last compared with the notes",
        "recalls_skipped": "Chats that the proxy passed on without memory: too slow, too busy or failed",
    }  # fmt: skip
    return {
        f"vaultmem_{key}": (text, {vault: own[key] for vault, own in facts.items() if key in own})
        for key, text in about.items()
    }


def _inner(fields: Mapping[str, object], name: str, key: str) -> object:
    inner = fields.get(name)
    return inner.get(key) if isinstance(inner, dict) else None


def _count(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return 0.0
    return float(value)


def description(verbs: Mapping[str, Verb]) -> JsonObject:
    """The verbs as OpenAPI 3.1."""
    error = _answer("what is wrong, in one line", object_of([Param("error", needed=True)]))
    paths: JsonObject = {}
    for name, verb in sorted(verbs.items()):
        scope = scope_of(verb)
        own = [VAULT, VAULTS] if name == several.VERB else [VAULT]
        schema = _plain(object_of([*params_for(verb, scope), *own]))
        paths[f"{API}/{name}"] = {
            "post": {
                "operationId": name,
                "summary": verb.summary or name,
                "description": f"Needs a token with the scope {scope}.",
                "requestBody": {"content": {"application/json": {"schema": schema}}},
                "responses": {
                    "200": _answer(verb.returns or "the answer", {}),
                    "4XX": error,
                    "5XX": error,
                },
            }
        }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "vaultmem",
            "version": __version__,
            "description": "A memory for people and their AI agents.",
        },
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{"token": []}],
        "paths": paths,
    }


def _answer(about: str, schema: Schema) -> JsonObject:
    return {"description": about, "content": {"application/json": {"schema": schema}}}


def _plain(schema: Schema) -> Schema:
    """Without our own mark of what a verb checks itself."""
    for one in schema["properties"].values():
        one.pop("unchecked", None)
    return schema
