"""The memory tool for the Anthropic SDK (owner of the SDK)."""

from __future__ import annotations

from anthropic import BaseModel
from anthropic.lib.tools import BetaAbstractMemoryTool, ToolError

from vaultmem.api import Vault
from vaultmem.errors import VaultmemError
from vaultmem_assistants.anthropic_memory import MemoryFiles


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
