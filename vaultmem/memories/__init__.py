"""Memories: what one is, and the store that reads and writes them as notes."""
