"""Roll a batch forward that a kill has cut off, file by file, as far as nobody has touched them since."""

from __future__ import annotations

import contextlib
import os

from vaultmem.errors import NoteChangedError, NoteNotFoundError
from vaultmem.store.batch_record import Batch, Step
from vaultmem.store.journal import TEMP_PREFIX, is_torn, recover, write_in_place
from vaultmem.store.move import move
from vaultmem.store.places import existing
from vaultmem.store.vault import on_disk
from vaultmem.store.walk import identity
from vaultmem.store.write import change, create, newest


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
