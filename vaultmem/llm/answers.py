"""What a language model answered: its text out of a reply, and JSON out of its text, however it is wrapped or cut off.

Nothing is evaluated. What is read has a bounded size and depth.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple, NoReturn

MOST = 100_000  # characters that are looked at
MOST_REPAIRED = 8_000  # the time that json_repair takes may grow with the square of the text
DEEPEST = 64  # levels of a value
WRAPPED = "answer"  # the key under which a value that is no object is asked for
_THOUGHTS = re.compile(r"</?(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
# A bracket with which a value may begin; prose has others.
_OPENING = re.compile(
    r"""\{\s{0,9}(?:["'}]|\w{1,40}\s{0,9}:)|\[\s{0,9}(?:["'“\[{\]\d.+-]|(?:true|false|null)\b)"""
)
_END = (
    "zQ8end"  # goes where a text that is repaired ends, and so into whatever was not finished there
)
_RUN_TOGETHER = re.compile(r"""["'”]\s{0,9}[,，]\s{0,9}["'“]""")
_ERROR_KEYS = ("error", "message", "detail")
_DECODER = json.JSONDecoder(parse_constant=lambda _: None)


class Completion(NamedTuple):
    """The reply of a service to a chat."""

    text: str
    ending: str  # "stop", "length", ...; "" when it is not given


class NoAnswerError(ValueError):
    """The reply holds no answer; the text says why."""


def completion(body: bytes) -> Completion:
    """What the body of a chat completion says. Raises NoAnswerError."""
    try:
        reply = json.loads(body)
    except (ValueError, RecursionError):
        raise NoAnswerError("the reply is no JSON") from None
    if not isinstance(reply, dict):
        raise NoAnswerError("the reply is no chat completion")
    choices = reply.get("choices")
    if not (isinstance(choices, list) and choices and isinstance(choices[0], dict)):
        raise NoAnswerError(error_message(body) or "the reply is no chat completion")
    message = choices[0].get("message")
    if not isinstance(message, dict):
        raise NoAnswerError("the reply is no chat completion")
    ending = choices[0].get("finish_reason")
    text = _text_of(message.get("content"))
    if not text.strip():
        _refuse_empty(message, ending)
    return Completion(sound(text), ending if isinstance(ending, str) else "")


def error_message(body: bytes | str) -> str:
    """What a reply says of an error, in whichever of the usual places; "" when it says nothing there."""
    try:
        reply = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    for _ in range(2):
        if isinstance(reply, dict):
            reply = next((reply[name] for name in _ERROR_KEYS if reply.get(name)), "")
    return sound(reply) if isinstance(reply, str) else ""


def models(body: bytes) -> list[str]:
    """The names in a service's list of its models; none where it is no such list."""
    try:
        listed = json.loads(body)["data"]
        return [str(one["id"]) for one in listed if isinstance(one, dict) and "id" in one]
    except (ValueError, KeyError, TypeError, RecursionError):
        return []


def status(code: int, body: bytes) -> int:
    """The status of a reply: some services tell of an error under a status of 200."""
    if code != 200 or b'"error"' not in body or b'"choices"' in body:
        return code
    try:
        error = json.loads(body)["error"]["code"]
    except (ValueError, RecursionError, LookupError, TypeError):
        return code
    return error if isinstance(error, int) and 400 <= error < 600 else code


def _text_of(content: object) -> str:
    """Text, or the text of a list of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = (one.get("text") for one in parts if isinstance(one, dict))
    return "".join(one for one in texts if isinstance(one, str))


def _refuse_empty(message: Mapping[str, object], ending: object) -> NoReturn:
    if isinstance(message.get("refusal"), str):
        raise NoAnswerError("the model declined to answer")
    if ending == "length":
        raise NoAnswerError("the model used up all its tokens before it answered")
    raise NoAnswerError("the model said nothing")


def without_thoughts(text: str) -> str:
    """The text without what a model thought aloud before it, be its thoughts opened, closed, or both."""
    kept: list[str] = []
    depth = end = 0
    for mark in _THOUGHTS.finditer(text):
        if mark[0].startswith("</"):
            if depth == 0:  # opened by the prompt, so all up to here was thought
                kept.clear()
            depth = 0
        else:
            if depth == 0:
                kept.append(text[end : mark.start()])
            depth = 1
        end = mark.end()
    if depth == 0:
        kept.append(text[end:])
    return "".join(kept).strip()


def parse_json(text: str, schema: Mapping[str, object] | None = None) -> object:
    """The JSON value in the text of a model: as it stands, in a fence, amid prose, with small mistakes, or as far as it
    came. The type at the root of the schema chooses among several. Raises ValueError when there is none."""
    wanted = schema.get("type") if schema else None
    text = text[:MOST].strip("\ufeff \t\r\n")
    try:
        whole: object = _DECODER.decode(text)
        found = [(whole, len(text))]
    except (ValueError, RecursionError):
        found = list(_values(without_thoughts(text)))
    values = [(_bounded(value), size) for value, size in found if value is not None]
    if wanted == "array" and len(values) > 1 and all(isinstance(one, dict) for one, _ in values):
        return [one for one, _ in values]  # one object a line
    if not values:
        raise ValueError("no JSON")
    shaped = [(shape(value, wanted), size) for value, size in values]
    return max(shaped, key=lambda each: (_fits(each[0], wanted), bool(each[0]), each[1]))[0]


def records(answer: object) -> list[Mapping[object, object]]:
    """The objects of an answer: those of a list, of the one list in an object, or the object itself."""
    if isinstance(answer, str):
        with suppress(ValueError):
            answer = parse_json(answer)
    if isinstance(answer, Mapping):
        answer = shape(answer, "array")
    return [one for one in answer if isinstance(one, Mapping)] if isinstance(answer, list) else []


def short_id(value: object) -> int | None:
    """A short id that was given as a number or as its digits."""
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 9:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        return None
    return value


def shape(value: object, wanted: object) -> object:
    """A value as the schema has it at its root. Where a list is wanted: the one list of an object, or an object in a
    list of its own. Where an object is: the one object of a list."""
    if isinstance(value, dict) and wanted != "object" and value.keys() == {WRAPPED}:
        value = value[WRAPPED]
    if wanted == "array":
        inner = value.values() if isinstance(value, dict) else ()
        lists = [one for one in inner if isinstance(one, list)]
        if len(lists) == 1:
            return lists[0]
        return [value] if isinstance(value, dict | str) and value else value
    if wanted == "object" and isinstance(value, list) and len(value) == 1:
        return value[0]
    return value


def sound(text: str) -> str:
    """The text as it can be written: halves of a letter are put together; one without the other is none."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _values(text: str) -> Iterator[tuple[object, int]]:
    """The lists and objects in a text, each with its length. What is no JSON from its first bracket on is repaired."""
    at = 0
    while opening := _OPENING.search(text, at):
        start = opening.start()
        try:
            value, at = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            if repaired := _repair(text[start:]):
                yield repaired, len(text) - start
            return
        yield value, at - start


def _repair(text: str) -> object:
    """What a text with mistakes in it was to be, as far as it was finished; None for nothing."""
    from json_repair import loads  # only when a model has made a mistake

    try:
        value = loads(f'{text[:MOST_REPAIRED]}{_END}"{_END}', skip_json_loads=True)
        return _finished(_bounded(value))[0] if isinstance(value, list | dict) else None
    except (ValueError, RecursionError):
        return None


def _finished(value: object) -> tuple[object, bool]:
    """A repaired value without its unfinished parts, and whether there were none. An unfinished object in a list is
    left out; texts that ran together at a comma are separated."""
    if isinstance(value, str):
        return value, _END not in value
    if isinstance(value, list):
        apart = [_RUN_TOGETHER.split(one) if isinstance(one, str) else [one] for one in value]
        items = [_finished(one) for group in apart for one in group]
        kept = [one for one, whole in items if whole or (one and isinstance(one, list))]
        return kept, all(whole for _, whole in items)
    if isinstance(value, dict):
        members = {key: _finished(one) for key, one in value.items() if _END not in key}
        rest = {key: one for key, (one, whole) in members.items() if whole or _is_some(one)}
        return rest, len(members) == len(value) and all(whole for _, whole in members.values())
    return value, True


def _is_some(value: object) -> bool:
    return isinstance(value, list | dict) and bool(value)


def _bounded(value: object, depth: int = DEEPEST) -> object:
    """The value as every program can write it. Raises ValueError for one with more levels than that."""
    if depth < 0:
        raise ValueError("no JSON of any use: too deep")
    if isinstance(value, str):
        return sound(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list):
        return [_bounded(one, depth - 1) for one in value]
    if isinstance(value, dict):
        return {sound(str(key)): _bounded(one, depth - 1) for key, one in value.items()}
    return value


def _fits(value: object, wanted: object) -> bool:
    if wanted == "array":
        return isinstance(value, list)
    return isinstance(value, dict) if wanted == "object" else value is not None
