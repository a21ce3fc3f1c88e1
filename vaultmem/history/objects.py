"""Loose objects of a Git repository: one compressed file each, named by the hash of its content.

They are written and read here without a process. When git tidies up, it moves them to packs, which only git can read.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import tempfile
import zlib
from collections.abc import Callable, Iterator

BLOB, TREE, COMMIT = "blob", "tree", "commit"
SHORT = 16  # digits of a name
_FEW = 50  # files that are flushed one by one
_FILE, _FOLDER = b"100644", b"40000"  # modes
_ENTRY = re.compile(rb"(\d+) ([^\0]+)\0(.{20})", re.DOTALL)


def blob_id(data: bytes) -> str:
    """Git's blob id for these bytes."""
    return object_id(BLOB, data)


def short_id(data: bytes) -> str:
    """The first digits of the blob id, enough to tell contents apart."""
    return blob_id(data)[:SHORT]


def object_id(kind: str, data: bytes) -> str:
    """The id of an object with this content."""
    return _hash(_whole(kind, data))


def _whole(kind: str, data: bytes) -> bytes:
    return b"%s %d\0%s" % (kind.encode(), len(data), data)


def _hash(whole: bytes) -> str:
    return hashlib.sha1(whole, usedforsecurity=False).hexdigest()


class Objects:
    """New objects of a repository, which appear in it only with put_in_place(). Methods raise OSError."""

    def __init__(self, folder: str) -> None:
        self._folder = f"{folder}/objects"
        self._fresh: dict[str, str] = {}  # ids by path of the temporary file

    def store(self, kind: str, data: bytes) -> str:
        """Write an object to a temporary file, with a name that `git prune` recognizes. Returns its id."""
        handle, fresh = tempfile.mkstemp(prefix="tmp_obj_", dir=self._folder)
        whole = _whole(kind, data)
        id_ = self._fresh[fresh] = _hash(whole)
        with open(handle, "wb") as file:
            file.write(zlib.compress(whole, zlib.Z_BEST_SPEED))
            if len(self._fresh) <= _FEW:
                file.flush()
                os.fsync(handle)
        return id_

    def put_in_place(self) -> None:
        """Rename them all, once they are safely on the disk."""
        if len(self._fresh) > _FEW:
            from vaultmem.machine import flush_file_system

            flush_file_system(self._folder)
        for fresh, id_ in self._fresh.items():
            path = _path(self._folder, id_)
            with contextlib.suppress(FileExistsError):
                os.mkdir(os.path.dirname(path), 0o700)
            os.replace(fresh, path)
        self._fresh.clear()

    def discard(self) -> None:
        """Remove what was not put in place."""
        for fresh in self._fresh:
            with contextlib.suppress(OSError):
                os.unlink(fresh)


def _path(folder: str, id_: str) -> str:
    return f"{folder}/{id_[:2]}/{id_[2:]}"


class Tree:
    """The folder tree of the next commit; put() and drop() take paths relative to it."""

    def __init__(self) -> None:
        self._files: dict[bytes, str] = {}  # blob ids
        self._folders: dict[bytes, Tree] = {}
        self._id = ""  # "" after a change

    def put(self, path: bytes, id_: str) -> bool:
        """Add or replace a file, also where a folder was, or in a folder where a file was; returns whether so."""
        name, slash, rest = path.partition(b"/")
        self._id = ""
        if not slash:
            self._files[name] = id_
            return self._folders.pop(name, None) is not None
        was_file = self._files.pop(name, None) is not None
        return self._folders.setdefault(name, Tree()).put(rest, id_) or was_file

    def files(self, above: bytes = b"") -> Iterator[tuple[str, str]]:
        """Yield the paths and blob ids."""
        for name, id_ in self._files.items():
            yield os.fsdecode(above + name), id_
        for name, folder in self._folders.items():
            yield from folder.files(above + name + b"/")

    def drop(self, path: bytes) -> None:
        """Remove a file, and the folders that this leaves empty."""
        name, slash, rest = path.partition(b"/")
        self._id = ""
        if not slash:
            self._files.pop(name, None)
        elif folder := self._folders.get(name):
            folder.drop(rest)
            if folder.is_empty():
                del self._folders[name]

    def is_empty(self) -> bool:
        """Whether it has no file."""
        return not self._files and not self._folders

    def store(self, store: Callable[[str, bytes], str]) -> str:
        """Pass what has changed since the last time to a function that returns its id. Returns the id of the folder."""
        if not self._id:
            rows = [(name, _FILE, id_) for name, id_ in self._files.items()]
            # Git sorts folders as if their names ended with a slash.
            rows += [
                (name + b"/", _FOLDER, each.store(store)) for name, each in self._folders.items()
            ]
            parts = (
                b"%s %s\0%s" % (mode, name.removesuffix(b"/"), bytes.fromhex(id_))
                for name, mode, id_ in sorted(rows)
            )
            self._id = store(TREE, b"".join(parts))
        return self._id


def read(folder: str, id_: str) -> bytes:
    """The content of a loose object. Raises LookupError if it is packed, missing or damaged."""
    try:
        with open(_path(f"{folder}/objects", id_), "rb") as file:
            data = zlib.decompress(file.read())
    except (OSError, zlib.error) as error:
        raise LookupError(id_) from error
    if _hash(data) != id_:
        raise LookupError(id_)
    return data.partition(b"\0")[2]


def read_tree(folder: str, id_: str, above: bytes = b"") -> dict[str, str]:
    """The blob ids by path in a folder. Raises LookupError unless all of its folders are loose objects."""
    files: dict[str, str] = {}
    for mode, name, raw in _ENTRY.findall(read(folder, id_)):
        path = above + name
        if mode == _FOLDER:
            files |= read_tree(folder, raw.hex(), path + b"/")
        else:
            files[os.fsdecode(path)] = raw.hex()
    return files


def read_messages(folder: str, tip: str, most: int) -> list[str]:
    """The messages of the last commits. Raises LookupError unless all of them are loose objects."""
    messages: list[str] = []
    parent: str | None = tip
    while parent and len(messages) < most:
        head, _, message = read(folder, parent).decode("utf-8", "replace").partition("\n\n")
        messages.append(message)
        parent = next((line[7:] for line in head.splitlines() if line.startswith("parent ")), None)
    return messages
