"""A vault whose turns wait for a worker."""

import itertools
import time

from vaultmem import Vault
from vaultmem_chat.learning.worker import Worker

_seconds = (time.time() - 300 + number for number in itertools.count())


def speak(worker: Worker, user: str, assistant: str | None = "ok", conversation: str = "c") -> None:
    """One whole turn; each takes a second."""
    item = worker.turns.begin(conversation, user, next(_seconds))
    if assistant is None:
        worker.turns.close(item, next(_seconds))
    else:
        worker.turns.finish(item, assistant, next(_seconds))


def said(vault: Vault, conversation: str = "c") -> list[str]:
    return [entry["content"] for entry in vault.entries(conversation, ["turns"])]


def facts(vault: Vault, conversation: str = "c") -> list[str]:
    return sorted(entry["content"] for entry in vault.entries(conversation, ["facts"]))
