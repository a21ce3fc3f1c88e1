"""When a changed path is checked, and how background work steps aside for requests and says how far it is."""

from concurrent.futures import ThreadPoolExecutor

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
from vaultmem.agent.events import LONGEST_REST, SHORTEST_WORK, Both, StageProgress, Throttle

NAMES = st.sampled_from(["a.md", "b.md", "folder", "计划.md"])


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
def test_every_change_is_read_once_and_in_time(steps: list[tuple[str, float, bool, bool]]) -> None:
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


class Clock:
    """The time, and how long a gate has had somebody wait."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        self.waits: list[float] = []
        self.gate = Throttle(clock=lambda: self.now)
        monkeypatch.setattr(self.gate._changed, "wait_for", self._wait)

    def _wait(self, _: object, most: float) -> None:
        self.waits.append(most)
        self.now += most


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def test_background_work_waits_for_an_answer_but_not_for_ever(clock: Clock) -> None:
    clock.gate.rest()  # nobody asks
    assert clock.waits == []
    with clock.gate.answering():
        clock.gate.rest()
    assert clock.waits == [LONGEST_REST]
    gate = Throttle()
    with ThreadPoolExecutor(1) as pool:
        with gate.answering():
            background = pool.submit(gate.rest)
        background.result(60)


def test_background_work_gets_half_of_the_time_under_steady_searching(clock: Clock) -> None:
    with clock.gate.answering():
        clock.gate.rest()
        clock.waits.clear()
        for _ in range(12):
            clock.now += SHORTEST_WORK * 1.2
            clock.gate.rest()
        assert clock.waits == pytest.approx([SHORTEST_WORK * 1.2] * 12)
        for _ in range(1000):
            clock.gate.rest()  # a thousand tiny pieces are one piece of work
        assert len(clock.waits) == 12


def test_a_stage_tells_how_far_it_is() -> None:
    stage, other = StageProgress(), StageProgress()
    both = Both(stage, other)
    assert stage.as_dict() is None
    both.stage("reading notes", 10)
    both.advance()
    both.advance(3)
    assert stage.as_dict() == other.as_dict() == {"stage": "reading notes", "done": 4, "total": 10}
    stage.end()
    assert stage.as_dict() is None
