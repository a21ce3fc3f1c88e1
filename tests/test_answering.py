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
from vaultmem.memories.asked import Asked
from vaultmem.memories.ledger import Ledger
from vaultmem.memories.store import MemoryStore
from vaultmem.reminders import answering, carrying
from vaultmem.reminders.answers import DONE, DROPPED, OPEN, SNOOZED, Answer
from vaultmem.reminders.due_texts import series_id
from vaultmem.reminders.pending_items import approval, completion

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
        self.desk = MemoryStore(self.vault.state, self.vault.config)
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
            (found,) = (due.id for due in carrying.dues(session) if words in due.text)
        return found

    def words(self) -> list[str]:
        """What waits."""
        catalog = self.vault.searcher().catalog
        return [one.text for one in self.desk.waiting.items(catalog, self.at)]

    def text(self, path: str) -> str:
        return (self.folder / path).read_bytes().decode()

    def stated(self) -> dict[str, str]:
        return {id_: one.state for id_, one in self.desk.waiting.record.answers().items()}


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
    assert (said["changed"], said["was"], said["asks"]) == (True, OPEN, completion("Tasks.md"))
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
        record = session.desk.waiting.record
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


def test_never_leaves_notes_alone(bench: Open) -> None:
    on = bench("never")
    said = on.answer(on.id("call Anne"))
    assert (said["asks"], said["carried_out"]) == (None, [])
    assert on.text("Tasks.md") == TASKS
    assert not any("call Anne" in one for one in on.words())


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


def test_copies_of_a_note_are_all_ticked(bench: Open) -> None:
    on = bench("always")
    (on.folder / "Tasks copy.md").write_text(TASKS, newline="")
    on.later()
    on.answer(on.id("call Anne"))
    for _ in range(3):
        on.later()
        assert not on.ask("settle")["reopened"]
    assert "- [x] call Anne" in on.text("Tasks.md")
    assert "- [x] call Anne" in on.text("Tasks copy.md")


def test_the_same_words_in_another_folder_are_not_ticked(bench: Open) -> None:
    on = bench("always")
    (on.folder / "Other").mkdir()
    (on.folder / "Other" / "Tasks.md").write_text(TASKS, newline="")
    on.later()
    on.answer(on.id("call Anne"))
    for _ in range(3):
        on.later()
        assert not on.ask("settle")["reopened"]
    texts = [on.text("Tasks.md"), on.text("Other/Tasks.md")]
    assert sum("- [x] call Anne" in text for text in texts) == 1


@pytest.mark.parametrize("state", [DONE, DROPPED])
def test_a_reminder_goes_to_the_archive_and_comes_back(bench: Open, state: str) -> None:
    on = bench()
    path = on.ask("remind", content="water the plants", at="2026-11-23 09:00")["path"]
    before = on.text(path)
    on.later()
    water = on.id("water")
    said = on.answer(water, state)
    assert not (on.folder / path).exists()
    assert "archive/" in said["carried_out"][0]["path"]
    on.later()
    assert on.ask("settle")["done"] == []
    again = on.answer(water, OPEN)
    assert again["restored"] == path
    assert [line for line in on.text(path).splitlines() if "updated_at" not in line] == [
        line for line in before.splitlines() if "updated_at" not in line
    ]
    on.later()
    assert on.id("water") == water
    assert on.stated()[water] == OPEN
    assert not on.ask("settle")["done"]


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


@pytest.mark.parametrize("state", [DONE, DROPPED])
def test_what_comes_round_goes_on_until_the_series_is_dropped(bench: Open, state: str) -> None:
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


def test_what_was_dropped_just_now_can_be_ended(bench: Open) -> None:
    on = bench()
    memory = on.ask("remind", content="water", at="2026-11-23 09:00", repeat="every week")
    on.later(2 * 24 * 60)
    first = on.id("water")
    on.answer(first, DROPPED)
    assert on.answer(first, DROPPED, series=True)["changed"]
    assert not (on.folder / memory["path"]).exists()


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


def test_what_was_ended_elsewhere_is_carried_out_here(bench: Open) -> None:
    on = bench()
    memory = on.ask("remind", content="water", at="2026-11-23 09:00", repeat="every day")
    on.later(2 * 24 * 60)
    word = Answer(series_id(memory["id"]), DROPPED, "2026-11-24T10:00:00Z", "you")
    on.desk.waiting.record.add([word], [], on.at.timestamp())
    assert on.ask("settle")["done"]
    assert not (on.folder / memory["path"]).exists()


def test_a_note_that_may_be_ticked_is_not_asked_about_again(bench: Open) -> None:
    on = bench()
    call, rent = on.id("call Anne"), on.id("pay rent")
    assert on.answer(call)["asks"] == on.answer(rent)["asks"] == completion("Tasks.md")
    assert sum("2 tasks" in one for one in on.words()) == 1
    on.answer(completion("Tasks.md"))
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


def test_what_is_closed_stays_so(bench: Open) -> None:
    on = bench("never")
    call = on.id("call Anne")
    assert on.answer(call)["changed"]
    for state in (DONE, DROPPED, SNOOZED):
        said = on.answer(call, state)
        assert (said["changed"], said["state"], said["was"]) == (False, DONE, DONE)
    assert on.stated()[call] == DONE
    assert on.answer(call, OPEN)["changed"]
    assert not on.answer(call, OPEN)["changed"]
    assert on.answer(call, DROPPED)["changed"]


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
    for question in (asks, approval(fee)):
        for state in (DONE, DROPPED, SNOOZED, OPEN):
            with pytest.raises(UsageError, match="only you can approve"):
                on.answer(question, state, by="claude")
    assert on.text("Tasks.md") == TASKS
    assert on.stated() == {call: DONE}
    assert on.answer(approval(fee))["changed"]
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


def test_the_answer_is_kept_where_the_note_cannot_be_written(
    bench: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    on = bench("always")
    call = on.id("call Anne")

    def refuse(*_: object) -> None:
        raise UsageError("no")

    monkeypatch.setattr(carrying, "_ticked", refuse)
    assert on.answer(call)["skipped"][0]["reason"] == "no"
    assert on.stated()[call] == DONE
    assert Ledger(on.vault.state.path("ledger.db")).rows(
        "SELECT id FROM answers", lambda row: row[0]
    ) == [call]


def test_logseq(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "graph"
    (folder / "logseq").mkdir(parents=True)
    (folder / "logseq" / "config.edn").write_text("{:meta/version 1}\n")
    (folder / "pages").mkdir()
    page = folder / "pages" / "Tasks.md"
    page.write_text(
        "- NOW water\n  SCHEDULED: <2026-11-21 Sat .+1w>\n- TODO call\n  DEADLINE: <2026-11-22 Sun>\n"
    )
    monkeypatch.setenv(HOW, "always")
    synced(folder)
    on = Bench(folder)
    on.answer(on.id("water"))
    on.answer(on.id("call"))
    assert page.read_text() == (
        "- LATER water\n  SCHEDULED: <2026-11-29 Sun .+1w>\n- DONE call\n  DEADLINE: <2026-11-22 Sun>\n"
    )


def test_an_answer_tells_of_itself_only(bench: Open) -> None:
    on = bench("always")
    call, rent = on.id("call Anne"), on.id("pay rent")
    word = Answer(call, DONE, "2026-11-22T08:00:00Z", "you")
    on.desk.waiting.record.add([word], [], on.seconds())
    assert len(on.answer(rent, dry_run=True)["changes"]) == 1
    assert [one["due"] for one in on.answer(rent)["carried_out"]] == [rent]
    assert "- [x] call Anne" in on.text("Tasks.md")


def test_who_takes_an_answer_back_may_give_it_again(bench: Open) -> None:
    on = bench()
    call = on.id("call Anne")
    on.answer(on.answer(call)["asks"])
    on.later()
    on.answer(call, OPEN)
    (on.folder / "Tasks.md").write_text(TASKS, newline="")
    on.later()
    assert not on.ask("settle")["done"]
    assert on.text("Tasks.md") == TASKS
    assert on.answer(call)["asks"] is None
    assert "- [x] call Anne" in on.text("Tasks.md")


def test_until_is_told_by_the_clock_of_the_person() -> None:
    asked = Asked({"until": "2026-11-22T23:30+00:00"})
    berlin = dt.timezone(dt.timedelta(hours=1))
    now = dt.datetime(2026, 11, 22, 10, tzinfo=berlin)
    assert answering._until(asked, now) == "2026-11-23T00:30"


def test_what_became_of_an_endless_page_is_said_also_after_its_ticks_were_taken(
    bench: Open,
) -> None:
    """The notes of the person are in the archive then, and they have to know."""
    on = bench()
    catalog, page = on.vault.searcher().catalog, on.folder / "vaultmem" / "pending.md"
    on.desk.waiting.refresh(catalog, on.at)
    ticked = page.read_text("utf-8").replace("[ ] call", "[x] call")
    page.write_text(ticked + "mine\n" + "word " * 250_000, "utf-8")
    looked = on.desk.waiting.refresh(catalog, on.at)
    assert looked.answered == 1
    assert any("archive" in said for said in looked.troubles)


def test_an_assistant_does_not_drop_its_way_to_a_question_that_it_may_answer(
    bench: Open, write: Write
) -> None:
    write("Clippings/Offer.md", "---\nremind: 2026-11-20\nrepeat: every day\n---\npay the fee\n")
    on = bench()
    with pytest.raises(UsageError, match="only you can approve"):
        on.answer(on.id("Offer"), DROPPED, by="claude")
    with on.desk.session(Reader(on.vault), writes=False) as session:
        catalog = on.vault.searcher().catalog
        shown = [due for due in on.desk.waiting.dues(catalog, on.at) if due.foreign]
        assert shown
        assert {due.id for due in shown} <= answering._all_dues(session).keys()
    for due in shown:
        with pytest.raises(UsageError, match="only you can approve"):
            on.answer(approval(due.id), by="claude")


def test_a_reminder_of_two_times_stays_until_both_are_answered(bench: Open) -> None:
    on = bench()
    made = on.vault.write("turn the compost", category="reminders")
    file = on.folder / made["path"]
    text = file.read_text().replace(
        "scope: ", "remind:\n  - 2026-11-22\n  - 2026-11-25\nscope: ", 1
    )
    file.write_text(text)
    on.later()
    catalog = on.vault.searcher().catalog
    first, second = (
        due.id for due in on.desk.waiting.dues(catalog, on.at) if "compost" in due.text
    )
    on.answer(first)
    assert file.exists()
    on.later()
    on.answer(second)
    assert not file.exists()


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
    on.desk.waiting.refresh(catalog, on.at, "the vault is empty")
    on.desk.waiting.tell(catalog, on.at, "the vault is empty")
    on.answer(call, vanished="the vault is empty")
    assert not (on.folder / "vaultmem").exists()
    assert on.stated()[call] == DONE
