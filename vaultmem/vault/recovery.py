"""The record of a batch, and how one that a kill has cut off is rolled forward, over nobody's later words."""

from __future__ import annotations

import contextlib
import json
import os

from vaultmem.errors import NoteChangedError, NoteNotFoundError
from vaultmem.light import NamedTuple
from vaultmem.vault.files import on_disk
from vaultmem.vault.moves import existing, move, write_in_place
from vaultmem.vault.write import TEMP_PREFIX, change, create, newest

KEPT = ".kept"
_TO_DO, _LEFT = b".", b"-"


class Answered(NamedTuple):
    """A pending item whose answer changed: the states, and until when it was and is snoozed."""

    id: str
    before: str
    before_until: str
    after: str
    after_until: str
    text: str  # what it is about

    def reversed(self) -> Answered:
        """The change that takes this one back."""
        return self._replace(
            before=self.after, before_until=self.after_until, after=self.before, after_until=self.before_until
        )  # fmt: skip


class Header(NamedTuple):
    """Who did it, and why."""

    by: str  # a name, such as that of an assistant or a job
    kind: str  # assistant, job or person
    why: str  # one line
    at: float  # seconds since the epoch
    undoes: tuple[str, ...] = ()  # the entries of the history that it takes back
    answers: tuple[Answered, ...] = ()


class Step(NamedTuple):
    """One file that became another; paths are those in the vault."""

    path: str | None  # where it was; None: it is created
    target: str  # where it is then; another one than `path`: moved
    old: bytes | None
    new: bytes
    why: str


class Batch(NamedTuple):
    """What was written in one go."""

    number: int  # in the folder, where later ones have higher numbers
    token: str  # its own name for good
    header: Header
    steps: tuple[Step, ...]


def pack_batch(batch: Batch, temps: str) -> bytes:
    """The record; `temps` is how the names of the writer's temporary files begin."""
    steps = [
        {
            "path": step.path,
            "target": step.target,
            "old": None if step.old is None else len(step.old),
            "new": len(step.new),
            "why": step.why,
        }
        for step in batch.steps
    ]
    head = {**batch.header._asdict(), "token": batch.token, "temps": temps, "steps": steps}
    blobs = b"".join((step.old or b"") + step.new for step in batch.steps)
    return json.dumps(head).encode() + b"\n" + _TO_DO * len(steps) + b"\n" + blobs


def unpack_batch(data: bytes, number: int) -> tuple[Batch, str]:
    """The batch without the steps that are marked as left, and `temps`; ValueError, KeyError or TypeError
    for what is no record."""
    line, _, rest = data.partition(b"\n")
    head = json.loads(line)
    marks, _, blobs = rest.partition(b"\n")
    if len(marks) != len(head["steps"]):
        raise ValueError("a mark is missing")
    steps, at = [], 0
    for mark, step in zip(marks, head["steps"], strict=True):
        middle = at + (step["old"] or 0)
        end = middle + step["new"]
        old = None if step["old"] is None else blobs[at:middle]
        if mark != _LEFT[0]:
            steps.append(Step(step["path"], step["target"], old, blobs[middle:end], step["why"]))
        at = end
    if at != len(blobs):
        raise ValueError("a record of the wrong length")
    answers = tuple(Answered(*one) for one in head.get("answers", ()))
    undoes = tuple(head.get("undoes", ()))
    header = Header(head["by"], head["kind"], head["why"], head["at"], undoes, answers)
    return Batch(number, head["token"], header, tuple(steps)), head["temps"]


def mark_left(record: str, steps: set[int]) -> None:
    """Say in a record, for good, which of the steps that it still has did not happen."""
    handle = os.open(record, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        data = os.pread(handle, os.fstat(handle).st_size, 0)
        start = data.index(b"\n") + 1
        marks = data[start : data.index(b"\n", start)]
        there = [at for at, mark in enumerate(marks) if mark != _LEFT[0]]
        for number in steps:
            os.pwrite(handle, _LEFT, start + there[number])
        os.fsync(handle)
    finally:
        os.close(handle)


class Healing:
    """Rolls a batch forward whose writer is dead."""

    def __init__(self, vault: str, batch: Batch) -> None:
        self._vault = vault
        self._batch = batch

    def finish(self, messages: list[str]) -> set[int]:
        """The steps that stay undone, with a message for each."""
        left = set()
        for at, step in enumerate(self._batch.steps):
            try:
                self._forward(step)
            except (NoteChangedError, NoteNotFoundError) as error:
                left.add(at)
                messages.append(f"a change was cut off and is given up: {error}")
        if len(left) < len(self._batch.steps):
            messages.append(f"a change was cut off and is finished: {self._batch.header.why}")
        return left

    def _forward(self, step: Step) -> None:
        """See to it that the step is done; NoteChangedError when that would go over somebody's words."""
        moves = step.path is not None and step.path != step.target
        held = self._held(step.target)
        if moves and held == b"" and self._held(step.path) is not None:
            os.unlink(existing(self._vault, step.target))  # it held the name, see moves.take_name()
            held = None
        if held == step.new:
            return
        if step.path is None and held is None:
            create(self._vault, step.target, step.new)
            return
        before = step.old or b""
        if step.path is not None and moves:
            if held is None:
                self._expect(step.path, before)
                move(self._vault, step.path, step.target)
                held = before
            elif self._held(step.path) is not None:
                raise NoteChangedError(
                    f"{step.target} exists already; {step.path} stays where it is"
                )
        if held is not None and held != step.old and is_torn(held, before, step.new):
            write_in_place(existing(self._vault, step.target), step.new)
            return
        self._expect(step.target, before)
        change(self._vault, step.target, lambda data: self._swap(step, data))

    def _swap(self, step: Step, data: bytes) -> bytes:
        if data not in (step.old, step.new):
            raise NoteChangedError(f"{step.target} was changed since")
        return step.new

    def _expect(self, path: str, data: bytes) -> None:
        if newest(self._vault, path) != data:
            raise NoteChangedError(f"{path} was changed since")

    def _held(self, path: str | None) -> bytes | None:
        """What a file holds; None when there is none."""
        if path is None or on_disk(self._vault, path) is None:
            return None
        return newest(self._vault, path)

    def remove_temps(self, temps: str) -> None:
        """Remove what the dead writer left beside the files, or beside those that they are links to."""
        if not temps.startswith(TEMP_PREFIX) or "/" in temps:
            return
        for path in {
            path for step in self._batch.steps for path in (step.path, step.target) if path
        }:
            folders = {os.path.dirname(f"{self._vault}/{path}")}
            with contextlib.suppress(NoteNotFoundError):
                folders.add(os.path.dirname(existing(self._vault, path)))
            for folder in folders:
                with contextlib.suppress(OSError):
                    for name in os.listdir(folder):
                        if name.startswith(temps) and name.endswith(".tmp"):
                            os.unlink(f"{folder}/{name}")


def is_torn(data: bytes, old: bytes, new: bytes) -> bool:
    """Whether `data` is `old` with the first part of `new` written over it."""
    differ = (at for at, (a, b) in enumerate(zip(data, new, strict=False)) if a != b)
    same = next(differ, min(len(data), len(new)))
    return data[same:] == old[same:]
