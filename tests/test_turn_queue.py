"""The queue of turns: what was begun survives a kill, keeps its order, and is forgotten only when all of it is done."""

import json
import logging
import os
import stat
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.kill_points import kill_everywhere
from vaultmem.errors import StateError
from vaultmem.memories.conversation import derived_id
from vaultmem_chat.learning import turn_queue
from vaultmem_chat.learning.turn_queue import OPEN_FOR, Turns

ROOT = Path(__file__).parents[1]


@pytest.fixture
def turns(tmp_path: Path) -> Turns:
    return Turns(str(tmp_path / "turns"))


def files(turns: Turns) -> list[str]:
    """The files of items."""
    return sorted(name for name in os.listdir(turns.folder) if name.endswith(".json"))


def test_a_turn_goes_in_is_finished_and_is_done(turns: Turns) -> None:
    now = time.time()
    item = turns.begin("c", "hello", now, meta={"model": "m", "x": [1]})
    assert item.user_id == derived_id(item.id, "user")
    assert item.assistant_id == derived_id(item.id, "assistant")
    assert turns.waiting() == [item]
    assert item.is_open
    done = turns.finish(item, "hi", now + 1)
    [read] = turns.waiting()
    assert read == done
    assert (read.user, read.assistant, read.finished, read.model) == ("hello", "hi", now + 1, "m")
    assert not read.is_open
    assert turns.done(read)
    assert turns.waiting() == []
    assert turns.count() == 0


@pytest.mark.parametrize("text", ["", "日本 🎉", "a\x00b\x1b", "\ud800", "x" * 3_000_000, '"}\n{'])
def test_any_text_comes_back_as_it_was(turns: Turns, text: str) -> None:
    turns.finish(turns.begin("c", text, 1.0), text, 2.0)
    [read] = turns.waiting()
    assert (read.user, read.assistant) == (text, text)


def test_turns_keep_the_order_in_which_they_began_if_the_clock_goes_back(turns: Turns) -> None:
    for number, at in enumerate((100.0, 200.0, 50.0, 50.0, -1.0, 1e300)):
        turns.begin("c", str(number), at)
    turns.begin("c", "6", 300.0)
    assert [one.user for one in turns.waiting()] == list("0123456")


def test_a_turn_of_a_dead_namesake_is_over(turns: Turns, monkeypatch: pytest.MonkeyPatch) -> None:
    turns.begin("c", "x", time.time())
    assert turns.waiting()[0].is_open
    monkeypatch.setattr(turn_queue, "_BEGAN", time.time())  # it has started again
    assert not turns.waiting()[0].is_open


def test_an_answer_that_came_meanwhile_is_neither_done_nor_put_aside(turns: Turns) -> None:
    item = turns.begin("c", "x", time.time() - 2 * OPEN_FOR)
    [seen] = turns.waiting()
    turns.finish(item, "late", time.time())
    assert not turns.done(seen)
    turns.put_aside(seen, "no reason")
    assert turns.broken() == []
    [left] = turns.waiting()
    assert left.assistant == "late"
    turns.put_aside(left, "no reason")
    assert len(turns.broken()) == 1


def test_one_process_at_a_time_is_the_worker_and_a_killed_one_is_replaced(turns: Turns) -> None:
    with turns.claim() as is_first, turns.claim() as is_second:
        assert (is_first, is_second) == (True, False)
        with Turns(turns.folder).claim() as is_third:
            assert not is_third
    code = f"import os; from vaultmem_chat.learning.turn_queue import Turns; c = Turns({turns.folder!r}).claim(); c.__enter__(); os._exit(9)"
    subprocess.run([sys.executable, "-c", code], check=False, cwd=ROOT)
    with turns.claim() as is_ours:
        assert is_ours


WRONG: tuple[dict[str, object], ...] = (
    {"id": derived_id("other")}, {"user": 5}, {"began": "soon"}, {"assistant": ["x"]}
)  # fmt: skip


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"id": "x"}', b"[" * 100_000, *WRONG]
)
def test_a_damaged_file_is_set_aside_and_told_and_the_others_are_read(
    turns: Turns, data: bytes | dict[str, object], caplog: pytest.LogCaptureFixture
) -> None:
    """Also one under a false name or with wrong types."""
    turns.begin("c", "one", 1.0)
    path = Path(turns.folder) / turns.begin("c", "two", 2.0).name
    turns.begin("c", "three", 3.0)
    if isinstance(data, dict):
        data = json.dumps({**json.loads(path.read_text()), **data}).encode()
    path.write_bytes(data)
    with caplog.at_level(logging.ERROR, "vaultmem.turns"):
        assert [one.user for one in turns.waiting()] == ["one", "three"]
    assert len(caplog.records) == 1
    [kept] = turns.broken()
    assert Path(kept).read_bytes() == data
    assert [one.user for one in turns.waiting()] == ["one", "three"]
    assert turns.count() == 2


def test_nobody_else_can_read_it_and_no_link_is_followed(turns: Turns, tmp_path: Path) -> None:
    item = turns.begin("c", "x", 1.0)
    path = Path(turns.folder) / item.name
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(Path(turns.folder).stat().st_mode) == 0o700
    target = tmp_path / "target"
    target.write_text("mine")
    path.unlink()
    path.symlink_to(target)
    turns.waiting()
    assert target.read_text() == "mine"


def test_where_nothing_can_be_written_it_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    turns = Turns(str(tmp_path / "file" / "turns"))
    with pytest.raises(StateError):
        turns.begin("c", "x", 1.0)
    assert turns.waiting() == []


def test_many_threads_and_the_worker_lose_nothing(turns: Turns) -> None:
    wanted = 40
    seen: list[tuple[str, str | None]] = []

    def speak(number: int) -> None:
        turns.finish(turns.begin("c", f"u{number}", time.time()), f"a{number}", time.time())

    with ThreadPoolExecutor(wanted) as pool:
        spoken = [pool.submit(speak, number) for number in range(wanted)]
        while not all(each.done() for each in spoken) or turns.count():
            over = [one for one in turns.waiting() if not one.is_open and turns.done(one)]
            seen += [(one.user, one.assistant) for one in over]
    assert sorted(seen) == sorted((f"u{number}", f"a{number}") for number in range(wanted))


def test_killed_at_any_call_a_turn_that_was_begun_is_whole(tmp_path: Path) -> None:
    folder, told = tmp_path / "turns", tmp_path / "told"
    turns = Turns(str(folder))

    def work() -> None:
        item = turns.begin("c", "hello", time.time())
        told.write_text("begun")
        turns.finish(item, "hi", time.time())
        told.write_text("finished")
        [read] = turns.waiting()
        turns.done(read)
        told.write_text("done")

    def check() -> None:
        said = told.read_text() if told.exists() else ""
        found = turns.waiting()
        assert turns.broken() == []
        if said in ("begun", "finished"):
            assert [one.user for one in found] == ["hello"] or (said == "finished" and not found)
            assert not any(one.is_open for one in found), "its writer is gone"
        if said == "finished" and found:
            assert found[0].assistant == "hi"
        for one in found:
            turns.done(one)
        told.unlink(missing_ok=True)

    assert kill_everywhere(work, check) > 15
    assert files(turns) == []


def test_what_killed_writers_left_is_swept_away_in_time(turns: Turns) -> None:
    turns.begin("c", "x", 1.0)
    old, new = Path(turns.folder) / "a-1-1.tmp", Path(turns.folder) / "b-1-1.tmp"
    old.write_text("")
    new.write_text("")
    os.utime(old, (1.0, 1.0))
    with turns.claim():
        assert not old.exists()
        assert new.exists()
    assert turns.count() == 1
