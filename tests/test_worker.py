"""The worker: each turn is remembered exactly once, in order, whoever is killed when; nobody waits for another's failure."""

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.agent_run import until
from tests.learned import SECONDS, Scripted, facts, said, speak
from vaultmem import Vault
from vaultmem.adapter.services import Question
from vaultmem.client import AgentError
from vaultmem.errors import ConfigError, StateError, VaultmemError
from vaultmem.memories.entries import ConversationFiles
from vaultmem.vault import files
from vaultmem_chat.learning import learning, turn_queue
from vaultmem_chat.learning import worker as working
from vaultmem_chat.learning.learning import Learned
from vaultmem_chat.learning.worker import Worker

pytestmark = pytest.mark.usefixtures("without_a_model")


def test_what_waits_is_remembered_in_order_and_gone_from_the_queue(opened: Vault) -> None:
    """By one worker at a time."""
    learned: list[Learned] = []
    worker, other = Worker(opened, on_learned=learned.append), Worker(opened)
    for number in range(4):
        speak(worker, f"u{number}", f"a{number}")
    with worker.turns.claim() as is_ours:
        assert is_ours
        assert other.work_once() == 0
    assert worker.work_once() == 4
    assert said(opened) == ["u0", "a0", "u1", "a1", "u2", "a2", "u3", "a3"]
    assert worker.turns.count() == 0
    assert worker.work_once() == 0
    assert [one.conversation for one in learned] == ["c"] * 4


def test_many_turns_are_written_in_one_go(opened: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[str] = []
    read = ConversationFiles._read
    monkeypatch.setattr(files, "TICK_NS", -1)  # all files count as settled
    monkeypatch.setattr(
        ConversationFiles, "_read", lambda self, file: reads.append(file.path) or read(self, file)
    )
    worker = Worker(opened)
    for number in range(6):
        speak(worker, f"u{number}", f"a{number}")
    worker._write_notes()
    assert len(reads) == len(set(reads)) >= 10
    assert len(said(opened)) == 12


def test_a_vault_that_is_away_is_named_in_one_line_and_no_turn_is_lost(
    opened: Vault, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(working, "LOOK", 0.05)
    worker, away = Worker(opened), Path(opened.path).with_name("away")
    speak(worker, "one")
    Path(opened.path).rename(away)
    worker.start()
    until(lambda: {"turns", "notes"} <= {record.threadName for record in caplog.records})
    assert not any(record.exc_info for record in caplog.records)
    away.rename(opened.path)
    until(lambda: worker.turns.count() == 0)
    worker.stop(60.0)
    assert said(opened) == ["one", "ok"]


def test_an_open_turn_delays_its_own_talk(opened: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn_queue, "_BEGAN", 0.0)
    worker = Worker(opened)
    first = worker.turns.begin("c", "first", next(SECONDS))
    speak(worker, "second")
    speak(worker, "elsewhere", conversation="d")
    assert worker.work_once() == 1
    assert said(opened, "d") == ["elsewhere", "ok"]
    assert said(opened) == []
    worker.turns.finish(first, "done", next(SECONDS))
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
    assert not any(loop.thread.is_alive() for loop in worker._loops)
    speak(worker, "two")
    worker.nudge()
    time.sleep(0.1)
    assert worker.turns.count() == 1


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
        other.write("Anne likes tea")  # no lock and no store is held meanwhile
        until(lambda: said(other, "e") == ["before the answer"])
        assert said(other) == ["I have a cat", "ok", "And a dog", "ok"]
        assert said(other, "d") == ["elsewhere", "ok"]
        worker.turns.finish(open_, "the answer", time.time())
        worker.nudge()
        until(lambda: said(other, "e") == ["before the answer", "the answer"])
        worker.stop(0.2)  # it comes back although the model has not answered
        assert worker.turns.count(), "what is not learned is left to the next one"
        go_on.set()
        worker.stop(60.0)
        Worker(opened).work_once()
        assert worker.turns.count() == 0
        assert said(other) == ["I have a cat", "ok", "And a dog", "ok"], "and not a second time"


def test_a_turn_that_fails_is_put_aside(opened: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(working, "REST", 0.0)
    real = learning.learn

    def learn(vault: Vault, item: Any, model: Any, *_: Any, **__: Any) -> Learned:
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
        StateError("disk full"), ConfigError("no number"), AgentError("busy", "it is busy"), VaultmemError("slow"),
    ],
)  # fmt: skip
def test_where_the_vault_or_the_agent_fails_turns_wait_for_as_long_as_it_takes(
    opened: Vault, monkeypatch: pytest.MonkeyPatch, error: VaultmemError
) -> None:
    worker = Worker(opened)
    speak(worker, "x")
    real = learning.learn
    monkeypatch.setattr(working, "learn", lambda *_, **__: (_ for _ in ()).throw(error))
    for _ in range(3 * working.TRIES):
        assert worker.work_once() == 0
        # as if the rest between two tries were over
        failed = worker._failed.items()
        worker._failed = {key: (tries, -2 * working.REST) for key, (tries, _) in failed}
    assert worker.turns.broken() == []
    monkeypatch.setattr(working, "learn", real)
    assert worker.work_once() == 1
    assert said(opened) == ["x", "ok"]


def test_a_budget_of_calls_costs_no_fact(opened: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
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
    monkeypatch.setenv("VAULTMEM_LLM_CALLS", "0")
    with Vault(opened.path) as vault:
        worker = Worker(vault, lambda _: model, learned.append)
        speak(worker, "My sister keeps bees.")
        worker.work_once()
    assert len(model.asked) == 1
    assert (learned[1].added, learned[1].trouble) == (["My sister keeps bees"], "")


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
