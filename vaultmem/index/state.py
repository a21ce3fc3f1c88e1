"""The state folder of one vault: manifest, generations, the lock of the one writer.

<state>/manifest.json      format versions and the generation in force; swapped by rename
<state>/gen-<n>/           catalog.db and kw/, built together, thrown away together
<state>/vec/<model>/       vectors by text hash; survive rebuilds
<state>/behind             there after a write that could not be indexed, until the next search or sync
<state>/lock               flock of the process that writes, with its PID
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator

from vaultmem.errors import LockedError, StateError
from vaultmem.index import ANALYZER, catalog
from vaultmem.paths import make_private, read_json, replace_private, state_folder

FORMAT = 1
_VERSIONS = {"format": FORMAT, "catalog": catalog.FORMAT, "analyzer": ANALYZER}


class State:
    """The location of a vault's derived files. Nothing in it is worth a backup."""

    def __init__(self, vault: str) -> None:
        self.vault = vault
        self.folder = state_folder(vault)
        if not os.path.exists(self.path("root.json")):
            from vaultmem import client  # new only once
            from vaultmem.vault.identity import follow

            if former := follow(vault):
                with contextlib.suppress(client.AgentError):
                    client.ask(former, "ping", {})  # has an agent notice that its lock is here now
        self._held: int | None = None

    def manifest(self) -> dict[str, object]:
        """The manifest; {} if there is none, or it is damaged or of another version."""
        result = read_json(self.path("manifest.json"))
        is_ours = all(result.get(name) == version for name, version in _VERSIONS.items())
        return result if is_ours and isinstance(result.get("generation"), int) else {}

    def generation(self) -> str | None:
        """The folder of the generation in force, if its parts exist."""
        number = self.manifest().get("generation")
        if number is None:
            return None
        folder = self._generation_folder(number)
        parts = (os.path.join(folder, "catalog.db"), os.path.join(folder, "kw", "meta.json"))
        return folder if all(os.path.exists(part) for part in parts) else None

    def is_complete(self) -> bool:
        """Whether the index in force was complete once; the first one is in force while it is being filled."""
        return self.generation() is not None and bool(self.manifest().get("complete", True))

    def is_behind(self) -> bool:
        """Whether something was written that could not be indexed."""
        return os.path.exists(self.path("behind"))

    def fall_behind(self) -> None:
        """Record that a write could not be indexed; the next search indexes it."""
        with contextlib.suppress(OSError):  # then the next sync indexes it
            os.close(_no_link(self.path("behind"), os.O_WRONLY | os.O_CREAT))

    def catch_up(self) -> None:
        """Record that the index is up to date again."""
        with contextlib.suppress(OSError):
            os.unlink(self.path("behind"))

    def complete(self, notes: int) -> None:
        """Record that the index in force is complete, with this many notes."""
        number = self.manifest().get("generation")
        if isinstance(number, int):
            self.adopt(number, notes)

    def _generation_folder(self, number: object) -> str:
        return os.path.join(self.folder, f"gen-{number}")

    def new_generation(self) -> tuple[int, str]:
        """An empty folder for a rebuild; searches continue in the old generation meanwhile."""
        make_private(self.folder)
        taken = [
            int(n[4:]) for n in os.listdir(self.folder) if n.startswith("gen-") and n[4:].isdigit()
        ]
        number = max(taken, default=0) + 1
        return number, make_private(self._generation_folder(number))

    def note_count(self) -> int:
        """How many notes the vault had at the last rebuild of its index."""
        count = self.manifest().get("notes")
        return count if isinstance(count, int) else 0

    def adopt(self, number: int, notes: int, *, complete: bool = True) -> None:
        """Put a generation in force and remove all others."""
        manifest = {"generation": number, "notes": notes, "complete": complete, "vault": self.vault}
        replace_private(
            self.path("manifest.json"), json.dumps({**_VERSIONS, **manifest}), sync=True
        )
        self.sweep()

    def sweep(self) -> None:
        """Remove leftovers of interrupted rebuilds and writes."""
        from shutil import rmtree  # not needed for a search

        keep = f"gen-{self.manifest().get('generation')}"
        for name in os.listdir(self.folder):
            if name.startswith("gen-") and name != keep:
                rmtree(os.path.join(self.folder, name), ignore_errors=True)
            elif name.startswith("manifest.json.") or name.endswith(".tmp"):  # not renamed yet
                with contextlib.suppress(FileNotFoundError):  # or just renamed
                    os.unlink(self.path(name))

    def models_folder(self) -> str:
        """The folder of prepared embedding models, beside the states of all vaults and shared by them."""
        return self.path("..", "models")

    def path(self, *parts: str) -> str:
        """A path inside the state folder."""
        return os.path.join(self.folder, *parts)

    def holds_lock(self) -> bool:
        """Whether the lock is still valid: the state folder may be deleted at any time."""
        try:
            return self._held is not None and os.path.samestat(
                os.fstat(self._held), os.stat(self.path("lock"))
            )
        except OSError:
            return False

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the lock of the one writer. Raises LockedError naming the process that holds it."""
        make_private(self.folder)
        try:
            handle = _no_link(self.path("lock"), os.O_RDWR | os.O_CREAT)
        except OSError as error:
            raise self._unwritable(error) from error
        try:
            if not _take(handle):
                holder = os.pread(handle, 20, 0).decode("ascii", "replace").strip() or "unknown"
                raise LockedError(
                    f"another vaultmem (process {holder}) is at work on this vault; wait for it to end"
                )
            try:
                os.ftruncate(handle, 0)
                os.pwrite(handle, str(os.getpid()).encode("ascii"), 0)
            except OSError as error:
                raise self._unwritable(error) from error
            self._held = handle
            yield
        finally:
            self._held = None
            os.close(handle)  # which also releases the lock

    def _unwritable(self, error: OSError) -> StateError:
        return StateError(f"cannot write to the state folder {self.folder}: {error.strerror}")


def _no_link(path: str, flags: int) -> int:
    """Open for writing, but never through a link, which may point to a note."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o600)


def _take(handle: int) -> bool:
    """Take the lock unless another writer holds it. A process that only tests it holds it shared for a moment: wait."""
    import fcntl

    for _ in range(1_000):
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return False
        fcntl.flock(handle, fcntl.LOCK_UN)
        time.sleep(0.01)
    return False
