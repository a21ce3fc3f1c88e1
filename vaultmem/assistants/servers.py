"""Our MCP server among those of a harness, in JSON or TOML: put in, renewed, taken out, and nothing else changed.

What we make around it is written on one line. So what was there and empty is told from what goes with our entry.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from typing import NamedTuple

from vaultmem.assistants.programs import Harness, Json
from vaultmem.text.json_text import Node, added, parse, removed

NAME = "vaultmem"
_LINE = re.compile(r"[^\n]*\n|[^\n]+\Z")
_ODD = "it has a form that cannot be edited safely"


def registered(text: str, harness: Harness, command: list[str]) -> str:
    """The settings with our server, once; those of a new file for "". Raises ValueError where that cannot be done
    safely."""
    entry, key = harness.servers.entry(command), harness.servers.key
    there = _entry(text, harness)
    if there is not None and not _is_command_of_ours(there):
        raise ValueError(f"another server there is called {NAME}")
    if there == {**(there or {}), **entry}:
        return text
    after = _form(harness).put(text, key, entry)
    if _loaded(after, harness) != _with(_loaded(text, harness), key, {**(there or {}), **entry}):
        raise ValueError(_ODD)
    return after


def unregistered(text: str, harness: Harness) -> str:
    """The settings without our server; "" where it was all there is in a file that was made for it."""
    if not is_registered(text, harness):
        return text
    key = harness.servers.key
    after = _form(harness).take(text, key)
    left = _with(_loaded(text, harness), key, None)
    if _loaded(after, harness) not in (left, {k: v for k, v in left.items() if k != key or v}):
        raise ValueError(_ODD)
    return after


def is_registered(text: str, harness: Harness) -> bool:
    """Whether our server is there. Raises ValueError where the settings cannot be read."""
    there = _entry(text, harness)
    return there is not None and _is_command_of_ours(there)


class _Form(NamedTuple):
    """A syntax of settings: how it is read, and how our entry goes in and out."""

    load: Callable[[str], object]
    put: Callable[[str, str, Json], str]
    take: Callable[[str, str], str]


def _form(harness: Harness) -> _Form:
    return _TOML if harness.servers.file.endswith(".toml") else _JSON


def _loaded(text: str, harness: Harness) -> Json:
    result = _form(harness).load(text) if text else {}
    if not isinstance(result, dict):
        raise ValueError("it is no JSON object")  # noqa: TRY004 - told to the person like the others
    return result


def _entry(text: str, harness: Harness) -> Json | None:
    servers = _loaded(text, harness).get(harness.servers.key, {})
    if not isinstance(servers, dict):
        raise ValueError(f"{harness.servers.key!r} is no object")  # noqa: TRY004 - as above
    there = servers.get(NAME)
    return there if there is None or isinstance(there, dict) else {}


def _with(settings: Json, key: str, entry: Json | None) -> Json:
    """The settings as they should be, with an entry or without."""
    servers = settings.get(key, {})
    left = {k: v for k, v in servers.items() if k != NAME} if isinstance(servers, dict) else {}
    return {**settings, key: left if entry is None else {**left, NAME: entry}}


def _is_command_of_ours(entry: Json) -> bool:
    """Whether an entry starts vaultmem as a server."""
    raw = [entry.get("command"), entry.get("args")]
    words = [str(w) for one in raw for w in (one if isinstance(one, list) else [one])]
    places = [n for n, word in enumerate(words) if word == "mcp"]
    return bool(places) and any("vaultmem" in word for word in words[: places[0]])


# --- JSON


def _load_json(text: str) -> object:
    parse(text)  # stricter, and no deeper than it should be
    return json.loads(text.removeprefix("\ufeff"))


def _put_json(text: str, key: str, entry: Json) -> str:
    if not text:
        return f"{_on_one_line({key: {NAME: entry}})}\n"
    root = parse(text)
    servers = root.get(key)
    if servers is None:
        text = added(text, root, {}, key)
        return _replaced(text, _at(text, key), {NAME: entry})
    if NAME not in servers.names:
        return added(text, servers, entry, NAME)
    for name, value in entry.items():
        there = _at(text, key, NAME)
        member = there.get(name)
        if member is None:
            text = added(text, there, value, name)
        elif json.loads(text[member.start : member.end]) != value:
            text = _replaced(text, member, value)
    return text


def _take_json(text: str, key: str) -> str:
    root, servers = parse(text), _at(text, key)
    written = text[servers.start : servers.end]
    if len(servers.items) > 1 or written != _on_one_line(json.loads(written)):
        return removed(text, servers, servers.names.index(NAME))
    if text == f"{{{_on_one_line(key)}: {written}}}\n":
        return ""
    return removed(text, root, root.names.index(key))


def _at(text: str, *names: str) -> Node:
    node = parse(text)
    for name in names:
        result = node.get(name)
        if result is None:
            raise ValueError(_ODD)
        node = result
    return node


def _replaced(text: str, node: Node, value: object) -> str:
    return text[: node.start] + _on_one_line(value) + text[node.end :]


def _on_one_line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


# --- TOML


def _put_toml(text: str, key: str, entry: Json) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = {name: f"{name} = {_on_one_line(value)}" for name, value in entry.items()}
    start, end, all_lines = _table(text, key)
    if start < end:
        names = (re.match(r"(\w+)[ \t]*=", line) for line in all_lines[start:end])
        new = [
            lines[result[1]] + newline if result and result[1] in lines else line
            for line, result in zip(all_lines[start:end], names, strict=True)
        ]
        return "".join([*all_lines[:start], *new, *all_lines[end:]])
    table = [f"[{key}.{NAME}]", *lines.values(), ""]
    return text + (newline if text else "") + newline.join(table)


def _take_toml(text: str, key: str) -> str:
    """Without our table, and without the line break that was put before it."""
    start, end, lines = _table(text, key)
    before, after = "".join(lines[:start]), "".join(lines[end:])
    if not after or before.endswith(("\n\n", "\n\r\n")):
        before = before.removesuffix("\n").removesuffix("\r")
    return before + after


def _table(text: str, key: str) -> tuple[int, int, list[str]]:
    """From which line to which our table goes, with those below it; not the blanks and remarks before the next."""
    lines = _LINE.findall(text)
    own = re.compile(rf"\[{key}\.{NAME}(?:\.[^\]]*)?\]")
    start = next((n for n, line in enumerate(lines) if own.match(line)), len(lines))
    end = start
    for number, line in enumerate(lines[start:], start):
        if line.startswith("[") and not own.match(line):
            break
        if line.strip() and not line.startswith("#"):
            end = number + 1
    return start, end, lines


_JSON = _Form(_load_json, _put_json, _take_json)
_TOML = _Form(tomllib.loads, _put_toml, _take_toml)
