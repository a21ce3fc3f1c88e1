"""The memory tool as the Anthropic SDK wants it. The only module that imports the SDK."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from anthropic.lib.tools import BetaAbstractMemoryTool, ToolError

from vaultmem.anthropic_memory.files import MemoryFiles
from vaultmem.api import Vault
from vaultmem.errors import VaultmemError

if TYPE_CHECKING:
    from anthropic.types.beta import (
        BetaMemoryTool20250818CreateCommand,
        BetaMemoryTool20250818DeleteCommand,
        BetaMemoryTool20250818InsertCommand,
        BetaMemoryTool20250818RenameCommand,
        BetaMemoryTool20250818StrReplaceCommand,
        BetaMemoryTool20250818ViewCommand,
    )


class VaultMemoryTool(BetaAbstractMemoryTool):
    """Anthropic's memory tool on the memories of a vault; see MemoryFiles."""

    def __init__(self, vault: Vault | str | None = None, *, by: str = "claude") -> None:
        super().__init__()
        self.files = MemoryFiles(vault, by=by)

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """A file with line numbers, or a folder."""
        return _told(lambda: self.files.view(command.path, command.view_range))

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """A new file."""
        return _told(lambda: self.files.create(command.path, command.file_text))

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Put another text in place of one that stands in the file once."""
        new = command.new_str or ""
        return _told(lambda: self.files.str_replace(command.path, command.old_str, new))

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Put lines in behind so many."""
        line, text = command.insert_line, command.insert_text
        return _told(lambda: self.files.insert(command.path, line, text))

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Move a file to the archive, or all files of a folder."""
        return _told(lambda: self.files.delete(command.path))

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Call a file or a folder otherwise."""
        return _told(lambda: self.files.rename(command.old_path, command.new_path))


def _told(done: Callable[[], str]) -> str:
    try:
        return done()
    except VaultmemError as error:
        raise ToolError(str(error)) from error
