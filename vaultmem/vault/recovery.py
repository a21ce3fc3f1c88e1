"""Roll a batch forward that a kill has cut off, file by file, as far as nobody has touched them since."""

from __future__ import annotations

import contextlib
import json
import os
from typing import NamedTuple

from vaultmem.errors import NoteChangedError, NoteNotFoundError
from vaultmem.vault.files import on_disk
from vaultmem.vault.journal import TEMP_PREFIX, is_torn, recover, write_in_place
from vaultmem.vault.moves import existing, move
from vaultmem.vault.walk import identity
from vaultmem.vault.write import change, create, newest

# The record of a batch: what was to be written and what it replaces, as bytes on the disk.

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


class Healing:
    """Finishes batches of one dead writer, whose temporary files begin with `temps`."""

    def __init__(self, vault: str, journal: str, temps: str) -> None:
        self._vault = vault
        self._journal = journal
        self._temps = temps

    def finish(self, batch: Batch, said: list[str]) -> set[int] | None:
        """The steps that stay undone, each said in a line; None when the vault is absent and all has to wait."""
        if identity(self._vault) is None:
            return None
        said += recover(self._journal)
        left = set()
        for at, step in enumerate(batch.steps):
            self._tidy(step)
            try:
                self._forward(step)
            except (NoteChangedError, NoteNotFoundError) as error:
                left.add(at)
                said.append(f"a change was cut off and is given up: {error}")
        if len(left) < len(batch.steps):
            said.append(f"a change was cut off and is finished: {batch.header.why}")
        return left

    def _forward(self, step: Step) -> None:
        """See to it that the step is done; NoteChangedError when that would go over somebody's words."""
        found = self._held(step.target)
        if found == step.new:
            return
        before = step.old or b""
        if step.path is None:
            if found is None:
                create(self._vault, step.target, step.new, self._journal)
                return
        elif step.path != step.target and found is None:
            self._expect(step.path, before)
            move(self._vault, step.path, step.target, self._journal)
            found = before
        elif step.path != step.target and self._held(step.path) is not None:
            raise NoteChangedError(f"{step.target} exists already; {step.path} stays where it is")
        if found is not None and found != step.old and is_torn(found, before, step.new):
            write_in_place(existing(self._vault, step.target), step.new)
            return
        self._expect(step.target, before)
        change(self._vault, step.target, lambda data: self._swapped(step, data), self._journal)

    def _swapped(self, step: Step, data: bytes) -> bytes:
        if data not in (step.old, step.new):
            raise NoteChangedError(f"{step.target} was changed since")
        return step.new

    def _expect(self, path: str, data: bytes) -> None:
        if newest(self._vault, path) != data:
            raise NoteChangedError(f"{path} was changed since")

    def _held(self, path: str) -> bytes | None:
        """What a file holds; None when there is none."""
        if on_disk(self._vault, path) is None:
            return None
        return newest(self._vault, path)

    def _tidy(self, step: Step) -> None:
        """Remove what the dead writer left beside the file."""
        if not self._temps.startswith(TEMP_PREFIX) or "/" in self._temps:
            return
        for path in {step.path or step.target, step.target}:
            with contextlib.suppress(OSError, NoteNotFoundError):
                folder = os.path.dirname(existing(self._vault, path))
                self._tidy_folder(folder)
            with contextlib.suppress(OSError):
                self._tidy_folder(f"{self._vault}/{os.path.dirname(path)}")

    def _tidy_folder(self, folder: str) -> None:
        for name in os.listdir(folder):
            if name.startswith(self._temps) and name.endswith(".tmp"):
                os.unlink(f"{folder}/{name}")
