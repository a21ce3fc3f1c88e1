"""A vault with some notes and a log of batches, for tests."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from vaultmem.vault import batches
from vaultmem.vault.batch_record import Header, Outcome, PlannedWrite
from vaultmem.vault.batches import Batches

HEADER = Header("claude", "assistant", "because", 1.5)


class Place:
    """A vault with some notes, and its state."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.vault = folder / "vault"
        self.state = folder / "state"
        self.fill()

    def fill(self) -> None:
        """As in the beginning."""
        for made in (self.vault, self.state):
            shutil.rmtree(made, ignore_errors=True)
        (self.vault / "m").mkdir(parents=True)
        for name in ("a", "b", "c", "d", "e"):
            (self.vault / "m" / f"{name}.md").write_bytes(old(name))
        os.link(self.vault / "m" / "e.md", self.vault / "m" / "twin.md")

    @property
    def batches(self) -> Batches:
        return Batches(str(self.state / "batches"), str(self.vault))

    def apply(self, *wishes: PlannedWrite, between: Callable[[], None] = lambda: None) -> Outcome:
        """`between` comes before each step."""
        carry_out = batches._Run.carry_out

        def interrupted(run: batches._Run, at: int) -> None:
            between()
            carry_out(run, at)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(batches._Run, "carry_out", interrupted)
            return self.batches.apply(HEADER, wishes)

    def notes(self) -> dict[str, bytes]:
        """All files of the vault, hidden ones too."""
        found = (path for path in self.vault.rglob("*") if path.is_file())
        return {str(path.relative_to(self.vault)): path.read_bytes() for path in found}

    def records(self) -> list[str]:
        folder = self.state / "batches"
        return sorted(os.listdir(folder)) if folder.exists() else []


def old(name: str) -> bytes:
    return f"old {name}\r\n\0".encode() * 20


def new(name: str) -> bytes:
    return f"new words of {name}\n".encode() * 30


def edit(path: str, data: bytes, target: str = "") -> PlannedWrite:
    return PlannedWrite(path, target or path, lambda _: data, f"edit {path}")


def make(target: str, data: bytes) -> PlannedWrite:
    return PlannedWrite(None, target, lambda _: data, f"make {target}")


def keep(path: str, target: str) -> PlannedWrite:
    return PlannedWrite(path, target, lambda data: data or b"", f"move {path}")


BEFORE = {f"m/{name}.md": old(name) for name in "abcde"} | {"m/twin.md": old("e")}
AFTER = {
    "m/a.md": new("a"), "m/arch/b.md": new("b"), "m/b.md": old("c"), "m/deep/x/d.md": old("d"), "m/e.md": new("e"),
    "m/twin.md": new("e"), "m/new.md": new("new"), "other/new.md": b"",
}  # fmt: skip


def everything() -> list[PlannedWrite]:
    """An edit, a move with one, a move to the place that it frees, a plain move, a hard link, new files."""
    return [
        edit("m/a.md", new("a")), edit("m/b.md", new("b"), "m/arch/b.md"), keep("m/c.md", "m/b.md"),
        keep("m/d.md", "m/deep/x/d.md"), edit("m/e.md", new("e")), make("m/new.md", new("new")),
        make("other/new.md", b""),
    ]  # fmt: skip
