"""What the paths of the memory tool stand for on the disk, and the text of a memory as the tool sees it.

A memory is a note, so a file that is called progress.txt by the tool is progress.txt.md here, and its property
`filename` says how it is called; likewise where some system has no such name (a:b.md). Properties are not shown to the
tool, and kept when it edits.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from vaultmem.adapter import Value
from vaultmem.core import access, memory_tool
from vaultmem.core.titles import free_path, safe
from vaultmem.errors import VaultmemError
from vaultmem.memories.desk import Session
from vaultmem.store import frontmatter, pages
from vaultmem.store.inside import open_inside
from vaultmem.store.vault import CAP, decode
from vaultmem.store.walk import nfc

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
            session.viewer = access.viewer(BY)
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
        if inner and memory_tool.is_hidden(inner):
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
            access.hidden(page.properties, self.session.viewer, memory=True)
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
        if memory_tool.is_hidden(inner):
            raise VaultmemError(f"{memory_tool.ROOT}/{inner} is reserved; choose another name")
        if self._has_link(f"{self.folder}/{inner}"):
            raise VaultmemError("Path would escape /memories directory via symlink")
        where, _, name = inner.rpartition("/")
        for part in where.split("/"):
            if memory_tool.is_unportable(part):
                raise VaultmemError(f"No folder can be called {part} on every system; choose another name")  # fmt: skip
        own = nfc(name)
        if memory_tool.is_unportable(own.removesuffix(".md")):
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
                raise VaultmemError(
                    f"The path {memory_tool.ROOT}/{found.inner} is not a directory."
                )

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
            if not memory_tool.is_hidden(inner) and (each.is_dir() or each.is_file()):
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
            raise VaultmemError(
                f"The path {memory_tool.ROOT}/{place.inner} does not exist."
            ) from error

    def _bytes(self, path: str, most: int = -1) -> bytes:
        with os.fdopen(open_inside(self.session.desk.vault, path), "rb") as file:
            return file.read(most)

    def text(self, place: Place) -> str:
        """What the tool sees of a file."""
        style = self.style(place.path)
        return text_of(style, self.data(place), f"{memory_tool.ROOT}/{place.inner}")

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
