"""Which due items are shown, in which section, and until when they are snoozed."""

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.dues import WALL, due, said
from vaultmem.memories.item_answers import approval_id, completion_id, item_ids
from vaultmem.reminders.due import REMINDER
from vaultmem.reminders.items import (
    HEADINGS,
    Item,
    completion_questions,
    due_items,
    render,
    snoozed_until,
)


@pytest.mark.parametrize(
    ("day", "section"),
    [
        ("2026-11-21", "overdue"),
        ("2026-11-08T09:00", "overdue"),
        ("2026-11-07T23:59", "older"),
        ("2026-11-22", "today"),
        ("2026-11-22T23:59", "today"),
        ("2026-11-23", "soon"),
        ("2026-11-29T23:59", "soon"),
        ("2026-11-30", None),
        ("", None),
    ],
)
def test_where_a_day_goes(day: str, section: str | None) -> None:
    assert [item.section for item in due_items([due(day)], {}, WALL)] == (
        [section] if section else []
    )


@pytest.mark.parametrize("lapses", [False, True])
def test_what_was_snoozed_stands_where_its_new_day_belongs(lapses: bool) -> None:
    one = due("2026-10-01T09:00", lapses=lapses)
    for until, section in {
        "2026-11-22": "today",
        "2026-11-20": "" if lapses else "overdue",
    }.items():
        items = due_items([one], said(one.id, "snoozed", until), WALL)
        assert [(item.section, item.due) for item in items] == [(section, until)] * bool(section)
    (item,) = due_items(
        [due("2026-11-22T18:00")], said(due("2026-11-22T18:00").id, "snoozed", "2026-11-21"), WALL
    )
    assert item.due == "2026-11-22T18:00"


def test_what_is_foreign_waits_for_approval() -> None:
    one = due("2026-11-22", foreign=True)
    assert due_items([one], {}, WALL) == []
    assert due_items([one], said(approval_id(one.id), "dropped"), WALL) == []
    assert [item.id for item in due_items([one], said(approval_id(one.id)), WALL)] == [one.id]


def test_tasks_done_here_and_open_in_their_note_are_asked_about_once_for_all() -> None:
    one, other = due("2026-11-22"), due("2026-11-22", "pay the rent")
    found = completion_questions([one], said(one.id), WALL)
    assert [(item.id, item.section) for item in found] == [(completion_id("a.md"), "review")]
    assert "call Anne" in render(found, "frontmatter")
    both = {**said(one.id), **said(other.id)}
    elsewhere = other._replace(id="vm-elsewhere", path="b.md")
    [here, there] = completion_questions([one, other, elsewhere], both | said(elsewhere.id), WALL)
    assert (here.id, there.id) == (completion_id("a.md"), completion_id("b.md"))
    assert "2 tasks" in here.text
    for state in ("done", "dropped"):
        assert not completion_questions(
            [one, other], {**both, **said(completion_id("a.md"), state)}, WALL
        )
    assert not completion_questions([one], said(one.id, "dropped"), WALL)
    assert not completion_questions([one._replace(kind=REMINDER)], said(one.id), WALL)


@pytest.mark.parametrize(
    ("given", "until"),
    [
        (None, "2026-11-23"),
        ("2026-11-25", "2026-11-25"),
        ("2026-11-22T18:00", "2026-11-22T18:00"),
        ("2026-11-22T09:59", "2026-11-23"),
        ("2026-11-22", "2026-11-23"),
    ],
)
def test_a_snooze_ends_in_the_future(given: str | None, until: str) -> None:
    assert snoozed_until(given, WALL) == until
    last = datetime(9999, 12, 31, 23, 59)  # noqa: DTZ001 - the clock on the wall
    assert snoozed_until(given, last) <= "9999-12-31"


SECTIONS = st.lists(st.sampled_from([*HEADINGS]), max_size=80)


@given(SECTIONS)
def test_no_section_crowds_out_the_others(sections: list[str]) -> None:
    ids = item_ids([("a", str(number)) for number in range(len(sections))])
    given = [Item(id_, name, "x") for id_, name in zip(ids, sections, strict=True)]
    page = render(given, "frontmatter")
    shown = {
        name: sum(item.id in page for item in given if item.section == name) for name in HEADINGS
    }
    least = {"today": 8, "soon": 2, "overdue": 4, "review": 3, "preferences": 3}
    assert sum(shown.values()) == min(20, len(given))
    assert all(shown[name] >= min(least[name], sections.count(name)) for name in HEADINGS)
    hidden = len(given) - sum(shown.values())
    assert (f"show all: {hidden} more" in page) == bool(hidden)
