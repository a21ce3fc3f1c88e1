"""How many chats the proxy gave memories, and how many went without, since it started: <state>/proxy.json.

Only counts: no word of a chat, no name of a conversation.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Callable

from vaultmem import now
from vaultmem.paths import make_private

log = logging.getLogger("vaultmem.proxy")

FILE = "proxy.json"
TOLD, NOTHING = "told", "nothing"
OUTCOMES = (TOLD, NOTHING, "slow", "busy", "failed")


class ChatCounts:
    """The counts of one proxy. Any thread may use it."""

    def __init__(self, folder: str, clock: Callable[[], float] = now.seconds) -> None:
        self._folder = folder
        self._counts: dict[str, int] = {"since": int(clock()), **dict.fromkeys(OUTCOMES, 0)}
        self._lock = threading.Lock()
        self._write()

    def add(self, outcome: str) -> None:
        """One chat more that ended up so."""
        with self._lock:
            self._counts[outcome] += 1
            self._write()

    def _write(self) -> None:
        """Whole or not at all; a power cut may cost the last of them."""
        temp = f"{self._folder}/{FILE}.tmp"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            make_private(self._folder)
            with os.fdopen(os.open(temp, flags, 0o600), "w", encoding="ascii") as file:
                json.dump(self._counts, file)
            os.replace(temp, f"{self._folder}/{FILE}")
        except OSError as error:
            log.debug("the counts of chats cannot be written: %s", error)


def read(folder: str) -> dict[str, int] | None:
    """The counts of the proxy that started last; None where there was none."""
    try:
        with open(f"{folder}/{FILE}", encoding="ascii") as file:
            found = json.load(file)
        return {name: int(found[name]) for name in ("since", *OUTCOMES)}
    except (OSError, ValueError, KeyError, TypeError):
        return None
