"""Writes notes while an editor is running: a batch after it is in the log, each note by compare, swap, read back
(R-WRITE-2, 4, 6).

A kill at any moment leaves the old note or the new one, and perhaps a temporary file, which sweep() removes. Only a
note with several names (hard links) is written in place, where a kill may leave half of it: the log repairs that.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Sequence

from vaultmem.errors import NoteChangedError, NoteNotFoundError, StateError, VaultmemError
from vaultmem.light import TYPE_CHECKING, NamedTuple
from vaultmem.paths import flush_names
from vaultmem.progress import track
from vaultmem.text.values import OnError
from vaultmem.vault.batch_record import Batch, Header, Outcome, PlannedWrite, Step
from vaultmem.vault.files import content, on_disk, reason_of, same_moment
from vaultmem.vault.moves import (
    anchored,
    discard,
    dress,
    exchange,
    existing_path,
    move,
    new_path,
    refuse_links,
    sweep,
    take_name,
    temp_beside,
    wait_for_writers,
    write_all,
    write_in_place,
)

if TYPE_CHECKING:
    from vaultmem.vault.batches import Batches

_TRIES = 3
_WHOLE = 1 << 40  # bytes; a note is read completely before it is written
_BEFORE, _AFTER = 0.5, 2.0  # seconds for other writers to finish
# After these errors the next file would fail, too.
_STOPS = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS}


def apply(log: Batches, header: Header, writes: Sequence[PlannedWrite]) -> Outcome:
    """Carry out the writes, each against the newest bytes of its file.

    Without writes, only the answers of the header are recorded. Writes that are no longer possible are skipped
    with a reason. Raises for a full disk and the like; the writes done by then are recorded.
    """
    draft = _Draft(log)
    for write in writes:
        draft.take(write)
    if not draft.steps and (writes or not header.answers):
        return Outcome(None, (), tuple(draft.skipped))
    run = _Run(log, header, draft)
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


# One note.


class _Seen(NamedTuple):
    data: bytes
    stat: os.stat_result


def change(root: str, path: str, edit: Callable[[bytes], bytes], *, part: bool = False) -> bool:
    """Apply an edit to a note's bytes and write the result, if it differs. Returns whether it did.

    The edit is called again on the newest bytes when another program writes meanwhile; after three attempts
    NoteChangedError is raised. Symbolic links are followed inside the vault only. A file with hard links is written
    in place, or detached from them with `part`. If `edit` raises, nothing is written.
    """
    real = existing_path(root, path)
    try:
        with anchored(root, real) as target:
            for _ in range(_TRIES):
                seen = _look(target)
                if seen is None:
                    continue
                new = edit(seen.data)
                if new == seen.data:
                    return False
                if not seen.stat.st_mode & 0o222:
                    raise VaultmemError(f"{path} is read-only; nothing was written")
                if _put(target, seen, new, part=part):
                    now = _look(target)
                    if now is not None and now.data == new:
                        return True
    except OSError as error:
        raise VaultmemError(f"{path} cannot be written: {reason_of(error)}") from error
    raise NoteChangedError(
        f"{path} is being changed by another program; close it there or try later"
    )


def create(root: str, path: str, data: bytes) -> None:
    """Write a new note and create its folders. Raises NoteChangedError when a file of that name exists."""
    exists = f"{path} already exists; choose another name"
    if on_disk(root, path) is not None:
        raise NoteChangedError(exists)
    try:
        with anchored(root, new_path(root, path)) as target:
            temp = temp_beside(target)
            try:
                _write_new(temp, data, 0o666)
                take_name(temp, target)
            finally:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(temp)
            flush_names(os.path.dirname(target))
    except FileExistsError as error:
        raise NoteChangedError(exists) from error
    except OSError as error:
        raise VaultmemError(f"{path} cannot be written: {reason_of(error)}") from error


def put(root: str, path: str, edit: Callable[[bytes | None], bytes | None]) -> bool:
    """Write a page of ours: what `edit` returns for its newest bytes, or for None if there is no file; None writes
    nothing. Returns whether anything was written. No link is followed."""
    refuse_links(root, path)
    full = f"{root}/{path}"
    sweep(os.path.dirname(full))
    for left in reversed(range(_TRIES)):
        if os.path.lexists(full) and not os.path.isfile(full):
            raise VaultmemError(f"{path} is not a file; move it away")
        try:
            if os.path.lexists(full):
                return change(root, path, lambda data: edit(data) or data, part=True)
            if (new := edit(None)) is not None:
                create(root, path, new)
        except (NoteChangedError, NoteNotFoundError):  # it appeared or disappeared since that look
            if not left:
                raise
        else:
            return new is not None
    raise AssertionError


def newest(root: str, path: str) -> bytes:
    """All bytes of a note, as the next edit would see them."""
    try:
        seen = _look(existing_path(root, path))
    except FileNotFoundError as error:
        raise NoteNotFoundError(f"there is no note {path}") from error
    except OSError as error:
        raise VaultmemError(f"{path} cannot be read: {reason_of(error)}") from error
    if seen is None:
        raise NoteChangedError(f"{path} is being written by another program; try later")
    return seen.data


# --- Internals


def _look(target: str) -> _Seen | None:
    """The current note; None while another program writes it."""
    data, stat, quiet = content(target, _WHOLE)
    return _Seen(data, stat) if quiet else None


def _put(target: str, seen: _Seen, new: bytes, *, part: bool) -> bool:
    """Write the new bytes if the note is still as seen. Returns whether it was."""
    if seen.stat.st_nlink > 1 and not part:  # a rename would detach the note from its hard links
        if not _is_unchanged(target, seen):
            return False
        write_in_place(target, new)
        return True
    temp = temp_beside(target)
    with OnError(lambda: discard(temp, target, lambda _: True, 0.0)):
        _write_new(temp, new)
        dress(temp, seen.stat)
    try:
        return _swap(target, temp, seen, new)
    finally:
        discard(temp, target, lambda data: data in (new, seen.data), _AFTER)


def _swap(target: str, temp: str, seen: _Seen, new: bytes) -> bool:
    """Move the temporary file over the note, unless another program was faster. Returns whether the note is ours now.

    An editor that had the old file open may write into it after the move, where its text would be lost: such text is
    put back for the next attempt. What another program did stays in the temporary file where that is impossible.
    """
    done, late = _exchange(target, temp, seen)
    if late is not None:
        with contextlib.suppress(FileNotFoundError):  # the note was moved away
            now = _look(target)
            if now is not None and now.data == new:
                _exchange(target, temp, now)
    return done and late is None


def _exchange(target: str, temp: str, seen: _Seen) -> tuple[bool, bytes | None]:
    """Move the temporary file over the note. Returns whether it did, and what was written into the old one since, which
    is then in the temporary file, also for heal(); or None."""
    displaced = os.open(target, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        wait_for_writers(displaced, _BEFORE)
        if os.fstat(displaced).st_ino != seen.stat.st_ino or not _is_unchanged(target, seen):
            return False, None
        ours = os.lstat(temp)
        if not exchange(temp, target):
            os.replace(temp, target)
        elif not os.path.samestat(os.lstat(temp), os.fstat(displaced)):
            _give_way(target, temp, ours)
            return False, None
        flush_names(os.path.dirname(target))
        late = _late_text(displaced, seen)
        if late is None:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temp)
        elif not os.path.lexists(temp):
            _write_new(temp, late)
            dress(temp, seen.stat)
        return True, late
    finally:
        os.close(displaced)


def _give_way(target: str, temp: str, ours: os.stat_result) -> None:
    """Put back a file that another program renamed to this path at the last moment."""
    with contextlib.suppress(FileNotFoundError):  # it was moved away
        exchange(temp, target)
        if not os.path.samestat(os.lstat(temp), ours):  # and replaced by another one right after
            exchange(temp, target)
    flush_names(os.path.dirname(target))


def _late_text(displaced: int, seen: _Seen) -> bytes | None:
    """What an editor has written into the file that was just replaced, once it has finished; None for nothing."""
    wait_for_writers(displaced, _AFTER)
    late = os.pread(displaced, os.fstat(displaced).st_size, 0)
    return None if late == seen.data else late


def _is_unchanged(target: str, seen: _Seen) -> bool:
    """Whether size, times, inode and all bytes are still as seen."""
    try:
        now = _look(target)
    except OSError:
        return False
    return (
        now is not None
        and now.stat.st_ino == seen.stat.st_ino
        and same_moment(now.stat, seen.stat)
        and now.data == seen.data
    )


def _write_new(path: str, data: bytes, mode: int = 0o600) -> None:
    """Write a file that must not exist yet. Durable on return."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        write_all(handle, data)
        os.fsync(handle)
    finally:
        os.close(handle)
