"""Read one note by the rules of its vault: bytes, text, what the dialect sees, blocks."""

from __future__ import annotations

from typing import NamedTuple

from vaultmem.adapter import Note
from vaultmem.config import Config
from vaultmem.core import blocks as blocking
from vaultmem.dialects import Rulebook, open_rulebook
from vaultmem.store import frontmatter, vault

# A page that we have made of what notes say must not come back as one of them, wherever it was left.
MARK, MARKED = "generated", "vaultmem"


class NoteRead(NamedTuple):
    """A note as it is on disk now."""

    read: vault.Read
    note: Note
    blocks: list[blocking.Block]  # never empty: an empty note has one empty block


def parse_note(rules: Rulebook, path: str, text: str) -> tuple[Note, list[blocking.Block]]:
    """What a dialect sees in a text, and its blocks."""
    note = rules.parse(path, text, frontmatter.split(text))
    if note.properties.get(MARK) == MARKED:
        note = Note(note.title, properties=note.properties)
    return note, blocking.group(note.pieces) or [blocking.Block("", 1, 1)]


def read_note(rules: Rulebook, folder: str, path: str, raw: str | None, cap: int) -> NoteRead:
    """Read and parse a note. Trouble is in `read.trouble`, never an exception."""
    read = vault.read(folder, raw or path, cap)
    return NoteRead(read, *parse_note(rules, path, read.text))


def read_now(folder: str, path: str, config: Config) -> Note:
    """A note as it is on disk now, by the rules of its vault."""
    rules = open_rulebook(vault.Root(folder), config.text("dialect"))
    raw = vault.on_disk(folder, path)
    return read_note(rules, folder, path, raw, config.number("index.max_note_bytes")).note
