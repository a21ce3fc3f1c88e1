"""The memory tool of Anthropic's API, kept in a vault: /memories/… is the memory folder.

from anthropic import Anthropic
from vaultmem.anthropic_memory import VaultMemoryTool

tool = VaultMemoryTool("~/notes")
Anthropic().beta.messages.run_tools(..., tools=[tool])

VaultMemoryTool needs the package anthropic, which is loaded with it. MemoryFiles has the same commands as functions.
"""

from __future__ import annotations

from vaultmem.anthropic_memory.files import MemoryFiles
from vaultmem.text.values import TYPE_CHECKING

if TYPE_CHECKING:
    from vaultmem.anthropic_memory.tool import VaultMemoryTool

__all__ = ["MemoryFiles", "VaultMemoryTool"]


def __getattr__(name: str) -> object:
    """The tool, when it is asked for: the SDK takes a while to load, and may not be there."""
    if name != "VaultMemoryTool":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from vaultmem.anthropic_memory.tool import VaultMemoryTool
    except ModuleNotFoundError as error:
        raise ImportError(
            "VaultMemoryTool needs the package anthropic (pip install 'vaultmem[anthropic]'); MemoryFiles does without"
        ) from error
    return VaultMemoryTool
