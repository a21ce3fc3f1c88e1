"""Answers to proposals: what is accepted, rejected, decided by a rule or taken back; and the page until the day is over."""

import datetime as dt

import pytest

from tests.answered import Bench, Open, bench
from tests.conftest import Write
from vaultmem.errors import VaultmemError
from vaultmem.ledger.ledger import Ledger
from vaultmem.memories.item_answers import DONE, DROPPED, OPEN, Answer, carried_out_id
from vaultmem.synclog import log_folder
from vaultmem.synclog.log_entries import Entries

__all__ = ["bench"]  # fixtures

pytestmark = pytest.mark.usefixtures("without_a_model")

PLAN = "# Plan\r\nPlant the [[Tomatos]] in May.\r\n"


def after_a_dream(bench: Open, write: Write) -> Bench:
    """A note with a broken link, which a deep dream has noticed."""
    write("Tomatoes.md", "Red.")
    write("Plan.md", PLAN)
    on = bench()
    on.at += dt.timedelta(days=1)
    on.ask("dream", level=3)
    return on


@pytest.mark.parametrize("how", ["answer", "review", "tick"])
def test_taking_an_answer_back_restores_the_note(bench: Open, write: Write, how: str) -> None:
    on = after_a_dream(bench, write)
    id_ = question(on)
    if how == "review":
        (row,) = on.ask("proposals")["proposals"]
        on.ask("accept", id=row["id"])
    elif how == "tick":
        page = on.folder / "vaultmem/pending.md"
        on.ask("notify")
        page.write_text(page.read_text("utf-8").replace("- [ ] change", "- [x] change"), "utf-8")
        on.later()
        on.ask("notify")
        on.ask("settle")
    else:
        on.answer(id_)
    assert "[[Tomatoes]]" in on.text("Plan.md")
    on.at += dt.timedelta(minutes=1)
    report = on.answer(id_, OPEN)
    assert (report["restored"], report["gone"]) == ("Plan.md", False)
    assert on.text("Plan.md") == PLAN
    assert on.ask("proposals")["count"] == 1
    on.later()
    on.ask("dream", level=3)
    on.ask("settle")
    assert on.text("Plan.md") == PLAN


@pytest.mark.parametrize("gone", ["Plan copy.md", "Plan.md"])
def test_the_last_copy_of_a_note_is_no_duplicate(bench: Open, write: Write, gone: str) -> None:
    """A proposal about a copy that the person has deleted is not about the note that is left."""
    for name in ("Plan.md", "Plan copy.md"):
        write(name, f"# Plan\n\n{'Sow the tomatoes in May. ' * 9}\n")
    on = bench()
    on.at += dt.timedelta(days=1)
    on.ask("dream", level=3)
    (row,) = on.ask("proposals")["proposals"]
    assert row["path"] == "Plan copy.md"
    on.later()
    on.ask("notify")
    assert any(word.startswith("archive this note?") for word in on.words())
    (on.folder / gone).unlink()
    on.later()
    on.ask("notify")
    assert on.ask("proposals")["proposals"] == []
    assert not any(word.startswith("archive this note?") for word in on.words())
    with pytest.raises(VaultmemError):
        on.ask("accept", id=row["id"])


@pytest.fixture
def proposed(bench: Open, write: Write) -> Bench:
    """A note with a broken link, and a deep dream that has seen it."""
    write("Secret.md", "---\nprivate: true\n---\nAlso [[Tomatos]].\n")
    on = after_a_dream(bench, write)
    on.later()
    return on


def question(on: Bench) -> str:
    """The id of the item about the note."""
    catalog = on.vault.searcher().catalog
    every = on.store.pending.at(catalog, on.at).items()
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


def test_what_a_person_wants_never_to_see_is_nowhere_asked_and_comes_back(proposed: Bench) -> None:
    on = proposed
    id_ = question(on)
    on.ask("rule", kind="broken-link", says="never")
    on.ask("notify")
    assert id_ not in on.text("vaultmem/pending.md")
    assert on.ask("proposals")["proposals"] == []
    assert on.ask("waiting")["proposals"] == 0
    on.ask("rule", kind="broken-link", says="ask")
    on.ask("notify")
    assert id_ in on.text("vaultmem/pending.md")


def test_an_answer_is_all_that_is_known_of_a_decision(proposed: Bench) -> None:
    """So a decision is undone and redone like any answer, however it was made."""
    on = proposed
    id_ = question(on)
    (row,) = on.ask("proposals")["proposals"][:1]

    def is_open() -> bool:
        on.later()
        on.ask("notify")
        listed = any(word.startswith("change line") for word in on.words())
        assert listed == (row["id"] in [each["id"] for each in on.ask("proposals")["proposals"]])
        return listed

    for reject in (lambda: on.answer(id_, DROPPED), lambda: on.ask("reject", id=row["id"])):
        reject()
        assert not is_open()
        on.ask("undo", last=True)
        assert is_open()
        on.ask("undo", redo=True)
        assert not is_open()
        on.ask("undo", last=True)
        assert is_open()
    on.ask("accept", id=row["id"])
    assert not is_open()
    assert on.ask("settle")["done"] == []
    on.ask("undo", last=True)
    assert on.text("Plan.md") == PLAN
    assert is_open()
    on.ask("undo", redo=True)
    assert not is_open()
    assert on.text("Plan.md") != PLAN


def test_what_was_changed_since_is_not_changed_by_a_tick(proposed: Bench) -> None:
    on = proposed
    id_ = question(on)
    typed = PLAN.replace("Plant", "Sow")
    (on.folder / "Plan.md").write_bytes(typed.encode())
    on.store.pending.record.add([Answer(id_, DONE, "2026-11-23T09:00:00Z")], [], on.seconds())
    assert [one["path"] for one in on.ask("settle")["skipped"]] == ["Plan.md"]
    assert on.text("Plan.md") == typed
    assert not any(word.startswith("change line") for word in on.words())


def test_what_another_machine_has_changed_is_not_changed_once_more(proposed: Bench) -> None:
    """It may have been undone there since; the answers are synced with the vault."""
    on = proposed
    id_ = question(on)
    marks = [id_, carried_out_id(id_)]
    at = "2026-11-22T09:00:00Z"
    on.store.pending.record.add([Answer(mark, DONE, at) for mark in marks], [], on.seconds())
    assert on.ask("settle")["done"] == []
    assert on.text("Plan.md") == PLAN


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
        (line,) = (line for line in text.splitlines() if line.endswith(f"^{id_}"))
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
    on.ask("settle")
    assert not on.vault.history(), "there is nothing to undo"
    assert tick("vm-showless", "x") == short
    assert tick("vm-showall", "x") == everything
    on.at += dt.timedelta(days=1)
    on.ask("notify")
    assert boxes(on)[-1].endswith("^vm-showall")


# --- decisions that are kept


def after_the_next_dream(on: Bench) -> list[str]:
    """The notes of open proposals, which pending.md lists, too."""
    on.later()
    on.ask("dream", level=3)
    on.later()
    on.ask("notify")
    results = [row["path"] for row in on.ask("proposals")["proposals"]]
    assert len(results) == sum(word.startswith("change line ") for word in on.words())
    return results


def test_a_rejection_goes_with_its_note(bench: Open, write: Write) -> None:
    """Until it is taken back."""
    on = after_a_dream(bench, write)
    on.answer(question(on), DROPPED)
    plan = on.folder / "Plan.md"
    for name in ("Plans.md", "Later.md"):
        plan = plan.rename(on.folder / name)
        assert after_the_next_dream(on) == []
    write("Other.md", "[[Tomatos]], too.\n")
    assert after_the_next_dream(on) == ["Other.md"]
    on.ask("undo", last=True)
    assert after_the_next_dream(on) == ["Later.md", "Other.md"]


def test_a_rejection_holds_if_an_earlier_version_made_other_ids(bench: Open, write: Write) -> None:
    on = after_a_dream(bench, write)
    with on.store.ledger.writing(on.at.timestamp()) as db:
        db.execute("UPDATE proposals SET id = '0123', state = 'rejected'")
    write("Other.md", "[[Tomatos]], too.\n")
    assert after_the_next_dream(on) == ["Other.md"]


def test_a_dream_records_what_it_made_by_a_rule_at_once(
    bench: Open, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All answers are read again after each write of one, and there may be thousands."""
    for number in range(5):
        write(f"Plan {number}.md", f"Plant {number} [[Tomatos]].\n")
    write("Tomatoes.md", "Red.")
    on = bench()
    on.ask("rule", kind="broken-link", says="always")
    counts: list[int] = []
    add = log_folder.add_answers

    def counted(ledger: Ledger, new: Entries, now: float) -> None:
        counts.append(len(new))
        add(ledger, new, now)

    monkeypatch.setattr(log_folder, "add_answers", counted)
    on.at += dt.timedelta(days=1)
    on.ask("dream", level=3)
    assert [number for number in counts if number] == [10], (
        "five answers, and that each was carried out"
    )
    assert on.text("Plan 3.md") == "Plant 3 [[Tomatoes]].\n"
    on.ask("undo", last=True)
    assert after_the_next_dream(on) == []
    assert sum("[[Tomatos]]" in on.text(f"Plan {number}.md") for number in range(5)) == 1
