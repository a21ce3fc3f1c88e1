"""The memories in the agent: one desk that stays open, and the history that is written when it is quiet."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable

from vaultmem.api.rpc import Reader, carry_out, only_reads
from vaultmem.config import Config
from vaultmem.errors import VaultmemError
from vaultmem.index.state import State
from vaultmem.light import TYPE_CHECKING
from vaultmem.reminders.desk import Desk

if TYPE_CHECKING:
    from vaultmem.adapter import JsonObject
    from vaultmem.api.memory_vault import MemoryVault

log = logging.getLogger("vaultmem.memories")

SOON = 0.25  # seconds
QUIET = 1.0  # seconds without a write before the history is written
AT_LATEST = 15.0


class Memories(threading.Thread):
    """Carries out the verbs for requests, in their threads; its own thread writes the history. `wrote` hears what
    paths were written; `is_sure` tells whether every change in the vault is heard of."""

    def __init__(
        self, state: State, config: Config, wrote: Callable[[Iterable[str]], None], is_sure: Callable[[], bool]
    ) -> None:  # fmt: skip
        super().__init__(name="history", daemon=True)
        self.desk = Desk(state, config, wrote)
        self.desk.later = _soon
        self._is_sure = is_sure
        self._written = threading.Event()
        self._last = 0.0
        self._stopping = False
        self._trouble: str | None = None

    def ask(self, vault: MemoryVault, verb: str, params: JsonObject) -> object:
        """Carry out a verb."""
        if not self._is_sure():
            self.desk.touched_all()
        try:
            return carry_out(self.desk, Reader(vault), verb, params)
        finally:
            if not only_reads(verb):
                self._last = time.monotonic()
                self._written.set()

    def touched(self, path: str) -> None:
        """Something happened at a path of the vault; "" when it could be anywhere."""
        if path:
            self.desk.touched(path)
        else:
            self.desk.touched_all()

    def stop(self) -> None:
        """End, soon. What is not in the history yet is in the log of batches, for the next one."""
        self._stopping = True
        self._written.set()

    def run(self) -> None:
        """Finish what a kill has cut off, then write the history whenever writers pause."""
        try:
            self.desk.heal()
        except (VaultmemError, OSError) as error:
            log.error("what a kill cut off is not finished yet: %s", error)
        if self.desk.batches.count():  # else git need not be loaded
            self._written.set()
        while True:
            self._written.wait()
            begun = time.monotonic()
            while not self._stopping and self._is_busy(begun):
                time.sleep(QUIET / 4)
            self._written.clear()
            if self._stopping:
                return
            self._remember()

    def _is_busy(self, begun: float) -> bool:
        now = time.monotonic()
        return now - self._last < QUIET and now - begun < AT_LATEST

    def _remember(self) -> None:
        trouble = self.desk.history.trouble()
        if trouble and self.desk.history.is_kept:
            if trouble != self._trouble:
                log.warning("%s", trouble)
            self._trouble = trouble
            return
        try:
            self.desk.remember()
        except VaultmemError as error:
            log.error("the history could not be written: %s", error)
        except Exception:  # the border of the thread: history is worth less than memories
            log.exception("the history could not be written")


def _soon(work: Callable[[], None]) -> None:
    """Do what nobody waits for, with what else comes in a moment."""
    timer = threading.Timer(SOON, work)
    timer.daemon = True
    timer.start()
