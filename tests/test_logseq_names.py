"""Page titles from file names, journal days and keys (R-LS-1 to R-LS-3, R-LS-16)."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.effort import takes_less
from vaultmem_logseq.names import DayFormat, JournalDays, canonical, namespace, title_from_path


@pytest.mark.parametrize(
    ("path", "title", "legacy"),
    [
        ("pages/Work___Plan.md", "Work/Plan", "Work___Plan"),
        ("pages/a.b.md", "a.b", "a/b"),
        ("pages/old%2Fstyle.md", "old/style", "old/style"),
        ("CON___.md", "CON", "CON___"),
        ("pages/a______b.md", "a/b", "a______b"),
        ("pages/100%.md", "100%", "100%"),
        ("pages/%FF.md", "%FF", "%FF"),
        ("pages/contents.md", "Contents", "Contents"),
        ("pages/Cafe\u0301.md", "Café", "Café"),
    ],
)
def test_a_title_is_read_out_of_a_path_in_either_format(path: str, title: str, legacy: str) -> None:
    assert title_from_path(path, triple_lowbar=True) == title
    assert title_from_path(path, triple_lowbar=False) == legacy


def test_canonical_and_namespace() -> None:
    assert canonical(" /A/Cafe\u0301/ ") == "a/café"
    assert namespace("A/B/c") == "a/b"
    assert namespace("plain") is None
    assert namespace("https://x.org/y") is None
    assert namespace("../up") is None
    assert namespace("/lead") is None


DAYS = ["Nov 21st, 2026", "nov 21ST, 2026", "2026-11-21", "2026_11_21"]
NO_DAYS = ["2026-11-21 notes", "2026-02-30", "Nov 2026", "21", "2026/11/21", "x" * 200]


@pytest.mark.parametrize("title", [*DAYS, *NO_DAYS])
def test_every_spelling_of_a_day_is_one_and_no_other_title(title: str) -> None:
    wanted = "2026-11-21" if title in DAYS else None
    assert JournalDays("MMM do, yyyy", "yyyy_MM_dd").day(title) == wanted


@pytest.mark.parametrize(
    ("pattern", "title"),
    [
        ("MMM do, yyyy", "Nov 3rd, 2026"),
        ("do MMMM yyyy", "3rd November 2026"),
        ("EEE, dd.MM.yyyy", "Tue, 03.11.2026"),
        ("EEEE, MMMM d, yyyy", "Tuesday, November 3, 2026"),
        ("yyyy'年'M'月'd'日'", "2026年11月3日"),
        ("yyyy/MM/dd", "2026/11/03"),
        ("yyyyMMdd", "20261103"),
        ("dd-MM-yy", "03-11-26"),
    ],
)
def test_formats(pattern: str, title: str) -> None:
    assert DayFormat(pattern).title("2026-11-03") == title
    assert DayFormat(pattern).day(title) == "2026-11-03"


@pytest.mark.parametrize("pattern", ["yyyy" + "Md" * 20, "yyyyMd" + "E" * 40, "yyyyMd" + "-" * 60])
def test_a_format_of_many_ways_is_not_used(pattern: str) -> None:
    days = JournalDays(pattern, pattern)

    def read() -> None:
        assert days.day("2026" + "1" * 90) is None
        assert days.day_of_file("2026" + "1" * 90) is None
        assert DayFormat(pattern).day("2026" + "1" * 90) is None

    assert takes_less(0.5, read)
    assert (days.title("2026-11-03"), days.day_of_file("2026_11_03")) == (
        "Nov 3rd, 2026",
        "2026-11-03",
    )


@given(st.integers(0, 36524), st.sampled_from(["MMM do, yyyy", "EEEE d MMMM yyyy", "M.d.yyyy"]))
def test_what_a_format_writes_it_reads(offset: int, pattern: str) -> None:
    day = (date(1970, 1, 1) + timedelta(days=offset)).isoformat()
    assert DayFormat(pattern).day(DayFormat(pattern).title(day)) == day
