"""Gives changed blocks their vectors, behind the index: newest first, and aside while searches run."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable

from vaultmem.agent.gate import Gate
from vaultmem.agent.pool import Pool
from vaultmem.agent.stage import Stage
from vaultmem.core.wording import plural
from vaultmem.dialects import Rulebook
from vaultmem.errors import ModelError, StateError
from vaultmem.store import machine
from vaultmem.store.catalog import Catalog, spoken
from vaultmem.store.state import State

log = logging.getLogger("vaultmem.embedding")

QUIET = 1.0  # seconds after the last change; who is writing does not search by meaning for it yet
LONGEST = 20.0  # seconds after the first change, however much is written
RETRY_AFTER = 60.0
ALL: frozenset[int] = frozenset()


class EmbeddingQueue(threading.Thread):
    """Embeds what has no vector yet. What is waiting is worked out from the index, so a kill loses nothing."""

    def __init__(self, state: State, pool: Pool, gate: Gate, rules: Callable[[], Rulebook]) -> None:
        super().__init__(name="embedding", daemon=True)
        self.stage = Stage()
        self.trouble: str | None = None
        self.embedded = 0  # blocks since the start
        self.unload_after: float | None = None  # seconds without use
        self._state, self._pool, self._gate, self._rules = state, pool, gate, rules
        self._notes: set[int] = set()
        self._everything = True
        self._due = self._first = time.monotonic()
        self._working = self._stopping = False
        self._something = threading.Condition()

    def add(self, notes: Iterable[int]) -> None:
        """These notes have changed."""
        with self._something:
            now = time.monotonic()
            if not self._notes:
                self._first = now
            self._notes.update(notes)
            self._due = min(now + QUIET, self._first + LONGEST)
            self._something.notify_all()

    def add_all(self) -> None:
        """Look through all notes."""
        with self._something:
            self._everything = True
            self._something.notify_all()

    def told(self) -> dict[str, object]:
        """How embedding goes, as data."""
        return {"waiting": self.waiting(), "done": self.embedded, "running": self._working}

    def waiting(self) -> int:
        """How many blocks are known to have no vector yet."""
        return max(0, self.stage.total - self.stage.done)

    def is_done(self) -> bool:
        """Whether there is nothing to do."""
        return not (self._notes or self._everything or self._working)

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until all is done, or the model is found missing."""
        with self._something:
            self._due = min(self._due, time.monotonic())
            self._something.notify_all()
            return self._something.wait_for(lambda: self.is_done() or self._stopping, seconds)

    def stop(self) -> None:
        """End after the batch that is being embedded."""
        with self._something:
            self._stopping = True
            self._something.notify_all()

    def run(self) -> None:
        """Embed until stop()."""
        machine.lower_priority_of_thread()
        while (notes := self._next()) is not None:
            try:
                self._round(notes)
            except (ModelError, StateError) as error:
                self._fail(str(error))
            except Exception:  # the border of the thread
                log.exception("embedding failed; it is tried again in a minute")
                self._again()
            finally:
                self.stage.end()
                with self._something:
                    self._working = False
                    self._something.notify_all()

    def _next(self) -> frozenset[int] | None:
        """The notes to look at, ALL, or None at the end."""
        with self._something:
            while not self._stopping:
                now = time.monotonic()
                if (self._everything or self._notes) and self._due <= now:
                    return self._take()
                self._something.wait(self._pause(now))
                self._unload_idle()
            return None

    def _take(self) -> frozenset[int]:
        """What was saved last comes before what has waited for long."""
        notes = frozenset(self._notes)
        self._working = True
        self._notes.clear()
        if not notes:
            self._everything = False
        return notes

    def _pause(self, now: float) -> float | None:
        if self._everything or self._notes:
            return self._due - now
        meaning = self._pool.shared.opened()
        if self.unload_after is None or meaning is None or not meaning.is_loaded():
            return None
        return max(1.0, self._pool.last_by_meaning + self.unload_after - now)

    def _unload_idle(self) -> None:
        meaning = self._pool.shared.opened()
        if self.unload_after is None or meaning is None or self._notes or self._everything:
            return
        if time.monotonic() >= self._pool.last_by_meaning + self.unload_after:
            meaning.unload()

    def _round(self, notes: frozenset[int]) -> None:
        generation = self._state.generation()
        if generation is None:
            return
        meaning = self._pool.meaning()
        with spoken():
            catalog = Catalog(f"{generation}/catalog.db")
        started = time.monotonic()
        try:
            done = meaning.embed_pending(
                catalog, self._rules(), self.stage, notes=notes or None, aside=self._aside
            )
        finally:
            catalog.close()
        self.trouble = None
        self.embedded += done
        if self._notes:  # then this round may have ended early
            self._everything = True
        if done:
            log.info("%s embedded in %.1f s", plural(done, "block"), time.monotonic() - started)

    def _aside(self) -> bool:
        """Between two batches: let searches go first; whether to go on, or to see to newer notes first."""
        self._gate.rest()
        newer = bool(self._notes) and self._due <= time.monotonic()
        return not (self._stopping or newer)

    def _fail(self, why: str) -> None:
        if why != self.trouble:
            log.warning("%s", why)
        self.trouble = why

    def _again(self) -> None:
        with self._something:
            self._everything = True
            self._due = time.monotonic() + RETRY_AFTER
