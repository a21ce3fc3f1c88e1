"""Commits of the history: what stands in their messages, and how fast-import wants them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, NamedTuple

from vaultmem.store.repository import BRANCH, blob_id

YOU, PERSON = "you", "person"
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
_PLAIN_FILE = "100644"
_LONGEST = 500  # characters of a line in a message


class FileChange(NamedTuple):
    """One file in a commit: created (no path), gone (no target), moved (another target), or edited."""

    path: str | None
    target: str | None
    why: str


class Difference(NamedTuple):
    """The same with the bytes before and after."""

    path: str | None
    old: bytes | None
    target: str | None
    new: bytes | None


class Record(NamedTuple):
    """A commit as a person sees it."""

    commit: str  # the full hash
    at: float  # seconds since the epoch
    by: str
    kind: str  # assistant, job or person
    why: str
    files: tuple[FileChange, ...]
    is_ours: bool = True  # False: what a person did in an editor, seen later


class Entry(NamedTuple):
    """A file in a commit, by the ids of its bytes; None: there is none before or after."""

    path: str
    before: str | None
    after: str | None


class Told(NamedTuple):
    """One file as the message of a commit tells of it; of a moved one, what Git does not know."""

    path: str | None
    target: str | None
    why: str
    old: str = (
        ""  # id of its bytes before and after, where it moved: another file may have its place now
    )
    new: str = ""


class Message(NamedTuple):
    """What a commit says."""

    by: str
    kind: str
    why: str
    at: float
    token: str = ""  # of the batch
    files: tuple[Told, ...] = ()  # moves, and why a file changed


def one_line(text: str) -> str:
    """Without line ends, other control characters and what no encoding can hold."""
    return " ".join(_CONTROL.sub(" ", text).split())[:_LONGEST]


def author(name: str) -> str:
    """A name as Git keeps it."""
    plain = one_line(name).translate({ord("<"): None, ord(">"): None})
    return plain.strip(" .,:;'\"\\") or "nobody"


def written(message: Message) -> bytes:
    """The text of a commit."""
    lines = [
        one_line(message.why) or "changed",
        "",
        f"By: {one_line(message.by)}",
        f"Kind: {one_line(message.kind)}",
    ]
    if message.token:
        lines.append(f"Batch: {message.token}")
    lines += [f"File: {json.dumps(one if one.old else one[:3])}" for one in message.files]
    return "\n".join(lines).encode() + b"\n"


def read(text: str) -> Message:
    """The reverse, but for the time."""
    subject, _, rest = text.partition("\n")
    said: dict[str, str] = {}
    files = []
    for line in rest.splitlines():
        key, _, value = line.partition(": ")
        if key == "File":
            files.append(Told(*json.loads(value)))
        else:
            said[key] = value
    by, kind = said.get("By", ""), said.get("Kind", "")
    return Message(by, kind, subject, 0.0, said.get("Batch", ""), tuple(files))


def tokens(text: str) -> Iterator[str]:
    """The batches that messages tell of."""
    return (line[7:] for line in text.splitlines() if line.startswith("Batch: "))


def changes_of(
    message: Message, entries: Sequence[Entry]
) -> list[tuple[FileChange, str | None, str | None]]:
    """The files of a commit with the ids of their bytes, moved ones as one."""
    before = {entry.path: entry.before for entry in entries if entry.before}
    after = {entry.path: entry.after for entry in entries if entry.after}
    whys = {one.target: one.why for one in message.files}
    found: list[tuple[FileChange, str | None, str | None]] = []
    for one in (one for one in message.files if one.old):
        before.pop(one.path or "", None)
        after.pop(one.target or "", None)
        found.append((FileChange(*one[:3]), one.old, one.new))
    for path in sorted({*before, *after}):
        there = (path if path in before else None, path if path in after else None)
        found.append((FileChange(*there, whys.get(path, "")), before.get(path), after.get(path)))
    return found


class Stream:
    """Writes commits, one upon the other, as git fast-import reads them."""

    def __init__(self, file: IO[bytes], tip: str | None) -> None:
        self._file = file
        self._from = tip
        self.commits = 0

    def blob(self, data: bytes) -> str:
        """Bytes that commits may name; their id."""
        self._file.write(b"blob\ndata %d\n" % len(data))
        self._file.write(data)
        self._file.write(b"\n")
        return blob_id(data)

    def commit(self, message: Message, puts: Mapping[str, str], drops: Iterable[str]) -> None:
        """A commit on top: files by path and id, and paths that go."""
        text = written(message)
        when = b"%d +0000" % max(0, int(message.at))
        name, mail = author(message.by).encode(), author(message.kind).encode() + b"@vaultmem"
        lines = [
            b"commit " + BRANCH.encode(),
            b"author %s <%s> %s" % (name, mail, when),
            b"committer vaultmem <vaultmem> " + when,
            b"data %d\n%s" % (len(text), text),
        ]
        if self._from:
            lines.append(b"from " + self._from.encode())
            self._from = None  # the next one stands on this one anyway
        lines += [b"D " + _quoted(path) for path in sorted(drops)]
        lines += [
            f"M {_PLAIN_FILE} {puts[path]} ".encode() + _quoted(path) for path in sorted(puts)
        ]
        self._file.write(b"\n".join(lines) + b"\n\n")
        self.commits += 1

    def end(self) -> None:
        """Without this nothing of it counts."""
        self._file.write(b"done\n")


def _quoted(path: str) -> bytes:
    """A path in quotes as in C, whatever its bytes."""
    plain = (
        b"\\%03o" % byte if byte < 32 or byte > 126 or byte in b'"\\' else b"%c" % byte
        for byte in os.fsencode(path)
    )
    return b'"' + b"".join(plain) + b'"'


def storable(path: str) -> bool:
    """Whether Git takes a path: not those that it keeps for itself."""
    return not any(part.lower() in {"", ".", "..", ".git", "git~1"} for part in path.split("/"))
