"""The history of everything that vaultmem wrote, and undo."""
