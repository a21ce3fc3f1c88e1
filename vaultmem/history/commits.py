"""Commits of the history: what stands in their messages, and how fast-import wants them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from vaultmem.history.repository import BRANCH, SHORT, blob_id
from vaultmem.light import TYPE_CHECKING, NamedTuple
from vaultmem.vault.batch_record import Answered, Batch, Step

if TYPE_CHECKING:
    from typing import IO

YOU, PERSON = "you", "person"
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
_PLAIN_FILE = "100644"
_LONGEST = 500  # characters of a line in a message


class FileChange(NamedTuple):
    """One file in a commit: created (no path), gone (no target), moved (another target), or edited."""

    path: str | None
    target: str | None
    why: str
    # The ids of its bytes before and after; "" for none. In a message only those of moved files: another file may have
    # their place by then. All others Git knows.
    old: str = ""
    new: str = ""


class Difference(NamedTuple):
    """The same with the bytes before and after."""

    path: str | None
    old: bytes | None
    target: str | None
    new: bytes | None


class Commit(NamedTuple):
    """A commit: what its message says, and its files."""

    commit: str  # the full hash; "" for one that is yet to be written
    at: float  # seconds since the epoch
    by: str
    kind: str  # assistant, job or person
    why: str
    files: tuple[FileChange, ...] = ()  # in a message only the moved ones, and those with a reason
    token: str = (
        ""  # of the batch; "" for what a person did in an editor, or another machine, seen later
    )
    undoes: tuple[str, ...] = ()  # commits, or ids of contents, that it takes back
    answers: tuple[Answered, ...] = ()

    @property
    def is_ours(self) -> bool:
        """Whether vaultmem did it, on this machine."""
        return bool(self.token)

    @property
    def contents(self) -> tuple[str, ...]:
        """The ids of what its files hold after it, see repository.short_id."""
        return tuple(one.new[:SHORT] for one in self.files if one.new)


def one_line(text: str) -> str:
    """Without line ends, other control characters and what no encoding can hold."""
    return " ".join(_CONTROL.sub(" ", text).split())[:_LONGEST]


def author(name: str) -> str:
    """A name as Git keeps it."""
    plain = one_line(name).translate({ord("<"): None, ord(">"): None})
    return plain.strip(" .,:;'\"\\") or "nobody"


def format_message(message: Commit) -> bytes:
    """The text of a commit."""
    lines = [
        one_line(message.why) or "changed",
        "",
        f"By: {one_line(message.by)}",
        f"Kind: {one_line(message.kind)}",
    ]
    if message.token:
        lines.append(f"Batch: {message.token}")
    lines += [f"Undoes: {one}" for one in message.undoes]
    lines += [f"Answer: {json.dumps(one)}" for one in message.answers]
    lines += [f"File: {json.dumps(one if one.old else one[:3])}" for one in message.files]
    return "\n".join(lines).encode() + b"\n"


def parse_message(text: str) -> Commit:
    """The reverse of format_message(), but for the hash and the time."""
    subject, _, rest = text.partition("\n")
    fields: dict[str, str] = {}
    files, undoes, answers = [], [], []
    for line in rest.splitlines():
        key, _, value = line.partition(": ")
        if key == "File":
            files.append(FileChange(*json.loads(value)))
        elif key == "Undoes":
            undoes.append(value)
        elif key == "Answer":
            answers.append(Answered(*json.loads(value)))
        else:
            fields[key] = value
    return Commit(
        "", 0.0, fields.get("By", ""), fields.get("Kind", ""), subject, tuple(files), fields.get("Batch", ""),
        tuple(undoes), tuple(answers),
    )  # fmt: skip


def all_files(
    named: Iterable[FileChange], before: Mapping[str, str], after: Mapping[str, str]
) -> tuple[FileChange, ...]:
    """The files of a commit, moved ones as one: those that its message names, and the ids that Git has by paths."""
    moved = [one for one in named if one.old]
    whys = {one.target: one.why for one in named}
    sources, targets = {one.path for one in moved}, {one.target for one in moved}
    old = {path: id_ for path, id_ in before.items() if path not in sources}
    new = {path: id_ for path, id_ in after.items() if path not in targets}
    others = (
        FileChange(
            path if path in old else None, path if path in new else None, whys.get(path, ""),
            old.get(path, ""), new.get(path, ""),
        )
        for path in sorted({*old, *new})
    )  # fmt: skip
    return (*moved, *others)


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

    def commit(self, message: Commit, puts: Mapping[str, str], drops: Iterable[str]) -> None:
        """A commit on top: files by path and id, and paths that go."""
        text = format_message(message)
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
        lines += [b"D " + _quote(path) for path in sorted(drops)]
        lines += [f"M {_PLAIN_FILE} {puts[path]} ".encode() + _quote(path) for path in sorted(puts)]
        self._file.write(b"\n".join(lines) + b"\n\n")
        self.commits += 1

    def end(self) -> None:
        """Without this nothing of it counts."""
        self._file.write(b"done\n")


def _quote(path: str) -> bytes:
    """A path in quotes as in C, whatever its bytes."""
    plain = (
        b"\\%03o" % byte if byte < 32 or byte > 126 or byte in b'"\\' else b"%c" % byte
        for byte in os.fsencode(path)
    )
    return b'"' + b"".join(plain) + b'"'


def is_storable(path: str) -> bool:
    """Whether Git takes a path: not those that it keeps for itself."""
    return not any(part.lower() in {"", ".", "..", ".git", "git~1"} for part in path.split("/"))


# What became of the files since the last commit, as commits: our batches, and what people did without us.

_AS_FOUND = "as it was found"
OUTSIDE = "outside vaultmem"

Read = Callable[[str], bytes | None]


_MEMORY = re.compile(rb"^(?:id|vaultmem)::? +\"?([0-9a-z][0-9a-z-]{7,})", re.MULTILINE)
_HEAD = 4_096  # bytes of a file in which its properties stand


def _memory_id(data: bytes) -> bytes:
    """The id of the memory that a file is; b"" for none."""
    match = _MEMORY.search(data[:_HEAD])
    return match[1] if match else b""


class Files(NamedTuple):
    """The files of the memory folder as they are now, and what is known of those that were."""

    blobs: Mapping[str, str]  # paths and Git's ids
    read: Read  # the bytes at a path
    # Of ids, the bytes of those that are stored.
    held: Callable[[Sequence[str]], Mapping[str, bytes]]


class Intake:
    """Writes commits to a stream, oldest first; `tree` is what the last one holds, `files` what is there now."""

    def __init__(self, stream: Stream, tree: dict[str, str], folder: str, files: Files) -> None:
        self._stream = stream
        self._inside = f"{folder}/"
        self._blobs, self._read, self._held = files
        self._first_why = "" if tree else _AS_FOUND
        self.tree = tree

    def take(self, batches: Sequence[Batch], now: float) -> None:
        """What people did; then the batches, with what was done to their files in between; then what is left."""
        touched: set[str] = set()
        before: dict[str, bytes] = {}
        for step in (step for batch in batches for step in batch.steps):
            if step.path is not None and step.path not in touched and step.old is not None:
                before[step.path] = step.old
            touched |= {step.path or step.target, step.target}
        at = min((batch.header.at for batch in batches), default=now)
        self._by_person(before | self._dirty_files(touched), self._lost(touched), at)
        self._first_why = ""  # what comes later was not found, but done
        for batch in batches:
            self._batch(batch)
        self._by_person(self._dirty_files(set()), self._lost(set()), now)

    def _dirty_files(self, without: set[str]) -> dict[str, bytes]:
        """The bytes of files that are not what the last commit has."""
        paths = (path for path, held in self._blobs.items() if self.tree.get(path) != held)
        held = {path: self._read(path) for path in sorted(paths) if path not in without}
        return {path: data for path, data in held.items() if data is not None}

    def _lost(self, without: set[str]) -> set[str]:
        """Files that are gone; none when the folder is suddenly empty, as that of a drive that went."""
        lost = self.tree.keys() - self._blobs.keys() - without if self._blobs else set[str]()
        return {path for path in lost if path.startswith(self._inside)}

    def _batch(self, batch: Batch) -> None:
        """One of ours; before it what somebody did to its files since the last commit."""
        steps = [step for step in batch.steps if is_storable(step.target)]
        before = {step.path: step.old for step in steps if step.path and step.old is not None}
        freed = {step.target for step in steps if step.path != step.target} - before.keys()
        self._by_person(before, freed & self.tree.keys(), batch.header.at)
        puts: dict[str, str] = {}
        for step in steps:
            self._put(puts, step.target, step.new)
        drops = before.keys() - {step.target for step in steps}
        by, kind, why, at, undoes, answers = batch.header
        files = tuple(map(_to_file, steps))
        message = Commit("", at, by, kind, why, files, batch.token, undoes, answers)
        self._commit(message, puts, drops & self.tree.keys())

    def _by_person(self, held: Mapping[str, bytes], drops: set[str], at: float) -> None:
        """A commit of what somebody did without us, if there is anything."""
        puts: dict[str, str] = {}
        for path, data in held.items():
            self._put(puts, path, data)
        if not puts and not drops:
            return
        created = sorted(puts.keys() - self.tree.keys())
        lost = {self.tree[path]: path for path in sorted(drops, reverse=True)}
        moves = [
            FileChange(lost.pop(puts[path]), path, "", puts[path], puts[path])
            for path in created
            if puts[path] in lost
        ]
        moves += self._renamed(puts, held, set(created) - {one.target for one in moves}, lost)
        done = {
            "created": len(created) > len(moves),
            "edited": len(puts) > len(created) or any(one.old != one.new for one in moves),
            "moved": bool(moves),
            "removed": len(drops) > len(moves),
        }
        why = f"{' and '.join(word for word, was in done.items() if was)} {OUTSIDE}"
        notes = [path for path in puts if not path.startswith(self._inside)]
        if len(notes) == len(created) == len(puts) and not drops:
            why = _AS_FOUND  # notes seen for the first time, because they are about to be changed
        why, self._first_why = self._first_why or why, ""
        self._commit(Commit("", at, YOU, PERSON, why, tuple(moves)), puts, drops)

    def _renamed(
        self, puts: Mapping[str, str], held: Mapping[str, bytes], created: set[str], lost: dict[str, str]
    ) -> Iterator[FileChange]:  # fmt: skip
        """Memories that have another path and other words: their ids are those of files that are gone."""
        ids = {_memory_id(held[path]): path for path in sorted(created)} if lost else {}
        stored = self._held([*lost]) if any(ids) else {}
        for old, path in sorted(lost.items()):
            id_ = _memory_id(stored.get(old, b""))
            if id_ and id_ in ids:
                target = ids.pop(id_)
                del lost[old]
                yield FileChange(path, target, "", old, puts[target])

    def _put(self, puts: dict[str, str], path: str, data: bytes) -> None:
        """Bytes for a path, unless the last commit has them there."""
        if is_storable(path) and self.tree.get(path) != blob_id(data):
            puts[path] = self._stream.blob(data)

    def _commit(self, message: Commit, puts: dict[str, str], drops: set[str]) -> None:
        self._stream.commit(message, puts, drops)
        for path in drops:
            del self.tree[path]
        self.tree.update(puts)


def _to_file(step: Step) -> FileChange:
    one = FileChange(step.path, step.target, step.why)
    if step.path is None or step.path == step.target or step.old is None:
        return one
    return one._replace(old=blob_id(step.old), new=blob_id(step.new))
