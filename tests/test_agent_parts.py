"""The small parts of the agent: what is believed, how much may go, who steps aside, what is being done."""

from __future__ import annotations

import threading
import time

import pytest

from vaultmem.agent.gate import LONGEST_REST, SHORTEST_WORK, Gate
from vaultmem.agent.losses import WINDOW, Losses
from vaultmem.agent.patience import place_of, too_early
from vaultmem.agent.stage import Both, Stage
from vaultmem.compare import Diff, Known
from vaultmem.core.pace import EMPTY_WAIT, GONE_WAIT, Touch
from vaultmem.errors import VaultGoneError
from vaultmem.store.walk import Entry


def touch(path: str, last: float, *, folder: bool = False) -> Touch:
    return Touch(path, folder=folder, first=last, last=last, due=last)


def known(file: int, size: int = 100, inode: int = 0) -> Known:
    return Known(file, "note", size, 1, inode or file, 0)


def diff(put: dict[str, int], gone: list[str], before: dict[str, Known], inode: int = 999) -> Diff:
    entries = [Entry(path, size, 2, inode, path) for path, size in put.items()]
    return Diff(entries, [], {before[p].file: p for p in gone}, {}, {}, before)


def test_a_deletion_waits_and_is_looked_at_again_as_the_touch_it_was() -> None:
    before = {"a.md": known(1)}
    early, again = too_early(diff({}, ["a.md"], before), [touch("a.md", 10.0)], 10.3)
    assert early == {"a.md"}
    assert again == {touch("a.md", 10.0): 10.0 + GONE_WAIT}
    assert too_early(
        diff({}, ["a.md"], before), [touch("a.md", 10.0)], 10.0 + GONE_WAIT + 0.01
    ) == (set(), {})


def test_a_rename_is_no_deletion() -> None:
    before = {"a.md": known(1, inode=7)}
    touches = [touch("a.md", 10.0), touch("b.md", 10.0)]
    moved = Diff([Entry("b.md", 100, 2, 7, "b.md")], [], {1: "a.md"}, {}, {}, before)
    assert too_early(moved, touches, 10.3) == (set(), {})


def test_below_a_touched_folder_the_folder_is_looked_at_again() -> None:
    before = {"f/a.md": known(1), "f/b.md": known(2)}
    touches = [touch("f", 10.0, folder=True), touch("other.md", 1.0)]
    early, again = too_early(diff({}, ["f/a.md", "f/b.md"], before), touches, 10.3)
    assert early == {"f/a.md", "f/b.md"}
    assert again == {touches[0]: 10.0 + GONE_WAIT}


def test_an_emptied_note_waits_and_its_neighbour_does_not() -> None:
    before = {"a.md": known(1), "b.md": known(2)}
    touches = [touch("a.md", 10.0), touch("b.md", 10.0)]
    early, again = too_early(diff({"a.md": 0, "b.md": 90}, [], before), touches, 10.3)
    assert early == {"a.md"}
    assert again == {touches[0]: 10.0 + EMPTY_WAIT}


def test_a_name_in_another_form_of_unicode_is_the_same_touch() -> None:
    before = {"café.md": known(1)}
    touches = [touch("cafe\u0301.md", 10.0)]
    early, again = too_early(diff({}, ["café.md"], before), touches, 10.3)
    assert early == {"café.md"}
    assert list(again) == touches, "the disk's own spelling, by which it can be looked at"


def test_touches_make_a_place() -> None:
    place = place_of([touch("a.md", 1.0), touch("f", 1.0, folder=True)])
    assert place.files == {"a.md", "f"}, "a note may have taken the place of the folder"
    assert place.folders == {"f"}


def test_many_losses_in_little_time_are_not_believed() -> None:
    losses = Losses()
    for second in range(20):
        losses.check("/vault", 1, 100 - second, float(second))
    with pytest.raises(VaultGoneError, match="21 of 100"):
        losses.check("/vault", 1, 80, 20.0)


def test_the_same_losses_over_a_day_are() -> None:
    losses, left = Losses(), 100
    for hour in range(90):
        losses.check("/vault", 1, left, hour * 3600.0)
        left -= 1


def test_the_last_file_is_not_given_up() -> None:
    with pytest.raises(VaultGoneError):
        Losses().check("/vault", 1, 1, 0.0)


def test_losses_count_for_a_minute() -> None:
    losses = Losses()
    losses.check("/vault", 20, 100, 0.0)
    losses.check("/vault", 20, 80, WINDOW + 1.0)
    losses.forget()
    losses.check("/vault", 12, 60, WINDOW + 2.0)


def test_background_work_waits_for_an_answer_but_not_for_ever() -> None:
    gate = Gate()
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
    assert released.wait(5.0)
    thread.join()


def test_background_work_gets_half_of_the_time_under_steady_searching() -> None:
    gate = Gate()
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
    assert rested <= worked * 1.5


def test_requests_are_remembered_for_idleness() -> None:
    now = 100.0
    gate = Gate(clock=lambda: now)
    now = 250.0
    assert gate.last_request == 100.0
    with gate.answering():
        assert gate.last_request == 250.0


def test_a_failing_request_is_not_counted_for_ever() -> None:
    gate = Gate()
    with pytest.raises(ZeroDivisionError), gate.answering():
        1 / 0  # noqa: B018 - raises
    started = time.monotonic()
    for _ in range(100):
        gate.rest()
    assert time.monotonic() - started < 100 * LONGEST_REST / 2


def test_a_stage_tells_how_far_it_is() -> None:
    stage, other = Stage(), Stage()
    both = Both(stage, other)
    assert stage.told() is None
    both.stage("reading notes", 10)
    both.advance()
    both.advance(3)
    assert stage.told() == other.told() == {"stage": "reading notes", "done": 4, "total": 10}
    stage.end()
    assert stage.told() is None
