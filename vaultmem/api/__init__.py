"""The verbs of a vault, declared once, and the one path by which every door calls them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultmem.api.vault import Vault

__all__ = ["Vault"]


def __getattr__(name: str) -> object:
    """Load the vault on first use: every command reads the table of verbs beside it."""
    if name != "Vault":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from vaultmem.api.vault import Vault

    return Vault
