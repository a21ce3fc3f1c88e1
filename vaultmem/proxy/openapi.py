"""What the proxy says of itself at /openapi.json: its own addresses and answers; the rest is the upstream's."""

from __future__ import annotations

from vaultmem import __version__
from vaultmem.core.chat_body import OFF

_ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["message", "type"],
            "properties": {
                "message": {"type": "string"},
                "type": {"type": "string"},
                "param": {"type": ["string", "null"]},
                "code": {"type": ["string", "null"]},
            },
        }
    },
}


def _of(schema: object, description: str) -> dict[str, object]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _fault(description: str) -> dict[str, object]:
    return _of({"$ref": "#/components/schemas/Error"}, description)


def _named(name: str, description: str, schema: dict[str, object]) -> dict[str, object]:
    return {
        "name": name,
        "in": "header",
        "required": False,
        "description": description,
        "schema": schema,
    }


_FORBIDDEN = _fault("The Host is not this server's, or a web page of another origin asks.")
_UPSTREAM = {
    "502": _fault("The upstream cannot be reached."),
    "504": _fault("The upstream did not answer in time."),
    "default": {"description": "Whatever the upstream answers, as it answers it."},
}

_RECALL = {
    "X-Vaultmem-Recall": {
        "description": "What was recalled: how much; and where it stands. Or none: and why.",
        "schema": {"type": "string"},
    }
}


def _chat(name: str, given: dict[str, object]) -> dict[str, object]:
    """An address of chats; `given` is the member of its body that holds the messages."""
    return {
        "summary": "A chat with memory; the body goes on unchanged but for one message.",
        "operationId": name,
        "parameters": [
            _named("X-Conversation-Id", "The conversation; else metadata.conversation_id, user, or the default.",
                   {"type": "string", "maxLength": 200}),
            _named("X-Vaultmem", "off, in any case of letters: nothing is recalled and nothing kept.",
                   {"type": "string", "enum": list(OFF)}),
        ],
        "requestBody": {
            "required": True,
            "description": "As the upstream wants it. No field is required by the proxy.",
            "content": {"application/json": {"schema": {"type": "object", "properties": {
                **given,
                "stream": {"type": "boolean"},
                "user": {"type": "string"},
                "metadata": {"type": "object"},
            }}}},
        },
        "responses": {
            "200": {
                "description": "The upstream's answer.",
                "headers": _RECALL,
                "content": {"application/json": {}, "text/event-stream": {}},
            },
            "403": _FORBIDDEN,
            "413": _fault("The body is larger than 32 MB."),
            **_UPSTREAM,
        },
    }  # fmt: skip


_HEALTH = {
    "type": "object",
    "required": ["status", "version", "turns_waiting"],
    "additionalProperties": False,
    "properties": {
        "status": {"const": "ok"},
        "version": {"type": "string"},
        "turns_waiting": {"type": "integer", "minimum": 0},
    },
}

DESCRIPTION: dict[str, object] = {
    "openapi": "3.1.0",
    "info": {
        "title": "vaultmem proxy",
        "version": __version__,
        "description": "Other requests below /v1 are passed on to the upstream as they are.",
    },
    "paths": {
        "/v1/chat/completions": {"post": _chat(
            "chat", {"messages": {"type": "array", "items": {"type": "object"}}})},
        "/v1/responses": {"post": _chat("respond", {"input": {"type": ["string", "array"]}})},
        "/v1/models": {"get": {
            "summary": "The models of the upstream.",
            "operationId": "models",
            "responses": {"200": {"description": "The upstream's answer."}, "403": _FORBIDDEN, **_UPSTREAM},
        }},
        "/health": {"get": {
            "summary": "Whether the proxy is there, and how many turns are not learned from yet.",
            "operationId": "health",
            "responses": {"200": _of(_HEALTH, "It is."), "403": _FORBIDDEN},
        }},
        "/openapi.json": {"get": {
            "summary": "This description.",
            "operationId": "description",
            "responses": {"200": _of({"type": "object"}, "It."), "403": _FORBIDDEN},
        }},
    },
    "components": {"schemas": {"Error": _ERROR}},
}  # fmt: skip
