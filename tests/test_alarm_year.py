"""Reminders of one person with two computers: over a year of which one is awake at a time, every reminder is shown
exactly once; of two that are awake, by the one where the person is likely to be, or by the other if that one is silent."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime, timedelta
from functools import cache
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.laws import examples
from tests.test_alarms import HEARD, MINUTE, due, heard_of, zone
from vaultmem.reminders.alarms import Rules, plan
from vaultmem.reminders.due import Due
from vaultmem.synclog.log_entries import (
    ALONE,
    PATIENCE,
    Notified,
    Page,
    collect,
    of_kind,
    sign_of_life,
    turn_of,
)
from vaultmem.text.times import stamp


@cache
def noons(name: str, year: int) -> list[datetime]:
    """All noons of a year."""
    first = datetime(year, 1, 2, 12, tzinfo=zone(name))
    return [first + timedelta(days=number) for number in range(-1, 355)]


@cache
def turning_days(name: str, year: int) -> list[date]:
    """The days on which clocks change, and those around them."""
    return [
        noon.date() + timedelta(days=beside)
        for before, noon in pairwise(noons(name, year))
        if noon.utcoffset() != before.utcoffset()
        for beside in (-1, 0, 1)
    ]


def shown_at(name: str, year: int, wall: datetime) -> datetime | None:
    """The first moment at which a wall clock shows this time, if there is one, tried with every offset that zones
    have."""
    offsets = {noon.utcoffset() or timedelta() for noon in noons(name, year)}
    moments = sorted((wall - offset).replace(tzinfo=UTC) for offset in offsets)
    there = zone(name)
    return next((at for at in moments if at.astimezone(there).replace(tzinfo=None) == wall), None)


@cache
def expected(name: str, year: int, at: str, rules: Rules) -> datetime:
    """When it must be shown."""
    # no zone: as it is shown
    wall = datetime.fromisoformat(at if "T" in at else f"{at}T{rules.day_at}")
    back = timedelta()
    while not (shown := shown_at(name, year, wall - back)):
        back += MINUTE  # the clock skipped it
    return not_quiet(name, shown + back, rules)


def not_quiet(name: str, at: datetime, rules: Rules) -> datetime:
    """The first minute from `at` on at which a person may be notified."""
    while rules.quiet != "off":
        start, end = rules.quiet.split("-")
        now = at.astimezone(zone(name)).strftime("%H:%M")
        if not (start <= now < end if start < end else now >= start or now < end):
            break
        at = at.replace(second=0, microsecond=0) + MINUTE
    return at


class Machine:
    """A computer with an agent: its clock can be wrong, it sleeps, and its state survives restarts."""

    def __init__(self, name: str) -> None:
        self.zone = zone(name)
        self.told = dict(HEARD)
        self.wrong = timedelta()
        self.rested = True  # since the last check
        self.woke = datetime(2000, 1, 1, tzinfo=UTC)

    def shows(self, at: datetime) -> datetime:
        return (at + self.wrong).astimezone(self.zone)


class Year:
    """A year of one person with two computers, of which one is awake at a time."""

    def __init__(self, name: str, year: int, seed: int) -> None:
        self.random = random.Random(f"{name} {seed}")
        self.name, self.year = name, year
        quiet = self.random.choice(["off", "22:00-07:00", "23:45-02:30", "13:00-14:00"])
        self.rules = Rules(self.random.choice(["09:00", "00:00", "02:30"]), quiet, "never")
        self.dues = [due(self._wall(), text=f"t{number}") for number in range(90)]
        self.rung: dict[str, list[datetime]] = {}
        self.machines = [Machine(name), Machine(name)]
        self.slept = 0

    def _wall(self) -> str:
        day = date(self.year, 1, 2) + timedelta(days=self.random.randrange(355))
        if self.random.random() < 0.3:
            day = self.random.choice(turning_days(self.name, self.year))
        if self.random.random() < 0.3:
            return day.isoformat()
        minute = self.random.choice([0, 15, 30, 59])
        return f"{day}T{self.random.choice([0, 1, 2, 3, 9, 23, self.random.randrange(24)]):02}:{minute:02}"

    def live(self) -> None:
        at = datetime(self.year, 1, 1, 12, tzinfo=UTC)
        end = datetime(self.year, 12, 31, tzinfo=UTC)
        here, other = self.machines
        while at < end:
            following = self.look(here, at)
            chance = self.random.random()
            # on to the other computer: the vault is synced, then this one sleeps
            if chance < 0.05:
                here, other = other, here
                here.told = of_kind(collect([*here.told.values(), *other.told.values()]), Notified)
                here.rested = True
                at += timedelta(hours=self.random.randrange(60))
            elif chance < 0.15:
                here.rested = True
                self.slept += 1
                at += timedelta(minutes=self.random.randrange(1, 4000))
            elif chance < 0.2:  # somebody sets the clock back, or corrects it
                here.wrong = timedelta() if here.wrong else timedelta(hours=-1)
                here.rested = True
            else:
                at = min(following, at + timedelta(hours=5)) + timedelta(
                    seconds=self.random.randrange(30)
                )
        here.wrong = timedelta()
        here.rested = True
        self.look(here, end)

    def look(self, machine: Machine, at: datetime) -> datetime:
        now = machine.shows(at)
        if machine.rested:
            machine.woke = now.astimezone(UTC)
        planned = plan(self.dues, {}, machine.told, now, self.rules)
        for alarm in planned.alarms:
            for told in alarm.records:
                self.rung.setdefault(told.id, []).append(now.astimezone(UTC))
                self._on_time(machine, told, now)
        machine.told = of_kind(collect([*machine.told.values(), *heard_of(planned)]), Notified)
        machine.rested = False
        return at + (planned.next - now) if planned.next else at + timedelta(days=1)

    def _on_time(self, machine: Machine, told: Notified, now: datetime) -> None:
        right = expected(self.name, self.year, told.moment, self.rules)
        assert now >= right, (told, now)
        if machine.woke > right:
            right = not_quiet(self.name, machine.woke, self.rules)
        assert now.astimezone(UTC) - right < MINUTE, (told, now, right)


@pytest.mark.parametrize(
    ("name", "year"),
    [
        ("Europe/Berlin", 2026),
        ("America/Sao_Paulo", 2018),
        ("Australia/Lord_Howe", 2026),
        ("Pacific/Apia", 2011),
    ],
)
def test_over_a_year_every_alarm_rings_exactly_once(name: str, year: int) -> None:
    life = Year(name, year, 0)
    life.live()
    assert life.slept > 20
    assert {one.id for one in life.dues} == life.rung.keys()
    assert [id_ for id_, times in life.rung.items() if len(times) != 1] == []
    late = sum(
        times[0] - expected(name, year, one.at, life.rules) > MINUTE
        for one in life.dues
        for times in [life.rung[one.id]]
    )
    assert late > 10  # there was something to be missed


# --- two machines that are awake


START = datetime(2026, 11, 22, 8, tzinfo=UTC)
SEEN = Notified("vm-aaaaaa", "2026-11-01T10:00:00Z", 9, "2026-11-01T10:00")


def task(number: int, at: datetime) -> Due:
    return due(f"{at:%Y-%m-%dT%H:%M}", id=f"vm-aaaa{'bcdefghijklmnopq'[number]}a", line=number)


class Peer:
    """A machine with its own view of a shared vault."""

    def __init__(self, name: str, rules: Rules) -> None:
        self.name, self.rules = name, rules
        self.awake = ""
        self.told: dict[str, Notified] = {SEEN.id: SEEN}
        self.silent: dict[str, str] = {}
        self.heard: dict[str, Page] = {}
        self.spoke: list[tuple[str, datetime]] = []

    def page(self) -> Page:
        return Page(self.name, self.awake, collect(self.told.values()))

    def wake_up(self, now: datetime) -> None:
        self.awake = stamp(now.timestamp())

    def look(self, dues: list[Due], now: datetime) -> None:
        turn = turn_of(self.page(), self.heard.values(), self.silent, now.timestamp())
        planned = plan(dues, {}, self.told, now, self.rules._replace(turn=turn))
        for one in [
            *planned.silent,
            *(record for alarm in planned.alarms for record in alarm.records),
        ]:
            self.told[one.id] = one
            self.spoke.append((one.id, now))
        if planned.alarms and not turn.is_first:
            self.silent |= {name: sign_of_life(page) for name, page in self.heard.items()}

    def hear(self, other: Peer) -> None:
        self.heard[other.name] = other.page()
        self.told = {**other.told, **self.told}


def simulate(
    machines: list[Peer], dues: list[Due], minutes: int, events: dict[int, list[tuple[str, int]]]
) -> None:
    """A minute at a time; machines that are awake look at the clock, then the vault is synced."""
    is_up = [False, False]
    for minute in range(minutes):
        now = START + minute * MINUTE
        for what, index in events.get(minute, []):
            is_up[index] = what == "wake"
            if what == "wake":
                machines[index].wake_up(now)
                for other in machines:
                    if other is not machines[index]:
                        other.hear(machines[index])
                        machines[index].hear(other)
        for index, machine in enumerate(machines):
            if is_up[index]:
                machine.look(dues, now)
                for place, other in enumerate(machines):
                    if other is not machine and is_up[place]:
                        other.hear(machine)


@pytest.mark.parametrize("quiet", ["off", "08:30-09:30"])
def test_of_two_that_are_awake_the_one_that_woke_up_last_tells_at_once(quiet: str) -> None:
    desktop, laptop = (Peer(name, Rules(quiet=quiet)) for name in ("desktop", "laptop"))
    dues = [task(number, START + number * 20 * MINUTE) for number in range(1, 8)]
    simulate([desktop, laptop], dues, 200, {0: [("wake", 0)], 5: [("wake", 1)]})
    assert not desktop.spoke
    assert sorted(id_ for id_, _ in laptop.spoke) == sorted(due.id for due in dues)
    if quiet == "off":
        assert [at for _, at in laptop.spoke] == [
            START + number * 20 * MINUTE for number in range(1, 8)
        ]


def test_no_machine_waits_for_one_that_is_gone_or_never_notifies() -> None:
    own = Page("laptop", stamp(START.timestamp()))
    long_gone = Page("desktop", stamp((START - timedelta(days=8)).timestamp()))
    cannot_speak = Page("server", "", collect([SEEN]))
    off_by_a_year = Page("desktop", stamp((START + timedelta(days=365)).timestamp()))
    others = [long_gone, cannot_speak, off_by_a_year]
    assert turn_of(own, others, {}, START.timestamp()) == ALONE
    there = Page("desktop", stamp((START + MINUTE).timestamp()))
    assert not turn_of(own, [*others, there], {}, START.timestamp()).is_first


EVENTS = st.dictionaries(
    st.integers(0, 110),
    st.lists(st.tuples(st.sampled_from(["wake", "sleep"]), st.sampled_from([0, 1])), max_size=2),
    max_size=6,
)


@given(EVENTS, st.lists(st.integers(1, 100), min_size=1, max_size=5, unique=True))
@settings(max_examples=examples(80))
def test_whatever_sleeps_and_wakes_each_is_told_once_and_at_most_ten_minutes_late(
    events: dict[int, list[tuple[str, int]]], minutes: list[int]
) -> None:
    machines = [Peer("desktop", Rules(most_single=99)), Peer("laptop", Rules(most_single=99))]
    dues = [task(number, START + minute * MINUTE) for number, minute in enumerate(minutes)]
    simulate(machines, dues, 140, {**events, 111: [("wake", 0)]})
    spoken = [id_ for machine in machines for id_, _ in machine.spoke]
    assert sorted(spoken) == sorted(due.id for due in dues)
    always_on = not any(what == "sleep" for event in events.values() for what, _ in event)
    if always_on and 0 in events and events[0]:
        for due, minute in zip(dues, minutes, strict=True):
            at = next(at for machine in machines for id_, at in machine.spoke if id_ == due.id)
            assert at <= START + minute * MINUTE + PATIENCE
