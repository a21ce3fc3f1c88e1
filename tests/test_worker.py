"""The worker: each turn is remembered exactly once, in order, whoever is killed when; nobody waits for another's failure."""

from __future__ import annotations

import errno
import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agent_run import agent_on, until
from tests.kill_points import kill_everywhere
from tests.test_learning import Scripted
from vaultmem import Vault
from vaultmem.adapter.services import Question
from vaultmem.client import AgentError
from vaultmem.errors import ConfigError, StateError, VaultmemError
from vaultmem.vault.write import create as real_create
from vaultmem_chat import learning
from vaultmem_chat import worker as working
from vaultmem_chat.learning import Learned
from vaultmem_chat.turn_queue import Item, Turns
from vaultmem_chat.worker import Worker

ROOT = Path(__file__).parents[1]


@pytest.fixture
def opened(vault: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Vault]:
    monkeypatch.setenv("VAULTMEM_EMBEDDING_MODEL", "off")
    with Vault(str(vault)) as found:
        yield found


_seconds = (time.time() - 300 + number for number in itertools.count())


def speak(worker: Worker, user: str, assistant: str | None = "ok", conversation: str = "c") -> None:
    """One whole turn; each takes a second."""
    item = worker.turns.begin(conversation, user, next(_seconds))
    if assistant is None:
        worker.turns.close(item, next(_seconds))
    else:
        worker.turns.finish(item, assistant, next(_seconds))


def said(vault: Vault, conversation: str = "c") -> list[str]:
    return [one["content"] for one in vault.entries(conversation, ["turns"])]


def facts(vault: Vault, conversation: str = "c") -> list[str]:
    return sorted(one["content"] for one in vault.entries(conversation, ["facts"]))


def test_what_waits_is_remembered_in_order_and_gone_from_the_queue(opened: Vault) -> None:
    learned: list[Learned] = []
    worker = Worker(opened, on_learned=learned.append)
    for number in range(4):
        speak(worker, f"u{number}", f"a{number}")
    assert worker.work_once() == 4
    assert said(opened) == ["u0", "a0", "u1", "a1", "u2", "a2", "u3", "a3"]
    assert worker.turns.count() == 0
    assert worker.work_once() == 0
    assert [one.conversation for one in learned] == ["c"] * 4


def test_an_open_turn_holds_up_its_own_conversation_only(opened: Vault) -> None:
    worker = Worker(opened)
    first = worker.turns.begin("c", "first", next(_seconds))
    speak(worker, "second")
    speak(worker, "elsewhere", conversation="d")
    assert worker.work_once() == 1
    assert said(opened, "d") == ["elsewhere", "ok"]
    assert said(opened) == []
    worker.turns.finish(first, "done", next(_seconds))
    assert worker.work_once() == 2
    assert said(opened) == ["first", "second", "ok", "done"], "in the order in which it was said"


def test_the_thread_works_when_nudged_and_ends_when_told(
    opened: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(working, "LOOK", 60.0)
    told: list[Learned] = []
    worker = Worker(opened, on_learned=told.append)
    worker.start()
    worker.start()
    speak(worker, "one")
    worker.nudge()
    until(lambda: told)
    worker.stop(60.0)
    assert worker._loop._thread is not None
    assert not worker._loop._thread.is_alive()
    speak(worker, "two")
    worker.nudge()
    time.sleep(0.1)
    assert worker.turns.count() == 1


def test_a_model_that_takes_its_time_holds_no_lock_and_no_desk(opened: Vault) -> None:
    asked, go_on = threading.Event(), threading.Event()

    def slow(_: Question) -> object:
        asked.set()
        assert go_on.wait(60)
        return {"facts": ["User has a cat"]}

    model = Scripted(facts=slow)
    worker = Worker(opened, lambda _: model)
    speak(worker, "I have a cat")
    worker.start()
    worker.nudge()
    assert asked.wait(60)
    with Vault(opened.path) as other:
        other.write("Anne likes tea")
        other.converse("d", new=[{"role": "user", "content": "x"}])
        speak(worker, "meanwhile", conversation="d")
        assert said(other) == ["I have a cat", "ok"], (
            "both sides are there before any model is asked"
        )
    worker.stop(0.2)  # it comes back although the model has not answered
    assert not go_on.is_set()
    assert worker.turns.count() == 2, "it is left to the next one"
    go_on.set()


def test_what_is_said_while_a_model_takes_its_time_is_written_at_once(opened: Vault) -> None:
    asked, go_on = threading.Event(), threading.Event()

    def slow(_: Question) -> object:
        asked.set()
        assert go_on.wait(60)
        return {"facts": []}

    worker = Worker(opened, lambda _: Scripted(facts=slow))
    speak(worker, "I have a cat")
    worker.start()
    worker.nudge()
    assert asked.wait(60)
    speak(worker, "And a dog")
    speak(worker, "elsewhere", conversation="d")
    open_ = worker.turns.begin("e", "before the answer", time.time())
    worker.nudge()
    with Vault(opened.path) as other:
        until(lambda: said(other, "e") == ["before the answer"])
        assert said(other) == ["I have a cat", "ok", "And a dog", "ok"]
        assert said(other, "d") == ["elsewhere", "ok"]
        worker.turns.finish(open_, "the answer", time.time())
        worker.nudge()
        until(lambda: said(other, "e") == ["before the answer", "the answer"])
        go_on.set()
        until(lambda: worker.turns.count() == 0)
        assert said(other) == ["I have a cat", "ok", "And a dog", "ok"], "and not a second time"
    worker.stop(60.0)


def test_one_worker_at_a_time(opened: Vault) -> None:
    one, other = Worker(opened), Worker(opened)
    claim = one.turns.claim()
    assert claim is not None
    speak(one, "x")
    with claim:
        assert other.work_once() == 0
    assert other.work_once() == 1


def test_a_turn_that_cannot_be_remembered_is_put_aside_and_holds_up_nobody(
    opened: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(working, "REST", 0.0)
    real = learning.learn

    def learn(vault: Vault, item: Any, model: Any, *_: Any) -> Learned:
        if item.user == "poison":
            raise ValueError("a bug")
        return real(vault, item, model)

    monkeypatch.setattr(working, "learn", learn)
    worker = Worker(opened)
    speak(worker, "poison")
    speak(worker, "after", conversation="c")
    speak(worker, "other", conversation="d")
    speak(worker, "x", conversation="a\nb")
    for _ in range(working.TRIES):
        worker.work_once()
    assert said(opened, "d") == ["other", "ok"]
    worker.work_once()
    assert said(opened) == ["after", "ok"]
    assert len(worker.turns.broken()) == 2
    assert worker.turns.count() == 0


@pytest.mark.parametrize(
    "error",
    [
        StateError("disk full"),
        ConfigError("no number"),
        AgentError("busy", "it is busy"),
        VaultmemError("slow"),
    ],
)
def test_where_the_vault_or_the_agent_fails_turns_wait_for_as_long_as_it_takes(
    opened: Vault, monkeypatch: pytest.MonkeyPatch, error: VaultmemError
) -> None:
    worker = Worker(opened)
    speak(worker, "x")
    real = learning.learn
    monkeypatch.setattr(working, "learn", lambda *_: (_ for _ in ()).throw(error))
    for _ in range(3 * working.TRIES):
        assert worker.work_once() == 0
        _rested(worker)
    assert worker.turns.broken() == []
    monkeypatch.setattr(working, "learn", real)
    assert worker.work_once() == 1
    assert said(opened) == ["x", "ok"]


def _rested(worker: Worker) -> None:
    """As if the rest between two tries were over."""
    worker._failed = {key: (tries, -2 * working.REST) for key, (tries, _) in worker._failed.items()}


def test_each_turn_that_waits_is_read_about_once(
    opened: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = Worker(opened)
    many = 40
    for number in range(many):
        speak(worker, f"u{number}", conversation=f"c{number % 4}")
    reads: Counter[str] = Counter()
    real = Turns._read

    def read(self: Turns, name: str) -> Item | None:
        reads[name] += 1
        return real(self, name)

    monkeypatch.setattr(Turns, "_read", read)
    monkeypatch.setattr(
        working, "learn", lambda _, item, *__: Learned(item.conversation, [], [], [], False, False, "")
    )  # fmt: skip
    assert worker.work_once() == many
    assert max(reads.values()) <= 2, "once to work on it, once to see that it is the same still"


def test_a_listener_that_fails_changes_nothing(opened: Vault) -> None:
    def listener(_: Learned) -> None:
        raise ValueError("no")

    worker = Worker(opened, on_learned=listener)
    speak(worker, "x")
    assert worker.work_once() == 1
    assert worker.turns.count() == 0


def test_the_budget_of_calls_is_kept_and_costs_no_fact(
    opened: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAULTMEM_LLM_CALLS", "1")
    model = Scripted(facts={"facts": ["User has a cat"]}, reconcile=[])
    with Vault(opened.path) as vault:
        vault.converse("c", new=[{"role": "memory", "content": "User likes tea"}])
        learned: list[Learned] = []
        worker = Worker(vault, lambda _: model, learned.append)
        speak(worker, "I have a cat")
        worker.work_once()
    assert len(model.asked) == 1
    assert facts(opened) == ["User has a cat", "User likes tea"]
    assert "llm.calls" in learned[0].trouble


def test_an_undone_turn_does_not_come_back(opened: Vault) -> None:
    worker = Worker(opened)
    speak(worker, "hello there")
    [item] = worker.turns.waiting()
    worker.work_once()
    opened.undo(opened.history(conversations=True)[0]["commit"])
    assert said(opened) == []
    worker.turns.finish(item, "ok", time.time())
    worker.work_once()
    assert said(opened) == []


def test_killed_at_any_call_each_turn_is_there_exactly_once(vault: Path, opened: Vault) -> None:
    """From the beginning of a turn until it is done."""
    told = vault.parent / "told"

    def work() -> None:
        with Vault(str(vault)) as own:
            worker = Worker(own)
            item = worker.turns.begin("c", "I live in Lisbon.", time.time())
            told.write_text("begun")
            worker.turns.finish(item, "Nice.", time.time())
            told.write_text("finished")
            worker.work_once()

    def check() -> None:
        state = told.read_text() if told.exists() else ""
        worker = Worker(opened)
        worker.work_once()
        assert worker.turns.count() == 0
        assert worker.turns.broken() == []
        roles = Counter(
            one["role"] for one in opened.entries("c", ["turns", "facts"], deleted=True)
        )
        if state:
            assert roles["user"] == 1
            assert roles["memory"] == 1
        if state == "finished":
            assert roles["assistant"] == 1
        assert max(roles.values(), default=0) <= 1
        for path in vault.rglob("*.md"):
            path.unlink()
        told.unlink(missing_ok=True)

    assert kill_everywhere(work, check, step=5) > 60


CHILD = """
import sys, time
from vaultmem import Vault
from vaultmem.client import AgentError
from vaultmem_chat.worker import Worker
with Vault(sys.argv[1]) as vault:
    worker = Worker(vault)
    if sys.argv[2] == "speak":
        for number in range(20):
            item = worker.turns.begin(f"c{number % 3}", f"I live in City{sys.argv[3]}{number}.", time.time())
            worker.turns.finish(item, f"a{number}", time.time())
            print(number, flush=True)
    while True:
        worker.work_once()
        time.sleep(0.01)
"""


def test_killed_processes_lose_nothing_that_was_said_to_be_kept(vault: Path, opened: Vault) -> None:
    """Speakers and workers as processes of their own, killed at some moment, several times; with an agent between."""
    kept = 0
    with agent_on(vault):
        for lines, seconds in ((3, 0.0), (10, 0.05), (20, 0.4)):
            run = [sys.executable, "-c", CHILD, str(vault)]
            speaker = subprocess.Popen(
                [*run, "speak", "ABC"[lines % 3]], stdout=subprocess.PIPE, cwd=ROOT
            )
            other = subprocess.Popen([*run, "work"], cwd=ROOT)
            assert speaker.stdout
            kept += sum(bool(speaker.stdout.readline()) for _ in range(lines))
            time.sleep(seconds)
            for process in (speaker, other):
                os.kill(process.pid, signal.SIGKILL)
                process.wait()
            kept += len(speaker.stdout.read().splitlines())
            speaker.stdout.close()
        worker = Worker(opened)
        until(lambda: worker.work_once() or not worker.turns.count())
    assert kept >= 33
    found = [one for number in range(3) for one in opened.entries(f"c{number}", ["turns"])]
    by_role = Counter(one["role"] for one in found)
    assert kept <= by_role["assistant"] <= kept + 3
    assert by_role["assistant"] <= by_role["user"] <= kept + 3
    assert len({one["id"] for one in found}) == len(found)
    for number in range(3):
        living = facts(opened, f"c{number}")
        assert len(living) <= 1, "where somebody lives now is one fact"
        every = [one["content"] for one in opened.entries(f"c{number}", ["facts"], deleted=True)]
        assert len(every) == len(set(every))


def _once_now(worker: Worker) -> None:
    worker._failed = {
        key: (tries, 0.0 - working.REST * 2) for key, (tries, _) in worker._failed.items()
    }
    worker.work_once()


def test_what_cannot_be_written_now_waits_until_it_can(vault: Path, opened: Vault) -> None:
    for kind in ("turns", "facts"):
        blocked = vault / "vaultmem" / "entries" / kind / ".records" / kind
        blocked.parent.mkdir(parents=True)
        blocked.write_text("in the way", encoding="utf-8")
        worker = Worker(opened)
        speak(worker, "I live in Porto.", conversation=kind)
        for _ in range(working.TRIES + 1):
            _once_now(worker)
        assert (worker.turns.count(), worker.turns.broken()) == (1, [])
        blocked.unlink()
        _once_now(worker)
        assert worker.turns.count() == 0
        assert said(opened, kind) == ["I live in Porto.", "ok"]
        assert len(facts(opened, kind)) == 1


def test_a_disk_that_is_full_after_the_first_fact_costs_none(
    opened: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = itertools.count()

    def create(vault: str, path: str, *more: Any) -> None:
        if "/facts/" in path and next(made) >= 1:
            raise VaultmemError(f"{path} cannot be written") from OSError(errno.ENOSPC, "no space")
        real_create(vault, path, *more)

    class Reworded:
        """Says the same in other words each time it is asked."""

        asked = 0

        def ask(self, question: Question) -> object:
            if question.purpose != "facts":
                return {"decisions": []}
            self.asked += 1
            return {
                "facts": [
                    f"The user owns a boat, said {self.asked}",
                    f"The user has two cats, said {self.asked}",
                ]
            }

    model = Reworded()
    worker = Worker(opened, lambda _: model)
    speak(worker, "I own a boat and have two cats")
    with monkeypatch.context() as patched:
        patched.setattr("vaultmem.vault.batches.create", create)
        _once_now(worker)
    assert len(facts(opened)) == worker.turns.count() == 1
    _once_now(worker)
    assert facts(opened) == ["The user has two cats, said 1", "The user owns a boat, said 1"]
    assert (model.asked, worker.turns.count()) == (1, 0)
