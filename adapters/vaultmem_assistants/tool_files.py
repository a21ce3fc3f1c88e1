"""The memory folder as the memory tool sees it: maps its paths to files on disk, and reads their text."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import unquote

from vaultmem.adapter import Properties
from vaultmem.errors import VaultmemError
from vaultmem.memories import access
from vaultmem.memories.store import Session
from vaultmem.notes import frontmatter, pages
from vaultmem.notes.places import ARCHIVE, OUTLINE, is_in, is_reserved
from vaultmem.text.titles import free_path, safe_title
from vaultmem.vault.files import CAP, decode, open_inside
from vaultmem.vault.walk import nfc

ROOT = "/memories"
BY = "assistant"  # the default assistant
FILENAME = "filename"  # the property for the name of a file that is not valid on disk
_ODD = re.compile(r"[\x00-\x1f\x7f\u2028\u2029\ud800-\udfff\\]")
_UNPORTABLE = re.compile(r'[<>:"|?*]|[ .]$|^(?:CON|PRN|AUX|NUL|COM\d|LPT\d)(?:\.|$)', re.IGNORECASE)
_LONGEST_PART, _LONGEST_PATH = 240, 1_000


def inner_path(path: str) -> str:
    """The path in the memory folder, "" for the folder itself. Raises VaultmemError for a path outside it."""
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise VaultmemError(f"Path must start with {ROOT}, got: {path[:_LONGEST_PATH]}")
    for spelled in (path, unquote(path), unquote(unquote(path))):
        if ".." in re.split(r"[/\\]", spelled) or "\0" in spelled:
            raise VaultmemError(f"Path {path[:_LONGEST_PATH]} would escape {ROOT} directory")
    parts = [part for part in path[len(ROOT) :].split("/") if part not in ("", ".")]
    is_odd = any(_ODD.search(part) or len(part.encode()) > _LONGEST_PART for part in parts)
    if len(path) > _LONGEST_PATH or is_odd:
        raise VaultmemError(f"Path {path[:_LONGEST_PATH]!r} cannot be that of a file")
    return "/".join(parts)


def is_unportable(part: str) -> bool:
    """Whether a file name is invalid on some system: the vault may also be on a phone and on Windows."""
    return _UNPORTABLE.search(part) is not None


def is_hidden(path: str) -> bool:
    """Whether it is hidden from the tool: the archive, conversations, generated pages, and what editors hide."""
    return is_reserved(path) or is_in(path, ARCHIVE)


class Place(NamedTuple):
    """An existing file or folder."""

    inner: str  # path in the memory folder for the tool
    path: str  # path in the vault on disk
    is_folder: bool


class Folder:
    """The memory folder as the tool sees it."""

    def __init__(self, session: Session) -> None:
        if not session.viewer.name:  # only models use the tool
            session.viewer = access.viewer(BY)
        self._session = session
        self.path = session.store.folder
        self._named: dict[tuple[str, str], str] = {}  # paths of files by folder and filename
        self._names: dict[str, str] = {}  # filenames by path
        self._private: dict[str, bool] = {}  # whether a file is private, by path
        for memory in session.store.collection.live():
            self._private[memory.path] = not session.sees(memory)
            name = "" if self._private[memory.path] else memory.text(FILENAME)
            if name and "/" not in name:
                where = memory.path.rpartition("/")[0]
                if self._named.setdefault((where, name), memory.path) == memory.path:
                    self._names[memory.path] = name

    def find(self, inner: str) -> Place | None:
        """The file or folder at a path; None for hidden ones and links."""
        return self._at(inner) or (None if inner.isascii() else self._at(nfc(inner)))  # as new ones

    def _at(self, inner: str) -> Place | None:
        if inner and is_hidden(inner):
            return None
        path = f"{self.path}/{inner}" if inner else self.path
        where, _, name = path.rpartition("/")
        named = self._named.get((where, name)) if inner else None
        if named is not None and not self._is_withheld(named):
            return Place(inner, named, is_folder=False)
        full = f"{self._session.store.vault}/{path}"
        if path in self._names or self._has_link(path):
            return None
        if os.path.isdir(full):
            return Place(inner, path, is_folder=True)
        if not os.path.isfile(full) or self._is_withheld(path):
            return None
        return Place(inner, path, is_folder=False)

    def _is_withheld(self, path: str) -> bool:
        """Whether a file is private according to its current content, or unreadable."""
        try:
            text = decode(self._bytes(path, CAP))[0]
        except FileNotFoundError:
            return False
        except OSError:
            return True
        page = pages.read(self.style(path) or "frontmatter", text)
        hidden = access.hidden(page.properties, self._session.viewer, memory=True)
        return page.error is not None or bool(hidden)

    def _has_link(self, path: str) -> bool:
        full = self._session.store.vault
        for part in path.split("/"):
            full = f"{full}/{part}"
            if os.path.islink(full):
                return True
        return False

    def new(self, inner: str) -> tuple[str, str | None]:
        """A free path in the vault for a new file, and its property `filename` if it needs one."""
        parts = inner.split("/")
        for depth in range(1, len(parts)):
            result = self.find("/".join(parts[:depth]))
            if result is not None and not result.is_folder:
                raise VaultmemError(f"The path {ROOT}/{result.inner} is not a directory.")
        if is_hidden(inner):
            raise VaultmemError(f"{ROOT}/{inner} is reserved; choose another name")
        if self._has_link(f"{self.path}/{inner}"):
            raise VaultmemError("Path would escape /memories directory via symlink")
        *folders, name = parts
        for part in folders:
            if is_unportable(part):
                raise VaultmemError(f"No folder can be called {part} on every system; choose another name")  # fmt: skip
        file_name = nfc(name).removesuffix(".md")
        file_name = f"{safe_title(file_name) if is_unportable(file_name) else file_name}.md"
        preferred = "/".join((self.path, *map(nfc, folders), file_name))
        path = free_path(preferred, self._session.store.new_id(), self._session.view.exists)
        return path, None if path.rpartition("/")[2] == name else name

    def inside(self, place: Place, depth: int) -> Iterator[Place]:
        """Yield the contents of a folder, `depth` levels deep, by name."""
        try:
            with os.scandir(f"{self._session.store.vault}/{place.path}") as entries:
                result = [entry for entry in entries if not entry.is_symlink()]
        except OSError:
            return
        named = []
        for each in result:
            path = f"{place.path}/{each.name}"
            if each.is_file() and self._private.get(path) is not False and self._is_withheld(path):
                continue
            name = self._names.get(path, each.name)
            inner = f"{place.inner}/{name}" if place.inner else name
            if not is_hidden(inner) and (each.is_dir() or each.is_file()):
                named.append(Place(inner, path, each.is_dir()))
        for file in sorted(named, key=lambda place_: place_.inner.rpartition("/")[2]):
            yield file
            if file.is_folder and depth > 1:
                yield from self.inside(file, depth - 1)

    def size(self, place: Place) -> int:
        """The size in bytes of the text of a file, or of a folder on disk."""
        if not place.is_folder:
            try:
                return len(self.text(place).encode())
            except VaultmemError:
                pass
        return os.stat(f"{self._session.store.vault}/{place.path}").st_size

    def data(self, place: Place) -> bytes:
        """The bytes of a file."""
        try:
            return self._bytes(place.path)
        except OSError as error:
            raise VaultmemError(f"The path {ROOT}/{place.inner} does not exist.") from error

    def _bytes(self, path: str, most: int = -1) -> bytes:
        with os.fdopen(open_inside(self._session.store.vault, path), "rb") as file:
            return file.read(most)

    def text(self, place: Place) -> str:
        """The exact text of a file without its properties; an outline as lines."""
        style = self.style(place.path)
        try:
            result = self.data(place).decode()
        except UnicodeDecodeError as error:
            raise VaultmemError(f"path {f'{ROOT}/{place.inner}'!r} is not valid utf-8") from error
        if style == OUTLINE:
            return pages.read(style, result.removeprefix("\ufeff").replace("\r\n", "\n")).content
        block = frontmatter.locate(result) if style else None
        return result[block.body :] if block else result

    def style(self, path: str) -> str:
        """The page style at a path; "" for files that are not pages."""
        return self._session.store.rules.page_style(path) if path.lower().endswith(".md") else ""


def compose_file(style: str, properties: Properties, content: str) -> bytes:
    """The bytes of a new file with this text."""
    if style == OUTLINE:
        return pages.compose(style, properties, content)
    return _with_text(pages.compose(style, properties, ""), content)


def edited(style: str, data: bytes, sets: Properties, content: str) -> bytes:
    """The bytes of a file with another text and these properties set."""
    if style == OUTLINE:
        return pages.edit(style, data, sets, content)
    return _with_text(pages.edit(style, data, sets, None), content)


def _with_text(data: bytes, content: str) -> bytes:
    result = data.decode()
    block = frontmatter.locate(result)
    assert block is not None  # it holds properties
    return (result[: block.body] + content).encode()
