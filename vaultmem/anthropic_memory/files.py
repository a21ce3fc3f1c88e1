"""The commands of the memory tool as functions, without the SDK."""

from __future__ import annotations

import json

from vaultmem.api import Vault
from vaultmem.text.values import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class MemoryFiles:
    """The commands of the memory tool on the memories of a vault. Each returns what the model is told, and raises
    VaultmemError with what it is told when that cannot be done.

    A file that is made is a memory with `by` as its agent: other assistants hear of it by that name (the
    setting recall.trust). Deleting moves to the archive.
    """

    def __init__(self, vault: Vault | str | None = None, *, by: str = "claude") -> None:
        self.vault = vault if isinstance(vault, Vault) else Vault(vault)
        self.by = by

    def view(self, path: str, view_range: Sequence[int] | None = None) -> str:
        """A file with line numbers, or a folder."""
        chosen = None if view_range is None else list(view_range)
        return self.call({"command": "view", "path": path, "view_range": chosen})

    def create(self, path: str, file_text: str) -> str:
        """A new file."""
        return self.call({"command": "create", "path": path, "file_text": file_text})

    def str_replace(self, path: str, old_str: str, new_str: str = "") -> str:
        """Put another text in place of one that stands in the file once."""
        return self.call(
            {"command": "str_replace", "path": path, "old_str": old_str, "new_str": new_str}
        )

    def insert(self, path: str, insert_line: int, insert_text: str) -> str:
        """Put lines in behind so many."""
        return self.call(
            {
                "command": "insert",
                "path": path,
                "insert_line": insert_line,
                "insert_text": insert_text,
            }
        )

    def delete(self, path: str) -> str:
        """Move a file to the archive, or all files of a folder."""
        return self.call({"command": "delete", "path": path})

    def rename(self, old_path: str, new_path: str) -> str:
        """Call a file or a folder otherwise."""
        return self.call({"command": "rename", "old_path": old_path, "new_path": new_path})

    def call(self, command: Mapping[str, object]) -> str:
        """A command as the API gives it."""
        verb = "tool-view" if command.get("command") == "view" else "tool-file"
        return str(self.vault.ask(verb, command=json.dumps(command), by=self.by)["text"])
