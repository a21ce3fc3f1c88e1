"""Answers to reminders: they go to the archive and come back, and a repeating one continues until its series ends;
also answers in a Logseq graph."""

import os
import re
from datetime import datetime
from pathlib import Path

import pytest

from tests.answered import HOW, Bench, Open, bench
from tests.conftest import Write, fill
from tests.index_dump import synced
from vaultmem import Vault
from vaultmem.errors import UsageError
from vaultmem.memories.item_answers import DONE, DROPPED, OPEN, SNOOZED, completion_id

__all__ = ["bench"]  # fixtures

pytestmark = pytest.mark.usefixtures("without_a_model")


@pytest.mark.parametrize("state", [DONE, DROPPED])
@pytest.mark.parametrize("complete", ["ask", "never"])
def test_a_repeating_task_goes_on_without_a_tick(bench: Open, complete: str, state: str) -> None:
    on = bench(complete)
    before = on.text("Tasks.md")
    turns = ["2026-11-20", "2026-12-20", "2027-02-20"]  # one was missed during sleep
    for turn, answered in zip(turns, ["2026-11-22", "2027-02-01", "2027-02-21"], strict=True):
        on.at = datetime.fromisoformat(f"{answered}T10:00").astimezone()
        on.later()
        (rent,) = (row for row in on.items(99) if row.text == "pay rent")
        assert (rent.due, rent.repeat) == (turn, "every month")
        on.answer(rent.id if state == DONE else "Tasks.md:3", state)
    assert on.text("Tasks.md") == before
    (on.folder / "Tasks.md").rename(on.folder / "To do.md")
    on.later(100 * 24 * 60)
    on.store.pending.refresh(on.vault.searcher().catalog, on.at)
    assert [row.due for row in on.items(99) if row.text == "pay rent"] == ["2027-03-20"]


def test_a_note_that_is_ticked_later_catches_up(bench: Open) -> None:
    on = bench()
    for _ in range(2):
        (rent,) = (row for row in on.items(99) if row.text == "pay rent")
        on.answer(rent.id)
    on.answer(completion_id("Tasks.md"))
    on.later(24 * 60)
    on.ask("settle")  # as every night
    assert "[ ] pay rent 🔁 every month 📅 2027-01-20" in on.text("Tasks.md")
    assert on.text("Tasks.md").count("[x] pay rent") == 2


def test_an_item_snoozed_for_weeks_comes_back(bench: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULTMEM_NOTIFY_METHOD", "file")
    on = bench()
    on.ask("remind", content="stretch every week on Sunday at 8")
    on.ask("remind", content="read every day at 7", private=True)
    for name, text in {
        "Said.md": "Remind me to call the vet on 2026-11-29.\n",
        "Dated.md": "---\nscheduled: 2026-11-29\n---\n",
    }.items():
        (on.folder / name).write_text(text)
    on.later(7 * 24 * 60)
    wanted = {"stretch", "(private)", "Remind me to call the vet on 2026-11-29.", "Dated"}
    for item in on.items():
        if item.text in wanted:
            on.answer(item.id, SNOOZED, until="2027-01-07")  # a Thursday, long after all of them
    on.ask("notify")
    heard: dict[str, list[str]] = {}
    while on.at.date().isoformat() < "2027-01-08":
        on.later((6 if on.at.month == 1 else 24) * 60)
        for one in on.ask("notify")["told"]:
            heard.setdefault(one["title"], []).append(f"{on.at:%m-%d %H}")
        assert on.at.date().isoformat() >= "2027-01-07" or not wanted & {*on.words()}
    for name in ("stretch", "read", "Dated", "Remind me to call the vet on 2026-11-29."):
        assert heard[name] == ["01-07 10"]
    [stretch] = (item for item in on.items() if item.text == "stretch")
    assert stretch.due == "2027-01-07"
    on.answer(stretch.id)
    assert [item.due for item in on.items() if item.text == "stretch"] == ["2027-01-10T08:00"]


def test_a_snooze_is_what_lists_recalls_and_pages_say(bench: Open) -> None:
    on = bench()
    made = on.ask("remind", content="call the vet on 2026-11-29 at 15:00")
    (vet,) = (row for row in on.items(99) if row.text == "call the vet")
    on.answer(vet.id, SNOOZED, until="2026-12-04")
    on.later(1)
    assert on.ask("read", id=made["id"])["remind"] == "2026-12-04"
    recalled = on.ask("recall", query="when do I call the vet?")["memories"]
    assert [each["remind"] for each in recalled if "remind" in each] == ["2026-12-04"]
    assert on.ask("pages") == {"written": True}
    assert "call the vet]] (reminds on 2026-12-04)" in on.text("vaultmem/Memory.md")
    on.answer(vet.id, OPEN)
    on.ask("pages")
    assert "call the vet]] (reminds on 2026-11-29 15:00)" in on.text("vaultmem/Memory.md")
    assert on.ask("list")["memories"][0]["remind"] == "2026-11-29T15:00"
    on.ask("remind", content="stretch every day at 11:00")
    on.later(3 * 24 * 60)
    (stretch,) = (row for row in on.items(99) if row.text == "stretch")
    assert stretch.due == "2026-11-24T11:00", "its file has the first day"
    on.answer(stretch.id, SNOOZED, until="2026-12-04")
    assert on.ask("list")["memories"][0]["remind"] == "2026-12-04"


def test_a_deep_dream_leaves_the_words_of_reminders_alone(bench: Open) -> None:
    """Answers are matched by the words, and the page shows only the first line: two that differ in one word stay
    two."""
    on = bench()
    for what in ("venue", "caterer"):
        on.ask("remind", content=f"in two weeks ask Agnes how much we owe her for the new {what}")
    venue = on.id("venue")
    on.answer(venue, SNOOZED, until="2027-01-15")
    for memory in on.vault.memories():  # written then, by the clock of the test
        os.utime(on.folder / memory["path"], (on.at.timestamp(), on.at.timestamp()))
    on.later(2 * 24 * 60)
    on.ask("dream", level=3)
    on.later(14 * 24 * 60)
    assert on.id("venue") == venue
    assert on.id("caterer")
    on.vault.close()


def test_a_reminder_that_was_restored_is_open_again(bench: Open) -> None:
    on = bench()
    memory = on.ask("remind", content="water the plants", at="2026-11-23 09:00")
    on.later()
    water = on.id("water")
    on.answer(water)
    on.later()
    on.ask("restore", id=memory["id"])
    on.later()
    assert [one["due"] for one in on.ask("settle")["reopened"]] == [water]
    assert (on.folder / memory["path"]).exists()
    assert on.stated()[water] == OPEN


def test_an_answer_of_another_machine_is_taken_back(
    bench: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its history, which an undo would use, is on that machine only."""
    one = bench()
    memory = one.ask("remind", content="water the plants", at="2026-11-23 09:00")
    before = one.text(memory["path"])
    one.later()
    water = one.id("water")
    one.answer(water)
    monkeypatch.setenv("VAULTMEM_STATE", str(tmp_path / "of another machine"))
    synced(one.folder)
    other = Bench(one.folder)
    other.at = one.at
    other.later()
    would = other.answer(water, OPEN, dry_run=True)
    assert [change["target"] for change in would["changes"]] == [memory["path"]]
    assert not (other.folder / memory["path"]).exists()
    assert other.answer(water, OPEN)["restored"] == memory["path"]
    stamped = r"\1 updated_at=2026-11-22T10:02:00Z"
    assert other.text(memory["path"]) == re.sub(r"(created_at=\S+)", stamped, before)
    other.later()
    assert "water the plants" in other.words()


@pytest.mark.parametrize("state", [DONE, DROPPED])
def test_a_repeating_reminder_ends_with_its_series(bench: Open, state: str) -> None:
    on = bench()
    memory = on.ask("remind", content="water", at="2026-11-23 09:00", repeat="every day")
    on.later(2 * 24 * 60)
    first = on.id("water")
    on.answer(first, state)
    assert (on.folder / memory["path"]).exists()
    following = on.id("water")
    assert following != first
    assert "water" in on.words()
    tried = on.answer(following, DROPPED, series=True, dry_run=True)
    assert [one["action"] for one in tried["changes"]] == ["archive"]
    with pytest.raises(UsageError, match="was answered; name its next occurrence"):
        on.answer(first, DROPPED, series=True)
    ended = on.answer(following, DROPPED, series=True)
    assert (ended["changed"], len(ended["carried_out"])) == (True, 1)
    assert not (on.folder / memory["path"]).exists()
    on.later(24 * 60)
    assert "water" not in on.words()
    again = on.answer(following, OPEN)
    assert (again["was"], again["restored"]) == (DROPPED, memory["path"])
    on.later()
    assert not on.ask("settle")["done"]
    assert "water" in on.words()


def test_a_series_ends_in_the_second_in_which_an_answer_was_taken_back(bench: Open) -> None:
    on = bench()
    memory = on.ask("remind", content="water", at="2026-11-23 09:00", repeat="every day")
    on.later()
    water = on.id("water")
    on.answer(water)
    on.ask("undo", last=True)
    on.vault.sync()
    assert len(on.answer(water, DROPPED, series=True)["carried_out"]) == 1
    assert not (on.folder / memory["path"]).exists()


@pytest.mark.parametrize("state", [DONE, DROPPED, SNOOZED])
@pytest.mark.parametrize("repeat", ["every day", None])
def test_an_answer_is_one_entry_of_the_history_and_is_taken_back_with_its_files(
    bench: Open, state: str, repeat: str | None
) -> None:
    on = bench()
    on.ask("remind", content="water", at="2026-11-23 09:00", repeat=repeat)
    on.ask("write", content="Anne likes tea")

    def files() -> dict[str, bytes]:
        found = (on.folder / "vaultmem").rglob("*water*.md")
        return {str(path): path.read_bytes() for path in found}

    on.later()
    water, before = on.id("water"), files()
    on.answer(water, state)
    after = files()
    entries = [one["why"] for one in on.ask("history")["history"]]
    until = " until 2026-11-23" if state == SNOOZED else ""
    assert entries[:2] == [f"{state}{until}: water", "write Anne likes tea"]
    for verb, stated, there in (
        ({"last": True}, OPEN, before), ({"redo": True}, state, after), ({"last": True}, OPEN, before),
    ):  # fmt: skip
        [back] = on.ask("undo", **verb)["answers"]
        assert (back["id"], back["state"]) == (water, stated)
        assert (on.stated()[water], files()) == (stated, there)
        on.later()
        settled = on.ask("settle")
        assert (settled["done"], settled["reopened"]) == ([], [])
    on.answer(water, state)
    assert on.answer(water, OPEN)["was"] == state
    assert files() == before
    assert on.ask("undo", last=True)["undone"][0]["why"] == "write Anne likes tea"


def test_an_answer_that_an_undo_or_a_redo_brought_back_is_taken_back(opened: Vault) -> None:
    opened.remind("call Anne", at="tomorrow at 9")
    opened.sync()
    (item,) = opened.pending()
    for was, redone in ((SNOOZED, False), (DONE, True)):
        opened.snooze(item["id"], until="in 3 days")
        opened.done(item["id"])
        opened.undo(last=True)
        if redone:
            opened.undo(redo=True)
        opened.sync()
        taken_back = opened.reopen(item["id"])
        opened.sync()
        assert (taken_back["was"], taken_back["state"]) == (was, OPEN)
        left = [] if redone else [item["id"]]  # where it was done, the snooze before it holds again
        assert [row["id"] for row in opened.pending()] == left


def test_the_30th_of_each_month_is_the_last_day_of_a_shorter_one(bench: Open) -> None:
    on = bench()
    rule = "every month on the 30th"
    on.ask("remind", content=f"pay Ann {rule}")
    on.ask("remind", content="pay Bob", at="2026-12-30", repeat=rule)
    (on.folder / "Diary.md").write_text(f"Remind me to pay Eve {rule}.\n")
    on.later(70 * 24 * 60)  # the 31st of January
    for day in ("2027-01-30", "2027-02-28", "2027-03-30"):
        rows = [row for row in on.items(60) if row.repeat == rule]
        assert [row.due for row in rows] == [day] * 3
        for row in rows:
            on.answer(row.id)
        on.later()


def test_a_reminder_that_two_machines_move_on_at_once_is_listed_once(bench: Open) -> None:
    on = bench()
    file = on.folder / on.ask("remind", content="feed the dog every day at 8")["path"]
    ahead = file.read_text().replace("2026-11-23T08:00", "2026-11-25T08:00")
    file.with_name(f"{file.stem}.sync-conflict-20261123-100000-ABCDEFG.md").write_text(ahead)
    on.later(24 * 60)
    dog = [(row.due, row.title) for row in on.items() if row.text == "feed the dog"]
    assert dog == [("2026-11-23T08:00", "feed the dog")]


@pytest.mark.parametrize("state", [DONE, DROPPED])
def test_a_reminder_that_repeats_has_its_next_day_in_its_file(bench: Open, state: str) -> None:
    on = bench()
    pay = on.ask("remind", content="pay", at="2026-11-30 09:00", repeat="every month for 3 times")
    on.later(9 * 24 * 60)  # the 1st of December
    rule = "repeat: every month from 2026-11-30 for 3 times"
    for day in ("2026-12-30", "2027-01-30"):
        said = on.answer(pay["id"], state)
        assert said["carried_out"][0]["next"] == f"{day}T09:00"
        assert f'remind: "{day}T09:00"\n{rule}\n' in on.text(pay["path"])
    last = on.answer(pay["id"], state)
    assert "archive/" in last["carried_out"][0]["path"]


def test_a_rule_in_a_note_of_the_person_ends_and_the_note_stays(bench: Open, write: Write) -> None:
    write("Plan.md", "---\nremind: 2026-11-16\nrepeat: every week\n---\n")
    on = bench()
    plan = on.id("Plan")
    on.answer(plan, DROPPED, series=True)
    for days in (0, 8, 70):
        on.later(days * 24 * 60)
        on.ask("notify")
        assert "Plan" not in on.words()
    assert (on.folder / "Plan.md").exists()
    assert on.answer(on.id("Plan"), OPEN)["was"] == DROPPED
    assert "Plan" in on.words()
    with pytest.raises(UsageError, match="does not repeat"):
        on.answer(on.id("call Anne"), DROPPED, series=True)
    with pytest.raises(UsageError, match=r"repeats in its note, Tasks\.md:3; end it there"):
        on.answer(on.id("pay rent"), DROPPED, series=True)


def test_a_reminder_of_two_times_stays_until_both_are_answered(bench: Open) -> None:
    on = bench()
    made = on.vault.write("turn the compost", category="reminders")
    file = on.folder / made["path"]
    text = file.read_text().replace(
        "vaultmem: ", "remind:\n  - 2026-11-22\n  - 2026-11-25\nvaultmem: ", 1
    )
    file.write_text(text)
    on.later()
    catalog = on.vault.searcher().catalog
    first, second = (
        due.id for due in on.store.pending.dues(catalog, on.at) if "compost" in due.text
    )
    on.answer(first)
    assert file.exists()
    on.later()
    on.answer(second)
    assert not file.exists()


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    """A page of a Logseq graph, with a task in progress and another one."""
    folder = tmp_path / "graph"
    page = folder / "pages" / "Tasks.md"
    text = "- NOW water\n  SCHEDULED: <2026-11-21 Sat .+1w>\n- TODO call\n  DEADLINE: <2026-11-22 Sun>\n"
    synced(fill(folder, {"logseq/config.edn": "{}", "pages/Tasks.md": text}))
    return page


def test_logseq(tasks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HOW, "always")
    on = Bench(tasks.parent.parent)
    on.answer(on.id("water"))
    on.answer(on.id("call"))
    assert tasks.read_text() == (
        "- LATER water\n  SCHEDULED: <2026-11-29 Sun .+1w>\n- DONE call\n  DEADLINE: <2026-11-22 Sun>\n"
    )


def test_a_file_of_the_name_of_a_memory_that_is_gone_is_another(bench: Open) -> None:
    on = bench()
    first = on.ask("write", content="Anne likes tea", category="people")
    file = on.folder / first["path"]
    on.ask("dream", level=1)
    file.unlink()
    on.later(60)
    on.ask("dream", level=1)
    file.parent.mkdir(exist_ok=True)  # dreams remove empty folders
    file.write_text("Anne is my dentist\n")
    on.later(60)
    on.ask("dream", level=1)
    on.later(60)
    texts = [path.read_text() for path in (on.folder / "vaultmem/people").iterdir()]
    assert ["is my dentist" in text for text in texts] == [True]
    assert first["id"] not in texts[0]
