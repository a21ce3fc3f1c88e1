"""A notification is recorded before it is shown, so that nobody gets it twice, whatever fails or dies in between."""

import logging
import os
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from vaultmem import config
from vaultmem.errors import NotificationError, StateError
from vaultmem.index.state import State
from vaultmem.notes.dialects import open_rulebook
from vaultmem.reminders import alarms
from vaultmem.reminders.alarms import Alarm, Notifier, Planned, notification_findings
from vaultmem.schedule import LocalZone
from vaultmem.synclog.log_entries import Notified


class Screen:
    """A desktop that records what it shows, or fails as told."""

    def __init__(self) -> None:
        self.shown: list[tuple[str, str, bool, str]] = []
        self.said: str | None = None
        self.asked = 0
        self.fails: list[str] = []

    def close(self) -> None:
        """Nothing to close."""

    def problem(self) -> str | None:
        self.asked += 1
        return self.said

    def send(self, title: str, body: str, urgent: bool = False, uri: str = "") -> None:
        if title in self.fails:
            raise NotificationError(f"{title} fails; mend it")
        self.shown.append((title, body, urgent, uri))


def alarm(name: str, path: str = "Days/Day one.md", note: str = "Day one") -> Alarm:
    told = Notified(f"vm-{name}", "2026-11-22T15:00:00Z", 1, "2026-11-22T15:00")
    return Alarm(name, "due today 15:00", urgent=False, records=(told,), path=path, note=note)


def planned(*names: str) -> Planned:
    return Planned([alarm(name) for name in names], [], None)


class Heard:
    """What was recorded as shown, in order, and what had been shown by then."""

    def __init__(self, screen: Screen) -> None:
        self.screen = screen
        self.kept: list[tuple[list[str], int]] = []

    def __call__(self, told: list[Notified]) -> None:
        self.kept.append(([one.id for one in told], len(self.screen.shown)))


@pytest.fixture
def screen() -> Screen:
    return Screen()


@pytest.fixture
def heard(screen: Screen) -> Heard:
    return Heard(screen)


def settings(vault: Path, **given: str) -> config.Config:
    given = {"method": "desktop", **given}
    environ = {f"VAULTMEM_NOTIFY_{name.upper()}": value for name, value in given.items()}
    return config.load(str(vault), {**os.environ, **environ})


def teller(vault: Path, screen: Screen, **given: str) -> Notifier:
    made = Notifier(settings(vault, **given), State(str(vault)), open_rulebook(str(vault), "auto"))
    made.__dict__["desktop"] = screen
    return made


def test_each_is_kept_before_it_is_shown(vault: Path, screen: Screen, heard: Heard) -> None:
    done = teller(vault, screen).notify(planned("a", "b"), heard)
    assert heard.kept == [(["vm-a"], 0), (["vm-b"], 1)]
    assert [one.title for one in done] == [one[0] for one in screen.shown] == ["a", "b"]


def test_what_cannot_be_kept_is_not_told(vault: Path, screen: Screen) -> None:
    def broken(_: list[Notified]) -> None:
        raise StateError("the ledger cannot be written")

    with pytest.raises(StateError):
        teller(vault, screen).notify(planned("a"), broken)
    assert screen.shown == []


def test_a_failure_does_not_stop_the_others_and_is_not_tried_again(
    vault: Path, screen: Screen, heard: Heard, caplog: pytest.LogCaptureFixture
) -> None:
    screen.fails = ["b"]
    tells = teller(vault, screen)
    with caplog.at_level(logging.WARNING):
        assert [one.title for one in tells.notify(planned("a", "b"), heard)] == ["a"]
        assert tells.problem == "b fails; mend it"
        tells.notify(planned("b"), heard)
    assert len(caplog.records) == 1  # not the same one again and again
    assert [ids for ids, _ in heard.kept] == [["vm-a"], ["vm-b"], ["vm-b"]]
    assert [one.title for one in tells.notify(planned("b", "c"), heard)] == ["c"]
    assert tells.problem is None


def test_where_nothing_can_be_shown_nothing_is_kept_for_another_machine_to_tell(
    vault: Path, screen: Screen, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    screen.said = "there is no desktop session; start the agent in one"
    tells = teller(vault, screen)
    for _ in range(5):
        assert tells.notify(planned("a"), heard) == []
    assert (heard.kept, screen.shown, screen.asked) == ([], [], 1)  # not asked at each check
    assert tells.problem == screen.said
    screen.said = None  # somebody has logged in
    now[0] = alarms.RETRY
    assert [one.title for one in tells.notify(planned("a"), heard)] == ["a"]
    assert tells.problem is None


def test_a_click_opens_the_note_or_the_page(vault: Path, screen: Screen, heard: Heard) -> None:
    together = Alarm("5 reminders", "a", urgent=True, records=())
    teller(vault, screen).notify(Planned([alarm("a"), together], [], None), heard)
    links = [one[3] for one in screen.shown]
    assert links == [
        "obsidian://open?vault=vault&file=Days%2FDay%20one.md",
        "obsidian://open?vault=vault&file=vaultmem%2Fpending.md",
    ]
    assert screen.shown[1][2]  # urgent


def test_doctor_hears_what_is_wrong_and_what_to_do(
    vault: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={tmp_path}/gone")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    state = State(str(vault))
    assert notification_findings(settings(vault, method="none"), state) == []
    assert notification_findings(settings(vault, method="file"), state) == []
    if sys.platform == "linux":
        ((what, advice),) = notification_findings(settings(vault, method="desktop"), state)
        assert what.startswith("reminders cannot be shown: there is no desktop session")
        assert "set notify.method to file" in advice
    Path(state.path(alarms.FILE)).mkdir(parents=True)
    ((what, advice),) = notification_findings(settings(vault, method="file"), state)
    assert "is not a file" in what
    assert "move it away" in advice


def test_the_file_is_in_the_state(vault: Path, heard: Heard) -> None:
    state = State(str(vault))
    Notifier(settings(vault, method="file"), state).notify(planned("a"), heard)
    assert Path(state.path("notifications.log")).read_text().endswith(" a (due today 15:00)\n")


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> None:
    if not hasattr(time, "tzset"):
        pytest.skip("the zone of this system cannot be set")
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    time.tzset()


@pytest.mark.usefixtures("berlin")
@pytest.mark.parametrize(
    ("moment", "shown"),
    [
        ("2026-03-29T00:59", "2026-03-29T01:59:00+01:00"),
        ("2026-03-29T01:00", "2026-03-29T03:00:00+02:00"),
        ("2026-10-25T00:30", "2026-10-25T02:30:00+02:00"),
        ("2026-10-25T01:30", "2026-10-25T02:30:00+01:00"),
        ("1960-01-01T12:00", "1960-01-01T13:00:00+01:00"),
    ],
)
def test_the_zone_of_the_computer_knows_when_clocks_are_set(moment: str, shown: str) -> None:
    at = datetime.fromisoformat(moment).replace(tzinfo=UTC)
    there = at.astimezone(LocalZone())
    assert there.isoformat() == shown
    assert there.astimezone(UTC) == at
    assert there.tzname() in ("CET", "CEST")
    assert abs(datetime.now(LocalZone()) - datetime.now(UTC)) < timedelta(minutes=1)
