"""Adds, renews and removes our MCP server among those of a harness, in JSON or TOML, and changes nothing else."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import urlsplit

from vaultmem import paths
from vaultmem.client import is_terminal
from vaultmem.errors import UsageError, VaultmemError
from vaultmem.text import urls
from vaultmem.text.json_text import find, parse
from vaultmem_assistants.hooks import put, take
from vaultmem_assistants.programs import Harness, Json

NAME = "vaultmem"
_LINE = re.compile(r"[^\n]*\n|[^\n]+\Z")
_DOOR = re.compile(r"/mcp(?:/[^/?#]+)?/?\Z")
_ODD = "it has a form that cannot be edited safely"


def add_server(text: str, harness: Harness, entry: Json) -> str:
    """The settings with exactly one server of ours, with the fields that a person has added to it. Raises ValueError
    where that cannot be done safely."""
    there, key, form = _entry(text, harness), harness.servers.key, _form(harness)
    if there is not None and not _is_ours(there, harness):
        raise ValueError(f"there is another server called {NAME}")
    stale = harness.servers.alternatives()
    server = {**{k: v for k, v in (there or {}).items() if k not in stale}, **entry}
    if there == server:
        return text
    expected = _with(_load(text, harness), key, server)
    for start in (text, form.take(text, key) if there else text):  # in its place, if possible
        with contextlib.suppress(ValueError):
            after = form.put(start, key, server)
            if _load(after, harness) == expected:
                return after
    raise ValueError(_ODD)


def remove_server(text: str, harness: Harness) -> str:
    """The settings without our server; "" if it was all in a file that was created for it."""
    if not is_registered(text, harness):
        return text
    key = harness.servers.key
    after = _form(harness).take(text, key)
    left = _with(_load(text, harness), key, None)
    if _load(after, harness) not in (left, {k: v for k, v in left.items() if k != key or v}):
        raise ValueError(_ODD)
    return after


def is_registered(text: str, harness: Harness) -> bool:
    """Whether our server is registered. Raises ValueError where the settings cannot be read."""
    there = _entry(text, harness)
    return there is not None and _is_ours(there, harness)


def is_remote(text: str, harness: Harness) -> bool:
    """Whether the server of our name is on another machine. Raises ValueError as is_registered() does."""
    return harness.servers.remote.url in (_entry(text, harness) or {})


class _Form(NamedTuple):
    """A syntax of settings: how to read it, and to add and remove our entry."""

    load: Callable[[str], object]
    put: Callable[[str, str, Json], str]
    take: Callable[[str, str], str]


def _form(harness: Harness) -> _Form:
    return _TOML if harness.servers.file.endswith(".toml") else _JSON


def _load(text: str, harness: Harness) -> Json:
    result = _form(harness).load(text) if text.strip() else {}
    if not isinstance(result, dict):
        raise ValueError("it is not a JSON object")  # noqa: TRY004 - a person reads it like the others
    return result


def _entry(text: str, harness: Harness) -> Json | None:
    servers = _load(text, harness).get(harness.servers.key, {})
    if not isinstance(servers, dict):
        raise ValueError(f"{harness.servers.key!r} is not an object")  # noqa: TRY004 - as above
    there = servers.get(NAME)
    return there if there is None or isinstance(there, dict) else {}


def _with(settings: Json, key: str, entry: Json | None) -> Json:
    """The expected settings, with an entry or without."""
    servers = settings.get(key, {})
    left = {k: v for k, v in servers.items() if k != NAME} if isinstance(servers, dict) else {}
    return {**settings, key: left if entry is None else {**left, NAME: entry}}


def _is_ours(entry: Json, harness: Harness) -> bool:
    """Whether an entry starts vaultmem as a server, or is the URL of an HTTP door."""
    url = entry.get(harness.servers.remote.url)
    if isinstance(url, str):
        return bool(_DOOR.search(url))
    raw = [entry.get("command"), entry.get("args")]
    words = [str(w) for item in raw for w in (item if isinstance(item, list) else [item])]
    places = [n for n, word in enumerate(words) if word == "mcp"]
    return bool(places) and any("vaultmem" in word for word in words[: places[0]])


# --- TOML

_FIELD = re.compile(r"[ \t]*[\"']?(\w+)[\"']?[ \t]*=")


def _put_toml(text: str, key: str, entry: Json) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    start, end, lines = _table(text, key)
    if start == end:
        text += newline if text else ""
        start, end, lines = 0, 1, [f"{text}[{key}.{NAME}]{newline}"]
    fields, body = dict(entry), list[str]()
    at = start + 1
    while at < end and not lines[at].startswith("["):
        line, at = lines[at], at + 1
        if name := _FIELD.match(line):
            value = fields.pop(name[1], None)
            if value is None:
                continue
            if tomllib.loads(line) != {name[1]: value}:
                line = f"{name[0]} {_as_toml(value)}{_comment(line)}{newline}"
        body.append(line)
    for line in lines[at:end]:  # subtables stay
        if name := re.match(rf"\[{key}\.{NAME}\.(\w+)", line):
            fields.pop(name[1], None)
    new = (f"{name} = {_as_toml(value)}{newline}" for name, value in fields.items())
    return "".join([*lines[: start + 1], *new, *body, *lines[at:]])


def _comment(line: str) -> str:
    """The comment after a field, with a blank before it."""
    for mark in re.finditer("#", line):
        with contextlib.suppress(ValueError):
            tomllib.loads(line[: mark.start()])
            return f" {line[mark.start() :].rstrip()}"
    return ""


def _take_toml(text: str, key: str) -> str:
    """Remove our table, and the line break that was added before it."""
    start, end, lines = _table(text, key)
    before, after = "".join(lines[:start]), "".join(lines[end:])
    if not after or before.endswith(("\n\n", "\n\r\n")):
        before = before.removesuffix("\n").removesuffix("\r")
    return before + after


def _as_toml(value: object) -> str:
    """A value on one line."""
    if isinstance(value, dict):
        inner = (f"{name} = {_as_toml(item)}" for name, item in value.items())
        return f"{{ {', '.join(inner)} }}"
    return json.dumps(value, ensure_ascii=False, default=str)


def _table(text: str, key: str) -> tuple[int, int, list[str]]:
    """The range of lines of our table and its subtables, without the blanks and comments before the next table."""
    lines = _LINE.findall(text)
    heading = re.compile(rf"\[{key}\.{NAME}(?:\.[^\]]*)?\]")
    start = next((n for n, line in enumerate(lines) if heading.match(line)), len(lines))
    end = start
    for number, line in enumerate(lines[start:], start):
        if line.startswith("[") and not heading.match(line):
            break
        if line.strip() and not line.startswith("#"):
            end = number + 1
    return start, end, lines


_JSON = _Form(
    lambda text: parse(text).value,
    lambda text, key, entry: put(text, {key: {NAME: entry}}),
    lambda text, key: take(text, find(text, parse(text), key, NAME)[1]),
)
_TOML = _Form(tomllib.loads, _put_toml, _take_toml)


# A memory on another machine: the address and the token of its HTTP door. A token gives anybody access. So it is only
# written to files that only their owner can read and that are not in a Git repository, and never printed.

_MCP = re.compile(r"/mcp(?:/[^/]+)?\Z")
_VARIABLE = re.compile(r"env:[A-Za-z_][A-Za-z0-9_]*\Z")


def is_secret(token: str) -> bool:
    """Whether it is the token itself, not the name of a variable."""
    return not _VARIABLE.match(token)


def door(address: str, token: str | None) -> tuple[str, str]:
    """The URL of the door on the command line, and its token or the variable that holds it, env:NAME; without --token,
    the token is read from stdin. Raises UsageError."""
    try:
        url = urls.check_url(address).rstrip("/")
    except ValueError:
        url = ""
    if not url:
        example = "https://notes.example.org/mcp"
        raise UsageError(f"--remote takes the address of a door, such as {example}")
    if urls.is_plaintext(url):
        raise UsageError(f"{url}: the token would be sent unencrypted; use https")
    text = (_read() if token in (None, "-") else token or "").strip()
    if not text.isascii() or not text.isprintable() or not text or set(text) & set(' "\\'):
        what = "a token of that door (vaultmem token add, there), or env:NAME"
        raise UsageError(f"--token takes {what}")
    return url if _MCP.search(urlsplit(url).path) else f"{url}/mcp", text


def _read() -> str:
    """The token from stdin: command lines are visible to other programs, and stored by shells."""
    if is_terminal(sys.stdin):
        from getpass import getpass

        return getpass("Token: ")
    return sys.stdin.readline()


def make_private(path: str) -> None:
    """Make the file for a token readable by its owner only. Raises VaultmemError for one in a Git repository."""
    real = os.path.realpath(path)
    if _is_in_git(real):
        raise VaultmemError(
            f"{real} is in a Git repository, where the token would be committed: name a variable that holds it, "
            "--token env:NAME, or let .gitignore name the file"
        )
    try:
        if os.path.exists(real):
            os.chmod(real, os.stat(real).st_mode & 0o700)
        else:
            os.makedirs(os.path.dirname(real), exist_ok=True)
            os.close(os.open(real, os.O_WRONLY | os.O_CREAT, 0o600))
    except OSError as error:
        raise VaultmemError(f"{real} cannot be written: {error.strerror}") from error


def _is_in_git(real: str) -> bool:
    """Whether a Git repository would include the file."""
    folder = paths.repository(os.path.dirname(real))
    if not folder:
        return False
    try:
        # The settings of a repository can name a program to run, whoever made it.
        git = ["git", "-c", "core.fsmonitor=false", "-C", folder]
        command = [*git, "check-ignore", "-q", real]
        return subprocess.run(command, capture_output=True, check=False).returncode != 0
    except OSError:
        return True
