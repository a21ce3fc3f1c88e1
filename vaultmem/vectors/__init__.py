"""Vectors of blocks: stored, searched, and shared with a server."""
