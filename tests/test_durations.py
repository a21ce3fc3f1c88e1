"""Durations and schedules as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultmem.text import times
from vaultmem.text.times import Cron


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


def cron(text: str) -> Cron:
    read = times.read_schedule(text)
    assert isinstance(read, Cron)
    return read


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
    assert getattr(cron(text), field) == numbers


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
