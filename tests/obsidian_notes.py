"""Small ways for the tests to read one Obsidian note or open a vault of settings."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from vaultmem.notes.frontmatter import split
from vaultmem_obsidian import dialect

if TYPE_CHECKING:
    from vaultmem.adapter import Note
    from vaultmem_obsidian.rules import ObsidianRules


class Settings:
    """A vault that holds only these files; what is no text is written as JSON."""

    def __init__(self, files: dict[str, Any]) -> None:
        self.files = files

    def exists(self, path: str) -> bool:
        return any(name == path or name.startswith(path + "/") for name in self.files)

    def read(self, path: str) -> bytes | None:
        if path not in self.files:
            return None
        value = self.files[path]
        return value if isinstance(value, bytes) else json.dumps(value).encode()


def rules(files: dict[str, Any] | None = None) -> ObsidianRules:
    return dialect.open(Settings(files or {}))


def note(text: str, path: str = "n.md", files: dict[str, Any] | None = None) -> Note:
    return rules(files).parse(path, text, split(text))
