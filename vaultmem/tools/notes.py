"""Whole notes for tools: only those that the index knows, inside the vault, and only what whoever asks may see."""

from __future__ import annotations

import re
import threading

from vaultmem.errors import NoteNotFoundError
from vaultmem.memories.model import Viewer, hidden
from vaultmem.search.snippet import as_text, read_regular
from vaultmem.text.values import TYPE_CHECKING
from vaultmem.vault.places import in_conversation

if TYPE_CHECKING:
    from vaultmem.api import Vault

MOST_NAME = 1_000  # characters
_HEAD = 65_536  # bytes of a note in which its properties stand
_INDEXING = threading.Lock()
_MAYBE = re.compile(r"(?i)(?:private|scope)[\"']?\s*:(?!\s*global\s)")


def ready(vault: Vault) -> Vault:
    """The vault, indexed at least once. Of several threads that come first, one does it."""
    if not vault.is_indexed():
        with _INDEXING:
            if not vault.is_indexed():
                vault.sync()
    return vault


def note_path(vault: Vault, name: str, to: Viewer) -> str:
    """The path of the note that is meant by a path, a title or an alias. What the viewer may not see is not there: it
    is answered with the same words."""
    if len(name) > MOST_NAME or any(part.startswith(".") for part in name.split("/")):
        raise NoteNotFoundError(
            f"no note is called {name[:60]!r}; memory_search finds notes by their words"
        )
    but = frozenset(ready(vault).searcher().hidden_from(to))
    while is_hidden(vault, path := vault.find_note(name, but=but), to):
        but |= {path}  # the index does not know yet, or it was said in a conversation
    return path


def note_text(vault: Vault, path: str) -> str:
    """All of the note at a path that note_path() gave."""
    data = read_regular(vault.path, path)
    if data is None:
        raise NoteNotFoundError(f"{path!r} cannot be read now; it was moved, or is no plain file")
    return as_text(data)


def is_hidden(vault: Vault, path: str, to: Viewer) -> bool:
    """Whether the viewer may not see the note by its own word of this moment, or it was said in a conversation:
    memory_recall with its scope tells what is known of that."""
    folder = vault.config.text("memory_folder")
    if in_conversation(path, folder):
        return True
    head = as_text((read_regular(vault.path, path) or b"")[:_HEAD])
    if not _MAYBE.search(head):
        return False  # nearly all notes: to parse one takes much longer
    own = vault.note(path).properties
    return bool(hidden(own, to, memory=path.startswith(f"{folder}/")))
