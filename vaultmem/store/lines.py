"""Read a few lines of notes for showing them; light, because every search does it."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable

from vaultmem.store.inside import Inside

MAX_BYTES = 8_000_000
MOST_NOTES = 2000  # remembered,
MOST_BYTES = 4_000_000  # and so many of all of them together
# A file may change twice within one tick of the file system's clock, which is two seconds on FAT.
SETTLED_NS = 2_000_000_000

Signature = tuple[int, int, int, int, int]


def read_lines(folder: str, path: str, first: int, last: int) -> str:
    """Lines first to last (from 1) of a note as they are now; "" when it cannot be read."""
    return cut_lines(as_text(read_regular(folder, path) or b""), first, last)


def cut_lines(text: str, first: int, last: int) -> str:
    """Lines first to last (from 1) of a text without the empty ones around them."""
    return "\n".join(text.split("\n", max(last, 0))[max(first - 1, 0) : last]).strip("\n")


def as_text(data: bytes) -> str:
    """The bytes of a note as text, however they are encoded."""
    return data.decode(_encoding(data), "replace").replace("\r\n", "\n")


def _encoding(data: bytes) -> str:
    if data[:4] in (b"\xff\xfe\0\0", b"\0\0\xfe\xff"):
        return "utf-32"
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    return "utf-8-sig" if data[:3] == b"\xef\xbb\xbf" else "utf-8"


def read_regular(folder: str, path: str) -> bytes | None:
    """The bytes of a regular file of the vault (no link, pipe or device), or None."""
    with Inside(folder) as inside:
        return _read(inside, path)


def _read(inside: Inside, path: str) -> bytes | None:
    try:
        handle = inside.open(path)
    except (OSError, ValueError):
        return None
    try:
        status = os.fstat(handle)
        return _all_bytes(handle, status.st_size) if stat.S_ISREG(status.st_mode) else None
    except OSError:
        return None
    finally:
        os.close(handle)


def _all_bytes(handle: int, size: int) -> bytes:
    """All of a file up to MAX_BYTES, in one call when it has the size it says."""
    found = os.read(handle, min(size + 1, MAX_BYTES))
    if len(found) == size:
        return found
    parts = [found]
    while parts[-1] and (left := MAX_BYTES - sum(map(len, parts))) > 0:
        parts.append(os.read(handle, left))
    return b"".join(parts)


class NoteTexts:
    """The texts of notes as they are now. Those shown lately are remembered while their files stay
    what they were: a search in a process that lives long reads only what it has not just read.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._known: dict[str, tuple[Signature, bytes]] = {}  # the longest unused one comes first
        self._size = 0

    def read(self, paths: Iterable[str]) -> dict[str, str]:
        """The texts of notes by path; "" for what cannot be read."""
        plain: dict[str, bool] = {"": True}  # folders seen now: each is looked at once
        with Inside(self._folder) as inside:
            return {
                path: as_text(self._read(inside, path, self._signature(path, plain)) or b"")
                for path in dict.fromkeys(paths)
            }

    def _read(self, inside: Inside, path: str, seen: Signature | None) -> bytes | None:
        known = self._known.pop(path, None)
        if known and known[0] == seen:
            self._known[path] = known
            return known[1]
        if known:
            self._size -= len(known[1])
        data = _read(inside, path)
        # Read after it was looked at: if it changed between, the next look will tell.
        if data is not None and seen and time.time_ns() - max(seen[3:]) > SETTLED_NS:
            self._remember(path, seen, data)
        return data

    def _remember(self, path: str, seen: Signature, data: bytes) -> None:
        if len(data) > MOST_BYTES // 4:
            return  # it would take the place of too many others
        self._known[path] = seen, data
        self._size += len(data)
        while len(self._known) > MOST_NOTES or self._size > MOST_BYTES:
            _, oldest = self._known.pop(next(iter(self._known)))
            self._size -= len(oldest)

    def _signature(self, path: str, plain: dict[str, bool]) -> Signature | None:
        """What changes when a file does; None when it is not there or a link is on the way."""
        if not self._is_plain(path.rpartition("/")[0], plain):
            return None
        try:
            found = os.lstat(f"{self._folder}/{path}")
        except (OSError, ValueError):
            return None
        if not stat.S_ISREG(found.st_mode):
            return None
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns

    def _is_plain(self, folder: str, plain: dict[str, bool]) -> bool:
        """Whether a folder of the vault, and all it is in, are folders and no links."""
        if folder not in plain:
            plain[folder] = self._is_plain(folder.rpartition("/")[0], plain) and _is_folder(
                f"{self._folder}/{folder}"
            )
        return plain[folder]


def _is_folder(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False
