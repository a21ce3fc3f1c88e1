"""Two machines that are awake: each reminder is told once, by the one where the person is likely to be; and told all the
same when that one is silent."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.laws import examples
from tests.test_alarms import due
from vaultmem.reminders.alarms import Rules, plan
from vaultmem.reminders.due import Due
from vaultmem.synclog.log_entries import (
    ALONE,
    PATIENCE,
    Notified,
    Page,
    collect,
    sign_of_life,
    turn_of,
)
from vaultmem.text.times import stamp

START = datetime(2026, 11, 22, 8, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
SEEN = Notified("vm-aaaaaa", "2026-11-01T10:00:00Z", 9, "2026-11-01T10:00")


def task(number: int, at: datetime) -> Due:
    return due(f"{at:%Y-%m-%dT%H:%M}", id=f"vm-aaaa{'bcdefghijklmnopq'[number]}a", line=number)


class Machine:
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

    def hear(self, other: Machine) -> None:
        self.heard[other.name] = other.page()
        self.told = {**other.told, **self.told}


def simulate(
    machines: list[Machine], dues: list[Due], minutes: int, events: dict[int, list[tuple[str, int]]]
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
    desktop, laptop = (Machine(name, Rules(quiet=quiet)) for name in ("desktop", "laptop"))
    dues = [task(number, START + number * 20 * MINUTE) for number in range(1, 8)]
    simulate([desktop, laptop], dues, 200, {0: [("wake", 0)], 5: [("wake", 1)]})
    assert not desktop.spoke
    assert sorted(id_ for id_, _ in laptop.spoke) == sorted(due.id for due in dues)
    if quiet == "off":
        assert [at for _, at in laptop.spoke] == [
            START + number * 20 * MINUTE for number in range(1, 8)
        ]


def test_who_was_silent_is_waited_for_once_and_again_when_it_is_back() -> None:
    desktop, laptop = Machine("desktop", Rules()), Machine("laptop", Rules())
    dues = [task(number, START + number * 20 * MINUTE) for number in range(1, 6)]
    events = {0: [("wake", 0)], 5: [("wake", 1)], 10: [("sleep", 1)], 70: [("wake", 1)]}
    simulate([desktop, laptop], dues, 130, events)
    late = [(at - START) / MINUTE - 20 * number for number, (_, at) in enumerate(desktop.spoke, 1)]
    assert late == [10, 0, 0]
    assert [(at - START) / MINUTE for _, at in laptop.spoke] == [80, 100]


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
    machines = [Machine("desktop", Rules(most_single=99)), Machine("laptop", Rules(most_single=99))]
    dues = [task(number, START + minute * MINUTE) for number, minute in enumerate(minutes)]
    simulate(machines, dues, 140, {**events, 111: [("wake", 0)]})
    spoken = [id_ for machine in machines for id_, _ in machine.spoke]
    assert sorted(spoken) == sorted(due.id for due in dues)
    always_on = not any(what == "sleep" for event in events.values() for what, _ in event)
    if always_on and 0 in events and events[0]:
        for due, minute in zip(dues, minutes, strict=True):
            at = next(at for machine in machines for id_, at in machine.spoke if id_ == due.id)
            assert at <= START + minute * MINUTE + PATIENCE
