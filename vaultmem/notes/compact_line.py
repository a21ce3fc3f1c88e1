"""The property `vaultmem`: the properties of a memory that only programs need, on one line.

vaultmem: 24ed4878-2b1c-4c0e-9d8e-0c6a5b7f3a11 memory_type=semantic importance=0.88 created_at=2026-11-22T10:00:00Z

First the id, then words `key=value`. Each is read as if it were a property of its own; a property with its own line
takes precedence. So a memory means the same in either form, and a file keeps its form.
"""

from __future__ import annotations

from collections.abc import Iterable

from vaultmem.adapter import Properties, Value
from vaultmem.notes.places import COMPACT, LINE, key_of
from vaultmem.notes.yaml_lines import format_value, scalar
from vaultmem.text.values import EVERYBODY, INBOX, lazy

_PLAIN = lazy(r"[0-9A-Za-z_.:+@-]+")  # not special in YAML, Obsidian and Logseq
# Required in a memory of ours.
_ALWAYS = ("id", "phase", "category", "scope", "created_at", "updated_at")
_WORD = lazy(rf"([a-z][a-z0-9_]*)=({_PLAIN.pattern})")


def expand(properties: Properties) -> Properties:
    """The properties including those of the line, and those that the line omits because they follow from others."""
    inside = _inside(properties)
    if not inside:
        return properties
    alone = {key: value for key, value in properties.items() if key != LINE}
    names = {key_of(key): value for key, value in alone.items()}
    whole = inside | {
        key: value for key, value in _implied({**inside, **names}).items() if key not in inside
    }
    return {**{key: value for key, value in whole.items() if key not in names}, **alone}


def properties_to_set(raw: Properties, changes: Properties) -> dict[str, Value]:
    """The properties to set in a file with the properties `raw` so that it has `changes`; None removes one. A file
    that gets its id also gets a line."""
    inside = _inside(raw)
    if not changes or (not inside and ("id" not in changes or "id" in raw or LINE in raw)):
        return dict(changes)
    keys = [key for key in dict.fromkeys((*COMPACT, "scope", *inside)) if key not in raw]
    whole = {**expand(raw), **changes}
    implied = _implied(whole)
    follows = {key for key in keys if key in implied and _same(whole.get(key), implied[key])}
    words = _words(whole, (key for key in keys if key not in follows and key != "scope"))
    if any(whole.get(key) is None for key in _ALWAYS) or not any("=" in word for word in words.values()):  # fmt: skip
        follows, words = set(), {}
    result = {key: value for key, value in changes.items() if key not in keys}
    for key in keys:
        if whole.get(key) is not None and key not in words and key not in follows:
            result[key] = whole[key]
    line = " ".join(words.values())
    if _read(line) != inside:
        result[LINE] = line or None
    return result


def _implied(properties: Properties) -> dict[str, Value]:
    """The properties that a line need not state."""
    phase = "organized" if properties.get("category") not in (None, "", INBOX) else "inbox"
    implied: dict[str, Value] = {"phase": phase, "scope": EVERYBODY}
    created = properties.get("created_at")
    return implied if created is None else {**implied, "updated_at": created}


def _words(properties: Properties, keys: Iterable[str]) -> dict[str, str]:
    """The words of the line by key; values that a word cannot hold are left out."""
    words: dict[str, str] = {}
    for key in keys:
        value = properties.get(key)
        if value is None or isinstance(value, (list, dict)):
            continue
        text = value if isinstance(value, str) else format_value(value)
        if _PLAIN.fullmatch(text) and (_same(scalar(text), value) or (key, text) == ("id", value)):
            words[key] = text if key == "id" else f"{key}={text}"
    return words


def _inside(properties: Properties) -> dict[str, Value]:
    line = properties.get(LINE)
    return _read(line) if isinstance(line, str) else {}


def _read(line: str) -> dict[str, Value]:
    """The properties on a line; {} for any other text."""
    words = line.split()
    first = words[:1] if words and "=" not in words[0] and _PLAIN.fullmatch(words[0]) else []
    matches = [_WORD.fullmatch(word) for word in words[len(first) :]]
    if not matches or None in matches:
        return {}
    inside: dict[str, Value] = {"id": first[0]} if first else {}
    return inside | {match[1]: scalar(match[2]) for match in matches if match}


def _same(one: Value, other: Value) -> bool:
    return type(one) is type(other) and one == other
