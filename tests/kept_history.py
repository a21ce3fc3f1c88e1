"""A vault with memories, its batches and its history, for tests."""

import os
import subprocess
from pathlib import Path

from tests.conftest import fill
from vaultmem.history.history import History
from vaultmem.history.objects import blob_id
from vaultmem.history.repository import Repository
from vaultmem.history.undo import Means, Refused, Undone, plan
from vaultmem.vault import write
from vaultmem.vault.batch_record import Header, Outcome, PlannedWrite
from vaultmem.vault.batches import Batches


class Kept:
    """A vault whose memory folder is `memories`."""

    def __init__(self, folder: Path) -> None:
        self.vault = folder / "vault"
        self.state = folder / "state"
        (self.vault / "memories").mkdir(parents=True, exist_ok=True)
        self.batches = Batches(str(self.state / "batches"), str(self.vault))
        self.history = History(str(self.state / "history.git"), str(self.vault), "memories")
        self.clock = 1_000.0

    def put(self, path: str, data: bytes) -> None:
        """An edit by a person."""
        fill(self.vault, {path: data})

    def read(self, path: str) -> bytes | None:
        """The content of a file."""
        try:
            return (self.vault / path).read_bytes()
        except FileNotFoundError:
            return None

    def memories(self) -> dict[str, bytes]:
        """All files of the memory folder."""
        found = (path for path in (self.vault / "memories").rglob("*") if path.is_file())
        return {os.path.relpath(path, self.vault): path.read_bytes() for path in found}

    def apply(self, *wished: PlannedWrite, why: str = "because", by: str = "claude") -> Outcome:
        """A write by vaultmem."""
        self.clock += 1
        return write.apply(self.batches, Header(by, "assistant", why, self.clock), wished)

    def make(self, path: str, data: bytes, by: str = "claude") -> str:
        """Create a file in a commit of its own. Returns its hash."""
        return self.commit(PlannedWrite(None, path, lambda _: data, "make"), by=by)

    def edit(self, path: str, data: bytes, target: str = "", by: str = "claude") -> str:
        """Edit or move a file in a commit of its own."""
        return self.commit(PlannedWrite(path, target or path, lambda _: data, "edit"), by=by)

    def commit(self, *wished: PlannedWrite, by: str = "claude") -> str:
        """Write a batch in a commit of its own."""
        outcome = self.apply(*wished, why=f"{wished[0].why} {wished[0].target}", by=by)
        assert not outcome.skipped
        self.take_in()
        return next(one.commit for one in self.history.log() if one.kind == "assistant")

    def take_in(self) -> int:
        """Commit everything that happened."""
        blobs = {path: blob_id(data) for path, data in self.memories().items()}
        return self.history.take_in(self.batches, blobs, self.clock, self.read)

    def unmade(self, *commits: str) -> tuple[list[PlannedWrite], list[Refused]]:
        """The writes that undo commits, newest first."""
        known = self.history
        moved = zip(commits, known.moved_since(commits), strict=True)
        undone = [Undone(known.files(known.show(one)), each) for one, each in moved]
        means = Means("memories", self.read, self.history.merged, lambda data: data + b"deleted\n")
        return plan(undone, means)[:2]

    def undo(self, *commits: str) -> list[Refused]:
        """Undo commits, newest first, in a commit of its own. Returns what was refused."""
        wished, refused = self.unmade(*commits)
        outcome = self.apply(*wished, why="undo")
        self.take_in()
        return [*refused, *outcome.skipped]

    def subjects(self) -> list[str]:
        """The subjects of the commits, oldest first."""
        return [record.why for record in reversed(self.history.log(limit=None))]

    def bytes_at(self, commit: str, path: str) -> bytes | None:
        """The content of a file after a commit."""
        git = [
            "git", f"--git-dir={self.state / 'history.git'}", "cat-file", "blob", f"{commit}:{path}",
        ]  # fmt: skip
        ended = subprocess.run(git, capture_output=True, check=False)
        return None if ended.returncode else ended.stdout


def tip(kept: Kept) -> str:
    return kept.history.log(limit=1)[0].commit


def tree(kept: Kept) -> dict[str, str]:
    """Paths and ids, as seen by a new process."""
    found = Repository(str(kept.state / "history.git"))
    return found.tree(found.tip())


def true(kept: Kept) -> bool:
    """Whether the newest commit matches the folder."""
    return tree(kept) == {path: blob_id(data) for path, data in kept.memories().items()}
