"""The model that learns from turns, asked between requests: with our key, or with that of the client who took the turn.

A client's key is held in memory only, for its own conversation, and goes only to the upstream it was sent to.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable

from vaultmem.core.asking import Model
from vaultmem.errors import LlmError, VaultmemError
from vaultmem.proxy.asgi import Headers, header
from vaultmem.proxy.upstream import carries_key
from vaultmem.store.keys import Key
from vaultmem.store.turn_queue import Item

log = logging.getLogger("vaultmem.proxy")

MOST_KEYS = 1_000
MOST_MODELS = 8
_BEARER = "bearer "

Opened = Callable[[Key | None, str], Model | None]  # from a client's key and the name of a model


class Background:
    """Which model is asked about a turn; with `has_own` no key of a client is held. Any thread may ask."""

    def __init__(self, opened: Opened, *, has_own: bool) -> None:
        self._opened, self._has_own = opened, has_own
        self._keys: OrderedDict[str, Key] = OrderedDict()
        self._models: OrderedDict[tuple[Key | None, str], Model | None] = OrderedDict()
        self._lock = threading.Lock()

    def seen(self, conversation: str, headers: Headers) -> None:
        """A client has come. Its key learns from the conversation from now on; if it has none that can be sent, the one
        before still does, as turns of it may be waiting."""
        given = header(headers, b"authorization")
        if self._has_own or not carries_key(headers) or not given.lower().startswith(_BEARER):
            return
        try:
            key = Key(given[len(_BEARER) :])
        except LlmError:
            return
        with self._lock:
            self._keys[conversation] = key
            self._keys.move_to_end(conversation)
            if len(self._keys) > MOST_KEYS:
                self._keys.popitem(last=False)

    def model(self, item: Item) -> Model | None:
        """The model for a turn; None where there is none, or it cannot be asked: then rules do the work."""
        with self._lock:
            wanted = (self._keys.get(item.conversation), item.model)
            if wanted not in self._models:
                self._models[wanted] = self._open(*wanted)
                if len(self._models) > MOST_MODELS:
                    self._models.popitem(last=False)
            return self._models[wanted]

    def _open(self, key: Key | None, name: str) -> Model | None:
        try:
            return self._opened(key, name)
        except VaultmemError as error:
            log.warning("no model learns from turns: %s", error)
            return None
