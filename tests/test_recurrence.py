"""Recurrence of tasks and schedules of jobs: the last and the next occurrence, by tables of known answers, and laws."""

import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Literal
from zoneinfo import ZoneInfo

import pytest
from dateutil.rrule import DAILY, FR, MO, SU, TU, WEEKLY, rrule
from dateutil.rrule import weekday as Weekday  # noqa: N812 - it is a class
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.laws import examples
from vaultmem.reminders.due import occurrences
from vaultmem.schedule import next_time
from vaultmem.text import recurrence, times
from vaultmem.text.recurrence import Rule, is_over, next_day, read_rule
from vaultmem.text.times import Cron

TABLE = json.loads(
    Path(__file__).with_name("data").joinpath("link_cases", "recurrence.json").read_text("utf-8")
)["cases"]


@pytest.mark.parametrize("case", TABLE, ids=lambda case: f"{case['rule']} {case['due']}")
def test_known_answers(case: dict[str, str]) -> None:
    due, done = date.fromisoformat(case["due"]), date.fromisoformat(case["done_on"])
    assert next_day(case["rule"], due, done) == date.fromisoformat(case["next_due"])


@pytest.mark.parametrize(
    ("rule", "day", "expected"),
    [
        ("every month", "2026-10-31", "2026-11-30"),
        ("every year", "2024-02-29", "2025-02-28"),
        ("every month on the 31st", "2026-01-31", "2026-03-31"),
        ("every month on the last Friday", "2026-11-27", "2026-12-25"),
        ("every month on the 2nd last Friday", "2026-11-20", "2026-12-18"),
        ("every month on the second last", "2026-11-29", "2026-12-30"),
        ("every week on Tuesday, Friday", "2026-11-17", "2026-11-20"),
        ("every week on Tuesday and Friday", "2026-11-20", "2026-11-24"),
        ("every 2 weeks on Monday", "2026-11-16", "2026-11-30"),
        ("every Monday", "2026-11-16", "2026-11-23"),
        ("every mon, wed", "2026-11-16", "2026-11-18"),
        ("every April and December on the 1st and 24th", "2026-12-01", "2026-12-24"),
        ("every weekday", "2026-11-18", "2026-11-19"),
        ("Every Day!", "2026-11-18", "2026-11-19"),
        ("every other day", "2026-11-18", "2026-11-20"),
        ("every week for 10 times", "2026-11-10", "2026-11-17"),
        ("every week until January 1, 2027", "2026-12-25", "2027-01-01"),
        ("every week on Monday, Friday until 1st Jan 2027", "2026-11-16", "2026-11-20"),
        ("every month on the last until 2027-01-31", "2026-12-31", "2027-01-31"),
        ("every other Monday in December", "2026-12-07", "2026-12-21"),
        ("every first Friday in January", "2027-01-01", "2028-01-07"),
    ],
)
def test_rules(rule: str, day: str, expected: str) -> None:
    due = date.fromisoformat(day)
    assert next_day(rule, due, due + timedelta(days=99)) == date.fromisoformat(expected)


@pytest.mark.parametrize(
    "text",
    ["", "every", "day", "every 0 days", "every bluemoon", "every month on", "every hour",
     "every day at 9", "when done", "every week on the 2nd day of", "🔁", "every month on the 0th"],
)  # fmt: skip
def test_what_is_not_understood_has_no_next_day(text: str) -> None:
    assert next_day(text, date(2026, 11, 21), date(2026, 11, 21)) is None


@pytest.mark.parametrize(
    ("rule", "day", "over"),
    [
        ("every week until January 1, 2027", "2026-12-26", True),
        ("every week until January 1, 2027", "2026-12-25", False),
        ("every month on the last until 31 January 2027", "2027-01-31", True),
        ("every day for 1 time", "2026-11-10", True),
        ("every day for 0 times", "2026-11-10", False),
        ("every day for other times", "2026-11-10", False),
        ("every day until Monday", "2026-11-10", False),
        ("every day until February 30, 2027", "2026-11-10", False),
        ("every full moon", "2026-11-10", False),
        ("every day", "9999-12-31", False),
    ],
)
def test_a_rule_at_its_end_is_over(rule: str, day: str, over: bool) -> None:
    due = date.fromisoformat(day)
    assert is_over(rule, due, due) == over
    if over or read_rule(rule) is None:
        assert next_day(rule, due, due) is None


@given(st.text(max_size=60) | st.lists(st.sampled_from([
    "every", "2", "9999", "day", "weeks", "month", "year", "on", "the", "last", "31st", "500th",
    "february", "friday", "weekday", ",", "and", "when", "done", "for", "times", "until", "2027", "2027-02-01",
]), max_size=9).map(" ".join))  # fmt: skip
def test_any_text_is_read_or_refused_and_odd_rules_end(text: str) -> None:
    found = next_day(text, date(2026, 11, 21), date(2026, 11, 21))
    assert found is None or found > date(2026, 11, 21)


# --- Occurrences: the last and the next one, counted from the beginning


BERLIN = ZoneInfo("Europe/Berlin")


def at(text: str, zone: ZoneInfo = BERLIN, fold: int = 0) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=zone, fold=fold)


@pytest.mark.parametrize(
    ("rule", "start", "now", "last", "following"),
    [
        ("every month", "2026-01-31", "2026-03-01T10:00", "2026-02-28", "2026-03-31"),
        ("every year", "2024-02-29", "2028-02-28T23:59", "2027-02-28", "2028-02-29"),
        ("every month on the last Friday", "2026-01-30", "2026-11-22T10:00", "2026-10-30", "2026-11-27"),
        ("every month on the 31st", "2026-01-31", "2026-04-30T10:00", "2026-03-31", "2026-05-31"),
        ("every weekday", "2026-11-02", "2026-11-22T10:00", "2026-11-20", "2026-11-23"),
        ("every day", "2027-01-01", "2026-11-22T10:00", "", "2027-01-01"),
        ("every day", "2026-11-22T09:00", "2026-11-22T08:59", "", "2026-11-22T09:00"),
        ("every day", "2026-11-20T09:00", "2026-11-22T08:59", "2026-11-21T09:00", "2026-11-22T09:00"),
        ("every day", "2026-11-20T09:00", "2026-11-22T09:00", "2026-11-22T09:00", "2026-11-23T09:00"),
        ("every full moon", "2026-11-20", "2026-11-22T10:00", "2026-11-20", ""),
        ("every full moon", "2026-11-23T10:00", "2026-11-22T10:00", "", "2026-11-23T10:00"),
        ("every year", "9999-01-01", "9999-06-01T10:00", "9999-01-01", ""),
        ("every day", "0001-01-01", "2026-11-22T10:00", "2026-11-22", "2026-11-23"),
        ("every 9999 years", "2026-01-01", "2026-11-22T10:00", "2026-01-01", ""),
        ("every February on the 30th", "2026-01-01", "2026-11-22T10:00", "2026-01-01", ""),
        ("every week for 3 times", "2026-11-02", "2026-11-10T10:00", "2026-11-09", "2026-11-16"),
        ("every week for 3 times", "2026-11-02", "2026-11-16T10:00", "2026-11-16", ""),
        ("every month for 3 times", "2026-01-31", "2026-03-01T10:00", "2026-02-28", "2026-03-31"),
        ("every day for 1 time", "2026-11-02", "2026-11-22T10:00", "2026-11-02", ""),
        ("every weekday for 3 times", "2026-11-20", "2026-11-23T10:00", "2026-11-23", "2026-11-24"),
        ("every week until 2026-11-16", "2026-11-02", "2026-11-10", "2026-11-09", "2026-11-16"),
        ("every week until 2026-11-15", "2026-11-02", "2026-11-10", "2026-11-09", ""),
    ],
)  # fmt: skip
def test_by_example(rule: str, start: str, now: str, last: str, following: str) -> None:
    assert occurrences(rule, start, at(now)) == (last, following)


def test_an_hour_that_is_there_twice_or_not_at_all() -> None:
    daily = "every day", "2026-01-01T02:30"
    assert occurrences(*daily, at("2026-10-25T02:15", fold=0)).last == "2026-10-24T02:30"
    assert occurrences(*daily, at("2026-10-25T02:45", fold=0)).last == "2026-10-25T02:30"
    assert occurrences(*daily, at("2026-10-25T02:15", fold=1)).last == "2026-10-25T02:30"
    assert occurrences(*daily, at("2026-03-29T01:59")).last == "2026-03-28T02:30"
    assert occurrences(*daily, at("2026-03-29T04:00")).last == "2026-03-29T02:30"


@given(
    st.sampled_from(
        [
            "every day", "every 3 weeks on Monday, Friday", "every month on the 1st, 15th",
            "every year on the last Sunday", "every month on the 31st", "every February on the 29th",
            "every week in March", "every 7 days on Tuesday", "every weekday",
            "every 2 months on the second Tuesday", "every 2 months for 5 times", "every Friday for 7 times",
            "every month until January 1, 2027",
        ]
    ),
    st.dates(date(1, 1, 1), date(9999, 12, 31)),
    st.dates(date(1, 1, 2), date(9999, 12, 30)),
)  # fmt: skip
def test_before_and_after_whatever_the_days(rule: str, start: date, day: date) -> None:
    assert read_rule(rule)
    now = datetime(day.year, day.month, day.day, 12, tzinfo=UTC)
    last, following = occurrences(rule, start.isoformat(), now)
    assert not last or start.isoformat() <= last <= day.isoformat()
    assert not following or following > day.isoformat() or following == start.isoformat()
    if last and following:
        again = occurrences(
            rule, start.isoformat(), datetime.fromisoformat(f"{following}T12:00+00:00")
        )
        assert again.last == following


@settings(max_examples=examples(40))
@given(
    st.sampled_from(range(4)),
    st.integers(1, 4),
    st.sets(st.sampled_from([MO, TU, SU]), max_size=2)
    | st.sets(st.sampled_from([MO(1), FR(-1), TU(2)]), max_size=2),
    st.sets(st.sampled_from([1, 15, 29, 31, -1, -3]), max_size=2),
    st.sets(st.sampled_from([1, 2, 6, 12]), max_size=2),
)
def test_days_are_those_of_dateutil(
    unit: Literal[0, 1, 2, 3],
    interval: int,
    weekdays: set[Weekday],
    days: set[int],
    months: set[int],
) -> None:
    rule = Rule(unit, interval, tuple(weekdays), tuple(days), tuple(months))
    if not (weekdays or days or months) or (
        any(weekday.n for weekday in weekdays) and unit in {WEEKLY, DAILY}
    ):
        return
    start, end = date(2023, 10, 29), date(2026, 12, 31)
    every = rrule(
        unit, dtstart=datetime(2023, 10, 29), interval=interval, until=datetime(2026, 12, 31),  # noqa: DTZ001 - days
        byweekday=rule.weekdays or None, bymonthday=rule.month_days or None, bymonth=rule.months or None,
    )  # fmt: skip
    fits = [start, *(one.date() for one in every if one.date() != start)]
    found = [start]
    while (one := recurrence.occurrences_around(rule, start, found[-1])[1]) and one <= end:
        found.append(one)
        assert recurrence.occurrences_around(rule, start, one)[0] == one
    assert found == fits


@pytest.mark.parametrize("start", [date(2026, 1, 31), date(2026, 2, 1), date(2024, 2, 29)])
@pytest.mark.parametrize(
    "rule",
    ["every day", "every 3 weeks", "every month", "every year", "every month for 4 times", "every 2 months until 2027-03-01",
     "every week on Monday, Friday for 5 times", "every 2 weeks on Tuesday", "every month on the last"],
)  # fmt: skip
def test_a_rule_goes_on_from_any_of_its_days_as_if_from_its_first(rule: str, start: date) -> None:
    known, resumed = (
        recurrence.read_rule(rule),
        recurrence.read_rule(recurrence.resume_rule(rule, start)),
    )
    assert known is not None
    assert resumed is not None
    day: date | None = start
    for _ in range(3):
        day = recurrence.occurrences_around(known, start, day)[1] if day else None
        for later in range(0, 900, 37) if day else ():
            at = day + timedelta(later)
            assert recurrence.occurrences_around(resumed, day, at) == recurrence.occurrences_around(
                known, start, at
            )


# --- When a job is due


DAY = 86_400.0
KOLKATA = ZoneInfo("Asia/Kolkata")
NOW = datetime(2026, 6, 10, 12, 0, tzinfo=UTC).timestamp()


def berlin(*parts: int, fold: int = 0) -> float:
    year, month, day, hour, minute = (*parts, 0, 0)[:5]
    return datetime(year, month, day, hour, minute, tzinfo=BERLIN, fold=fold).timestamp()


def runs(line: str, start: float, end: float, zone: ZoneInfo = BERLIN) -> list[str]:
    """All runs between two moments of a job that is never late."""
    found: list[str] = []
    at = next_time(line, start, start, zone)
    while at is not None and at < end:
        found.append(datetime.fromtimestamp(at, zone).strftime("%d %H:%M%z"))
        later = next_time(line, at, at, zone)
        assert later is None or later > at
        at = later
    return found


def test_once_on_the_day_with_23_hours_and_on_the_day_with_25() -> None:
    spring = runs("30 2 * * *", berlin(2026, 3, 28, 12), berlin(2026, 3, 31))
    assert spring == ["29 03:30+0200", "30 02:30+0200"]
    autumn = runs("30 2 * * *", berlin(2026, 10, 24, 12), berlin(2026, 10, 27))
    assert autumn == ["25 02:30+0200", "26 02:30+0100"]


def fits(cron: Cron, shown: datetime) -> bool:
    """By the rules of cron's manual."""
    by_day, by_weekday = shown.day in cron.day, (shown.weekday() + 1) % 7 in cron.weekday
    day = by_day or by_weekday if cron.either else by_day and by_weekday
    return (
        shown.minute in cron.minute
        and shown.hour in cron.hour
        and shown.month in cron.month
        and day
    )


NUMBER = {
    "minute": st.integers(0, 59), "hour": st.integers(0, 23), "day": st.integers(1, 31),
    "month": st.integers(1, 12), "weekday": st.integers(0, 6),
}  # fmt: skip
LINE = st.tuples(
    *(st.one_of(st.just("*"), st.lists(n, min_size=1, max_size=4).map(lambda found: ",".join(map(str, found))))
      for n in NUMBER.values())
).map(" ".join)  # fmt: skip


@given(LINE, st.integers(0, 2_000_000_000), st.sampled_from([BERLIN, KOLKATA]))
def test_the_next_run_is_the_first_minute_that_fits(line: str, start: int, zone: ZoneInfo) -> None:
    try:
        cron = times.read_schedule(line)
    except ValueError:
        return  # a day that does not exist
    assert isinstance(cron, Cron)
    due = next_time(line, start, start, zone)
    assert due is not None
    assert due > start
    first = start - start % 60 + 60
    for moment in range(first, min(int(due), first + 60 * 1_000), 60):
        shown = datetime.fromtimestamp(moment, zone)
        assert not fits(cron, shown) or (shown.fold and not cron.hourly)
    shown = datetime.fromtimestamp(due, zone)
    passed_over = datetime.fromtimestamp(due - 3_600, zone)
    assert fits(cron, shown) or (passed_over.utcoffset() != shown.utcoffset() and not cron.hourly) or (
        fits(cron, shown - timedelta(hours=1)) or shown.minute == 0)  # fmt: skip


def test_what_was_missed_is_due_now_however_often() -> None:
    assert next_time("5m", NOW - 60, NOW) == NOW + 240
    assert next_time("5m", NOW - 300, NOW) == NOW
    assert next_time("5m", NOW - 3_000, NOW) == NOW
    assert next_time("0 3 * * *", NOW - 40 * DAY, NOW, UTC) == NOW
    assert next_time("0 3 * * *", NOW - 60, NOW, UTC) == NOW + 15 * 3_600
