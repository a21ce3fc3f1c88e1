"""The memory tool of Anthropic's API, on a vault: /memories/… is the memory folder.

from anthropic import Anthropic
from vaultmem_assistants.anthropic_memory import VaultMemoryTool

tool = VaultMemoryTool("~/notes")
Anthropic().beta.messages.run_tools(..., tools=[tool])

VaultMemoryTool needs the package anthropic. MemoryFiles has the same commands as methods, without it.
"""

from __future__ import annotations

import json
from functools import cache

from vaultmem.api import Vault
from vaultmem.errors import VaultmemError
from vaultmem.text.values import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from anthropic.lib.tools import BetaAbstractMemoryTool

    VaultMemoryTool: Callable[..., BetaAbstractMemoryTool]

__all__ = ["MemoryFiles", "VaultMemoryTool"]


class MemoryFiles:
    """The commands of the memory tool on the memories of a vault. Each returns the answer to the model, or raises
    VaultmemError with a message for it.

    A new file is a memory with `by` as its agent, the name under which other assistants see it (setting
    recall.trust). Deleting moves a file to the archive.
    """

    def __init__(self, vault: Vault | str | None = None, *, by: str = "claude") -> None:
        self.vault = vault if isinstance(vault, Vault) else Vault(vault)
        self.by = by

    def view(self, path: str, view_range: Sequence[int] | None = None) -> str:
        """A file with line numbers, or the listing of a folder."""
        lines = None if view_range is None else list(view_range)
        return self.call({"command": "view", "path": path, "view_range": lines})

    def create(self, path: str, file_text: str) -> str:
        """Create a file."""
        return self.call({"command": "create", "path": path, "file_text": file_text})

    def str_replace(self, path: str, old_str: str, new_str: str = "") -> str:
        """Replace a text that occurs exactly once in the file."""
        texts = {"old_str": old_str, "new_str": new_str}
        return self.call({"command": "str_replace", "path": path, **texts})

    def insert(self, path: str, insert_line: int, insert_text: str) -> str:
        """Insert lines after line `insert_line`."""
        lines = {"insert_line": insert_line, "insert_text": insert_text}
        return self.call({"command": "insert", "path": path, **lines})

    def delete(self, path: str) -> str:
        """Move a file to the archive, or all files of a folder."""
        return self.call({"command": "delete", "path": path})

    def rename(self, old_path: str, new_path: str) -> str:
        """Rename or move a file or a folder."""
        return self.call({"command": "rename", "old_path": old_path, "new_path": new_path})

    def call(self, command: Mapping[str, object]) -> str:
        """Run a command in the format of the API."""
        verb = "tool-view" if command.get("command") == "view" else "tool-file"
        return str(self.vault.ask(verb, command=json.dumps(command), by=self.by)["text"])


def __getattr__(name: str) -> object:
    """Make the tool at first use: the SDK is slow to load, and may be missing."""
    if name != "VaultMemoryTool":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _tool_class()


@cache
def _tool_class() -> type[BetaAbstractMemoryTool]:
    try:
        from anthropic import BaseModel
        from anthropic.lib.tools import BetaAbstractMemoryTool, ToolError
    except ModuleNotFoundError as error:
        raise ImportError(
            "VaultMemoryTool needs the package anthropic (pip install 'vaultmem[anthropic]'); MemoryFiles works without"
        ) from error

    class VaultMemoryTool(BetaAbstractMemoryTool):
        """Anthropic's memory tool on the memories of a vault; see MemoryFiles."""

        def __init__(self, vault: Vault | str | None = None, *, by: str = "claude") -> None:
            super().__init__()
            self.files = MemoryFiles(vault, by=by)

        def _call(self, command: BaseModel) -> str:
            """Run a command of any kind."""
            try:
                return self.files.call(command.model_dump())
            except VaultmemError as error:
                raise ToolError(str(error)) from error

        view = create = str_replace = insert = delete = rename = _call

    return VaultMemoryTool
