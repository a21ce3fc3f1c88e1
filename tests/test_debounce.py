"""When a changed path is checked."""

import hypothesis.strategies as st
import pytest
from hypothesis import given

from vaultmem.agent.debounce import (
    EMPTY_WAIT,
    GONE_WAIT,
    LONGEST,
    QUIET,
    SHRUNK_WAIT,
    Debounce,
    settle_time,
)

NAMES = st.sampled_from(["a.md", "b.md", "folder", "计划.md"])


def test_a_note_written_continuously_is_still_read() -> None:
    pace, now = Debounce(), 0.0
    while not (taken := pace.take(now)):
        pace.touch("log.md", now)
        now += 0.1
    assert LONGEST <= now <= LONGEST + 0.2
    assert taken[0].last < now


def test_a_new_change_takes_precedence_over_a_planned_second_look() -> None:
    pace = Debounce()
    pace.touch("a.md", 0.0)
    (touch,) = pace.take(1.0)
    pace.touch("a.md", 1.1)
    pace.again(touch, 9.0)
    assert pace.due() == pytest.approx(1.1 + QUIET)
    pace.take(2.0)
    pace.again(touch, 9.0)
    pace.touch("a.md", 3.0)
    assert pace.due() == pytest.approx(3.0 + QUIET)


def test_only_unread_changes_count_as_behind() -> None:
    pace = Debounce()
    pace.touch("a.md", 0.0)
    pace.touch("b.md", 0.0)
    assert pace.behind() == 2
    one, other = pace.take(1.0)
    pace.again(one, 2.0, known=True)
    assert (len(pace), pace.behind()) == (1, 0)
    pace.again(other, 2.0)
    assert (len(pace), pace.behind()) == (2, 1)
    pace.touch("a.md", 1.1)
    assert pace.behind() == 2, "something has happened since"


@given(
    st.lists(
        st.tuples(NAMES, st.floats(0.0, 0.7), st.booleans(), st.booleans()), min_size=1, max_size=60
    )
)
def test_every_change_is_read_once_neither_early_nor_late(
    steps: list[tuple[str, float, bool, bool]],
) -> None:
    pace, now = Debounce(), 0.0
    first: dict[str, float] = {}
    last: dict[str, float] = {}

    def take() -> None:
        for touch in pace.take(now):
            since, until = first.pop(touch.path), last.pop(touch.path)
            assert now >= min(until + QUIET, since + LONGEST) - 1e-9
            assert touch.last == until
        for path, since in first.items():
            assert now < min(last[path] + QUIET, since + LONGEST) + 1e-9, path

    for path, pause, folder, looks in steps:
        now += pause
        pace.touch(path, now, folder=folder)
        first.setdefault(path, now)
        last[path] = now
        if looks:
            take()
    assert len(pace) == len(first)
    now += LONGEST
    take()
    assert not first


@pytest.mark.parametrize(
    ("size", "before", "moved", "patience"),
    [
        (None, 100, False, GONE_WAIT),
        (None, 100, True, 0.0),
        (0, 100, False, EMPTY_WAIT),
        (49, 100, False, SHRUNK_WAIT),
        (50, 100, False, 0.0),
        (0, 0, False, 0.0),
        (0, None, False, 0.0),
        (200, 100, False, 0.0),
    ],
)
def test_what_seems_to_be_gone_or_cut_off_gets_time(
    size: int | None, before: int | None, moved: bool, patience: float
) -> None:
    assert settle_time(size, before, moved=moved) == patience
