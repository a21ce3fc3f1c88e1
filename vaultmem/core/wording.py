"""Small turns of phrase for messages."""

from __future__ import annotations


def plural(count: int, noun: str, several: str = "") -> str:
    """ "1 note", "2 notes"."""
    return f"{count:,} {noun if count == 1 else several or noun + 's'}"
