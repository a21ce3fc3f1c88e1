"""Whole notes for tools: only those that the index knows, inside the vault, and not what is marked as private."""

from __future__ import annotations

import re
import threading

from vaultmem.core import private
from vaultmem.core.places import in_conversation
from vaultmem.core.values import TYPE_CHECKING
from vaultmem.errors import NoteNotFoundError, VaultmemError
from vaultmem.store.lines import as_text, read_regular

if TYPE_CHECKING:
    from vaultmem.api import Vault

MOST_NAME = 1_000  # characters
_HEAD = 65_536  # bytes of a note in which its properties stand
_INDEXING = threading.Lock()
_MAYBE = re.compile(r"(?i)private[\"']?\s*:")


def ready(vault: Vault) -> Vault:
    """The vault, indexed at least once. Of several threads that come first, one does it."""
    if not vault.is_indexed():
        with _INDEXING:
            if not vault.is_indexed():
                vault.sync()
    return vault


def note_path(vault: Vault, name: str) -> str:
    """The path of the note that is meant by a path, a title or an alias."""
    if len(name) > MOST_NAME or any(part.startswith(".") for part in name.split("/")):
        raise NoteNotFoundError(
            f"no note is called {name[:60]!r}; memory_search finds notes by their words"
        )
    return ready(vault).find_note(name)


def note_text(vault: Vault, path: str) -> str:
    """All of the note at a path that note_path() gave."""
    check_public(vault, path)
    data = read_regular(vault.path, path)
    if data is None:
        raise NoteNotFoundError(f"{path!r} cannot be read now; it was moved, or is no plain file")
    return as_text(data)


def check_public(vault: Vault, path: str) -> None:
    """Raises VaultmemError where the note is private, or what was said in a conversation."""
    if in_conversation(path, vault.config.text("memory_folder")):
        raise VaultmemError(
            f"{path!r} was said in a conversation; memory_recall with its scope tells what is known of it"
        )
    if is_private(vault, path):
        raise VaultmemError(f"{path!r} is marked as private; only its owner reads it")


def is_private(vault: Vault, path: str) -> bool:
    """Whether its properties say so."""
    head = as_text((read_regular(vault.path, path) or b"")[:_HEAD])
    if not _MAYBE.search(head):
        return False  # nearly all notes: to parse one takes much longer
    return private.is_private(vault.note(path).properties)
