"""What is sent to a language model: the body of a chat completion, in the manner that a service understands.

Services differ in how they take a JSON Schema, in the name of the limit of tokens and in whether a temperature may be
given. A service that does not understand a manner says so, and a plainer one is tried.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import NamedTuple

from vaultmem.core.asking import Message, Question
from vaultmem.core.llm_answers import WRAPPED

AUTO, JSON_SCHEMA, JSON_OBJECT, WORDS = "auto", "json_schema", "json_object", "off"
TOKENS, NEW_TOKENS = "max_tokens", "max_completion_tokens"
NOT_UNDERSTOOD = (400, 404, 415, 422, 501)
_NO_NAME = re.compile(r"[^A-Za-z0-9_-]+")
_OF_SCHEMA = (
    "response_format",
    "response format",
    "json_schema",
    "json_object",
    "schema",
    "grammar",
    "structured",
)


class Manner(NamedTuple):
    """How a service is asked."""

    schema: str = JSON_SCHEMA
    tokens: str = TOKENS
    temperature: bool = True


def first_manner(setting: str) -> Manner:
    """With which manner to begin, by llm.schema."""
    return Manner(JSON_SCHEMA if setting == AUTO else setting)


def plainer(manner: Manner, status: int, said: str, *, schema: bool) -> Manner | None:
    """The manner to try after a service has refused one with these words, or None when it refused something else.
    `schema` says whether there was one in the request."""
    if status not in NOT_UNDERSTOOD:
        return None
    words = said.lower()
    if "max_tokens" in words and manner.tokens == TOKENS:
        return manner._replace(tokens=NEW_TOKENS)
    if "temperature" in words and manner.temperature:
        return manner._replace(temperature=False)
    if schema and manner.schema != WORDS and any(word in words for word in _OF_SCHEMA):
        return manner._replace(schema=JSON_OBJECT if manner.schema == JSON_SCHEMA else WORDS)
    return None


def body(model: str, question: Question, manner: Manner) -> dict[str, object]:
    """The body of the request, as JSON values."""
    messages = question.messages
    asked: dict[str, object] = {"model": model}
    if question.schema is not None:
        schema = object_schema(question.schema)
        if manner.schema == JSON_SCHEMA:
            named = {
                "name": _NO_NAME.sub("-", question.purpose)[:64] or WRAPPED,
                "strict": True,
                "schema": schema,
            }
            asked["response_format"] = {"type": JSON_SCHEMA, JSON_SCHEMA: named}
        else:
            messages = _told(messages, schema)
            if manner.schema == JSON_OBJECT:
                asked["response_format"] = {"type": JSON_OBJECT}
    asked["messages"] = [{"role": one.role, "content": one.content} for one in messages]
    asked[manner.tokens] = question.most_tokens
    if manner.temperature:
        asked["temperature"] = 0
    return asked


def object_schema(schema: Mapping[str, object]) -> Mapping[str, object]:
    """The schema, or one of an object with the value under one key: services take objects only."""
    if schema.get("type") == "object":
        return schema
    return {
        "type": "object",
        "properties": {WRAPPED: dict(schema)},
        "required": [WRAPPED],
        "additionalProperties": False,
    }


def _told(messages: tuple[Message, ...], schema: Mapping[str, object]) -> tuple[Message, ...]:
    """The messages with the schema in words, in the one system message that every template takes: the first."""
    words = (
        "Answer with one JSON value that fits this JSON Schema, and with nothing else:\n"
        + json.dumps(schema, ensure_ascii=False)
    )
    if messages and messages[0].role == "system":
        first = messages[0]._replace(content=f"{messages[0].content}\n\n{words}")
        return (first, *messages[1:])
    return (Message("system", words), *messages)
