"""A batch as it is planned, recorded and reported. Verbs that write nothing import only this module."""

from __future__ import annotations

import json
import os
from collections.abc import Callable

from vaultmem.light import NamedTuple

# Endings of records: until all files are written, then until the history has it; and of a record that is being written.
DOING, DONE, PART = ".doing", ".done", ".tmp"
_TO_DO, _LEFT = b".", b"-"


class AnswerChange(NamedTuple):
    """A pending item whose answer changed: the states before and after, and until when it was and is snoozed."""

    id: str
    before: str
    before_until: str
    after: str
    after_until: str
    text: str  # what it is about

    def reversed(self) -> AnswerChange:
        """The change that reverts this one."""
        return self._replace(
            before=self.after, before_until=self.after_until, after=self.before, after_until=self.before_until
        )  # fmt: skip


class Header(NamedTuple):
    """The author of a batch, and the reason."""

    by: str  # such as the name of an assistant or job
    kind: str  # assistant, job or person
    why: str  # one line
    at: float  # seconds since the epoch
    undoes: tuple[str, ...] = ()  # the entries of the history that it undoes
    answers: tuple[AnswerChange, ...] = ()


class Step(NamedTuple):
    """One change of a file; paths are relative to the vault."""

    path: str | None  # the old path; None when it is created
    target: str  # the new path; it differs from `path` when the file is moved
    old: bytes | None
    new: bytes
    why: str


class Batch(NamedTuple):
    """One batch of writes."""

    number: int  # in the folder; later ones have higher numbers
    token: str  # its permanent, unique name
    header: Header
    steps: tuple[Step, ...]


class PlannedWrite(NamedTuple):
    """One planned change of a file."""

    path: str | None  # None when it is to be created
    target: str
    render: Callable[[bytes | None], bytes]  # newest bytes to new ones; NoteChangedError declines
    why: str


class Outcome(NamedTuple):
    """The outcome of the writes."""

    number: int | None  # of the batch; None when there was nothing to do
    done: tuple[Step, ...]
    skipped: tuple[tuple[str, str], ...]  # path and reason


def pack_batch(batch: Batch, temps: str) -> bytes:
    """The bytes of a record; `temps` is the prefix of the writer's temporary files."""
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
    """The batch without the steps that are marked as left out, and `temps`. Raises ValueError, KeyError or TypeError
    for anything that is not a record."""
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
    answers = tuple(AnswerChange(*answer) for answer in head.get("answers", ()))
    undoes = tuple(head.get("undoes", ()))
    header = Header(head["by"], head["kind"], head["why"], head["at"], undoes, answers)
    return Batch(number, head["token"], header, tuple(steps)), head["temps"]


def mark_left(record: str, steps: set[int]) -> None:
    """Durably mark steps of a record as left out."""
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
