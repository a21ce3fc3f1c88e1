"""Words that say when something is due: laws for any text, and small pure functions; durations and schedules as people
write them."""

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultmem.adapter import Note, Piece
from vaultmem.notes.places import folded_name
from vaultmem.reminders import schedules
from vaultmem.reminders.due import NOTE, Due, Schedule
from vaultmem.reminders.schedules import BEGAN, Place, Written, names_day
from vaultmem.text import times
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
        for each in schedule.due_at(NOW, {}, {}):
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
    (one,) = Schedule(due, "every month").due_at(datetime(2027, 1, 5, tzinfo=UTC), {}, {})
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
    (schedule,) = schedules.of_task(
        place(path, day, mtime, **met), {"text": "call tomorrow", "line": 1}, plain=True
    )
    assert schedule.due.due == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pill at 8:00 and 20:00 tomorrow", {"2026-11-23T08:00", "2026-11-23T20:00"}),
        ("Remind me to take the pills tomorrow at 8:00, 14:00 and 20:00",
         {"2026-11-23T08:00", "2026-11-23T14:00", "2026-11-23T20:00"}),
        ("water the plants at 7am and 7pm every day", {"2026-11-23T07:00", "2026-11-22T19:00"}),
        ("Tropfen morgen um 8 und 20 Uhr", {"2026-11-23T08:00", "2026-11-23T20:00"}),
        ("pill today at 8:00 and 20:00", {"2026-11-22T20:00"}),
        ("call tomorrow or on Friday at 9", {"2026-11-23"}),
        ("free on 1 Dec, 2 Dec and 3 Dec", set[str]()),
    ],
)  # fmt: skip
def test_the_times_of_day_that_words_list(text: str, expected: set[str]) -> None:
    times = schedules.of_task(place(), {"text": text, "line": 1}, plain=True)
    assert {each.due.due for each in times} == expected
    assert not times or "Remind" not in text or len(schedules.of_sentence(place(), 1, text)) == 3


# --- durations and schedules


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("7d", 604_800), ("168h", 604_800), ("60s", 60), ("5m", 300), ("1h30m", 5_400), ("2w", 1_209_600),
        ("90m", 5_400), (" 1H 30M ", 5_400), ("1s", 1), ("3660d", 316_224_000), ("1m1m", 120),
    ],
)  # fmt: skip
def test_spans(text: str, seconds: int) -> None:
    assert times.duration_seconds(text) == seconds


@pytest.mark.parametrize(
    "text",
    ["", "5", "m", "5 minutes", "-5m", "1.5h", "0s", "0h0m", "3661d", "9999999999w", "5m!", "٥m", "5m\n3", "1h-30m"],
)  # fmt: skip
def test_invalid_durations_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="a length of time"):
        times.duration_seconds(text)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.2, "less than a second"), (1, "1 second"), (59.6, "1 minute"), (61, "1 minute 1 second"),
        (5_400, "1 hour 30 minutes"), (86_400, "1 day"), (90_061, "1 day 1 hour"), (86_460, "1 day"),
        (1_209_600, "2 weeks"), (2_592_000, "30 days"), (-5, "less than a second"),
    ],
)  # fmt: skip
def test_spoken(seconds: float, said: str) -> None:
    assert times.format_duration(seconds) == said


@pytest.mark.parametrize(
    ("text", "field", "numbers"),
    [
        ("*/15 * * * *", "minute", [0, 15, 30, 45]),
        ("5-20/5 * * * *", "minute", [5, 10, 15, 20]),
        ("50/4 * * * *", "minute", [50, 54, 58]),
        ("0 1,5,3 * * *", "hour", [1, 3, 5]),
        ("0 0 * jan,DEC *", "month", [1, 12]),
        ("0 0 * * 7", "weekday", [0]),
        ("0 0 * * mon-fri", "weekday", [1, 2, 3, 4, 5]),
        ("0 0 * * fri-sun", "weekday", [0, 5, 6]),
        ("0 0 * * 5-7", "weekday", [0, 5, 6]),
        ("0 0 * * */2", "weekday", [0, 2, 4, 6]),
    ],
)
def test_cron_fields(text: str, field: str, numbers: list[int]) -> None:
    assert getattr(times.read_schedule(text), field) == numbers


@pytest.mark.parametrize(
    "text",
    [
        "", "daily", "@daily", "0 3 * *", "0 3 * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * 32 * *",
        "* * * 13 *", "* * * * 8", "* * * foo *", "*/0 * * * *", "5-1 * * * *", "1,,2 * * * *", "0 0 30 2 *",
        "0 0 31 4,6,9,11 *", "a b c d e", "0 0 L * *", "0 0 * * 1#2", "0 -1 * * *", "٣ 3 * * *", "5",
    ],
)  # fmt: skip
def test_what_is_no_schedule(text: str) -> None:
    with pytest.raises(ValueError, match=r"a length of time|a cron line"):
        times.read_schedule(text)


@given(st.text(max_size=30))
def test_any_text_is_a_schedule_or_a_clear_error(text: str) -> None:
    said = "a cron line"
    try:
        times.read_schedule(text)
    except ValueError as error:
        said = str(error)
    assert said.startswith(("a length of time", "a cron line"))


@given(st.integers(-(10**12), 10**13))
def test_a_fine_stamp_is_the_same_again(milliseconds: int) -> None:
    """A float is not exactly a thousandth: cut off, some became the millisecond before."""
    text = times.fine_stamp(milliseconds / 1000)
    at = times.seconds(text)
    assert at == milliseconds / 1000 == times.to_milliseconds(at)
    assert times.fine_stamp(at) == text
    assert times.to_milliseconds(at + 0.0004) == at
