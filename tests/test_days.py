"""Days in questions, in English and Chinese."""

import datetime as dt
import inspect

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultmem.adapter import DaySpan, Language
from vaultmem.text.times import day_number
from vaultmem_languages import METHODS, language
from vaultmem_languages.when_words import MONTHS, asks_when, day_spans

CASES = {
    "what happened in March 2025": [(2025, 3, None)],
    "2025-03-12": [(2025, 3, 12)],
    "notes of 2025-03": [(2025, 3, None)],
    "the 12th of March 2025": [(2025, 3, 12)],
    "March 3rd, 2024 and April 4": [(2024, 3, 3), (None, 4, 4)],
    "Sept 5": [(None, 9, 5)],
    "三月十二日": [(None, 3, 12)],
    "2025年3月12日": [(2025, 3, 12)],
    "十一月二十一号": [(None, 11, 21)],
    "2024年": [(2024, None, None)],
    "in May": [(None, 5, None)],
    "may I": [],
    "version 3.12": [],
    "2025-13-01": [],
    "二〇二五年三月": [(2025, 3, None)],
    "三个月": [],
    "三十三月": [],
}


@pytest.mark.parametrize("text", CASES)
def test_spans(text: str) -> None:
    assert [(span.year, span.month, span.day) for span in day_spans(text)] == CASES[text]


@given(st.dates(dt.date(1000, 1, 1)), st.sampled_from(sorted(MONTHS)))
def test_dates_in_every_spelling(day: dt.date, name: str) -> None:
    month = MONTHS[name]
    for text in (f"on {day.isoformat()}?", f"{day.year}年{day.month}月{day.day}日的事"):
        assert DaySpan(day.year, day.month, day.day) in day_spans(text)
    for text in (f"{day.day} {name} {day.year}", f"{name.title()} {day.day}, {day.year}"):
        assert day_spans(text)[0] == DaySpan(day.year, month, day.day)


def test_each_method_of_the_contract_has_its_function() -> None:
    wanted = {name: one for name, one in vars(Language).items() if not name.startswith("_")}
    assert wanted.keys() - {"table"} == METHODS.keys()
    for name in METHODS:
        _self, *params = inspect.signature(wanted[name]).parameters.values()
        assert [*inspect.signature(getattr(language, name)).parameters.values()] == params, name


@given(st.text(max_size=200))
def test_nothing_raises(text: str) -> None:
    assert len(day_spans(text)) <= 8
    asks_when(text)
    day_number(text)


@given(st.dates(dt.date(1000, 1, 1)), st.dates(dt.date(1000, 1, 1)))
def test_numbers_sort_like_days(one: dt.date, other: dt.date) -> None:
    assert (day_number(one.isoformat()) < day_number(other.isoformat())) == (one < other)
    low, high = DaySpan(one.year, one.month, None).bounds() or (0, 0)
    assert low <= day_number(one.isoformat()) <= high
