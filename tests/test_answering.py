"""What answers to pending items do: to the record, to reminders, to tasks in their notes; and how they are taken back."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Write
from tests.index_dump import synced
from vaultmem import Vault
from vaultmem.api.rpc import Reader, carry_out
from vaultmem.errors import NoteNotFoundError, UsageError
from vaultmem.memories.arguments import Arguments
from vaultmem.memories.item_answers import (
    DONE,
    DROPPED,
    OPEN,
    SNOOZED,
    Answer,
    approval_id,
    completion_id,
)
from vaultmem.memories.ledger import Ledger
from vaultmem.reminders import answering, carrying, review_sources
from vaultmem.reminders.desk import Desk

NOW = dt.datetime(2026, 11, 22, 10, 0).astimezone()
TODAY, TOMORROW = "2026-11-22", "2026-11-23"
HOW = "VAULTMEM_PENDING_COMPLETE_IN_NOTES"
TASKS = (
    "# Tasks\r\n- [ ] call Anne 📅 2026-11-22\r\n- [ ] pay rent 🔁 every month 📅 2026-11-20\r\n"
)


@pytest.fixture(autouse=True)
def without_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULTMEM_EMBEDDING_MODEL", "off")


class Bench:
    """A vault with its desk at a moment that is given."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.vault = Vault(str(folder))
        self.desk = Desk(self.vault.state, self.vault.config)
        self.at = NOW
        self.desk.now = self.seconds

    def seconds(self) -> float:
        return self.at.timestamp()

    def ask(self, verb: str, **params: object) -> Any:
        return carry_out(self.desk, Reader(self.vault), verb, params)

    def answer(self, id_: str, state: str = DONE, **params: object) -> Any:
        return self.ask("answer", id=id_, state=state, **params)

    def later(self, minutes: int = 1) -> None:
        """Time goes on, and the index hears of what happened in the vault."""
        self.at += dt.timedelta(minutes=minutes)
        synced(self.folder)
        self.desk.touched_all()

    def id(self, words: str) -> str:
        """The id of what is due now and has these words."""
        with self.desk.session(Reader(self.vault), writes=False) as session:
            return next(due.id for due in carrying.dues(session) if words in due.text)

    def words(self) -> list[str]:
        """What waits."""
        catalog = self.vault.searcher().catalog
        return [one.text for one in self.desk.pending.items(catalog, self.at)]

    def text(self, path: str) -> str:
        return (self.folder / path).read_bytes().decode()

    def stated(self) -> dict[str, str]:
        return {id_: one.state for id_, one in self.desk.pending.record.answers().items()}


Open = Callable[..., Bench]


@pytest.fixture
def bench(vault: Path, write: Write, monkeypatch: pytest.MonkeyPatch) -> Open:
    """Makes a bench over a vault with two tasks; how their notes are to be ticked is a setting."""

    def opened(complete: str = "ask") -> Bench:
        write("Tasks.md", TASKS)
        monkeypatch.setenv(HOW, complete)
        synced(vault)
        return Bench(vault)

    return opened


def test_a_task_stays_open_in_its_note_until_the_person_says_so(bench: Open) -> None:
    on = bench()
    call = on.id("call Anne")
    said = on.answer(call)
    assert (said["changed"], said["was"], said["asks"]) == (True, OPEN, completion_id("Tasks.md"))
    assert on.text("Tasks.md") == TASKS
    assert not any(one.startswith("call Anne") for one in on.words())
    assert any("done there, too, now and later: call Anne" in one for one in on.words())
    ticked = on.answer(said["asks"])
    assert [one["path"] for one in ticked["carried_out"]] == ["Tasks.md"]
    assert on.text("Tasks.md") == TASKS.replace(
        "- [ ] call Anne 📅 2026-11-22", "- [x] call Anne 📅 2026-11-22 ✅ 2026-11-22"
    )
    on.later()
    assert not any("call Anne" in one for one in on.words())
    assert on.ask("settle") == {"done": [], "reopened": [], "skipped": [], "changes": []}


def test_always_ticks_both_tasks_of_a_note_in_one_go(bench: Open) -> None:
    on = bench("always")
    both = [on.id("call Anne"), on.id("pay rent")]
    with on.desk.session(Reader(on.vault), writes=True) as session:
        record = session.desk.pending.record
        record.add([Answer(id_, DONE, "2026-11-22T08:00:00Z", "you") for id_ in both], [], 0.0)
    settled = on.ask("settle")
    assert sorted(one["due"] for one in settled["done"]) == sorted(both)
    assert on.text("Tasks.md").split("\r\n")[1:4] == [
        "- [x] call Anne 📅 2026-11-22 ✅ 2026-11-22",
        "- [ ] pay rent 🔁 every month 📅 2026-12-20",
        "- [x] pay rent 🔁 every month 📅 2026-11-20 ✅ 2026-11-22",
    ]
    on.later()
    assert not on.ask("settle")["done"]
    assert on.id("pay rent") not in both


def test_who_undoes_it_in_the_note_is_not_fought(bench: Open) -> None:
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


def test_a_note_that_changed_meanwhile_is_left_alone(bench: Open) -> None:
    on = bench("always")
    call = on.id("call Anne")
    changed = TASKS.replace("call Anne", "call Bob")
    (on.folder / "Tasks.md").write_text(changed, newline="")
    said = on.answer(call)
    assert said["changed"]
    assert "changed meanwhile" in said["skipped"][0]["reason"]
    assert on.text("Tasks.md") == changed


@pytest.mark.parametrize("other", ["Tasks copy.md", "Other/Tasks.md"])
def test_the_same_words_in_another_note_are_another_item(
    bench: Open, write: Write, other: str
) -> None:
    on = bench("always")
    write(other, TASKS)
    on.later()
    assert on.words().count("call Anne") == 2
    on.answer(on.id("call Anne"))
    for _ in range(3):
        on.later()
        assert not on.ask("settle")["reopened"]
    assert on.words().count("call Anne") == 1
    texts = [on.text("Tasks.md"), on.text(other)]
    assert sum("- [x] call Anne" in text for text in texts) == 1


def test_a_note_that_may_be_ticked_is_not_asked_about_again(bench: Open) -> None:
    on = bench()
    call, rent = on.id("call Anne"), on.id("pay rent")
    assert on.answer(call)["asks"] == on.answer(rent)["asks"] == completion_id("Tasks.md")
    assert sum("2 tasks" in one for one in on.words()) == 1
    on.answer(completion_id("Tasks.md"))
    assert on.text("Tasks.md").count("- [x]") == 2
    (on.folder / "Tasks.md").write_text(f"{TASKS}- [ ] feed the cat 📅 2026-11-22\r\n", newline="")
    on.later()
    said = on.answer(on.id("feed the cat"))
    assert (said["asks"], [one["path"] for one in said["carried_out"]]) == (None, ["Tasks.md"])
    assert "- [x] feed the cat" in on.text("Tasks.md")


@pytest.mark.parametrize(
    ("given", "until"),
    [
        (None, TOMORROW), ("tomorrow", TOMORROW), ("2026-11-25", "2026-11-25"), ("3d", "2026-11-25"),
        ("2026-11-25 09:30", "2026-11-25T09:30"), ("tomorrow 9:00", "2026-11-23T09:00"), ("90m", "2026-11-22T11:30"),
        ("friday", "2026-11-27"), ("明天下午三点", "2026-11-23T15:00"), ("2w", "2026-12-06"),
    ],
)  # fmt: skip
def test_an_item_sleeps_until_then(bench: Open, given: str | None, until: str) -> None:
    on = bench()
    call = on.id("call Anne")
    assert on.answer(call, SNOOZED, until=given)["until"] == until
    assert "call Anne" not in on.words()
    assert on.answer(call, OPEN)["was"] == SNOOZED
    assert "call Anne" in on.words()


@pytest.mark.parametrize(
    "given",
    ["yesterday", TODAY, "2026-11-22T09:59", "soon", "2026-02-30", "every day", "0001-01-01", "x" * 150, "9" * 150],
)  # fmt: skip
def test_no_item_sleeps_until_what_is_past_or_no_time(bench: Open, given: str) -> None:
    on = bench()
    with pytest.raises(UsageError, match='"until" must be'):
        on.answer(on.id("call Anne"), SNOOZED, until=given)
    assert on.stated() == {}


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


def test_who_answered_is_in_the_history(bench: Open) -> None:
    on = bench("always")
    on.answer(on.id("call Anne"), by="claude")
    on.answer(on.id("pay rent"))
    on.desk.remember()
    told = [(one["by"], one["kind"], one["why"]) for one in on.ask("history", limit=2)["history"]]
    assert told == [
        ("you", "person", "done: pay rent"),
        ("claude", "assistant", "done: call Anne"),
    ]
    on.ask("undo", last=True)
    assert "- [ ] pay rent 🔁 every month 📅 2026-11-20\r\n" in on.text("Tasks.md")


def test_what_is_ticked_and_put_off_on_the_page_is_in_the_history_and_comes_back_from_it(
    bench: Open,
) -> None:
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
    assert sorted(one["why"] for one in entries) == ["done: call Anne", "snoozed: pay rent"]
    assert {one["kind"] for one in entries} == {"person"}
    for waiting in (1, 2):
        on.later()
        on.ask("undo", last=True)
        on.ask("notify")
        assert len({"call Anne", "pay rent"}.intersection(on.words())) == waiting
    assert page.read_text("utf-8") == "".join(lines)


def test_the_answer_is_kept_where_the_note_cannot_be_written(
    bench: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    on = bench("always")
    call = on.id("call Anne")

    def refuse(*_: object) -> None:
        raise UsageError("no")

    monkeypatch.setattr(carrying._Work, "_ticked", refuse)
    assert on.answer(call)["skipped"][0]["reason"] == "no"
    assert on.stated()[call] == DONE
    assert Ledger(on.vault.state.path("ledger.db")).rows(
        "SELECT id FROM answers", lambda row: row[0]
    ) == [call]


def test_until_is_told_by_the_clock_of_the_person() -> None:
    asked = Arguments({"until": "2026-11-22T23:30+00:00"})
    berlin = dt.timezone(dt.timedelta(hours=1))
    now = dt.datetime(2026, 11, 22, 10, tzinfo=berlin)
    assert answering._until(asked, now) == "2026-11-23T00:30"


def test_an_assistant_does_not_drop_its_way_to_a_question_that_it_may_answer(
    bench: Open, write: Write
) -> None:
    write("Clippings/Offer.md", "---\nremind: 2026-11-20\nrepeat: every day\n---\npay the fee\n")
    on = bench()
    with pytest.raises(UsageError, match="only you can approve"):
        on.answer(on.id("Offer"), DROPPED, by="claude")
    catalog = on.vault.searcher().catalog
    shown = [due for due in on.desk.pending.dues(catalog, on.at) if due.foreign]
    assert shown
    for due in shown:
        with pytest.raises(UsageError, match="only you can approve"):
            on.answer(approval_id(due.id), by="claude")


def test_a_task_that_was_put_off_meanwhile_is_not_ticked(bench: Open, write: Write) -> None:
    on = bench("always")
    call = on.id("call Anne")
    moved = TASKS.replace("2026-11-22", "2026-12-24")
    write("Tasks.md", moved)
    said = on.answer(call)
    assert on.text("Tasks.md") == moved
    assert "changed meanwhile" in said["skipped"][0]["reason"]


def test_a_vault_that_has_vanished_is_not_written_into(bench: Open) -> None:
    on = bench()
    call = on.id("call Anne")
    (on.folder / "Tasks.md").rename(on.folder.parent / "Tasks.md")
    catalog = on.vault.searcher().catalog
    on.desk.pending.refresh(catalog, on.at, "the vault is empty")
    on.desk.pending.notify(catalog, on.at, "the vault is empty")
    on.answer(call, vanished="the vault is empty")
    assert not (on.folder / "vaultmem").exists()
    assert on.stated()[call] == DONE
    on.ask("undo", last=True, vanished="the vault is empty")
    assert not (on.folder / "vaultmem").exists()
    assert on.stated().get(call) != DONE


# --- Proposals for notes


PLAN = "# Plan\r\nPlant the [[Tomatos]] in May.\r\n"


@pytest.fixture
def proposed(bench: Open, write: Write) -> Bench:
    """A note with a link that leads nowhere, and a deep dream that has seen it."""
    write("Tomatoes.md", "Red.")
    write("Plan.md", PLAN)
    write("Secret.md", "---\nprivate: true\n---\nAlso [[Tomatos]].\n")
    on = bench()
    on.at += dt.timedelta(days=1)
    on.ask("dream", level=3)
    on.later()
    return on


def question(on: Bench) -> str:
    """The id of the item that asks about the note."""
    catalog = on.vault.searcher().catalog
    every = on.desk.pending.items(catalog, on.at)
    (found,) = (one.id for one in every if one.text.startswith("change line "))
    return found


def test_a_proposal_shows_its_change_and_a_tick_makes_it(proposed: Bench) -> None:
    on = proposed
    on.ask("notify")
    page = on.text("vaultmem/pending.md")
    changed = "change line 2? “Plant the ⟦Tomatos⟧ in May.” → “Plant the ⟦Tomatoes⟧ in May.”"
    line = f"- [ ] {changed} [[Plan]] ^{question(on)}\n"
    assert line in page
    assert "Secret" not in page
    (on.folder / "vaultmem" / "pending.md").write_text(
        page.replace(line, line.replace("[ ]", "[x]"))
    )
    on.ask("notify")
    assert on.text("Plan.md") == PLAN
    settled = on.ask("settle")
    assert [one["path"] for one in settled["done"]] == ["Plan.md"]
    assert on.text("Plan.md") == PLAN.replace("Tomatos", "Tomatoes")
    assert "Tomatos" in on.text("Secret.md")
    on.ask("undo", last=True)
    on.later()
    assert on.text("Plan.md") == PLAN
    assert on.ask("settle")["done"] == []
    assert on.text("Plan.md") == PLAN


def test_a_proposal_that_is_dropped_is_never_made_again(proposed: Bench) -> None:
    on = proposed
    id_ = question(on)
    on.answer(id_, DROPPED)
    assert not any(one.startswith("change line") for one in on.words())
    on.ask("dream", level=3)
    on.later()
    assert not any(one.startswith("change line") for one in on.words())
    assert on.text("Plan.md") == PLAN


def test_what_was_changed_since_is_not_changed_by_a_tick(proposed: Bench) -> None:
    on = proposed
    id_ = question(on)
    typed = PLAN.replace("Plant", "Sow")
    (on.folder / "Plan.md").write_bytes(typed.encode())
    on.desk.pending.record.add([Answer(id_, DONE, "2026-11-23T09:00:00Z")], [], on.seconds())
    assert [one["path"] for one in on.ask("settle")["skipped"]] == ["Plan.md"]
    assert on.text("Plan.md") == typed
    assert not any(one.startswith("change line") for one in on.words())


def test_what_another_machine_has_changed_is_not_changed_once_more(proposed: Bench) -> None:
    """There, it may have been undone since; the answers travel in the vault."""
    on = proposed
    id_ = question(on)
    [proposal] = review_sources.open_proposals(on.desk.ledger)[:1]
    marks = [id_, review_sources.carried_out_id(proposal.id)]
    at = "2026-11-22T09:00:00Z"
    on.desk.pending.record.add([Answer(mark, DONE, at) for mark in marks], [], on.seconds())
    assert on.ask("settle")["done"] == []
    assert on.text("Plan.md") == PLAN


# --- All of it


def boxes(on: Bench) -> list[str]:
    return [line for line in on.text("vaultmem/pending.md").splitlines() if line.startswith("- [")]


def test_all_is_shown_from_a_tick_until_the_day_is_over(bench: Open, write: Write) -> None:
    write("Many.md", "".join(f"- [ ] thing {n} 📅 2026-11-22\n" for n in range(30)))
    write("Old.md", "- [ ] old thing 📅 2026-10-01\n")
    write("Broken.md", "---\na: [\n---\n")
    on = bench()
    page = on.folder / "vaultmem" / "pending.md"

    def tick(id_: str, box: str) -> list[str]:
        text = page.read_text("utf-8")
        (line,) = (each for each in text.splitlines() if each.endswith(f"^{id_}"))
        page.write_text(text.replace(line, line.replace("[ ]", f"[{box}]")), "utf-8")
        on.at += dt.timedelta(minutes=1)
        on.ask("notify")
        return boxes(on)

    on.ask("notify")
    short = boxes(on)
    assert len(short) == 21
    assert short[-1] == "- [ ] show all: 13 more, 1 overdue for more than two weeks ^vm-showall"
    everything = tick("vm-showall", ">")
    assert len(everything) == 30 + 2 + 1 + 1 + 1
    assert any("this note's properties cannot be read" in each for each in everything)
    assert any("old thing" in each for each in everything)
    assert everything[-1] == "- [ ] show less ^vm-showless"
    assert tick("vm-showless", "x") == short
    assert tick("vm-showall", "x") == everything
    on.at += dt.timedelta(days=1)
    on.ask("notify")
    assert boxes(on)[-1].endswith("^vm-showall")
