"""Which due items are shown, in which section, and until when they are snoozed; and what needs a review, from real
notes."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import Write
from tests.index_dump import generation, synced
from vaultmem.index.catalog import Catalog
from vaultmem.index.state import State
from vaultmem.ledger import reads
from vaultmem.ledger.ledger import Ledger
from vaultmem.memories.access import CONNECTED, OWN
from vaultmem.memories.item_answers import (
    Answer,
    approval_id,
    completion_id,
    item_id,
    item_ids,
)
from vaultmem.pending.review_items import Context, Review
from vaultmem.reminders.due import REMINDER, TASK, Due
from vaultmem.reminders.items import (
    HEADINGS,
    Item,
    completion_questions,
    due_items,
    render,
    snoozed_until,
)
from vaultmem.text.similarity import content_hash

WALL = datetime(2026, 11, 22, 10)  # noqa: DTZ001 - the clock on the wall
NOW = WALL.replace(tzinfo=UTC)
AT = "2026-11-22T09:00:00Z"


def due(day: str, text: str = "call Anne", **more: Any) -> Due:
    known = Due(item_id("a.md", f"{text}{day}"), TASK, text, day, day, "a.md", 3, "a")
    return known._replace(**more)


def said(id_: str, state: str = "done", until: str = "") -> dict[str, Answer]:
    return {id_: Answer(id_, state, AT, "you", until)}


@pytest.fixture
def sight(vault: Path) -> Iterator[Context]:
    synced(vault)
    catalog = Catalog(f"{generation(vault)}/catalog.db")
    ledger = Ledger(State(str(vault)).path("ledger.db"))
    yield Context(catalog, ledger, str(vault), "vaultmem", NOW, "vaultmem/pending.md")
    catalog.close()


def memory(write: Write, path: str, text: str = "likes tea", **properties: str) -> str:
    number = f"{abs(hash(path)):032x}"[:32]
    id_ = f"{number[:8]}-{number[8:12]}-4{number[13:16]}-8{number[17:20]}-{number[20:]}"
    given = {"id": id_, "created_at": "2026-11-20T10:00:00Z", **properties}
    front = "".join(f"{key}: {value}\n" for key, value in given.items())
    write(f"vaultmem/{path}", f"---\n{front}---\n{text}\n")
    return id_


def look(sight: Context, vault: Path, answers: dict[str, Answer] | None = None) -> list[Item]:
    synced(vault)
    return Review(sight, [], answers or {}).chores()


def test_the_inbox_is_one_line_a_day_later(sight: Context, vault: Path, write: Write) -> None:
    memory(write, "inbox/new.md", created_at="2026-11-22T08:00:00Z")
    assert look(sight, vault) == []
    memory(write, "inbox/old.md")
    [line] = look(sight, vault)
    assert line.text == "1 memory waits in the inbox: vaultmem list --phase inbox"
    assert look(sight, vault, said(line.id)) == []
    memory(write, "inbox/older.md", created_at="2026-11-01T10:00:00Z")
    assert look(sight, vault)[0].id == line.id
    memory(write, "inbox/newer.md", created_at="2026-11-21T10:00:00Z")
    [line] = look(sight, vault, said(line.id))
    assert line.text.startswith("3 memories wait")


def test_findings_are_shown_while_they_are_so(sight: Context, vault: Path, write: Write) -> None:
    ids = [memory(write, path) for path in ("inbox/a.md", "people/b.md", "people/c.md")]
    paths = ["vaultmem/inbox/a.md", "vaultmem/people/b.md", "vaultmem/people/c.md", "vaultmem/x.md"]
    kinds = ["unsure", "contradiction", "contradiction"]
    found: list[Any] = [
        {"kind": kind, "subject": paths[at], "said": f"said of {paths[at]}", "others": others, "ids": of}
        for kind, at, others, of in (
            ("unsure", 0, [], [ids[0]]),
            ("contradiction", 2, [paths[1]], [ids[2], ids[1]]),
            ("contradiction", 3, [paths[1]], ["gone", ids[1]]),
        )
    ]  # fmt: skip
    found.append({"kind": "contradiction", "subject": paths[0], "said": "said of it", "others": []})
    reads.keep_findings(sight.ledger, kinds, found, 0.0)
    shown = [item for item in look(sight, vault) if "said of" in item.text]
    assert [item.source for item in shown] == [paths[2]], "unsure is no chore"
    assert shown[0].text.endswith(f"vaultmem delete {ids[1][:8]} archives the older one")
    renamed = {**found[1], "said": "said of [[b]]"}
    reads.keep_findings(sight.ledger, kinds, [renamed], 0.0)
    for path, name in zip(paths[1:3], ("b, new.md", "c, new.md"), strict=True):
        (vault / path).rename((vault / path).with_name(name))
    [item] = [item for item in look(sight, vault) if "said of" in item.text]
    assert (item.id, item.source) == (shown[0].id, "vaultmem/people/c, new.md")
    assert "[[b, new]]" in item.text
    assert not item.private
    memory(write, "people/b, new.md", private="true", id=ids[1])
    [item] = [item for item in look(sight, vault) if item.id == shown[0].id]
    assert (item.private, item.title) == (True, "")
    for path, name in zip(paths[1:3], ("b, new.md", "c, new.md"), strict=True):
        (vault / path).with_name(name).rename(vault / path)
    reads.keep_findings(sight.ledger, kinds, found, 0.0)
    (vault / paths[1]).unlink()
    assert not [item for item in look(sight, vault) if "said of" in item.text]


def test_chores_are_one_line_of_the_page_that_comes_back_with_the_next(
    sight: Context, vault: Path, write: Write
) -> None:
    known = {path: memory(write, f"people/{path}.md", "likes tea") for path in "abc"}
    same = content_hash("likes tea")

    def advice(*paths: str) -> Any:
        ids = [known[path] for path in paths]
        row = {
            "kind": "merge",
            "memories": ids,
            "hashes": [same, same],
            "category": "people",
            "choice": "same",
            "reason": "",
            "model": "",
        }
        return reads.OPEN, row

    reads.advise(sight.ledger, {"a": advice(*"ab"), "b": advice(*"ac")}, 1.0)
    memory(write, "inbox/old.md")
    for number in range(5):
        write(f"bad{number}.md", "---\na: [\n---\n")
    assert len(look(sight, vault)) == 2  # a model's proposals are shown there separately
    [line] = Review(sight, [], {}).questions()
    assert line.text == "4 things to look after: vaultmem review", "2 lines and 2 proposals"
    assert Review(sight, [], said(line.id)).questions() == []
    reads.advise(sight.ledger, {"c": advice(*"bc")}, 3.0)
    assert [
        question.id != line.id for question in Review(sight, [], said(line.id)).questions()
    ] == [True]
    memory(write, "people/a.md", "likes coffee")
    synced(vault)
    assert Review(sight, [], {}).count() == 3, "of what has changed nothing is proposed"


def test_conflict_copies_and_unreadable_notes(sight: Context, vault: Path, write: Write) -> None:
    write("a.md", "one")
    write("a.sync-conflict-20261122-101500-ABCDEFG.md", "two")
    write("vaultmem/pending.sync-conflict-20261122-101500-ABCDEFG.md", "ours")
    write("vaultmem/pending 2.md", "---\ngenerated: vaultmem\n---\n")
    write("bad.md", "---\na: [\n---\n")
    write("template.md", "---\na: {{x}}\n---\n")  # intended, so nothing to do for anybody
    shown = look(sight, vault)
    assert [item.source for item in shown] == [
        "a.sync-conflict-20261122-101500-ABCDEFG.md",
        "bad.md",
    ]
    assert "of a.md" in shown[0].text
    for number in range(4):
        write(f"bad{number}.md", "---\na: [\n---\n")
    assert look(sight, vault)[1].text.startswith("5 notes cannot be read")
    assert [item.text for item in look(sight, vault, said(shown[1].id))][1].startswith("4 notes")


def test_a_vanished_vault_comes_first(sight: Context, vault: Path, write: Write) -> None:
    write("bad.md", "---\na: [\n---\n")
    synced(vault)
    shown = Review(sight, [], {}, "9 of 10 notes are gone").questions()
    assert [item.text.partition(" ")[0] for item in shown] == ["9", "2"]
    page = render(shown, "frontmatter")
    assert page.index("are gone") < page.index("vaultmem review")


def test_dues_from_outside_are_asked_about_one_after_the_other(sight: Context, vault: Path) -> None:
    synced(vault)
    dues = [due("2026-11-23", f"buy {number}", foreign=True) for number in range(5)]
    dues.append(due("2027-11-23", "much later", foreign=True))
    dues[1] = dues[1]._replace(path="vaultmem/inbox/a.md")
    shown = Review(sight, dues, {}).questions()
    assert [item.id for item in shown[:2]] == [approval_id(each.id) for each in dues[:2]]
    whence = ["(from outside, due", "(in the inbox, not filed yet, due"]
    assert all(words in item.text for words, item in zip(whence, shown[:2], strict=True))
    assert [item.text.partition(" to")[0] for item in shown[2:]] == ["5 things"]
    assert [chore.id for chore in Review(sight, dues, {}).chores()] == [
        approval_id(each.id) for each in dues[:5]
    ]
    answers = {**said(shown[0].id), **said(shown[1].id, "dropped")}
    assert [item.id for item in Review(sight, dues, answers).questions()[:2]] == [
        approval_id(each.id) for each in dues[2:4]
    ]


def test_preferences_are_filed_or_approved_ones(sight: Context, vault: Path, write: Write) -> None:
    memory(write, "preferences/tea.md", "likes tea\nand `code`", created_at="2026-11-01T10:00:00Z")
    memory(write, "skills/tabs.md", "use tabs", memory_type="procedural")
    memory(write, "people/anne.md", "not this")
    memory(write, "inbox/x.md", "nor this", memory_type="procedural")
    theirs = memory(write, "preferences/theirs.md", "obey me", agent="mcp")
    memory(write, "preferences/web.md", "obey the web", source="https://example.org")
    shown = look(sight, vault)
    assert approval_id(theirs) in [item.id for item in shown]
    assert any("obey the web" in item.text for item in shown)
    texts = [item.text for item in Review(sight, [], {}).preferences()]
    assert texts == ["use tabs", "likes tea\nand `code`"]
    approved = said(approval_id(theirs))
    assert "obey me" in [item.text for item in Review(sight, [], approved).preferences()]
    assert approval_id(theirs) not in [item.id for item in look(sight, vault, approved)]
    known = memory(
        write, "preferences/c.md", "short mails", agent="codex", created_at="2026-10-01T10:00:00Z"
    )
    assert approval_id(known) not in [item.id for item in look(sight, vault)]
    last = Review(sight, [], {}).preferences()[-1]
    assert (last.text, last.author) == ("short mails", "codex")
    assert "- short mails (by codex) ^" in render([last], "frontmatter")
    assert last not in Review(sight, [], said(approval_id(known), "dropped")).preferences()
    hidden = Review(sight, [], {}).preferences()[0].id
    assert len(Review(sight, [], said(hidden, "dropped")).preferences()) == 2
    page = render(Review(sight, [], {}).preferences(), "frontmatter")
    assert "likes tea and 'code'" in page


def test_nothing_private_is_quoted(sight: Context, vault: Path, write: Write) -> None:
    theirs = memory(write, "preferences/Divorce.md", "no calls", agent="mcp", private="true")
    task = due(WALL.date().isoformat())._replace(private=True, title="Divorce")
    foreign = due("2026-11-23", "call the lawyer", foreign=True)._replace(
        private=True, title="Divorce"
    )
    shown = [*look(sight, vault), *Review(sight, [foreign], {}).questions()]
    by_id = {one.id: one for one in [*shown, *due_items([task], {}, WALL)]}
    items = [by_id[id_] for id_ in (approval_id(theirs), approval_id(foreign.id), task.id)]
    assert {(item.private, item.title) for item in items} == {(True, "")}
    assert not any(word in item.text for item in items for word in ("calls", "lawyer", "Anne"))
    places = {"preferences/Calls.md": "no mails", "people/Bo.md": "Bo is ill"}
    for private, count in (("false", 1), ("true", 0)):  # which became private after it was indexed
        for path, text in places.items():
            memory(write, path, text, private=private)
        if private == "false":
            synced(vault)
        review = Review(sight, [], {})
        assert (len(review.preferences()), len(review.facts())) == (count, count)


def test_of_preferences_the_persons_own_come_first_and_trust_says_who_else_reads_the_others(
    sight: Context, vault: Path, write: Write
) -> None:
    place, when = "preferences/{}.md", "2026-11-{:02}T10:00:00Z"
    for number, agent in enumerate(("", "codex", "claude"), 1):
        more = {"agent": agent} if agent else {}
        written = memory(
            write, place.format(number), f"no {number}", created_at=when.format(number), **more
        )
    synced(vault)

    def listed(trust: str, answers: dict[str, Answer] | None = None) -> list[tuple[str, str, str]]:
        shown = Review(sight._replace(trust=trust), [], answers or {}).preferences()
        return [(one.text, one.author, one.scope) for one in shown]

    assert listed(CONNECTED) == [
        ("no 1", "", "global"), ("no 3", "claude", "global"), ("no 2", "codex", "global"),
    ]  # fmt: skip
    assert listed(OWN) == [
        ("no 1", "", "global"), ("no 3", "claude", "agent:claude"), ("no 2", "codex", "agent:codex"),
    ]  # fmt: skip
    assert listed(OWN, said(approval_id(written))) == [
        ("no 3", "", "global"), ("no 1", "", "global"), ("no 2", "codex", "agent:codex"),
    ]  # fmt: skip


def test_what_can_be_answered_stays_current(sight: Context, vault: Path, write: Write) -> None:
    theirs = memory(write, "preferences/theirs.md", "obey me", agent="mcp")
    memory(write, "preferences/mine.md", "tea")
    memory(write, "inbox/a.md")
    write("bad.md", "---\na: [\n---\n")
    dues = [due("2026-11-23"), due("2026-11-23", "buy", foreign=True)]
    shown = look(sight, vault)
    there = Review(sight, dues, {}).answerable_ids()
    assert {each.id for each in dues} <= there
    assert {approval_id(dues[1].id), completion_id(dues[0].path), approval_id(theirs)} <= there
    assert {item.id for item in [*shown, *Review(sight, [], {}).preferences()]} <= there
    (vault / "bad.md").unlink()
    synced(vault)
    assert not [
        item
        for item in shown
        if item.source == "bad.md" and item.id in Review(sight, dues, {}).answerable_ids()
    ]


# --- due items


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
