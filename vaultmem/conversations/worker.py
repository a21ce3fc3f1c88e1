"""The worker: takes turns out of the queue, one after the other, and has them remembered.

One process at a time is it, whichever; while it waits for a model it holds neither the lock of the state nor the desk.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from vaultmem.api import Vault
from vaultmem.conversations.learning import learn
from vaultmem.conversations.reconciling import Learned
from vaultmem.core.asking import Model
from vaultmem.errors import StateError, VaultGoneError, VaultmemError, VaultNotFoundError
from vaultmem.store.llm import Budget
from vaultmem.store.turn_queue import FOLDER, Item, Turns

log = logging.getLogger("vaultmem.conversations")

LOOK = 5.0  # seconds after which the queue is looked at, for turns of other processes
REST = 30.0  # seconds before a turn that could not be remembered is tried again
TRIES = 3  # before it is put aside
_LATER = (StateError, VaultGoneError, VaultNotFoundError)  # nothing is wrong with the turn itself

ModelFor = Callable[[Item], Model | None]


def no_model(_: Item) -> Model | None:
    """For a worker that has none."""
    return None


class Worker:
    """Works on the queue of one vault, in a thread of its own from start() on. `model` gives the model for a turn;
    `on_learned` hears what became of each, in that thread."""

    def __init__(
        self,
        vault: Vault,
        model: ModelFor = no_model,
        on_learned: Callable[[Learned], None] | None = None,
    ) -> None:
        self._vault = vault
        self._model, self._on_learned = model, on_learned
        self.turns = Turns(vault.state.path(FOLDER))
        self._wake = threading.Event()
        self._stopping = False
        self._thread: threading.Thread | None = None
        self._failed: dict[str, tuple[int, float]] = {}  # by item: how often, and when at last

    def start(self) -> None:
        """Work, from now on."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="turns", daemon=True)
            self._thread.start()

    def nudge(self) -> None:
        """There is something to do."""
        self._wake.set()

    def stop(self, patience: float) -> None:
        """Finish the turn that is being worked on, if that takes no longer; else it is left to the next worker."""
        self._stopping = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join(patience)

    def work_once(self) -> int:
        """Remember all that is waiting; how many turns that were. None, while another process is the worker."""
        if not self.turns.count():
            return 0
        claim = self.turns.claim()
        if claim is None:
            return 0
        with claim:
            return self._work()

    def _run(self) -> None:
        while not self._stopping:
            self._wake.wait(LOOK)
            self._wake.clear()
            if self._stopping:
                return
            try:
                self.work_once()
            except Exception:  # the border of the thread: a turn stays in the queue
                log.exception("the turns of conversations cannot be worked on")

    def _work(self) -> int:
        done = 0
        while not self._stopping:
            item = self._next()
            if item is None:
                break
            done += self._remember(item)
        return done

    def _next(self) -> Item | None:
        """The first turn of a conversation that is over and has not just failed."""
        passed: set[str] = set()
        for item in self.turns.waiting():
            if item.conversation in passed:
                continue
            passed.add(item.conversation)
            failed = self._failed.get(item.id)
            if not item.is_open and (failed is None or time.monotonic() - failed[1] > REST):
                return item
        return None

    def _remember(self, item: Item) -> bool:
        """Have one turn remembered; whether it is."""
        try:
            model = self._model(item)
            calls = self._vault.config.number("llm.calls")
            with Vault(self._vault.path) as vault:
                learned = learn(vault, item, None if model is None else Budget(model, calls))
            is_done = self.turns.done(item)
        except VaultmemError as error:
            self._fail(item, str(error), counts=not isinstance(error, _LATER))
            return False
        except Exception as error:  # whatever it is, other conversations must not wait for it
            log.exception("a turn of a conversation could not be remembered")
            self._fail(item, repr(error), counts=True)
            return False
        self._failed.pop(item.id, None)
        if is_done:
            self._tell(learned)
        return is_done

    def _fail(self, item: Item, why: str, *, counts: bool) -> None:
        tries = self._failed.get(item.id, (0, 0.0))[0] + counts
        log.warning("a turn of a conversation waits: %s", why)
        if tries >= TRIES:
            self._failed.pop(item.id, None)
            self.turns.put_aside(item, why)
            return
        self._failed[item.id] = tries, time.monotonic()

    def _tell(self, learned: Learned) -> None:
        if self._on_learned is None:
            return
        try:
            self._on_learned(learned)
        except Exception:  # what somebody does with it is not the worker's business
            log.exception("what was learned could not be told")
