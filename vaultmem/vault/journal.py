"""What is about to be written, on disk before it happens, so that a restart can heal a kill.

A record holds the note's old bytes until the new ones have been read back. A live writer keeps its
record locked; what is not locked was left behind by a dead one.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from vaultmem.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Iterator

TEMP_PREFIX = ".vaultmem-"
_RECORD = ".record"
_PART = ".part"
_KEPT = ".kept"
_number = itertools.count(1)
_process = os.urandom(4).hex()


def own_temps() -> str:
    """How the names of this process's temporary files begin; no other process's do."""
    return f"{TEMP_PREFIX}{os.getpid()}-{_process}-"


@dataclass(frozen=True)
class Intent:
    """One write that is about to happen; paths are absolute and real."""

    target: str
    temp: str  # the temporary file beside it, "" when the target itself is written
    old: bytes  # what the note holds
    new: bytes = b""  # what it shall hold, when a kill could leave it half written
    fresh: bool = False  # the note does not exist yet
    source: str = ""  # the file that shall have the target's name, which an empty file holds for it

    def packed(self) -> bytes:
        """One line of JSON, then the old and the new bytes."""
        line = {
            "target": self.target,
            "temp": self.temp,
            "old": len(self.old),
            "new": len(self.new),
            "fresh": self.fresh,
            "source": self.source,
        }
        return json.dumps(line).encode() + b"\n" + self.old + self.new

    @classmethod
    def unpacked(cls, data: bytes) -> Self:
        """The reverse of packed(); raises ValueError, KeyError or TypeError for the rest."""
        line, _, rest = data.partition(b"\n")
        said = json.loads(line)
        old, new = rest[: said["old"]], rest[said["old"] :]
        if len(new) != said["new"]:
            raise ValueError("a record of the wrong length")
        source = said.get("source", "")
        return cls(said["target"], said["temp"], old, new, said["fresh"], source)


@contextlib.contextmanager
def recorded(folder: str, intent: Intent) -> Iterator[None]:
    """Keep a record of the intent in `folder` while the block runs, however it ends; none where it is ""."""
    if not folder:
        yield
        return
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        record = f"{folder}/{os.getpid()}-{next(_number)}{_RECORD}"
        handle = os.open(
            record + _PART, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600
        )
    except OSError as error:
        raise StateError(f"the journal {folder} cannot be written: {error.strerror}") from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            write_all(handle, intent.packed())
            os.fsync(handle)
            os.replace(record + _PART, record)
            fsync_folder(folder)
        except OSError as error:
            raise StateError(f"the journal {folder} cannot be written: {error.strerror}") from error
        yield
    finally:
        for name in (record + _PART, record):
            with contextlib.suppress(OSError):
                os.unlink(name)
        os.close(handle)


def recover(folder: str) -> list[str]:
    """Finish or undo what dead writers left; says in one line each what was done.

    A note that was half written gets its old bytes back. A note that somebody has changed since is
    left alone and the old bytes are kept in the journal. Records of an absent vault stay.
    """
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    said: list[str] = []
    for name in names:
        if not name.endswith((_RECORD, _PART)):
            continue
        try:
            said += _recover_one(f"{folder}/{name}")
        except OSError as error:
            said.append(f"{folder}/{name}: cannot be recovered: {error.strerror}")
    return said


def _recover_one(record: str) -> list[str]:
    handle = os.open(record, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if record.endswith(_PART):
            os.unlink(record)
            return []
        data = os.pread(handle, os.fstat(handle).st_size, 0)
        return _healed(record, Intent.unpacked(data))
    except BlockingIOError:  # its writer lives
        return []
    except (ValueError, KeyError, TypeError):
        os.replace(record, record + _KEPT)
        return [f"{record}{_KEPT}: a damaged record was put aside"]
    finally:
        os.close(handle)


def _healed(record: str, intent: Intent) -> list[str]:
    if not os.path.isdir(os.path.dirname(intent.target)):
        return []
    if intent.temp and os.path.basename(intent.temp).startswith(TEMP_PREFIX):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(intent.temp)
    said = _heal_move(intent) if intent.source else _heal_target(intent) if intent.new else ""
    if said == _KEPT:
        os.replace(record, record + _KEPT)
        return [f"{intent.target}: changed since a write was cut off; old text in {record}{_KEPT}"]
    os.unlink(record)
    return [f"{intent.target}: {said}"] if said else []


def _heal_move(intent: Intent) -> str:
    """Give the file the name that was held for it; says what was done."""
    with contextlib.suppress(FileNotFoundError):
        if os.path.getsize(intent.target) == 0:
            os.replace(intent.source, intent.target)
            return "a move was cut off; completed"
    return ""


def _heal_target(intent: Intent) -> str:
    """Repair a note that is half old and half new; says what was done."""
    try:
        found = Path(intent.target).read_bytes()
    except FileNotFoundError:
        return "" if intent.fresh else _KEPT
    if found in {intent.old, intent.new} and not (intent.fresh and found == intent.old):
        return ""
    if not is_torn(found, intent.old, intent.new):
        return "" if intent.fresh else _KEPT
    if intent.fresh:
        write_in_place(intent.target, intent.new)
        return "a new note was cut off while it was written; completed"
    write_in_place(intent.target, intent.old)
    return "a change was cut off while it was written; undone"


def is_torn(found: bytes, old: bytes, new: bytes) -> bool:
    """Whether `found` is `old` with the first part of `new` written over it."""
    same = next((at for at, (a, b) in enumerate(zip(found, new, strict=False)) if a != b), None)
    if same is None:
        same = min(len(found), len(new))
    return found[same:] == old[same:]


def write_in_place(path: str, data: bytes) -> None:
    """Overwrite a file from its start and cut it off after the data."""
    handle = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        write_all(handle, data)
        os.ftruncate(handle, len(data))
        os.fsync(handle)
    finally:
        os.close(handle)


def write_all(handle: int, data: bytes) -> None:
    """Write all of the data, however little the system takes at a time."""
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


def fsync_folder(folder: str) -> None:
    """Make a rename in the folder last; some file systems cannot, and need not."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
