"""The agent as a process maintains pending.md: due items appear, ticked ones disappear, and each is notified once."""

import os
import shutil
import signal
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tests.agent_run import Agent, agent_on, until


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
