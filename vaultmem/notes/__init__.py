"""Reads and edits notes by the rules of their editor: front matter, properties, blocks."""
