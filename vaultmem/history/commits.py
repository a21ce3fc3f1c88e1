"""Commits of the history: what stands in their messages, and how fast-import wants them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import IO, NamedTuple

from vaultmem.history.repository import BRANCH, blob_id
from vaultmem.vault.recovery import Batch, Step

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


# What became of the files since the last commit, as commits: our batches, and what people did in between.

_FOUND = "as it was found"
_OUTSIDE = "outside vaultmem"

Read = Callable[[str], bytes | None]


class Intake:
    """Writes commits to a stream, oldest first; `tree` is always what the last one holds."""

    def __init__(self, stream: Stream, tree: dict[str, str], folder: str) -> None:
        self._stream = stream
        self._inside = f"{folder}/"
        self.tree = tree

    def found(
        self, batches: Sequence[Batch], blobs: Mapping[str, str], read: Read, at: float
    ) -> None:
        """The first commit: the files as they were before the first batch."""
        touched: set[str] = set()
        puts: dict[str, str] = {}
        for step in (step for batch in batches for step in batch.steps):
            if step.path is not None and step.path not in touched and step.old is not None:
                self._put(puts, step.path, step.old)
            touched.update({step.path or step.target, step.target})
        for path in sorted(blobs.keys() - touched):
            data = read(path)
            if data is not None:
                self._put(puts, path, data)
        if puts:
            at = min((batch.header.at for batch in batches), default=at)
            self._commit(Message(YOU, PERSON, _FOUND, at), puts, set())

    def batch(self, batch: Batch, gone: Mapping[str, str]) -> None:
        """One of ours; before it what somebody did to its files. `gone`: paths by the id of what they held."""
        steps = [step for step in batch.steps if storable(step.target)]
        self._before(steps, batch.header.at, gone)
        puts: dict[str, str] = {}
        for step in steps:
            self._put(puts, step.target, step.new)
        drops = {step.path for step in steps if step.path is not None}
        drops -= {step.target for step in steps}
        by, kind, why, at = batch.header
        files = tuple(map(_told, steps))
        self._commit(Message(by, kind, why, at, batch.token, files), puts, drops & self.tree.keys())

    def _before(self, steps: Sequence[Step], at: float, gone: Mapping[str, str]) -> None:
        freed = {step.path for step in steps}
        puts: dict[str, str] = {}
        drops: set[str] = set()
        for step in steps:
            if step.path is not None and step.old is not None:
                self._put(puts, step.path, step.old)
            if step.path != step.target and step.target in self.tree and step.target not in freed:
                drops.add(step.target)
        for path, held in puts.items():
            if path not in self.tree and self.tree.get(gone.get(held, "")) == held:
                drops.add(gone[held])
        self._by_person(puts, drops, at)

    def gone(self, batches: Sequence[Batch], blobs: Mapping[str, str]) -> dict[str, str]:
        """Files that a person may have moved away before a batch, by the id of what they held."""
        ours = {step.path for batch in batches for step in batch.steps}
        lost = [path for path in self.tree if path not in blobs and path not in ours]
        return {self.tree[path]: path for path in lost if path.startswith(self._inside)}

    def now(self, blobs: Mapping[str, str], read: Read, at: float) -> None:
        """What is still different; nothing when the folder is suddenly empty, as that of a drive that went."""
        if not blobs:
            return
        puts: dict[str, str] = {}
        for path in sorted(path for path, held in blobs.items() if self.tree.get(path) != held):
            data = read(path)
            if data is not None:
                self._put(puts, path, data)
        drops = {path for path in self.tree if path not in blobs and path.startswith(self._inside)}
        self._by_person(puts, drops, at)

    def _by_person(self, puts: dict[str, str], drops: set[str], at: float) -> None:
        """A commit of what somebody did without us, if there is anything."""
        if not puts and not drops:
            return
        created = [path for path in sorted(puts) if path not in self.tree]
        lost = {self.tree[path]: path for path in sorted(drops, reverse=True)}
        moves = [
            Told(lost.pop(puts[path]), path, "", puts[path], puts[path])
            for path in created
            if puts[path] in lost
        ]
        done = {
            "created": len(created) > len(moves),
            "edited": len(puts) > len(created),
            "moved": bool(moves),
            "removed": len(drops) > len(moves),
        }
        why = f"{' and '.join(word for word, was in done.items() if was)} {_OUTSIDE}"
        if not any(path.startswith(self._inside) for path in (*puts, *drops)) and len(
            created
        ) == len(puts):
            why = _FOUND  # a person's own note, seen for the first time because it is about to be changed
        self._commit(Message(YOU, PERSON, why, at, files=tuple(moves)), puts, drops)

    def _put(self, puts: dict[str, str], path: str, data: bytes) -> None:
        """Bytes for a path, unless the last commit has them there."""
        if storable(path) and self.tree.get(path) != blob_id(data):
            puts[path] = self._stream.blob(data)

    def _commit(self, message: Message, puts: dict[str, str], drops: set[str]) -> None:
        self._stream.commit(message, puts, drops)
        for path in drops:
            del self.tree[path]
        self.tree.update(puts)


def _told(step: Step) -> Told:
    told = Told(step.path, step.target, step.why)
    if step.path is None or step.path == step.target or step.old is None:
        return told
    return told._replace(old=blob_id(step.old), new=blob_id(step.new))
