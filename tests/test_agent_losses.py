"""What the agent believes about notes that are suddenly gone, and a clock that jumps."""

import re
import time
from datetime import datetime
from pathlib import Path

from tests.agent_run import Agent, agent_on, until
from tests.agent_vault import fill, no_settings, own, put, scratch
from tests.cli_run import one_line, process

__all__ = ["no_settings", "own", "scratch"]  # fixtures


SOON_BACK = "from vaultmem.agent import reconciler; reconciler.GONE_RETRY = 1.0"


def test_a_vault_that_vanishes_keeps_its_index(own: Path, scratch: Path) -> None:
    vault = fill(own / "vanishing", 50)
    put(vault / "Due.md", f"- [ ] call Anne 📅 {datetime.now().astimezone():%Y-%m-%d}\n")
    page = vault / "vaultmem" / "pending.md"
    (vault / "most").mkdir()
    for part in ("base0", "base1", "base2"):
        (vault / part).rename(vault / "most" / part)
    soon = "from vaultmem.vault import watch; watch.CHECK_EVERY = 0.5"
    with agent_on(vault, f"{soon}; {SOON_BACK}") as agent:
        agent.watches()
        until(page.exists)
        whole = agent.search("apple")
        away = vault.rename(own / "elsewhere")
        until(lambda: agent.status()["vanished"])
        assert agent.search("apple") == whole
        away.rename(vault)
        until(lambda: not agent.status()["vanished"])
        (vault / "most").rename(own / "kept")
        until(lambda: agent.status()["vanished"])
        assert agent.search("apple") == whole
        said = process("search", "apple", "--vault", str(vault), "--format", "json")
        assert "are gone from" in said.err
        shown = process("status", "--vault", str(vault), "--format", "text").out
        assert "--confirm-removals" in shown
        until(lambda: "are gone from" in page.read_text())
        (own / "kept").rename(vault / "most")
        until(lambda: not agent.status()["vanished"])
        until(lambda: "are gone from" not in page.read_text())
        agent.settles(scratch)


SOON_GONE = """
from vaultmem.agent import debounce, reconciler
debounce.GONE_WAIT, reconciler.GONE_RETRY, debounce.WINDOW = 0.4, 2.0, 3600.0
"""


def test_notes_that_go_one_after_the_other(own: Path, scratch: Path) -> None:
    vault = fill(own / "dwindling", 90)
    with agent_on(vault, SOON_GONE) as agent:
        agent.watches()
        for number in range(60):
            (vault / f"base{number % 3}" / f"Note {number}.md").unlink()
            if number % 10 == 9:
                until(lambda: agent.is_current() or agent.status()["vanished"])
                time.sleep(0.1)
        until(lambda: agent.status()["vanished"])
        left = agent.search("apple")
        assert len(left) >= 90 - 20
        refused = process("sync", "--no-embed", "--vault", str(vault))
        assert refused.code == 1
        assert "--confirm-removals" in one_line(refused)
        assert agent.search("apple") == left
        accepted = process("sync", "--no-embed", "--confirm-removals", "--vault", str(vault))
        assert accepted.code == 0, accepted.err
        assert len(agent.search("apple")) == 30
        assert agent.status()["vanished"] is None
        agent.settles(scratch)


JUMPING = """
import os, time
from vaultmem.agent import scheduler as clock
real, flag = time.time, os.environ["CLOCK_FLAG"]
def shown():
    return real() + (float(open(flag).read() or 0) if os.path.exists(flag) else 0.0)
time.time = shown
clock.Timing._field_defaults.update(now=shown, jitter=0.1, heartbeat=0.1)
"""


def jumps(agent: Agent) -> list[str]:
    """Which ways the clock went, by the log."""
    return re.findall(r"the clock went (\w+) by", agent.err())


def test_the_clock_may_jump(own: Path, tmp_path: Path, scratch: Path) -> None:
    """The computer sleeps, somebody sets the clock back, summer time ends: the agent compares everything and
    continues."""
    vault, flag = fill(own / "jumping", 20), tmp_path / "flag"
    with agent_on(
        vault, f"exec({JUMPING!r}, {{}})", CLOCK_FLAG=str(flag), TZ="Europe/Berlin"
    ) as agent:
        agent.watches()
        agent.call("jobs.run", name="expect")  # waits for the scheduler, which compares the clocks
        ways = ["forward", "back", "back", "forward"]
        for number, hours in enumerate((30, 29, -400, 0), 1):
            put(tmp_path / "new flag", str(hours * 3600.0)).rename(flag)
            until(lambda number=number: jumps(agent) == ways[:number])  # type: ignore[misc]
            put(vault / "Hour.md", f"hourglass{hours + 500}\n")
            agent.finds(f"hourglass{hours + 500}", "Hour.md")
        agent.settles(scratch)
