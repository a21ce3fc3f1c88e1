"""The reminders of the agent: one thread that tells what is due on the minute, and keeps the page of pending items."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import date, datetime, timedelta

from vaultmem import now as clock
from vaultmem.api import Vault
from vaultmem.errors import VaultmemError
from vaultmem.reminders.telling import LocalZone
from vaultmem.reminders.waiting import Looked, Waiting

log = logging.getLogger("vaultmem.reminders")

LONGEST = 20.0  # seconds between looks at the clock: a computer that sleeps stops the other clocks
QUIET = 1.0  # seconds after a change in the vault before the page is written; a person may go on
AT_LATEST = 10.0
RETRY = 1.0  # after a failure; after another one twice as long
RETRY_AT_MOST = 60.0
UNREACHED = 600.0

Lend = Callable[[], AbstractContextManager[Vault]]


class Reminders(threading.Thread):
    """Looks when something has changed, at midnight, and when something is due. `vanished` says why the vault
    cannot be believed, `is_ready` whether the index knows all of it."""

    def __init__(
        self,
        lend: Lend,
        waiting: Callable[[], Waiting],
        vanished: Callable[[], str | None],
        is_ready: Callable[[], bool],
    ) -> None:
        super().__init__(name="reminders", daemon=True)
        self.now: Callable[[], datetime] = lambda: datetime.fromtimestamp(
            clock.seconds(), LocalZone()
        )
        self._lend, self._waiting = lend, waiting
        self._vanished, self._is_ready = vanished, is_ready
        self._something = threading.Condition()
        self._first: float | None = (
            0.0  # when the first of the changes was that are not looked at yet (monotonic)
        )
        self._last = 0.0
        self._day: date | None = None
        self._next: datetime | None = None
        self._skipped = (
            False  # what an answer asks for could not be done, and may be possible by now
        )
        self._settling: threading.Thread | None = None
        self._stopping = False
        self._retry = RETRY
        self._troubles: list[str] = []

    def changed(self) -> None:
        """Something is other than it was: a note, the page, a memory."""
        with self._something:
            self._last = time.monotonic()
            if self._first is None:
                self._first = self._last
                self._something.notify()

    def woke(self) -> None:
        """The clock has jumped."""
        with self._something:
            self._day = None
            self._something.notify()

    def stop(self) -> None:
        """End, soon."""
        with self._something:
            self._stopping = True
            self._something.notify()

    def told(self) -> dict[str, object]:
        """How reminding goes, as data."""
        coming = self._next
        following = coming.astimezone(LocalZone()) if coming else None
        return {
            "next": following.isoformat(timespec="minutes") if following else None,
            "troubles": self._troubles,
        }

    def run(self) -> None:
        """Work until stop()."""
        try:
            self._work()
        finally:
            self._waiting().close()

    def _work(self) -> None:
        while self._wait():
            try:
                self._look()
            except (VaultmemError, OSError) as error:
                self._failed(str(error))
            except Exception as error:  # the border of the thread; pending items must not end it
                log.exception("pending items could not be looked at")
                self._failed(f"{type(error).__name__}: {error}")

    def _failed(self, said: str) -> None:
        if [said] != self._troubles:
            log.warning("%s", said)
        self._troubles = [said]
        self._day = None  # what was to be looked at still is
        with self._something:
            self._something.wait_for(lambda: self._stopping, self._retry)
        self._retry = min(2 * self._retry, RETRY_AT_MOST)

    def _wait(self) -> bool:
        """Until there is something to do; False when it is time to end."""
        with self._something:
            while not self._stopping:
                pause = self._pause()
                if pause <= 0:
                    return True
                self._something.wait(pause)
        return False

    def _pause(self) -> float:
        if not self._is_ready():
            return 1.0
        now = self.now()
        if self._day != now.date():
            return 0.0
        pauses = [LONGEST]
        if self._next is not None:
            pauses.append((self._next - now).total_seconds())
        if self._first is not None:
            due = min(self._last + QUIET, self._first + AT_LATEST)
            pauses.append(due - time.monotonic())
        return min(pauses)

    def _look(self) -> None:
        with self._something:
            self._first = None
        now = self.now()
        vanished = self._vanished() or ""
        waiting = self._waiting()
        if self._skipped or self._day != now.date():
            waiting.unsettled = True
        with self._lend() as vault:
            try:
                looked = waiting.refresh(vault.searcher().catalog, now, vanished)
            except VaultmemError as error:  # what is due is told, whatever is wrong with the page
                looked = Looked(written=False, answered=0, troubles=[str(error)])
            planned = waiting.tell(vault.searcher().catalog, now, vanished)
        for trouble in set(looked.troubles) - set(self._troubles):
            log.warning("%s", trouble)
        unshown = waiting.teller.trouble  # the teller has said it in the log
        self._troubles = [*looked.troubles, *([unshown] if unshown else [])]
        self._day, self._next, self._retry = now.date(), planned.next, RETRY
        if waiting.unsettled and not (self._settling and self._settling.is_alive()):
            # In a thread of its own: at the desk there may be a dream, and what is due does not wait for it.
            self._settling = threading.Thread(target=self._settle, name="settling", daemon=True)
            self._settling.start()
        if planned.next is not None and planned.next <= now:
            self._next = now + timedelta(seconds=LONGEST)
        if (
            waiting.teller.trouble or self._skipped
        ):  # what could not be done now may be possible later
            again = now + timedelta(seconds=UNREACHED)
            self._next = again if self._next is None else min(self._next, again)

    def _settle(self) -> None:
        """Carry out what was answered, and look again: the page may have other things to say then."""
        try:
            with self._lend() as vault:
                settled = vault.ask("settle")
        except (VaultmemError, OSError) as error:
            self._skipped = True
            log.warning("what was answered is not carried out yet: %s", error)
        except Exception:  # the border of the thread; it is tried again
            self._skipped = True
            log.exception("what was answered is not carried out yet")
        else:
            self._skipped = bool(settled["skipped"])
            if settled["done"] or settled["reopened"] or self._waiting().unsettled:
                self.changed()
