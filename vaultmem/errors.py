"""Errors with a message for a person: what happened, which file, what to do next."""

from __future__ import annotations


class VaultmemError(Exception):
    """An error with a clear text of one line; `exit_code` is what the command ends with."""

    exit_code = 1


class UsageError(VaultmemError):
    """The command was typed wrongly."""

    exit_code = 2


class VaultNotFoundError(VaultmemError):
    """No vault was named and none could be chosen."""


class VaultGoneError(VaultmemError):
    """The vault folder is missing, empty, or most of its notes vanished at once."""


class NoteNotFoundError(VaultmemError):
    """No note, or more than one, has that name."""


class NotWrittenError(VaultmemError):
    """What was to be written is not in the vault yet; nothing is wrong with it, so it can be tried again."""


class NoteChangedError(VaultmemError):
    """Somebody else changed the note while we were about to write it."""


class FrontMatterError(VaultmemError):
    """The properties of a note cannot be edited safely."""


class StateError(VaultmemError):
    """The state folder cannot be used."""


class LockedError(StateError):
    """Another process is the one writer."""


NO_ROOM = (
    "the index cannot be written ({}): free some space, or set VAULTMEM_STATE to another folder; "
    "nothing is lost, the next sync goes on"
)


class NoRoomError(StateError):
    """The disk of the state folder is full, or takes nothing."""


class DamagedError(StateError):
    """A file of the index is broken; a rebuilt index has no such file."""


class ModelError(VaultmemError):
    """The embedding model is missing, damaged or unknown."""


class EmbeddingServiceError(ModelError):
    """The service that embeds gives no vectors now; it may do so later."""


class LlmError(VaultmemError):
    """No language model is set, or it gave no answer that can be used."""


class NotificationError(VaultmemError):
    """A notification cannot be displayed."""


class ConfigError(VaultmemError):
    """A setting has a value that makes no sense."""
