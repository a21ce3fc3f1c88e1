"""When a job is due: by its schedule, its last run and the clock."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from vaultmem.schedule import next_time
from vaultmem.text import times
from vaultmem.text.times import Cron

DAY = 86_400.0
BERLIN = ZoneInfo("Europe/Berlin")
KOLKATA = ZoneInfo("Asia/Kolkata")
LORD_HOWE = ZoneInfo("Australia/Lord_Howe")  # changes its clocks by half an hour
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


def test_where_the_hour_is_open_no_hour_is_left_out() -> None:
    autumn = runs("*/15 * * * *", berlin(2026, 10, 25, 0), berlin(2026, 10, 26))
    assert len(autumn) == 25 * 4 - 1  # the first moment is the start and does not count
    assert len(set(autumn)) == len(autumn)
    spring = runs("*/15 * * * *", berlin(2026, 3, 29, 0), berlin(2026, 3, 30))
    assert len(spring) == 23 * 4 - 1
    half = runs("*/10 * * * *", datetime(2026, 4, 5, tzinfo=LORD_HOWE).timestamp(),
                datetime(2026, 4, 6, tzinfo=LORD_HOWE).timestamp(), LORD_HOWE)  # fmt: skip
    assert len(half) == 24 * 6 + 3 - 1


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
