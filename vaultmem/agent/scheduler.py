"""Runs jobs on schedule, one at a time (owner of APScheduler).

APScheduler holds the plan and wakes up for it; a run missed while the computer was asleep or off runs once. Its job
store is filled from the ledger, which records each run before it starts, so that no crash makes a job run forever.
"""

from __future__ import annotations

import logging
import queue
import random
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from datetime import UTC, datetime, timedelta, tzinfo

from apscheduler.executors.base import BaseExecutor, MaxInstancesReachedError, run_job
from apscheduler.triggers.interval import IntervalTrigger

from vaultmem import now
from vaultmem.errors import StateError
from vaultmem.ledger.ledger import Ledger, Run, Runs
from vaultmem.light import TYPE_CHECKING, NamedTuple
from vaultmem.schedule import next_time

if TYPE_CHECKING:
    from apscheduler.job import Job
    from apscheduler.schedulers.background import BackgroundScheduler

LOG = logging.getLogger("vaultmem.agent.jobs")
LOG.addHandler(logging.NullHandler())  # silent unless a handler is set
WAIT_AT_MOST = 86_400.0  # seconds that a job yields before it runs anyway
# A larger difference between the clocks, in seconds, means sleep or a changed time.
JUMP = 60.0


class Timing(NamedTuple):
    """Clocks and tolerances of the scheduler; tests have their own."""

    now: Callable[[], float] = now.seconds
    monotonic: Callable[[], float] = time.monotonic
    timezone: tzinfo | None = None  # None: the system's, also after it changed
    jitter: float = 20.0  # runs start up to this many seconds late, so that not all start at once
    retry: float = 180.0  # seconds until a waiting job checks again
    heartbeat: float = 30.0  # APScheduler does not notice sleep


class Status(NamedTuple):
    """When a job runs next, what it waits for, and whether it is running."""

    next_run: float | None
    waiting_for: str | None
    running: bool


class _OneAtATime(BaseExecutor):  # type: ignore[misc] # APScheduler has no types
    """Runs jobs in one daemon thread, which unlike a pool's does not keep the process alive; calls `ended` with a job's
    name once APScheduler would run it again."""

    def __init__(self, ended: Callable[[str], None]) -> None:
        super().__init__()
        self._ended = ended

    def start(self, scheduler: BackgroundScheduler, alias: str) -> None:
        """Called when the scheduler starts."""
        super().start(scheduler, alias)
        self._queue: queue.SimpleQueue[tuple[Job, list[datetime]] | None] = queue.SimpleQueue()
        threading.Thread(target=self._work, name="jobs", daemon=True).start()

    def shutdown(self, wait: bool = True) -> None:  # noqa: ARG002 - APScheduler's signature
        """Start no more."""
        self._queue.put(None)

    def _do_submit_job(self, job: Job, run_times: list[datetime]) -> None:
        self._queue.put((job, run_times))

    def _work(self) -> None:
        while (turn := self._queue.get()) is not None:
            events = run_job(turn[0], "default", turn[1], self._logger.name)
            self._run_job_success(turn[0].id, events)
            self._ended(turn[0].id)


class Scheduler:
    """Runs jobs by their schedules ("5m", "0 3 * * *", "off") between start() and stop(), by calling `run` with their
    names.

    `run` returns a one-line result. `reason` says why a job must wait now, if so. `on_wake` is called after the
    computer has slept. Any thread may call any method.
    """

    on_wake: Callable[[], None] | None = None

    def __init__(
        self, schedules: Mapping[str, str], run: Callable[[str], str], ledger: Ledger,
        reason: Callable[[str], str | None], timing: Timing | None = None,
    ) -> None:  # fmt: skip
        from apscheduler.schedulers.background import BackgroundScheduler  # a listing does without

        self._schedules = schedules
        self._run, self._why_wait = run, reason
        self._timing = timing or Timing()
        self._runs = Runs(ledger, self._timing.now)
        self._lock = threading.Lock()
        self._due: dict[str, float | None] = {}
        self._waiting: dict[str, str] = {}
        self._requested: dict[str, Future[Run]] = {}  # by a person
        self._running: str | None = None
        self._reply: tuple[Future[Run], Run] | None = None  # to the one who requested the turn
        self._stopped = threading.Event()
        self._executor = _OneAtATime(self._end_turn)
        self._scheduler = BackgroundScheduler(
            executors={"default": self._executor},
            timezone=UTC,
            job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1},
        )
        self._last = (self._timing.now(), self._timing.monotonic())

    def start(self) -> None:
        """Plan all jobs; missed ones run soon, and once."""
        logging.getLogger("apscheduler").setLevel(logging.ERROR)
        self._runs.remember(self._schedules)
        weekly = IntervalTrigger(weeks=1)  # keeps a job until _end_turn() plans it again
        for name in self._schedules:
            coming = self._schedule_at(name)
            self._scheduler.add_job(self._turn, weekly, [name], id=name, next_run_time=coming)
        self._scheduler.start()
        threading.Thread(target=self._beat, name="jobs heartbeat", daemon=True).start()

    def stop(self) -> None:
        """Start no more jobs. A running one continues until it or the process ends."""
        if self._stopped.is_set():
            return
        self._stopped.set()
        if self._scheduler.running:
            self._scheduler.shutdown(wait=False)
        with self._lock:
            for name, future in self._requested.items():
                gone = StateError(f"the agent was stopped before the job {name} ended")
                future.set_exception(gone)
            self._requested.clear()

    def status(self, name: str) -> Status:
        """The status of a job."""
        with self._lock:
            return Status(self._due.get(name), self._waiting.get(name), self._running == name)

    def runs(self) -> dict[str, Run]:
        """The last runs, including those that could not be recorded in the ledger."""
        return self._runs.runs()

    def run_now(self, name: str) -> Run:
        """Run a job now and wait for it. Raises StateError if it is already running, or is stopped."""
        future: Future[Run] = Future()
        with self._lock:
            if self._stopped.is_set():
                raise StateError(f"the agent was stopped; the job {name} was not run")
            try:
                self._executor.submit_job(self._scheduler.get_job(name), [datetime.now(UTC)])
            except MaxInstancesReachedError as error:
                what = f"the job {name} is already running"
                raise StateError(f"{what}; wait for it to end") from error
            self._requested[name] = future
        return future.result()

    def beat(self) -> None:
        """Compare wall time with a monotonic clock; plan again after a jump."""
        wall, steady = self._timing.now(), self._timing.monotonic()
        jump = (wall - self._last[0]) - (steady - self._last[1])
        self._last = (wall, steady)
        if abs(jump) <= JUMP:
            return
        LOG.info("the clock went %s by %.0f s", "forward" if jump > 0 else "back", abs(jump))
        if hasattr(time, "tzset"):
            time.tzset()  # the time zone may have changed during sleep
        self._runs.remember(self._schedules)
        for name in self._schedules:
            self._plan(name)
        if jump > 0 and self.on_wake:
            self.on_wake()

    def _beat(self) -> None:
        while not self._stopped.wait(self._timing.heartbeat):
            try:
                self.beat()
            except Exception:
                LOG.exception("the clock stumbled")

    def _plan(self, name: str, due: float | None = None) -> None:
        """Have a job run at `due`, or at the next time of its schedule."""
        if not self._stopped.is_set():
            self._scheduler.modify_job(name, next_run_time=self._schedule_at(name, due))

    def _schedule_at(self, name: str, due: float | None = None) -> datetime | None:
        """The same moment on APScheduler's clock, the system's; None: never."""
        now, start = self._timing.now(), self._runs.of(name).counted_from
        if due is None:
            due = next_time(self._schedules[name], start, now, self._timing.timezone)
            if due is not None:  # a frequent job is delayed less
                late = max(0.0, min(self._timing.jitter, (due - start) / 10))
                due += random.uniform(0.0, late)  # noqa: S311 - no secret
        with self._lock:
            self._due[name] = due
        return None if due is None else datetime.now(UTC) + timedelta(seconds=due - now)

    def _turn(self, name: str) -> None:
        """Take a job's turn: it yields, or runs."""
        with self._lock:
            is_requested = name in self._requested
        if self._stopped.is_set():
            return
        if not is_requested and (reason := self._reason(name)):
            with self._lock:
                self._waiting[name] = reason
            return
        with self._lock:
            self._running = name
            self._waiting.pop(name, None)
        run = self._runs.carry_out(name, lambda: self._run(name))
        with self._lock:
            if future := self._requested.pop(name, None):
                self._reply = future, run

    def _end_turn(self, name: str) -> None:
        """Plan a job again. Were it planned within its turn, one that is due at once would be dropped as running."""
        is_waiting = name in self._waiting
        self._plan(name, self._timing.now() + self._timing.retry if is_waiting else None)
        with self._lock:
            reply, self._reply, self._running = self._reply, None, None
        if reply:
            reply[0].set_result(reply[1])

    def _reason(self, name: str) -> str | None:
        """Why a job must wait; no reason holds for longer than a day."""
        try:
            reason = self._why_wait(name)
        except Exception:
            LOG.exception("cannot determine what %s waits for", name)
            return None
        if reason is None:
            return None
        return None if self._runs.waiting(name) >= WAIT_AT_MOST else reason
