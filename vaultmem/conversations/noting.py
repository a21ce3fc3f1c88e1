"""Writes what was said as notes at once, beside the worker: while that waits for a model, later turns and those of
other conversations wait to be learned from, but are there. Done twice it changes nothing: ids follow from the turn.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from vaultmem.api import Vault
from vaultmem.conversations.learning import keep_turn
from vaultmem.errors import VaultmemError
from vaultmem.store.turn_queue import Item, Turns

log = logging.getLogger("vaultmem.conversations")

LOOK = 5.0  # seconds after which the queue is looked at, for turns of other processes
# Seconds after something was said: the first word of the answer comes before its note, and what is learned at once is
# written once.
AFTER = 0.3
REST = 30.0  # before one that could not be written is tried again


class Noting:
    """Works in a thread of its own from start() on. `is_at` tells the turn that the worker writes."""

    def __init__(self, vault: Vault, turns: Turns, is_at: Callable[[], str]) -> None:
        self._vault, self._turns, self._is_at = vault, turns, is_at
        self._wake = threading.Event()
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None
        self._noted: dict[str, tuple[float | None, list[str]]] = {}  # by turn: its end, its notes
        self._failed: dict[str, float] = {}  # by turn: when it could not be written

    def start(self) -> None:
        """Work, from now on."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="notes", daemon=True)
            self._thread.start()

    def nudge(self) -> None:
        """Something was said."""
        self._wake.set()

    def stop(self) -> None:
        """Finish the note that is being written; the rest is left to whoever learns from the turns."""
        self._ending.set()
        self._wake.set()

    def join(self, patience: float) -> None:
        """Wait for the end."""
        if self._thread is not None:
            self._thread.join(patience)

    def note(self) -> None:
        """Write all that waits and is not written yet: of a turn that is open, the words of the user."""
        waiting = self._turns.waiting()
        there = {item.id for item in waiting}
        self._noted = {id_: one for id_, one in self._noted.items() if id_ in there}
        self._failed = {id_: at for id_, at in self._failed.items() if id_ in there}
        for item in waiting:
            if self._ending.is_set():
                return
            if item.id != self._is_at() and not self._is_noted(item) and not self._rests(item):
                self._write(item)

    def _is_noted(self, item: Item) -> bool:
        found = self._noted.get(item.id)
        return found is not None and found[0] == item.finished

    def _rests(self, item: Item) -> bool:
        failed = self._failed.get(item.id)
        return failed is not None and time.monotonic() - failed < REST

    def _run(self) -> None:
        while not self._ending.is_set():
            if self._wake.wait(LOOK) and not self._ending.is_set():
                self._ending.wait(AFTER)
            self._wake.clear()
            try:
                self.note()
            except Exception:  # the border of the thread: the worker writes it
                log.exception("what was said cannot be written yet")

    def _write(self, item: Item) -> None:
        before = self._noted.get(item.id, (None, []))[1]
        try:
            with Vault(self._vault.path) as vault:
                vault.config = self._vault.config
                ids = keep_turn(vault, item, before)
            self._turns.noted(item, ids)
        except (VaultmemError, OSError) as error:  # the worker tries again, and tells
            log.debug("a turn is not written yet: %s", error)
            self._failed[item.id] = time.monotonic()
            return
        self._noted[item.id] = item.finished, ids
