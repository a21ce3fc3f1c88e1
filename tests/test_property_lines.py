"""Property lines of Logseq pages: read as Logseq reads them, edited without touching anything else."""

import math

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from tests.laws import examples
from tests.stand_in_files import Files
from vaultmem.adapter import Note, Value
from vaultmem.errors import FrontMatterError
from vaultmem.notes import frontmatter
from vaultmem.notes.logseq_properties import (
    format_lines,
    format_value,
    list_items,
    locate,
    parse_value,
    read,
    remove_property,
    set_property,
)
from vaultmem_logseq import dialect

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


@given(st.lists(st.text("abc ü笔1,，#\"'.-", min_size=1, max_size=8), max_size=4))
@settings(max_examples=examples(300))
def test_lists_are_read_as_they_were_written_by_us_and_by_logseq(items: list[str]) -> None:
    names = list(dict.fromkeys(item.strip() for item in items if item.strip()))
    line = format_value(list(names))
    assert list_items(line) == names
    found = by_logseq(f"tags:: {line}\n").properties.get("tags", [])
    assert found == names


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
