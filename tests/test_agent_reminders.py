"""The reminder thread notifies on the minute by an injected clock, whatever fails beside it; and the agent as a process
maintains pending.md: due items appear, ticked ones disappear, and each is notified once."""

import os
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.agent_run import Agent, agent_on, until
from vaultmem.agent import memory_threads as reminders
from vaultmem.agent.memory_threads import Reminders
from vaultmem.errors import VaultmemError
from vaultmem.pending.pending_page import Refreshed
from vaultmem.reminders.alarms import Planned

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)


class Scene:
    """A stand-in vault: it records when it was checked and what was shown."""

    def __init__(self) -> None:
        self.now = NOON
        self.unsettled = False
        self.told: list[datetime] = []
        self.looked = 0
        self.woke: list[datetime] = []
        self.exchanged = 0
        self.settled = 0
        self.coming: datetime | None = NOON + timedelta(minutes=5)
        self.fails: list[Exception] = []  # of the coming checks
        self.page_fails = False
        self.dreaming = threading.Event()  # while it is not set, settling waits
        self.dreaming.set()
        self.listing = threading.Event()  # while it is not set, listing the memories waits
        self.listing.set()
        self.notifier = SimpleNamespace(problem=None)
        self.record = SimpleNamespace(has_others=lambda: True)
        self.meanwhile: list[Callable[[Reminders], None]] = []  # during a check
        self.thread: Reminders

    def refresh(self, *_: object) -> Refreshed:
        self.looked += 1
        if self.page_fails:
            raise VaultmemError("the page cannot be written")
        return Refreshed(written=False, acks={}, problems=[])

    def notify(self, _: object, now: datetime) -> Planned:
        if self.fails:
            raise self.fails.pop()
        self.told.append(now)
        if self.meanwhile:
            self.meanwhile.pop()(self.thread)
        return Planned([], [], self.coming if self.coming and self.coming > now else None)

    def wake_up(self, now: datetime) -> None:
        self.woke.append(now)

    def exchange(self, *_: object) -> None:
        self.exchanged += 1

    def close(self) -> None:
        """Nothing to close."""

    # As the borrowed vault

    def searcher(self) -> Any:
        return SimpleNamespace(catalog=None)

    def ask(self, verb: str) -> dict[str, list[object]]:
        self.thread.changed()  # as the agent does after every write
        if verb == "pages":
            self.listing.wait(60)
            return {}
        self.dreaming.wait(60)
        self.unsettled = False
        self.settled += 1
        return {"done": [], "reopened": [], "skipped": []}


@pytest.fixture
def scene() -> Scene:
    return Scene()


@pytest.fixture
def running(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Reminders]]:
    monkeypatch.setattr(reminders, "LONGEST", 0.02)
    monkeypatch.setattr(reminders, "PAGE_QUIET", 0.01)
    monkeypatch.setattr(reminders, "RETRY", 0.01)
    made: list[Reminders] = []

    @contextmanager
    def lend() -> Iterator[Any]:
        yield scene

    def start() -> Reminders:
        thread = Reminders(lend, lambda: scene, lambda: True)  # type: ignore[arg-type,return-value] # a stand-in
        thread.now = lambda: scene.now
        made.append(thread)
        scene.thread = thread
        thread.start()
        return thread

    yield start
    for thread in made:
        thread.stop()
        thread.join(60)
        assert not thread.is_alive()


def test_reminders_come_at_their_time_and_not_before(
    scene: Scene, running: Callable[[], Reminders]
) -> None:
    running()
    until(lambda: scene.told == [NOON])
    scene.now = NOON + timedelta(minutes=4, seconds=59)
    assert scene.told == [NOON]
    scene.now = NOON + timedelta(minutes=5)
    until(lambda: scene.told == [NOON, scene.now])


def test_during_changes_pauses_exceed_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    at = 0.0
    monkeypatch.setattr(reminders, "time", SimpleNamespace(monotonic=lambda: at))
    thread = Reminders(None, None, None)  # type: ignore[arg-type] # it is not started
    thread.now = lambda: NOON
    thread._day, pauses = (NOON.date(), NOON.utcoffset()), []
    for thread._took in (0.5, 4.0, 60.0):
        thread._first_change = None
        begun = at
        thread.changed()
        while thread._pause_until_work() > 0:
            at += 0.5
            thread.changed()
        pauses.append(at - begun)
    assert pauses == [reminders.PAGE_AT_LATEST, reminders.PAUSES * 4.0, reminders.LONGEST_PAUSE]


def test_a_new_day_and_a_change_are_looked_at(
    scene: Scene, running: Callable[[], Reminders]
) -> None:
    scene.coming = None
    thread = running()
    until(lambda: scene.looked == 1)
    thread.changed()
    until(lambda: scene.looked == 2)
    scene.now = NOON + timedelta(days=1)
    until(lambda: scene.looked == 3)


def test_reminders_come_even_if_the_page_cannot_be_written(
    scene: Scene, running: Callable[[], Reminders]
) -> None:
    scene.page_fails = True
    thread = running()
    until(lambda: scene.told)
    until(lambda: thread.status()["troubles"] == ["the page cannot be written"])


def test_after_failures_it_goes_on_as_before(
    scene: Scene, running: Callable[[], Reminders]
) -> None:
    scene.fails = [VaultmemError("busy"), OSError("busy"), ValueError("a mistake")]
    thread = running()
    until(lambda: scene.told)
    until(lambda: thread._retry == reminders.RETRY)
    assert thread.status()["troubles"] == []


def test_it_says_that_it_woke_up_and_exchanges_while_nothing_happens(
    scene: Scene, running: Callable[[], Reminders], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reminders, "EXCHANGE", 0.05)
    scene.coming = None
    thread = running()
    until(lambda: scene.exchanged >= 2)
    assert (scene.woke, scene.looked) == ([NOON], 1)
    scene.now = NOON + timedelta(hours=3)
    scene.meanwhile = [Reminders.woke]  # the computer slept again while it worked
    thread.woke()
    until(lambda: scene.woke == [NOON, scene.now, scene.now])


def test_what_is_committed_during_its_work_is_announced_soon_after(
    scene: Scene, running: Callable[[], Reminders], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write is shown on the page and committed at about the same time; its work may have announced the rest by then."""
    monkeypatch.setattr(reminders, "TELL_WITHIN", 0.0)
    scene.meanwhile = [Reminders.tell_soon]
    running()
    until(lambda: scene.exchanged)


def test_a_running_dream_delays_no_reminder(scene: Scene, running: Callable[[], Reminders]) -> None:
    scene.unsettled = True
    scene.dreaming.clear()
    running()
    until(lambda: len(scene.told) == 1)
    scene.now = NOON + timedelta(minutes=5)
    until(lambda: len(scene.told) == 2)
    assert scene.settled == 0
    scene.dreaming.set()
    until(lambda: scene.settled == 1)


def test_what_is_answered_while_memories_are_listed_is_carried_out_afterwards(
    scene: Scene, running: Callable[[], Reminders]
) -> None:
    thread = running()
    until(lambda: scene.settled == 1 and not thread._settling.is_alive())  # type: ignore[union-attr]
    scene.listing.clear()
    for looks, is_answered in ((2, False), (3, True)):
        scene.unsettled = is_answered
        thread.changed()
        until(lambda looks=looks: len(scene.told) == looks)  # type: ignore[misc]
    assert scene.settled == 1
    scene.listing.set()
    until(lambda: scene.settled == 2)


def test_a_retry_is_not_reported_as_a_reminder(
    scene: Scene, running: Callable[[], Reminders], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reminders, "UNREACHED", 60.0)
    scene.coming, scene.notifier.problem = None, "there is no desktop session"
    thread = running()
    until(lambda: len(scene.told) == 1)
    scene.now += timedelta(seconds=61)
    until(lambda: len(scene.told) == 2)
    thread.stop()
    thread.join(60)
    assert thread.status() == {"next": None, "troubles": ["there is no desktop session"]}


# --- the agent as a process


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """State and settings for this test, and a vault with one task for today."""
    monkeypatch.setenv("VAULTMEM_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    vault = tmp_path / "vault"
    (vault / ".obsidian").mkdir(parents=True)
    return vault


def day(ahead: int = 0) -> str:
    return f"{datetime.now().astimezone() + timedelta(days=ahead):%Y-%m-%d}"


def page(vault: Path) -> str:
    file = vault / "vaultmem" / "pending.md"
    return file.read_text("utf-8") if file.exists() else ""


def shows(vault: Path, words: str) -> str:
    """Wait until the page has these words. Returns its line."""
    until(lambda: words in page(vault), what=f"{words} never came onto the page")
    return next(line for line in page(vault).splitlines() if words in line)


def loses(vault: Path, words: str) -> None:
    until(lambda: words not in page(vault), what=f"{words} never left the page")


def tick(vault: Path, words: str, box: str = "x") -> None:
    """As an editor does that writes a new file and renames it."""
    file = vault / "vaultmem" / "pending.md"
    lines = [
        line.replace("[ ]", f"[{box}]", 1) if words in line else line
        for line in file.read_text("utf-8").splitlines(keepends=True)
    ]
    beside = file.with_name(".pending.tmp")
    beside.write_text("".join(lines), "utf-8")
    os.replace(beside, file)


def test_a_task_comes_onto_the_page_and_leaves_it_when_it_is_ticked(own: Path) -> None:
    note = own / "todo.md"
    note.write_text(f"- [ ] water the plants 📅 {day()}\n- [ ] pay the rent 📅 {day(-3)}\n")
    before = note.read_bytes()
    with agent_on(own):
        assert f" {day()})" in shows(own, "water the plants")
        assert page(own).index("## Overdue") < page(own).index("pay the rent")
        tick(own, "water the plants")
        loses(own, "- [x]")
        assert note.read_bytes() == before
        asked = shows(own, "mark tasks of this note done")
        tick(own, asked)
        until(lambda: note.read_text().startswith("- [x] water the plants"))
        loses(own, "water the plants")
        note.write_text(note.read_text().replace("[ ] pay", "[x] pay"))
        loses(own, "pay the rent")
        assert "Nothing is pending." in page(own)


def test_what_is_dropped_stays_away_after_a_restart_and_without_the_state(
    own: Path, tmp_path: Path
) -> None:
    (own / "todo.md").write_text(f"- [ ] learn Latin 📅 {day(-1)}\n- [ ] pay 📅 {day()}\n")
    with agent_on(own) as agent:
        shows(own, "learn Latin")
        tick(own, "learn Latin", "-")
        loses(own, "learn Latin")
        agent.ends(signal.SIGKILL)
    os.rename(tmp_path / "state", tmp_path / "lost")
    (own / "more.md").write_text(f"- [ ] buy bread 📅 {day()}\n")
    with agent_on(own):
        shows(own, "buy bread")
        assert "learn Latin" not in page(own)


def test_what_was_missed_is_told_once_also_after_a_kill(own: Path) -> None:
    at = datetime.now().astimezone() - timedelta(minutes=5)
    (own / "todo.md").write_text(f"- [ ] call Anne (@{at:%Y-%m-%d %H:%M})\n")
    environ = {"VAULTMEM_NOTIFY_METHOD": "file"}

    def told(agent: Agent) -> int:
        file = agent.state / "notifications.log"
        return file.read_text("utf-8").count("call Anne") if file.exists() else 0

    with agent_on(own, **environ) as agent:
        until(lambda: told(agent) >= 1, what=f"it was never told: {agent.err()}")
        assert told(agent) == 1
        agent.ends(signal.SIGKILL)
    (own / "other.md").write_text(f"- [ ] tell Bob (@{at:%Y-%m-%d %H:%M})\n")
    with agent_on(own, **environ) as agent:
        log = agent.state / "notifications.log"
        until(lambda: "tell Bob" in log.read_text("utf-8"))
        assert told(agent) == 1


def test_an_empty_vault_gets_no_page(own: Path) -> None:
    (own / "note.md").write_text("Nothing to do here.\n")
    with agent_on(own) as agent:
        agent.watches()
        until(lambda: agent.status()["reminders"]["next"] is None)
        assert not (own / "vaultmem").exists()


def test_what_we_move_away_ourselves_is_no_loss_of_the_vault(own: Path) -> None:
    for number in range(10):
        (own / f"Note {number}.md").write_text(f"note {number}\n")

    def memory(agent: Agent, verb: str, **params: object) -> dict[str, str]:
        told: dict[str, str] = agent.call("memory", verb=verb, params=params)
        return told

    with agent_on(own) as agent:
        agent.watches()
        made = [memory(agent, "write", content=f"quokka number {n}")["id"] for n in range(40)]
        until(lambda: len(agent.search("quokka")) == 40)
        for one in made:
            memory(agent, "delete", id=one)
        until(lambda: not agent.search("quokka"), what="what was deleted is still found")
        assert agent.status()["vanished"] is None
        shutil.rmtree(own / "vaultmem")  # and it still counts as a loss
        for number in range(10):
            (own / f"Note {number}.md").unlink()
        until(lambda: agent.status()["vanished"])
        waits = agent.call("memory", verb="pending", params={})["items"]
        assert any("files are gone" in wait["text"] or "empty" in wait["text"] for wait in waits)
