"""Obsidian's reading of a vault: which files are notes, what links, tags, tasks and dates mean."""

from vaultmem_obsidian.dialect import dialect

__all__ = ["dialect"]
