"""The memory tool of Anthropic's API, on a vault: /memories/… is the memory folder.

from anthropic import Anthropic
from vaultmem_assistants.anthropic_memory import VaultMemoryTool

tool = VaultMemoryTool("~/notes")
Anthropic().beta.messages.run_tools(..., tools=[tool])

VaultMemoryTool needs the package anthropic, which is loaded with it. MemoryFiles has the same commands as functions.
"""

from __future__ import annotations

import json

from vaultmem.api import Vault
from vaultmem.text.values import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vaultmem_assistants.anthropic_memory.sdk_tool import VaultMemoryTool

__all__ = ["MemoryFiles", "VaultMemoryTool"]


class MemoryFiles:
    """The commands of the memory tool on the memories of a vault. Each returns the answer to the model, and raises
    VaultmemError with its message when it cannot be done.

    A file that is made is a memory with `by` as its agent: other assistants hear of it by that name (the
    setting recall.trust). Deleting moves to the archive.
    """

    def __init__(self, vault: Vault | str | None = None, *, by: str = "claude") -> None:
        self.vault = vault if isinstance(vault, Vault) else Vault(vault)
        self.by = by

    def view(self, path: str, view_range: Sequence[int] | None = None) -> str:
        """A file with line numbers, or a folder."""
        lines = None if view_range is None else list(view_range)
        return self.call({"command": "view", "path": path, "view_range": lines})

    def create(self, path: str, file_text: str) -> str:
        """A new file."""
        return self.call({"command": "create", "path": path, "file_text": file_text})

    def str_replace(self, path: str, old_str: str, new_str: str = "") -> str:
        """Put another text in place of one that stands in the file once."""
        texts = {"old_str": old_str, "new_str": new_str}
        return self.call({"command": "str_replace", "path": path, **texts})

    def insert(self, path: str, insert_line: int, insert_text: str) -> str:
        """Put lines in behind so many."""
        lines = {"insert_line": insert_line, "insert_text": insert_text}
        return self.call({"command": "insert", "path": path, **lines})

    def delete(self, path: str) -> str:
        """Move a file to the archive, or all files of a folder."""
        return self.call({"command": "delete", "path": path})

    def rename(self, old_path: str, new_path: str) -> str:
        """Give a file or a folder another path."""
        return self.call({"command": "rename", "old_path": old_path, "new_path": new_path})

    def call(self, command: Mapping[str, object]) -> str:
        """A command as the API gives it."""
        verb = "tool-view" if command.get("command") == "view" else "tool-file"
        return str(self.vault.ask(verb, command=json.dumps(command), by=self.by)["text"])


def __getattr__(name: str) -> object:
    """The tool, when it is first used: the SDK takes a while to load, and may not be there."""
    if name != "VaultMemoryTool":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from vaultmem_assistants.anthropic_memory.sdk_tool import VaultMemoryTool
    except ModuleNotFoundError as error:
        raise ImportError(
            "VaultMemoryTool needs the package anthropic (pip install 'vaultmem[anthropic]'); MemoryFiles does without"
        ) from error
    return VaultMemoryTool
