"""A memory folder, and the collection that reads it."""

import os
from pathlib import Path

import pytest

from vaultmem.adapter import Value
from vaultmem.memories.collection import Collection
from vaultmem.memories.model import Memory
from vaultmem.notes import pages

ONE = "11111111-0000-4000-8000-000000000001"
TWO = "22222222-0000-4000-8000-000000000002"
TEA = "Ann drinks green tea in the morning, black tea at four and no coffee at all since the spring of last year."
OLD = 1_750_000_000


class Folder:
    """A vault with a memory folder, and the collection that reads it."""

    def __init__(self, root: Path) -> None:
        self.root = root / "vault"
        (self.root / "vaultmem").mkdir(parents=True)
        self.cache = root / "state" / "memories.json"
        self.known = self.opened()

    def opened(self) -> Collection:
        return Collection(str(self.root), "vaultmem", style, str(self.cache))

    def put(self, path: str, data: bytes, age: int = 0) -> None:
        full = self.root / path
        full.parent.mkdir(parents=True, exist_ok=True)
        full.write_bytes(data)
        os.utime(full, (OLD - age, OLD - age))

    def memory(self, path: str, id_: str, content: str = TEA, **more: Value) -> None:
        properties: dict[str, Value] = {"id": id_, "created_at": "2026-11-01T10:00:00Z", **more}
        self.put(path, pages.compose(style(path), properties, content))

    def live(self) -> list[Memory]:
        self.known.refresh()
        return self.known.live()

    def ids(self) -> dict[str, str]:
        return {memory.path.removeprefix("vaultmem/"): memory.id for memory in self.live()}


def style(path: str) -> str:
    return "outline" if "logseq" in path else "frontmatter"


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)
