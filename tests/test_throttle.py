"""Background work steps aside for requests, and says how far it is."""

from __future__ import annotations

import threading
import time

import pytest

from tests.effort import TRIES
from vaultmem.agent.events import LONGEST_REST, SHORTEST_WORK, Both, StageProgress, Throttle


def test_background_work_waits_for_an_answer_but_not_for_ever() -> None:
    gate = Throttle()
    gate.rest()  # nobody asks
    with gate.answering():
        started = time.monotonic()
        gate.rest()
        assert time.monotonic() - started >= LONGEST_REST * 0.9
    released = threading.Event()

    def background() -> None:
        gate.rest()
        released.set()

    with gate.answering():
        thread = threading.Thread(target=background)
        thread.start()
    assert released.wait(60)
    thread.join()


def test_background_work_gets_half_of_the_time_under_steady_searching() -> None:
    def gets_half() -> bool:
        gate = Throttle()
        worked = rested = 0.0
        with gate.answering():
            gate.rest()
            for _ in range(12):
                started = time.monotonic()
                time.sleep(SHORTEST_WORK * 1.2)
                worked += time.monotonic() - started
                started = time.monotonic()
                gate.rest()
                rested += time.monotonic() - started
            assert rested > 0
            for _ in range(1000):
                gate.rest()  # a thousand tiny pieces are one piece of work
        return rested <= worked * 1.5

    assert any(gets_half() for _ in range(TRIES))  # a busy machine wakes nobody in time


def test_requests_are_remembered_for_idleness() -> None:
    now = 100.0
    gate = Throttle(clock=lambda: now)
    now = 250.0
    assert gate.last_request == 100.0
    with gate.answering():
        assert gate.last_request == 250.0


def test_a_failing_request_is_not_counted_for_ever() -> None:
    gate = Throttle()
    with pytest.raises(ZeroDivisionError), gate.answering():
        1 / 0  # noqa: B018 - raises
    started = time.monotonic()
    for _ in range(100):
        gate.rest()
    assert time.monotonic() - started < 100 * LONGEST_REST / 2


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
