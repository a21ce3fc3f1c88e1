"""The query language: nothing that a person types is an error, and each operator does what its help says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    plain,
)
from vaultmem.text.times import day_range
from vaultmem.text.values import normalize_text

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
