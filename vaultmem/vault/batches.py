"""Write-ahead log of batches: what is to be written to several files is on the disk before the first changes.

A batch is one file: `<n>.doing` until all its files are written, `<n>.done` until the history has it.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Sequence
from typing import NamedTuple

from vaultmem.errors import NoteChangedError, NoteNotFoundError, StateError, VaultmemError
from vaultmem.vault.files import on_disk
from vaultmem.vault.journal import fsync_folder, own_temps, write_all
from vaultmem.vault.moves import move, refuse_links
from vaultmem.vault.recovery import Batch, Header, Healing, Step, mark_left, packed, unpacked
from vaultmem.vault.write import change, create, newest

__all__ = ["Batch", "Batches", "Header", "Outcome", "Step", "Wish"]

DOING, DONE, KEPT, PART = ".doing", ".done", ".kept", ".part"
_OWN_RECORD = ""  # the batch is the journal of its writes
# After these the next file would fare no better.
_STOPS = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS}


class Wish(NamedTuple):
    """One file that is to become another."""

    path: str | None  # None: it is to be created
    target: str
    render: Callable[[bytes | None], bytes]  # newest bytes to new ones; NoteChangedError declines
    why: str


class Outcome(NamedTuple):
    """What became of the wishes."""

    number: int | None  # of the batch; None when there was nothing to do
    done: tuple[Step, ...]
    skipped: tuple[tuple[str, str], ...]  # path and reason


class Batches:
    """Applies batches and keeps them until forgotten. Whoever calls holds the lock of the state folder."""

    def __init__(self, folder: str, vault: str, journal: str, own: str = "") -> None:
        """`own` is the folder of the vault in which no link is followed, and no other name of a file is
        changed with it."""
        self._folder = folder
        self._vault = vault
        self._journal = journal
        self._own = own

    def apply(
        self, header: Header, wishes: Sequence[Wish], between: Callable[[], None] = lambda: None
    ) -> Outcome:
        """Carry out the wishes, each against the newest bytes of its file. `between` is called before each step.

        What cannot be done is skipped with a reason. Raises for a full disk and the like, and what
        `between` raises; what was done until then is recorded all the same.
        """
        draft = _Draft(self._vault, self.is_own)
        for wish in wishes:
            draft.take(wish)
        if not draft.steps:
            return Outcome(None, (), tuple(draft.skipped))
        run = _Run(self, header, draft)
        for at in range(len(draft.steps)):
            try:
                between()
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
        """Roll forward what a kill has cut off; a line for each thing that a person may want to know."""
        said: list[str] = []
        for name in self._names(DOING + PART):
            os.unlink(f"{self._folder}/{name}")
        for name in self._names(DOING):
            number = int(name.removesuffix(DOING))
            record = f"{self._folder}/{name}"
            try:
                batch, temps = unpacked(_bytes_of(record), number)
                left = Healing(self._vault, self._journal, temps).finish(batch, said)
            except (ValueError, KeyError, TypeError):
                said.append(self._put_aside(record))
            except (OSError, VaultmemError) as error:
                said.append(f"{record} waits to be finished: {error}")
            else:
                if left is not None:
                    self.close(number, len(batch.steps), left)
        return said

    def waiting(self) -> list[Batch]:
        """What is done and not yet forgotten, oldest first."""
        found = []
        for name in self._names(DONE):
            record = f"{self._folder}/{name}"
            try:
                found.append(unpacked(_bytes_of(record), int(name.removesuffix(DONE)))[0])
            except (ValueError, KeyError, TypeError):
                self._put_aside(record)
        return found

    def count(self) -> int:
        """How many are done and not yet forgotten."""
        return sum(1 for _ in self._names(DONE))

    def forget(self, number: int) -> None:
        """Drop the record of a batch that is done."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{self._folder}/{number}{DONE}")

    # For the run of a batch

    def next_number(self) -> int:
        """A number that is higher than all there are."""
        found = (name.partition(".")[0] for name in (*self._names(DOING), *self._names(DONE)))
        return max(map(int, found), default=0) + 1

    def write(self, batch: Batch) -> None:
        """Put the record of a batch on the disk, whole or not at all, before anything of it is done."""
        record = f"{self._folder}/{batch.number}{DOING}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            handle = os.open(record + PART, flags, 0o600)
            try:
                write_all(handle, packed(batch, own_temps()))
                os.fsync(handle)
            finally:
                os.close(handle)
            os.replace(record + PART, record)
            fsync_folder(self._folder)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.unlink(record + PART)
            raise StateError(f"{record} cannot be written: {error.strerror}") from error

    def close(self, number: int, steps: int, left: set[int]) -> None:
        """From doing to done, with what was left out; a batch of which nothing was done is dropped."""
        record = f"{self._folder}/{number}{DOING}"
        if len(left) == steps:
            os.unlink(record)
            return
        if left:
            mark_left(record, left)
        os.replace(record, f"{self._folder}/{number}{DONE}")

    def give_way(self, step: Step) -> None:
        """Move the file of a step, and nothing else."""
        assert step.path is not None
        move(self._vault, step.path, step.target, self._journal)

    def give_back(self, step: Step) -> None:
        """Undo give_way(), if that can be done."""
        assert step.path is not None
        with contextlib.suppress(VaultmemError):
            move(self._vault, step.target, step.path, self._journal)

    def edit(self, path: str, edit: Callable[[bytes], bytes]) -> None:
        """Change a file of the vault; the batch keeps what it held."""
        change(self._vault, path, edit, _OWN_RECORD, part=self.is_own(path))

    def is_own(self, path: str) -> bool:
        """Whether it is in the folder that is vaultmem's own."""
        return bool(self._own) and path.startswith(f"{self._own}/")

    def make(self, path: str, data: bytes) -> None:
        """Write a new file of the vault."""
        create(self._vault, path, data, _OWN_RECORD)

    def _put_aside(self, record: str) -> str:
        os.replace(record, record + KEPT)
        return f"{record}{KEPT}: a damaged record was put aside"

    def _names(self, ending: str) -> list[str]:
        """Records of that kind, oldest first."""
        try:
            names = os.listdir(self._folder)
        except OSError:
            return []
        found = [name for name in names if name.endswith(ending)]
        return sorted(
            (name for name in found if name.removesuffix(ending).isdecimal()),
            key=lambda name: int(name.removesuffix(ending)),
        )


class _Draft:
    """Turns wishes into steps; each sees the files as those before it will leave them."""

    def __init__(self, vault: str, is_own: Callable[[str], bool]) -> None:
        self._vault = vault
        self._is_own = is_own
        self._freed: set[str] = set()  # places that a step before moves its file away from
        self._touched: set[str] = set()
        self.steps: list[Step] = []
        self.wishes: list[Wish] = []
        self.skipped: list[tuple[str, str]] = []

    def take(self, wish: Wish) -> None:
        """Make a step of a wish, or note why not."""
        try:
            step = self._step(wish)
        except VaultmemError as error:
            self.skipped.append((wish.path or wish.target, str(error)))
            return
        if step.path == step.target and step.new == step.old:
            return
        if step.path != step.target and step.path is not None:
            self._freed.add(step.path)
        self._touched.add(step.target)
        self.steps.append(step)
        self.wishes.append(wish)

    def _step(self, wish: Wish) -> Step:
        path, target = wish.path, wish.target
        if target in self._touched or path in self._touched or path in self._freed:
            raise NoteChangedError(f"{path or target} is changed by this batch already")
        for one in (path, target):
            if one is not None and self._is_own(one):
                refuse_links(self._vault, one)
        old = None if path is None else newest(self._vault, path)
        taken = target not in self._freed and on_disk(self._vault, target) is not None
        if taken and (path is None or path.lower() != target.lower()):
            raise NoteChangedError(f"{target} exists already; choose another name")
        return Step(path, target, old, wish.render(old), wish.why)


class _Run:
    """One batch while it is carried out."""

    def __init__(self, batches: Batches, header: Header, draft: _Draft) -> None:
        self._batches = batches
        self._wishes = draft.wishes
        self._skipped = draft.skipped
        self._left: set[int] = set()
        self._batch = Batch(batches.next_number(), os.urandom(8).hex(), header, tuple(draft.steps))
        batches.write(self._batch)

    def carry_out(self, at: int) -> None:
        """One step; whatever it raises, its file is where it was."""
        step = self._batch.steps[at]
        if step.path is None:
            self._batches.make(step.target, step.new)
        elif step.path == step.target:
            self._batches.edit(step.target, lambda data: self._rendered(at, data))
        else:
            self._batches.give_way(step)
            try:
                self._batches.edit(step.target, lambda data: self._rendered(at, data))
            except BaseException:
                self._batches.give_back(step)
                raise

    def _rendered(self, at: int, data: bytes) -> bytes:
        """The new bytes; when somebody was quicker they are made anew, and put on record first."""
        step = self._batch.steps[at]
        if data != step.old:
            step = step._replace(old=data, new=self._wishes[at].render(data))
            steps = (*self._batch.steps[:at], step, *self._batch.steps[at + 1 :])
            self._batch = self._batch._replace(steps=steps)
            self._batches.write(self._batch)
        return step.new

    def leave(self, at: int, reason: str) -> None:
        """A step that did not happen."""
        self._left.add(at)
        step = self._batch.steps[at]
        self._skipped.append((step.path or step.target, reason))

    def stop(self, at: int) -> None:
        """The end before this step; where even that cannot be recorded, heal() will go on from here."""
        self._left.update(range(at, len(self._batch.steps)))
        with contextlib.suppress(OSError):
            self._batches.close(self._batch.number, len(self._batch.steps), self._left)

    def outcome(self) -> Outcome:
        """The end."""
        steps = self._batch.steps
        try:
            self._batches.close(self._batch.number, len(steps), self._left)
        except OSError as error:
            raise StateError(f"a batch cannot be recorded as done: {error.strerror}") from error
        done = tuple(step for at, step in enumerate(steps) if at not in self._left)
        return Outcome(self._batch.number if done else None, done, tuple(self._skipped))


def _stops(error: VaultmemError) -> bool:
    """Whether there is no use in going on to the next file."""
    cause = error.__cause__
    return isinstance(error, StateError) or (isinstance(cause, OSError) and cause.errno in _STOPS)


def _bytes_of(record: str) -> bytes:
    with open(record, "rb") as file:
        return file.read()
