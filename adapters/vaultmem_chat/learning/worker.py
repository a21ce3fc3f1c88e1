"""The worker: takes turns from the queue, one after the other, and learns from them.

One process at a time is the worker; while it waits for a model it holds neither the lock of the state nor the memory
folder.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from vaultmem.adapter.services import Model
from vaultmem.api import Vault
from vaultmem.config import Config
from vaultmem.errors import NoteNotFoundError, UsageError, VaultmemError
from vaultmem.index.catalog import catalog_errors
from vaultmem.text import urls
from vaultmem_chat.learning.learning import Learned, keep_turn, learn
from vaultmem_chat.learning.turn_queue import FOLDER, SERVICE, Item, Turns
from vaultmem_chat.llm.llm import within_budget

log = logging.getLogger("vaultmem.conversations")

LOOK = 5.0  # seconds between checks of the queue for turns of other processes
REST = 30.0  # seconds before a failed turn is tried again
# Seconds after a message: the answer begins before the note is written, and what is learned at once is written once.
AFTER = 0.3
TRIES = 3  # attempts before it is set aside
YIELD = 2.0  # most seconds for which a turn waits for requests
# Errors of the turn itself, which will recur. Other errors concern the vault, the settings or the agent: they may be
# fixed some day, and the user's words are kept until then.
_HOPELESS = (UsageError, NoteNotFoundError)

ModelFor = Callable[[Item], Model | None]


def service_of(config: Config) -> str:
    """The origin of the service; "" if none is set."""
    address = config.text("llm.base_url")
    return urls.origin(urls.endpoint(address)) if address else ""


class _Loop:
    """A thread that calls `work` when it is nudged, and every few seconds. Exceptions are logged, and it
    continues."""

    def __init__(self, name: str, work: Callable[[], object], delay: float = 0.0) -> None:
        self._name, self._work, self._delay = name, work, delay
        self._wake, self.ending = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()

    def nudge(self) -> None:
        self._wake.set()

    def end(self) -> None:
        self.ending.set()
        self._wake.set()

    def join(self, seconds: float) -> None:
        if self._thread is not None:
            self._thread.join(max(0.0, seconds))

    def _run(self) -> None:
        while not self.ending.is_set():
            if self._wake.wait(LOOK):
                self.ending.wait(self._delay)
            self._wake.clear()
            try:
                if not self.ending.is_set():
                    self._work()
            except Exception:  # the thread's last resort: the turn stays in the queue
                log.exception("the thread %s has failed", self._name)


class Worker:
    """Processes the queue of one vault, in its own threads from start() on. `model` returns the model for a turn;
    `on_learned` is called with each result in such a thread. While `is_busy`, each turn waits for a moment."""

    def __init__(
        self, vault: Vault, model: ModelFor = lambda _: None, on_learned: Callable[[Learned], None] | None = None,
        is_busy: Callable[[], bool] = bool,
    ) -> None:  # fmt: skip
        self._vault, self._is_busy = vault, is_busy
        self._model, self._on_learned = model, on_learned
        self.turns = Turns(vault.state.path(FOLDER))
        self._loop = _Loop("turns", self.work_once)
        self._notes = _Notes(vault, self.turns, lambda: self.current, self.step_aside)
        self.current = ""  # the id of the current turn
        self.remembered = 0  # turns learned by this worker
        self._failed: dict[str, tuple[int, float]] = {}  # by item: failures, and the last time

    def start(self) -> None:
        """Start the threads."""
        self._loop.start()
        self._notes.loop.start()

    def nudge(self) -> None:
        """Wake the worker."""
        self._loop.nudge()
        self._notes.loop.nudge()

    def step_aside(self) -> None:
        """Wait while requests wait for answers."""
        end = time.monotonic() + YIELD
        while self._is_busy() and time.monotonic() < end and not self._loop.ending.wait(0.05):
            pass

    def stop(self, seconds: float) -> None:
        """Stop after the current turn, waiting at most `seconds`; otherwise it is left to the next worker."""
        deadline = time.monotonic() + seconds
        for loop in (self._loop, self._notes.loop):
            loop.end()
        for loop in (self._loop, self._notes.loop):
            loop.join(deadline - time.monotonic())

    def work_once(self, *, wait: bool = False) -> int:
        """Learn from all turns in the queue. Returns their number. While another worker is active, in another process
        or in this one's thread, that is 0; with `wait`, the number of turns left when it has finished."""
        if not wait and not self.turns.count():
            return 0
        claim = self.turns.claim(wait=wait)
        if claim is None:
            return 0
        done = 0
        with claim:
            progresses = True
            while progresses and not self._loop.ending.is_set():  # more may arrive meanwhile
                learned, is_more = self._go_through()
                done += learned
                progresses = learned > 0 or is_more
        return done

    def _go_through(self) -> tuple[int, bool]:
        """Process the queue once. Returns the number of turns learned from, and whether to process it again at once,
        because an answer arrived meanwhile or a turn unblocked the next one."""
        done, is_more = 0, False
        passed: set[str] = set()  # conversations whose first turn is not done
        with _open(self._vault) as vault:  # shared by all turns: it holds an embedding model
            for item in self.turns.each():
                if self._loop.ending.is_set():
                    break
                if item.conversation in passed:
                    continue
                if self._is_ready(item):
                    self.step_aside()
                    self.current = item.id
                    is_done = self._learn(vault, item)
                    self.current = ""
                    done += is_done
                    if is_done:
                        continue
                    is_more = is_more or self._is_ready(item)
                passed.add(item.conversation)
        return done, is_more

    def _is_ready(self, item: Item) -> bool:
        """Whether a turn is complete and has not just failed."""
        failed = self._failed.get(item.id)
        return not item.is_open and (failed is None or time.monotonic() - failed[1] > REST)

    def _learn(self, vault: Vault, item: Item) -> bool:
        """Learn from one turn. Returns whether it is done."""
        try:
            # The service that the turn was sent to: it is sent to no other.
            may_ask = item.meta.get(SERVICE) in (None, "", service_of(self._vault.config))
            model = self._model(item) if may_ask else None
            with catalog_errors():
                limited = within_budget(vault.config, model)
                learned = learn(vault, item, limited, self.turns.add_facts)
            is_done = self.turns.done(item)
        except VaultmemError as error:
            vault.close()
            self._fail(item, str(error), counts=isinstance(error, _HOPELESS))
            return False
        except Exception as error:  # whatever it is, other conversations must go on
            vault.close()
            log.exception("a turn of a conversation could not be learned from")
            self._fail(item, repr(error), counts=not isinstance(error, OSError))
            return False
        self._failed.pop(item.id, None)
        if is_done:
            self.remembered += 1
            self._report(learned._replace(turn=item.id))
        return is_done

    def _fail(self, item: Item, why: str, *, counts: bool) -> None:
        tries = self._failed.get(item.id, (0, 0.0))[0] + counts
        log.warning("a turn of a conversation waits: %s", why)
        if tries >= TRIES:
            self._failed.pop(item.id, None)
            self.turns.put_aside(item, why)
            return
        self._failed[item.id] = tries, time.monotonic()

    def _report(self, learned: Learned) -> None:
        if self._on_learned is None:
            return
        try:
            self._on_learned(learned)
        except Exception:  # errors of the listener do not concern the worker
            log.exception("the listener to what was learned has failed")


class _Notes:
    """Writes turns as notes at once, beside the worker: while that waits for a model, other turns are already stored.
    Repeating it changes nothing, because ids are derived from the turn. `current` returns the turn that the worker is
    writing."""

    def __init__(
        self, vault: Vault, turns: Turns, current: Callable[[], str], step_aside: Callable[[], None]
    ) -> None:
        self._vault, self._turns, self._current = vault, turns, current
        self._step_aside = step_aside
        self.loop = _Loop("notes", self.write, AFTER)
        self._noted: dict[str, tuple[float | None, list[str]]] = {}  # by turn: its end, its notes
        self._failed: dict[str, float] = {}  # by turn: the time of the last failure

    def write(self) -> None:
        """Write all turns in the queue that are not written yet; of an open turn, the user's words."""
        waiting = self._turns.waiting()
        there = {item.id for item in waiting}
        self._noted = {id_: entry for id_, entry in self._noted.items() if id_ in there}
        self._failed = {id_: at for id_, at in self._failed.items() if id_ in there}
        for item in waiting:
            if self.loop.ending.is_set():
                return
            if item.id != self._current() and self._is_due(item):
                self._step_aside()
                self._write(item)

    def _is_due(self, item: Item) -> bool:
        if item.id in self._noted and self._noted[item.id][0] == item.finished:
            return False
        return time.monotonic() - self._failed.get(item.id, -REST) >= REST

    def _write(self, item: Item) -> None:
        before = self._noted.get(item.id, (None, []))[1]
        try:
            with _open(self._vault) as vault:
                ids = keep_turn(vault, item, before)
            self._turns.add_notes(item, ids)
        except (VaultmemError, OSError) as error:  # the worker tries again, and reports
            log.debug("a turn is not written yet: %s", error)
            self._failed[item.id] = time.monotonic()
            return
        self._noted[item.id] = item.finished, ids


def _open(vault: Vault) -> Vault:
    """A second open instance of the same vault, for another thread."""
    result = Vault(vault.path)
    result.config = vault.config
    return result
