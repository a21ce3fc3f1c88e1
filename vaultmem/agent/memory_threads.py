"""Memories and reminders in the agent: an open store whose history is written when it is quiet, and a thread that
notifies of due items on the minute and keeps pending.md up to date."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from datetime import date, datetime, timedelta

from vaultmem import now as clock
from vaultmem.api import Vault
from vaultmem.api.rpc import Reader, carry_out, only_reads
from vaultmem.config import Config
from vaultmem.errors import VaultmemError
from vaultmem.index.state import State
from vaultmem.light import TYPE_CHECKING, TypedDict
from vaultmem.pending.open_store import open_store
from vaultmem.pending.pending import Pending
from vaultmem.pending.pending_page import Refreshed
from vaultmem.schedule import LocalZone
from vaultmem.vault.batch_record import DONE

if TYPE_CHECKING:
    from vaultmem.adapter import JsonObject
    from vaultmem.api.memory_vault import MemoryVault

log = logging.getLogger("vaultmem.memories")

SOON = 0.25  # seconds
QUIET = 1.0  # quiet seconds before the history is written
AT_LATEST = 15.0


class Memories(threading.Thread):
    """Runs the verbs of requests in their threads; its own thread writes the history. `wrote` gets the written paths;
    `is_sure` tells whether every change in the vault is noticed."""

    def __init__(
        self, state: State, config: Config, wrote: Callable[[Iterable[str]], None], is_sure: Callable[[], bool]
    ) -> None:  # fmt: skip
        super().__init__(name="history", daemon=True)
        self.store = open_store(state, config, wrote)
        self.store.later = _soon
        self.remembered: Callable[[], None] = lambda: None  # called after each write
        self._is_sure = is_sure
        self._written = threading.Event()
        self._last = 0.0
        self._stopping = False
        self._trouble: str | None = None

    def ask(self, vault: MemoryVault, verb: str, params: JsonObject) -> object:
        """Carry out a verb."""
        if not self._is_sure():
            self.store.touched_all()
        try:
            return vault.healed(lambda: carry_out(self.store, Reader(vault), verb, params))
        finally:
            if not only_reads(verb):
                self._last = time.monotonic()
                self._written.set()

    def touched(self, path: str) -> None:
        """Record a change at a path of the vault; "" for anywhere."""
        if path:
            self.store.touched(path)
        else:
            self.store.touched_all()

    def stop(self) -> None:
        """Ask the thread to end. Batches not yet in the history stay in the log for the next agent."""
        self._stopping = True
        self._written.set()

    def run(self) -> None:
        """Finish interrupted batches, then write the history whenever writing pauses."""
        try:
            self.store.heal()
        except (VaultmemError, OSError) as error:
            log.error("interrupted writes are not finished yet: %s", error)
        if self.store.count_batches(DONE):  # otherwise git need not be loaded
            self._written.set()
        while True:
            self._written.wait()
            begun = time.monotonic()
            while not self._stopping:
                now = time.monotonic()
                if now - self._last >= QUIET or now - begun >= AT_LATEST:
                    break
                time.sleep(QUIET / 4)
            self._written.clear()
            if self._stopping:
                return
            self._remember()

    def _remember(self) -> None:
        trouble = self.store.history.trouble()
        if trouble and self.store.history.is_on:
            if trouble != self._trouble:
                log.warning("%s", trouble)
            self._trouble = trouble
            return
        try:
            if self.store.remember():
                self.remembered()
        except VaultmemError as error:
            log.error("the history could not be written: %s", error)
        except Exception:  # the border of the thread: a failing history must not stop writes
            log.exception("the history could not be written")


def _soon(work: Callable[[], None]) -> None:
    """Run deferred work shortly, together with anything else deferred until then."""
    timer = threading.Timer(SOON, work)
    timer.daemon = True
    timer.start()


# --- reminders

LONGEST = 20.0  # seconds between looks at the clock: a computer that sleeps stops the other clocks
# Seconds after a change before the page is written; the person may continue.
PAGE_QUIET = 1.0
PAGE_AT_LATEST = 10.0
# Multiples of how long the last work took: while thousands of notes move, it works now and then.
PAUSES = 10
LONGEST_PAUSE = 60.0  # a change may be due within a minute
RETRY = 1.0  # after a failure; doubles with each further one
RETRY_AT_MOST = 60.0
EXCHANGE = 300.0  # seconds between exchanges of reads with other machines when idle
TELL_WITHIN = 2.0  # until the other machines are told what was done here
UNREACHED = 600.0  # until failed work is tried again

Lend = Callable[[], AbstractContextManager[Vault]]


ReminderState = TypedDict("ReminderState", {"next": "str | None", "troubles": list[str]})
"""The state of the reminder thread."""


class Reminders(threading.Thread):
    """Works when something has changed, at midnight, when the clocks change, and when something is due. `is_ready` says
    whether the index knows all of the vault."""

    def __init__(
        self, lend: Lend, pending: Callable[[], Pending], is_ready: Callable[[], bool]
    ) -> None:
        super().__init__(name="reminders", daemon=True)
        zone = LocalZone()
        self.now: Callable[[], datetime] = lambda: datetime.fromtimestamp(clock.seconds(), zone)
        self._lend, self._pending, self._is_ready = lend, pending, is_ready
        self._wake = threading.Condition()
        self._first_change: float | None = 0.0  # not yet handled (monotonic)
        self._last_change = 0.0
        self._took = 0.0  # how long the last work took, in seconds
        self._day: tuple[date, timedelta | None] | None = None  # with the offset from UTC
        self._is_awake = False  # and was reported
        self._exchanged = time.monotonic()  # last exchange with other machines
        self._next: datetime | None = None  # the next reminder
        self._again: datetime | None = None  # when to try again what failed
        self._skipped = False  # an answer could not be carried out, and may be possible now
        self._settling: threading.Thread | None = None
        self._stopping = False
        self._retry = RETRY
        self._problems: list[str] = []

    def changed(self) -> None:
        """Record a change of a note, the page or a memory that this thread did not make."""
        if threading.current_thread() is not self._settling:
            self._note_change()

    def _note_change(self) -> None:
        with self._wake:
            self._last_change = time.monotonic()
            if self._first_change is None:
                self._first_change = self._last_change
                self._wake.notify()

    def tell_soon(self) -> None:
        """Soon tell other machines what was done here, so that they do not take it for a person's edit."""
        if self._pending().record.has_others():
            with self._wake:
                self._exchanged = min(self._exchanged, time.monotonic() - EXCHANGE + TELL_WITHIN)
                self._wake.notify()

    def woke(self) -> None:
        """Start over after the clock jumped."""
        with self._wake:
            self._day, self._is_awake = None, False
            self._wake.notify()

    def stop(self) -> None:
        """Ask the thread to end."""
        with self._wake:
            self._stopping = True
            self._wake.notify()

    def status(self) -> ReminderState:
        """The state of the thread, as data."""
        coming = self._next
        following = coming.astimezone(LocalZone()).isoformat(timespec="minutes") if coming else None
        return {"next": following, "troubles": self._problems}

    def run(self) -> None:
        """Work until stop()."""
        try:
            while self._wait():
                with self._wake:  # what is done from now on may be too late for this exchange
                    self._exchanged = time.monotonic()
                try:
                    if self._pause_until_work() <= 0:
                        began = time.monotonic()
                        self._work()
                        self._took = time.monotonic() - began
                    else:
                        self._pending().exchange(self.now())
                except (VaultmemError, OSError) as error:
                    self._back_off(str(error))
                except Exception as error:  # the border of the thread; it must not end
                    log.exception("pending items could not be worked through")
                    self._back_off(f"{type(error).__name__}: {error}")
        finally:
            with contextlib.suppress(VaultmemError, OSError):  # this machine may stay off for long
                self._pending().exchange(self.now())
            self._pending().close()

    def _back_off(self, problem: str) -> None:
        if [problem] != self._problems:
            log.warning("%s", problem)
        self._problems = [problem]
        self._day = None  # there still is work
        with self._wake:
            self._wake.wait_for(lambda: self._stopping, self._retry)
        self._retry = min(2 * self._retry, RETRY_AT_MOST)

    def _wait(self) -> bool:
        """Wait for work. Returns False to end."""
        with self._wake:
            while not self._stopping:
                pause = self._pause()
                if pause <= 0:
                    return True
                self._wake.wait(pause)
        return False

    def _pause(self) -> float:
        if not self._is_ready():
            return 1.0
        return min(self._pause_until_work(), self._exchanged + EXCHANGE - time.monotonic())

    def _pause_until_work(self) -> float:
        now = self.now()
        if self._day != (now.date(), now.utcoffset()):
            return 0.0
        pauses = [LONGEST]
        pauses += [(at - now).total_seconds() for at in (self._next, self._again) if at is not None]
        if self._first_change is not None:
            at_latest = max(PAGE_AT_LATEST, min(PAUSES * self._took, LONGEST_PAUSE))
            due = min(self._last_change + PAGE_QUIET, self._first_change + at_latest)
            pauses.append(due - time.monotonic())
        return min(pauses)

    def _work(self) -> None:
        with self._wake:
            self._first_change = None
        now, pending = self.now(), self._pending()
        if not self._is_awake:
            pending.wake_up(now)
            self._is_awake = True
        day = now.date(), now.utcoffset()
        if self._skipped or self._day != day:
            pending.unsettled = True
        self._day = day  # now, as it may wake up meanwhile
        with self._lend() as vault:
            try:
                refreshed = pending.refresh(vault.searcher().catalog, now)
            except VaultmemError as error:  # whatever is wrong with the page, notify of what is due
                refreshed = Refreshed(written=False, acks={}, problems=[str(error)])
            planned = pending.notify(vault.searcher().catalog, now)
        for problem in set(refreshed.problems) - set(self._problems):
            log.warning("%s", problem)
        unshown = pending.notifier.problem  # already logged
        self._problems = [*refreshed.problems, *([unshown] if unshown else [])]
        self._next, self._retry = planned.next, RETRY
        if not (self._settling and self._settling.is_alive()):
            # In its own thread: a dream may hold the store for long, and notifications must not wait.
            self._settling = threading.Thread(target=self._settle, name="settling", daemon=True)
            self._settling.start()
        if self._next is not None and self._next <= now:
            self._next = now + timedelta(seconds=LONGEST)
        self._again = now + timedelta(seconds=UNREACHED) if unshown or self._skipped else None

    def _settle(self) -> None:
        """Carry out answers, refresh once more, then list the memories as they are now."""
        try:
            with self._lend() as vault:
                settled = vault.ask("settle") if self._pending().unsettled else None
                vault.ask("pages")
        except (VaultmemError, OSError) as error:
            self._skipped = True
            log.warning("answers are not carried out yet: %s", error)
        except Exception:  # the border of the thread; retried later
            self._skipped = True
            log.exception("answers are not carried out yet")
        else:
            self._skipped = bool(settled and settled["skipped"])
            has_changed = settled and (settled["done"] or settled["reopened"])
            if has_changed or self._pending().unsettled:  # which it may have become meanwhile
                self._note_change()
