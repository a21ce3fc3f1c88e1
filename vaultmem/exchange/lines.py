"""Memories as JSON lines: in our own shape, which preserves a file byte for byte, and in those of two other programs.

{"id": …, "path": …, "archived": …, "properties": {…}, "content": …, "file": {"style": …, "base64": …}}

`path` is relative to the memory folder. `file` is present if rewriting the properties and content would not reproduce
the file's bytes.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Callable, Iterator
from typing import BinaryIO

from vaultmem.adapter import Value
from vaultmem.errors import VaultmemError
from vaultmem.light import NamedTuple
from vaultmem.memories.access import SCOPE
from vaultmem.memories.model import CATEGORIES, DEFAULT_SCOPE, INBOX, POLICIES, MemoryRecord
from vaultmem.notes.places import ARCHIVE, is_reserved, phase_of, portable
from vaultmem.text.times import seconds, stamp

Json = dict[str, object]
JSONL, MEMORIES, MEMORY_CLI = "jsonl", "memories", "memory-cli"
SHAPES = (JSONL, MEMORIES, MEMORY_CLI)
LONGEST_ID = 200
_DEEPEST = 20  # nesting of lists and objects in a property
_MOST_VALUES = 10_000
_LONGEST_PATH, _LONGEST_PART = 1_000, 255
_CONTROL = re.compile(r"[\x00-\x1f\x7f\u2028\u2029\ud800-\udfff\\]")
_NO_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_LINE_ENDS = re.compile("[\x85\u2028\u2029]")  # line ends for many readers
_KNOWN = ("id", "path", "archived", "properties", "content", "file")


class File(NamedTuple):
    """The bytes of a file, and its page style (notes.pages)."""

    style: str
    data: bytes


class Exchanged(NamedTuple):
    """A memory on its way from one vault to another."""

    id: str  # "" if none is named
    path: str  # in the memory folder; "" if none is named
    archived: bool
    properties: dict[str, Value]
    content: str
    file: File | None = None
    links: tuple[str, ...] = ()  # ids of other memories, in shapes that link by id


def line_of(memory: Exchanged) -> str:
    """The memory as a line in our shape, without a line end."""
    result: Json = {
        "id": memory.id, "path": memory.path, "archived": memory.archived, "properties": memory.properties,
        "content": memory.content,
    }  # fmt: skip
    if memory.file is not None:
        data = base64.b64encode(memory.file.data).decode()
        result["file"] = {"style": memory.file.style, "base64": data}
    return json_line(result)


def json_line(result: object) -> str:
    """JSON on one line that any UTF-8 reader accepts; numbers that JSON lacks become null."""
    try:
        line = json.dumps(result, ensure_ascii=False, allow_nan=False)
    except ValueError:
        line = json.dumps(_finite(result), ensure_ascii=False)
    if _SURROGATES.search(line):
        return json.dumps(json.loads(line))
    return _LINE_ENDS.sub(lambda end: f"\\u{ord(end[0]):04x}", line)


def _finite(result: object) -> object:
    if isinstance(result, float):
        return result if result - result == 0 else None
    if isinstance(result, dict):
        return {key: _finite(value) for key, value in result.items()}
    return [_finite(item) for item in result] if isinstance(result, list) else result


def parse_line(line: str) -> Json:
    """A line as a JSON object. Raises VaultmemError for any other line."""
    try:
        result = json.loads(line, parse_constant=_no_number)
    except RecursionError as error:
        raise VaultmemError("it is nested too deeply") from error
    except ValueError as error:
        raise VaultmemError("it is not JSON") from error
    if not isinstance(result, dict):
        raise VaultmemError("it is not a JSON object")
    return result


def _no_number(word: str) -> float:
    raise ValueError(word)


def memory(result: Json) -> Exchanged:
    """The memory of a line in our shape. Raises VaultmemError with the reason if it is invalid."""
    if unknown := result.keys() - set(_KNOWN):
        raise VaultmemError(
            f"it has {min(unknown)[:40]!r}, which is not a known field{_advice(result)}"
        )
    if missing := next((name for name in ("content", "properties") if name not in result), ""):
        raise VaultmemError(f'it has no "{missing}"{_advice(result)}')
    archived = result.get("archived", False)
    if not isinstance(archived, bool):
        raise VaultmemError('"archived" is not true or false')
    path = inner_path(text_field(result, "path")) if result.get("path") else ""
    properties = checked_properties(result["properties"])
    id_ = checked_id(text_field(result, "id")) if result.get("id") else ""
    return Exchanged(id_, path, archived, properties, text_field(result, "content"), _file(result))


def _advice(result: Json) -> str:
    """The hint "; --format … reads it" for a line in another program's shape, else ""."""
    shapes = {MEMORIES: _MEMORIES_READ, MEMORY_CLI: {*_CLI_FIELDS, "ContentHash"}}
    fits = (shape for shape, fields in shapes.items() if result and result.keys() <= fields)
    return f"; --format {shape} reads it" if (shape := next(fits, "")) else ""


def text_field(result: Json, name: str) -> str:
    """A text field of a line; "" if it is missing. Raises VaultmemError if it is not text."""
    if not isinstance(value := result.get(name), str | None):
        raise VaultmemError(f'"{name}" is not text')
    return value or ""


def checked_content(raw: str) -> str:
    """The content, if a memory can hold it. Raises VaultmemError for control characters."""
    if odd := _NO_TEXT.search(raw):
        raise VaultmemError(
            f"its content holds a control character (U+{ord(odd[0]):04X} at character {odd.start() + 1})"
        )
    return raw


def checked_id(raw: str) -> str:
    """The id, if a property can hold it. Raises VaultmemError otherwise."""
    id_ = raw.strip()
    if not id_.isprintable() or not 0 < len(id_) <= LONGEST_ID:
        raise VaultmemError(f'"id" must be one line of at most {LONGEST_ID} characters')
    return id_


def inner_path(raw: str) -> str:
    """The path, in a form valid on any system. Raises VaultmemError for one that a memory may not have."""
    what = f"its path {raw[:60]!r}"
    if _CONTROL.search(raw) or len(raw) > _LONGEST_PATH:
        raise VaultmemError(f"{what} is not a valid relative path")
    path = portable(raw)
    parts = path.split("/")
    if any(not 0 < len(part.encode()) <= _LONGEST_PART for part in parts):
        raise VaultmemError(f"{what} is not a valid relative path")
    if any(part.startswith(".") or part != part.strip() for part in parts):
        raise VaultmemError(f"{what} is hidden, or leads out of the folder")
    if is_reserved(path) or not path.lower().endswith(".md"):
        raise VaultmemError(f"{what} is not a path for memories")
    return path


def in_archive(path: str) -> bool:
    """Whether a path in the memory folder is in the archive."""
    return path.startswith(f"{ARCHIVE}/")


def checked_properties(raw: object) -> dict[str, Value]:
    """The properties, if a page can hold them. Raises VaultmemError if they are nested too deeply or too many."""
    if not isinstance(raw, dict):
        raise VaultmemError('"properties" is not an object')
    left: list[tuple[object, int]] = [(raw, 0)]  # no recursion, as nesting may be deep
    count = 0
    while left:
        value, depth = left.pop()
        count += 1
        if depth > _DEEPEST or count > _MOST_VALUES:
            raise VaultmemError("it has too many properties, or they are nested too deeply")
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()  # fmt: skip
        left += [(inner_value, depth + 1) for inner_value in inner]
    return raw


def _file(result: Json) -> File | None:
    if (raw := result.get("file")) is None:
        return None
    if not isinstance(raw, dict) or raw.keys() != {"style", "base64"}:
        raise VaultmemError('"file" must have "style" and "base64"')
    try:
        data = base64.b64decode(text_field(raw, "base64"), validate=True)
    except (binascii.Error, ValueError) as error:
        raise VaultmemError('"file" does not hold base64') from error
    return File(text_field(raw, "style"), data)


# Reads a file line by line, whatever it contains: huge lines are skipped, broken ones reported.

LONGEST = 16_000_000  # bytes of a line: a note of four megabytes, as text and in base64
_PART = 1 << 16


class Line(NamedTuple):
    """One non-empty line: a memory, or an error."""

    number: int
    size: int
    memory: Exchanged | None
    problem: str = ""


def lines_of(file: BinaryIO, shape: str) -> Iterator[Line]:
    """Yield all non-empty lines of a file."""
    number = 0
    while data := file.readline(LONGEST + 1):
        number += 1
        if len(data) > LONGEST and not data.endswith(b"\n"):
            while (rest := file.readline(_PART)) and not rest.endswith(b"\n"):
                pass
            yield Line(number, 0, None, f"it is longer than {LONGEST:,} bytes")
            continue
        if number == 1:
            data = data.removeprefix(b"\xef\xbb\xbf")
        if shape != JSONL and data.strip() == b"{":  # one object over many lines, as jq prints it
            data += file.read(LONGEST)
        if data.strip():
            yield from _memories_of(number, data, shape)


def _memories_of(number: int, data: bytes, shape: str) -> Iterator[Line]:
    """The memory of one line, or all results of a search of **memories** (its section 4.2)."""
    try:
        result = parse_line(data.decode())
    except UnicodeDecodeError:
        yield Line(number, len(data), None, "it is not UTF-8")
        return
    except VaultmemError as error:
        yield Line(number, len(data), None, str(error))
        return
    results = result.get("results") if shape == MEMORIES and "content" not in result else None
    if not isinstance(results, list):
        results = [result]
    for item in results:
        if not isinstance(item, dict):
            yield Line(number, 0, None, "one of its results is not a JSON object")
            continue
        try:
            yield Line(number, len(data) // len(results), READERS[shape](item))
        except VaultmemError as error:
            yield Line(number, 0, None, str(error))


# Memories in the shapes of two other programs, the "memories" and "memory-cli" seeds, as objects of JSON.

_NEVER = "0001-01-01T00:00:00Z"  # Go's zero time
_FRACTION = re.compile(r"(\.\d{6})\d+")  # nanoseconds, of which six digits are read
_NO_TAG = re.compile(r"[\s,#\[\]\"']")
# The fields of **memories** (sections 4.2 and 3.1), which have the same names as ours.
_MEMORIES_FIELDS = (
    "id", "content", "agent", "personality", "project", "type", "global", "decay_policy", "confidence", "created_at",
    "last_reinforced_at", "deleted",
)  # fmt: skip
_MEMORIES_READ = {*_MEMORIES_FIELDS, "similarity", "results", "count"}
# The fields of the struct Memory of **memory-cli** as Go writes them, and ours.
_CLI_FIELDS = {
    "ID": "id", "Content": "content", "Phase": "phase", "Category": "category", "Scope": "scope", "Tags": "tags",
    "Source": "source", "CreatedAt": "created_at", "UpdatedAt": "updated_at", "ExpiresAt": "expires_at",
    "AccessCount": "access_count", "Links": "links", "Version": "version",
}  # fmt: skip


def to_memories(record: MemoryRecord) -> Json:
    """A memory as **memories** prints it."""
    fields: Json = {**record}
    exported = {name: fields[name] for name in _MEMORIES_FIELDS}
    return exported | {"last_reinforced_at": record["last_reinforced_at"] or ""}


def to_memory_cli(record: MemoryRecord) -> Json:
    """A memory as **memory-cli** writes it."""
    fields: Json = {**record}
    hash_ = hashlib.sha256(record["content"].encode("utf-8", "replace")).hexdigest()
    return {theirs: fields[ours] for theirs, ours in _CLI_FIELDS.items()} | {"ContentHash": hash_}


def from_memories(result: Json) -> Exchanged:
    """The memory of a line of **memories**. Confidence is computed, never stored."""
    id_, content = _identity(result)
    policy = text_field(result, "decay_policy").strip().lower()
    if policy and policy not in POLICIES:
        raise VaultmemError(f"its decay policy {policy[:40]!r} is unknown")
    properties: dict[str, Value] = {
        "phase": INBOX,
        "category": INBOX,
        "scope": DEFAULT_SCOPE,
        **{name: _short(result, name) for name in ("agent", "personality", "project", "type")},
        "global": _flag(result, "global") or None,
        "decay_policy": policy,
        **_moments(result, "created_at", "updated_at", "last_reinforced_at"),
    }
    return Exchanged(id_, "", _flag(result, "deleted"), _with_id(id_, properties), content)


def from_memory_cli(result: Json) -> Exchanged:
    """The memory of a line of **memory-cli**, whether its fields are spelled as in Go or as in its files."""
    named = {name.replace("_", "").lower(): value for name, value in result.items()}
    names = {theirs.lower(): ours for theirs, ours in _CLI_FIELDS.items()}
    fields = {ours: named[theirs] for theirs, ours in names.items() if theirs in named}
    id_, content = _identity(fields)
    category = text_field(fields, "category").lower() or INBOX
    if category not in CATEGORIES:
        raise VaultmemError(f"its category {category[:40]!r} is unknown")
    scope = text_field(fields, "scope") or DEFAULT_SCOPE
    if not SCOPE.fullmatch(scope):
        raise VaultmemError(f"its scope {scope[:40]!r} is unknown")
    properties: dict[str, Value] = {
        "phase": phase_of(category),
        "category": category,
        "scope": scope,
        "tags": [_NO_TAG.sub("-", tag.strip().removeprefix("#")) for tag in _texts(fields, "tags")],
        "source": _short(fields, "source"),
        **{name: _count(fields, name) or None for name in ("access_count", "version")},
        # Everything in its inbox expires, and no longer once it is filed; here that would be its own end.
        **_moments(fields, "created_at", "updated_at", "" if category == INBOX else "expires_at"),
    }
    links = tuple(checked_id(text) for text in _texts(fields, "links"))
    return Exchanged(id_, "", False, _with_id(id_, properties), content, links=links)


READERS: dict[str, Callable[[Json], Exchanged]] = {
    JSONL: memory,
    MEMORIES: from_memories,
    MEMORY_CLI: from_memory_cli,
}
WRITERS: dict[str, Callable[[MemoryRecord], Json]] = {
    MEMORIES: to_memories,
    MEMORY_CLI: to_memory_cli,
}


def _identity(result: Json) -> tuple[str, str]:
    if not (content := text_field(result, "content")).strip():
        raise VaultmemError("it has no content")
    return (checked_id(text_field(result, "id")) if result.get("id") else ""), content


def _with_id(id_: str, properties: dict[str, Value]) -> dict[str, Value]:
    """The non-empty properties, with the id first."""
    present = {key: value for key, value in properties.items() if value not in (None, "", [])}
    return {**({"id": id_} if id_ else {}), **present}


def _short(result: Json, name: str) -> str:
    return " ".join(text_field(result, name).split())


def _moments(result: Json, *names: str) -> dict[str, Value]:
    """The times in our format, without those that were never set."""
    moments: dict[str, Value] = {}
    for name in names:
        moment = _FRACTION.sub(r"\1", text_field(result, name))
        if not moment or moment == _NEVER:
            continue
        at = seconds(moment)
        if at is None:
            raise VaultmemError(f'"{name}" is not a time')
        moments[name] = stamp(at)
    if "created_at" in moments:
        moments.setdefault("updated_at", moments["created_at"])
    return moments


def _flag(result: Json, name: str) -> bool:
    if not isinstance(value := result.get(name), bool | None):
        raise VaultmemError(f'"{name}" is not true or false')
    return value or False


def _count(result: Json, name: str) -> int:
    value = result.get(name) or 0
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 53:
        raise VaultmemError(f'"{name}" is not a count')
    return value


def _texts(result: Json, name: str) -> list[str]:
    value = result.get(name) or []
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise VaultmemError(f'"{name}" is not a list of texts')
    return [text for text in value if text.strip()]
