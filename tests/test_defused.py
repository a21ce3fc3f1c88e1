"""Quoted text is one line that nobody takes for markup, structure or an instruction."""

import json
import re
import unicodedata
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.effort import is_linear
from tests.laws import examples
from vaultmem.text.sanitize import MOST, not_run, one_line

DATA = json.loads((Path(__file__).parent / "data" / "hostile_notes.json").read_text("utf-8"))
HOSTILE = DATA["notes"]
SANITIZED = json.loads((Path(__file__).parent / "data" / "sanitized.json").read_text("utf-8"))
EVERYWHERE = ["@", "`", "<", ">", "#", "^", "](", "[[", "]]", "::", "((", "{{", "{%", "%%", "$$", "~~", "---", "!["]  # fmt: skip
RUNS = re.compile("(?<![a-z0-9])(?:javascript|file|obsidian|data):", re.IGNORECASE)
FIRST = re.compile(r"[#>|~\s]|===|(＃+|[-*+])( |$)|\[.\]( |$)|(TODO|DONE|LATER|DOING|NOW)( |$)|---")
TOWER = re.compile("m{5}")  # accents on one letter
PIECES = st.sampled_from(
    ["`", "~", "#", "-", "--", "[", "]", "(", ")", "{", "}", "<", ">", "%", "$", "!", ":", "^vm-abc234", "TODO ", "[x] ", "\n", "\u202e", "\u200d", "\u200c", "م", "क", "\u094d",
     "📅", " 2026-01-01", "🔁", "👩", "\ufe0f", "\u0301", "javascript", "file", "@", "\x1b[", "31m", "＃", "a", " ", "Human", "_", "*", "\\", "1. ", "한", "\u1161"]
)  # fmt: skip
TEXTS = st.lists(PIECES, max_size=40).map("".join) | st.text(max_size=400)


@pytest.mark.parametrize("note", HOSTILE, ids=[note["name"] for note in HOSTILE])
def test_nothing_hostile_is_left(note: dict[str, object]) -> None:
    line = one_line(str(note["text"]))
    gone, first = note["gone"], note.get("not_first", [])
    assert isinstance(gone, list)
    assert isinstance(first, list)
    assert not [mark for mark in [*gone, *EVERYWHERE] if mark.lower() in line.lower()]
    assert not [mark for mark in first if line.startswith(mark)]
    assert_law(line)


def assert_law(line: str) -> None:
    assert len(line) <= MOST
    assert one_line(line) == line
    assert line == " ".join(line.split())
    assert not FIRST.match(line)
    assert not RUNS.search(line)
    kinds = [unicodedata.category(each) for each in line]
    assert not TOWER.search("".join("m" if kind[0] == "M" else "." for kind in kinds))
    hidden = {
        each
        for each, kind in zip(line, kinds, strict=True)
        if kind in ("Cc", "Cf", "Cs", "Co", "Cn")
    }
    assert hidden <= {"\u200c", "\u200d"}
    assert not re.search("[\u200c\u200d]{2}", line)


@given(TEXTS)
@example("TODO " * 100 + "[x] " * 100)
@example("📅 📅 2026 📅")
@example("👩\u200d" * 300)
@example("- - 1. [ ] # x")
@settings(max_examples=examples(1_500))
def test_the_law_holds_for_any_text(text: str) -> None:
    line = one_line(text)
    assert_law(line)
    assert not [mark for mark in EVERYWHERE if mark in line.lower()]


@given(TEXTS, st.integers(1, 60))
@settings(max_examples=examples(400))
def test_a_shorter_line_keeps_it_too(text: str, most: int) -> None:
    line = one_line(text, most)
    assert len(line) <= most
    assert one_line(line, most) == line


@pytest.mark.parametrize(("text", "line"), SANITIZED["lines"])
def test_a_person_can_still_read_it(text: str, line: str) -> None:
    assert one_line(text) == line


def test_no_letter_is_cut_apart() -> None:
    family = "👨\u200d👩\u200d👧"
    line = one_line(family * 100)
    assert line.endswith("…")
    assert line[:-1] == family * (len(line) // len(family))


@pytest.mark.parametrize(("text", "plain"), SANITIZED["code"])
def test_code_that_an_editor_would_run_is_plain(text: str, plain: str) -> None:
    assert not_run(text) == plain
    assert not_run(plain) == plain


@pytest.mark.parametrize(
    "part", ["```a", "`> ", "~~~\n\n", "[a]: ", "- \t", "<%{{", "```\n~~~\n", "`a`\n", "     \n"]
)
def test_much_of_it_costs_linear_time(part: str) -> None:
    assert is_linear(lambda size: not_run(part * size), 1_000, 8_000)
