"""The page of pending items: the same bytes for the same items, within its limits, in both editors; and what is done where
something else is in its place: it is repaired or left alone, a note of a person stays, and nothing is lost."""

import codecs
import json
import os
import random
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.laws import examples
from tests.obsidian_notes import note
from tests.test_page import FEW, IDS, NOW, PATH, Machine, file, machine
from vaultmem.memories.item_answers import item_id, item_ids
from vaultmem.notes.frontmatter import split
from vaultmem.pending.pending_page import Refreshed
from vaultmem.reminders.items import FULL, SHOW_ALL, Item, render
from vaultmem_logseq.config_edn import Settings
from vaultmem_logseq.graph_rules import LogseqRules

__all__ = ["file", "machine"]  # fixtures
STYLES = ["frontmatter", "outline"]
HOSTILE = json.loads((Path(__file__).parent / "data" / "hostile_notes.json").read_text("utf-8"))
HOSTILE_TEXTS = [note["text"] for note in HOSTILE["notes"]]
LOGSEQ = LogseqRules(Settings(triple_lowbar=True))
ITEMS = [
    Item("vm-aaaaaa", "overdue", "call Anne", "2026-11-20", "People/Anne.md:3", "Anne"),
    Item(
        "vm-bbbbbb",
        "today",
        "water plants",
        "2026-11-22T09:00",
        title="water plants",
        repeat="every week",
    ),
    Item("vm-cccccc", "soon", "pay the bill", "2026-11-25", title="A]] odd"),
    Item("vm-dddddd", "review", "is this so?"),
    Item("vm-eeeeee", "preferences", "Anne likes short mails"),
]
NOTE = """\
---
generated: vaultmem
TP_ignore_this_file: true
---

# Pending

Tick what is done. `[-]` in the box drops an item, and `[>] until friday` puts it off.

## Today

- [ ] [[water plants]] (Sun 2026-11-22 09:00, every week) ^vm-bbbbbb

## Next 7 days

- [ ] pay the bill (Wed 2026-11-25) (A⟧ odd) ^vm-cccccc

## Overdue

- [ ] call Anne (Fri 2026-11-20) [[Anne]] ^vm-aaaaaa

## To review

- [ ] is this so? ^vm-dddddd

## Preferences worth knowing

- Anne likes short mails ^vm-eeeeee

## Notes
mine
"""
OUTLINE = """\
generated:: vaultmem

- Mark what is done as DONE. CANCELED drops an item, and LATER with “until friday” puts it off.
- ## Today
\t- TODO [[water plants]] (Sun 2026-11-22 09:00, every week)
\t  vm-id:: vm-bbbbbb
- ## Next 7 days
\t- TODO pay the bill (Wed 2026-11-25) (A⟧ odd)
\t  vm-id:: vm-cccccc
- ## Overdue
\t- TODO call Anne (Fri 2026-11-20) [[Anne]]
\t  vm-id:: vm-aaaaaa
- ## To review
\t- TODO is this so?
\t  vm-id:: vm-dddddd
- ## Preferences worth knowing
\t- Anne likes short mails
\t  vm-id:: vm-eeeeee
- ## Notes
mine
"""


@pytest.mark.parametrize(("style", "page"), [("frontmatter", NOTE), ("outline", OUTLINE)])
def test_a_page_in_full(style: str, page: str) -> None:
    assert render(ITEMS, style, "mine\n") == page
    for number in range(20):
        assert render(random.Random(number).sample(ITEMS, len(ITEMS)), style, "mine\n") == page


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("text", ["x", "long words " * 30, "笔记" * 200])
def test_a_page_is_short_and_says_what_it_leaves_out(style: str, text: str) -> None:
    ids = item_ids([("a.md", str(each)) for each in range(300)])
    items = [
        Item(name, "overdue", f"{text} {at}", f"2026-11-{10 + at % 20}")
        for at, name in enumerate(ids)
    ]
    page = render(items, style)
    shown = len(set(re.findall(r"vm-[a-z2-7]{6,}", page)) - {SHOW_ALL})
    assert 5 < shown <= 20
    assert len(page) <= 4_000
    assert f"show all: {300 - shown} more" in page
    assert page.count("2026-11-29") == min(shown, 15)  # the nearest first


@pytest.mark.parametrize("style", STYLES)
def test_what_matters_at_the_end_of_a_long_line_is_there(style: str) -> None:
    text = (
        "Call the notary about the papers for the flat, bring both passports, the tax number and the certified copy of "
        "the contract; the address is Rua de Cedofeita 455, second floor on the left"
    )
    page = render([Item("vm-aaaaaa", "today", text, "2026-11-22")], style)
    assert f"{text} " in page.replace("\n", " ")
    cut = render([Item("vm-aaaaaa", "today", "wonderful words " * 40, "2026-11-22")], style)
    assert re.search(r"(wonderful|words)…", cut)


@pytest.mark.parametrize("style", STYLES)
def test_editors_read_the_items_as_tasks(style: str) -> None:
    """Boxes to tick, and none with a date that the Tasks plugin or Logseq would list again, whatever the words."""
    items = [
        Item(f"vm-{at:a>6}", "today", text, "2026-11-22")
        for at, text in enumerate(HOSTILE_TEXTS[:20])
    ]
    page = render(items, style, extent=FULL)
    found = note(page) if style == "frontmatter" else LOGSEQ.parse("pages/p.md", page, split(page))
    assert [(task.due, task.done) for task in found.tasks] == [
        (None, False)
    ] * 21  # and "show less"
    assert not found.links
    assert not found.tags


@given(st.lists(st.sampled_from(HOSTILE_TEXTS) | st.text(max_size=60), max_size=8))
@settings(max_examples=examples(150))
def test_no_text_makes_an_item_a_section_or_a_date(texts: list[str]) -> None:
    ids = item_ids([("a.md", text) for text in texts])
    items = [
        Item(name, "today", text, "2026-11-22", title=text, repeat=text)
        for name, text in zip(ids, texts, strict=True)
    ]
    page = render(items, "frontmatter")
    lines = [line for line in page.splitlines() if line.startswith("- [ ] ")]
    assert sorted(line[-9:] for line in lines) == sorted(ids)
    assert all("(Sun 2026-11-22" in line and "📅" not in line for line in lines)
    assert [line for line in page.splitlines() if line.startswith("#")] == (
        ["# Pending", "## Today", "## Notes"] if items else ["# Pending", "## Notes"]
    )
    outline = render(items, "outline").splitlines()
    assert sum("vm-id::" in line for line in outline) == len(items)
    assert sum("::" in line for line in outline) == len(items) + 1
    assert sum(bool(re.match("[\t ]*- ", line)) for line in outline) == len(items) + 2 + bool(items)


def test_ids_are_stable_and_differ() -> None:
    assert item_id("a.md:3", "call Anne") == item_id("a.md:3", "call Anne")
    assert re.fullmatch("vm-[a-z2-7]{6}", item_id("a.md", "x"))
    assert item_id("a.md", "bc") != item_id("a.mdb", "c")
    named = [("a.md", str(number % 3_000)) for number in range(4_000)]
    ids = item_ids(named)
    assert len(set(ids)) == len(named)
    assert item_ids(named[2_999::-1])[::-1] == item_ids(named[:3_000])


TICKED = render(FEW, "frontmatter", "mine\n").replace("[ ] item 00", "[x] item 00")


AFTER = render(FEW[1:], "frontmatter", "mine\n")


@pytest.mark.parametrize(
    "damaged",
    [
        codecs.BOM_UTF8 + TICKED.encode() + bytes(500),
        TICKED.replace("## Notes\n", "<<<<<<< a\n=======\n>>>>>>> b\n## Notes\n").encode(),
        TICKED.replace("---\ngenerated: vaultmem\n---\n", "").encode(),
        TICKED.replace("## Notes\nmine\n", "mine\n").encode(),
        TICKED.replace("- [x] item 00", f"- [ ] item 00 ^{IDS[0]}\n- [x] item 00").encode(),
    ],
)
def test_a_damaged_page_is_mended_ticks_count(machine: Machine, file: Path, damaged: bytes) -> None:
    file.write_bytes(damaged)
    assert set(machine.refresh().acks) == {IDS[0]}
    assert file.read_text("utf-8") == AFTER
    assert machine.refresh() == Refreshed(written=False, acks={}, problems=[])


@pytest.mark.parametrize(
    "own",
    ["# Pending\n- [x] call Anne\n", "---\nsource: x\n---\n## Notes\nmine", "generated by me", "\ud800",
     "# How it works\n\n```\n---\ngenerated: vaultmem\n---\n```\n- [ ] mine\n", "see\n- [x] it ^vm-aaaaaa\n", "\0".join(TICKED)],
)  # fmt: skip
def test_a_note_of_a_person_is_never_written_over(machine: Machine, file: Path, own: str) -> None:
    content = own.encode("utf-8", "surrogatepass")
    file.write_bytes(content)
    done = machine.refresh()
    assert not done.written
    assert "is a note of yours" in done.problems[0]
    assert file.read_bytes() == content
    assert machine.page.acks(NOW) == {}


def test_answers_on_a_read_only_page_are_recorded_once(machine: Machine, file: Path) -> None:
    file.write_text(TICKED, "utf-8")
    file.chmod(0o444)
    for number in range(3):
        done = machine.refresh()
        assert "read-only" in done.problems[0]
        assert [*done.acks] == ([IDS[0]] if number == 0 else [])
    assert machine.page.acks(NOW) == {}
    assert file.read_text("utf-8") == TICKED
    file.chmod(0o644)
    assert machine.refresh().written
    assert file.read_text("utf-8") == AFTER


def test_a_monstrous_page_is_left_alone(machine: Machine, file: Path) -> None:
    content = (TICKED + "a line of a person\n" * 300_000).encode()
    file.write_bytes(content)
    assert "is larger than 4 MB" in machine.refresh().problems[0]
    assert file.read_bytes() == content


def test_a_note_of_a_person_beside_it_is_no_copy(machine: Machine, file: Path) -> None:
    own = file.with_name("pending 2.md")
    own.write_text("# Pending\n- [x] my own\n")
    other = file.with_name("pending-things.md")
    other.write_text("mine")
    machine.refresh()
    machine.refresh()
    assert own.read_text() == "# Pending\n- [x] my own\n"
    assert other.exists()


@pytest.mark.parametrize("inside", [True, False])
def test_a_link_is_not_followed_and_what_is_no_file_is_said(
    machine: Machine, file: Path, tmp_path: Path, inside: bool
) -> None:
    target = file.with_name("mine.md") if inside else tmp_path / "outside.md"
    target.write_text(TICKED)
    file.symlink_to(target)
    assert "is a link" in machine.refresh().problems[0]
    assert target.read_text() == TICKED
    file.unlink()
    (os.mkfifo if inside else os.mkdir)(file)
    assert machine.refresh().problems == [f"{PATH} is not a file; move it away"]
    assert machine.page.acks(NOW) == {}
