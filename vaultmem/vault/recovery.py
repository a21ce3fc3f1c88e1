"""How a batch that a kill has cut off is rolled forward, without overwriting what somebody wrote since."""

from __future__ import annotations

import contextlib
import os

from vaultmem.errors import NoteChangedError, NoteNotFoundError
from vaultmem.vault.batch_record import Batch, Step
from vaultmem.vault.files import on_disk
from vaultmem.vault.moves import existing, move, write_in_place
from vaultmem.vault.write import TEMP_PREFIX, change, create, newest


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
