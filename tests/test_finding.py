"""What is due in a vault: from notes as they are written, through the index, to the list."""

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from tests.conftest import Write, fill
from tests.index_dump import generation, synced
from vaultmem.index import catalog_read
from vaultmem.index.catalog import Catalog
from vaultmem.ledger.ledger import Ledger
from vaultmem.memories.item_answers import Answer, item_id
from vaultmem.reminders.agenda import Agenda
from vaultmem.reminders.due import NOTE, REMINDER, SENTENCE, TASK, Due

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 22, 10, 0, tzinfo=BERLIN)  # a Sunday
WEEK_AGO = NOW - timedelta(7)


@contextmanager
def catalog_of(vault: Path) -> Iterator[Catalog]:
    catalog = Catalog(str(generation(vault) / "catalog.db"))
    yield catalog
    catalog.close()


def finder(vault: Path) -> Agenda:
    return Agenda(Ledger(str(vault.parent / "state" / "ledger.db")), "vaultmem")


def found(
    vault: Path, now: datetime = NOW, closed: frozenset[str] = frozenset(), by: Agenda | None = None
) -> list[Due]:
    """What is due in the vault as it is now."""
    synced(vault)
    with catalog_of(vault) as catalog:
        answers = {id_: Answer(id_, "done", "2026-11-22T09:00:00Z") for id_ in closed}
        return [*(by or finder(vault)).dues(catalog, now, answers)]


def dated(path: Path, when: datetime) -> Path:
    os.utime(path, (when.timestamp(), when.timestamp()))
    return path


def found_in(
    vault: Path, write: Write, texts: Collection[str], folder: str = "."
) -> list[list[Due]]:
    """What is due in each of these notes of a week ago; all are in one vault, because a sync takes longer than a
    query."""
    paths = [f"{folder}/{chr(ord('A') + at)}.md".removeprefix("./") for at, _ in enumerate(texts)]
    for path, text in zip(paths, texts, strict=True):
        dated(write(path, text), WEEK_AGO)
    dues = found(vault)
    return [[due for due in dues if due.path == path] for path in paths]


OBSIDIAN = {
    "- [ ] call 📅 2026-12-01": ("call", "2026-12-01", "2026-12-01"),
    "- [ ] call 🛫 2026-12-01": ("call", "2026-12-01", ""),
    "- [ ] call 🛫 2026-11-01": ("call", "", ""),
    "- [ ] call 🛫 2026-11-01 📅 2026-12-01": ("call", "2026-12-01", "2026-12-01"),
    "- [/] call [due:: 2026-12-01]": ("call", "2026-12-01", "2026-12-01"),
    "- [ ] call (@2026-12-01 15:30)": ("call", "2026-12-01T15:30", "2026-12-01T15:30"),
    "- [ ] call (@[[2026-12-01]] 15:30) 📅 2026-12-02": ("call", "2026-12-02", "2026-12-01T15:30"),
    "- [ ] call ⏰ 2026-12-01 15:30": ("call", "2026-12-01T15:30", "2026-12-01T15:30"),
    "- [ ] call @{2026-12-01} @@{09:15}": ("call", "2026-12-01T09:15", "2026-12-01T09:15"),
    "- [ ] call Bob tomorrow at 3pm": ("call Bob tomorrow at 3pm", "2026-11-16T15:00", "2026-11-16T15:00"),
    "- [ ] renew by Dec 5": ("renew by Dec 5", "2026-12-05", "2026-12-05"),
    "- [ ] 12月5日前续护照": ("12月5日前续护照", "2026-12-05", "2026-12-05"),
    "- [ ] far 📅 9999-12-31": ("far", "9999-12-31", "9999-12-31"),
    "Remind me to call Anne on Friday at 9.": ("Remind me to call Anne on Friday at 9.", "2026-11-20T09:00", "2026-11-20T09:00"),
    "Don't forget: dentist on Friday at 9:30": ("Don't forget: dentist on Friday at 9:30", "2026-11-20T09:30", "2026-11-20T09:30"),
    "TODO call Ben on Friday": ("TODO call Ben on Friday", "2026-11-20", "2026-11-20"),
    "别忘了12月3日交作业": ("别忘了12月3日交作业", "2026-12-03", "2026-12-03"),
    "The passport has to be renewed by 5 December 2026.": ("The passport has to be renewed by 5 December 2026.", "2026-12-05", "2026-12-05"),
    "记得12月3日下午三点交作业。": ("记得12月3日下午三点交作业。", "2026-12-03T15:00", "2026-12-03T15:00"),
    "Long ago. Deadline: 2026-12-04. And so on.": ("Deadline: 2026-12-04.", "2026-12-04", "2026-12-04"),
}  # fmt: skip


def test_lines_of_obsidian(vault: Path, write: Write) -> None:
    texts = [f"---\nstatus: x\n---\n# Plan\n\n{line}\n" for line in OBSIDIAN]
    for (line, expected), (due,) in zip(
        OBSIDIAN.items(), found_in(vault, write, texts), strict=True
    ):
        assert (due.text, due.due, due.at) == expected
        assert (due.line, f"{due.title}.md") == (6, due.path)
        assert due.kind == (TASK if line.startswith("- [") else SENTENCE)


NOTHING = [
    "- [x] call 📅 2026-12-01", "- [ ] call 📅 2026-02-30", "- [ ] call", "- [ ] `tomorrow`", "- [ ] read [[2026-12-01]]",
    "> Remind me on 1 December.", "# Due on 1 December 2026", "```\nremind me on 1 December\n```",
    "She said “remind me on 1 December” and left.", "That reminds me of 1 December 2026.",
    "Vegetables are due to grow on 1 December 2026.", "For example: remind me on 1 December.",
    "| due | 2026-12-01 |\n| --- | --- |\n| due | 2026-12-01 |", "Due on 1 March 2026.",
    "Don't forget that he leaves on 1 December 2026.", "My todo list of 1 December 2026.",
    "due by {{date:YYYY-MM-DD}} 2026-12-01", "%% remind me on 1 December %%", "系统会提醒我，12月1日更新。",
]  # fmt: skip


def test_nothing_is_due(vault: Path, write: Write) -> None:
    dated(write("Templates/Daily.md", "- [ ] call Bob tomorrow\n\nRemind me tomorrow.\n"), NOW)
    found_of = dict(
        zip(NOTHING, found_in(vault, write, [f"{each}\n" for each in NOTHING]), strict=True)
    )
    assert not [each for each, dues in found_of.items() if dues]
    assert found(vault) == []


LOGSEQ = {
    "- TODO call\n  DEADLINE: <2026-12-01 Tue>": (TASK, "2026-12-01", "", False),
    "- TODO call\n  SCHEDULED: <2026-12-01 Tue 09:30>": (TASK, "2026-12-01T09:30", "", False),
    "- LATER call\n  SCHEDULED: <2026-12-01 Tue ++1w>": (TASK, "2026-12-01", "every week", False),
    "- call\n  DEADLINE: <2026-12-01 Tue>": (SENTENCE, "2026-12-01", "", False),
    "- call\n  SCHEDULED: <2026-12-01 Tue>": (NOTE, "2026-12-01", "", True),
    "- call\n  SCHEDULED: <2026-11-01 Sun .+2d>": (NOTE, "2026-11-23", "every 2 days when done", True),
    "- TODO call\n  deadline:: [[Dec 1st, 2026]]": (TASK, "2026-12-01", "", False),
    "- TODO call\n  scheduled:: 2026-12-01 09:30": (TASK, "2026-12-01T09:30", "", False),
    "- Erinnere mich am 1. Dezember um 9 Uhr an Katrin": (SENTENCE, "2026-12-01T09:00", "", False),
    "- TODO call tomorrow": (TASK, "2026-11-16", "", False),
    "- remind me to call on 1 December": (SENTENCE, "2026-12-01", "", False),
}  # fmt: skip


def test_blocks_of_logseq(vault: Path, write: Write) -> None:
    (fill(vault, {"logseq/config.edn": "{}"}) / ".obsidian").rmdir()
    texts = [f"- first\n{text}\n" for text in LOGSEQ]
    for expected, (due,) in zip(
        LOGSEQ.values(), found_in(vault, write, texts, "pages"), strict=True
    ):
        assert (due.kind, due.due, due.repeat, due.lapses) == expected
        assert due.line == 2


PROPERTIES: dict[str, list[tuple[str, str]]] = {
    "due: 2026-12-01": [("2026-12-01", "2026-12-01")],
    "Due: 2026-12-01T09:30": [("2026-12-01T09:30", "2026-12-01T09:30")],
    "due: 2026-12-01T08:30:00Z": [("2026-12-01T09:30", "2026-12-01T09:30")],
    'due: "[[2026-12-01]]"': [("2026-12-01", "2026-12-01")],
    "due: next Friday at 9": [("2026-11-20T09:00", "2026-11-20T09:00")],
    "due: 2026-12-01\nremind: 2026-11-30T18:00": [("2026-12-01", "2026-11-30T18:00")],
    "remind: [2026-12-01, 2026-12-02]": [("2026-12-01", "2026-12-01"), ("2026-12-02", "2026-12-02")],
    "remind: 2026-11-03T09:00\nrepeat: every week": [("2026-11-17T09:00", "2026-11-17T09:00")],
    "remind: 2026-11-03\nrepeat: 每周二": [("2026-11-17", "2026-11-17")],
    "date: 2026-12-01": [],
    "deadline: 2026-12-01": [("2026-12-01", "2026-12-01")],
    "deadline: 2026-12-01\nremind: 2026-11-30": [("2026-12-01", "2026-11-30")],
    "scheduled: 2026-11-22": [("2026-11-22", "2026-11-22")],
    "scheduled: 2026-11-21": [],
    "scheduled: 2026-12-01\ncreated: 2026-12-01": [],
    "due: 2026-02-30": [],
    "due: 2026-12-01\nstatus: done": [],
    "due: 2026-12-01T25:00": [],
}  # fmt: skip


def test_properties(vault: Path, write: Write) -> None:
    texts = [f"---\n{front}\n---\ntext\n" for front in PROPERTIES]
    for expected, dues in zip(PROPERTIES.values(), found_in(vault, write, texts), strict=True):
        assert [(due.due, due.at) for due in dues] == expected
        assert all((due.kind, f"{due.text}.md", due.line) == (NOTE, due.path, 0) for due in dues)


def test_a_date_is_due_in_reminders_alone(vault: Path, write: Write) -> None:
    dated_one = "---\nid: {}\nphase: organized\ndate: 2026-12-01\n---\nCall Anne.\n"
    for number, folder in enumerate(("vaultmem/reminders", "vaultmem/projects", "Journal")):
        write(f"{folder}/Call {number}.md", dated_one.format(f"m-{number}"))
    write("vaultmem/reminders/No memory.md", "---\ndate: 2026-12-01\n---\n")
    assert [(due.due, due.memory) for due in found(vault)] == [("2026-12-01", "m-0")]


def test_memories_remind(vault: Path, write: Write) -> None:
    memory = (
        "---\nid: m-1\nphase: organized\nremind: 2026-11-23T09:00\n---\nCall Anne about the roof.\n"
    )
    write("vaultmem/reminders/Call Anne.md", memory)
    write("vaultmem/archive/reminders/Old.md", memory.replace("m-1", "m-2"))
    write("vaultmem/reminders/Theirs.md", memory.replace("m-1", "m-3\nagent: claude"))
    write("vaultmem/reminders/Nobody's.md", memory.replace("m-1", "m-5\nagent: mcp"))
    write("vaultmem/inbox/New.md", memory.replace("m-1", "m-4").replace("organized", "inbox"))
    dues = {due.memory: due for due in found(vault)}
    assert dues.keys() == {"m-1", "m-3", "m-4", "m-5"}
    assert {id_ for id_, due in dues.items() if due.foreign} == {"m-4", "m-5"}
    assert {id_: due.author for id_, due in dues.items() if due.author} == {
        "m-3": "claude", "m-5": "mcp",
    }  # fmt: skip
    assert dues["m-1"].kind == REMINDER
    assert dues["m-1"].text == "Call Anne about the roof."


def test_words_of_others(vault: Path, write: Write) -> None:
    fronts = {
        "Clippings/A": "", "Web/clippings/A": "", "B": "source: https://example.org\n", "C": "URL: x\n",
        "D": "source:\n", "E": "tags: [x]\n",
    }  # fmt: skip
    for name, front in fronts.items():
        write(f"{name}.md", f"---\n{front}---\n- [ ] call 📅 2026-12-01\n")
    foreign = {due.path.removesuffix(".md"): due.foreign for due in found(vault)}
    assert foreign == {name: name not in "DE" for name in fronts}


def test_what_repeats_waits_for_an_answer(vault: Path, write: Write) -> None:
    write("Plan.md", "---\nremind: 2026-11-02T09:00\nrepeat: every week\n---\n")
    (last,) = found(vault)
    assert last.due == "2026-11-16T09:00"
    assert last.rolls
    (following,) = found(vault, closed=frozenset({last.id}))
    assert following.due == "2026-11-23T09:00"
    (later,) = found(vault, datetime(2026, 11, 23, 9, 0, tzinfo=BERLIN))
    assert later == following
    one = finder(vault)
    found(vault, by=one)
    assert one.next_turn(NOW) == "2026-11-23T09:00"


COPIES = ["b/Plan", "a/PLAN", "Plan (1)", "Plan 2", "Plan-ANN-PC",
          "Plan (conflicted copy 2026-11-21)", "Plan.sync-conflict-20261121-101010-ABCDEFG",
          "Plan_conflict-20261121-101010", "Plan (SFConflict ann@hill.org 2026-11-21-10-10-10)"]  # fmt: skip


@pytest.mark.parametrize("mark", ["", "🆔 abc "])
def test_what_a_conflict_copy_repeats_is_due_once(vault: Path, write: Write, mark: str) -> None:
    line = f"- [ ] call {mark}📅 2026-12-01\n"
    text = line + line + "".join(f"line {each}\n" for each in range(30))
    paths = sorted(["Plan.md", *(f"{copy}.md" for copy in COPIES)])
    write("Plan.md", text)
    (alone,) = found(vault)
    for path in paths:
        write(path, text)
    one = finder(vault)
    every = found(vault, by=one)
    assert [due.path for due in every] == ["Plan.md", "a/PLAN.md", "b/Plan.md"]
    write("Plan.sync-conflict-20261121-101010-ABCDEFG.md", text + "- [ ] write 📅 2026-12-02\n")
    *same, more = found(vault, by=one)
    assert (same, more.text, more.line) == (every, "write", 33)
    with catalog_of(vault) as catalog:
        listed = [path for path, _ in catalog_read.tasks(catalog)]
    assert {*listed} == {*(due.path for due in [*every, more])}
    write("Plan.md", text.replace("[ ]", "[x]"))
    assert found(vault, by=one) == [*every[1:], more], "it is done, whatever a copy says"
    write("Plan.md", text.replace("call", "ring"))
    first, *left = (due for due in found(vault, by=one) if due.text != "ring")
    assert (first.path, first.id, left) == ("Plan (1).md", every[0].id, [*every[1:], more])
    assert alone.text == first.text


def test_a_reminder_is_the_same_item_in_other_words(vault: Path, write: Write) -> None:
    """So a snooze stays with it, and two machines that rename it have one."""
    text = "---\nid: m1\ncategory: reminders\nremind: 2026-12-01\n---\n{}\n"
    write("vaultmem/reminders/water.md", text.format("water the plants"))
    (first,) = found(vault)
    write("vaultmem/reminders/water.md", text.format("water the plants and herbs"))
    write("vaultmem/reminders/watered.md", text.format("water all"))
    assert [(due.id, due.text) for due in found(vault)] == [
        (first.id, "water the plants and herbs")
    ]


@pytest.mark.parametrize("restarts", [True, False])
def test_relative_words_go_with_their_note(vault: Path, write: Write, restarts: bool) -> None:
    one = None if restarts else finder(vault)
    text = "- [ ] call Bob tomorrow\n"
    dated(write("Note.md", text), NOW)
    assert [due.due for due in found(vault, by=one)] == ["2026-11-23"]
    edited = NOW + timedelta(5)
    dated(write("Note.md", f"{text}\nmore\n"), edited)
    found(vault, edited, by=one)
    dated(write("Copy.md", f"{text}\nother\n"), edited)
    days = {due.path: due.due for due in found(vault, edited, by=one)}
    assert days == {"Note.md": "2026-11-23", "Copy.md": "2026-11-28"}, "as of a template"
    (vault / "Note.md").rename(vault / "Other.md")
    days = {due.path: due.due for due in found(vault, edited + timedelta(1), by=one)}
    assert days == {"Other.md": "2026-11-23", "Copy.md": "2026-11-28"}


def test_after_an_edit_it_is_as_if_it_were_looked_for_anew(vault: Path, write: Write) -> None:
    one = finder(vault)
    texts = ["- [ ] a 📅 2026-12-01\n", "nothing\n", "Remind me on 3 December.\n", "- [x] a 📅 2026-12-01\n",
             "---\nremind: 2026-11-01\nrepeat: every day\n---\n", "- [ ] a 📅 2026-12-01\n- [ ] b 🛫 2026-12-01\n"]  # fmt: skip
    for number, text in enumerate(texts * 2):
        path = f"{'sub/' * (number % 2)}Note {number % 5 // 2}.md"  # also notes that share a name
        dated(write(path, text), WEEK_AGO + timedelta(minutes=number))
        if number % 4 == 3:
            (vault / path).unlink()
        assert found(vault, by=one) == found(vault)
    for moment in (NOW + timedelta(days) for days in (1, 9, 10, 40)):
        assert found(vault, moment, by=one) == found(vault, moment)


def test_a_copy_of_the_page_asks_for_nothing(vault: Path) -> None:
    """Its items are due where they come from; otherwise every check would add more."""
    task = "- [ ] call [[a]] 📅 2026-12-01 ^vm-abcdef\n"
    names = [
        "My list.md",
        "vaultmem/pending.sync-conflict-20261122-120002-ABCDEFG.md",
        "Other/pending.md",
    ]
    fill(vault, dict.fromkeys(names, f"---\ngenerated: vaultmem\n---\n{task}"))
    fill(vault, {"Mine.md": f"---\ngenerated: by hand\n---\n{task}"})
    assert [due.path for due in found(vault)] == ["Mine.md"]


def test_ids_are_all_different(vault: Path, write: Write) -> None:
    """Six letters are not enough for a hundred thousand: some begin alike."""
    seen: dict[str, int] = {}
    number = 0
    while (short := item_id("many", f"task {number}\0002026-12-01")) not in seen:
        seen[short] = number
        number += 1
    write(
        "Many.md",
        "".join(f"- [ ] task {each} 📅 2026-12-01\n" for each in (seen[short], number, 0)),
    )
    assert sorted(len(due.id) for due in found(vault)) == [9, 9, 10]
    assert len({due.id for due in found(vault)}) == 3
