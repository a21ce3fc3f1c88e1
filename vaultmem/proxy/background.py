"""The model that learns from turns, asked between requests: with our key, or with the key that came with the turn.

A client's key is held in memory only, for its own turn, and goes only to the upstream it was sent to. Several clients
may share a conversation: a turn that came without a key is not learned from at the cost of another client.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable

from vaultmem.chat.turn_queue import Item
from vaultmem.errors import LlmError, VaultmemError
from vaultmem.llm.credentials import Key
from vaultmem.llm.request import Model
from vaultmem.proxy.upstream import Headers, carries_key, header

log = logging.getLogger("vaultmem.proxy")

MOST_KEYS = 10_000
MOST_MODELS = 8
_BEARER = "bearer "

Opened = Callable[[Key | None, str], Model | None]  # from a client's key and the name of a model


class Background:
    """Which model is asked about a turn; with `has_own` no key of a client is held. Any thread may ask."""

    def __init__(self, opened: Opened, *, has_own: bool) -> None:
        self._opened, self._has_own = opened, has_own
        self._keys: OrderedDict[str, Key | None] = OrderedDict()  # by turn
        self._models: OrderedDict[tuple[Key | None, str], Model | None] = OrderedDict()
        self._lock = threading.Lock()

    def began(self, turn: str, headers: Headers) -> None:
        """A turn, by its id, has come with these headers. Of several requests of one turn the first decides."""
        with self._lock:
            self._keys.setdefault(turn, None if self._has_own else _key(headers))
            if len(self._keys) > MOST_KEYS:
                self._keys.popitem(last=False)

    def learned(self, turn: str) -> None:
        """A turn is learned from: its key is not needed any more."""
        with self._lock:
            self._keys.pop(turn, None)

    def model(self, item: Item) -> Model | None:
        """The model for a turn; None where there is none, or it cannot be asked: then rules do the work."""
        with self._lock:
            wanted = (self._keys.get(item.id), item.model)
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


def _key(headers: Headers) -> Key | None:
    """The key of a client, if it has one that can be sent."""
    given = header(headers, b"authorization")
    if not carries_key(headers) or not given.lower().startswith(_BEARER):
        return None
    try:
        return Key(given[len(_BEARER) :])
    except LlmError:
        return None
