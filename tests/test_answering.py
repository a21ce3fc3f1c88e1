"""What answers to pending items do to the record, to reminders and to tasks in their notes, how they are undone, and the
output of vaultmem done, drop and snooze, alone and through an agent."""

import datetime as dt
import os
from pathlib import Path

import pytest

from tests.agent_run import agent_on
from tests.answered import TASKS, Bench, Open, bench
from tests.cli_run import as_text, done, one_line, tree_hash
from tests.conftest import Write
from tests.index_dump import synced
from tests.tables import each_case
from vaultmem.errors import NoteNotFoundError, UsageError
from vaultmem.memories.item_answers import (
    DONE,
    DROPPED,
    OPEN,
    SNOOZED,
    approval_id,
    completion_id,
)

__all__ = ["bench"]  # fixtures

pytestmark = pytest.mark.usefixtures("without_a_model")

TODAY, TOMORROW = "2026-11-22", "2026-11-23"


def test_a_task_stays_open_in_its_note_until_the_person_says_so(bench: Open) -> None:
    on = bench()
    call = on.id("call Anne")
    said = on.answer(call)
    assert (said["changed"], said["was"], said["asks"]) == (True, OPEN, completion_id("Tasks.md"))
    assert on.text("Tasks.md") == TASKS
    assert not any(word.startswith("call Anne") for word in on.words())
    assert any("done there, too, from now on? call Anne" in word for word in on.words())
    ticked = on.answer(said["asks"])
    assert [one["path"] for one in ticked["carried_out"]] == ["Tasks.md"]
    assert on.text("Tasks.md") == TASKS.replace(
        "- [ ] call Anne 📅 2026-11-22", "- [x] call Anne 📅 2026-11-22 ✅ 2026-11-22"
    )
    on.later()
    assert not any("call Anne" in word for word in on.words())
    assert on.ask("settle") == {"done": [], "reopened": [], "skipped": [], "changes": []}


def test_a_tick_removed_in_the_note_stays_removed(bench: Open) -> None:
    on = bench("always")
    call = on.id("call Anne")
    on.answer(call)
    on.later()
    (on.folder / "Tasks.md").write_text(TASKS, newline="")
    on.later()
    settled = on.ask("settle")
    assert [one["due"] for one in settled["reopened"]] == [call]
    assert on.text("Tasks.md") == TASKS
    on.later()
    assert "call Anne" in on.words()
    assert not on.ask("settle")["reopened"]
    on.answer(call)
    assert "- [x] call Anne" in on.text("Tasks.md")


def test_a_backup_that_is_copied_back_opens_nothing(bench: Open) -> None:
    """Its notes have the times of their last edits; the box that a person unticks has the time of that."""
    on = bench("always")
    memory = on.ask("remind", content="water the plants", at="2026-11-23 09:00")
    with (on.folder / "Tasks.md").open("a") as file:
        file.write("- [ ] see the vet 📅 2026-11-22\n")
    files = {on.folder / path: on.text(path) for path in ("Tasks.md", memory["path"])}
    on.later()
    ids = {on.id("call Anne"), on.id("vet"), on.id("water")}
    for id_ in ids:
        (carried_out,) = on.answer(id_)["carried_out"]
        if carried_out["path"] != "Tasks.md":
            (on.folder / carried_out["path"]).unlink()
    on.later()
    for path, text in files.items():
        path.write_text(text, newline="")
        os.utime(path, (on.at.timestamp() - 3_600,) * 2)
    on.later()
    settled = on.ask("settle")
    assert ({one["due"] for one in settled["done"]}, settled["reopened"]) == (ids, [])
    assert on.text("Tasks.md").count("- [x]") == 2
    assert not (on.folder / memory["path"]).exists()
    on.later()
    assert not ids & {row.id for row in on.items()}
    assert not on.ask("settle")["done"]


def test_a_task_of_two_times_is_done_in_its_note_after_both(bench: Open, write: Write) -> None:
    text = "# Dog\n- [ ] walk the dog at 8:00 and 20:00 on 2030-11-23\n"
    path = write("Dog.md", text)
    on = bench("always")
    first, second = (row.id for row in on.items(5_000) if "dog" in row.text)
    on.answer(first)
    assert path.read_text() == text
    on.later()
    on.answer(second)
    assert "- [x] walk the dog" in path.read_text()
    on.later()
    path.write_text(text)  # by the person, who means both
    on.later()
    assert len(on.ask("settle")["reopened"]) == 1
    assert path.read_text() == text
    assert {first, second} <= {row.id for row in on.items(5_000)}


@pytest.mark.parametrize(("before", "after"), [("call Anne", "call Bob"), ("11-22", "12-24")])
def test_a_note_that_changed_meanwhile_is_left_alone(bench: Open, before: str, after: str) -> None:
    """Reworded, or put off."""
    on = bench("always")
    call = on.id("call Anne")
    changed = TASKS.replace(before, after)
    (on.folder / "Tasks.md").write_text(changed, newline="")
    said = on.answer(call)
    assert said["changed"]
    assert "changed meanwhile" in said["skipped"][0]["reason"]
    assert on.text("Tasks.md") == changed
    assert on.stated()[call] == DONE


def test_a_note_that_may_be_ticked_is_not_asked_about_again(bench: Open) -> None:
    on = bench()
    call, rent = on.id("call Anne"), on.id("pay rent")
    assert on.answer(call)["asks"] == on.answer(rent)["asks"] == completion_id("Tasks.md")
    assert sum("2 tasks" in word for word in on.words()) == 1
    on.answer(completion_id("Tasks.md"))
    assert on.text("Tasks.md").count("- [x]") == 2
    (on.folder / "Tasks.md").write_text(f"{TASKS}- [ ] feed the cat 📅 2026-11-22\r\n", newline="")
    on.later()
    said = on.answer(on.id("feed the cat"))
    assert (said["asks"], [one["path"] for one in said["carried_out"]]) == (None, ["Tasks.md"])
    assert "- [x] feed the cat" in on.text("Tasks.md")


@each_case(
    "given, until",
    [
        (None, TOMORROW), ("tomorrow", TOMORROW), ("2026-11-25", "2026-11-25"), ("3d", "2026-11-25"),
        ("2026-11-25 09:30", "2026-11-25T09:30"), ("tomorrow 9:00", "2026-11-23T09:00"), ("90m", "2026-11-22T11:30"),
        ("friday", "2026-11-27"), ("12/25", "2026-12-25"), ("12/25 at 8", "2026-12-25T08:00"), ("明天下午三点", "2026-11-23T15:00"), ("2w", "2026-12-06"),
    ],
)  # fmt: skip
def test_a_snooze_ends_at_the_day_or_time_given(bench: Open, given: str | None, until: str) -> None:
    on = bench()
    call = on.id("call Anne")
    assert on.answer(call, SNOOZED, until=given)["until"] == until
    assert "call Anne" not in on.words()
    assert on.answer(call, OPEN)["was"] == SNOOZED
    assert "call Anne" in on.words()


@each_case(
    "given, says",
    [
        *((one, '"until" must be') for one in ("yesterday", TODAY, "2026-11-22T09:59", "soon", "2026-02-30", "every day", "9" * 150)),
        ("3/4", '"3/4" may be 2027-03-04 or 2027-04-03'),
    ],
)  # fmt: skip
def test_a_snooze_until_no_future_day_is_refused(bench: Open, given: str, says: str) -> None:
    on = bench()
    with pytest.raises(UsageError, match=says):
        on.answer(on.id("call Anne"), SNOOZED, until=given)
    assert on.stated() == {}


def test_an_undone_and_redone_answer_in_a_note_that_was_renamed_is_listed_once(bench: Open) -> None:
    on = bench("never")
    on.answer(on.id("call Anne"))
    on.ask("notify")
    (on.folder / "Tasks.md").rename(on.folder / "Errands.md")
    on.later()
    on.ask("notify")
    for how, open_in in (("last", ["Errands.md:2"]), ("redo", []), ("last", ["Errands.md:2"])):
        report = on.ask("undo", **{how: True})
        assert [answer["text"] for answer in report["answers"]] == ["call Anne"]
        on.later()
        assert [item.source for item in on.items() if item.text == "call Anne"] == open_in


def test_an_id_may_be_shortened_and_has_to_be_known(bench: Open) -> None:
    on = bench()
    call = on.id("call Anne")
    for given in (call, f"^{call}", call.upper(), call[3:], call[:7], f" {call[3:7]}"):
        assert on.answer(given, SNOOZED)["id"] == call
    for given in (call[:6], "vm-", "", "vm-zzzzzz", "call Anne"):
        with pytest.raises((NoteNotFoundError, UsageError)):
            on.answer(given)
    with pytest.raises(NoteNotFoundError, match=f"did you mean {call}"):
        on.answer(f"{call[:-1]}0")
    with pytest.raises(NoteNotFoundError, match="vaultmem pending"):
        on.answer("vm-000000")
    with pytest.raises(UsageError):
        on.answer(call, "gone")


def test_a_dry_run_says_what_would_change_and_changes_nothing(bench: Open) -> None:
    on = bench("always")
    said = on.answer(on.id("call Anne"), dry_run=True)
    assert said["dry_run"]
    assert "+- [x] call Anne" in said["changes"][0]["diff"]
    assert on.text("Tasks.md") == TASKS
    assert on.stated() == {}
    on.ask("remind", content="water the plants", at="2026-11-23 09:00")
    on.later()
    water = on.id("water")
    on.answer(water)
    again = on.answer(water, OPEN, dry_run=True)
    assert [one["action"] for one in again["changes"]] == ["restore"]
    assert on.stated()[water] == DONE


def test_an_assistant_answers_and_does_not_approve(bench: Open, write: Write) -> None:
    write("Clippings/Offer.md", "- [ ] pay the fee 📅 2026-11-22\n")
    on = bench()
    call, fee = on.id("call Anne"), on.id("pay the fee")
    asks = on.answer(call, by="claude")["asks"]
    for question in (asks, approval_id(fee)):
        for state in (DONE, DROPPED, SNOOZED, OPEN):
            with pytest.raises(UsageError, match="only you can approve"):
                on.answer(question, state, by="claude")
    assert on.text("Tasks.md") == TASKS
    assert on.stated() == {call: DONE}
    assert on.answer(approval_id(fee))["changed"]
    assert "pay the fee" in on.words()


def test_answers_on_the_page_are_in_the_history_and_come_back_from_it(bench: Open) -> None:
    on = bench()
    on.ask("notify")
    page = on.folder / "vaultmem" / "pending.md"
    anne, rent = on.id("call Anne"), on.id("pay rent")
    lines = page.read_text("utf-8").splitlines(keepends=True)
    marks = {anne: "- [x]", rent: "- [>]"}
    ticked = [
        next((line.replace("- [ ]", mark) for id_, mark in marks.items() if id_ in line), line)
        for line in lines
    ]
    page.write_text("".join(ticked), "utf-8")
    on.ask("notify")
    assert not {"call Anne", "pay rent"}.intersection(on.words())
    on.ask("settle")
    entries = on.vault.history()
    assert sorted(entry["why"] for entry in entries) == [
        "done: call Anne", "snoozed until 2026-11-23: pay rent"
    ]  # fmt: skip
    assert {entry["kind"] for entry in entries} == {"person"}
    for waiting in (1, 2):
        on.later()
        on.ask("undo", last=True)
        on.ask("notify")
        assert len({"call Anne", "pay rent"}.intersection(on.words())) == waiting
    assert page.read_text("utf-8") == "".join(lines)


def test_an_assistant_drops_nothing_to_reach_what_it_may_answer(bench: Open, write: Write) -> None:
    write("Clippings/Offer.md", "---\nremind: 2026-11-20\nrepeat: every day\n---\npay the fee\n")
    on = bench()
    with pytest.raises(UsageError, match="only you can approve"):
        on.answer(on.id("Offer"), DROPPED, by="claude")
    catalog = on.vault.searcher().catalog
    shown = [due for due in on.store.pending.dues(catalog, on.at) if due.foreign]
    assert shown
    for due in shown:
        with pytest.raises(UsageError, match="only you can approve"):
            on.answer(approval_id(due.id), by="claude")


def test_a_vault_that_has_vanished_is_not_written_into(bench: Open) -> None:
    on = bench()
    call = on.id("call Anne")
    (on.folder / "Tasks.md").rename(on.folder.parent / "Tasks.md")
    catalog = on.vault.searcher().catalog
    on.store.pending.vanished = lambda: "the vault is empty"
    on.store.pending.refresh(catalog, on.at)
    on.store.pending.notify(catalog, on.at)
    on.answer(call)
    assert not (on.folder / "vaultmem").exists()
    assert on.stated()[call] == DONE
    on.ask("undo", last=True)
    assert not (on.folder / "vaultmem").exists()
    assert on.stated().get(call) != DONE


pytestmark = pytest.mark.usefixtures("without_a_model")

TODAY = dt.datetime.now().astimezone().date()


@pytest.fixture
def vault(vault: Path, write: Write) -> Path:
    """Two tasks for today."""
    write("Tasks.md", f"- [ ] call Anne 📅 {TODAY}\n- [ ] buy milk 📅 {TODAY}\n")
    synced(vault)
    return vault


def ids(vault: Path) -> dict[str, str]:
    """The ids of pending items, by their text."""
    on = Bench(vault)
    on.at = dt.datetime.now().astimezone()
    return {one.text: one.id for one in on.items()}


def test_each_item_has_its_line(vault: Path) -> None:
    known = ids(vault)
    call, milk = known["call Anne"], known["buy milk"]
    first, second = as_text(vault, "done", call, milk).out.splitlines()
    assert first.startswith(f"done: call Anne ({call}); still open in its note: vaultmem done vm-")
    assert second.startswith(f"done: buy milk ({milk})")
    asked = completion_id("Tasks.md")
    assert as_text(vault, "done", asked).out.endswith(f"({asked}); Tasks.md\n"), "once, for both"
    assert (vault / "Tasks.md").read_text().count("[x]") == 2
    assert as_text(vault, "done", asked, "--undo").out.startswith("open again: mark tasks of")
    assert (vault / "Tasks.md").read_text().count("[ ]") == 2
    assert as_text(vault, "done", call).out == f"done already: call Anne ({call})\n"
    assert as_text(vault, "drop", call, "--undo").out == f"open again: call Anne ({call})\n"
    assert as_text(vault, "drop", call).out == f"dropped: call Anne ({call})\n"
    assert as_text(vault, "done", milk, "--undo").out == f"open again: buy milk ({milk})\n"
    tomorrow = TODAY + dt.timedelta(days=1)
    assert as_text(vault, "snooze", milk).out == f"snoozed until {tomorrow}: buy milk ({milk})\n"
    later = as_text(vault, "snooze", milk[:7], "--until", "tomorrow 9:00").out
    assert later == f"snoozed until {tomorrow} 09:00: buy milk ({milk})\n"


def test_a_dry_run(vault: Path) -> None:
    call = ids(vault)["call Anne"]
    before = tree_hash(vault)
    assert as_text(vault, "done", call, "--dry-run").out == f"would be done: call Anne ({call})\n"
    assert done(vault, "done", call, "--dry-run")["items"][0]["dry_run"]
    assert tree_hash(vault) == before
    assert "call Anne" in ids(vault)
    as_text(vault, "done", call)
    undone = as_text(vault, "undo", "--last", "--dry-run")
    assert undone.out.endswith(f"  {call} would be open: call Anne\n")
    assert undone.err == ""


def test_what_is_wrong_is_said_and_the_others_are_answered(vault: Path, tmp_path: Path) -> None:
    known = ids(vault)
    call, milk = known["call Anne"], known["buy milk"]
    ended = as_text(vault, "done", "vm-000000", call)
    assert ended.code == 1
    assert f"done: call Anne ({call})" in ended.out
    assert "vaultmem pending" in ended.err
    wrong = [
        ("drop", (), "ID is missing"),
        ("snooze", (milk, "--until", "soon"), "--until must be"),
    ]
    wrong += [("snooze", (milk, day), f"did you mean --until {day}?") for day in ("friday", "3d")]
    wrong += [("snooze", (milk, "--until", until), "") for until in ("yesterday", " ")]
    for command, words, reason in wrong:
        refused = as_text(vault, command, *words)
        assert (refused.code, refused.out) == (2, "")
        assert reason in one_line(refused)
    (tmp_path / "new").mkdir()
    assert "vaultmem sync" in one_line(as_text(tmp_path / "new", "done", "vm-abcdef"))


def test_through_an_agent(vault: Path) -> None:
    known = ids(vault)
    with agent_on(vault) as agent:
        agent.watches()
        assert as_text(vault, "done", known["call Anne"]).out.startswith("done: call Anne")
        params = {"id": known["buy milk"], "state": "snoozed", "until": "3d"}
        assert agent.call("memory", verb="answer", params=params)["changed"]
        assert "call Anne" not in ids(vault)
        question = completion_id("Tasks.md")
        assert "only you can approve" in one_line(
            as_text(vault, "done", question, "--by", "claude")
        )
