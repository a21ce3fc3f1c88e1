"""The record of a batch: what was to be written and what it replaces, as bytes on the disk.

A line of JSON, a line with one mark a step, then old and new bytes of each step. Marks are written in
place, which works on a full disk, too.
"""

from __future__ import annotations

import json
import os
from typing import NamedTuple

_TO_DO, _LEFT = b".", b"-"


class Header(NamedTuple):
    """Who did it, and why."""

    by: str  # a name, such as that of an assistant or a job
    kind: str  # assistant, job or person
    why: str  # one line
    at: float  # seconds since the epoch


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


def packed(batch: Batch, temps: str) -> bytes:
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


def unpacked(data: bytes, number: int) -> tuple[Batch, str]:
    """The batch without the steps that are marked as left, and `temps`; ValueError, KeyError or TypeError
    for what is no record."""
    line, _, rest = data.partition(b"\n")
    head = json.loads(line)
    marks, _, blobs = rest.partition(b"\n")
    if len(marks) != len(head["steps"]):
        raise ValueError("a mark is missing")
    steps, at = [], 0
    for mark, said in zip(marks, head["steps"], strict=True):
        middle = at + (said["old"] or 0)
        end = middle + said["new"]
        old = None if said["old"] is None else blobs[at:middle]
        if mark != _LEFT[0]:
            steps.append(Step(said["path"], said["target"], old, blobs[middle:end], said["why"]))
        at = end
    if at != len(blobs):
        raise ValueError("a record of the wrong length")
    header = Header(head["by"], head["kind"], head["why"], head["at"])
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
