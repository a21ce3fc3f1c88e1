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
from vaultmem_chat.learning.turn_queue import FOLDER, NOTED, SERVICE, Item, Turns
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
    """A thread that calls `work` when it is nudged, and every few seconds, until `ending`. Exceptions are logged, and
    it continues."""

    def __init__(
        self, name: str, work: Callable[[], object], ending: threading.Event, delay: float = 0.0
    ) -> None:
        self._work, self._ending, self._delay = work, ending, delay
        self.wake = threading.Event()
        self.thread = threading.Thread(target=self._run, name=name, daemon=True)

    def _run(self) -> None:
        while not self._ending.is_set():
            if self.wake.wait(LOOK):
                self._ending.wait(self._delay)
            self.wake.clear()
            try:
                if not self._ending.is_set():
                    self._work()
            except VaultmemError as error:  # the vault cannot be opened, perhaps later
                log.warning("turns of conversations wait: %s", error)
            except Exception:  # the thread's last resort: the turn stays in the queue
                log.exception("the thread %s has failed", self.thread.name)


class Worker:
    """Processes the queue of one vault, in its own threads from start() on: one writes turns as notes at once, the
    other learns from them, and may wait for a model. `model` returns the model for a turn; `on_learned` is called with
    each result in such a thread. While `is_busy`, each turn waits for a moment."""

    def __init__(
        self, vault: Vault, model: ModelFor = lambda _: None, on_learned: Callable[[Learned], object] = bool,
        is_busy: Callable[[], bool] = bool,
    ) -> None:  # fmt: skip
        self._vault, self._is_busy = vault, is_busy
        self._model, self._on_learned = model, on_learned
        self.turns = Turns(vault.state.path(FOLDER))
        self._ending = threading.Event()
        self._loops = (
            _Loop("turns", self.work_once, self._ending),
            _Loop("notes", self._write_notes, self._ending, AFTER),
        )
        self.current = ""  # the id of the current turn
        self.remembered = 0  # turns learned by this worker
        self._failed: dict[str, tuple[int, float]] = {}  # by item: failures, and the last time
        self._noted: dict[str, tuple[float | None, list[str]]] = {}  # by turn: its end, its notes

    def start(self) -> None:
        """Start the threads, if they are not running."""
        for loop in self._loops:
            if loop.thread.ident is None:
                loop.thread.start()

    def nudge(self) -> None:
        """Wake the worker."""
        for loop in self._loops:
            loop.wake.set()

    def stop(self, seconds: float) -> None:
        """Stop after the current turn, waiting at most `seconds`; otherwise it is left to the next worker."""
        deadline = time.monotonic() + seconds
        self._ending.set()
        self.nudge()
        for loop in self._loops:
            if loop.thread.ident is not None:
                loop.thread.join(max(0.0, deadline - time.monotonic()))

    def work_once(self, *, wait: bool = False) -> int:
        """Learn from all turns in the queue. Returns their number. While another worker is active, in another process
        or in this one's thread, that is 0; with `wait`, the number of turns left when it has finished."""
        before = self.remembered
        if wait or self.turns.count():
            with self.turns.claim(wait=wait) as is_ours:
                while is_ours and self._go_through():  # more may arrive meanwhile
                    pass
        return self.remembered - before

    def _go_through(self) -> bool:
        """Process the queue once. Returns whether any turn was learned from: it may have unblocked the next one."""
        has_learned = False
        passed: set[str] = set()  # conversations whose first turn is not done
        with _open(self._vault) as vault:  # shared by all turns: it holds an embedding model
            for item in self.turns.each():
                if self._ending.is_set():
                    return False
                if item.conversation not in passed and self._is_ready(item):
                    self._step_aside()
                    self.current = item.id
                    try:
                        is_learned = self._learn(vault, item)
                    finally:  # the listener may fail
                        self.current = ""
                    has_learned = has_learned or is_learned
                    if is_learned:
                        continue
                passed.add(item.conversation)
        return has_learned

    def _is_ready(self, item: Item) -> bool:
        """Whether a turn is complete and has not just failed."""
        failed = self._failed.get(item.id)
        return not item.is_open and (failed is None or time.monotonic() - failed[1] > REST)

    def _step_aside(self) -> None:
        """Wait while requests wait for answers."""
        end = time.monotonic() + YIELD
        while self._is_busy() and time.monotonic() < end and not self._ending.wait(0.05):
            pass

    def _learn(self, vault: Vault, item: Item) -> bool:
        """Learn from one turn. Returns whether that succeeded. If an answer has arrived meanwhile, it stays in the
        queue."""
        try:
            # The service that the turn was sent to: it is sent to no other.
            may_ask = item.meta.get(SERVICE) in (None, "", service_of(self._vault.config))
            model = self._model(item) if may_ask else None
            _, noted = self._noted.get(item.id, (None, []))
            with catalog_errors():
                limited = within_budget(vault.config, model)
                learned = learn(vault, item, limited, noted, self.turns.add)
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
            self._on_learned(learned._replace(turn=item.id))
        return True

    def _fail(self, item: Item, why: str, *, counts: bool) -> None:
        tries = self._failed.get(item.id, (0, 0.0))[0] + counts
        log.warning("a turn of a conversation waits: %s", why)
        if tries >= TRIES:
            self._failed.pop(item.id, None)
            self.turns.put_aside(item, why)
            return
        self._failed[item.id] = tries, time.monotonic()

    def _write_notes(self) -> None:
        """Write all turns in the queue as notes that are not written yet; of an open turn, the user's words. Repeating
        it changes nothing, because ids are derived from the turn."""
        waiting = self.turns.waiting()
        noted = self._noted = {
            item.id: self._noted[item.id] for item in waiting if item.id in self._noted
        }
        if not waiting:
            return
        with _open(self._vault) as vault:  # shared by all turns: it knows what a conversation has
            for item in waiting:
                if self._ending.is_set():
                    return
                end, ids = noted.get(item.id, (None, []))
                if item.id == self.current or (item.id in noted and end == item.finished):
                    continue
                self._step_aside()
                try:
                    ids = keep_turn(vault, item, ids)
                    self.turns.add(item, NOTED, ids)
                    noted[item.id] = item.finished, ids
                except (VaultmemError, OSError) as error:  # tried again; the worker reports it
                    vault.close()
                    log.debug("a turn is not written yet: %s", error)


def _open(vault: Vault) -> Vault:
    """A second open instance of the same vault, for another thread."""
    result = Vault(vault.path)
    result.config = vault.config
    return result
