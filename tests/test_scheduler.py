"""When jobs run: by schedule, once after a sleep, and not when they would disturb anybody."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.agent_run import until
from vaultmem.agent.scheduler import Scheduler, Timing, _OneAtATime
from vaultmem.errors import StateError
from vaultmem.ledger.ledger import CUT_SHORT, Ledger, Run

PATIENCE = 60.0  # seconds for what takes milliseconds
DAY = 86_400.0
NOW = datetime(2026, 6, 10, 12, 0, tzinfo=UTC).timestamp()


class World:
    """A person, a machine and their clocks, advanced by hand."""

    def __init__(self, path: Path, at: float = NOW) -> None:
        self.wall = at
        self.steady = 0.0
        self.reason: str | None = None  # for which the job "gentle" waits
        self.done: list[str] = []
        self.ledger = Ledger(str(path / "ledger.db"))
        self.work: Callable[[str], str] = lambda name: f"{name} done"
        self.ran = threading.Condition()
        self.timing = Timing(
            now=lambda: self.wall, monotonic=lambda: self.steady, timezone=UTC, jitter=0.0, retry=0.02,
            heartbeat=3_600.0,
        )  # fmt: skip

    def reason_to_wait(self, name: str) -> str | None:
        return self.reason if name != "often" else None

    def run(self, name: str) -> str:
        try:
            return self.work(name)
        finally:
            with self.ran:
                self.done.append(name)
                self.ran.notify_all()

    def await_runs(self, *names: str) -> None:
        with self.ran:
            assert self.ran.wait_for(lambda: len(self.done) >= len(names), PATIENCE), self.done
        assert sorted(self.done) == sorted(names)

    def pass_(self, seconds: float, clock: Scheduler) -> None:
        """Let the computer sleep."""
        self.wall += seconds
        clock.beat()

    @contextmanager
    def clock(self, *jobs: dict[str, str], timing: Timing | None = None) -> Iterator[Scheduler]:
        before = set(threading.enumerate())
        schedules = {name: schedule for job in jobs for name, schedule in job.items()}
        reason, timing = self.reason_to_wait, timing or self.timing
        clock = Scheduler(schedules, self.run, self.ledger, reason, timing)
        clock.start()
        try:
            yield clock
        finally:
            clock.stop()
            for thread in set(threading.enumerate()) - before:
                thread.join(PATIENCE)
                assert not thread.is_alive(), thread


def settled(clock: Scheduler, name: str) -> float:
    """When a job that has run is next planned."""
    until(lambda: not clock.status(name).running)
    due = clock.status(name).next_run
    assert due is not None
    return due


def ran_at(world: World, name: str, at: float) -> None:
    world.ledger.write_runs([Run(name, at, None, at, False, CUT_SHORT)], at)


NIGHTLY, OFTEN, GENTLE = {"nightly": "0 3 * * *"}, {"often": "5m"}, {"gentle": "1h"}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "state")


def test_what_was_missed_runs_once_over_any_number_of_starts(world: World) -> None:
    ran_at(world, "nightly", NOW - 10 * DAY)
    with world.clock(NIGHTLY, OFTEN) as clock:
        world.await_runs("nightly")
        assert settled(clock, "nightly") == NOW + 15 * 3_600
    for _ in range(3):
        world.wall += 1
        with world.clock(NIGHTLY, OFTEN) as clock:
            assert settled(clock, "nightly") == NOW + 15 * 3_600, (
                "planned for the night, not for now"
            )
    assert world.done == ["nightly"]
    run = world.ledger.runs()["nightly"]
    assert (run.last_run, run.ok, run.result, run.last_ok) == (NOW, True, "nightly done", NOW)


def test_a_new_job_waits_for_its_time_also_when_the_agent_is_off_at_that_time(world: World) -> None:
    with world.clock(NIGHTLY, OFTEN) as clock:
        assert settled(clock, "nightly") == NOW + 15 * 3_600
        assert settled(clock, "often") == NOW + 300
    world.wall += DAY
    with world.clock(NIGHTLY):
        world.await_runs("nightly")


def test_a_listener_that_fails_stops_nothing(world: World) -> None:
    def fail() -> None:
        raise OSError

    with world.clock(NIGHTLY, timing=world.timing._replace(heartbeat=0.01)) as clock:
        clock.on_wake = fail
        world.wall += DAY
        world.await_runs("nightly")
        world.wall += DAY
        world.await_runs("nightly", "nightly")


def test_what_a_run_delays_runs_after_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    release = _OneAtATime._run_job_success

    def late(executor: _OneAtATime, name: str, events: list[object]) -> None:
        time.sleep(0.2)  # APScheduler wakes up meanwhile, if it was planned too early
        release(executor, name, events)

    def work(name: str) -> str:
        if not world.done:
            world.pass_(DAY, clock)
        return name

    monkeypatch.setattr(_OneAtATime, "_run_job_success", late)
    world.work = work
    with world.clock(NIGHTLY) as clock:
        world.pass_(DAY, clock)
        world.await_runs("nightly", "nightly")


def test_a_clock_set_back_starves_nothing(world: World) -> None:
    ran_at(world, "often", NOW - 60)
    ran_at(world, "nightly", NOW - 60)
    with world.clock(NIGHTLY, OFTEN) as clock:
        clock.on_wake = lambda: world.done.append("woken")
        world.pass_(-400 * DAY, clock)
        assert world.done == []
        assert settled(clock, "often") == world.wall + 300
        assert settled(clock, "nightly") == world.wall + 15 * 3_600
    for run in world.ledger.runs().values():
        assert run.last_run == world.wall
    for _ in range(2):  # short sessions: the waiting time must not restart with each
        world.wall += 100
        with world.clock(NIGHTLY, OFTEN) as clock:
            assert settled(clock, "often") == NOW - 400 * DAY + 300
    world.wall += 100
    with world.clock(NIGHTLY, OFTEN):
        world.await_runs("often")


def test_a_gentle_job_waits_and_runs_when_it_may(world: World) -> None:
    ran_at(world, "gentle", NOW - DAY)
    ran_at(world, "often", NOW - DAY)
    world.reason = "you are typing"
    with world.clock(GENTLE, OFTEN) as clock:
        world.await_runs("often")
        until(lambda: clock.status("gentle").waiting_for == "you are typing")
        assert world.ledger.runs()["gentle"].waiting == NOW
        world.reason = None
        world.await_runs("often", "gentle")
        settled(clock, "gentle")
        assert clock.status("gentle").waiting_for is None
    assert world.ledger.runs()["gentle"].waiting is None


def test_it_waits_for_a_day_at_most_also_over_restarts(world: World) -> None:
    world.reason = "you are typing"
    ran_at(world, "gentle", NOW - 2 * DAY)
    for _ in range(4):
        with world.clock(GENTLE) as clock:
            until(lambda clock=clock: clock.status("gentle").waiting_for == "you are typing")
        world.wall += DAY / 4
    assert world.done == []
    with world.clock(GENTLE):
        world.await_runs("gentle")


def test_an_unknown_state_holds_up_nobody(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: str) -> str | None:
        raise RuntimeError

    monkeypatch.setattr(world, "reason_to_wait", fail)
    ran_at(world, "gentle", NOW - DAY)
    with world.clock(GENTLE):
        world.await_runs("gentle")


class PanicException(BaseException):
    """What Rust raises."""


@pytest.mark.parametrize(
    "error", [StateError("no room"), KeyError("x"), PanicException("index"), SystemExit(1)]
)
def test_a_job_that_fails_is_told_and_the_others_run(world: World, error: BaseException) -> None:
    def work(name: str) -> str:
        if name == "nightly":
            raise error
        return "a\nb \udcff"

    world.work = work
    ran_at(world, "nightly", NOW - DAY)
    ran_at(world, "often", NOW - DAY)
    with world.clock(NIGHTLY, OFTEN) as clock:
        world.await_runs("nightly", "often")
        assert settled(clock, "nightly") == NOW + 15 * 3_600
        settled(clock, "often")
    known = world.ledger.runs()
    assert known["nightly"].ok is False
    assert str(error.args[0]) in str(known["nightly"].result)
    assert known["nightly"].last_ok is None
    assert (known["often"].ok, known["often"].result) == (True, "a b ?")


KILLED = """
import os, sys, time
from vaultmem.agent.scheduler import Scheduler, Timing, _OneAtATime
from vaultmem.ledger.ledger import Ledger

def run(name):
    with open(sys.argv[2], "a") as file:
        file.write(name + "\\n")
    os._exit(9)

now = lambda: float(sys.argv[3])
clock = Scheduler({"deadly": "1h"}, run, Ledger(sys.argv[1]), lambda name: None, Timing(now=now, jitter=0.0))
clock.start()
if clock.status("deadly").next_run > now():
    os._exit(0)
time.sleep(60)
"""


def test_a_job_that_kills_the_process_has_had_its_turn(world: World, tmp_path: Path) -> None:
    ran_at(world, "deadly", NOW - DAY)
    marks = tmp_path / "marks"
    for minutes, code in ((0, 9), (59, 0), (61, 9)):
        ended = subprocess.run(
            [sys.executable, "-c", KILLED, world.ledger.path, str(marks), str(NOW + 60 * minutes)],
            check=False, timeout=60,
        )  # fmt: skip
        assert ended.returncode == code, minutes
    assert marks.read_text() == "deadly\ndeadly\n"
    run = world.ledger.runs()["deadly"]
    assert (run.ok, run.result, run.last_run) == (False, CUT_SHORT, NOW + 3_660)


class Gate:
    """Work that ends when told to."""

    def __init__(self) -> None:
        self.entered, self.leave = threading.Event(), threading.Event()
        self.inside = self.most = 0

    def __call__(self, name: str) -> str:
        self.inside += 1
        self.most = max(self.most, self.inside)
        self.entered.set()
        assert self.leave.wait(PATIENCE)
        self.inside -= 1
        return f"{name} done"


def in_thread(what: Callable[[], object]) -> tuple[threading.Thread, list[object]]:
    found: list[object] = []

    def asked() -> None:
        try:
            found.append(what())
        except StateError as error:
            found.append(str(error))

    thread = threading.Thread(target=asked)
    thread.start()
    return thread, found


def test_run_now_runs_what_would_wait_and_is_waited_for(world: World) -> None:
    world.reason = "you are typing"
    with world.clock(GENTLE, {"off": "off"}) as clock:
        assert clock.run_now("gentle").result == "gentle done"
        assert clock.run_now("off").ok
        assert settled(clock, "gentle") == NOW + 3_600
        assert clock.status("off").next_run is None
    assert world.ledger.runs()["off"].last_run == NOW


def test_one_job_at_a_time_and_none_twice(world: World) -> None:
    gate = world.work = Gate()
    ran_at(world, "often", NOW - DAY)
    with world.clock(OFTEN, NIGHTLY) as clock:
        assert gate.entered.wait(PATIENCE)
        assert clock.status("often").running
        with pytest.raises(StateError, match="already running"):
            clock.run_now("often")
        thread, found = in_thread(lambda: clock.run_now("nightly").result)
        world.pass_(DAY, clock)  # all are due again while one job runs
        gate.leave.set()
        thread.join(PATIENCE)
        assert found == ["nightly done"]
        until(lambda: settled(clock, "often") > world.wall)  # it may run again
    assert gate.most == 1
    assert sorted(set(world.done)) == ["nightly", "often"]
    assert len(world.done) <= 3  # what became due while it ran may run again


def test_stop_does_not_wait_for_a_job(world: World) -> None:
    gate = world.work = Gate()
    with world.clock(OFTEN, NIGHTLY) as clock:
        thread, found = in_thread(lambda: clock.run_now("often"))
        assert gate.entered.wait(PATIENCE)
        queued, also = in_thread(lambda: clock.run_now("nightly"))
        until(lambda: clock._requested.get("nightly"))
        clock.stop()
        thread.join(PATIENCE)
        queued.join(PATIENCE)
        assert "stopped" in str(found[0])
        assert "stopped" in str(also[0])
        assert gate.inside == 1, "it still runs"
        gate.leave.set()
        with pytest.raises(StateError, match="stopped"):
            clock.run_now("nightly")
    assert world.done == ["often"]


def test_without_a_ledger_jobs_still_come_once(world: World) -> None:
    Path(world.ledger.path).mkdir(parents=True)
    with world.clock(OFTEN) as clock:
        world.pass_(DAY, clock)
        until(lambda: clock.runs()["often"].last_run)
        run = clock.runs()["often"]
        assert run.ok is False
        assert "ledger.db cannot be used" in str(run.result)
        assert settled(clock, "often") == world.wall + 300
    assert world.done == [], "what cannot be written down is not begun"
