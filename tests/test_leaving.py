"""Before a job archives a fact because of its age, the page says so for seven days, and a tick keeps it."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tests.cli_run import ran
from tests.index_dump import other_state
from vaultmem.agent.jobs import JOBS
from vaultmem.api import Vault
from vaultmem.errors import NoteNotFoundError

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
def life(vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Life]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("VAULTMEM_EMBEDDING_MODEL", "off")
    monkeypatch.setenv("VAULTMEM_MEMORIES_HISTORY", "off")  # no test of it
    with other_state(tmp_path / "state"):
        yield Life(vault, monkeypatch)


def day(number: int) -> str:
    return f"{FIRST + timedelta(days=number):%Y-%m-%d}"


FACTS: dict[str, tuple[dict[str, str], int]] = {  # how it is written, and on which day it leaves
    "The spare key lies under the third flowerpot": ({"expires": "10d"}, 10),  # on its own day
    "Parking is free on Weaver Street": ({"expires": "2d"}, 8),  # after that was shown long enough
    "Ada lends her ladder to neighbours": ({"decay": "contextual", "category": "knowledge"}, 12),
    "The choir meets in room nine": ({"category": "knowledge"}, 12),
    "Buses stop at the mill": ({}, 14),  # after a week in the inbox
}


def test_a_fact_leaves_after_seven_days_on_the_page(
    life: Life, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_being_shown_by_hook_page_or_notification_counts_as_use(
    life: Life, monkeypatch: pytest.MonkeyPatch
) -> None:
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
