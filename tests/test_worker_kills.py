"""Workers that are killed, and disks that take nothing: each turn is remembered once."""

import errno
import itertools
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.agent_run import agent_on, until
from tests.kill_points import kill_everywhere
from tests.learned import facts, said, speak
from vaultmem import Vault
from vaultmem.adapter.services import Question
from vaultmem.errors import VaultmemError
from vaultmem.vault.write import create as real_create
from vaultmem_chat.learning import worker as working
from vaultmem_chat.learning.worker import Worker

pytestmark = pytest.mark.usefixtures("without_a_model")

ROOT = Path(__file__).parents[1]


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
            entry["role"] for entry in opened.entries("c", ["turns", "facts"], deleted=True)
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
from vaultmem_chat.learning.worker import Worker
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
    found = [entry for number in range(3) for entry in opened.entries(f"c{number}", ["turns"])]
    by_role = Counter(one["role"] for one in found)
    assert kept <= by_role["assistant"] <= kept + 3
    assert by_role["assistant"] <= by_role["user"] <= kept + 3
    assert len({one["id"] for one in found}) == len(found)
    for number in range(3):
        living = facts(opened, f"c{number}")
        assert len(living) <= 1, "where somebody lives now is one fact"
        every = [
            entry["content"] for entry in opened.entries(f"c{number}", ["facts"], deleted=True)
        ]
        assert len(every) == len(set(every))


def _once_now(worker: Worker) -> None:
    worker._failed = {
        key: (tries, 0.0 - working.REST * 2) for key, (tries, _) in worker._failed.items()
    }
    worker.work_once()


def test_a_disk_that_fills_up_costs_no_fact(opened: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
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
        patched.setattr("vaultmem.vault.write.create", create)
        _once_now(worker)
    assert len(facts(opened)) == worker.turns.count() == 1
    worker = Worker(
        opened, lambda _: model
    )  # of another process, which knows only what is on the disk
    assert worker.work_once() == 1
    assert facts(opened) == ["The user has two cats, said 1", "The user owns a boat, said 1"]
    assert (model.asked, worker.turns.count()) == (1, 0)


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


def test_a_removed_note_stays_away_and_is_not_learned(vault: Path, opened: Vault) -> None:
    worker = Worker(opened)
    item = worker.turns.begin("c", "I live in Porto.", time.time())
    worker.turns.close(item, time.time())
    worker._write_notes()
    [note] = opened.entries("c", ["turns"])
    (vault / note["path"]).unlink()
    worker.turns.finish(
        item, "Late.", time.time()
    )  # the server holds the turn as it was when it began
    assert Worker(opened).work_once() == 1
    assert (said(opened), facts(opened)) == (["Late."], [])
