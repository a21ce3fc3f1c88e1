"""Embeds changed blocks in the background: newest first, and yielding to searches."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import closing

from vaultmem import machine
from vaultmem.agent.events import StageProgress, Throttle
from vaultmem.agent.pool import Pool
from vaultmem.embedding.embed import first_line
from vaultmem.errors import EmbeddingServiceError, ModelError, StateError, VaultmemError
from vaultmem.index.catalog import Catalog, catalog_errors
from vaultmem.index.state import State
from vaultmem.light import TYPE_CHECKING, TypedDict
from vaultmem.notes.dialects import Rulebook
from vaultmem.progress import current_progress, report_to
from vaultmem.text.values import plural

if TYPE_CHECKING:
    from vaultmem.search.semantic import Meaning, Pending

log = logging.getLogger("vaultmem.search.semantic")

QUIET = 1.0  # seconds after the last change: a person still writing does not search for it
LONGEST = 20.0  # seconds after the first change, even if writing goes on
RETRY_AFTER = 60.0
SHORTEST_PAUSE = 1.0
_TELLS_EVERY = 0.2
MODEL = "the agent is loading the model for the next search"
VECTORS = "the agent is computing the first vectors"
ALL: frozenset[int] = frozenset()


EmbedState = TypedDict("EmbedState", {"waiting": int, "done": int, "running": bool})
"""How embedding goes; blocks."""


class EmbeddingQueue(threading.Thread):
    """Embeds blocks without a vector. The queue is computed from the index, so a kill loses nothing."""

    def __init__(
        self, state: State, pool: Pool, gate: Throttle, rules: Callable[[], Rulebook]
    ) -> None:
        super().__init__(name="embedding", daemon=True)
        self.stage = StageProgress()
        self.trouble: str | None = None  # why the last round failed
        self.embedded = 0  # blocks since the start
        self.unload_after: float | None = None  # seconds without use
        self._state, self._pool, self._throttle, self._rules = state, pool, gate, rules
        self._notes: set[int] = set()  # saved since the last round
        self._everything = True
        self._left: list[Pending] = []  # notes that rounds had to leave for newer ones
        self._due = self._first = self._last_use = time.monotonic()
        self._working = self._stopping = False
        self._cold = True  # whether the next search by meaning would have to read all blocks
        self._looking = False  # whether a thread is doing so now
        self._wanted = False  # whether someone wants to search by meaning
        # The state of the vectors when everything was last looked at.
        self._generation: list[int] | None = None
        self._logged: str | None = None  # the last failure logged
        self._again: float | None = None  # when the shared index is tried again
        self._something = threading.Condition()

    def add(self, notes: Iterable[int]) -> None:
        """Queue notes that have changed."""
        changed = set(notes)
        if not changed:
            return
        with self._something:
            now = time.monotonic()
            if not self._notes:
                self._first = now
            self._notes |= changed
            self._due = min(now + QUIET, self._first + LONGEST)
            self._something.notify_all()

    def add_all(self) -> None:
        """Queue all notes."""
        with self._something:
            self._everything = self._cold = True
            self._left = []
            self._due = min(self._due, time.monotonic())
            self._something.notify_all()

    def is_warm(self) -> bool:
        """Whether a search by meaning can start at once."""
        meaning = self._pool.shared.loaded()
        return not (self._cold or self._looking) and bool(meaning and meaning.count())

    def warm(self) -> str:
        """Prepare the next search by meaning, unless that has failed. Returns the reason if this one goes without."""
        with self._something:
            if self.trouble is not None:
                return self.trouble
            if not self._wanted:
                self._wanted = True
                if not self._working:
                    self._everything = True
                    self._due = min(self._due, time.monotonic())
                    self._something.notify_all()
            return VECTORS if self._pool.shared.loaded() else MODEL

    def as_dict(self) -> EmbedState:
        """The state of embedding, as data."""
        return {"waiting": self.waiting(), "done": self.embedded, "running": self._working}

    def waiting(self) -> int:
        """How many blocks are known to have no vector yet."""
        return max(0, self.stage.total - self.stage.done)

    def is_done(self) -> bool:
        """Whether there is nothing to do."""
        return not (self._is_behind() or self._working)

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until the queue is empty or a round has failed (see `trouble`)."""
        with self._something:
            if not self.is_done():
                self.trouble = None  # of an earlier round; retry it now
            self._due = min(self._due, time.monotonic())
            self._something.notify_all()
            return self._something.wait_for(
                lambda: self.is_done() or self._stopping or self.trouble is not None, seconds
            )

    def wait_heard(self, seconds: float) -> None:
        """Like wait(), reporting progress: each round knows its total only when it begins."""
        ends, total, before = time.monotonic() + seconds, -1, 0
        progress = current_progress()
        while not self.wait(_TELLS_EVERY) and time.monotonic() < ends:
            done = self.stage.done
            if total != self.stage.total or done < before:
                total, before = self.stage.total, 0
                progress.stage("embedding", total)
            progress.advance(done - before)
            before = done

    def stop(self) -> None:
        """End after the batch that is being embedded."""
        with self._something:
            self._stopping = True
            self._something.notify_all()

    def run(self) -> None:
        """Embed until stop()."""
        machine.lower_priority_of_thread()
        while (notes := self._next()) is not None:
            self._try_round(notes)
            if self._cold and not self._is_behind():
                self._warm_up()

    def _is_behind(self) -> bool:
        return bool(self._everything or self._notes)

    def _next(self) -> frozenset[int] | None:
        """The notes to look at, or ALL; None at the end."""
        with self._something:
            while not self._stopping:
                now = time.monotonic()
                if self._again is not None and self._again <= now:
                    self._again, self._everything = None, True
                if self._is_behind() and self._due <= now:
                    return self._take()
                self._something.wait(self._pause(now))
                self._unload_idle()
            return None

    def _take(self) -> frozenset[int]:
        """First the notes that were just saved, then all."""
        self._working = True
        self.trouble = None
        self._everything = self._everything and bool(self._notes)
        notes = frozenset(self._notes)
        self._notes.clear()
        return notes

    def _pause(self, now: float) -> float | None:
        if self._is_behind():
            return self._due - now
        if self._again is not None:
            return max(0.0, self._again - now)
        if self.unload_after is None:
            return None
        if not self._pool.shared.loaded():  # a search may load the model at any time
            return max(SHORTEST_PAUSE, self.unload_after)
        return max(SHORTEST_PAUSE, self._last_used() + self.unload_after - now)

    def _last_used(self) -> float:
        return max(self._pool.last_by_meaning, self._last_use)

    def _unload_idle(self) -> None:
        meaning = self._pool.shared.opened()
        if self.unload_after is None or meaning is None or self._is_behind():
            return
        if time.monotonic() >= self._last_used() + self.unload_after:
            meaning.unload()

    def _try_round(self, notes: frozenset[int]) -> None:
        """Embed one round; when it fails, its notes stay queued."""
        try:
            self._round(notes)
        except (EmbeddingServiceError, StateError) as error:
            self._fail(str(error))
            self._put_back()
        except ModelError as error:  # a model that appears later must embed all notes
            self._fail(str(error))
            self._generation = None
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # the border of the thread; a panic of Rust is no Exception
            log.exception("embedding failed; it is tried again in a minute")
            self.trouble = f"embedding failed ({first_line(error)}); it is tried again in a minute"
            self._put_back()
        finally:
            if self.stage.done:
                self._last_use = time.monotonic()
            self.stage.end()
            with self._something:
                self._working = False
                self._something.notify_all()

    def _round(self, notes: frozenset[int]) -> None:
        generation = self._state.generation()
        if generation is None:
            return
        serving = self._pool.shared.get()
        meaning = serving.successor or serving
        left = [] if notes else self._take_left(meaning)
        started = time.monotonic()
        with catalog_errors():
            catalog = self._opened(generation)
            if catalog is None:
                return
            with closing(catalog), report_to(self.stage):
                pending = left or meaning.pending(catalog, notes or None)
                done = meaning.embed_pending(pending, self._rules(), self._aside)
                is_shared = meaning.publish(catalog, notes)
                is_behind = meaning.pending(catalog) if serving.successor else notes
                is_complete = not (left or done.left or is_behind)
        self._again = None if is_shared else time.monotonic() + RETRY_AFTER
        self._logged = None
        self.embedded += done.blocks
        self._make_ready()
        self._wanted = False
        with self._something:
            # Or some were discarded meanwhile.
            if left or done.left or self._generation != meaning.generations():
                self._everything = True
            self._left = done.left + [one for one in self._left if one.note not in notes]
        if is_complete:
            meaning.serve()
            if serving.successor:
                self._pool.shared.succeed()
                self._cold = True
        if done.blocks:
            spent = time.monotonic() - started
            log.info("%s embedded in %.1f s", plural(done.blocks, "block"), spent)

    def _take_left(self, meaning: Meaning) -> list[Pending]:
        """Where to go on among all notes: looking at all of them again takes seconds in a very large vault. [] to look
        at all, as at the end, or when vectors were discarded."""
        before, self._generation = self._generation, meaning.generations()
        left, self._left = self._left, []
        return left if before == self._generation else []

    def _opened(self, generation: str) -> Catalog | None:
        """The catalog; None if it was just swept away and add_all() is about to report a new one."""
        try:
            return Catalog(f"{generation}/catalog.db")
        except StateError:
            if self._state.generation() == generation:
                raise
            return None

    def _aside(self) -> bool:
        """Between two batches, let searches go first. Returns False to turn to newer notes."""
        self._throttle.rest()
        self._make_ready()
        newer = bool(self._notes) and self._due <= time.monotonic()
        return not (self._stopping or newer)

    def _make_ready(self) -> None:
        """Load the model and the existing vectors for coming searches."""
        serving = self._pool.shared.opened()
        if not (self._wanted and serving and serving.count()):
            return
        self._wanted = False
        serving.load()
        self._last_use = time.monotonic()
        if self._cold:
            self._warm_up()

    def _warm_up(self) -> None:
        """Read all blocks before a search by meaning has to: that takes seconds in a very large vault."""
        meaning = self._pool.shared.opened()
        if meaning is None or not meaning.count():
            return
        self._cold, self._looking = False, True
        try:
            with self._pool.by_meaning() as searcher, catalog_errors():
                meaning.look(searcher.catalog)
        except VaultmemError as error:  # the search that needs it will report it
            log.debug("%s", error)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:
            log.exception("the vectors could not be looked at before they are needed")
        finally:
            self._looking = False
        machine.release_memory()

    def _fail(self, why: str) -> None:
        if why != self._logged:
            log.warning("%s", why)
        self.trouble = self._logged = why

    def _put_back(self) -> None:
        """Retry in a minute, or with the next saved note."""
        with self._something:
            self._everything = True
            self._due = time.monotonic() + RETRY_AFTER
