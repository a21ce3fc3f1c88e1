"""Runs jobs when their time has come, one at a time (owner of APScheduler).

APScheduler knows the times and wakes up for them. What it does not know is here: runs that were missed
while the computer slept or was off are made up for once; jobs step aside for a person; and what was run is
in the ledger before it starts, so that no crash makes a job run for ever.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import queue
import random
import threading
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, NamedTuple

from apscheduler.jobstores.base import JobLookupError

from vaultmem import now
from vaultmem.errors import StateError
from vaultmem.memories.ledger import LOG, Ledger, Run, Runs
from vaultmem.text import times as schedules
from vaultmem.text.times import Conditions, Cron, Planned, reason_to_wait

if TYPE_CHECKING:
    from apscheduler.schedulers.background import BackgroundScheduler

WAIT_AT_MOST = 86_400.0  # seconds that a job steps aside before it runs all the same
JUMP = (
    60.0  # seconds by which the clocks may differ before it means sleep, or that the time was set
)
# Does no more than to put a turn into our queue. A pool would have threads that a process waits for at its end.
_EXECUTOR = "apscheduler.executors.debug:DebugExecutor"
_WEEKDAYS = "sun mon tue wed thu fri sat".split()  # APScheduler's own numbers begin with Monday


class Timing(NamedTuple):
    """The clocks, and how patient the clock is; tests have their own."""

    now: Callable[[], float] = now.seconds
    monotonic: Callable[[], float] = time.monotonic
    timezone: tzinfo | None = None  # None: that of the system, also after it changed
    jitter: float = 20.0  # a run comes up to so many seconds late, so that not all start at once
    retry: float = 180.0  # after so many seconds a job that waits looks again
    heartbeat: float = 30.0  # APScheduler does not notice that the computer slept


class Moment(NamedTuple):
    """How a job stands: when it runs next, what it waits for, whether it runs now."""

    next_run: float | None
    waiting_for: str | None
    running: bool


def next_time(
    schedule: str, counted_from: float | None, now: float, timezone: tzinfo | None = None
) -> float | None:
    """When a job runs next: the first time after its last run, or now if that has passed, however often.

    A job that never ran counts from now. So does one whose last run lies in the future. None for "off".
    """
    wanted = schedules.read(schedule)
    if wanted is None:
        return None
    start = now if counted_from is None else min(counted_from, now)
    if isinstance(wanted, Cron):
        due = _next_by_cron(wanted, start, timezone)
        return None if due is None else max(due, now)
    return max(start + wanted, now)


def _next_by_cron(cron: Cron, start: float, timezone: tzinfo | None) -> float | None:
    """The first time after `start` that fits, in seconds since the epoch.

    APScheduler reckons with what a clock on the wall shows, as if it never were set; only the result
    is turned into a moment. So a time that the clock passes over in spring comes as soon as it can,
    and one that it shows twice in autumn is the first. Where the hour is open, both hours count.
    """
    wall = _shown(start, timezone)
    fitting = _next_shown(cron, wall)
    while fitting is not None:
        due = _moment(fitting, timezone)
        if cron.hourly:
            return _in_both_hours(cron, start, due, timezone)
        if due > start:
            return due
        fitting = _next_shown(
            cron, fitting
        )  # its first showing is over, and the second does not count
    return None


def _in_both_hours(cron: Cron, start: float, due: float, timezone: tzinfo | None) -> float:
    """The first moment that fits when the clock is set back between `start` and `due`, or just was."""
    wall = _shown(start, timezone)
    fitting = _next_shown(cron, wall)
    if fitting is not None and due <= start:
        return start + (fitting - wall).total_seconds()
    span = _shown(due, timezone) - wall
    set_back = max(0.0, due - start - span.total_seconds())
    wall -= timedelta(seconds=set_back)
    fitting = _next_shown(cron, wall)
    sooner = due if fitting is None else start + (fitting - wall).total_seconds()
    return sooner if set_back and _shown(sooner, timezone) == fitting else due


def _shown(moment: float, timezone: tzinfo | None) -> datetime:
    """What a clock on the wall shows, as a time without a time zone (called UTC here)."""
    return datetime.fromtimestamp(moment, timezone).replace(tzinfo=UTC, fold=0)


def _moment(shown: datetime, timezone: tzinfo | None) -> float:
    return shown.replace(tzinfo=timezone, fold=0).timestamp()


def _next_shown(cron: Cron, after: datetime) -> datetime | None:
    """The next time that fits, strictly after another; both as _shown() has them."""
    from apscheduler.triggers.cron import CronTrigger  # brings asyncio along

    start = after.replace(microsecond=0) + timedelta(seconds=1)
    days: dict[str, str] = {"day": _listed(cron.day)}
    weekdays: dict[str, str] = {"day_of_week": ",".join(_WEEKDAYS[n] for n in cron.weekday)}
    found = []
    for fits in [days, weekdays] if cron.either else [days | weekdays]:
        trigger = CronTrigger(
            month=_listed(cron.month), hour=_listed(cron.hour), minute=_listed(cron.minute), timezone=UTC, **fits
        )  # fmt: skip
        found.append(trigger.get_next_fire_time(None, start))
    return min((each for each in found if each is not None), default=None)


def _listed(numbers: list[int]) -> str:
    return ",".join(map(str, numbers))


class Clock:
    """Runs `jobs` by their schedules from start() to stop(), by calling `run` with their names.

    `run` returns a result of one line. `on_wake` is called when the computer has slept. All methods
    may be called from any thread.
    """

    on_wake: Callable[[], None] | None = None

    def __init__(
        self,
        jobs: Iterable[Planned],
        run: Callable[[str], str],
        ledger: Ledger,
        conditions: Conditions,
        timing: Timing | None = None,
    ) -> None:
        self._jobs = {job.name: job for job in jobs}
        self._run = run
        self._runs = Runs(ledger, (timing or Timing()).now)
        self._conditions = conditions
        self._timing = timing or Timing()
        # Never taken by APScheduler's thread, which holds a lock of its own while it calls us.
        self._lock = threading.RLock()
        self._due: dict[str, tuple[float, int]] = {}  # when, and the number of this plan
        self._plans = itertools.count()
        self._waiting: dict[str, str] = {}
        self._asked: dict[str, _Turn] = {}
        self._running: str | None = None
        self._turns: queue.SimpleQueue[_Turn | None] = queue.SimpleQueue()
        self._stopped = threading.Event()
        self._scheduler: BackgroundScheduler | None = None
        self._last = (self._timing.now(), self._timing.monotonic())

    def start(self) -> None:
        """Plan all jobs; what was missed runs soon, and once."""
        from apscheduler.schedulers.background import BackgroundScheduler

        _quieten()
        self._scheduler = BackgroundScheduler(
            {"apscheduler.executors.default": {"class": _EXECUTOR}},
            timezone=UTC,
            job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1},
        )
        self._scheduler.start()
        self._runs.remember(self._jobs)
        self._plan(self._jobs)
        for name, target in (("jobs", self._work), ("jobs heartbeat", self._beat)):
            threading.Thread(target=target, name=name, daemon=True).start()

    def stop(self) -> None:
        """Start nothing any more. A job that runs is left to itself, and to the end of the process."""
        self._stopped.set()
        self._turns.put(None)
        with self._lock:
            scheduler, self._scheduler = self._scheduler, None
            asked = list(self._asked.values())
        if scheduler:
            scheduler.shutdown(wait=False)
        for turn in asked:
            turn.ended.set()

    def reload(self, jobs: Iterable[Planned]) -> None:
        """Go on with other schedules; what runs now is not disturbed."""
        with self._lock:
            self._jobs = {job.name: job for job in jobs}
            for gone in self._due.keys() - self._jobs.keys():
                self._arm(gone, None)
        self._runs.remember(self._jobs)
        self._plan(self._jobs)

    def state(self, name: str) -> Moment:
        """How a job stands."""
        with self._lock:
            due = self._due.get(name)
            running = self._running == name
            return Moment(due[0] if due else None, self._waiting.get(name), running)

    def runs(self) -> dict[str, Run]:
        """The last runs, also those that could not be written into the ledger."""
        return self._runs.runs()

    def run_now(self, name: str) -> Run:
        """Run a job at once, whatever it would wait for, and wait for its end.

        Raises StateError when it is running already, or the clock is stopped meanwhile.
        """
        with self._lock:
            if self._stopped.is_set():
                raise StateError(f"the agent was stopped; the job {name} was not run")
            if name == self._running or name in self._asked:
                raise StateError(f"the job {name} is running already; wait for it to end")
            turn = self._asked[name] = _Turn(name, None)
            self._turns.put(turn)
        turn.ended.wait()
        if turn.run is None:
            raise StateError(f"the agent was stopped before the job {name} ended")
        return turn.run

    def beat(self) -> None:
        """Compare the clock of the wall with one that only goes forward; plan anew when it jumped."""
        wall, steady = self._timing.now(), self._timing.monotonic()
        jump = (wall - self._last[0]) - (steady - self._last[1])
        self._last = (wall, steady)
        if abs(jump) <= JUMP:
            return
        LOG.info("the clock went %s by %.0f s", "forward" if jump > 0 else "back", abs(jump))
        if hasattr(time, "tzset"):
            time.tzset()  # whoever slept may wake up in another time zone
        self._runs.remember(self._jobs)
        self._plan(self._jobs)
        if jump > 0 and self.on_wake:
            self.on_wake()

    def _beat(self) -> None:
        while not self._stopped.wait(self._timing.heartbeat):
            try:
                self.beat()
            except Exception:  # noqa: BLE001 - the heart must not stop for what a listener does wrong
                LOG.exception("the clock stumbled")

    def _plan(self, names: Iterable[str]) -> None:
        """Have each job run at its next time. One that runs now is planned anew when it ends."""
        for name in list(names):
            with self._lock:
                job = self._jobs.get(name)
                if job is None:
                    continue
                now, start = self._timing.now(), self._runs.of(name).counted_from
                due = next_time(job.schedule, start, now, self._timing.timezone)
                self._arm(name, None if due is None else due + self._late(due - start))

    def _late(self, span: float) -> float:
        """Some seconds, few for a job that runs often."""
        return random.uniform(0.0, max(0.0, min(self._timing.jitter, span / 10)))  # noqa: S311 - no secret

    def _arm(self, name: str, due: float | None) -> None:
        """Have APScheduler wake up for a job; its clock is the real one, ours may be a test's."""
        with self._lock:
            if due is None:
                self._cancel(name)
                return
            number = next(self._plans)
            self._due[name] = (due, number)
            if self._scheduler:
                when = datetime.now(UTC) + timedelta(seconds=due - self._timing.now())
                turn = _Turn(name, number)
                self._scheduler.add_job(
                    self._turns.put, "date", [turn], run_date=when, id=name, replace_existing=True
                )

    def _cancel(self, name: str) -> None:
        self._due.pop(name, None)
        self._waiting.pop(name, None)
        if self._scheduler:
            with contextlib.suppress(
                JobLookupError
            ):  # it never was planned, or has just had its turn
                self._scheduler.remove_job(name)

    def _work(self) -> None:
        """The one thread in which jobs run."""
        while (turn := self._turns.get()) is not None and not self._stopped.is_set():
            if turn.number is None or self._is_current(turn):
                self._take(turn)

    def _is_current(self, turn: _Turn) -> bool:
        """Whether the job was not planned anew after this turn was put into the queue."""
        with self._lock:
            return self._due.get(turn.name, (0.0, -1))[1] == turn.number

    def _take(self, turn: _Turn) -> None:
        reason = self._reason(turn)
        if reason:
            with self._lock:
                self._waiting[turn.name] = reason
                self._arm(turn.name, self._timing.now() + self._timing.retry)
            return
        with self._lock:
            self._running = turn.name
            self._waiting.pop(turn.name, None)
        turn.run = self._runs.carry_out(turn.name, lambda: self._run(turn.name))
        with self._lock:
            self._running = None
            self._asked.pop(turn.name, None)
            self._plan([turn.name])
        turn.ended.set()

    def _reason(self, turn: _Turn) -> str | None:
        """Why a job has to wait; nothing makes it wait for longer than a day."""
        job = self._jobs.get(turn.name)
        if turn.number is None or job is None:
            return None
        try:
            reason = reason_to_wait(job.waits, self._conditions)
        except Exception:  # noqa: BLE001 - who cannot tell how things are holds up nobody
            LOG.exception("what %s waits for cannot be found out", turn.name)
            return None
        if reason is None:
            return None
        return None if self._runs.waiting(turn.name) >= WAIT_AT_MOST else reason


class _Turn:
    """One turn of a job in the queue; `number` is that of its plan, None when a person asked for it."""

    def __init__(self, name: str, number: int | None) -> None:
        self.name = name
        self.number = number
        self.run: Run | None = None
        self.ended = threading.Event()


class _Forward(logging.Handler):
    """What APScheduler says goes where the jobs say it."""

    def emit(self, record: logging.LogRecord) -> None:
        LOG.handle(record)


def _quieten() -> None:
    theirs = logging.getLogger("apscheduler")
    theirs.propagate = False
    theirs.setLevel(logging.ERROR)
    if not theirs.handlers:
        theirs.addHandler(_Forward())
