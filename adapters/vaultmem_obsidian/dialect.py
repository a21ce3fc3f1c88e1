"""The entry point: whether a folder is an Obsidian vault, and the rules that hold in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vaultmem_obsidian.rules import ObsidianRules
from vaultmem_obsidian.settings import read_habits, read_settings

if TYPE_CHECKING:
    from vaultmem.adapter import Folder


class ObsidianDialect:
    """Obsidian, and any folder of Markdown notes that no other editor claims."""

    name = "obsidian"
    home: tuple[str, ...] = ()

    def claims(self, root: Folder) -> int:
        """2 where Obsidian has left its folder, else 1: it can read any notes."""
        return 2 if root.exists(".obsidian") else 1

    def open(self, root: Folder) -> ObsidianRules:
        """The rules of this vault by the settings in its `.obsidian`."""
        return ObsidianRules(read_settings(root), read_habits(root))


dialect = ObsidianDialect()
