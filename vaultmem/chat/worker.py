"""The worker: takes turns out of the queue, one after the other, and has them remembered.

One process at a time is it, whichever; while it waits for a model it holds neither the lock of the state nor the desk.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from vaultmem.api import Vault
from vaultmem.chat.learning import keep_turn, learn
from vaultmem.chat.reconciling import Learned
from vaultmem.chat.turn_queue import FOLDER, SERVICE, Item, Turns
from vaultmem.config import Config
from vaultmem.errors import NoteNotFoundError, UsageError, VaultmemError
from vaultmem.index.catalog import spoken
from vaultmem.llm.llm import Budget
from vaultmem.llm.request import Model
from vaultmem.text import urls

log = logging.getLogger("vaultmem.conversations")

LOOK = 5.0  # seconds after which the queue is looked at, for turns of other processes
REST = 30.0  # seconds before a turn that could not be written or remembered is tried again
# Seconds after something was said: the first word of the answer comes before its note, and what is learned at once is
# written once.
AFTER = 0.3
TRIES = 3  # before it is put aside
# What is wrong with the turn itself, and will be again. Other errors of ours are of the vault, the settings or the
# agent: they may be mended in a day, and the words of a user wait for it.
_HOPELESS = (UsageError, NoteNotFoundError)

ModelFor = Callable[[Item], Model | None]


def service_of(config: Config) -> str:
    """The origin of the service that is asked; "" where none is set."""
    given = config.text("llm.base_url")
    return urls.origin(urls.endpoint(given)) if given else ""


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
        self._noting = Noting(vault, self.turns, lambda: self.is_at)
        self._wake = threading.Event()
        self._stopping = False
        self._thread: threading.Thread | None = None
        self.is_at = ""  # the id of the turn that is worked on
        self.remembered = 0  # turns, since this worker was made
        self._failed: dict[str, tuple[int, float]] = {}  # by item: how often, and when at last

    def start(self) -> None:
        """Work, from now on."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="turns", daemon=True)
            self._thread.start()
            self._noting.start()

    def nudge(self) -> None:
        """There is something to do."""
        self._wake.set()
        self._noting.nudge()

    def stop(self, patience: float) -> None:
        """Finish the turn that is being worked on, if that takes no longer; else it is left to the next worker."""
        self._stopping = True
        self._wake.set()
        self._noting.stop()
        deadline = time.monotonic() + patience
        if self._thread is not None:
            self._thread.join(patience)
        self._noting.join(max(0.0, deadline - time.monotonic()))

    def work_once(self, *, wait: bool = False) -> int:
        """Remember all that is waiting; how many turns that were. While another one is the worker, be it a process or
        the thread of this one: none, or with `wait` those that are left when it has done its work."""
        if not wait and not self.turns.count():
            return 0
        claim = self.turns.claim(wait=wait)
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
        """Go through the queue for as long as that gets on: more may come meanwhile."""
        done = 0
        gets_on = True
        while gets_on and not self._stopping:
            remembered, is_more = self._go_through()
            done += remembered
            gets_on = remembered > 0 or is_more
        return done

    def _go_through(self) -> tuple[int, bool]:
        """Once through the queue: how many turns were remembered, and whether one was tried that can be tried again at
        once, for an answer came meanwhile, or it makes room for the next one."""
        done, is_more = 0, False
        passed: set[str] = set()  # conversations, each of which waits for its first turn
        with Vault(self._vault.path) as vault:  # one for all turns: it holds an embedding model
            vault.config = self._vault.config
            for item in self.turns.each():
                if self._stopping:
                    break
                if item.conversation in passed:
                    continue
                if self._is_ready(item):
                    self.is_at = item.id
                    is_done = self._remember(vault, item)
                    self.is_at = ""
                    done += is_done
                    if is_done:
                        continue
                    is_more = is_more or self._is_ready(item)
                passed.add(item.conversation)
        return done, is_more

    def _is_ready(self, item: Item) -> bool:
        """Whether it is over and has not just failed."""
        failed = self._failed.get(item.id)
        return not item.is_open and (failed is None or time.monotonic() - failed[1] > REST)

    def _remember(self, vault: Vault, item: Item) -> bool:
        """Have one turn remembered; whether it is."""
        try:
            model = self._model(item) if self._may_learn(item) else None
            calls = vault.config.number("llm.calls")
            budget = None if model is None else Budget(model, calls)
            with spoken():
                learned = learn(vault, item, budget, self.turns.said)
            learned = learned._replace(turn=item.id)
            is_done = self.turns.done(item)
        except VaultmemError as error:
            vault.close()
            self._fail(item, str(error), counts=isinstance(error, _HOPELESS))
            return False
        except Exception as error:  # whatever it is, other conversations must not wait for it
            vault.close()
            log.exception("a turn of a conversation could not be remembered")
            self._fail(item, repr(error), counts=not isinstance(error, OSError))
            return False
        self._failed.pop(item.id, None)
        if is_done:
            self.remembered += 1
            self._tell(learned)
        return is_done

    def _may_learn(self, item: Item) -> bool:
        """Whether the model is of the service that the turn was spoken to. To no other one it was told: then rules
        learn from it."""
        spoken = item.meta.get(SERVICE)
        return spoken in (None, "", service_of(self._vault.config))

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


class Noting:
    """Writes what was said as notes at once, beside the worker: while that waits for a model, later turns and those of
    other conversations wait to be learned from, but are there. Done twice it changes nothing: ids follow from the turn.

    Works in a thread of its own from start() on. `is_at` tells the turn that the worker writes."""

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
