"""Background work steps aside for requests, and says how far it is."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from vaultmem.agent.events import LONGEST_REST, SHORTEST_WORK, Both, StageProgress, Throttle


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
