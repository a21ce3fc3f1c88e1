"""The memory tool of Anthropic's API as texts: what its paths mean, what it answers, how it edits.

Semantics and messages are those of the local file tool in Anthropic's own Python SDK (memory_20250818), so that a model
finds here what it was taught. Every function raises VaultmemError with the message that the model gets.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from urllib.parse import unquote

from vaultmem.core.own_names import is_in, is_kept_free
from vaultmem.core.places import ARCHIVE
from vaultmem.errors import VaultmemError

ROOT = "/memories"
MOST_BYTES = 262_144  # of a text, as of any memory
MOST_LINES = 999_999
MOST_LISTED = 1_000  # files and folders that one look at a folder shows
_WIDTH = len(str(MOST_LINES))
_AROUND = 2  # lines before and behind a change that are shown
_ODD = re.compile(r"[\x00-\x1f\x7f\u2028\u2029\ud800-\udfff\\]")
_UNPORTABLE = re.compile(r'[<>:"|?*]|[ .]$|^(?:CON|PRN|AUX|NUL|COM\d|LPT\d)(?:\.|$)', re.IGNORECASE)
_NO_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_LONGEST_PART, _LONGEST_PATH = 240, 1_000


def command_of(given: str) -> dict[str, object]:
    """A command as it travels: an object of JSON."""
    try:
        found = json.loads(given)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise VaultmemError("a command of the memory tool is an object of JSON")
    return found


def text(command: dict[str, object], name: str) -> str:
    """A text of a command, to the last blank."""
    given = command.get(name)
    if not isinstance(given, str):
        raise VaultmemError(f"`{name}` is missing, or not text")
    return given


def checked(content: str) -> str:
    """A text that a memory can hold."""
    odd = _NO_TEXT.search(content)
    if odd:
        raise VaultmemError(f"The text holds a control character (U+{ord(odd[0]):04X}).")
    size = len(content.encode())
    if size > MOST_BYTES:
        raise VaultmemError(f"The text has {size:,} bytes; a memory has at most {MOST_BYTES:,}.")
    return content


def inner(path: str) -> str:
    """The path in the memory folder, "" for the folder itself. What leads out of it is refused, however it is
    written."""
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise VaultmemError(f"Path must start with {ROOT}, got: {path[:_LONGEST_PATH]}")
    for spelled in (path, unquote(path), unquote(unquote(path))):
        if ".." in re.split(r"[/\\]", spelled) or "\0" in spelled:
            raise VaultmemError(f"Path {path[:_LONGEST_PATH]} would escape {ROOT} directory")
    parts = [part for part in path[len(ROOT) :].split("/") if part not in ("", ".")]
    if len(path) > _LONGEST_PATH or any(map(_is_odd, parts)):
        raise VaultmemError(f"Path {path[:_LONGEST_PATH]!r} cannot be that of a file")
    return "/".join(parts)


def _is_odd(part: str) -> bool:
    return _ODD.search(part) is not None or len(part.encode()) > _LONGEST_PART


def is_unportable(part: str) -> bool:
    """Whether some system has no file of that name: the vault may be on a phone and on Windows as well."""
    return _UNPORTABLE.search(part) is not None


def is_hidden(path: str) -> bool:
    """Whether what lies there is none of the tool's business: the archive, conversations, pages that are written by
    vaultmem, and what is hidden from editors."""
    return is_kept_free(path) or is_in(path, ARCHIVE)


def missing(path: str) -> VaultmemError:
    """Nothing is there."""
    return VaultmemError(f"The path {path} does not exist. Please provide a valid path.")


# --- What is shown


def numbered(path: str, content: str, view_range: object) -> str:
    """A file with line numbers; `view_range` is [first, last], where -1 means the end."""
    lines = content.split("\n")
    if len(lines) > MOST_LINES:
        raise VaultmemError(f"File {path} exceeds maximum line limit of {MOST_LINES:,} lines.")
    first, last = 0, len(lines)
    match view_range:
        case [int() as one, int() as other]:
            first, last = max(1, one) - 1, last if other == -1 else other
    shown = _numbered(lines[first:last], first + 1)
    return f"Here's the content of {path} with line numbers:\n" + "\n".join(shown)


def _numbered(lines: Sequence[str], first: int) -> list[str]:
    return [f"{number:>{_WIDTH}}\t{line}" for number, line in enumerate(lines, first)]


def listing(path: str, size: int, items: Sequence[tuple[int, str]]) -> str:
    """A folder: its size and what is in it."""
    head = (
        f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden items:"
    )
    lines = [f"{spoken_size(each)}\t{path}/{name}" for each, name in items[:MOST_LISTED]]
    if len(items) > MOST_LISTED:
        lines.append(f"(and {len(items) - MOST_LISTED:,} more; view one of the directories)")
    return "\n".join([head, f"{spoken_size(size)}\t{path}", *lines])


def spoken_size(size: int) -> str:
    """Bytes as the tool tells them: 0B, 17B, 1.5K."""
    power = min(max(size.bit_length() - 1, 0) // 10, 3)
    number: float = size / 1024**power
    return (f"{int(number)}" if number == int(number) else f"{number:.1f}") + "BKMG"[power]


# --- What is edited


def replaced(path: str, content: str, old: str, new: str) -> tuple[str, str]:
    """The text with another one in place of `old`, which must stand in it once; and what the model is told."""
    count = content.count(old)
    if count == 0:
        raise VaultmemError(
            f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}."
        )
    if count > 1:
        lines = ", ".join(map(str, _lines_with(content, old)))
        raise VaultmemError(
            f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {lines}. "
            "Please ensure it is unique"
        )
    at = content[: content.find(old)].count("\n")
    after = content.replace(old, new)
    first = max(0, at - _AROUND)
    snippet = _numbered(after.split("\n")[first : at + _AROUND + 1], first + 1)
    told = "The memory file has been edited. Here is the snippet showing the change (with line numbers):"
    return after, "\n".join([told, *snippet])


def _lines_with(content: str, old: str) -> list[int]:
    found = []
    at = content.find(old)
    while at != -1:
        found.append(content[:at].count("\n") + 1)
        at = content.find(old, at + 1)
    return found


def inserted(content: str, line: object, new: str) -> str:
    """The text with lines put in behind so many."""
    lines = content.split("\n")
    if lines[-1] == "":
        lines.pop()
    if isinstance(line, bool) or not isinstance(line, int) or not 0 <= line <= len(lines):
        raise VaultmemError(
            f"Invalid `insert_line` parameter: {line}. It should be within the range [0, {len(lines)}]."
        )
    lines.insert(line, new.rstrip("\n"))
    after = "\n".join(lines)
    return after if after.endswith("\n") else f"{after}\n"
