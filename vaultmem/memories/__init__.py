"""Memories: what commands and jobs do with them."""
