"""The background cost of a saved note is in proportion to the change, not to everything pending."""

import os
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from tests.cli_run import ran
from tests.conftest import Write
from tests.index_dump import synced
from tests.test_renames import in_process
from vaultmem.pending import pending_page, person_facts
from vaultmem.reminders import agenda, alarms, items, renames
from vaultmem.synclog import log_folder
from vaultmem.synclog.log_folder import LogFolder

NOW = datetime(2026, 11, 22, 12, 0).astimezone()
WORK = (
    (items, "_item_of"), (pending_page, "render"), (alarms, "plan"), (renames, "_meaning"),
    (log_folder, "answers_in"), (LogFolder, "publish"), (person_facts, "with_our_keys"),
)  # fmt: skip


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each function was called that checks all pending items."""
    monkeypatch.setenv("VAULTMEM_NOTIFY_METHOD", "file")
    calls = Counter[str]()

    def counted(function: Callable[..., Any], name: str) -> Callable[..., Any]:
        def call(*arguments: object, **options: object) -> object:
            calls[name] += 1
            return function(*arguments, **options)

        return call

    for place, name in WORK:
        monkeypatch.setattr(place, name, counted(getattr(place, name), name))
    return calls


def test_a_save_looks_at_what_it_changed(vault: Path, write: Write, work: Counter[str]) -> None:
    lines = (f"- [ ] task {at} 📅 2026-11-{at % 5 + 20}\n" for at in range(30))
    write("Tasks.md", "".join(lines))
    write("vaultmem/preferences/Tea.md", "---\nid: tea\n---\nI prefer green tea.\n")
    write("Other.md", "one\n")
    waiting, catalog = in_process(vault)
    for _ in range(3):  # to list items, to notify, and to inform other machines
        for page in (vault / "vaultmem").glob("sync/*"):
            os.utime(page, (1_700_000_000,) * 2)
        waiting.refresh(catalog, NOW)
        waiting.notify(catalog, NOW)
    assert {*work} == {name for _, name in WORK}
    work.clear()
    write("Other.md", "one\ntwo\n")
    synced(vault)
    waiting.refresh(catalog, NOW + timedelta(minutes=1))
    waiting.notify(catalog, NOW + timedelta(minutes=1))
    assert not work
    write("Other.md", "- [ ] another 📅 2026-11-22\n")
    synced(vault)
    waiting.refresh(catalog, NOW + timedelta(minutes=2))
    assert "another" in (vault / "vaultmem" / "pending.md").read_text("utf-8")
    assert [one.title for one in waiting.notify(catalog, NOW + timedelta(minutes=2)).alarms] == [
        "another"
    ]


def test_notify_without_the_agent_reads_what_is_due_once(
    vault: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("Tasks.md", "- [ ] task 📅 2026-11-22\n")
    reads = []
    real = agenda.notes_with_times

    def counted(*arguments: Any) -> list[agenda.DueNote]:
        reads.append(arguments)
        return real(*arguments)

    monkeypatch.setattr(agenda, "notes_with_times", counted)
    assert ran("notify", "--vault", str(vault)).code == 0
    assert len(reads) == 1


@pytest.mark.usefixtures("work")
def test_in_another_time_zone_a_day_begins_at_its_own_time(vault: Path, write: Write) -> None:
    """Though nothing else has changed on the way there."""
    write("Tasks.md", "- [ ] call Anne 📅 2026-11-23\n")
    waiting, catalog = in_process(vault)
    for hours in (1, 1, 8, 1):
        zone = timezone(timedelta(hours=hours))
        begins = waiting.notify(catalog, NOW.astimezone(zone)).next
        assert begins == datetime(2026, 11, 23, 9, tzinfo=zone)
