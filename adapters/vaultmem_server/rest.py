"""The verbs as JSON: POST /api/v1/<verb>, their OpenAPI description, and metrics."""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
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
from vaultmem.text.values import TOOL_RESULTS
from vaultmem_server.http_app import allowed_vaults, current_caller, require, vault_for
from vaultmem_server.link import JsonObject, LinkError, inside, of_memories
from vaultmem_server.tokens import ADMIN, READ, WRITE, Caller
from vaultmem_server.traffic import CONTENT_TYPE

if TYPE_CHECKING:
    from vaultmem.adapter.services import Schema
    from vaultmem_server.door import Door

Found = Mapping[str, Sequence[JsonObject]]  # the answer of a search, as far as it is read
API = "/api/v1"
SEARCH, NAMES, ALL_VAULTS = "search", "vaults", "*"
VAULT = Param("vault", "the vault, where the door has several")
VAULTS = Param(NAMES, f'several vaults instead, by name, or "{ALL_VAULTS}"', kind="any")
_SKIPPED = ("slow", "busy", "failed")  # reasons why the proxy passed a chat on without memory
_JSON = "application/json"
_UNTOLD = ("by",)  # the caller is the holder of the token


@cache
def exposed_verbs() -> dict[str, Verb]:
    """The verbs that requests may call: those on memories, and searches. Internal verbs, and those that need an
    internal parameter, are excluded."""
    return {
        name: verb
        for name, verb in every().items()
        if (verb.group or verb.tool or verb.method not in ("", "-"))
        and (verb.run or verb.agent)
        and name not in ("hook", "agent")
        and not any(param.needed and param.doors == "agent" for param in verb.params)
    }


def knows_who_asks(verb: Verb) -> bool:
    """Whether a verb respects what an assistant may see, and records its name."""
    return any(param.name == "by" for param in verb.of(JSON))


def scope_of(verb: Verb) -> str:
    """The scope that a verb needs. Assistants have the verbs that are tools; the others are the person's."""
    if not (verb.tool and knows_who_asks(verb)):
        return ADMIN
    return WRITE if verb.run and verb.writes else READ


def params_for(verb: Verb, scope: str) -> list[Param]:
    """The parameters that a request with this scope may use: for an assistant, those of its tool."""
    params = [
        param for param in verb.of(JSON) if param.doors != "agent" and param.outside not in _UNTOLD
    ]
    if scope == ADMIN or verb.tool is None:
        return params
    listed = {*verb.tool.params, *verb.tool.quiet}
    return [param for param in params if param.outside in listed]


@cache
def _allowed_params(name: str, scope: str) -> frozenset[str]:
    return frozenset(param.outside for param in params_for(exposed_verbs()[name], scope))


def routes(door: Door) -> list[BaseRoute]:
    """The routes of the verbs."""
    verbs = exposed_verbs()

    async def answer(request: Request) -> Response:
        caller, name = current_caller(request), request.path_params["verb"]
        verb = verbs.get(name)
        if verb is None:
            hint = f"{API}/openapi.json lists them"
            raise HTTPException(404, f"unknown verb {name[:40]!r}; {hint}")
        require(caller, scope_of(verb))
        if caller.client and not knows_who_asks(verb):
            acts_as = f"this token acts as {caller.client}"
            raise HTTPException(403, f"{name} is the person's, and {acts_as}")
        params = await _params(request)
        if name == SEARCH and NAMES in params:
            return Response(to_json(await _search_several(door, caller, params)), media_type=_JSON)
        vault = vault_for(door, caller, str(params.pop("vault", "")))
        status = 500
        try:
            result = await _ask(door, vault, caller, name, params)
            status = 200
        except (LinkError, HTTPException) as error:
            status = error.status if isinstance(error, LinkError) else error.status_code
            raise
        finally:
            if verb.run and verb.writes:
                door.audit.write(caller, vault, name, status)
        return Response(result, media_type=_JSON)

    async def openapi(_: Request) -> Response:
        return JSONResponse(description(verbs))

    async def vaults(request: Request) -> Response:
        caller = current_caller(request)
        facts = {"vaults": allowed_vaults(door, caller), "scope": caller.token.scope}
        return JSONResponse({**facts, "client": caller.client or "you"})

    async def metrics(request: Request) -> Response:
        gauges = await _gauges(door, allowed_vaults(door, current_caller(request)))
        return Response(door.metrics.render(gauges), media_type=CONTENT_TYPE)

    return [
        Route(f"{API}/openapi.json", openapi),
        Route(f"{API}/vaults", vaults),
        Route(f"{API}/{{verb}}", answer, methods=["POST"]),
        Route("/metrics", metrics),
    ]


async def _ask(door: Door, vault: str, caller: Caller, name: str, params: JsonObject) -> bytes:
    """The answer of a vault as JSON, as its agent wrote it."""
    verb, allowed = exposed_verbs()[name], _allowed_params(name, caller.token.scope)
    if unknown := sorted(params.keys() - allowed):
        names = ", ".join(sorted(allowed)) or "none"
        what = f"{name} has no parameter {unknown[0][:40]!r} here; it has: {names}"
        raise HTTPException(400, what)
    limit = params.get("limit")
    if name == SEARCH and not caller.may(ADMIN) and isinstance(limit, (int, float)):
        params["limit"] = min(limit, TOOL_RESULTS)
    if caller.client:
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
        raise HTTPException(400, "the body is not JSON") from error
    if not isinstance(params, dict):
        raise HTTPException(400, "the body must be an object: the parameters by name")
    return params


async def _search_several(door: Door, caller: Caller, params: JsonObject) -> JsonObject:
    if "vault" in params:
        raise HTTPException(400, f'give "vault" or "{NAMES}", not both')
    names = chosen_vaults(params.pop(NAMES), allowed_vaults(door, caller))

    async def ask(vault: str, params: JsonObject) -> Found:
        answer: Found = json.loads(await _ask(door, vault, caller, SEARCH, params))
        return answer

    return await merged_search(ask, names, params)


async def _gauges(door: Door, vaults: Sequence[str]) -> dict[str, tuple[str, dict[str, float]]]:
    """The metrics of the agents of these vaults."""
    facts: dict[str, dict[str, float]] = {}
    for name in vaults:
        link = door.links[name]
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
            "embedding_waiting": _count(inside(status, "embedding", "waiting")),
            "agent_memory_bytes": _count(status.get("memory_bytes")),
            "agent_requests": _count(status.get("requests")),
            "index_age_seconds": max(0.0, time.time() - _count(fresh.get("synced"))),
            "recalls_skipped": sum(_count(inside(fresh, "recalls", reason)) for reason in _SKIPPED),
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
        f"vaultmem_{key}": (
            text,
            {vault: fact[key] for vault, fact in facts.items() if key in fact},
        )
        for key, text in about.items()
    }


def _count(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return 0.0
    return float(value)


def description(verbs: Mapping[str, Verb]) -> JsonObject:
    """The verbs as OpenAPI 3.1."""
    error = _answer("what is wrong, in one line", object_of([Param("error", needed=True)]))
    failures = {"4XX": error, "5XX": error}
    paths: JsonObject = {}
    for name, verb in sorted(verbs.items()):
        scope = scope_of(verb)
        vault_params = [VAULT, VAULTS] if name == SEARCH else [VAULT]
        schema = object_of([*params_for(verb, scope), *vault_params])
        for property_ in schema["properties"].values():
            property_.pop("unchecked", None)  # our own: the verb checks it itself
        paths[f"{API}/{name}"] = {
            "post": {
                "operationId": name,
                "summary": verb.summary or name,
                "description": f"Needs a token with the scope {scope}.",
                "requestBody": {"content": {"application/json": {"schema": schema}}},
                "responses": {"200": _answer(verb.returns or "the answer", {}), **failures},
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


# One search over several vaults of a door: each vault is searched, and the results are merged. Scores of different
# indexes are not comparable: a word may be rare in one vault and common in another. So each result counts by its
# share of its vault's best score, and for equal shares by its score.

_LIMIT = 10  # the default of search


def chosen_vaults(named: object, mine: Sequence[str]) -> list[str]:
    """The vaults that a request selects from those that the token opens: a list of names, or "*" for all."""
    if named == ALL_VAULTS:
        return list(mine)
    if not (named and isinstance(named, list) and all(isinstance(name, str) for name in named)):
        raise HTTPException(400, f'"{NAMES}" must be a list of names of vaults, or "{ALL_VAULTS}"')
    names = list(dict.fromkeys(named))
    if unknown := [name for name in names if name not in mine]:
        raise HTTPException(404, f"no vault {str(unknown[0])[:40]!r} for this token")
    return names


async def merged_search(
    ask: Callable[[str, JsonObject], Awaitable[Found]], vaults: Sequence[str], params: JsonObject
) -> JsonObject:
    """The best results of all vaults, each with its vault; `missing` says why a vault has not answered. Raises the
    LinkError of the first vault if none has answered."""
    limit = params.get("limit")
    calls = (ask(vault, dict(params)) for vault in vaults)
    answers = dict(zip(vaults, await asyncio.gather(*calls, return_exceptions=True), strict=True))
    ranked: list[tuple[float, float, JsonObject]] = []  # by the share of its vault's best score
    missing: dict[str, LinkError] = {}
    for vault, answer in answers.items():
        if isinstance(answer, LinkError):
            missing[vault] = answer
            continue
        if isinstance(answer, BaseException):
            raise answer
        rows = answer["results"]
        scores = [_count(row.get("score")) for row in rows]
        best = max(scores, default=0.0)
        for score, row in zip(scores, rows, strict=True):
            ranked.append((score / best if best > 0 else 0.0, score, {"vault": vault, **row}))
    if len(missing) == len(vaults):
        raise missing[vaults[0]]
    ranked.sort(key=lambda hit: hit[:2], reverse=True)
    results = [row for _, _, row in ranked[: limit if isinstance(limit, int) else _LIMIT]]
    problems = {"missing": {vault: str(error) for vault, error in missing.items()}}
    return {"results": results, "count": len(results), **(problems if missing else {})}
