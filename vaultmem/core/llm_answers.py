"""What a language model said: its words out of a reply, and JSON out of its words, however it is wrapped or cut off.

Every step takes time linear in the text. Nothing is evaluated. What is read has a bounded size and depth.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import NamedTuple, NoReturn

from vaultmem.core import loose_json
from vaultmem.core.loose_json import Found

MOST = 100_000  # characters that are looked at
_THOUGHTS = re.compile(r"</?(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_FENCE = re.compile(r"^[ \t]*(?:```+|~~~+)[^\n`]*$", re.MULTILINE)
_LINE = re.compile(
    r"[ \t]*(?:[-*•][ \t]+|[0-9]{1,3}[.)][ \t]+)?(\"[^\"\\]*+(?:\\.[^\"\\]*+)*+\")[ \t]*,?[ \t]*\r?"
)
# Halves of letters; only the loose reader looks whether they fit.
_HALVES = re.compile(r"\\u[dD][89a-fA-F]")
_COMPLAINTS = ("error", "message", "detail")
WRAPPED = "answer"  # the key under which a value that is no object is asked for


class Said(NamedTuple):
    """The reply of a service to a chat."""

    text: str
    ending: str  # "stop", "length", ...; "" when it is not told


class NoAnswerError(ValueError):
    """The reply holds no answer; the text says why."""


def said(body: bytes) -> Said:
    """What the body of a chat completion says. Raises NoAnswerError."""
    try:
        reply = json.loads(body)
    except (ValueError, RecursionError):
        raise NoAnswerError("the reply is no JSON") from None
    if not isinstance(reply, dict):
        raise NoAnswerError("the reply is no chat completion")
    choices = reply.get("choices")
    if not (isinstance(choices, list) and choices and isinstance(choices[0], dict)):
        raise NoAnswerError(complaint(body) or "the reply is no chat completion")
    message = choices[0].get("message")
    if not isinstance(message, dict):
        raise NoAnswerError("the reply is no chat completion")
    ending = choices[0].get("finish_reason")
    text = _words(message.get("content"))
    if not text.strip():
        _empty(message, ending)
    return Said(loose_json.sound(text), ending if isinstance(ending, str) else "")


def complaint(body: bytes | str) -> str:
    """What a reply says of an error, in whichever of the usual places; "" when it says nothing there."""
    try:
        reply = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    for _ in range(2):
        if isinstance(reply, dict):
            reply = next((reply[name] for name in _COMPLAINTS if reply.get(name)), "")
    return loose_json.sound(reply) if isinstance(reply, str) else ""


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
        told = json.loads(body)["error"]["code"]
    except (ValueError, RecursionError, LookupError, TypeError):
        return code
    return told if isinstance(told, int) and 400 <= told < 600 else code


def _words(content: object) -> str:
    """Text, or the text of a list of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = (one.get("text") for one in parts if isinstance(one, dict))
    return "".join(one for one in texts if isinstance(one, str))


def _empty(message: Mapping[str, object], ending: object) -> NoReturn:
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


def json_of(text: str, schema: Mapping[str, object] | None = None) -> object:
    """The JSON value in the words of a model: as it stands, in a fence, amid prose, with small mistakes, or as far as
    it came. The type at the root of the schema chooses among several. Raises ValueError when there is none."""
    text = text[:MOST].strip("\ufeff \t\r\n")
    wanted = schema.get("type") if schema else None
    for candidate in (text, *_fenced(text)):
        whole = _strict(candidate)
        if whole is not None and _fits(shaped := unwrapped(whole, wanted), wanted):
            return shaped
    plain = without_thoughts(text)
    found = loose_json.values(plain)
    if found:
        return unwrapped(_chosen(found, wanted), wanted)
    if wanted in ("array", None) and (quoted := _quoted_lines(plain)):
        return quoted
    raise ValueError("no JSON")


def _fenced(text: str) -> list[str]:
    """What stands between each two fences."""
    marks = [(one.start(), one.end()) for one in _FENCE.finditer(text)]
    pairs = zip(marks[::2], marks[1::2], strict=False)
    return [text[opening[1] : closing[0]] for opening, closing in pairs]


def _strict(text: str) -> object:
    """The value of a text that is JSON and nothing else; None also for what is too deep."""
    if _HALVES.search(text):
        return None
    try:
        value: object = json.loads(
            text,
            parse_constant=lambda _: None,
            parse_float=loose_json.number,
            parse_int=loose_json.number,
        )
    except (ValueError, RecursionError):
        return None
    return value if loose_json.is_shallow(value) else None


def _fits(value: object, wanted: object) -> bool:
    if wanted == "array":
        return isinstance(value, list)
    return isinstance(value, dict) if wanted == "object" else value is not None


def unwrapped(value: object, wanted: object) -> object:
    """A value as the schema has it at its root. Where a list is wanted: the one list of an object, or an object in a
    list of its own. Where an object is: the one object of a list."""
    if isinstance(value, dict) and wanted != "object" and value.keys() == {WRAPPED}:
        value = value[WRAPPED]
    if wanted == "array":
        lists = (
            [one for one in value.values() if isinstance(one, list)]
            if isinstance(value, dict)
            else []
        )
        if len(lists) == 1:
            return lists[0]
        return [value] if isinstance(value, dict | str) and value else value
    if wanted == "object" and isinstance(value, list) and len(value) == 1:
        return value[0]
    return value


def _chosen(found: list[Found], wanted: object) -> object:
    """The value of the type that is wanted, rather whole than cut off, the longest, the last. Objects in a row are a
    list."""
    objects = [one.value for one in found if isinstance(one.value, dict) and one.whole]
    arrays = [one for one in found if isinstance(one.value, list)]
    if wanted == "array" and len(objects) > 1 and not any(one.value for one in arrays):
        return objects
    return max(
        enumerate(found),
        key=lambda each: (
            _fits(unwrapped(each[1].value, wanted), wanted),
            bool(each[1].value),
            each[1].whole,
            each[1].length,
            each[0],
        ),
    )[1].value


def _quoted_lines(text: str) -> list[str]:
    """The strings of a text in which every line is one."""
    lines = [line for line in text.split("\n") if line.strip() and not _FENCE.fullmatch(line)]
    matches = [_LINE.fullmatch(line) for line in lines]
    strings = [_strict(one[1]) for one in matches if one]
    kept = [one for one in strings if isinstance(one, str)]
    return kept if len(kept) == len(lines) else []
