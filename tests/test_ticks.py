"""What a person does on the page: no tick is lost, and no line of theirs."""

import re
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.effort import takes_less
from tests.laws import WHOLE, examples
from vaultmem.memories.item_answers import item_ids
from vaultmem.pending import ticks
from vaultmem.pending.ticks import Ack
from vaultmem.reminders.items import HEADINGS, Item, render

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
OWN = {"frontmatter": ("generated: vaultmem\n", "cssclasses: wide\n"), "outline": ("generated:: vaultmem\n", "icon:: x\n")}  # fmt: skip
CONFLICT = "<<<<<<< HEAD\n{}=======\n{}>>>>>>> other\n"


def merged(text: str, items: Sequence[Item], style: str) -> tuple[str, dict[str, Ack]]:
    """The page anew, without the items that are answered on it; and these answers."""
    content = ticks.read(text)
    known = {item.id: item for item in items}
    acks, unread = ticks.answers_on(content, known, NOW)
    content = content._replace(unread=unread)
    page = ticks.compose(content, [item for item in items if item.id not in acks], style)
    return page, acks


def ticked(page: str) -> str:
    return page.replace("- [ ] ", "- [x] ").replace("- TODO ", "- DONE ")


def assert_settled(text: str, acks: dict[str, Ack], style: str) -> None:
    remaining = [item for item in ITEMS if item.id not in acks]
    assert ticks.compose(ticks.read(text), remaining, style) == text


LINES = [
    (f"- [x] call Anne 📅 2026-11-20 ^{FIRST}", Ack("done")),
    (f"* [X] anything ^{FIRST}", Ack("done")),
    (f"\t+\t[x]\tcall ^{FIRST}\t", Ack("done")),
    (f"1. [x] call ^{FIRST}\r", Ack("done")),
    (f"- \\[x\\] call ^{FIRST.upper()}", Ack("done")),
    (f"> - [ x ] call ^{FIRST}", Ack("done")),
    (f"- [✓] call ^{FIRST}", Ack("done")),
    (f"-\xa0[x]\xa0call\xa0^{FIRST}", Ack("done")),
    (f"- [x] call ^{FIRST} and more", Ack("done")),
    (f"- [-] call ^{FIRST}", Ack("dropped")),
    (f"- [>] call Anne 📅 2026-11-20 ^{FIRST}", Ack("snoozed")),
    (f"- [>] call Anne 📅 2026-11-25 ^{FIRST}", Ack("snoozed", "2026-11-25")),
    (f"- [>] 2026-11-26 call Anne 📅 2026-11-20 ^{FIRST}", Ack("snoozed", "2026-11-26")),
    (f"- [>] call Anne until Friday ^{FIRST}", Ack("snoozed", "2026-11-27")),
    (f"- [>] call Anne 下周一 ^{FIRST}", Ack("snoozed", "2026-11-23")),
    (f"- [>] call Anne until January ^{FIRST}", Ack("snoozed", "2027-01-01")),
    (f"- [>] water plants 5pm ^{IDS[1]}", Ack("snoozed", "2026-11-22T17:00")),  # due today at 9
    (f"- [>] call Anne 2026-99-99 ^{FIRST}", Ack("snoozed")),
    (f"- [ ] call Anne ^{FIRST}", None),
    (f"- [/] call Anne ^{FIRST}", None),
    (f"- call Anne ^{FIRST}", None),
    (f"- DONE call Anne\n  vm-id:: {FIRST}", Ack("done")),
    (f"- DONE call Anne\n  id:: {'0' * 36}\n  vm-id:: {FIRST}\n  collapsed:: true", Ack("done")),
    (f"- CANCELED call\n  vm-id:: {FIRST}", Ack("dropped")),
    (f"<<<<<<< HEAD\n- [ ] call ^{FIRST}\n=======\n- [x] call ^{FIRST}\n>>>>>>> other", Ack("done")),
    (f"- LATER call\n  DEADLINE: <2026-11-28 Sat>\n  vm-id:: {FIRST}", Ack("snoozed", "2026-11-28")),
    (f"- DONE call\n  :LOGBOOK:\n  CLOCK: [x]\n  :END:\n  vm-id:: {FIRST}", Ack("done")),
]  # fmt: skip


def test_what_a_line_says() -> None:
    for line, ack in LINES:
        text, acks = merged(f"## Today\n{line}\n", ITEMS, "frontmatter")
        assert acks.get(FIRST, acks.get(IDS[1])) == ack, line
        assert text.endswith("## Notes\n"), line


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("place", ["front", "middle", "end"])
def test_a_daily_notes_own_name_is_no_day_to_snooze_until(place: str, style: str) -> None:
    name, text = IDS[1], "water plants"
    item = Item(name, "soon", text, "2026-11-25T09:00", title="2026-11-22")
    page = render([item], style).replace("[ ]", "[>]").replace("TODO", "LATER")
    for words, until in {
        "until friday": "2026-11-27",
        "until 12/24": "2026-12-24",
        "until [[2026-12-24]]": "2026-12-24",
        "2026-12-24": "2026-12-24",
        "直到周五": "2026-11-27",
        "until wednesday": "2026-11-25",  # the day it is due
        "": None,
    }.items():
        typed = f" {words} "
        changed = {
            "front": page.replace(text, f"{typed}{text}"),
            "middle": page.replace(text, f"{text}{typed}"),
            "end": page.replace("[[2026-11-22]]", f"[[2026-11-22]]{typed}"),
        }[place]
        assert merged(changed, [item], style)[1] == {name: Ack("snoozed", until)}
        renamed = Item(name, "soon", text, "2026-11-25T09:00", title="Journal of Sunday")
        if until and place == "end":  # renamed, or gone, since the page was written
            assert merged(changed, [renamed], style)[1] == {name: Ack("snoozed", until)}
            assert merged(changed, [], style)[1] == {name: Ack("snoozed", until)}


@pytest.mark.parametrize("style", STYLES)
def test_a_title_that_is_the_text_stands_once_and_is_no_day_either(style: str) -> None:
    name, text = IDS[1], "keep the paper until friday"
    item = Item(name, "soon", text, "2026-11-25T09:00", title=text)
    page = render([item], style).replace("[ ]", "[>]").replace("TODO", "LATER")
    assert page.count(text) == page.count(f"[[{text}]]") == 1
    for words, until in {"": None, " until saturday": "2026-11-28"}.items():
        changed = page.replace("]]", f"]]{words}", 1)
        assert merged(changed, [item], style)[1] == {name: Ack("snoozed", until)}


@pytest.mark.parametrize("style", STYLES)
def test_a_snooze_until_no_day_stays_and_becomes_a_question(style: str) -> None:
    page = render(ITEMS[:1], style).replace("[ ]", "[>]").replace("TODO", "LATER")
    page = page.replace("[[Anne]]", "[[Anne]] until someday")
    question, acks = merged(page, ITEMS[:1], style)
    assert not acks
    assert question == render(ITEMS[:1], style).replace("[[Anne]]", "[[Anne]] until someday?")
    assert merged(question, ITEMS[:1], style) == (question, {})
    answer = question.replace("[ ]", "[>]").replace("TODO", "LATER").replace("someday?", "friday")
    assert merged(answer, ITEMS[:1], style)[1] == {FIRST: Ack("snoozed", "2026-11-27")}


@pytest.mark.parametrize("order", [1, -1])
def test_the_most_decided_of_copies_wins(order: int) -> None:
    lines = [f"- [{box}] x ^{FIRST}\n" for box in " >-x"]
    for count in (4, 3, 2):
        acks = merged("".join(lines[:count][::order]), ITEMS, "frontmatter")[1]
        assert acks[FIRST].state == ["snoozed", "dropped", "done"][count - 2]


@pytest.mark.parametrize("style", STYLES)
def test_a_page_keeps_its_line_ends_its_properties_and_its_notes(style: str) -> None:
    mark, own = OWN[style]
    page = render(ITEMS, style, "mine\n\n- [x] own\n").replace(mark, mark + own)
    assert merged(page, ITEMS, style) == (page, {})
    content = ticks.read(page)
    assert (content.is_whole, content.front) == (True, [own])
    windows = page.replace("\n", "\r\n")
    fewer = render(ITEMS[1:], style, "mine\n\n- [x] own\n").replace(mark, mark + own)
    assert merged(windows, ITEMS[1:], style)[0] == fewer.replace("\n", "\r\n")
    for quoted in ('generated: "vaultmem"', "Generated: vaultmem "):  # by a linter
        text = page.replace("generated: vaultmem", quoted)
        assert merged(text, ITEMS, style)[0] == page


@pytest.mark.parametrize(
    ("style", "open_mark", "begun"),
    [("outline", "TODO", mark) for mark in ("DOING", "NOW", "WAITING", "IN-PROGRESS")]
    + [("frontmatter", "[ ]", mark) for mark in ("[/]", "[!]", "[\\]")],
)
def test_an_item_that_a_person_has_begun_stays_so(style: str, open_mark: str, begun: str) -> None:
    """Also when the page is written with other items; the mark is that of its own item alone."""
    page = render(ITEMS, style).replace(f"{open_mark} water", f"{begun} water")
    assert begun in page
    fewer = [item for item in ITEMS if item.id != FIRST]
    expected = render(fewer, style).replace(f"{open_mark} water", f"{begun} water")
    assert merged(page, fewer, style) == (expected, {})


def test_a_page_is_hidden_from_the_tasks_plugin_unless_the_person_shows_it() -> None:
    page = render(ITEMS, "frontmatter", "mine\n")
    assert "TP_ignore_this_file: true\n" in page
    shown = page.replace("file: true", "file: false")
    assert merged(shown, ITEMS, "frontmatter") == (shown, {})
    without = page.replace("TP_ignore_this_file: true\n", "")  # as earlier versions wrote it
    assert merged(without, ITEMS, "frontmatter") == (page, {})


def test_a_monstrous_page_is_read_in_a_moment() -> None:
    texts = ["#" + " #" * 20_000, "\t" * 20_000 + "x", "- [x] " + "((" * 20_000]
    texts += ["- [x] own\n" * 3_000, "# " + " " * 20_000 + "x", "- " + "[[" * 20_000]
    ids = item_ids([("a", str(n)) for n in range(5_000)])
    many = [Item(name, "soon", f"thing {at}") for at, name in enumerate(ids)]
    for text in texts:
        assert text in merged(text, many, "frontmatter")[0]
        assert takes_less(3, partial(merged, text, many, "frontmatter"))


@pytest.mark.parametrize("style", STYLES)
def test_a_page_cut_anywhere_loses_no_tick_before_the_cut(style: str) -> None:
    page = ticked(render(ITEMS, style, "mine\n"))
    for cut in range(0, len(page), 1 if WHOLE else 7):
        text, acks = merged(page[:cut], ITEMS, style)
        whole = sum(f"{name}\n" in page[:cut] for name in IDS if name != IDS[4])
        assert len(acks) >= whole
        assert_settled(text, acks, style)


# --- Conflicts


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("middle", ["=======\n", "||||||| base\n{}=======\n"])
def test_a_conflict_over_the_whole_page_leaves_one_page(style: str, end: str, middle: str) -> None:
    mark, own = OWN[style]
    base = render(ITEMS, style, "both\n").replace(mark, mark + own)
    ours = base.replace("- [ ] call", "- [x] call").replace("- TODO call", "- DONE call") + "a\n"
    theirs = base.replace("- [ ] water", "- [-] water").replace("- TODO water", "- CANCELED water")
    conflict = f"<<<<<<< HEAD\n{ours}{middle.format(base)}{theirs}b\nc\n>>>>>>> other\n"
    text, acks = merged(conflict.replace("\n", end), ITEMS, style)
    assert acks == {FIRST: Ack("done"), IDS[1]: Ack("dropped")}
    left = [item for item in ITEMS if item.id not in acks]
    page = render(left, style, "both\na\nb\nc\n").replace(mark, mark + own)
    assert text == page.replace("\n", end)
    assert ticks.read(text).is_whole


@pytest.mark.parametrize("style", STYLES)
def test_a_conflict_in_the_notes_is_for_the_person_to_settle(style: str) -> None:
    notes = "mine\n" + CONFLICT.format("a\n", "b\n## Today\n") + "end\n"
    page = render(ITEMS, style, notes)
    assert merged(page, ITEMS, style) == (page, {})
    assert ticks.read(page).is_whole


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
    text, acks = merged(CONFLICT.format(*sides), ITEMS, style)
    kept = re.split(r"## Notes\n", text, maxsplit=1)[1].splitlines(keepends=True)
    assert acks == {}
    for above, notes in (pages[:2], pages[2:]):
        assert not Counter([*above, *notes]) - Counter(kept)
    assert not Counter(kept) - Counter([each for part in pages for each in part])
    assert_settled(text, acks, style)


# --- Any page

JUNK = st.sampled_from(
    ["buy milk\n", "- own bullet\n", "- [x] own task\n", "\t- deep\r\n", "1. [ ] one\n", "### Mine\n", "key:: v\n",
     "```\n", "> quote\n", "a ^vm-\n", "see ^vm-abc234 there\n", "| a |\n", "* * *\n", "last \x0b\n", "图\n", "- TODO mine\n"]
)  # fmt: skip
NOTES = st.lists(JUNK | st.just("\n") | st.just("## Today\n") | st.just("## Notes\n"), max_size=6)
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
    blocks = [
        block(item, box, style, draw(st.integers(0, 7)))
        for item, box in zip(ITEMS, boxes, strict=True)
    ]
    own = [("## Today\n", False), ("# Pending\n", False), ("\n", False)][: draw(st.integers(0, 3))]
    junk = [(each, True) for each in draw(st.lists(JUNK, max_size=6))]
    parts = draw(st.permutations([*((each, False) for each in blocks), *junk, *own]))
    notes = "".join(draw(NOTES))
    states = {item.id: STATES[box] for item, box in zip(ITEMS, boxes, strict=True) if box in STATES}
    text = "".join(part for part, _ in parts) + "## Notes\n" + notes
    return text, style, states, [part for part, kept in parts if kept], notes


@given(edited_pages())
@settings(max_examples=examples(300))
def test_no_tick_and_no_line_is_lost(page: tuple[str, str, dict[str, str], list[str], str]) -> None:
    text, style, states, junk, notes = page
    new, acks = merged(text, ITEMS, style)
    assert {name: ack.state for name, ack in acks.items()} == states
    after = re.split(r"## Notes\r?\n", new, maxsplit=1)[1]
    assert after.startswith(notes)
    rest = after[len(notes) :]
    for line in junk:
        assert line in rest
        rest = rest.replace(line, "", 1)
    assert_settled(new, acks, style)


ANY = (
    JUNK
    | st.text(max_size=12)
    | st.sampled_from(
        [
            *render(ITEMS, "frontmatter").splitlines(keepends=True),
            *render(ITEMS, "outline").splitlines(keepends=True),
            *("<<<<<<< a\n", "=======\n", ">>>>>>> b\n", "---\n", "## Notes\n", "## Today\n"),
        ]
    )
)


@given(st.lists(ANY, max_size=25).map("".join), st.sampled_from(STYLES))
@example("---\nbuy milk\ngenerated: vaultmem\n---", "outline")
@settings(max_examples=examples(600))
def test_a_page_that_was_written_is_settled(text: str, style: str) -> None:
    new, acks = merged(text, ITEMS, style)
    assert_settled(new, acks, style)
