"""Words that say when something is due: laws for any text, and small pure functions."""

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultmem.adapter import Note, Piece
from vaultmem.notes.places import folded_name
from vaultmem.reminders import schedules
from vaultmem.reminders.due import NOTE, Due, Schedule
from vaultmem.reminders.schedules import BEGAN, Place, Written, names_day
from vaultmem_languages import intentions

NOW = datetime(2026, 11, 22, 10, tzinfo=UTC)
PIECES = st.sampled_from(
    ["remind", "me", "by", "due", "deadline", "before", "tomorrow", "Friday", "at 9", "2026-12-01", "9999-12-31", "5",
     "提醒", "记得", "截止", "明天", "前", "每周一", "下周五", ".", "。", "\n", "- ", "> ", "# ", "`", "```", "[[", "]]", "(",
     "“", "”", "%%", "{{", "\0", "é", "İ", "ﬃ", "every day", "[ ]", "::", "|"]
)  # fmt: skip
TEXTS = st.lists(PIECES | st.text(max_size=5), max_size=30).map(" ".join)


def place(path: str = "Plan.md", day: str = "", mtime: datetime = NOW, **met: str) -> Place:
    is_own = names_day(path, day)
    return Place(path, "Plan", False, Written(folded_name(path), day, mtime, met, is_own=is_own))


def note(text: str) -> Note:
    return Note("Plan", (Piece(text, 1, text.count("\n") + 1),))


@given(TEXTS)
def test_sentences_are_of_the_text(text: str) -> None:
    lines = text.split("\n")
    for line, found in intentions.sentences(note(text), text).items():
        assert all(each and each in lines[line - 1] for each in found)


@given(
    TEXTS,
    st.dates(date(2, 1, 1), date(9998, 1, 1)).map(lambda day: datetime.combine(day, NOW.timetz())),
)
def test_dates_found_in_text_are_never_in_the_past(text: str, written: datetime) -> None:
    for found in (intentions.moment(text, written), intentions.task_moment(text, written)):
        assert found is None or found.when.date() >= written.date()


@given(TEXTS)
def test_whatever_a_property_says(text: str) -> None:
    own = schedules.Own("a", "", False, True)
    found = schedules.of_properties(
        place(), {"due": text, "remind": [text, 1], "date": text, "repeat": text}, own
    )
    for schedule in found:
        for each in schedule.due_at(NOW, {}):
            assert datetime.fromisoformat(each.due)


@pytest.mark.parametrize(
    "text",
    [
        "remind. A5 " * 90_000,
        "remind. A " * 90_000,
        "[[" * 500_000 + " due 5",
        "{{" * 300_000 + " due 5",
        "by 5" * 250_000,
    ],
)
def test_of_much_text_only_so_much_is_kept(text: str) -> None:
    found = intentions.sentences(note(text), text)
    assert sum(map(len, found.values())) <= intentions.MOST
    assert all(len(each) < 1_000 for line in found.values() for each in line)


def test_each_repetition_reminds_as_long_before_as_the_first() -> None:
    due = Due("", NOTE, "a", "2026-11-30", "2026-11-28T18:00", "A.md", 0, "A", "every month", True)
    (one,) = Schedule(due, "every month").due_at(datetime(2027, 1, 5, tzinfo=UTC), {})
    assert (one.due, one.at) == ("2026-12-30", "2026-12-28T18:00")


@pytest.mark.parametrize(
    ("path", "day", "mtime", "met", "expected"),
    [
        ("Plan.md", "", NOW, {}, "2026-11-23"),
        ("2026-11-20.md", "2026-11-20", NOW, {}, "2026-11-21"),
        ("2026-11-20.md", "2026-11-20", NOW, {BEGAN: "2026-11-01T00:00"}, "2026-11-21"),
        ("Plan.md", "2026-11-20", NOW, {}, "2026-11-21"),  # there at the first check
        ("Plan.md", "2026-11-20", NOW, {BEGAN: "2026-11-01T00:00"}, "2026-11-23"),  # added since
        ("Plan.md", "no day", NOW, {}, "2026-11-23"),
    ],
)  # fmt: skip
def test_from_which_day_words_count(
    path: str, day: str, mtime: datetime, met: dict[str, str], expected: str
) -> None:
    schedule = schedules.of_task(
        place(path, day, mtime, **met), {"text": "call tomorrow", "line": 1}, plain=True
    )
    assert schedule
    assert schedule.due.due == expected
