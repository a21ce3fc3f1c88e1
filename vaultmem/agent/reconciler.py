"""The agent's only writer: keeps the index equal to the vault, from hints and by comparing everything.

Hints from the watcher only say where to look. Now and then, and whenever hints may have been lost, the whole vault is
compared. A vault that lost most of its files at once keeps its index; see vaultmem.index.compare.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Iterable
from concurrent.futures import Future

from vaultmem import machine
from vaultmem.agent import debounce
from vaultmem.agent.debounce import Debounce, Listeners, Order, Stopped, Touch, VanishGuard, Writes
from vaultmem.agent.events import Both, StageProgress, Throttle
from vaultmem.config import Config
from vaultmem.errors import DamagedError, VaultGoneError, VaultmemError
from vaultmem.index import sync
from vaultmem.index.catalog import catalog_errors
from vaultmem.index.compare import Diff, Place, Report, without
from vaultmem.index.indexer import Indexer
from vaultmem.index.state import State
from vaultmem.progress import current_progress, report_to
from vaultmem.text.values import plural
from vaultmem.vault import identity
from vaultmem.vault.files import SETTLED_NS
from vaultmem.vault.walk import identity as folder_identity

log = logging.getLogger("vaultmem.index")

FIRST_BATCH = 500  # notes; small, so that searches see the first ones soon
SETTLE_AFTER = 10.0  # quiet seconds before whole-vault work: 0.3 s at 100,000 notes
REST_AFTER = 30.0  # quiet seconds before the keyword writer frees its memory
RETRY_AFTER = 10.0
GONE_RETRY = 30.0  # until checking whether a missing vault is back
MANY_FRESH = 500  # with more new files than this, everything is looked at again
LOOK = 0.02  # seconds between checks while waiting for the rest
FRESH_WAIT = SETTLED_NS / 1e9 + 0.1


class Reconciler(threading.Thread):
    """Owns the index for writing. The caller holds the lock of the state folder."""

    def __init__(
        self, state: State, config: Config, throttle: Throttle, listeners: Listeners
    ) -> None:
        super().__init__(name="reconciler", daemon=True)
        self.stage = StageProgress()
        self.last_edit = 0.0  # monotonic
        self.has_looked = False  # compare everything once
        self.writes = Writes(self._wake, state)
        self._state, self._config = state, config
        self._throttle, self._listeners = throttle, listeners
        self._indexer: Indexer | None = None
        self._debounce = Debounce()
        self._guard = VanishGuard(state.vault)
        self._orders: list[Order] = []
        self._full_due: float | None = time.monotonic()
        self._only_sure = False  # nothing is known to be behind
        self._behind = False  # the current work may show that something is behind
        self._settle_due: float | None = None
        self._rest_due: float | None = None
        self._wake_at: float | None = None
        self._stopping = False
        self._something = threading.Condition()

    # Called from other threads

    def touched(self, path: str, *, folder: bool = False) -> None:
        """Record a change at a path of the vault, spelled as on disk."""
        self._listeners.touched(path)
        now = time.monotonic()
        with self._something:
            due = self._debounce.touch(path, now, folder=folder)
            if self._wake_at is None or due < self._wake_at:
                self._something.notify()
        self.last_edit = now

    def wrote(self, paths: Iterable[str]) -> None:
        """Record paths that we wrote or moved away."""
        written = list(paths)
        folder = self._state.vault
        self._guard.expect(path for path in written if not os.path.lexists(f"{folder}/{path}"))
        for path in written:
            self._listeners.touched(path)
        self.writes.add(written)

    @property
    def vanished(self) -> str | None:
        """Why notes missing from the vault stay in the index, or None."""
        return self._guard.vanished

    def look_at_all(self, within: float = 0.0, *, only_sure: bool = False) -> None:
        """Compare the whole vault soon; `only_sure` if nothing is known to be behind."""
        self._listeners.touched("")
        with self._something:
            due = time.monotonic() + within
            self._only_sure = only_sure and (self._only_sure or self._full_due is None)
            self._full_due = due if self._full_due is None else min(self._full_due, due)
            self._something.notify()

    def order(self, *, rebuild: bool, confirmed: bool) -> Future[Report]:
        """Compare the whole vault now, or read all of it again; returns the report when it is done."""
        order = Order(Future(), current_progress(), rebuild, confirmed)
        with self._something:
            self._orders.append(order)
            self._something.notify()
        return order.done

    def _wake(self) -> None:
        with self._something:
            self._something.notify()

    def stop(self) -> None:
        """Ask the thread to end after the current note; unfinished work is rolled back."""
        with self._something:
            self._stopping = True
            self._something.notify()

    def waiting(self) -> int:
        """How many touched paths have not been compared or believed yet."""
        with self._something:
            return self._debounce.behind()

    def is_current(self) -> bool:
        """Whether the index is up to date as far as is known."""
        with self._something:
            full = self._full_due is not None and not self._only_sure
            waiting = self._orders or self._debounce.behind() or self.writes.is_behind()
            return not (full or self._behind or waiting)

    def wait_until_current(self, within: float) -> None:
        """Wait until nothing is known to be behind, at most this long."""
        deadline = time.monotonic() + within
        while not self.is_current() and time.monotonic() < deadline:
            time.sleep(LOOK)

    # The thread itself

    def run(self) -> None:
        """Work until stop()."""
        try:
            while True:
                self._turn()
        except Stopped:
            pass
        finally:
            with self._something:
                while self._orders:
                    self._orders.pop().refuse()
            if self._indexer:
                self._indexer.catalog.close()

    def _turn(self) -> None:
        order, touches, full = self._next()
        try:
            with report_to(Both(self.stage, order.progress) if order else self.stage):
                if order:
                    work = self._rebuild if order.rebuild else self._whole
                    order.obey(lambda: work(confirmed=order.confirmed))
                elif full:
                    self._whole(confirmed=False)
                elif touches:
                    self._look(touches)
                else:
                    self._tidy_up()
        except VaultGoneError as error:
            self._guard.hold(str(error))
            self.look_at_all(GONE_RETRY)
            self._later()
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
            self._behind = False
            self.writes.done()

    def _again(self) -> None:
        """After a failure, drop unfinished work and compare everything again."""
        self._close()
        self.look_at_all(RETRY_AFTER)

    def _next(self) -> tuple[Order | None, list[Touch], bool]:
        """Wait for something to do."""
        with self._something:
            while True:
                if self._stopping:
                    raise Stopped
                now, self._behind = time.monotonic(), True
                if (due := self.writes.due()) is not None and due <= now:
                    return None, self.writes.take(), False
                if self._orders:
                    return self._orders.pop(0), [], False
                if self._full_due is not None and self._full_due <= now:
                    self._full_due, self._behind = None, not self._only_sure
                    return None, [], True
                touches = self._debounce.take(now)
                self._behind = not all(touch.known for touch in touches)
                touched = self._debounce.due(), self.writes.due()
                dues = (self._full_due, *touched, self._settle_due, self._rest_due)
                self._wake_at = min((due for due in dues if due is not None), default=None)
                if touches or (self._wake_at is not None and self._wake_at <= now):
                    return None, touches, False
                self._something.wait(None if self._wake_at is None else self._wake_at - now)

    def _whole(self, *, confirmed: bool) -> Report:
        """Compare everything, by the current rules."""
        started, looked_at = time.monotonic(), folder_identity(self._state.vault)
        self.stage.stage("comparing", 0)
        try:
            with catalog_errors():
                indexer = self._opened()
                report = sync.first_or_next(self._state, indexer, confirmed=confirmed)
        except DamagedError as error:
            log.error("%s; reading all notes again", error)
            return self._rebuild(confirmed=confirmed)
        self._after_look(started, looked_at, confirmed=confirmed)
        report = report._replace(seconds=time.monotonic() - started)
        if report.added or report.changed or report.removed:
            log.info("%s", sync.describe_report(report))
        return report

    def _rebuild(self, *, confirmed: bool) -> Report:
        started, looked_at = time.monotonic(), folder_identity(self._state.vault)
        self._close()
        with catalog_errors():
            indexer, report = sync.rebuilt(
                self._state, self._config, self._hook, confirmed=confirmed
            )
        self._indexer = self._share_with_readers(indexer)
        self._listeners.replaced()
        self._after_look(started, looked_at, confirmed=confirmed)
        report = report._replace(seconds=time.monotonic() - started)
        log.info("index rebuilt: %s", sync.describe_report(report))
        return report

    def _after_look(
        self, started: float, looked_at: tuple[int, int] | None, *, confirmed: bool
    ) -> None:
        """Record a successful comparison of everything."""
        self.has_looked, was_vanished = True, self.vanished is not None
        self._guard.end(time.monotonic(), confirmed=confirmed)
        if was_vanished:  # even if no note has changed, what is pending has
            self._listeners.committed(())
        identity.remember(self._state.vault, self._config.text("memory_folder"), looked_at)
        with self._something:
            self._debounce.clear(started)
            self._settle_due = None
        self._later()

    def _opened(self) -> Indexer:
        """The index in force, opened with the current rules."""
        rules = sync.rules_of(self._state.vault, self._config)
        held = self._indexer
        before = self._state.generation()
        if (
            held
            and held.is_in_place()
            and held.generation == before
            and held.rules.fingerprint == rules.fingerprint
        ):
            return held
        self._close()
        if before:
            self._state.sweep()
        indexer = self._hook(sync.open_indexer(self._state, self._config))
        self._indexer = self._share_with_readers(indexer)
        if held or before is None:
            self._listeners.replaced()
        return self._indexer

    def _hook(self, indexer: Indexer) -> Indexer:
        indexer.breathe = self._breathe
        indexer.check = lambda _folder, diff: self._guard.check(diff, time.monotonic())
        indexer.reads_on = True
        return indexer

    def _share_with_readers(self, indexer: Indexer) -> Indexer:
        """Let searches see the index while it is written."""
        indexer.batch_notes = FIRST_BATCH
        indexer.committed = self._listeners.committed
        return indexer

    def _breathe(self) -> None:
        if self._stopping:
            raise Stopped
        if not self.writes.is_awaited():
            self._throttle.rest()

    def _close(self) -> None:
        """Close the index. For error handlers: raises nothing."""
        held, self._indexer = self._indexer, None
        try:
            if held:
                held.close()
        except BaseException:  # a full disk, or a panic of Tantivy; its lock is free anyway
            log.debug("the index could not be closed", exc_info=True)

    def _look(self, touches: list[Touch]) -> None:
        """Compare the touched paths."""
        place = debounce.place_of(touches)
        indexer = self._indexer
        if indexer is None or indexer.reread or not indexer.is_in_place() or "" in place.folders:
            self._whole(confirmed=False)
            return
        if self._state.generation() != indexer.generation:
            self.look_at_all()  # the full comparison covers them
        try:
            with catalog_errors():
                self._take_over(indexer, place, touches)
        except DamagedError as error:
            log.error("%s; reading all notes again", error)
            self._rebuild(confirmed=False)

    def _take_over(self, indexer: Indexer, place: Place, touches: list[Touch]) -> None:
        diff = indexer.differences(place)
        self._guard.check_root()
        diff = without(diff, self._too_early(diff, touches))
        diff = without(diff, self._keep_suspicious(indexer, diff))
        if not (diff.put or diff.touched or diff.gone):
            return
        going = len(self._guard.missing(diff))
        changed = indexer.apply(diff)
        now = time.monotonic()
        self._guard.count(going, now, diff)
        if changed or diff.gone:
            log.debug("%s, %s gone", plural(changed, "note"), len(diff.gone))
        if not indexer.copies.is_settled():
            self._settle_due = now + SETTLE_AFTER
        self._later()

    def _too_early(self, diff: Diff, touches: list[Touch]) -> set[str]:
        """Queue paths that must be checked again before they are believed."""
        paths, again = debounce.too_early(diff, touches, time.monotonic())
        with self._something:
            for touch, due in again.items():
                self._debounce.again(touch, due)
        return paths

    def _keep_suspicious(self, indexer: Indexer, diff: Diff) -> list[str]:
        """Keep deleted notes in the index when too many were deleted in a short time."""
        if not diff.gone:
            return []
        total = indexer.catalog.db.execute("SELECT count(*) FROM files").fetchone()[0]
        disbelieved = self._guard.not_believed(diff, total, time.monotonic())
        if disbelieved:
            self.look_at_all(GONE_RETRY)
        return disbelieved

    def _later(self) -> None:
        """Do work that waits until the vault is quiet."""
        now = time.monotonic()
        self._rest_due = now + REST_AFTER
        fresh = self._indexer.fresh_paths if self._indexer else set()
        if len(fresh) > MANY_FRESH:
            self.look_at_all(FRESH_WAIT, only_sure=True)
        else:
            with self._something:
                for path in fresh:
                    touch = Touch(path, False, now, now, now)
                    self._debounce.again(touch, now + FRESH_WAIT, known=True)
        fresh.clear()

    def _tidy_up(self) -> None:
        now = time.monotonic()
        if self._settle_due is not None and self._settle_due <= now:
            self._settle_due = None
            if self._indexer:  # otherwise the next full comparison settles it
                with catalog_errors():
                    self._indexer.settle()
        if self._rest_due is not None and self._rest_due <= now:
            self._rest_due = None
            if self._indexer:
                sync.tidy_keyword(self._indexer, self.writes.is_behind)
                self._indexer.rest()
            machine.release_memory()
