"""Helpers to read one Obsidian note or open a vault with settings."""

from typing import Any

from tests.stand_in_files import Files
from vaultmem.adapter import Note
from vaultmem.notes.frontmatter import split
from vaultmem_obsidian import dialect
from vaultmem_obsidian.rules import ObsidianRules


def rules(files: dict[str, Any] | None = None) -> ObsidianRules:
    return dialect.open(Files(files))


def note(text: str, path: str = "n.md", files: dict[str, Any] | None = None) -> Note:
    return rules(files).parse(path, text, split(text))
