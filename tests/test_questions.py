"""Which days a question names, and what else it asks of time."""

import datetime as dt
import inspect

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.effort import takes_less
from vaultmem.adapter import Language
from vaultmem.search.query import parse_question
from vaultmem.text.times import day_number
from vaultmem_languages import METHODS, language
from vaultmem_languages.when_words import MONTHS, asks_before, asks_latest, asks_when
from vaultmem_languages.when_words import days as days_in

SPANS = {
    "what happened in March 2025": [(20250301, 20250331)],
    "2025-03-12": [(20250312, 20250312)],
    "notes of 2025-03": [(20250301, 20250331)],
    "the 12th of March 2025": [(20250312, 20250312)],
    "March 3rd, 2024 and April 4": [(20240303, 20240303), (404, 404)],
    "Sept 5": [(905, 905)],
    "三月十二日": [(312, 312)],
    "2025年3月12日": [(20250312, 20250312)],
    "十一月二十一号": [(1121, 1121)],
    "2024年": [(20240101, 20241231)],
    "in May": [(501, 531)],
    "may I": [],
    "version 3.12": [],
    "2025-13-01": [],
    "二〇二五年三月": [(20250301, 20250331)],
    "三个月": [],
    "三十三月": [],
    "Between 3 and 9 March": [(303, 309)],
    "from the 28th of Feb until 2 March 2026": [(20260228, 20260302)],
    "trips of March 3-9, 2025": [(20250303, 20250309)],
    "May 30 to June 2": [(530, 602)],
    "28 Dec to 3 Jan": [(1228, 1231), (101, 103)],
    "28 Dec - 3 Jan 2027": [(20261228, 20270103)],
    "2026年3月3日到9日": [(20260303, 20260309)],
    "both 3 and 9 March": [(309, 309)],
    "rooms 30 to 44 May": [],
    "zwischen dem 3. und 9. März": [(303, 309)],
    "vom 28. Februar bis zum 2. März 2026": [(20260228, 20260302)],
    "March 3, 9-11 o'clock": [(303, 303)],
}


@pytest.mark.parametrize("text", SPANS)
def test_spans(text: str) -> None:
    assert [span[:2] for span in days_in(text)] == SPANS[text]


RELATIVE = {
    "what did I do yesterday?": [(20261127, 20261127)], "the day before yesterday": [(20261126, 20261126)],
    "what did we decide last Tuesday": [(20261124, 20261124)], "three days ago": [(20261125, 20261125)],
    "what happened last week": [(20261116, 20261122)], "in the last month": [(20261001, 20261031)],
    "last year's plan": [(20250101, 20251231)], "due tomorrow": [(20261129, 20261129)],
    "what did I eat on Monday": [(20261123, 20261123), (20261130, 20261130)],
    "昨天我做了什么": [(20261127, 20261127)], "上周五的会议": [(20261120, 20261120)],
    "was war gestern": [(20261127, 20261127)], "昨日の会議": [(20261127, 20261127)],
    "yesterday, on 12 March 2025": [(20250312, 20250312)],
    "what have I done recently?": [(20261114, 20261128)], "what's new": [(20261114, 20261128)],
    "我最近读了什么": [(20261114, 20261128)], "what changed since Monday": [(20261123, 20261128)],
    "seit gestern": [(20261127, 20261128)], "since last month": [(20261001, 20261128)],
    "Yesterday I bought a bike": [], "昨天我买了车": [], "I met Ben last week, remember?": [(20261116, 20261122)],
    "what changed since July": [(20260701, 20261128)], "since 12 December": [(20251212, 20261128)],
    "since 2025-03-12": [(20250312, 20261128)],
    "the week before last": [(20261109, 20261115)], "vorletzte Woche": [(20261109, 20261115)],
    "last weekend": [(20261121, 20261122)], "letztes Wochenende": [(20261121, 20261122)],
    "two weeks ago": [(20261114, 20261114), (20261111, 20261117)],
    "vor einem Monat": [(20261028, 20261028), (20261018, 20261107)],
    "in the last ten days": [(20261118, 20261128)], "in den letzten drei Wochen": [(20261107, 20261128)], "in den letzten 2 Tagen": [(20261126, 20261128)],
    "over Christmas": [(20251224, 20251226), (20261224, 20261226)], "an Heiligabend": [(20251224, 20251224), (20261224, 20261224)],
    "Christmas Eve 2024": [(20241224, 20241224)], "on the 14th": [(20261114, 20261114), (20261214, 20261214)],
    "am 5. September": [(905, 905)], "am 5.9.2026": [(20260905, 20260905)], "im Oktober": [(1001, 1031)],
    "in summer": [(20260601, 20260831)], "last winter": [(20251201, 20260231)], "next spring": [(20270301, 20270531)],
    "in summer 2024": [(20240601, 20240831)], "fall of 2025": [(20250101, 20251231), (20250901, 20251131)], "去年夏天": [(20250601, 20250831)], "夏天": [(20260601, 20260831)],
    "Christmas 0000": [(20251225, 20251225), (20261225, 20261225)], "winter 0000": [],
    "What happened between Monday and Friday?": [(20261123, 20261127), (20261130, 20261204)],
    "from Monday to Wednesday of last week": [(20261116, 20261118)], "between last Monday and Wednesday": [(20261123, 20261125)],
    "zwischen Montag und Freitag": [(20261123, 20261127), (20261130, 20261204)], "上周一到周三": [(20261116, 20261118)],
    "next Friday to Monday": [(20261204, 20261207)], "Monday and Friday": [(20261127, 20261127), (20261204, 20261204)],
    "Sunday roast recipe": [], "due by Friday noon": [(20261127, 20261127), (20261204, 20261204)], "spring cleaning": [], "fall back": [], "every Monday": [], "Python 3.11": [], "the last minute": [],
    "the train at 8": [], "how to feed the cat": [], "on Sundays": [], "next steps": [],
}  # fmt: skip


@pytest.mark.parametrize("text", RELATIVE)
def test_days_relative_to_today(text: str) -> None:
    now = dt.datetime(2026, 11, 28, 12).astimezone()
    spans = days_in(text, now.timestamp())
    assert [span[:2] for span in spans] == RELATIVE[text]
    assert all(span.words.lower() in text.lower() for span in spans)


@pytest.mark.parametrize(
    ("month", "first"),
    [
        (
            "2026-07",
            {"last summer": 2025, "this summer": 2026, "next summer": 2027, "in winter": 2025},
        ),
        (
            "2026-04",
            {"last summer": 2025, "this summer": 2026, "next summer": 2026, "last winter": 2025},
        ),
        (
            "2027-01",
            {"last summer": 2026, "this winter": 2026, "last winter": 2025, "next spring": 2027},
        ),
    ],
)
def test_seasons_of_a_year(month: str, first: dict[str, int]) -> None:
    now = dt.datetime.fromisoformat(f"{month}-10T12:00").astimezone().timestamp()
    assert {text: days_in(text, now)[0].first // 10_000 for text in first} == first


@given(st.dates(dt.date(1000, 1, 1)), st.sampled_from(sorted(MONTHS)))
def test_dates_in_every_spelling(day: dt.date, name: str) -> None:
    month = MONTHS[name]
    for text in (f"on {day.isoformat()}?", f"{day.year}年{day.month}月{day.day}日的事"):
        assert (day_number(day.isoformat()),) * 2 in [span[:2] for span in days_in(text)]
    for text in (f"{day.day} {name} {day.year}", f"{name.title()} {day.day}, {day.year}"):
        assert days_in(text)[0][:2] == (10_000 * day.year + 100 * month + day.day,) * 2


def test_a_day_that_no_calendar_has_is_none_of_a_few() -> None:
    (span,) = days_in("since 31 November", dt.datetime(2026, 12, 3, 12).astimezone().timestamp())
    assert span.each() == []


def test_only_whole_words_for_days_are_left_out() -> None:
    words = parse_question("what did today's plan for Todaylist say yesterday")[0].words
    assert [word.text for word in words] == "what did plan for Todaylist say".split()


def test_what_is_about_what_was_so_before() -> None:
    for text in (
        "where did I live before Porto?", "who was my last dentist", "my previous job", "where did we live before?",
        "wo habe ich früher gewohnt", "我以前住在哪里", "以前的老师是谁", "what had we booked originally", "原来的电话是多少",
        "wie hieß das Haus ursprünglich",
    ):  # fmt: skip
        assert asks_before(text), text
    for text in (
        "when is our last meeting of the year", "睡觉以前要吃什么药？", "原来如此", "what's on my last day at work?",
        "Was the milk delivered before noon today?", "what is due before the trip",
    ):  # fmt: skip
        assert not asks_before(text), text


def test_a_long_text_asks_for_no_time() -> None:
    now = dt.datetime(2026, 11, 28, 12).astimezone().timestamp()
    text = "did we meet yesterday, and when did I last see him before? "
    assert days_in(text, now)
    assert asks_latest(text)
    assert asks_before(text)
    long = text + "Here is the whole story of it. " * 20
    assert not days_in(long, now)
    assert not asks_latest(long)
    assert not asks_before(long)
    assert takes_less(1, lambda: asks_before(" " * 20_000)), "it is not even looked at"


def test_what_asks_for_the_latest_of_several() -> None:
    for text in (
        "when did I last see Ruth",
        "the last time we met",
        "wann war ich zuletzt dort",
        "上次去北京",
    ):
        assert asks_latest(text), text
    for text in ("her last name", "what lasts", "when does it start", "last week"):
        assert not asks_latest(text), text


def test_each_method_of_the_contract_has_its_function() -> None:
    wanted = {name: one for name, one in vars(Language).items() if not name.startswith("_")}
    assert wanted.keys() - {"table"} == METHODS.keys()
    for name in METHODS:
        _self, *params = inspect.signature(wanted[name]).parameters.values()
        assert [*inspect.signature(getattr(language, name)).parameters.values()] == params, name


@given(st.text(max_size=200))
def test_nothing_raises(text: str) -> None:
    assert len(days_in(text, 1.8e9)) <= 8
    asks_when(text)
    day_number(text)
