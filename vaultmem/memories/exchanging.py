"""Memories out of a vault and into another, as a command or a program asks for it: lines go by pages, files wait in
the state folder."""

from __future__ import annotations

import contextlib
import os
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO

from vaultmem.errors import VaultmemError
from vaultmem.memories.importing import FOLDER, TAKEN
from vaultmem.paths import make_private

if TYPE_CHECKING:
    from vaultmem.progress import Progress
    from vaultmem.store.state import State

Ask = Callable[..., dict[str, object]]
_PART = 1 << 20
_LOOK_EVERY = 0.2  # seconds


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


def imported(
    ask: Ask, state: State, source: BinaryIO, progress: Progress | None = None, **how: object
) -> dict[str, object]:
    """Take in what can be read of a file. A copy waits in the state folder, where the sync agent finds it."""
    folder = make_private(state.path(FOLDER))
    place = os.path.join(folder, f"{uuid.uuid4().hex}.jsonl")
    try:
        lines = _copy(source, place)
        with _told(progress, lines, place + TAKEN):
            return ask("import", file=os.path.basename(place), **how)
    except OSError as error:
        raise VaultmemError(f"what is to be imported cannot be read: {error.strerror}") from error
    finally:
        for each in (place, place + TAKEN):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(each)


@contextmanager
def _told(progress: Progress | None, lines: int, place: str) -> Iterator[None]:
    """Tell how far it is for as long as it takes: whoever imports writes that down beside the file."""
    if progress is None:
        yield
        return
    ended = threading.Event()
    progress.stage("importing", lines)

    def look() -> None:
        done = 0
        while not ended.wait(_LOOK_EVERY):
            now = _number_in(place)
            progress.advance(max(0, now - done))
            done = max(done, now)

    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    try:
        yield
    finally:
        ended.set()
        looking.join()


def _number_in(place: str) -> int:
    try:
        with open(place, encoding="ascii") as file:
            return int(file.read(20) or 0)
    except (OSError, ValueError):
        return 0


def _copy(source: BinaryIO, place: str) -> int:
    """How many lines there are."""
    lines = 0
    handle = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as file:
        while part := source.read(_PART):
            lines += part.count(b"\n")
            file.write(part)
    return lines
