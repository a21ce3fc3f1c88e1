"""The runs of jobs: what the ledger knows of them, and what could not be written into it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable

from vaultmem import now as clock
from vaultmem.errors import StateError, VaultmemError
from vaultmem.store.ledger import Ledger, Run

LOG = logging.getLogger("vaultmem.jobs")
LOG.addHandler(logging.NullHandler())  # silent unless somebody listens
MAX_RESULT = 500  # characters of a result worth keeping


class Runs:
    """The last run of each job, for one process at a time. Goes on without the ledger when the disk is
    full: a job that was run is never due again because its run could not be written down."""

    def __init__(self, ledger: Ledger, now: Callable[[], float] = clock.seconds) -> None:
        self._ledger = ledger
        self._now = now
        self._known: dict[str, Run] = {}
        self._lock = threading.Lock()

    def remember(self, names: Iterable[str]) -> None:
        """Take over what the ledger knows, and tell it of jobs that it does not."""
        listed, now = list(names), self._now()
        try:
            self._ledger.see(listed, now)
        except StateError as error:
            LOG.warning("the runs of jobs cannot be written down: %s", error)
        try:
            written = self._ledger.runs()
        except StateError:
            written = {}
        with self._lock:
            for name in listed:
                new = Run(name, now)
                both = (self._known.get(name, new), written.get(name, new))
                latest = max(both, key=lambda run: (run.last_run or 0.0, -run.seen))
                self._known[name] = latest.at_most(now)

    def runs(self) -> dict[str, Run]:
        """The last runs by the names of the jobs."""
        with self._lock:
            return dict(self._known)

    def of(self, name: str) -> Run:
        """The last run of a job."""
        with self._lock:
            return self._known.setdefault(name, Run(name, self._now()))

    def waiting(self, name: str) -> float:
        """For how many seconds a job has been waiting; it begins to wait when this is asked first."""
        now, known = self._now(), self.of(name)
        if known.waiting is not None:
            return now - known.waiting
        with self._lock:
            self._known[name] = known._replace(waiting=now)
        try:
            self._ledger.wait(name, now)
        except StateError as error:
            LOG.warning("that %s waits cannot be written down: %s", name, error)
        return 0.0

    def carry_out(self, name: str, work: Callable[[], str]) -> Run:
        """Run a job, and write down that it starts, before it does, and how it ended."""
        started, before, ticks = self._now(), self.of(name), time.monotonic()
        try:
            self._ledger.begin(name, started)
        except (
            StateError
        ) as error:  # not begun; it has had its turn all the same, or came again at once
            ok, result = False, str(error)
        else:
            ok, result = _outcome(name, work)
        took = time.monotonic() - ticks
        last_ok = started if ok else before.last_ok
        run = Run(name, before.seen, None, started, ok, _plain(result), took, last_ok)
        try:
            self._ledger.end(run)
        except StateError as error:
            LOG.warning("how %s ended cannot be written down: %s", name, error)
        LOG.info("%s: %s", name, run.result)
        with self._lock:
            self._known[name] = run
        return run


def _outcome(name: str, work: Callable[[], str]) -> tuple[bool, str]:
    try:
        return True, work()
    except VaultmemError as error:
        return False, str(error)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        LOG.error("the job %s failed", name, exc_info=True)
        return False, f"{type(error).__name__} {error}".strip()


def _plain(result: str) -> str:
    """One line that every database takes, whatever names of files are in it."""
    return " ".join(result.split())[:MAX_RESULT].encode("utf-8", "replace").decode()
