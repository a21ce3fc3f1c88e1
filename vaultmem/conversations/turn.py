"""One turn of a chat that this process leads: memory in, the user's words kept before they are sent, the answer when it
is whole."""

from __future__ import annotations

import logging

from vaultmem import now as clock
from vaultmem.api import Vault
from vaultmem.conversations import past
from vaultmem.conversations.worker import service_of
from vaultmem.core import chat_body
from vaultmem.core.chat_answer import Answer
from vaultmem.core.chat_body import Chat
from vaultmem.core.chat_memory import Told
from vaultmem.errors import VaultmemError
from vaultmem.store.turn_queue import SERVICE, Item, Turns

log = logging.getLogger("vaultmem.conversations")


class Turn:
    """From begin() to close(). `body` is the request, with what is recalled in it from begin() on."""

    def __init__(self, vault: Vault, turns: Turns, conversation: str, body: bytes) -> None:
        self.body = body
        self._vault, self._turns, self._conversation = vault, turns, conversation
        self.id = ""  # that it is kept under; "" where it is not
        self._item: Item | None = None

    def begin(self) -> Told:
        """Recall, and keep what the user says; what is told. A request in which the user says nothing is left as it
        is."""
        chat = chat_body.read(self.body)
        if chat is None or not chat.is_turn or not chat.question.strip():
            return Told("", 0)
        told = self._told(chat)
        if told.text:
            at = chat.at(self._vault.config.text("proxy.place"))
            self.body = chat_body.spliced(self.body, at, told.text)
        meta = {"model": chat.model, SERVICE: service_of(self._vault.config)}
        self._item = self._turns.begin(
            self._conversation, chat.question, clock.seconds(), meta=meta
        )
        self.id = self._item.id
        return told

    def _told(self, chat: Chat) -> Told:
        """A memory that fails stops nobody from talking."""
        limits = past.limits_of(self._vault.config)
        try:
            return past.told(self._vault, self._conversation, chat.question, chat.earlier, limits)
        except VaultmemError as error:
            log.warning("asked without memory: %s", error)
            return Told("", 0)

    def answered(self, answer: Answer) -> None:
        """The service has said all it says."""
        if self._item is not None and answer.is_complete and answer.text.strip():
            self._turns.finish(self._item, answer.text, clock.seconds())
            self._item = None

    def close(self) -> None:
        """It is over; where no whole answer came, the user's words are kept."""
        if self._item is not None:
            self._turns.close(self._item, clock.seconds())
            self._item = None
