"""What comes into the inbox is filed, asked about or finally archived; what nobody reads fades."""

from functools import partial

import pytest

from tests.stand_in_view import File, StandInView, ago, memory_file
from vaultmem.adapter import Value
from vaultmem.dreams.classify import file_inbox, upgrade
from vaultmem.dreams.dream import Options, decay, expire, write_reinforced
from vaultmem.memories.draft import MOVE, TO_ARCHIVE

EVENT: dict[str, Value] = {"memory_type": "episodic"}


def inbox(content: str, days: float = 1, **properties: Value) -> StandInView:
    return StandInView(dict([memory_file("inbox/Note", content, days, **properties)]))


def only(view: StandInView) -> tuple[str, File]:
    ((path, file),) = view.files.items()
    return path.removeprefix("vaultmem/"), file


@pytest.mark.parametrize(
    ("content", "category"),
    [
        ("The user prefers dark mode in every editor.", "preferences"),
        ("Lesson learned: never deploy on a Friday.", "lessons"),
        ("We decided to use Postgres for billing because of its transactions.", "decisions"),
        ("用户偏好深色模式。", "preferences"),
    ],
)
def test_what_is_plain_is_filed_with_its_reason(content: str, category: str) -> None:
    plan, after = inbox(content).run(file_inbox)
    (change,) = plan.changes
    path, file = only(after)
    assert path == f"{category}/Note.md"
    assert (file.properties["phase"], file.properties["category"]) == ("organized", category)
    assert file.content == content
    assert file.properties["memory_type"]
    assert (change.action, change.why.startswith(f"{category}: ")) == (MOVE, True)
    assert after.run(file_inbox)[0].changes == ()


@pytest.mark.parametrize(
    ("place", "content", "days", "remind"),
    [
        ("inbox", "Reminder: meeting with Emma tomorrow at 15:00 about the contract", 0.01, "2026-11-23T15:00"),
        ("inbox", "Meeting with Emma tomorrow at 15:00 about the contract, don't forget the reminder", 0.01, "2026-11-23T15:00"),
        ("inbox", "提醒：明天下午三点和李雷开会", 0.01, "2026-11-23T15:00"),
        ("reminders", "Call Emma tomorrow at 15:00", 0.01, "2026-11-23T15:00"),
        ("reminders", "2026-12-01 09:00 renew the certificate", 100, "2026-12-01T09:00"),
        ("reminders", "每周一早上9点开会", 100, "2026-11-23T09:00"),
        ("reminders", "Call Emma tomorrow at 15:00", 30, None),  # past
        ("reminders", "Renew the certificate", 1, None),
    ],
)  # fmt: skip
def test_what_is_filed_or_put_among_the_reminders_says_when(
    place: str, content: str, days: float, remind: str | None
) -> None:
    view = StandInView(dict([memory_file(f"{place}/Note", content, days)]))
    path, file = only(view.run(file_inbox)[1])
    assert path == "reminders/Note.md"
    assert file.properties.get("remind") == remind


def test_importance_waits_for_a_model_and_is_not_judged_twice() -> None:
    view = inbox("The user prefers dark mode.")
    assert "importance" not in only(view.run(file_inbox)[1])[1].properties
    view.cosines = lambda *_: 0.0
    file = only(view.run(file_inbox)[1])[1]
    assert file.properties["importance"] == pytest.approx(0.6 * 0.5 + 0.4 * 0.4, abs=0.1)
    kept = inbox("The user prefers dark mode.", importance=0.11, memory_type="working")
    kept.cosines = view.cosines
    given = only(kept.run(file_inbox)[1])[1].properties
    assert (given["importance"], given["memory_type"]) == (0.11, "working")


def test_after_its_time_in_the_inbox_an_event_is_archived_and_a_fact_is_filed() -> None:
    for days, put_away in ((6.9, False), (7.1, True)):
        plan, after = inbox("?", days, memory_type="episodic").run(expire)
        assert [change.action for change in plan.changes] == [TO_ARCHIVE] * put_away
        assert after.run(expire)[0].changes == ()
    path, file = only(
        inbox("?", 8, category=None, phase=None, memory_type="working").run(expire)[1]
    )
    assert path == "archive/Note.md"
    assert file.properties["deleted_at"] == ago(0)
    assert (file.properties["by"], file.properties["category"]) == ("expire", "inbox")
    assert only(inbox("The roof is of slate", 8).run(expire)[1])[0] == "knowledge/Note.md"
    assert (
        only(inbox("The roof is of slate", 8).run(partial(expire, options=Options(facts=True)))[1])[
            0
        ]
        == "archive/Note.md"
    )


@pytest.mark.parametrize(
    ("properties", "days", "put_away"),
    [
        ({"updated_at": ago(2)}, 30, False),  # whichever is later
        ({"expires_at": ago(-1)}, 1, False),
        ({"expires_at": ago(1)}, 2, True),
        ({"remind": "2026-12-24"}, 30, False),
        ({"remind": "2026-01-01", "repeat": "every year"}, 30, False),
        ({"remind": "2026-10-01"}, 80, False),  # nobody said that it was done
        ({}, 80, True),
    ],
)
def test_what_expires_and_what_does_not(
    properties: dict[str, Value], days: float, put_away: bool
) -> None:
    assert (
        len(inbox("?", days, memory_type="episodic", **properties).run(expire)[0].changes)
        == put_away
    )


def test_its_own_word_counts_everywhere_and_reading_saves_from_the_time_of_the_inbox() -> None:
    view = StandInView(dict([memory_file("soul/A", "x", 90, expires_at=ago(1))]))
    assert len(view.run(expire)[0].changes) == 1
    read = inbox("?", 30)
    read.read_counts = {"vaultmem/inbox/Note.md": 3}
    assert read.run(expire)[0].changes == ()


@pytest.mark.parametrize(
    ("path", "days", "properties", "fades"),
    [
        ("knowledge/A", 31, EVENT, True),
        ("knowledge/A", 29, EVENT, False),
        ("inbox/A", 31, EVENT, False),
        ("knowledge/A", 999, {}, False),  # a fact
        ("people/A", 31, {"decay_policy": "fsrs"}, True),
        ("people/A", 31, {"decay_policy": "contextual"}, True),
        ("knowledge/A", 999, {**EVENT, "decay_policy": "stable"}, False),
        ("knowledge/A", 99, {**EVENT, "updated_at": ago(5)}, False),
        ("knowledge/A", 99, {**EVENT, "last_reinforced_at": ago(5)}, False),
        ("knowledge/A", 99, {**EVENT, "importance": 0.8}, False),
        ("knowledge/A", 99, {**EVENT, "importance": 0.79}, True),
        ("date/A", 99, {**EVENT, "due": "2027-01-01"}, False),
        ("date/A", 99, {**EVENT, "due": "2026-09-01"}, False),
        ("knowledge/A", 99, {**EVENT, "access_count": 1}, False),
    ],
)
def test_what_fades(path: str, days: float, properties: dict[str, Value], fades: bool) -> None:
    view = StandInView(dict([memory_file(path, "x", days, **properties)]))
    plan, after = view.run(decay)
    assert [change.target for change in plan.changes] == ["vaultmem/archive/A.md"] * fades
    assert after.run(decay)[0].changes == ()
    literal = view.run(partial(decay, options=Options(facts=True)))[0].changes
    assert len(literal) == (fades or (days == 999 and not properties))
    view.read_counts = {f"vaultmem/{path}.md": 1}
    assert view.run(decay)[0].changes == ()


def test_an_event_fades_when_its_last_reader_was_long_ago() -> None:
    files = dict([memory_file("knowledge/A", "x", 99, **EVENT), memory_file("people/A", "y", 99)])
    view = StandInView(files, reads=dict.fromkeys(files, 1))
    for days, fades in ((29, False), (31, True)):
        view.last_reads = dict.fromkeys(files, view.now.timestamp() - days * 86_400)
        changes = view.run(decay)[0].changes
        assert [change.path for change in changes] == ["vaultmem/knowledge/A.md"] * fades
        assert view.run(partial(decay, options=Options(facts=True)))[0].changes == ()


@pytest.mark.parametrize(
    ("content", "reads", "path"),
    [
        ("The user prefers dark mode.", 3, "preferences/Note.md"),
        ("Zwölf Boxkämpfer jagen Viktor.", 3, "knowledge/Note.md"),
        ("The user prefers dark mode.", 2, "inbox/Note.md"),
    ],
)
def test_what_is_read_again_and_again_gets_a_place(content: str, reads: int, path: str) -> None:
    view = inbox(content)
    view.read_counts = {"vaultmem/inbox/Note.md": reads}
    after = view.run(upgrade)[1]
    assert only(after)[0] == path
    assert after.run(upgrade)[0].changes == ()


def test_reinforcing_that_a_file_has_lost_comes_back_once() -> None:
    before, at = "2026-11-20T10:00:00Z", "2026-11-21T10:00:00Z"
    notes = {
        "people/A": {"decay_policy": "reinforceable", "last_reinforced_at": before},
        "people/B": {"decay_policy": "fsrs", "last_reinforced_at": at},
        "people/C": {"decay_policy": "stable"},
    }
    view = StandInView(dict(memory_file(name, "x", **own) for name, own in notes.items()))
    view.reinforced_at = {f"vaultmem/{name}.md": at for name in notes}
    plan, after = view.run(write_reinforced)
    assert [(change.path, dict(change.properties)) for change in plan.changes] == [
        ("vaultmem/people/A.md", {"last_reinforced_at": at})
    ]
    assert after.run(write_reinforced)[0].changes == ()
