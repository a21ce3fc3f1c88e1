"""What is sent to a language model: questions with a JSON Schema, in the form that a service understands.

Services differ in how they take a JSON Schema, in the name of the token limit and in whether a temperature may be
given. A service that rejects a form says so, and a simpler one is tried.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import NamedTuple

from vaultmem.adapter.services import Message, Question, object_schema
from vaultmem_chat.llm.replies import WRAPPED

# The form of a request.

AUTO, JSON_SCHEMA, JSON_OBJECT, WORDS = "auto", "json_schema", "json_object", "off"
TOKENS, NEW_TOKENS = "max_tokens", "max_completion_tokens"
REJECTED = (400, 404, 415, 422, 501)
_NO_NAME = re.compile(r"[^A-Za-z0-9_-]+")
_OF_SCHEMA = re.compile(r"response.format|json_schema|json_object|schema|grammar|structured")


class Form(NamedTuple):
    """The form of a request."""

    schema: str = JSON_SCHEMA
    tokens: str = TOKENS
    temperature: bool = True


def first_form(setting: str) -> Form:
    """The form to begin with, by llm.schema."""
    return Form(JSON_SCHEMA if setting == AUTO else setting)


def simpler(form: Form, status: int, message: str, *, schema: bool) -> Form | None:
    """The form to try after a service has rejected one with this message, or None when it rejected something else.
    `schema` tells whether the request had one."""
    if status not in REJECTED:
        return None
    message = message.lower()
    if "max_tokens" in message and form.tokens == TOKENS:
        return form._replace(tokens=NEW_TOKENS)
    if "temperature" in message and form.temperature:
        return form._replace(temperature=False)
    if schema and form.schema != WORDS and _OF_SCHEMA.search(message):
        return form._replace(schema=JSON_OBJECT if form.schema == JSON_SCHEMA else WORDS)
    return None


def body(model: str, question: Question, form: Form) -> dict[str, object]:
    """The body of the request, as JSON values."""
    messages = question.messages
    request: dict[str, object] = {"model": model}
    if question.schema is not None:
        schema = _object_at_root(question.schema)
        if form.schema == JSON_SCHEMA:
            name = _NO_NAME.sub("-", question.purpose)[:64] or WRAPPED
            request["response_format"] = {
                "type": JSON_SCHEMA,
                JSON_SCHEMA: {"name": name, "strict": True, "schema": schema},
            }
        else:
            messages = _with_schema(messages, schema)
            if form.schema == JSON_OBJECT:
                request["response_format"] = {"type": JSON_OBJECT}
    request["messages"] = [{"role": one.role, "content": one.content} for one in messages]
    request[form.tokens] = question.most_tokens
    if form.temperature:
        request["temperature"] = 0
    return request


def _object_at_root(schema: Mapping[str, object]) -> Mapping[str, object]:
    """Services take objects only: any other value goes under one key."""
    return schema if schema.get("type") == "object" else object_schema({WRAPPED: dict(schema)})


def _with_schema(
    messages: tuple[Message, ...], schema: Mapping[str, object]
) -> tuple[Message, ...]:
    """The messages with the schema in words, in the one system message that every template takes: the first."""
    words = (
        "Answer with one JSON value that fits this JSON Schema, and with nothing else:\n"
        + json.dumps(schema, ensure_ascii=False)
    )
    if messages and messages[0].role == "system":
        first = messages[0]._replace(content=f"{messages[0].content}\n\n{words}")
        return (first, *messages[1:])
    return (Message("system", words), *messages)
