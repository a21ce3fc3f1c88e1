"""The write-ahead log: all writes of a batch are on disk before the first file changes.

A batch is one file: `<n>.doing` until all its files are written, `<n>.done` until the history has it.
"""

from __future__ import annotations

import contextlib
import errno
import math
import os
from collections.abc import Sequence

from vaultmem.errors import NoteChangedError, NoteNotFoundError, StateError, VaultmemError
from vaultmem.paths import replace_private
from vaultmem.progress import track
from vaultmem.text.values import OnError
from vaultmem.vault.batch_record import (
    DOING,
    Batch,
    Header,
    Outcome,
    PlannedWrite,
    Step,
    mark_left,
    pack_batch,
    unpack_batch,
)
from vaultmem.vault.files import on_disk
from vaultmem.vault.moves import existing_path, move, refuse_links, write_in_place
from vaultmem.vault.walk import identity
from vaultmem.vault.write import TEMP_PREFIX, change, create, newest, own_temps, sweep

DONE, KEPT = ".done", ".kept"
# After these errors the next file would fail, too.
_STOPS = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS}


class Batches:
    """Applies batches and keeps them until forgotten. The caller holds the lock of the state folder."""

    def __init__(self, folder: str, vault: str, own_folder: str = "") -> None:
        """In `own_folder` of the vault no links are followed, and files are detached from their hard links."""
        self.vault = vault
        self._folder = folder
        self._own = own_folder

    def apply(self, header: Header, writes: Sequence[PlannedWrite]) -> Outcome:
        """Carry out the writes, each against the newest bytes of its file.

        Without writes, only the answers of the header are recorded. Writes that are no longer possible are skipped
        with a reason. Raises for a full disk and the like; the writes done by then are recorded.
        """
        draft = _Draft(self)
        for write in writes:
            draft.take(write)
        if not draft.steps and (writes or not header.answers):
            return Outcome(None, (), tuple(draft.skipped))
        run = _Run(self, header, draft)
        for at in track("writing", range(len(draft.steps))):
            try:
                run.carry_out(at)
            except (NoteChangedError, NoteNotFoundError) as error:
                run.leave(at, str(error))
            except BaseException as error:
                if isinstance(error, VaultmemError) and not _stops(error):
                    run.leave(at, str(error))
                    continue
                run.stop(at)
                raise
        return run.outcome()

    def heal(self) -> list[str]:
        """Finish batches that a kill interrupted. Returns messages for a person."""
        messages: list[str] = []
        for name in self._names():
            if name.endswith(".tmp"):  # left by a record that was not completed
                os.unlink(f"{self._folder}/{name}")
        for number in self._numbers(DOING):
            record = self._record(number, DOING)
            try:
                batch, temps = unpack_batch(_read(record), number)
                if identity(self.vault) is None:  # not mounted, perhaps
                    continue
                healing = Recovery(self.vault, batch)
                healing.remove_temps(temps)
                self.write(batch)  # with the prefix of our temporary files: we may be killed, too
                self.close(number, len(batch.steps), healing.finish(messages))
            except (ValueError, KeyError, TypeError):
                messages.append(_put_aside(record))
            except (OSError, VaultmemError) as error:
                messages.append(f"{record} cannot be finished yet: {error}")
        if self._own:
            sweep(f"{self.vault}/{self._own}")
        return messages

    def waiting(self) -> list[Batch]:
        """Batches that are done and not yet forgotten, oldest first."""
        batches = []
        for number in self._numbers(DONE):
            record = self._record(number, DONE)
            try:
                batches.append(unpack_batch(_read(record), number)[0])
            except (ValueError, KeyError, TypeError):
                _put_aside(record)
        return batches

    def count(self) -> int:
        """The number of batches that are done and not yet forgotten."""
        return len(self._numbers(DONE))

    def forget(self, number: int) -> None:
        """Delete the record of a batch that is done."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._record(number, DONE))

    # Used while a batch runs

    def next_number(self) -> int:
        """A number higher than that of any batch."""
        return max([*self._numbers(DOING), *self._numbers(DONE)], default=0) + 1

    def write(self, batch: Batch) -> None:
        """Write the record of a batch, completely or not at all, before any of it is carried out."""
        record = self._record(batch.number, DOING)
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            replace_private(record, pack_batch(batch, own_temps()), sync=True)
        except OSError as error:
            raise StateError(f"{record} cannot be written: {error.strerror}") from error

    def close(self, number: int, steps: int, left: set[int]) -> None:
        """Mark a batch as done, without the steps left out; delete its record if nothing was done."""
        record = self._record(number, DOING)
        if left and len(left) == steps:
            os.unlink(record)
            return
        if left:
            mark_left(record, left)
        os.replace(record, self._record(number, DONE))

    def is_own(self, path: str) -> bool:
        """Whether a path is in vaultmem's own folder."""
        return bool(self._own) and path.startswith(f"{self._own}/")

    def _record(self, number: int, ending: str) -> str:
        return f"{self._folder}/{number}{ending}"

    def _numbers(self, ending: str) -> list[int]:
        """The numbers of the records with that ending, oldest first."""
        numbers = (name.removesuffix(ending) for name in self._names() if name.endswith(ending))
        return sorted(int(number) for number in numbers if number.isdecimal())

    def _names(self) -> list[str]:
        return os.listdir(self._folder) if os.path.isdir(self._folder) else []


class _Draft:
    """Turns writes into steps; each sees the files as the steps before it will leave them."""

    def __init__(self, batches: Batches) -> None:
        self._batches = batches
        self._freed: set[str] = set()  # paths that an earlier step moves a file away from
        self._touched: set[str] = set()
        self.steps: list[Step] = []
        self.writes: list[PlannedWrite] = []
        self.skipped: list[tuple[str, str]] = []

    def take(self, write: PlannedWrite) -> None:
        """Add the step of a write, or record why it is skipped."""
        try:
            step = self._step(write)
        except VaultmemError as error:
            self.skipped.append((write.path or write.target, str(error)))
            return
        if step.path == step.target and step.new == step.old:
            return
        if step.path != step.target and step.path is not None:
            self._freed.add(step.path)
        self._touched.add(step.target)
        self.steps.append(step)
        self.writes.append(write)

    def _step(self, write: PlannedWrite) -> Step:
        path, target, vault = write.path, write.target, self._batches.vault
        if target in self._touched or path in self._touched or path in self._freed:
            raise NoteChangedError(f"{path or target} is already changed by this batch")
        for place in (path, target):
            if place is not None and self._batches.is_own(place):
                refuse_links(vault, place)
        old = None if path is None else newest(vault, path)
        taken = target not in self._freed and on_disk(vault, target) is not None
        if taken and (path is None or path.lower() != target.lower()):
            raise NoteChangedError(f"{target} already exists; choose another name")
        return Step(path, target, old, write.render(old), write.why)


class _Run:
    """Carries out one batch."""

    def __init__(self, batches: Batches, header: Header, draft: _Draft) -> None:
        self._batches = batches
        self._writes = draft.writes
        self._skipped = draft.skipped
        self._left: set[int] = set()
        self._batch = Batch(batches.next_number(), os.urandom(8).hex(), header, tuple(draft.steps))
        batches.write(self._batch)

    def carry_out(self, at: int) -> None:
        """Carry out one step; if it raises, its file is where it was."""
        step, vault = self._batch.steps[at], self._batches.vault
        if step.path is None:
            create(vault, step.target, step.new)
        elif step.path == step.target:
            self._edit(at)
        else:
            move(vault, step.path, step.target)
            with OnError(lambda: self._move_back(at)):
                self._edit(at)

    def _move_back(self, at: int) -> None:
        step = self._batch.steps[at]
        with contextlib.suppress(VaultmemError):
            move(self._batches.vault, step.target, step.path or step.target)

    def _edit(self, at: int) -> None:
        path = self._batch.steps[at].target
        part = self._batches.is_own(path)
        change(self._batches.vault, path, lambda data: self._render(at, data), part=part)

    def _render(self, at: int, data: bytes) -> bytes:
        """The new bytes of a step; after a concurrent edit they are rendered again and recorded first."""
        step = self._batch.steps[at]
        if data != step.old:
            step = step._replace(old=data, new=self._writes[at].render(data))
            steps = (*self._batch.steps[:at], step, *self._batch.steps[at + 1 :])
            self._batch = self._batch._replace(steps=steps)
            self._batches.write(self._batch)
        return step.new

    def leave(self, at: int, reason: str) -> None:
        """Skip a step, with the reason."""
        self._left.add(at)
        step = self._batch.steps[at]
        self._skipped.append((step.path or step.target, reason))

    def stop(self, at: int) -> None:
        """Stop before this step; if even that cannot be recorded, heal() continues from here."""
        self._left.update(range(at, len(self._batch.steps)))
        with contextlib.suppress(OSError):
            self._batches.close(self._batch.number, len(self._batch.steps), self._left)

    def outcome(self) -> Outcome:
        """Close the batch and return its outcome."""
        steps = self._batch.steps
        try:
            self._batches.close(self._batch.number, len(steps), self._left)
        except OSError as error:
            raise StateError(f"a batch cannot be recorded as done: {error.strerror}") from error
        done = tuple(step for at, step in enumerate(steps) if at not in self._left)
        return Outcome(self._batch.number if done else None, done, tuple(self._skipped))


def _stops(error: VaultmemError) -> bool:
    """Whether it is pointless to continue with the next file."""
    cause = error.__cause__
    return isinstance(error, StateError) or (isinstance(cause, OSError) and cause.errno in _STOPS)


def _read(record: str) -> bytes:
    with open(record, "rb") as file:
        return file.read()


def _put_aside(record: str) -> str:
    os.replace(record, record + KEPT)
    return f"{record}{KEPT}: a damaged record was set aside"


# Roll forward a batch that a kill interrupted, without overwriting later edits.


class Recovery:
    """Finishes a batch whose writer was killed."""

    def __init__(self, vault: str, batch: Batch) -> None:
        self._vault = vault
        self._batch = batch

    def finish(self, messages: list[str]) -> set[int]:
        """Carry out the remaining steps. Returns the indices of those that cannot be; adds messages to `messages`."""
        left = set()
        for at, step in enumerate(self._batch.steps):
            try:
                self._forward(step)
            except (NoteChangedError, NoteNotFoundError) as error:
                left.add(at)
                messages.append(f"an interrupted change was abandoned: {error}")
        if len(left) < len(self._batch.steps):
            messages.append(f"an interrupted change was finished: {self._batch.header.why}")
        return left

    def _forward(self, step: Step) -> None:
        """Carry out the step, unless it is done. Raises NoteChangedError when it would overwrite an edit."""
        moves = step.path is not None and step.path != step.target
        held = self._held(step.target)
        if moves and held == b"" and self._held(step.path) is not None:
            os.unlink(
                existing_path(self._vault, step.target)
            )  # it held the name, see moves.take_name()
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
            write_in_place(existing_path(self._vault, step.target), step.new)
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
        """The bytes of a file; None if there is none."""
        if path is None or on_disk(self._vault, path) is None:
            return None
        return newest(self._vault, path)

    def remove_temps(self, temps: str) -> None:
        """Remove temporary files that the dead writer left beside the files or beside the targets of links."""
        if not temps.startswith(TEMP_PREFIX) or "/" in temps:
            return
        for path in {
            path for step in self._batch.steps for path in (step.path, step.target) if path
        }:
            folders = {os.path.dirname(f"{self._vault}/{path}")}
            with contextlib.suppress(NoteNotFoundError):
                folders.add(os.path.dirname(existing_path(self._vault, path)))
            for folder in folders:
                sweep(folder, temps, older=-math.inf)


def is_torn(data: bytes, old: bytes, new: bytes) -> bool:
    """Whether `data` is `old` with the beginning of `new` written over it."""
    differ = (at for at, (a, b) in enumerate(zip(data, new, strict=False)) if a != b)
    same = next(differ, min(len(data), len(new)))
    return data[same:] == old[same:]
