"""The query language: nothing that a person types is an error, each operator does what its help says, and days are
found in questions."""

import datetime as dt
import inspect
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultmem.adapter import Language
from vaultmem.errors import UsageError
from vaultmem.memories.arguments import days
from vaultmem.search.query import (
    FILTERS,
    MAX_CHARS,
    MAX_TERMS,
    Filter,
    Query,
    Term,
    day_filter,
    misread_days,
    parse,
    parse_question,
    plain,
)
from vaultmem.text.times import day_number, day_range
from vaultmem.text.values import normalize_text
from vaultmem_languages import METHODS, language
from vaultmem_languages.when_words import MONTHS, asks_before, asks_latest, asks_when
from vaultmem_languages.when_words import days as days_in

PARTS = st.sampled_from(
    ["a", "foo", '"', '""', '"a b"', "-", "-x", '-"a b"', "OR", "or", "x*", "*", "a*b", "tag:", "tag:x", "-tag:#x", "before:2026",
     "after:2026-13", "before:", "path:A/", 'title:"a b"', "http://x", "12:30", "::", "泡菜", "\u3000", "\x00", "\ud800", "'", "\\"]
)  # fmt: skip
TYPED = st.one_of(
    st.text(max_size=80),
    st.lists(PARTS, max_size=12).map(" ".join),
    st.lists(PARTS, max_size=8).map("".join),
)


def words(*texts: str) -> list[Term]:
    return [Term("word", text) for text in texts]


@given(TYPED)
def test_parse_never_raises_and_loses_no_word(text: str) -> None:
    query = parse(text)
    terms = [
        *query.words,
        *query.must,
        *query.excluded,
        *(term for group in query.groups for term in group),
    ]
    for term in terms:
        assert term.text
        assert term.kind in ("word", "prefix", "phrase")
        term.text.encode()
    for one in query.filters:
        assert one.field in FILTERS
        assert one.value
        if one.field in ("before", "after"):
            assert day_range(one.value)
    assert all(len(group) >= 2 for group in query.groups)
    heard = "".join([term.text for term in terms] + [one.value for one in query.filters])
    operators = 'OR-"*:#' + "".join(FILTERS)
    for letter in normalize_text(text):
        if letter.isalnum() and letter not in operators:
            assert letter in heard


@given(st.integers(1, 5000))
def test_bounds(count: int) -> None:
    query = parse("a " * count)
    assert len(query.words) == min(count, MAX_TERMS)
    assert sum(len(term.text) for term in parse("b" * count).words) == min(count, MAX_CHARS)


CASES = {
    "lisbon flat": Query(words("lisbon", "flat"), [], [], [], []),
    '"exact phrase"': Query([], [Term("phrase", "exact phrase")], [], [], []),
    'a -word -"a phrase"': Query(
        words("a"), [], [Term("word", "word"), Term("phrase", "a phrase")], [], []
    ),
    "coffee OR tea": Query([], [], [], [words("coffee", "tea")], []),
    "a OR b OR c d": Query(words("d"), [], [], [words("a", "b", "c")], []),
    "a OR b c OR d": Query([], [], [], [words("a", "b"), words("c", "d")], []),
    '"a b" OR c': Query([], [], [], [[Term("phrase", "a b"), Term("word", "c")]], []),
    "organi*": Query([Term("prefix", "organi")], [], [], [], []),
    "tag:recipe": Query([], [], [], [], [Filter("tag", "recipe")]),
    "-tag:#draft x": Query(words("x"), [], [], [], [Filter("tag", "draft", True)]),
    'path:"My Notes/" title:plan': Query(
        [], [], [], [], [Filter("path", "My Notes/"), Filter("title", "plan")]
    ),
    "TAG:x Category:people": Query(
        [], [], [], [], [Filter("tag", "x"), Filter("category", "people")]
    ),
    "before:2026-03 after:2025": Query(
        [], [], [], [], [Filter("before", "2026-03"), Filter("after", "2025")]
    ),
    # What is not understood is searched as words.
    "before:banana": Query(words("before:banana"), [], [], [], []),
    "after:2026-13-01": Query(words("after:2026-13-01"), [], [], [], []),
    "before:２０２６": Query(words("before:２０２６"), [], [], [], []),
    "https://example.org/a?b": Query(words("https://example.org/a?b"), [], [], [], []),
    '"unclosed phrase': Query(words("unclosed", "phrase"), [], [], [], []),
    "OR": Query([], [], [], [], []),
    "a OR": Query(words("a"), [], [], [], []),
    "a or b": Query(words("a", "or", "b"), [], [], [], []),
    "a - b": Query(words("a", "-", "b"), [], [], [], []),
    "a*b*": Query(words("a*b*"), [], [], [], []),
    "": Query([], [], [], [], []),
    "tag:": Query(words("tag:"), [], [], [], []),
}


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("Who is my dentist?", "Who is dentist?"),
        ("Who is the user's dentist?", "Who is dentist?"),
        ("What car do we have?", "What car do have?"),
        ("the US office, I/O, my-repo", "the US office, I/O, my-repo"),
        ("who have we", "who have"),
        ("we", "we"),
        ("List all my visits", "all visits"),
        ("list comprehension", "list comprehension"),
    ],
)
def test_words_for_the_person_are_not_what_a_question_is_about(question: str, words: str) -> None:
    assert " ".join(plain(question).split()) == words


def test_a_question_about_the_person_as_such_is_asked_in_the_words_of_its_answers() -> None:
    for question in (
        "what do you know about me?",
        "who am I",
        "the user's profile",
        "你知道我什么",
        "wer bin ich?",
    ):
        assert "allergic" in plain(question), question
    for question in (
        "what did I do",
        "what do I have to do",
        "who is Ruth",
        "what do you know",
        "remember me to Ben",
    ):
        assert "allergic" not in plain(question), question


@pytest.mark.parametrize("text", CASES)
def test_operators(text: str) -> None:
    assert parse(text) == CASES[text]


@given(st.dates())
def test_days(day: object) -> None:
    iso = str(day)
    assert day_range(iso) == (iso, iso)
    assert day_range(iso[:7]) == (iso[:7] + "-01", iso[:7] + "-31")
    assert day_range(iso[:4]) == (iso[:4] + "-01-01", iso[:4] + "-12-31")


WORDS = {  # on Wednesday, 25 November 2026: looking back, and looking ahead if that differs
    "2026-02": ("2026-02-01", "2026-02-31"),
    "yesterday": ("2026-11-24", "2026-11-24"),
    "last week": ("2026-11-16", "2026-11-22"),
    "this week": ("2026-11-23", "2026-11-29"),
    "last month": ("2026-10-01", "2026-10-31"),
    "this month": ("2026-11-01", "2026-11-30"),
    "last year": ("2025-01-01", "2025-12-31"),
    "next week": ("2026-11-30", "2026-12-06"),
    "two weeks ago": ("2026-11-11", "2026-11-11"),
    "gestern": ("2026-11-24", "2026-11-24"),
    "letzte Woche": ("2026-11-16", "2026-11-22"),
    "vorigen Monat": ("2026-10-01", "2026-10-31"),
    "vor drei Tagen": ("2026-11-22", "2026-11-22"),
    "vor einer Woche": ("2026-11-18", "2026-11-18"),
    "nächsten Monat": ("2026-12-01", "2026-12-31"),
    "上个月": ("2026-10-01", "2026-10-31"),
    "三天前": ("2026-11-22", "2026-11-22"),
    "下周": ("2026-11-30", "2026-12-06"),
    "来月": ("2026-12-01", "2026-12-31"),
    "friday": ("2026-11-20", "2026-11-20", "2026-11-27"),
    "24 November": ("2026-11-24", "2026-11-24", "2027-11-24"),
    "5 December": ("2025-12-05", "2025-12-05", "2026-12-05"),
    "March 2026": ("2026-03-01", "2026-03-31"),
    "Feb. 2025": ("2025-02-01", "2025-02-28"),
    "December": ("2025-12-01", "2025-12-31", "2026-12-01", "2026-12-31"),
    "März 2026": ("2026-03-01", "2026-03-31"),
    "2026年3月": ("2026-03-01", "2026-03-31"),
    "三月": ("2026-03-01", "2026-03-31", "2027-03-01", "2027-03-31"),
    "7d": ("2026-11-18", "2026-11-18", "2026-12-02"),
}


@pytest.mark.parametrize("text", WORDS)
def test_days_in_words(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULTMEM_NOW", "2026-11-25T10:00")
    first, last, *ahead = WORDS[text]
    assert days(text) == (first, last)
    assert days(text, ahead=True) == ((*ahead, *ahead)[:2] or (first, last))
    in_figures = day_range(text) is not None
    figures = text if in_figures else first
    assert day_filter("from", text) == Filter("from", figures)
    assert day_range(day_filter("to", text).value), "as an index reads it"
    ((before,), (after,)) = (parse(f'{field}:"{text}"').filters for field in ("before", "after"))
    assert (before.value, after.value) == (figures, figures if in_figures else last)


@pytest.mark.parametrize("day", ["01", "02", "30"])
def test_the_month_of_today_is_this_one(day: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULTMEM_NOW", f"2026-11-{day}T10:00")
    for ahead in (False, True):
        assert days("November", ahead=ahead) == ("2026-11-01", "2026-11-30")
        with pytest.raises(UsageError, match="must be a day"):
            days("days", ahead=ahead)


def test_a_filter_that_names_no_day_is_remarked_on() -> None:
    assert misread_days('lamp after:2026 "after:x" http://x before:"last week"') == []
    for one in ("After:last", 'before:"next wek"'):
        (remark,) = misread_days(f"lamp {one} week")
        assert remark.startswith(f"{one} names no day")


@pytest.mark.parametrize(
    "text",
    "banana|last banana|every friday|3/4|pm|day ago|of banana|friday lunch||2026-13".split("|"),
)
def test_what_is_not_understood_as_days_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="must be a day, a month or a year"):
        days(text)


@pytest.mark.parametrize(
    "text",
    [
        "", "2026-00", "2026-13", "2026-11-00", "2026-11-32", "2026-02-30", "2026-02-29", "2026-11-31",
        "1900-02-29", "26", "2026-1", "2026-11-21T10", "2026\n", "٢٠٢٦",
    ],
)  # fmt: skip
def test_what_is_no_day(text: str) -> None:
    assert day_range(text) is None


# --- Days in questions


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
    started = time.monotonic()
    assert not asks_before(" " * 20_000)
    assert time.monotonic() - started < 1, "it is not even looked at"


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
