"""The history of everything vaultmem wrote, and undo."""
