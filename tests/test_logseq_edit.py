"""Logseq pages: property lines are edited and tasks are marked done without touching anything else, and a content survives
as an outline."""

import math
from pathlib import Path

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from tests.conftest import fill
from tests.laws import examples
from tests.stand_in_files import Files
from vaultmem import Vault
from vaultmem.adapter import Completion, FrontMatter, Note, Task, Value
from vaultmem.errors import FrontMatterError
from vaultmem.notes import frontmatter
from vaultmem.notes.frontmatter import split
from vaultmem.notes.logseq_properties import (
    format_lines,
    format_value,
    from_outline,
    list_items,
    locate,
    parse_value,
    read,
    remove_property,
    set_property,
    to_outline,
    with_markers,
)
from vaultmem.text.recurrence import next_day
from vaultmem.text.similarity import content_hash, normal_form
from vaultmem_logseq import dialect
from vaultmem_logseq.config_edn import Settings
from vaultmem_logseq.graph_rules import LogseqRules

PAGE = "title:: Tea\ntags:: a, [[b c]]\n\n- block\n  key:: not of the page\n"
TEXTS = st.text(st.sampled_from("ab:,#[]\"'`$<>!-%\\ \n\t\r\0é，=~|{}\u2028\ufeff1.e"), max_size=14) | st.sampled_from(
    ["true", "42", "-1", "0.5", "1e5", '"x"', "[1, 2]", "{}", "[[A]]", "[[A]], [[B]]", "<!-- x", "`a", "$$", ":LOGBOOK:"]
)  # fmt: skip
VALUES = (
    st.none()
    | st.booleans()
    | st.integers(-(10**17), 10**17)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS
)
KEYS = st.sampled_from(["source", "created_at", "Some-Key", "x", "other key"])
BODIES = st.sampled_from(
    [
        "", "\n", "- a\n", "\n- a", "text", "\n\ntext\n", "# Head\n", "```\na:: b\n```\n", "- a\n  b:: c\n",
    ]
)  # fmt: skip


def by_logseq(text: str) -> Note:
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    return dialect.open(Files()).parse("pages/x.md", text, frontmatter.split(text))


@given(st.dictionaries(KEYS, TEXTS, max_size=4), BODIES)
@settings(max_examples=examples(300))
def test_what_is_written_is_what_logseq_reads(given_: dict[str, str], body: str) -> None:
    lines = format_lines(list(given_.items()))
    text = "".join(f"{line}\n" for line in lines) + body
    expected = {
        key.lower().replace("_", "-").replace(" ", "-"): format_value(of)
        for key, of in given_.items()
    }
    assert read(text) == expected
    note = by_logseq(text)
    assert set(note.properties) == set(expected)
    for key, value in note.properties.items():
        if isinstance(value, str):
            assert value == expected[key]


@given(VALUES)
@example('"')
@example("a\nb")
@example(" a")
@settings(max_examples=examples(400))
def test_a_value_keeps_its_type(value: Value) -> None:
    assume(value is not None)
    line = format_value(value)
    assert "\n" not in line
    assert "\r" not in line
    found = parse_value(line)
    assert found == value
    assert type(found) is type(value)


PAGES = st.builds(
    lambda given_, body, newline, mark: (
        mark + ("".join(f"{line}\n" for line in format_lines(given_)) + body).replace("\n", newline)
    ),
    st.lists(st.tuples(KEYS, st.text("ab ", max_size=4).map(str.strip)), max_size=4),
    BODIES,
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["", "\ufeff"]),
)


@given(PAGES, KEYS, VALUES)
@settings(max_examples=examples(400))
def test_an_edit_changes_one_line_and_nothing_else(text: str, key: str, value: Value) -> None:
    before = read(text)
    new = set_property(text, key, value)
    spelled = key.lower().replace("_", "-").replace(" ", "-")
    expected = {**before, spelled: "" if value is None else format_value(value)}
    assert read(new) == {name: of for name, of in expected.items() if of}
    assert new.startswith("\ufeff") == text.startswith("\ufeff")
    assert set_property(new, key, value) == new
    rest = text[locate(text).end :]
    assert new.endswith(rest) or not rest.strip()
    without = remove_property(new, key)
    assert read(without) == {name: of for name, of in before.items() if name != spelled}
    if "\r\n" in text:
        assert new.count("\n") == new.count("\r\n") or "\n" not in text


def test_other_bytes_stay() -> None:
    assert set_property(PAGE, "title", "Coffee") == PAGE.replace("Tea", "Coffee")
    assert set_property("  A_b::  x  \r\ny:: z", "a-b", 1) == "  A_b::  1  \r\ny:: z"
    assert set_property("a:: 1", "b", 2) == "a:: 1\nb:: 2"
    assert set_property("a:: #b,[[c d]]", "a", ["b", "c d", "e f"]) == "a:: #b,[[c d]], e f"
    assert set_property("a:: [[b]]，c", "a", ["[[b]]", "c", "d"]) == "a:: [[b]]，c，d"
    assert set_property("a::\n", "a", 2) == "a:: 2\n"
    assert set_property("- x\n", "a", 1) == "a:: 1\n\n- x\n"
    assert set_property("", "a", 1) == "a:: 1\n"
    assert remove_property(PAGE, "tags") == PAGE.replace("tags:: a, [[b c]]\n", "")
    assert remove_property(PAGE, "key") == PAGE


@pytest.mark.parametrize(
    ("key", "value"),
    [("a:b", 1), ("", 1), ("a\nb", 1), ("[a]", 1), ("x", "\ud800"), ("x", math.inf), ("tags", ["a\nb"]), ("tags", ["[[a"]), ("tags", [""])],
)  # fmt: skip
def test_what_no_line_can_hold_is_refused(key: str, value: Value) -> None:
    with pytest.raises(FrontMatterError):
        set_property(PAGE, key, value)


# --- Outlines


LINES = st.sampled_from(
    [
        *["", " ", "text", "more text", "- item", "- other", "  - nested", "    - deep", "\t- tab", "-", "- ", "--- "],
        *["1. one", "2) two", "  3. three", "* star", "+ plus", "# Head", "## TODO x", "> quote", "| a | b |"],
        *["```", "```py", "~~~", "    code", "  further", "key:: value", "- key:: value", "---", "id: x", "\tx"],
        *["- [ ] task", "- - twice", "笔记", "a\rb", "x  ", "-- two", "\u2028", "\x0b", "\0", "SCHEDULED: <2026-11-22 Sun>"],
    ]
)  # fmt: skip
CONTENTS = st.lists(LINES | st.text(max_size=6), max_size=14).map("\n".join) | st.text(max_size=40)


@given(CONTENTS)
@example("")
@example("- a")
@example("a\n- b\n\n- c\n  d\n  - e\n    f\n\ng")
@example("```\n\n- x\n\n```")
@example("- a\n    - four")
@settings(max_examples=examples(600))
def test_an_outline_gives_the_content_back(content: str) -> None:
    page = to_outline(content)
    assert content_hash(from_outline(page)) == content_hash(content)
    assert from_outline(page) == normal_form(content)
    assert to_outline(from_outline(page)) == page


@given(CONTENTS)
@settings(max_examples=examples(300))
def test_every_line_of_an_outline_belongs_to_a_block(content: str) -> None:
    page = to_outline(content)
    if not page:
        assert not normal_form(content)
        return
    lines = page.split("\n")
    assert lines[0].startswith("-")
    assert all(
        not line or line.lstrip("\t").startswith(("- ", "  ")) or line == "-" for line in lines
    )
    note = dialect.open(Files()).parse("pages/x.md", page, FrontMatter({}, None, 0))
    assert not note.properties or "::" in content


@given(st.lists(LINES | st.text(max_size=6), max_size=12).map("\n".join))
@settings(max_examples=examples(300))
def test_no_letter_of_a_page_is_lost(page: str) -> None:
    page = page.replace("\r\n", "\n")
    kept = [each for each in "".join(from_outline(page).split()) if each != "-"]
    assert kept == [each for each in "".join(page.split()) if each != "-"]


@pytest.mark.parametrize(
    ("content", "page"),
    [
        ("one", "- one"),
        ("one\ntwo", "- one\n  two"),
        ("one\n\ntwo", "- one\n- two"),
        ("one\n\n\ntwo", "- one\n\n- two"),
        ("Tea:\n- green\n- black\n  - Assam\n\nend", "- Tea:\n\t- green\n\t- black\n\t\t- Assam\n- end"),
        ("Tea:\n\n- green", "- Tea:\n\n\t- green"),
        ("- a\n- b", "-\n\t- a\n\t- b"),
        ("## Steps\n1. do\n2. rest", "- ## Steps\n\t- 1. do\n\t- 2. rest"),
        ("- a\n  more of a", "-\n\t- a\n\t  more of a"),
        ("see\n```py\nx = 1\n\ny = 2\n```", "- see\n  ```py\n  x = 1\n\n  y = 2\n  ```"),
        ("- a\n    - far in", "-\n\t- a\n\t    - far in"),
        ("- a\nlazy", "- - a\n  lazy"),
    ],
)  # fmt: skip
def test_lists_and_paragraphs_are_blocks(content: str, page: str) -> None:
    assert to_outline(content) == page
    assert from_outline(page) == content


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("- [ ] pay 📅 2026-12-01", "- TODO pay\n  DEADLINE: <2026-12-01 Tue>"),
        ("Trip\n  * [/] pay ⏳️ 2026-12-01 #x", "Trip\n  * DOING pay #x\n    SCHEDULED: <2026-12-01 Tue>"),
        ("- [x] one\n- [X] two\n- [-] three", "- DONE one\n- DONE two\n- CANCELED three"),
        ("- [ ] 📅 2026-13-01 no day", "- TODO 📅 2026-13-01 no day"),
        *((same, same) for same in ("- [link](x)", "[ ] no item", "- pay 📅 2026-12-01", "```\n- [ ] code\n```", "- [ ]x")),
    ],
)  # fmt: skip
def test_boxes_become_tasks_that_an_outline_knows(content: str, expected: str) -> None:
    assert with_markers(content) == with_markers(with_markers(content)) == expected


def test_a_task_in_a_memory_is_one_in_logseq(tmp_path: Path) -> None:
    with Vault(str(fill(tmp_path, {"logseq/config.edn": "{}"}))) as vault:
        vault.sync()
        text = "- [ ] pay the hotel 📅 2026-12-01"
        written = vault.write(text, by="claude")
        assert vault.write(text, by="claude")["duplicate_of"] == written["id"]
        ((_, task),) = vault.tasks()
        assert (task["text"], task["due"], task["marker"]) == (
            "pay the hotel",
            "2026-12-01",
            "TODO",
        )
        vault.edit(written["id"], "- TODO pay the hotel\n- [ ] pack")
        assert {task["text"] for _, task in vault.tasks()} == {"pay the hotel", "pack"}


@given(st.lists(st.text("abc ü笔1,，#\"'.-", min_size=1, max_size=8), max_size=4))
@settings(max_examples=examples(300))
def test_lists_are_read_as_they_were_written_by_us_and_by_logseq(items: list[str]) -> None:
    names = list(dict.fromkeys(item.strip() for item in items if item.strip()))
    line = format_value(list(names))
    assert list_items(line) == names
    found = by_logseq(f"tags:: {line}\n").properties.get("tags", [])
    assert found == names


DONE = Completion("2026-11-22T10:00", next_day)
RULES = LogseqRules(Settings())


def parsed(text: str, path: str = "pages/Note.md") -> Note:
    plain = text.replace("\r\n", "\n")
    return RULES.parse(path, plain, split(plain))


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ("- TODO call Anne", "- DONE call Anne"),
        ("- ## NOW call\n  id:: 1", "- ## DONE call\n  id:: 1"),
        ("# WAITING call", "# DONE call"),
        ("- IN-PROGRESS call\n  :LOGBOOK:\n  CLOCK: [x]\n  :END:", "- DONE call\n  :LOGBOOK:\n  CLOCK: [x]\n  :END:"),
        ("- TODO a\n  DEADLINE: <2026-11-20 Fri>", "- DONE a\n  DEADLINE: <2026-11-20 Fri>"),
        ("- DOING a\n  SCHEDULED: <2026-11-20 Fri +1w>", "- TODO a\n  SCHEDULED: <2026-11-27 Fri +1w>"),
        ("- NOW a\n  SCHEDULED: <2026-11-20 Fri 09:00 .+1d>", "- LATER a\n  SCHEDULED: <2026-11-23 Mon 09:00 .+1d>"),
        ("- TODO a\n  DEADLINE: <2026-10-02 Fri ++1w>", "- TODO a\n  DEADLINE: <2026-11-27 Fri ++1w>"),
        ("- TODO a\n  DEADLINE: <2026-11-22 Sun 21:00 ++1d>", "- TODO a\n  DEADLINE: <2026-11-23 Mon 21:00 ++1d>"),
        ("- TODO a\n  DEADLINE: <2026-11-22 Sun 9:00 ++2h>", "- TODO a\n  DEADLINE: <2026-11-22 Sun 11:00 ++2h>"),
        ("- TODO a\n  DEADLINE: <2026-01-31 +1m>", "- TODO a\n  DEADLINE: <2026-02-28 +1m>"),
        ("- TODO a\n  SCHEDULED: <2024-02-29 Thu +1y>", "- TODO a\n  SCHEDULED: <2025-02-28 Fri +1y>"),
        (
            "- TODO a\n  SCHEDULED: <2026-11-20 Fri +1w> DEADLINE: <2026-11-21 Sat>\n  text",
            "- TODO a\n  SCHEDULED: <2026-11-27 Fri +1w> DEADLINE: <2026-11-21 Sat>\n  text",
        ),
        ("- TODO a\n  DEADLINE: <2026-11-20 Fri +0d>", "- DONE a\n  DEADLINE: <2026-11-20 Fri +0d>"),
    ],
)  # fmt: skip
def test_done_or_the_next_turn(text: str, becomes: str) -> None:
    for end in ("\n", "\r\n"):
        whole = f"- first\n{text}\n- TODO last\n".replace("\n", end)
        done = RULES.completed("pages/Note.md", whole, parsed(whole).tasks[0], DONE)
        assert done == f"- first\n{becomes}\n- TODO last\n".replace("\n", end)


@pytest.mark.parametrize(
    "now",
    [
        *["- DONE call", "- CANCELED call", "- TODO recall", "- call", "", "\n- TODO call"],
        *["- call\n  SCHEDULED: <2026-11-20 Fri>", "- TODO call\n  DEADLINE: <9999-12-31 Fri +1d>"],
    ],
)
def test_what_is_no_longer_that_task_stays(now: str) -> None:
    assert RULES.completed("pages/Note.md", now, Task(1, " ", "call", marker="TODO"), DONE) is None


MARKERS = st.sampled_from(["TODO ", "DOING ", "NOW ", "LATER ", "DONE ", "CANCELED ", "WAIT ", ""])
STAMPS = st.sampled_from([
    "SCHEDULED: <2026-11-20 Fri>", "DEADLINE: <2026-11-20 Fri +1w>", "SCHEDULED: <2026-11-25 Wed 09:00 .+1m>",
    "DEADLINE: <2026-11-20 ++3d>", "SCHEDULED: [2025-01-31 Fri ++1m] DEADLINE: <2026-12-01 Tue +2h>",
    "SCHEDULED: <2026-02-30 Mon +1d>", "id:: 64a1b2c3-0000-4000-8000-000000000001", "key:: DEADLINE: <2026-11-20>",
    ":LOGBOOK:", ":END:", "text", "", "```", "DEADLINE: <2026-11-20 Fri +1w>", "- [ ] x", "> TODO q",
])  # fmt: skip
BLOCKS = st.tuples(
    st.sampled_from(["- ", "\t- ", "\t\t- ", "- # ", "## "]),
    MARKERS,
    st.sampled_from(["call", "[#A] call", "`TODO` b", "TODO"]),
    st.lists(STAMPS, max_size=4),
).map(lambda one: "\n  ".join([one[0] + one[1] + one[2], *one[3]]))
TASK_PAGES = st.tuples(
    st.lists(BLOCKS, min_size=1, max_size=5), st.sampled_from(["\n", "\r\n"])
).map(lambda one: "\n".join(one[0]).replace("\n", one[1]))


@given(TASK_PAGES, st.integers(0, 5))
def test_exactly_this_task_is_done(text: str, number: int) -> None:
    tasks = parsed(text).tasks
    if not tasks:
        return
    task = tasks[number % len(tasks)]
    found = RULES.completed("pages/Note.md", text, task, DONE)
    if task.done or task.cancelled:
        assert found is None
        return
    assert found is not None
    after = parsed(found).tasks
    assert [one for one in after if one.line != task.line] == [
        one for one in tasks if one.line != task.line
    ]
    now = next(one for one in after if one.line == task.line)
    assert (now.text, now.priority, now.block_id) == (task.text, task.priority, task.block_id)
    assert now.repeater == task.repeater
    changed = sum(a != b for a, b in zip(text.split("\n"), found.split("\n"), strict=True))
    if task.repeater:
        assert now.marker == {"DOING": "TODO", "NOW": "LATER"}.get(task.marker or "", task.marker)
        assert (now.due or "", now.scheduled or "") > (task.due or "", task.scheduled or "")
        assert changed <= 3
    else:
        assert (now.marker, now.due, now.scheduled) == ("DONE", task.due, task.scheduled)
        assert changed == 1


@given(st.text(), st.integers(1, 4), st.text(), st.sampled_from(["a.md", "b.org"]))
def test_any_text_is_read_without_failing(text: str, line: int, words: str, path: str) -> None:
    RULES.completed(path, text, Task(line, " ", words), DONE)
