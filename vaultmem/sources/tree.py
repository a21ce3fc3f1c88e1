"""The files below the root of a source: listed and read without following a link, without reading more than a note."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import NamedTuple, Protocol

from vaultmem.core.secrets import redacted
from vaultmem.errors import VaultGoneError, VaultmemError
from vaultmem.sources import NOTHING, Apart, Found, Passed
from vaultmem.store import vault
from vaultmem.store.walk import Entry, Look, Trouble, nfc, walk

MOST_BYTES = vault.CAP
_MOST = f"{MOST_BYTES / 1e6:g} MB"
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u2028\u2029]")
_BLANK = re.compile(r"\s")
_LONGEST_KEY = 8_000  # characters of a key or token
_TOKEN = re.compile(r"[^\s]{0,40}?eyJ[\w-]{10}")  # of several parts, known for one by all of them
_BEFORE_KEY = 200  # characters that tell what a password is
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


class Wanted(Protocol):
    """Tells the wanted files, as a pattern does."""

    def search(self, string: str, /) -> object:
        """Something true for the path of a file that is wanted."""


class Text(NamedTuple):
    """A file that was read."""

    path: str
    text: str
    written: float = 0.0  # seconds since the epoch


class Tree:
    """The files of a source. The root may be a single file; it may be a link, for the person named it. Of folders that
    are kept apart, nothing is read."""

    def __init__(self, root: str, apart: Apart = NOTHING) -> None:
        real = os.path.realpath(root)
        self._only = os.path.basename(real) if os.path.isfile(real) else ""
        self.root = os.path.dirname(real) if self._only else real
        self._apart = apart
        self._within: dict[str, str] = {
            "": ""
        }  # the folder apart that each folder lies in, "" for none
        self._met: dict[str, str] = {}  # those that were met, and why they are not read

    def files(self, wanted: Wanted, below: str = "") -> Iterator[Entry | Passed]:
        """All files whose path matches, by path, then what stood in the way; none where `below` is no folder."""
        if self._only:
            entry = Look(self.root).at(self._only)
            yield entry or Passed(self._only, "hidden, or not a regular file")
            return
        if below and not Look(self.root).has_folder(below):
            return
        troubles: list[Trouble] = []
        try:
            entries = [one for one in walk(self.root, troubles, below) if self._wants(one, wanted)]
        except VaultGoneError as error:
            raise VaultmemError(f"{self.root} cannot be read: {_reason(error)}") from error
        yield from sorted(entries, key=lambda one: one.path)
        yield from (Passed(printable(nfc(path)), why) for path, why in sorted(self._met.items()))
        for trouble in sorted(troubles):
            if self._is_apart(trouble.path):
                continue
            if trouble.folder or "link" in trouble.reason or wanted.search(trouble.path):
                yield Passed(printable(trouble.path), trouble.reason)

    def _wants(self, entry: Entry, wanted: Wanted) -> bool:
        return not self._is_apart(entry.raw) and bool(wanted.search(entry.path))

    def _is_apart(self, raw: str) -> bool:
        """Whether a file lies in a folder that is kept apart, by whatever name it goes here."""
        return bool(self._apart) and bool(self._folder_apart(raw.rpartition("/")[0]))

    def _folder_apart(self, raw: str) -> str:
        found = self._within.get(raw)
        if found is None:
            found = self._folder_apart(raw.rpartition("/")[0])
            why = "" if found else self._apart.get(_identity(f"{self.root}/{raw}"), "")
            if why:
                found = raw
                self._met[raw] = why
            self._within[raw] = found
        return found

    def texts(self, wanted: Wanted, below: str = "") -> Iterator[Text | Passed]:
        """The same, read."""
        for entry in self.files(wanted, below):
            yield entry if isinstance(entry, Passed) else self.read(entry)

    def read(self, entry: Entry) -> Text | Passed:
        """A file as text, or why not: half a note, or one with letters that are none, is no memory."""
        path = printable(entry.path)
        if entry.size > MOST_BYTES:
            return Passed(path, f"{entry.size / 1e6:,.1f} MB long, and a note has {_MOST} at most")
        found = vault.read(self.root, entry.raw)
        if found.trouble:
            return Passed(path, found.trouble)
        text = _CONTROL.sub(" ", found.text.replace("\r", "\n"))
        return Text(path, text, entry.mtime_ns / 1e9)


def beginning(found: Found, most: int) -> Found:
    """No more than the first characters of a text; says so when there were more."""
    size = len(found.text)
    if size <= most:
        return found
    return found._replace(
        text=found.text[: _before_secret(found.text, most)],
        cut=f"only the first {most:,} of {size:,} characters are taken",
    )


def _before_secret(text: str, at: int) -> int:
    """Where to cut instead of `at`: half a key is not known for one, and would be kept."""
    rest = _BLANK.search(text, at)
    end = min(rest.start() if rest else len(text), at + _LONGEST_KEY)
    first = max(0, at - _LONGEST_KEY)
    start = max((m.end() for m in _BLANK.finditer(text, first, at)), default=at if first else 0)
    if start < at < end and _TOKEN.match(text, start, end):
        return start
    if at in (end, start) or not start:
        return at
    line = max(0, start - _BEFORE_KEY)
    is_key = len(redacted(text[line:end]).kinds) > len(redacted(text[line:start]).kinds)
    return start if is_key else at


def printable(path: str) -> str:
    """A path as one line."""
    return _UNPRINTABLE.sub("\ufffd", path)


def _identity(path: str) -> tuple[int, int]:
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return (0, 0)
    return (found.st_dev, found.st_ino)


def _reason(error: VaultmemError) -> str:
    return str(error).rpartition(": ")[2]
