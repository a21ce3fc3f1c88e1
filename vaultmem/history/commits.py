"""Commits of the history: the format of their messages, and writing them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from vaultmem.history.objects import BLOB, COMMIT, SHORT, Objects, Tree, blob_id, object_id
from vaultmem.light import NamedTuple
from vaultmem.text.values import lazy
from vaultmem.vault.batch_record import AnswerChange, Batch, Step

YOU, PERSON = "you", "person"
_CONTROL = lazy(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
_LONGEST = 500  # characters of a line in a message


class FileChange(NamedTuple):
    """One file in a commit: created (no path), removed (no target), moved (another target), or edited."""

    path: str | None
    target: str | None
    why: str
    # The blob ids before and after; "" for none. Messages hold only those of moved files, as another file may have
    # taken their old path; Git knows all others.
    old: str = ""
    new: str = ""


class Difference(NamedTuple):
    """One file in a commit, with its bytes before and after."""

    path: str | None
    old: bytes | None
    target: str | None
    new: bytes | None


class Commit(NamedTuple):
    """A commit: the contents of its message, and its files."""

    commit: str  # the full hash; "" if not written yet
    at: float  # seconds since the epoch
    by: str
    kind: str  # assistant, job or person
    why: str
    files: tuple[FileChange, ...] = ()  # in a message: moved ones, and those with a reason
    # The batch's; "" for changes by a person's editor or another machine, noticed later.
    token: str = ""
    undoes: tuple[str, ...] = ()  # commits, or ids of contents, that it undoes
    answers: tuple[AnswerChange, ...] = ()

    @property
    def is_ours(self) -> bool:
        """Whether vaultmem made it, on this machine."""
        return bool(self.token)

    @property
    def is_beginning(self) -> bool:
        """Whether it only records the state when the history, or that of a note, began."""
        return not self.token and self.why == AS_FOUND

    @property
    def contents(self) -> tuple[str, ...]:
        """The ids of the contents of its files after it; see repository.short_id."""
        return tuple(file.new[:SHORT] for file in self.files if file.new)


def one_line(text: str) -> str:
    """The text without line ends, other control characters and lone surrogates."""
    return " ".join(_CONTROL.sub(" ", text).split())[:_LONGEST]


def author(name: str) -> str:
    """A name in the form in which Git stores it."""
    plain = one_line(name).translate({ord("<"): None, ord(">"): None})
    return plain.strip(" .,:;'\"\\") or "nobody"


def format_message(message: Commit) -> bytes:
    """The message of a commit."""
    lines = [
        one_line(message.why) or "changed",
        "",
        f"By: {one_line(message.by)}",
        f"Kind: {one_line(message.kind)}",
    ]
    if message.token:
        lines.append(f"Batch: {message.token}")
    lines += [f"Undoes: {one}" for one in message.undoes]
    lines += [f"Answer: {json.dumps(answer)}" for answer in message.answers]
    lines += [f"File: {json.dumps(file if file.old else file[:3])}" for file in message.files]
    return "\n".join(lines).encode() + b"\n"


def parse_message(text: str) -> Commit:
    """The inverse of format_message(), without the hash and the time."""
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
            answers.append(AnswerChange(*json.loads(value)))
        else:
            fields[key] = value
    return Commit(
        "", 0.0, fields.get("By", ""), fields.get("Kind", ""), subject, tuple(files), fields.get("Batch", ""),
        tuple(undoes), tuple(answers),
    )  # fmt: skip


def all_files(
    named: Iterable[FileChange], before: Mapping[str, str], after: Mapping[str, str]
) -> tuple[FileChange, ...]:
    """The files of a commit, a moved one as a single entry: combines the files `named` in its message with Git's blob
    ids by path, `before` and `after`."""
    moved = [change for change in named if change.old]
    whys = {change.target: change.why for change in named}
    sources, targets = {change.path for change in moved}, {change.target for change in moved}
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


class Chain:
    """Writes commits, each on top of the last. `tree`: the base of the first one, blob ids by path."""

    def __init__(self, objects: Objects, tip: str | None, tree: Mapping[str, str]) -> None:
        self._objects, self._tree = objects, Tree()
        self.tip = tip
        self.commits = 0
        for path, id_ in tree.items():
            self._tree.put(os.fsencode(path), id_)
        if tree:
            self._tree.store(object_id)  # already stored

    def blob(self, data: bytes) -> str:
        """Write bytes that commits refer to. Returns their blob id."""
        return self._objects.store(BLOB, data)

    def commit(self, message: Commit, puts: Mapping[str, str], drops: Iterable[str]) -> bool:
        """Write a commit on top of the last: blob ids by path to put, and paths to drop. Returns whether files went
        because one of these is a folder now, or was."""
        for path in drops:
            self._tree.drop(os.fsencode(path))
        went = [self._tree.put(os.fsencode(path), id_) for path, id_ in puts.items()]
        when = f"{max(0, int(message.at))} +0000"
        lines = [
            f"tree {self._tree.store(self._objects.store)}",
            *([f"parent {self.tip}"] if self.tip else []),
            f"author {author(message.by)} <{author(message.kind)}@vaultmem> {when}",
            f"committer vaultmem <vaultmem> {when}",
        ]
        head = "\n".join(lines).encode()
        self.tip = self._objects.store(COMMIT, head + b"\n\n" + format_message(message))
        self.commits += 1
        return any(went)

    def files(self) -> dict[str, str]:
        """The blob ids by path in the last commit."""
        return dict(self._tree.files())


def is_storable(path: str) -> bool:
    """Whether Git accepts a path; it reserves some for itself."""
    return not any(part.lower() in {"", ".", "..", ".git", "git~1"} for part in path.split("/"))


# The changes since the last commit, as commits: our batches, and what people did outside vaultmem.

AS_FOUND = "as it was found"
OUTSIDE = "outside vaultmem"

Read = Callable[[str], bytes | None]


_MEMORY = re.compile(rb"^(?:id|vaultmem)::? +\"?([0-9a-z][0-9a-z-]{7,})", re.MULTILINE)
_HEAD = 4_096  # bytes of a file that hold its properties


def _memory_id(data: bytes) -> bytes:
    """The id of the memory in a file; b"" for any other file."""
    match = _MEMORY.search(data[:_HEAD])
    return match[1] if match else b""


class Files(NamedTuple):
    """The current files of the memory folder, and access to earlier contents."""

    blobs: Mapping[str, str]  # Git's blob ids by path
    read: Read  # the bytes at a path
    # The bytes of the stored ones among these ids.
    held: Callable[[Sequence[str]], Mapping[str, bytes]]


class Intake:
    """Writes commits to a chain, oldest first. `tree` is the content of the last commit, `files` the current one."""

    def __init__(self, chain: Chain, tree: dict[str, str], folder: str, files: Files) -> None:
        self._chain = chain
        self._inside = f"{folder}/"
        self._blobs, self._read, self._held = files
        self._first_why = "" if tree else AS_FOUND
        self.tree = tree

    def take(self, batches: Sequence[Batch], now: float) -> None:
        """Commit what people did, then the batches, each after edits of its files in between, then the rest."""
        touched: set[str] = set()
        before: dict[str, bytes] = {}
        for step in (step for batch in batches for step in batch.steps):
            if step.path is not None and step.path not in touched and step.old is not None:
                before[step.path] = step.old
            touched |= {step.path or step.target, step.target}
        at = min((batch.header.at for batch in batches), default=now)
        self._by_person(before | self._dirty_files(touched), self._lost(touched), at)
        self._first_why = ""  # later changes are edits, not discoveries
        for batch in batches:
            self._batch(batch)
        self._by_person(self._dirty_files(set()), self._lost(set()), now)

    def _dirty_files(self, without: set[str]) -> dict[str, bytes]:
        """The bytes of files that differ from the last commit."""
        paths = (path for path, held in self._blobs.items() if self.tree.get(path) != held)
        held = {path: self._read(path) for path in sorted(paths) if path not in without}
        return {path: data for path, data in held.items() if data is not None}

    def _lost(self, without: set[str]) -> set[str]:
        """The paths of removed files."""
        lost = self.tree.keys() - self._blobs.keys() - without
        return {path for path in lost if path.startswith(self._inside)}

    def _batch(self, batch: Batch) -> None:
        """Commit a batch, after a commit of edits to its files since the last one."""
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
        """Commit changes made outside vaultmem, if any."""
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
        moves += self._renamed(puts, held, set(created) - {move.target for move in moves}, lost)
        done = {
            "created": len(created) > len(moves),
            "edited": len(puts) > len(created) or any(move.old != move.new for move in moves),
            "moved": bool(moves),
            "removed": len(drops) > len(moves),
        }
        why = f"{' and '.join(word for word, was in done.items() if was)} {OUTSIDE}"
        notes = [path for path in puts if not path.startswith(self._inside)]
        if len(notes) == len(created) == len(puts) and not drops:
            why = AS_FOUND  # notes first seen now, because they are about to be changed
        why, self._first_why = self._first_why or why, ""
        self._commit(Commit("", at, YOU, PERSON, why, tuple(moves)), puts, drops)

    def _renamed(
        self, puts: Mapping[str, str], held: Mapping[str, bytes], created: set[str], lost: dict[str, str]
    ) -> Iterator[FileChange]:  # fmt: skip
        """Memories that were both moved and edited: their ids are those of removed files."""
        ids = {_memory_id(held[path]): path for path in sorted(created)} if lost else {}
        stored = self._held([*lost]) if any(ids) else {}
        for old, path in sorted(lost.items()):
            id_ = _memory_id(stored.get(old, b""))
            if id_ and id_ in ids:
                target = ids.pop(id_)
                del lost[old]
                yield FileChange(path, target, "", old, puts[target])

    def _put(self, puts: dict[str, str], path: str, data: bytes) -> None:
        """Add bytes for a path, unless the last commit has them there."""
        if is_storable(path) and self.tree.get(path) != blob_id(data):
            puts[path] = self._chain.blob(data)

    def _commit(self, message: Commit, puts: dict[str, str], drops: set[str]) -> None:
        others_went = self._chain.commit(message, puts, drops)
        for path in drops:
            del self.tree[path]
        self.tree.update(puts)
        if others_went:
            self.tree.clear()
            self.tree.update(self._chain.files())


def _to_file(step: Step) -> FileChange:
    change = FileChange(step.path, step.target, step.why)
    if step.path is None or step.path == step.target or step.old is None:
        return change
    return change._replace(old=blob_id(step.old), new=blob_id(step.new))
