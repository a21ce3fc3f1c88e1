"""Memories: what a memory is, and the store that reads and writes memories as notes."""
