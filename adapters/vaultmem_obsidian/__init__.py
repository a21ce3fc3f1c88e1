"""Obsidian's reading of a vault: which files are notes, what links, tags, tasks and dates mean."""

from vaultmem_obsidian.rules import ObsidianDialect

dialect = ObsidianDialect()
