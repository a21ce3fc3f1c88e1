"""Whatever happens to the page: no tick is lost, and no line of a person."""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime
from functools import partial

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.effort import takes_less
from vaultmem.reminders.pending_items import Ack
from vaultmem.reminders.pending_merge import merged, read
from vaultmem.reminders.pending_page import HEADINGS, Item, item_ids, render

NOW = datetime(2026, 11, 22, 10, tzinfo=UTC)  # a Sunday
STYLES = ["frontmatter", "outline"]
TEXTS = ["call Anne", "water plants", "pay until Friday", "笔记 lesen", "TODO twice", "read [[A]]"]
IDS = item_ids([("a.md", text) for text in TEXTS])
ITEMS = [
    Item(name, section, text, day, title="Anne")
    for name, section, text, day in zip(
        IDS,
        [*HEADINGS, "today"],
        TEXTS,
        ["2026-11-20", "2026-11-22T09:00", "2026-11-25", None, None, None],
        strict=True,
    )
]
FIRST = IDS[0]


def one(line: str, style: str = "frontmatter") -> Ack:
    return merged(f"## Today\n{line}\n", ITEMS, style, NOW).acks.get(FIRST, Ack("open"))


@pytest.mark.parametrize(
    ("line", "ack"),
    [
        (f"- [x] call Anne 📅 2026-11-20 ^{FIRST}", Ack("done")),
        (f"* [X] anything ^{FIRST}", Ack("done")),
        (f"\t+\t[x]\tcall ^{FIRST}\t", Ack("done")),
        (f"1. [x] call ^{FIRST}\r", Ack("done")),
        (f"- \\[x\\] call ^{FIRST.upper()}", Ack("done")),
        (f"> - [ x ] call ^{FIRST}", Ack("done")),
        (f"- [✓] call ^{FIRST}", Ack("done")),
        (f"- [x] call ^{FIRST} and more", Ack("done")),
        (f"- [x] ^{FIRST}", Ack("done")),
        ("- [x] call Anne 📅 2026-11-20", Ack("done")),
        ("- [x] Call Anne", Ack("done")),
        ("- [x] call Anne [[Anne]] 📅 2026-11-20 ^vm-", Ack("done")),
        (f"- [x] call ^{FIRST[:6]}", Ack("done")),
        (f"- [-] call ^{FIRST}", Ack("dropped")),
        (f"- [>] call Anne 📅 2026-11-20 ^{FIRST}", Ack("snoozed")),
        (f"- [>] call Anne 📅 2026-11-25 ^{FIRST}", Ack("snoozed", "2026-11-25")),
        (f"- [>] 2026-11-26 call Anne 📅 2026-11-20 ^{FIRST}", Ack("snoozed", "2026-11-26")),
        (f"- [>] call Anne until Friday ^{FIRST}", Ack("snoozed", "2026-11-27")),
        (f"- [>] tomorrow call Anne ^{FIRST}", Ack("snoozed", "2026-11-23")),
        (f"- [>] call Anne 下周一 ^{FIRST}", Ack("snoozed", "2026-11-23")),
        (f"- [>] call Anne 2026-99-99 ^{FIRST}", Ack("snoozed")),
        (f"- [ ] call Anne ^{FIRST}", Ack("open")),
        (f"- [/] call Anne ^{FIRST}", Ack("open")),
        (f"- call Anne ^{FIRST}", Ack("open")),
        (f"- DONE call Anne\n  vm-id:: {FIRST}", Ack("done")),
        (
            f"- DONE call Anne\n  id:: {'0' * 36}\n  vm-id:: {FIRST}\n  collapsed:: true",
            Ack("done"),
        ),
        (f"- CANCELED call\n  vm-id:: {FIRST}", Ack("dropped")),
        (
            f"- LATER call\n  DEADLINE: <2026-11-28 Sat>\n  vm-id:: {FIRST}",
            Ack("snoozed", "2026-11-28"),
        ),
        (f"- DONE call\n  :LOGBOOK:\n  CLOCK: [x]\n  :END:\n  vm-id:: {FIRST}", Ack("done")),
    ],
)
@pytest.mark.parametrize("style", STYLES)
def test_what_a_line_says(line: str, ack: Ack, style: str) -> None:
    assert one(line, style) == ack


def test_a_day_in_the_words_of_the_item_is_no_snooze() -> None:
    line = f"- [>] pay until Friday [[Anne]] 📅 2026-11-25 ^{IDS[2]}"
    assert merged(line, ITEMS, "frontmatter", NOW).acks == {IDS[2]: Ack("snoozed")}
    told = merged(line.replace("[[", "till Monday [["), ITEMS, "frontmatter", NOW).acks
    assert told == {IDS[2]: Ack("snoozed", "2026-11-23")}


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(
    ("typed", "until"),
    [
        ("until friday", "2026-11-27"),
        ("until 2026-12-24", "2026-12-24"),
        ("until [[2026-12-24]]", "2026-12-24"),
        ("2026-12-24", "2026-12-24"),
        ("直到周五", "2026-11-27"),
        ("until wednesday", "2026-11-25"),  # the day it is due
        ("", None),
    ],
)
@pytest.mark.parametrize("place", ["front", "middle", "end"])
def test_a_daily_notes_own_name_is_no_day_to_snooze_until(
    typed: str, until: str | None, place: str, style: str
) -> None:
    name, text = IDS[1], "water plants"
    written = partial(Item, name, "soon", text, "2026-11-25T09:00")
    item = written(title="2026-11-22")
    page = render([item], style).replace("[ ]", "[>]").replace("TODO", "LATER")
    typed = f" {typed} "
    ticked = {
        "front": page.replace(text, f"{typed}{text}"),
        "middle": page.replace(text, f"{text}{typed}"),
        "end": page.replace("[[2026-11-22]]", f"[[2026-11-22]]{typed}"),
    }[place]
    assert merged(ticked, [item], style, NOW).acks == {name: Ack("snoozed", until)}
    renamed = [written(title="Journal of Sunday")]  # since the page was written
    if until and place == "end":
        assert merged(ticked, renamed, style, NOW).acks == {name: Ack("snoozed", until)}
        assert merged(ticked, [], style, NOW).acks == {name: Ack("snoozed", until)}


@pytest.mark.parametrize("order", [1, -1])
def test_the_most_decided_of_copies_wins(order: int) -> None:
    lines = [f"- [{box}] x ^{FIRST}\n" for box in " >-x"]
    for count in (4, 3, 2):
        page = "".join(lines[:count][::order])
        there = read(page, "frontmatter")
        assert there.states[FIRST].state == ["snoozed", "dropped", "done"][count - 2]
        assert "an item stands there twice" in there.damage


@pytest.mark.parametrize("order", [1, -1])
def test_a_tick_on_a_copy_without_its_id_counts_too(order: int) -> None:
    lines = ["- [x] call Anne\n", f"- [>] call Anne ^{FIRST}\n", f"- [ ] call Anne ^{FIRST}\n"]
    text, acks = merged("".join(lines[::order]), ITEMS, "frontmatter", NOW)
    assert acks == {FIRST: Ack("done")}
    assert "call Anne" not in text


def test_a_remark_inside_a_block_of_an_outline_is_kept() -> None:
    block = (
        f"\t- DONE call Anne\n\t  she was out\n\t  vm-id:: {FIRST}\n\t  try again\n\t\t- below\n"
    )
    text, acks = merged(
        f"generated:: vaultmem\n\n- ## Today\n{block}- ## Notes\n", ITEMS, "outline"
    )
    assert acks == {FIRST: Ack("done")}
    assert text.endswith("- ## Notes\n\t  she was out\n\t  try again\n\t\t- below\n")


def test_a_tick_for_what_waits_no_longer_is_told() -> None:
    text, acks = merged("- [x] old ^vm-zzzzzz\n- [ ] gone ^vm-yyyyyy\n", [], "frontmatter")
    assert acks == {"vm-zzzzzz": Ack("done")}
    assert text == render([], "frontmatter")


@pytest.mark.parametrize("style", STYLES)
def test_lines_end_as_they_did(style: str) -> None:
    page = render(ITEMS, style, "mine\n").replace("\n", "\r\n")
    new = merged(page, ITEMS[1:], style, NOW).text
    assert new == render(ITEMS[1:], style, "mine\n").replace("\n", "\r\n")


def test_our_own_day_is_no_snooze_of_an_item_that_is_not_known() -> None:
    gone = "vm-zzzzzz"
    page = f"- [>] call Bert 📅 2026-11-29 ^{gone}\n"
    assert merged(page, ITEMS, "frontmatter", NOW).acks == {gone: Ack("snoozed")}


@pytest.mark.parametrize("mark", ['generated: "vaultmem"', "Generated: vaultmem "])
def test_a_linter_may_quote_the_mark(mark: str) -> None:
    page = render(ITEMS, "frontmatter")
    assert merged(page.replace("generated: vaultmem", mark), ITEMS, "frontmatter").text == page


def test_a_monstrous_page_is_read_in_a_moment() -> None:
    texts = [
        "#" + " #" * 20_000,
        "\t" * 20_000 + "x",
        "- [x] " + "((" * 20_000,
        "- [x] own\n" * 3_000,
    ]
    many = [Item(name, "soon", f"thing {at}") for at, name in enumerate(item_ids([("a", str(n)) for n in range(5_000)]))]  # fmt: skip
    for text in [*texts, "# " + " " * 20_000 + "x", "- " + "[[" * 20_000]:
        assert text in merged(text, many, "frontmatter", NOW).text
        assert takes_less(3, partial(merged, text, many, "frontmatter", NOW))


def test_two_items_with_the_same_words_are_not_mistaken() -> None:
    twins = [Item("vm-aaaaaa", "today", "call"), Item("vm-bbbbbb", "today", "call")]
    page, acks = merged("- [x] call\n", twins, "frontmatter")
    assert not acks
    assert page.endswith("## Notes\n- [x] call\n")


@pytest.mark.parametrize("style", STYLES)
def test_a_page_that_nobody_touched_stays(style: str) -> None:
    page = render(ITEMS, style, "mine\n\n- [x] own\n")
    assert merged(page, ITEMS, style, NOW) == (page, {})
    assert not read(page, style).damage
    assert not read(page, style).unknown


@pytest.mark.parametrize("style", STYLES)
def test_a_page_cut_anywhere_loses_no_tick_before_the_cut(style: str) -> None:
    page = ticked(render(ITEMS, style, "mine\n"))
    for cut in range(len(page)):
        text, acks = merged(page[:cut], ITEMS, style, NOW)
        whole = sum(f"{name}\n" in page[:cut] for name in IDS if name != IDS[4])
        assert len(acks) >= whole
        assert_settled(text, acks, style)


def ticked(page: str) -> str:
    return page.replace("- [ ] ", "- [x] ").replace("- TODO ", "- DONE ")


def assert_settled(text: str, acks: dict[str, Ack], style: str) -> None:
    remaining = [item for item in ITEMS if item.id not in acks]
    assert merged(text, remaining, style, NOW) == (text, {})


CONFLICT = "<<<<<<< HEAD\n{}=======\n{}>>>>>>> other\n"


@pytest.mark.parametrize("style", STYLES)
def test_a_conflict_keeps_the_ticks_of_both_sides(style: str) -> None:
    page = render(ITEMS, style, "")
    lines = page.splitlines(keepends=True)
    at = next(n for n, line in enumerate(lines) if FIRST in line)
    start = at if style == "frontmatter" else at - 2
    side = "".join(lines[start : at + 1])
    both = CONFLICT.format(side, ticked(side))
    text, acks = merged("".join([*lines[:start], both, *lines[at + 1 :]]), ITEMS, style)
    assert acks == {FIRST: Ack("done")}
    assert "<<<<" not in text
    assert "=====" not in text
    assert_settled(text, acks, style)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("middle", ["=======\n", "||||||| base\n{}=======\n"])
def test_a_conflict_over_the_whole_page_leaves_one_page(style: str, end: str, middle: str) -> None:
    mark = "generated: vaultmem\n" if style == "frontmatter" else "generated:: vaultmem\n"
    own = "cssclasses: wide\n" if style == "frontmatter" else "icon:: x\n"
    base = render(ITEMS, style, "both\n").replace(mark, mark + own)
    ours = base.replace("- [ ] call", "- [x] call").replace("- TODO call", "- DONE call") + "a\n"
    theirs = (
        base.replace("- [ ] water", "- [-] water").replace("- TODO water", "- CANCELED water")
        + "b\nc\n"
    )
    conflict = f"<<<<<<< HEAD\n{ours}{middle.format(base)}{theirs}>>>>>>> other\n"
    text, acks = merged(conflict.replace("\n", end), ITEMS, style, NOW)
    assert acks == {FIRST: Ack("done"), IDS[1]: Ack("dropped")}
    left = [item for item in ITEMS if item.id not in acks]
    page = render(left, style, "both\na\nb\nc\n").replace(mark, mark + own)
    assert text == page.replace("\n", end)
    assert read(text, style).damage == []
    assert_settled(text, acks, style)


@pytest.mark.parametrize("style", STYLES)
def test_a_conflict_in_the_notes_is_for_the_person_to_settle(style: str) -> None:
    notes = "mine\n" + CONFLICT.format("a\n", "b\n## Today\n") + "end\n"
    page = render(ITEMS, style, notes)
    assert merged(page, ITEMS, style, NOW) == (page, {})


def test_a_conflict_from_the_items_into_the_notes_keeps_the_notes_of_both() -> None:
    page = render(ITEMS, "frontmatter", "")
    head, line, tail = page.partition("## To review\n")
    mine, others = f"{line}{tail}mine\n> quote\n", f"{line}{ticked(tail)}others\n> quote\n"
    text, acks = merged(f"{head}{CONFLICT.format(mine, others)}end\n", ITEMS, "frontmatter", NOW)
    assert acks == {IDS[3]: Ack("done")}
    assert text.partition("## Notes\n")[2] == "mine\n> quote\nothers\nend\n"
    assert_settled(text, acks, "frontmatter")


@pytest.mark.parametrize("style", STYLES)
@given(
    pages=st.tuples(*[st.lists(st.sampled_from("abcdef").map("own {}\n".format), max_size=4)] * 4)
)
def test_a_conflict_loses_no_line_of_either_side(style: str, pages: tuple[list[str], ...]) -> None:
    below = "- ## Notes\n" if style == "outline" else "## Notes\n"
    sides = [
        render(ITEMS, style, "".join(notes)).replace(below, "".join(above) + below)
        for above, notes in (pages[:2], pages[2:])
    ]
    text, acks = merged(CONFLICT.format(*sides), ITEMS, style, NOW)
    kept = re.split(r"## Notes\n", text, maxsplit=1)[1].splitlines(keepends=True)
    assert acks == {}
    for above, notes in (pages[:2], pages[2:]):
        assert not Counter([*above, *notes]) - Counter(kept)
    assert not Counter(kept) - Counter([each for part in pages for each in part])
    assert_settled(text, acks, style)


def test_a_page_read_as_another_encoding_keeps_its_ticks() -> None:
    page = ticked(render(ITEMS, "frontmatter", ""))
    for wrong in (
        page.encode("utf-16").decode("latin-1"),
        page.encode().decode("cp1252", "replace"),
        page.encode().decode("ascii", "surrogateescape"),
        "\ufeff" + page,
    ):
        assert len(merged(wrong, ITEMS, "frontmatter").acks) == 5


@pytest.mark.parametrize("style", STYLES)
def test_properties_of_a_person_stay_at_the_top(style: str) -> None:
    page = render(ITEMS, style, "")
    mine = "cssclasses: wide\n" if style == "frontmatter" else "icon:: x\n"
    mark = "generated: vaultmem\n" if style == "frontmatter" else "generated:: vaultmem\n"
    page = page.replace(mark, mark + mine)
    assert merged(page, ITEMS, style).text == page
    assert merged(page, [], style).text.count(mine) == 1


def test_another_note_under_this_name_is_kept_whole() -> None:
    note = "---\ntitle: mine\n---\n# My list\n\n- [x] own\n"
    text = merged(note, ITEMS, "frontmatter").text
    kept = text.partition("## Notes\n")[2]
    assert [line for line in note.splitlines() if line] == [
        line for line in kept.splitlines() if line
    ]


JUNK = st.sampled_from(
    ["buy milk\n", "- own bullet\n", "- [x] own task\n", "\t- deep\r\n", "1. [ ] one\n", "### Mine\n", "key:: v\n",
     "```\n", "> quote\n", "a ^vm-\n", "see ^vm-abc234 there\n", "| a |\n", "* * *\n", "last \x0b\n", "图\n", "- TODO mine\n"]
)  # fmt: skip
NOTES = st.lists(JUNK | st.just("\n") | st.just("## Today\n") | st.just("## Notes\n"), max_size=6).map("".join)  # fmt: skip
BOXES = st.lists(st.sampled_from(" xX->/"), min_size=6, max_size=6)
MARKERS = {" ": "TODO", "x": "DONE", "X": "DONE", "-": "CANCELED", ">": "LATER", "/": "DOING"}
STATES = {"x": "done", "X": "done", "-": "dropped", ">": "snoozed"}


def block(item: Item, box: str, style: str, edit: int) -> str:
    if style == "outline":
        text = f"\t- {MARKERS[box]} {item.text}\n\t  vm-id:: {item.id}\n"
    else:
        text = f"- [{box}] {item.text} 📅 2026-11-20 ^{item.id}\n"
    edits = [
        lambda t: t,
        lambda t: t.replace("\n", "\r\n"),
        lambda t: t.replace("- ", "* ", 1),
        lambda t: t.replace("\t", "    "),
        lambda t: "    " + t.replace("\n\t", "\n    \t"),
        lambda t: t.replace(item.text, "edited #words [[here]]"),
        lambda t: t + t,
        lambda t: t.replace("- ", "-   ", 1),
    ]
    return edits[edit](text)


@st.composite
def edited_pages(draw: st.DrawFn) -> tuple[str, str, dict[str, str], list[str], str]:
    style = draw(st.sampled_from(STYLES))
    boxes = draw(BOXES)
    blocks = [block(item, box, style, draw(st.integers(0, 7))) for item, box in zip(ITEMS, boxes, strict=True)]  # fmt: skip
    junk = draw(st.lists(JUNK, max_size=6))
    own = [("## Today\n", False), ("# Pending\n", False), ("\n", False), ("=======\n", False)]
    parts = draw(st.permutations([*((b, False) for b in blocks), *((j, True) for j in junk), *own[: draw(st.integers(0, 3))]]))  # fmt: skip
    notes = draw(NOTES)
    states = {item.id: STATES[box] for item, box in zip(ITEMS, boxes, strict=True) if box in STATES}
    text = "".join(part for part, _ in parts) + "## Notes\n" + notes
    return text, style, states, [part for part, kept in parts if kept], notes


@given(edited_pages())
@settings(max_examples=400, deadline=None)
def test_no_tick_and_no_line_is_lost(page: tuple[str, str, dict[str, str], list[str], str]) -> None:
    text, style, states, junk, notes = page
    new, acks = merged(text, ITEMS, style, NOW)
    assert {name: ack.state for name, ack in acks.items()} == states
    after = re.split(r"## Notes\r?\n", new, maxsplit=1)[1]
    assert after.startswith(notes)
    rest = after[len(notes) :]
    for line in junk:
        assert line in rest
        rest = rest.replace(line, "", 1)
    assert_settled(new, acks, style)


@given(st.lists(JUNK | st.text(max_size=12) | st.sampled_from([*render(ITEMS, "frontmatter").splitlines(True), *render(ITEMS, "outline").splitlines(True), "<<<<<<< a\n", "=======\n", ">>>>>>> b\n", "---\n", "## Notes\n", "## Today\n"]), max_size=25).map("".join), st.sampled_from(STYLES))  # fmt: skip
@example("## Notes\na\n## Today\n- [x] b ^vm-aaaaaa\n## Notes\n## Today\n", "frontmatter")
@example(
    "## Notes\n## Today\n## Today\n- x ^vm-aaaaaa\n## Notes\n- [x] y ^vm-aaaaaa\n", "frontmatter"
)
@settings(max_examples=800, deadline=None)
def test_a_merged_page_is_settled(text: str, style: str) -> None:
    new, acks = merged(text, ITEMS, style, NOW)
    remaining = [item for item in ITEMS if item.id not in acks]
    assert merged(new, remaining, style, NOW).text == new


@pytest.mark.parametrize("style", ["frontmatter", "outline"])
@pytest.mark.parametrize(
    "repeat", ["every week", "every month on the 5th", "every 2 days", "every week when done"]
)
@pytest.mark.parametrize("author", ["", "Friday", "agent of 2026-12-01"])
def test_the_repetition_that_stands_in_the_line_is_no_day_to_snooze_until(
    style: str, repeat: str, author: str
) -> None:
    item = Item("vm-aaaaaa", "today", "water", due="2026-11-22T17:00", repeat=repeat, author=author)
    page = render([item], style)
    now = datetime(2026, 11, 22, 10, tzinfo=UTC)
    ticked = page.replace("[ ]", "[>]").replace("TODO", "LATER")
    assert merged(ticked, [item], style, now).acks == {"vm-aaaaaa": Ack("snoozed")}
    until = ticked.replace(")", ") until 2026-12-24", 1)
    assert merged(until, [item], style, now).acks == {"vm-aaaaaa": Ack("snoozed", "2026-12-24")}
