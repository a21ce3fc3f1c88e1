"""A year of one person with two computers, of which one is awake at a time: every reminder is shown exactly once."""

import random
from datetime import UTC, date, datetime, timedelta
from functools import cache
from itertools import pairwise

import pytest

from tests.test_alarms import HEARD, MINUTE, due, heard_of, zone
from vaultmem.reminders.alarms import Rules, plan
from vaultmem.synclog.log_entries import Notified, collect, of_kind


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
