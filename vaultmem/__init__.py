"""The memory that you and your AI assistants share, in your own notes."""

from __future__ import annotations

__version__ = "0.1.0"
__all__ = ["Filter", "MemoryClient", "Vault", "__version__"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultmem.api import Vault
    from vaultmem.search.query import Filter
    from vaultmem_chat.memory_client import MemoryClient


def __getattr__(name: str) -> object:
    """Load the API on first use, so that the command line starts fast."""
    if name == "Vault":
        from vaultmem.api import Vault

        return Vault
    if name == "MemoryClient":
        from vaultmem import plugins

        return plugins.load("vaultmem.python", name)
    if name == "Filter":
        from vaultmem.search.query import Filter

        return Filter
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
