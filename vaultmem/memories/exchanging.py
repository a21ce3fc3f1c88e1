"""Memories out of a vault and into another, as a command or a program asks for it: lines go by pages, files wait in
the state folder."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, BinaryIO

from vaultmem.errors import VaultmemError
from vaultmem.memories.importing import FOLDER
from vaultmem.paths import make_private

if TYPE_CHECKING:
    from vaultmem.store.state import State

Ask = Callable[..., dict[str, object]]
_PART = 1 << 20


def exported(ask: Ask, told: Callable[[int], None], **which: object) -> Iterator[str]:
    """All lines that are asked for, without their ends. `told` hears how many files cannot be told of."""
    after: object = "[]"
    while after is not None:
        page = ask("export", after=after, **which)
        lines, after = page["lines"], page["next"]
        assert isinstance(lines, list)
        yield from lines
        left_out = page["left_out"]
        if isinstance(left_out, int) and left_out:
            told(left_out)


def imported(ask: Ask, state: State, source: BinaryIO, **how: object) -> dict[str, object]:
    """Take in what can be read of a file. A copy waits in the state folder, where the sync agent finds it."""
    folder = make_private(state.path(FOLDER))
    name = f"{uuid.uuid4().hex}.jsonl"
    place = os.path.join(folder, name)
    try:
        _copy(source, place)
        return ask("import", file=name, **how)
    except OSError as error:
        raise VaultmemError(f"what is to be imported cannot be read: {error.strerror}") from error
    finally:
        if os.path.exists(place):
            os.unlink(place)


def _copy(source: BinaryIO, place: str) -> None:
    handle = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as file:
        while part := source.read(_PART):
            file.write(part)
