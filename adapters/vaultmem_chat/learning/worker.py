"""The worker: takes turns out of the queue, one after the other, and has them learned from.

One process at a time is it; while it waits for a model it holds neither the lock of the state nor the memory folder.
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
from vaultmem.index.catalog import spoken
from vaultmem.text import urls
from vaultmem_chat.learning.learning import Learned, keep_turn, learn
from vaultmem_chat.learning.turn_queue import FOLDER, SERVICE, Item, Turns
from vaultmem_chat.llm.llm import within_budget

log = logging.getLogger("vaultmem.conversations")

LOOK = 5.0  # seconds after which the queue is looked at, for turns of other processes
REST = 30.0  # seconds before a turn that could not be written or learned from is tried again
# Seconds after a message: the first word of the answer comes before its note, and what is learned at once is
# written once.
AFTER = 0.3
TRIES = 3  # before it is put aside
YIELD = 2.0  # seconds for which a turn lets others go first, at most
# What is wrong with the turn itself, and will be again. Other errors of ours are of the vault, the settings or the
# agent: they may be mended in a day, and the words of a user wait for it.
_HOPELESS = (UsageError, NoteNotFoundError)

ModelFor = Callable[[Item], Model | None]


def service_of(config: Config) -> str:
    """The origin of the service; "" where none is set."""
    address = config.text("llm.base_url")
    return urls.origin(urls.endpoint(address)) if address else ""


class _Loop:
    """A thread that works when it is nudged, and every few seconds. What `work` raises is logged, and it goes on."""

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
            except Exception:  # the border of the thread: a turn stays in the queue
                log.exception("the thread %s has failed", self._name)


class Worker:
    """Works on the queue of one vault, in threads of its own from start() on. `model` gives the model for a turn;
    `on_learned` hears what became of each, in such a thread. While `is_busy`, each turn waits for a moment."""

    def __init__(
        self, vault: Vault, model: ModelFor = lambda _: None, on_learned: Callable[[Learned], None] | None = None,
        is_busy: Callable[[], bool] = bool,
    ) -> None:  # fmt: skip
        self._vault, self._is_busy = vault, is_busy
        self._model, self._on_learned = model, on_learned
        self.turns = Turns(vault.state.path(FOLDER))
        self._loop = _Loop("turns", self.work_once)
        self._notes = _Notes(vault, self.turns, lambda: self.current, self.step_aside)
        self.current = ""  # the id of the turn that is worked on
        self.remembered = 0  # turns, since this worker was made
        self._failed: dict[str, tuple[int, float]] = {}  # by item: how often, and when at last

    def start(self) -> None:
        """Work, from now on."""
        self._loop.start()
        self._notes.loop.start()

    def nudge(self) -> None:
        """There is something to do."""
        self._loop.nudge()
        self._notes.loop.nudge()

    def step_aside(self) -> None:
        """Let those go first who wait for an answer now."""
        end = time.monotonic() + YIELD
        while self._is_busy() and time.monotonic() < end and not self._loop.ending.wait(0.05):
            pass

    def stop(self, seconds: float) -> None:
        """Finish the turn that is being worked on, if that takes no longer; else it is left to the next worker."""
        deadline = time.monotonic() + seconds
        for loop in (self._loop, self._notes.loop):
            loop.end()
        for loop in (self._loop, self._notes.loop):
            loop.join(deadline - time.monotonic())

    def work_once(self, *, wait: bool = False) -> int:
        """Learn from all that is waiting; how many turns that were. While there is another worker, be it a process or
        the thread of this one: none, or with `wait` those that are left when it has done its work."""
        if not wait and not self.turns.count():
            return 0
        claim = self.turns.claim(wait=wait)
        if claim is None:
            return 0
        done = 0
        with claim:
            progresses = True
            while progresses and not self._loop.ending.is_set():  # more may come meanwhile
                learned, is_more = self._go_through()
                done += learned
                progresses = learned > 0 or is_more
        return done

    def _go_through(self) -> tuple[int, bool]:
        """Once through the queue: how many turns were learned from, and whether one was tried that can be tried again
        at once, for an answer came meanwhile, or it makes room for the next one."""
        done, is_more = 0, False
        passed: set[str] = set()  # conversations, each of which waits for its first turn
        with _open(self._vault) as vault:  # one for all turns: it holds an embedding model
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
        """Whether it is over and has not just failed."""
        failed = self._failed.get(item.id)
        return not item.is_open and (failed is None or time.monotonic() - failed[1] > REST)

    def _learn(self, vault: Vault, item: Item) -> bool:
        """Learn from one turn; whether that is done."""
        try:
            # Of the service that the turn was sent to: no other one hears of it.
            may_ask = item.meta.get(SERVICE) in (None, "", service_of(self._vault.config))
            model = self._model(item) if may_ask else None
            with spoken():
                limited = within_budget(vault.config, model)
                learned = learn(vault, item, limited, self.turns.add_facts)
            is_done = self.turns.done(item)
        except VaultmemError as error:
            vault.close()
            self._fail(item, str(error), counts=isinstance(error, _HOPELESS))
            return False
        except Exception as error:  # whatever it is, other conversations must not wait for it
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
        except Exception:  # what a listener does with it is not the worker's business
            log.exception("the listener to what was learned has failed")


class _Notes:
    """Writes turns as notes at once, beside the worker: while that waits for a model, later turns and those of
    other conversations wait to be learned from, but are there. Done twice it changes nothing: ids follow from the turn.
    `current` tells the turn that the worker writes."""

    def __init__(
        self, vault: Vault, turns: Turns, current: Callable[[], str], step_aside: Callable[[], None]
    ) -> None:
        self._vault, self._turns, self._current = vault, turns, current
        self._step_aside = step_aside
        self.loop = _Loop("notes", self.write, AFTER)
        self._noted: dict[str, tuple[float | None, list[str]]] = {}  # by turn: its end, its notes
        self._failed: dict[str, float] = {}  # by turn: when it could not be written

    def write(self) -> None:
        """Write all that waits and is not written yet: of a turn that is open, the words of the user."""
        waiting = self._turns.waiting()
        there = {item.id for item in waiting}
        self._noted = {id_: one for id_, one in self._noted.items() if id_ in there}
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
    """The same vault once more, for another thread."""
    result = Vault(vault.path)
    result.config = vault.config
    return result
