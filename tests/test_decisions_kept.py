"""Decisions on proposals and findings: what is rejected, answered by a rule or taken back."""

import datetime as dt

import pytest

from tests.answered import Bench, Open, bench
from tests.conftest import Write
from tests.test_answering_proposals import after_a_dream, question
from vaultmem.ledger.ledger import Ledger
from vaultmem.memories.item_answers import DROPPED
from vaultmem.synclog import log_folder
from vaultmem.synclog.log_entries import Entries

__all__ = ["bench"]  # fixtures

pytestmark = pytest.mark.usefixtures("without_a_model")


def paths(on: Bench) -> list[str]:
    """The notes of open proposals, which pending.md lists, too."""
    on.later()
    on.ask("notify")
    results = [row["path"] for row in on.ask("proposals")["proposals"]]
    assert len(results) == sum(word.startswith("change line ") for word in on.words())
    return results


def after_the_next_dream(on: Bench) -> list[str]:
    on.later()
    on.ask("dream", level=3)
    return paths(on)


def test_a_proposal_for_a_note_that_was_renamed_waits_for_the_next_dream(
    bench: Open, write: Write
) -> None:
    on = after_a_dream(bench, write)
    assert paths(on) == ["Plan.md"]
    (on.folder / "Plan.md").rename(on.folder / "Plans.md")
    assert paths(on) == []
    assert after_the_next_dream(on) == ["Plans.md"]
    on.answer(question(on), DROPPED)
    assert after_the_next_dream(on) == []


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


@pytest.mark.parametrize("state", ["rejected", "accepted"])
def test_decisions_that_earlier_versions_kept_with_the_proposals_hold(
    bench: Open, write: Write, state: str
) -> None:
    on = after_a_dream(bench, write)
    with on.store.ledger.writing(on.at.timestamp()) as db:
        db.execute("UPDATE proposals SET state = ?", (state,))
        db.execute("INSERT INTO proposals VALUES ('0123', 0, ?, '{}')", (state,))  # elsewhere
    assert paths(on) == []
    assert after_the_next_dream(on) == []


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


def test_a_rule_does_not_make_again_what_was_taken_back(bench: Open, write: Write) -> None:
    on = after_a_dream(bench, write)
    before = on.text("Plan.md")
    (row,) = on.ask("proposals")["proposals"]
    on.ask("accept", id=row["id"])
    assert on.text("Plan.md") != before
    on.ask("rule", kind="broken-link", says="always")
    on.ask("undo", last=True)
    assert after_the_next_dream(on) == ["Plan.md"]
    assert on.text("Plan.md") == before
