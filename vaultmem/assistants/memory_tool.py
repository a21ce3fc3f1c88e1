"""The memory tool of Anthropic's API as texts: what its paths mean, what it answers, how it edits.

Semantics and messages are those of the local file tool in Anthropic's own Python SDK (memory_20250818), so that a model
finds here what it was taught. Every function raises VaultmemError with the message that the model gets.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import unquote

from vaultmem.adapter import Value
from vaultmem.errors import VaultmemError
from vaultmem.memories import model
from vaultmem.memories.desk import Session
from vaultmem.text.titles import free_path, safe
from vaultmem.vault import frontmatter, pages
from vaultmem.vault.files import CAP, decode, open_inside
from vaultmem.vault.places import ARCHIVE, is_in, is_kept_free
from vaultmem.vault.walk import nfc

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


# What the paths of the memory tool stand for on the disk, and the text of a memory as the tool sees it.

BY = "assistant"  # who asks, where nobody says
FILENAME = "filename"


class Place(NamedTuple):
    """A file or a folder that is there."""

    inner: str  # in the memory folder, as the tool calls it
    path: str  # of the vault, as it is called on the disk
    is_folder: bool


class Places:
    """The memory folder as the tool sees it."""

    def __init__(self, session: Session) -> None:
        if not session.viewer.name:  # only a model speaks to the tool
            session.viewer = model.viewer(BY)
        self.session = session
        self.folder = session.desk.folder
        self._called: dict[tuple[str, str], str] = {}  # the paths of files by folder and filename
        self._names: dict[str, str] = {}  # and their filenames by path
        self._private: dict[str, bool] = {}  # whether the person keeps it from assistants, by path
        for each in session.desk.collection.live():
            self._private[each.path] = not session.sees(each)
            name = "" if self._private[each.path] else each.text(FILENAME)
            if name and "/" not in name:
                where = each.path.rpartition("/")[0]
                self._called.setdefault((where, name), each.path)
                if self._called[where, name] == each.path:
                    self._names[each.path] = name

    def find(self, inner: str) -> Place | None:
        """What is there, if anything; nothing that is hidden, and no links."""
        found = self._at(inner)
        if found is None and not inner.isascii():
            found = self._at(nfc(inner))  # as new files are called
        return found

    def _at(self, inner: str) -> Place | None:
        if inner and is_hidden(inner):
            return None
        path = f"{self.folder}/{inner}" if inner else self.folder
        if inner:
            where, _, name = path.rpartition("/")
            named = self._called.get((where, name))
            if named is not None and not self._is_kept_back(named):
                return Place(inner, named, is_folder=False)
        full = f"{self.session.desk.vault}/{path}"
        if path in self._names or self._has_link(path):
            return None
        if os.path.isdir(full):
            return Place(inner, path, is_folder=True)
        if not os.path.isfile(full) or self._is_kept_back(path):
            return None
        return Place(inner, path, is_folder=False)

    def _is_kept_back(self, path: str) -> bool:
        """Whether a file is not for who asks by its own word of this moment, memory or not; where its properties cannot
        be read, nobody knows."""
        try:
            text = decode(self._bytes(path, CAP))[0]
        except FileNotFoundError:
            return False
        except OSError:
            return True
        page = pages.read(self.style(path) or "frontmatter", text)
        return page.error is not None or bool(
            model.hidden(page.properties, self.session.viewer, memory=True)
        )

    def _has_link(self, path: str) -> bool:
        full = self.session.desk.vault
        for part in path.split("/"):
            full = f"{full}/{part}"
            if os.path.islink(full):
                return True
        return False

    def new(self, inner: str) -> tuple[str, str | None]:
        """A free path of the vault for a new file, and its property `filename` if it needs one."""
        self._refuse_below_files(inner)
        if is_hidden(inner):
            raise VaultmemError(f"{ROOT}/{inner} is reserved; choose another name")
        if self._has_link(f"{self.folder}/{inner}"):
            raise VaultmemError("Path would escape /memories directory via symlink")
        where, _, name = inner.rpartition("/")
        for part in where.split("/"):
            if is_unportable(part):
                raise VaultmemError(f"No folder can be called {part} on every system; choose another name")  # fmt: skip
        own = nfc(name)
        if is_unportable(own.removesuffix(".md")):
            own = safe(own.removesuffix(".md"))
        wanted = "/".join(each for each in (self.folder, nfc(where), own) if each)
        wanted += "" if own.endswith(".md") else ".md"
        path = free_path(wanted, self.session.desk.new_id(), self.session.view.exists)
        return path, None if path.rpartition("/")[2] == name else name

    def _refuse_below_files(self, inner: str) -> None:
        parts = inner.split("/")
        for depth in range(1, len(parts)):
            found = self.find("/".join(parts[:depth]))
            if found is not None and not found.is_folder:
                raise VaultmemError(f"The path {ROOT}/{found.inner} is not a directory.")

    def inside(self, place: Place, depth: int) -> Iterator[Place]:
        """What is in a folder, so many levels deep, by name."""
        try:
            with os.scandir(f"{self.session.desk.vault}/{place.path}") as entries:
                found = [each for each in entries if not each.is_symlink()]
        except OSError:
            return
        named = []
        for each in found:
            path = f"{place.path}/{each.name}"
            if each.is_file() and self._private.get(path) is not False and self._is_kept_back(path):
                continue
            name = self._names.get(path, each.name)
            inner = f"{place.inner}/{name}" if place.inner else name
            if not is_hidden(inner) and (each.is_dir() or each.is_file()):
                named.append(Place(inner, path, each.is_dir()))
        for one in sorted(named, key=lambda one: one.inner.rpartition("/")[2]):
            yield one
            if one.is_folder and depth > 1:
                yield from self.inside(one, depth - 1)

    def size(self, place: Place) -> int:
        """Bytes of what the tool sees of a file; of a folder, what the disk says."""
        if place.is_folder:
            return os.stat(f"{self.session.desk.vault}/{place.path}").st_size
        try:
            return len(self.text(place).encode())
        except VaultmemError:
            return os.stat(f"{self.session.desk.vault}/{place.path}").st_size

    def data(self, place: Place) -> bytes:
        """The bytes of a file."""
        try:
            return self._bytes(place.path)
        except OSError as error:
            raise VaultmemError(f"The path {ROOT}/{place.inner} does not exist.") from error

    def _bytes(self, path: str, most: int = -1) -> bytes:
        with os.fdopen(open_inside(self.session.desk.vault, path), "rb") as file:
            return file.read(most)

    def text(self, place: Place) -> str:
        """What the tool sees of a file."""
        style = self.style(place.path)
        return text_of(style, self.data(place), f"{ROOT}/{place.inner}")

    def style(self, path: str) -> str:
        """How pages are written there; "" for what is none."""
        return self.session.desk.rules.page_style(path) if path.lower().endswith(".md") else ""


def text_of(style: str, data: bytes, path: str) -> str:
    """The text of a file without its properties: to the last byte, but for an outline, whose blocks are its lines."""
    try:
        found = data.decode()
    except UnicodeDecodeError as error:
        raise VaultmemError(f"path {path!r} is not valid utf-8") from error
    if style == pages.OUTLINE:
        return pages.read(style, found.removeprefix("\ufeff").replace("\r\n", "\n")).content
    block = frontmatter.locate(found) if style else None
    return found[block.body :] if block else found


def composed(style: str, properties: Mapping[str, Value], content: str) -> bytes:
    """A new file with this text."""
    if style == pages.OUTLINE:
        return pages.compose(style, properties, content)
    return _with_text(pages.compose(style, properties, ""), content)


def edited(style: str, data: bytes, sets: Mapping[str, Value], content: str) -> bytes:
    """A file with another text, and with these properties."""
    if style == pages.OUTLINE:
        return pages.edited(style, data, sets, content)
    return _with_text(pages.edited(style, data, sets, None), content)


def _with_text(data: bytes, content: str) -> bytes:
    found = data.decode()
    block = frontmatter.locate(found)
    assert block is not None  # there are properties in it
    return (found[: block.body] + content).encode()
