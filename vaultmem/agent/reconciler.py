"""The one writer of the agent: keeps the index equal to the vault, from hints and by looking at everything.

Hints of the watcher only say where to look. Now and then, and whenever hints may have been lost, the whole
vault is compared. A vault that lost most of its files at once keeps its index, see vaultmem.compare.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import NamedTuple

from vaultmem import sync
from vaultmem.agent.gate import Gate
from vaultmem.agent.losses import Losses
from vaultmem.agent.patience import place_of, too_early
from vaultmem.agent.stage import Both, Stage
from vaultmem.compare import Diff, Place, check_vanished, lost, moved, without
from vaultmem.config import Config
from vaultmem.core.pace import Pace, Touch
from vaultmem.core.wording import plural
from vaultmem.errors import DamagedError, VaultGoneError, VaultmemError
from vaultmem.indexer import RACY_NS, Indexer, Work
from vaultmem.progress import Progress
from vaultmem.store import memory
from vaultmem.store.catalog import spoken
from vaultmem.store.state import State

log = logging.getLogger("vaultmem.index")

FIRST_BATCH = 500  # notes; small, so that searches see the first of them soon
SETTLE_AFTER = 10.0  # seconds of quiet before what depends on the whole vault is worked out: 0.3 s at 100,000 notes
REST_AFTER = 30.0  # seconds of quiet before the keyword writer gives its memory back
RETRY_AFTER = 10.0
GONE_RETRY = 30.0  # whether a vault that is gone has come back
BACK_WAIT = 1.0
MANY_FRESH = 500  # so many files are looked at again all at once
FRESH_WAIT = RACY_NS / 1e9 + 0.1


class Stopped(BaseException):
    """The agent ends."""


class Order(NamedTuple):
    """A look at the whole vault that somebody waits for."""

    done: Future[sync.Report]
    progress: Progress
    rebuild: bool
    confirmed: bool


class Listeners(NamedTuple):
    """Who hears what the reconciler did."""

    committed: Callable[[Iterable[int]], None]  # these notes are searchable as they are now
    replaced: Callable[[], None]  # another index is in force


class Reconciler(threading.Thread):
    """Owns the index for writing. The caller holds the lock of the state folder."""

    def __init__(self, state: State, config: Config, gate: Gate, listeners: Listeners) -> None:
        super().__init__(name="reconciler", daemon=True)
        self.stage = Stage()
        self.vanished: str | None = None  # why the index is left as it is
        self.last_edit = 0.0  # monotonic
        self._state, self._config = state, config
        self._gate, self._listeners = gate, listeners
        self._indexer: Indexer | None = None
        self._pace = Pace()
        self._losses = Losses()
        self._orders: list[Order] = []
        self._full_due: float | None = time.monotonic()
        self._settle_due: float | None = None
        self._rest_due: float | None = None
        self._wake_at: float | None = None
        self._stopping = False
        self._something = threading.Condition()

    # Called from other threads

    def touched(self, path: str, *, folder: bool = False) -> None:
        """Something happened at a path of the vault, as the disk spells it."""
        now = time.monotonic()
        with self._something:
            due = self._pace.touch(path, now, folder=folder)
            if self._wake_at is None or due < self._wake_at:
                self._something.notify()
        self.last_edit = now

    def look_at_all(self, within: float = 0.0) -> None:
        """Compare the whole vault, soon."""
        with self._something:
            due = time.monotonic() + within
            self._full_due = due if self._full_due is None else min(self._full_due, due)
            self._something.notify()

    def order(
        self, progress: Progress, *, rebuild: bool = False, confirmed: bool = False
    ) -> Future[sync.Report]:
        """Compare the whole vault now, or read all of it anew; the report comes when it is done."""
        order = Order(Future(), progress, rebuild, confirmed)
        with self._something:
            self._orders.append(order)
            self._something.notify()
        return order.done

    def stop(self) -> None:
        """End after the note that is being read; what is half done is rolled back."""
        with self._something:
            self._stopping = True
            self._something.notify()

    def waiting(self) -> int:
        """How many touched paths have not been looked at."""
        return len(self._pace)

    def is_current(self) -> bool:
        """Whether nothing is known to be behind."""
        return not (self._pace or self._orders or self._full_due or self.stage.name)

    # The thread itself

    def run(self) -> None:
        """Work until stop()."""
        try:
            while True:
                self._turn()
        except Stopped:
            pass
        finally:
            self._fail_orders()
            if self._indexer:
                self._indexer.catalog.close()

    def _turn(self) -> None:
        order, touches, full = self._next()
        try:
            if order:
                self._obey(order)
            elif full:
                self._whole(Work(confirmed=False, progress=self.stage))
            elif touches:
                self._look(touches)
            else:
                self._tidy_up()
        except VaultGoneError as error:
            self._hold(str(error))
            self.look_at_all(GONE_RETRY)
        except Stopped:
            raise
        except (VaultmemError, OSError) as error:
            log.error("%s", error)
            self._again()
        except BaseException:  # the border of the thread; a panic of Tantivy is no Exception
            log.exception("indexing failed; the whole vault is compared again")
            self._again()
        finally:
            self.stage.end()

    def _again(self) -> None:
        """After a failure: what was half done is forgotten, and all is looked at again."""
        self._close()
        self.look_at_all(RETRY_AFTER)

    def _next(self) -> tuple[Order | None, list[Touch], bool]:
        """Wait for something to do."""
        with self._something:
            while True:
                if self._stopping:
                    raise Stopped
                if self._orders:
                    return self._orders.pop(0), [], False
                now = time.monotonic()
                if self._full_due is not None and self._full_due <= now:
                    self._full_due = None
                    return None, [], True
                touches = self._pace.take(now)
                self._wake_at = self._earliest()
                if touches or (self._wake_at is not None and self._wake_at <= now):
                    return None, touches, False
                self._something.wait(None if self._wake_at is None else self._wake_at - now)

    def _earliest(self) -> float | None:
        times = (self._full_due, self._pace.due(), self._settle_due, self._rest_due)
        return min((at for at in times if at is not None), default=None)

    def _obey(self, order: Order) -> None:
        if not order.done.set_running_or_notify_cancel():
            return
        work = Work(order.confirmed, Both(self.stage, order.progress))
        try:
            report = self._rebuild(work) if order.rebuild else self._whole(work)
        except BaseException as error:
            order.done.set_exception(
                VaultmemError("the agent is ending; try again")
                if isinstance(error, Stopped)
                else error
            )
            raise
        order.done.set_result(report)

    def _fail_orders(self) -> None:
        with self._something:
            orders, self._orders = self._orders, []
        for order in orders:
            order.done.set_exception(VaultmemError("the agent is ending; try again"))

    def _whole(self, work: Work) -> sync.Report:
        """Compare everything, by the rules of now."""
        started = time.monotonic()
        self.stage.stage("comparing", 0)
        try:
            with spoken():
                indexer = self._opened()
                report = sync.first_or_next(self._state, indexer, work)
        except DamagedError as error:
            log.error("%s; reading all notes anew", error)
            return self._rebuild(work)
        self._looked(started, work)
        report = report._replace(seconds=time.monotonic() - started)
        if report.added or report.changed or report.removed:
            log.info("%s", spelled(report))
        return report

    def _rebuild(self, work: Work) -> sync.Report:
        started = time.monotonic()
        self._close()
        with spoken():
            self._indexer, report = sync.rebuilt(self._state, self._config, work, self._hooked)
        self._indexer.committed = self._listeners.committed
        self._listeners.replaced()
        self._looked(started, work)
        report = report._replace(seconds=time.monotonic() - started)
        log.info("index built anew: %s", spelled(report))
        return report

    def _looked(self, started: float, work: Work) -> None:
        """After a look at everything that went well."""
        if self.vanished:
            log.info("the vault is whole again")
        self.vanished = None
        if work.confirmed:
            self._losses.forget()
        with self._something:
            self._pace.clear(started)
            self._settle_due = None
        self._later()

    def _opened(self) -> Indexer:
        """The index in force, by the rules of now."""
        rules = sync.rules_of(self._state.vault, self._config)
        held = self._indexer
        if held and held.rules.fingerprint == rules.fingerprint and held.is_in_place():
            return held
        self._close()
        before = self._state.generation()
        if before:
            self._state.sweep()
        self._indexer = self._hooked(sync.open_indexer(self._state, self._config))
        self._indexer.committed = self._listeners.committed
        if held or before is None:
            self._listeners.replaced()
        return self._indexer

    def _hooked(self, indexer: Indexer) -> Indexer:
        indexer.batch_notes = FIRST_BATCH
        indexer.breathe = self._breathe
        indexer.check = self._believe
        return indexer

    def _breathe(self) -> None:
        if self._stopping:
            raise Stopped
        self._gate.rest()

    def _close(self) -> None:
        held, self._indexer = self._indexer, None
        try:
            if held:
                held.close()
        except (VaultmemError, OSError):  # a full disk, say; its lock is free all the same
            log.debug("the index could not be closed", exc_info=True)

    def _look(self, touches: list[Touch]) -> None:
        """Look at what was touched."""
        if self._indexer is None or self._indexer.reread or not self._indexer.is_in_place():
            self.look_at_all()
            return
        place = place_of(touches)
        if "" in place.folders:
            self.look_at_all()
            return
        try:
            with spoken():
                self._take_over(self._indexer, place, touches)
            if self.vanished:
                self.look_at_all(BACK_WAIT)  # something happens there: it may be coming back
        except DamagedError as error:
            log.error("%s; reading all notes anew", error)
            self._rebuild(Work(confirmed=False, progress=self.stage))

    def _take_over(self, indexer: Indexer, place: Place, touches: list[Touch]) -> None:
        diff = indexer.differences(place)
        early = self._too_early(diff, touches)
        diff = without(diff, early)
        diff = without(diff, self._held_back(indexer, diff))
        if not (diff.put or diff.touched or diff.gone):
            return
        changed = indexer.apply(diff, Work(confirmed=True, progress=self.stage))
        if changed or diff.gone:
            log.debug("%s, %s gone", plural(changed, "note"), len(diff.gone))
            self._settle_due = time.monotonic() + SETTLE_AFTER
        self._later()

    def _too_early(self, diff: Diff, touches: list[Touch]) -> set[str]:
        """What is looked at again before it is believed."""
        paths, again = too_early(diff, touches, time.monotonic())
        with self._something:
            for touch, due in again.items():
                self._pace.again(touch, due)
        return paths

    def _held_back(self, indexer: Indexer, diff: Diff) -> list[str]:
        """What has gone is kept in the index when too much has gone in a short time."""
        gone = _missing(diff)
        if not gone:
            return []
        if self.vanished:
            return gone
        known = indexer.catalog.db.execute("SELECT count(*) FROM files").fetchone()[0]
        try:
            self._losses.check(self._state.vault, len(gone), known, time.monotonic())
        except VaultGoneError as error:
            self._hold(str(error))
            self.look_at_all(GONE_RETRY)
            return gone
        return []

    def _believe(self, folder: str, diff: Diff) -> None:
        """Refuse, at a look at everything, that too much has gone at once or in a short time."""
        check_vanished(folder, diff)
        if gone := _missing(diff):
            known = len(diff.known) + len(diff.gone)
            self._losses.check(folder, len(gone), known, time.monotonic())

    def _hold(self, why: str) -> None:
        if why != self.vanished:
            log.error("%s", why)
        self.vanished = why

    def _later(self) -> None:
        """What has to be done when it is quiet again."""
        now = time.monotonic()
        self._rest_due = now + REST_AFTER
        fresh = self._indexer.fresh_paths if self._indexer else set()
        if len(fresh) > MANY_FRESH:
            self.look_at_all(FRESH_WAIT)
        else:
            with self._something:
                for path in fresh:
                    self._pace.again(Touch(path, False, now, now, now), now + FRESH_WAIT)
        fresh.clear()

    def _tidy_up(self) -> None:
        now = time.monotonic()
        if self._settle_due is not None and self._settle_due <= now:
            self._settle_due = None
            if self._indexer:  # else the next one is settled when it has looked at everything
                with spoken():
                    self._indexer.settle()
                self._listeners.committed(())
        if self._rest_due is not None and self._rest_due <= now:
            self._rest_due = None
            if self._indexer:
                self._indexer.rest()
            memory.give_back()


def _missing(diff: Diff) -> list[str]:
    """The paths of files that are gone, and neither moved nor renamed."""
    elsewhere = moved(diff)
    return [path for path in lost(diff) if path not in elsewhere]


def spelled(report: sync.Report) -> str:
    """A report for the log."""
    return (
        f"{report.added} added, {report.changed} changed, {report.removed} removed,"
        f" {report.unchanged} unchanged in {report.seconds:.2f} s"
    )
