"""Decisions of a model about memories, out of whatever shape of JSON it gave them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import NamedTuple

from vaultmem.core.llm_answers import json_of

MOST = 100  # decisions that are looked at
_LISTS = (
    "decisions",
    "memory",
    "memories",
    "events",
    "operations",
    "actions",
    "results",
    "result",
    "items",
    "output",
)
_EVENTS = ("event", "action", "operation", "decision", "op", "type")
_IDS = ("id", "memory_id", "index", "short_id", "number")
_TEXTS = ("text", "new_text", "content", "fact", "memory", "new_memory", "value")
_WORDS = {
    **dict.fromkeys(("ADD", "ADDED", "NEW", "INSERT", "CREATE"), "ADD"),
    **dict.fromkeys(("UPDATE", "UPDATED", "REPLACE", "MODIFY"), "UPDATE"),
    **dict.fromkeys(("DELETE", "DELETED", "REMOVE"), "DELETE"),
    **dict.fromkeys(("NONE", "NOOP", "NO_CHANGE", "NOCHANGE", "UNCHANGED", "KEEP"), "NONE"),
}
_NUMBER = re.compile(r"\W*(?:id|memory|m|fact|f)?\W*(\d{1,4})(?:\.0+)?\W*", re.IGNORECASE)


class Decision(NamedTuple):
    """One decision as the model gave it."""

    event: str  # ADD, UPDATE, DELETE, NONE
    number: int | None  # the short id that it named
    place: int | None  # the same, where it is one of the existing memories
    text: str


def read(answer: object, existing: int) -> list[Decision]:
    """The decisions in an answer; [] where there are none to be found."""
    found: list[Decision] = []
    for item in _items(answer, 0)[:MOST]:
        event = _WORDS.get(str(_first(item, _EVENTS)).strip().upper().replace(" ", "_"))
        number = _short_id(_first(item, _IDS))
        text = _first(item, _TEXTS)
        if event:
            place = number if number is not None and number < existing else None
            found.append(Decision(event, number, place, text if isinstance(text, str) else ""))
    return found


def _items(answer: object, depth: int) -> list[Mapping[object, object]]:
    if depth > 4:
        return []
    if isinstance(answer, str):
        return _items(_json(answer), depth + 1)
    if isinstance(answer, list | tuple):
        return [one for item in answer[:MOST] for one in _items(item, depth + 1)]
    return _of_object(answer, depth) if isinstance(answer, Mapping) else []


def _of_object(answer: Mapping[object, object], depth: int) -> list[Mapping[object, object]]:
    if isinstance(_first(answer, _EVENTS), str):
        return [answer]
    for key in _LISTS:
        if isinstance(answer.get(key), list | dict):
            return _items(answer[key], depth + 1)
    return _keyed(answer)


def _keyed(answer: Mapping[object, object]) -> list[Mapping[object, object]]:
    """Decisions under their ids, {"0": {"event": …}}, or under what they do, {"delete": [0]}."""
    found: list[Mapping[object, object]] = []
    for key, value in list(answer.items())[:MOST]:
        event = _WORDS.get(str(key).strip().upper())
        if event:
            for item in value if isinstance(value, list) else [value]:
                given = (
                    item
                    if isinstance(item, Mapping)
                    else {"text" if isinstance(item, str) else "id": item}
                )
                found.append({**given, "event": event})
        elif isinstance(value, Mapping):
            found.append({"id": key, **value})
        elif isinstance(value, str):
            found.append({"id": key, "event": value})
    return found


def _first(item: Mapping[object, object], keys: tuple[str, ...]) -> object:
    return next((item[key] for key in keys if item.get(key) is not None), None)


def _short_id(given: object) -> int | None:
    if isinstance(given, bool):
        return None
    if isinstance(given, float):
        return int(given) if math.isfinite(given) and given == int(given) and given >= 0 else None
    if isinstance(given, int):
        return given if given >= 0 else None
    found = _NUMBER.fullmatch(given) if isinstance(given, str) and "-" not in given else None
    return int(found[1]) if found else None


def _json(text: str) -> object:
    """The JSON in a text that says more than that; None where there is none."""
    try:
        return json_of(text)
    except ValueError:
        return None
