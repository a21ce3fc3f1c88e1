"""Memories as lines of JSON: our own shape, which carries a file to the last byte. Other shapes: core.exchange_shapes.

{"id": …, "path": …, "archived": …, "properties": {…}, "content": …, "file": {"style": …, "base64": …}}

`path` is that in the memory folder. `file` is there where its properties and content, written anew, would be other
bytes than the file has: then these are kept as they are.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from typing import NamedTuple

from vaultmem.adapter import Value
from vaultmem.core.own_names import is_kept_free, portable
from vaultmem.core.places import ARCHIVE
from vaultmem.errors import VaultmemError

JSONL, MEMORIES, MEMORY_CLI = "jsonl", "memories", "memory-cli"
SHAPES = (JSONL, MEMORIES, MEMORY_CLI)
LONGEST_ID = 200
_DEEPEST = 20  # lists and objects in one another that a property may be
_MOST_VALUES = 10_000
_LONGEST_PATH, _LONGEST_PART = 1_000, 255
_CONTROL = re.compile(r"[\x00-\x1f\x7f\u2028\u2029\ud800-\udfff\\]")
_NO_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_LINE_ENDS = re.compile("[\x85\u2028\u2029]")  # for many readers
_KNOWN = ("id", "path", "archived", "properties", "content", "file")


class File(NamedTuple):
    """A file as it is, and how a page is written in it (store.pages)."""

    style: str
    data: bytes


class Exchanged(NamedTuple):
    """A memory on its way from one vault to another."""

    id: str  # "" where none is told
    path: str  # in the memory folder; "" where none is told
    archived: bool
    properties: dict[str, Value]
    content: str
    file: File | None = None
    links: tuple[str, ...] = ()  # ids of others, for shapes that name these


def written(memory: Exchanged) -> str:
    """The line, without its end."""
    found: dict[str, object] = {
        "id": memory.id,
        "path": memory.path,
        "archived": memory.archived,
        "properties": memory.properties,
        "content": memory.content,
    }
    if memory.file is not None:
        data = base64.b64encode(memory.file.data).decode()
        found["file"] = {"style": memory.file.style, "base64": data}
    return json_line(found)


def json_line(found: object) -> str:
    """JSON on one line that any reader of UTF-8 takes; a number that JSON does not know becomes null."""
    try:
        line = json.dumps(found, ensure_ascii=False, allow_nan=False)
    except ValueError:
        line = json.dumps(_finite(found), ensure_ascii=False)
    if any("\ud800" <= letter <= "\udfff" for letter in line):
        return json.dumps(json.loads(line))
    return _LINE_ENDS.sub(lambda end: f"\\u{ord(end[0]):04x}", line)


def _finite(found: object) -> object:
    if isinstance(found, float):
        return found if found - found == 0 else None
    if isinstance(found, dict):
        return {key: _finite(value) for key, value in found.items()}
    return [_finite(each) for each in found] if isinstance(found, list) else found


def parsed(line: str) -> dict[str, object]:
    """A line as an object. Raises VaultmemError, whatever the line is."""
    try:
        found = json.loads(line, parse_constant=_no_number)
    except RecursionError as error:
        raise VaultmemError("it is nested too deeply") from error
    except ValueError as error:
        raise VaultmemError("it is not JSON") from error
    if not isinstance(found, dict):
        raise VaultmemError("it is not an object of JSON")
    return found


def _no_number(word: str) -> float:
    raise ValueError(word)


def memory(found: dict[str, object]) -> Exchanged:
    """The memory of a line in our shape. Raises VaultmemError, which says what is wrong with it."""
    if unknown := found.keys() - set(_KNOWN):
        raise VaultmemError(f"it has {min(unknown)[:40]!r}, which no line has")
    if "properties" not in found or "content" not in found:
        raise VaultmemError('it lacks "properties" or "content"')
    archived = found.get("archived", False)
    if not isinstance(archived, bool):
        raise VaultmemError('"archived" is not true or false')
    path = inner_path(text(found, "path")) if found.get("path") else ""
    properties = checked_properties(found["properties"])
    own = checked_id(text(found, "id")) if found.get("id") else ""
    return Exchanged(own, path, archived, properties, text(found, "content"), _file(found))


def text(found: dict[str, object], name: str) -> str:
    """A text of a line; "" where there is none."""
    given = found.get(name)
    if given is None:
        return ""
    if not isinstance(given, str):
        raise VaultmemError(f'"{name}" is not text')
    return given


def checked_content(given: str) -> str:
    """A text that a memory can hold."""
    if odd := _NO_TEXT.search(given):
        raise VaultmemError(
            f"its content holds a control character (U+{ord(odd[0]):04X} at character {odd.start() + 1})"
        )
    return given


def checked_id(given: str) -> str:
    """An id that a property can hold."""
    own = given.strip()
    if not own.isprintable() or not 0 < len(own) <= LONGEST_ID:
        raise VaultmemError(f'"id" must be one line of at most {LONGEST_ID} characters')
    return own


def inner_path(given: str) -> str:
    """A place in the memory folder where a memory may lie, as any system can have it. Raises VaultmemError for any
    other."""
    said = f"its path {given[:60]!r}"
    if _CONTROL.search(given) or len(given) > _LONGEST_PATH:
        raise VaultmemError(f"{said} is none")
    path = portable(given)
    parts = path.split("/")
    if any(not 0 < len(part.encode()) <= _LONGEST_PART for part in parts):
        raise VaultmemError(f"{said} is none")
    if any(part.startswith(".") or part != part.strip() for part in parts):
        raise VaultmemError(f"{said} is hidden, or leads elsewhere")
    if is_kept_free(path) or not path.lower().endswith(".md"):
        raise VaultmemError(f"{said} is not that of a memory")
    return path


def in_archive(path: str) -> bool:
    """Whether a path in the memory folder lies in the archive."""
    return path.startswith(f"{ARCHIVE}/")


def checked_properties(given: object) -> dict[str, Value]:
    """Properties that a page can hold, as far as their form goes."""
    if not isinstance(given, dict):
        raise VaultmemError('"properties" is not an object')
    _measure(given)
    found: dict[str, Value] = given
    return found


def _measure(given: object) -> None:
    """Walk through all values without recursion."""
    left: list[tuple[object, int]] = [(given, 0)]
    count = 0
    while left:
        value, depth = left.pop()
        count += 1
        if depth > _DEEPEST or count > _MOST_VALUES:
            raise VaultmemError("its properties are nested too deeply, or too many")
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()  # fmt: skip
        left += [(each, depth + 1) for each in inner]


def _file(found: dict[str, object]) -> File | None:
    given = found.get("file")
    if given is None:
        return None
    if not isinstance(given, dict) or given.keys() != {"style", "base64"}:
        raise VaultmemError('"file" must have "style" and "base64"')
    try:
        data = base64.b64decode(text(given, "base64"), validate=True)
    except (binascii.Error, ValueError) as error:
        raise VaultmemError('"file" holds no base64') from error
    return File(text(given, "style"), data)
