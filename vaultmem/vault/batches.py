"""The write-ahead log: write.apply() has all writes of a batch on disk before the first file changes.

A batch is one file: `<n>.doing` until all its files are written, `<n>.done` until the history has it.
"""

from __future__ import annotations

import contextlib
import os

from vaultmem.errors import NoteChangedError, NoteNotFoundError, StateError, VaultmemError
from vaultmem.paths import replace_private
from vaultmem.vault.batch_record import (
    DOING,
    DONE,
    PART,
    Batch,
    Step,
    mark_left,
    pack_batch,
    unpack_batch,
)
from vaultmem.vault.files import on_disk
from vaultmem.vault.moves import (
    TEMP_PREFIX,
    discard,
    existing_path,
    move,
    own_temps,
    sweep,
    write_in_place,
)
from vaultmem.vault.walk import identity
from vaultmem.vault.write import change, create, newest

KEPT = ".kept"


class Batches:
    """The records of batches, until they are forgotten. The caller holds the lock of the state folder."""

    def __init__(self, folder: str, vault: str, own_folder: str = "") -> None:
        """In `own_folder` of the vault no links are followed, and files are detached from their hard links."""
        self.vault = vault
        self._folder = folder
        self._own = own_folder

    def heal(self) -> list[str]:
        """Finish batches that a kill interrupted. Returns messages for a person."""
        messages: list[str] = []
        for name in self._names():
            if name.endswith(PART):  # left by a record that was not completed
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
            advice = "free some space, or see that you may write there"
            raise StateError(f"{record} cannot be written ({error.strerror}): {advice}") from error

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
        """Remove temporary files that the dead writer left beside the files or beside the targets of links. Words of
        another program in one become a conflict copy of the file that was being written."""
        if not temps.startswith(TEMP_PREFIX) or "/" in temps:
            return
        # The file of each folder: the last that is written, else the first.
        places: dict[str, str] = {}
        for step in self._batch.steps:
            files = [f"{self._vault}/{path}" for path in (step.path, step.target) if path]
            written = False
            with contextlib.suppress(VaultmemError):
                files.append(existing_path(self._vault, step.target))
                written = self._held(step.target) == step.new
            for file in reversed(files):
                if written or os.path.dirname(file) not in places:
                    places[os.path.dirname(file)] = file
        for folder, place in places.items():
            with contextlib.suppress(OSError):
                for name in os.listdir(folder):
                    if name.startswith(temps):
                        discard(f"{folder}/{name}", place, self._is_ours, 0.0)

    def _is_ours(self, data: bytes) -> bool:
        return any(step.new.startswith(data) or data == step.old for step in self._batch.steps)


def is_torn(data: bytes, old: bytes, new: bytes) -> bool:
    """Whether `data` is `old` with the beginning of `new` written over it."""
    differ = (at for at, (a, b) in enumerate(zip(data, new, strict=False)) if a != b)
    same = next(differ, min(len(data), len(new)))
    return data[same:] == old[same:]
