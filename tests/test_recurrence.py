"""The next day of repeating tasks: a table of known answers, and laws."""

from __future__ import annotations

import json
from datetime import date, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultmem.text.recurrence import is_over, next_day, read_rule

TABLE = json.loads(
    Path(__file__).with_name("data").joinpath("link_cases", "recurrence.json").read_text("utf-8")
)["cases"]
DAYS = st.dates(date(1990, 1, 1), date(2090, 1, 1))
UNITS = ["day", "week", "month", "year"]
RULES = [
    "every day", "every 3 weeks", "every month", "every year", "every weekday",
    "every week on Monday, Thursday", "every month on the last Friday", "every month on the last",
    "every January on the 15th", "every 2 months on the 31st", "every Tuesday",
]  # fmt: skip


@pytest.mark.parametrize("case", TABLE, ids=lambda case: f"{case['rule']} {case['due']}")
def test_known_answers(case: dict[str, str]) -> None:
    due, done = date.fromisoformat(case["due"]), date.fromisoformat(case["done_on"])
    assert next_day(case["rule"], due, done) == date.fromisoformat(case["next_due"])


@pytest.mark.parametrize(
    ("rule", "day", "expected"),
    [
        ("every month", "2026-10-31", "2026-11-30"),
        ("every month", "2024-01-31", "2024-02-29"),
        ("every 3 months", "2026-11-30", "2027-02-28"),
        ("every year", "2024-02-29", "2025-02-28"),
        ("every month on the 31st", "2026-01-31", "2026-03-31"),
        ("every month on the 1st", "2026-12-01", "2027-01-01"),
        ("every month on the last Friday", "2026-11-27", "2026-12-25"),
        ("every month on the 2nd Wednesday", "2026-11-11", "2026-12-09"),
        ("every month on the 2nd last Friday", "2026-11-20", "2026-12-18"),
        ("every month on the second last", "2026-11-29", "2026-12-30"),
        ("every week on Tuesday, Friday", "2026-11-17", "2026-11-20"),
        ("every week on Tuesday and Friday", "2026-11-20", "2026-11-24"),
        ("every 2 weeks on Monday", "2026-11-16", "2026-11-30"),
        ("every Monday", "2026-11-16", "2026-11-23"),
        ("every mon, wed", "2026-11-16", "2026-11-18"),
        ("every January on the 15th", "2026-01-15", "2027-01-15"),
        ("every April and December on the 1st and 24th", "2026-12-01", "2026-12-24"),
        ("every weekday", "2026-11-18", "2026-11-19"),
        ("Every Day!", "2026-11-18", "2026-11-19"),
        ("every other day", "2026-11-18", "2026-11-20"),
        ("every 10 days", "2026-11-25", "2026-12-05"),
        ("every week for 10 times", "2026-11-10", "2026-11-17"),
        ("every day for 3 times", "2026-11-10", "2026-11-11"),
        ("every week until January 1, 2027", "2026-11-10", "2026-11-17"),
        ("every week until January 1, 2027", "2026-12-25", "2027-01-01"),
        ("every week on Monday, Friday until 1st Jan 2027", "2026-11-16", "2026-11-20"),
        ("every month on the last until 2027-01-31", "2026-12-31", "2027-01-31"),
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
        ("every day for 2 times", "2026-11-10", False),
        ("every day for 0 times", "2026-11-10", False),
        ("every day for other times", "2026-11-10", False),
        ("every day until", "2026-11-10", False),
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


@given(st.sampled_from(RULES), DAYS, DAYS)
def test_the_next_day_is_later_and_does_not_depend_on_the_day_of_doing(
    rule: str, day: date, done: date
) -> None:
    found = next_day(rule, day, done)
    assert found is not None
    assert found > day
    assert found == next_day(rule, day, day)


@given(st.sampled_from(RULES), DAYS, DAYS)
def test_when_done_counts_from_the_day_of_doing(rule: str, day: date, done: date) -> None:
    assert next_day(f"{rule} when done", day, done) == next_day(rule, done, done)


@given(st.sampled_from(["month", "year"]), st.integers(1, 30), DAYS)
def test_a_plain_step_keeps_the_day_or_ends_its_month(unit: str, count: int, day: date) -> None:
    found = next_day(f"every {count} {unit}s", day, day)
    assert found is not None
    months = (found.year - day.year) * 12 + found.month - day.month
    assert months == count * (12 if unit == "year" else 1)
    ends_month = (found + timedelta(days=1)).month != found.month
    assert found.day == day.day or (found.day < day.day and ends_month)


@given(st.sampled_from(RULES), DAYS, st.integers(0, 400))
def test_no_match_is_skipped(rule: str, day: date, later: int) -> None:
    """From any day on the way, the same rule without an interval leads no further than before."""
    if any(character.isdigit() for character in rule.split()[1]) or read_rule(rule) is None:
        return
    found = next_day(rule, day, day)
    between = day + timedelta(days=later)
    assert found is not None
    if between < found and "on" in rule.split():
        assert next_day(rule, between, between) == found


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    found = next_day(text, date(2026, 11, 21), date(2026, 11, 21))
    assert found is None or found > date(2026, 11, 21)


@given(st.lists(st.sampled_from([
    "every", "2", "9999", "day", "weeks", "month", "year", "on", "the", "last", "31st", "500th",
    "february", "friday", "weekday", ",", "and", "when", "done", "for", "times", "until", "2027", "2027-02-01",
]), max_size=9).map(" ".join))  # fmt: skip
def test_odd_rules_end(text: str) -> None:
    found = next_day(text, date(2026, 11, 21), date(2026, 11, 21))
    assert found is None or found > date(2026, 11, 21)
