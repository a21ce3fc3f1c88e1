"""Errors with a message for a person: what happened, which file, what to do next."""

from __future__ import annotations


class VaultmemError(Exception):
    """An error with a message of one line for a person; `exit_code` is that of the command."""

    exit_code = 1


class UsageError(VaultmemError):
    """The command line is invalid."""

    exit_code = 2


class VaultNotFoundError(VaultmemError):
    """No vault was named and none could be chosen."""


class VaultGoneError(VaultmemError):
    """The vault folder is missing, empty, or most of its notes vanished at once."""


class NoteNotFoundError(VaultmemError):
    """No note, or more than one, has that name."""


class NotWrittenError(VaultmemError):
    """A write was not carried out yet; it can be tried again unchanged."""


class UnconfirmedError(VaultmemError):
    """A job waits until a person has confirmed what it would do."""


class NoteChangedError(VaultmemError):
    """The note was changed by something else while we were about to write it."""


class FrontMatterError(VaultmemError):
    """The properties of a note cannot be edited safely."""


class StateError(VaultmemError):
    """The state folder cannot be used."""


class LockedError(StateError):
    """Another process holds the lock for writing."""


NO_ROOM = (
    "the index cannot be written ({}): free some space, or set VAULTMEM_STATE to another folder; "
    "nothing is lost, the next sync continues"
)


class NoRoomError(StateError):
    """The disk of the state folder is full or not writable."""


class DamagedError(StateError):
    """A file of the index is damaged; a rebuild replaces it."""


class ModelError(VaultmemError):
    """The embedding model is missing, damaged or unknown."""


class EmbeddingServiceError(ModelError):
    """The embedding service returns no vectors now, but may do so later."""


class LlmError(VaultmemError):
    """No language model is set, or it gave no usable answer."""


class NotificationError(VaultmemError):
    """A notification cannot be displayed."""


class ConfigError(VaultmemError):
    """A setting has an invalid value."""
