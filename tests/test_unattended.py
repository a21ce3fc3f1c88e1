"""A job that nobody watches asks before it archives much, or when the clock is strange; and of a fact that is about to be
archived because of its age, the page says so for seven days."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.cli_run import ran
from tests.index_dump import other_state
from vaultmem.agent import jobs
from vaultmem.agent.jobs import JOBS
from vaultmem.api import Vault
from vaultmem.errors import NoteNotFoundError
from vaultmem.index.state import State
from vaultmem.ledger import reads
from vaultmem.ledger.ledger import Ledger, Run, Runs
from vaultmem.memories.draft import HALTED

DAY = 86_400.0
HOUR = 3_600.0


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("VAULTMEM_EMBEDDING_MODEL", "off")
    monkeypatch.setenv("VAULTMEM_MEMORIES_HISTORY", "off")  # no test of it
    with other_state(tmp_path / "state"):
        yield


class Machine:
    """A computer with a clock that can be wrong, and the jobs of one vault."""

    def __init__(self, vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.vault = vault
        self.now = 1_795_000_000.0
        monkeypatch.setattr("time.time", lambda: self.now)

    def write(self, count: int, first: int = 0) -> None:
        with Vault(str(self.vault)) as opened:
            for number in range(first, first + count):
                opened.write(
                    f"Word{number} of the roof{number} and of boiler{number}",
                    memory_type="episodic",
                )
            opened.sync()

    def run(self, name: str) -> Run:
        with Vault(str(self.vault)) as opened:
            runs = Runs(jobs.ledger(str(self.vault)), lambda: self.now)
            runs.remember([name])
            return runs.carry_out(name, lambda: jobs.JOBS[name].run(opened))

    def archived(self) -> int:
        return len(list(self.vault.glob("vaultmem/archive/*.md")))

    def asks(self) -> list[dict[str, Any]]:
        with Vault(str(self.vault)) as opened:
            opened.ask("notify")
            found = opened.ask("pending")["items"]
        return [one for one in found if "tick if that is right" in one["text"]]

    def tick(self) -> None:
        page = self.vault / "vaultmem" / "pending.md"
        lines = page.read_text("utf-8").splitlines(keepends=True)
        ticked = [
            line.replace("- [ ]", "- [x]") if "tick if that is right" in line else line
            for line in lines
        ]
        assert ticked != lines
        page.write_text("".join(ticked), "utf-8")
        self.now += 60
        with Vault(str(self.vault)) as opened:
            opened.ask("notify")


@pytest.fixture
def machine(vault: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(vault, monkeypatch)


@pytest.mark.parametrize("name", ["expire", "consolidate"])
def test_a_clock_that_is_weeks_ahead_archives_nothing(machine: Machine, name: str) -> None:
    machine.write(3)
    assert machine.run(name).ok
    machine.now += 400 * DAY
    for _ in range(3):  # the wrong time does not become the usual one
        run = machine.run(name)
        assert not run.ok
        assert "the clock says 2027-12-2" in str(run.result)
        machine.now += 2 * HOUR
    assert machine.archived() == 0
    (asked,) = machine.asks()
    assert "ran last on 2026-11-18" in asked["text"]
    ledger = Ledger(State(str(machine.vault)).path("ledger.db"))
    (question,) = reads.findings(ledger, HALTED)
    del question["others"]  # as earlier versions wrote it
    reads.keep_findings(ledger, [HALTED], [question], machine.now)
    machine.now -= 400 * DAY
    assert machine.run(name).ok
    assert machine.asks() == []
    assert machine.archived() == 0


def test_a_computer_that_was_off_for_weeks_goes_on_when_a_person_says_so(machine: Machine) -> None:
    machine.write(3)
    for name in ("expire", "consolidate"):
        assert machine.run(name).ok
    machine.now += 60 * DAY
    assert not machine.run("expire").ok
    assert not machine.run("consolidate").ok
    assert len(machine.asks()) == 1
    machine.tick()
    assert machine.run("consolidate").ok
    assert machine.run("expire").ok
    assert machine.archived() == 3
    assert machine.asks() == []
    machine.now += 60 * DAY
    assert not machine.run("expire").ok, "one answer is for one time"


def test_a_job_takes_back_no_question_of_another(machine: Machine) -> None:
    """Of two that ran last on the same day the one that was due sooner is late, the other not yet."""
    machine.write(3)
    for name in ("expire", "consolidate"):
        assert machine.run(name).ok
    machine.now += 14 * DAY + 2 * HOUR
    for _ in range(2):
        assert not machine.run("expire").ok
        (asked,) = machine.asks()
        assert machine.run("consolidate").ok
        assert machine.asks() == [asked]
    machine.tick()
    assert machine.run("expire").ok


def test_a_job_that_would_archive_too_much_asks_first(machine: Machine) -> None:
    machine.write(20)
    machine.now += 10 * DAY  # past the end of the inbox's patience, within that of the clock
    run = machine.run("expire")
    assert run.ok is None, "it waits, and has not failed"
    assert "expire would archive 20 of 20 memories at once" in str(run.result)
    assert machine.archived() == 0
    (asked,) = machine.asks()
    assert "20 of 20" in asked["text"]
    machine.tick()
    assert machine.run("expire").ok
    assert machine.archived() == 20


def test_archiving_a_few_or_by_command_asks_nothing(machine: Machine) -> None:
    machine.write(4)
    machine.now += 10 * DAY
    machine.write(20, first=4)
    assert machine.run("expire").ok
    assert machine.archived() == 4
    machine.now += 10 * DAY
    with Vault(str(machine.vault)) as opened:
        opened.expire()
    assert machine.archived() == 24


FIRST = datetime(2031, 5, 1, 7)  # noqa: DTZ001 - the clock on the wall
ARCHIVING = ("expire", "decay", "consolidate")
NIGHTLY = ("expire", "upgrade", "decay", "consolidate", "dream")
FACT = "The spare key lies under the third flowerpot"


class Life:
    """A vault day by day: the nightly jobs, then the page in the morning."""

    def __init__(self, vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.vault, self._monkeypatch = vault, monkeypatch
        self.go(0)

    def go(self, day: int) -> None:
        self.day = day
        self._monkeypatch.setenv(
            "VAULTMEM_NOW", f"{FIRST + timedelta(day, hours=day > 0):%Y-%m-%dT%H:%M}"
        )

    def write(self, text: str, **options: str) -> str:
        with Vault(self.vault) as opened:
            return str(opened.write(text, **options)["id"])

    def night(self, day: int, jobs: tuple[str, ...] = NIGHTLY) -> list[str]:
        """The page's lines about facts that leave, on the morning of that day."""
        self.go(day)
        with Vault(self.vault) as opened:
            opened.sync()
            for name in jobs:
                JOBS[name].run(opened)
        return self.morning()

    def morning(self) -> list[str]:
        with Vault(self.vault) as opened:
            opened.sync()
            opened.ask("notify")
            opened.ask("settle")
            opened.ask("notify")
        page = self.vault / "vaultmem" / "pending.md"
        lines = page.read_text("utf-8").splitlines() if page.exists() else []
        return [line for line in lines if "leaves on" in line]

    def tick(self) -> None:
        page = self.vault / "vaultmem" / "pending.md"
        text = page.read_text("utf-8")
        assert "- [ ] leaves on" in text
        page.write_text(text.replace("- [ ] leaves on", "- [x] leaves on"), "utf-8")

    def lives(self, id_: str) -> bool:
        with Vault(self.vault) as opened:
            return id_ in {memory["id"] for memory in opened.memories()}


@pytest.fixture
def life(vault: Path, monkeypatch: pytest.MonkeyPatch) -> Life:
    return Life(vault, monkeypatch)


def day(number: int) -> str:
    return f"{FIRST + timedelta(days=number):%Y-%m-%d}"


FACTS: dict[str, tuple[dict[str, str], int]] = {  # how it is written, and on which day it leaves
    "The spare key lies under the third flowerpot": ({"expires": "10d"}, 10),  # on its own day
    "Parking is free on Weaver Street": ({"expires": "2d"}, 8),  # after that was shown long enough
    "Ada lends her ladder to neighbours": ({"decay": "contextual", "category": "knowledge"}, 12),
    "The choir meets in room nine": ({"category": "knowledge"}, 12),
    "Buses stop at the mill": ({}, 14),  # after a week in the inbox
}


def test_a_fact_leaves_after_seven_days(life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULTMEM_MEMORIES_DECAY_AFTER", "12d")
    monkeypatch.setenv("VAULTMEM_MEMORIES_FORGET", "all")
    ids = {text: life.write(text, **options) for text, (options, _) in FACTS.items()}
    told = {number: life.night(number, ARCHIVING) for number in range(1, 15)}
    for text, (_, leaves) in FACTS.items():
        said = {number: line for number, lines in told.items() for line in lines if text in line}
        assert [*said] == [*range(leaves - 7, leaves)], text
        assert all(f"leaves on {day(leaves)}" in line for line in said.values())
        assert not life.lives(ids[text])


def test_events_and_manual_expiry_need_no_notice(life: Life) -> None:
    event = life.write("Yesterday we walked around the weir", memory_type="episodic", expires="3d")
    fact = life.write(FACT, expires="3d")
    assert len(life.night(1, ARCHIVING)) == 1
    life.night(4, ARCHIVING)
    assert (life.lives(event), life.lives(fact)) == (False, True)
    with Vault(life.vault) as opened:
        opened.expire()
    assert not life.lives(fact)


def test_a_computer_that_was_off_and_a_new_index_do_not_cut_the_notice_short(life: Life) -> None:
    fact = life.write(FACT, expires="3d")
    assert len(life.night(0, ARCHIVING)) == 1
    monday = life.write("Bins go out on Mondays", expires="8d")
    with Vault(life.vault) as opened:
        opened.sync(rebuild=True)
    (line,) = life.night(10, ARCHIVING)  # off for ten days, in which both have ended
    assert f"leaves on {day(17)}" in line
    assert not life.lives(fact)
    assert life.night(16, ARCHIVING) == [line]
    assert (life.night(17, ARCHIVING), life.lives(monday)) == ([], False)


@pytest.mark.parametrize("late", [False, True], ids=["ticked", "ticked and off until it is over"])
def test_a_tick_keeps_it_and_can_be_undone(
    life: Life, monkeypatch: pytest.MonkeyPatch, late: bool
) -> None:
    monkeypatch.delenv("VAULTMEM_MEMORIES_HISTORY")
    fact = life.write(FACT, expires="9d")
    assert len(life.night(3, ARCHIVING)) == 1
    life.tick()
    if not late:
        assert life.morning() == []
    for number in (10, 20, 30):
        assert life.night(number, ARCHIVING) == []
    with Vault(life.vault) as opened:
        kept = opened.read(fact)
        assert (kept["expires_at"], kept["decay_policy"]) == (None, "stable")
        (done,) = [one for one in opened.history() if one["why"].startswith("kept: ")]
        assert (done["by"], done["kind"]) == ("you", "person")
        opened.undo(str(done["commit"]))
        assert opened.read(fact)["expires_at"] is not None


def test_what_was_snoozed_is_given_notice_again(life: Life) -> None:
    fact = life.write(FACT, expires="9d")
    (line,) = life.night(3, ARCHIVING)
    with Vault(life.vault) as opened:
        opened.snooze(line.rpartition("^")[2], "20d")
    assert life.night(13, ARCHIVING) == []
    (again,) = life.night(23, ARCHIVING)
    assert f"leaves on {day(30)}" in again
    assert (life.night(30, ARCHIVING), life.lives(fact)) == ([], False)


def test_what_is_private_is_not_quoted_and_no_assistant_keeps_or_sees_it(life: Life) -> None:
    life.write(FACT, expires="9d")
    file = next(life.vault.glob("vaultmem/inbox/*.md"))
    file.write_text(file.read_text("utf-8").replace("---\n", "---\nprivate: true\n", 1), "utf-8")
    (line,) = life.night(3, ARCHIVING)
    assert "(private)" in line
    assert "flowerpot" not in line
    with Vault(life.vault) as opened, pytest.raises(NoteNotFoundError, match="no pending item"):
        opened.done(line.rpartition("^")[2], by="codex")


def test_being_shown_anywhere_counts_as_use(life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = {
        how: life.write(text, decay="contextual", **options)
        for how, text, options in (
            ("nobody", "The boiler is from 1998", {"category": "knowledge"}),
            ("prompt", "The weir was repaired in 2029", {"category": "knowledge"}),
            ("page", "Prefer dark mode in every editor", {"category": "preferences"}),
        )
    }
    with Vault(life.vault) as opened:
        ids["bell"] = str(opened.remind("Water the ferns", at="2031-05-01T07:30")["id"])
        opened.sync()
    with monkeypatch.context() as patched:
        patched.setenv("VAULTMEM_PENDING_PATH", "off")
        patched.setenv("VAULTMEM_NOTIFY_METHOD", "file")
        patched.setenv("VAULTMEM_NOW", "2031-05-01T08:00")
        with Vault(life.vault) as opened:
            assert len(opened.ask("notify")["told"]) == 1
        assert ids["bell"] in Path(opened.state.path("told")).read_text("utf-8")
    hook = ("hook", "session-start", "--harness", "claude", "--vault", str(life.vault))
    assert "repaired" in ran(*hook, "--prompt", "When was the weir repaired?").out
    life.night(1, ("decay",))
    life.night(2, ("decay",))
    with Vault(life.vault) as opened:
        reads = {str(memory["id"]): memory["access_count"] for memory in opened.memories()}
        written = opened.dream(2)
    assert {how: reads[id_] for how, id_ in ids.items()} == {
        "nobody": 0, "prompt": 1, "page": 1, "bell": 1,
    }  # fmt: skip
    assert written["changes"]
    life.night(3, NIGHTLY)
    assert "Prefer" in ran(*hook).out
    with Vault(life.vault) as opened:
        assert not opened.dream(2)["changes"]  # a repeated notice changes no note
    monkeypatch.setenv("VAULTMEM_MEMORIES_FORGET", "all")
    for number in (33, 41):
        life.night(number, ("decay",))
    assert [how for how, id_ in ids.items() if not life.lives(id_)] == ["nobody"]


@pytest.mark.parametrize("forget", ["events", "all"])
def test_no_job_archives_a_reminder_that_is_due(
    life: Life, monkeypatch: pytest.MonkeyPatch, forget: str
) -> None:
    monkeypatch.setenv("VAULTMEM_MEMORIES_FORGET", forget)
    with Vault(life.vault) as opened:
        ids = {
            str(opened.remind(text, at=at, **options)["id"])
            for text, at, options in (
                ("Renew the lease", "2031-05-03", {}),
                ("Call the plumber", "2031-05-04T09:00", {"by": "codex"}),
                ("Grandmother's birthday", "2031-06-20", {"repeat": "every year"}),
                ("Water the ferns", "2031-05-05", {"repeat": "every Monday"}),
            )
        }
    ids.add(life.write("Remind me to return the drill on 6 May"))  # files itself as one
    life.write("Yesterday we walked around the weir", memory_type="episodic")
    for number in range(1, 66, 8):
        life.night(number)
    with Vault(life.vault) as opened:
        assert {str(memory["id"]) for memory in opened.memories()} == ids
        pending = {one["text"] for one in opened.ask("pending")["items"]}
    assert {"Renew the lease", "Call the plumber", "Water the ferns"} <= pending
