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
EVERYWHERE = ["@", "`", "<", ">", "#", "^", "](", "[[", "]]", "::", "((", "{{", "{%", "%%", "$$", "~~", "---", "!["]  # fmt: skip
RUNS = re.compile("(?<![a-z0-9])(?:javascript|file|obsidian|data):", re.IGNORECASE)
FIRST = re.compile(r"[#＃>|~\s]|===|[-*+]( |$)|\[.\]( |$)|(TODO|DONE|LATER|DOING|NOW)( |$)|---")
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


def combines(letter: str) -> bool:
    return unicodedata.category(letter)[0] == "M"


def assert_law(line: str) -> None:
    assert len(line) <= MOST
    assert one_line(line) == line
    assert line == " ".join(line.split())
    assert not FIRST.match(line)
    assert not RUNS.search(line)
    assert not TOWER.search("".join("m" if combines(each) else "." for each in line))
    hidden = {each for each in line if unicodedata.category(each) in ("Cc", "Cf", "Cs", "Co", "Cn")}
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


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Call Anne about the contract", "Call Anne about the contract"),
        ("给安娜打电话，周五之前。", "给安娜打电话，周五之前。"),
        ("see [[Anne]] and [[Plan|the plan]]", "see ⟦Anne⟧ and ⟦Plan|the plan⟧"),
        ("mail anne@example.org", "mail anne＠example.org"),
        ("family 👨\u200d👩\u200d👧 day ❤️", "family 👨\u200d👩\u200d👧 day ❤️"),
        *(
            (text, text)
            for text in (
                "می\u200cخواهم",
                "क\u094d\u200dष",
                "ශ\u0dca\u200dරී",
                "র\u200d\u09cdযাব",
                "ന\u0d4d\u200d",
            )
        ),
        ("a\u200cb 中\u200c文 م\u200c\u200cم", "ab 中文 م\u200cم"),
        ("क" + "\u094d\u200d" * 200 + " end", "क" + "\u094d\u200d" * 4 + " end"),
        ("use std::vector", "use std∷vector"),
        ("**Important**: -5 degrees", "**Important**: -5 degrees"),
        ("Z" + "\u0302\u0303" * 200 + " end", "Ẑ\u0303\u0302\u0303\u0302 end"),
        ("- [ ] TODO pay the bill", "pay the bill"),
    ],
)
def test_a_person_can_still_read_it(text: str, line: str) -> None:
    assert one_line(text) == line


def test_no_letter_is_cut_apart() -> None:
    family = "👨\u200d👩\u200d👧"
    line = one_line(family * 100)
    assert line.endswith("…")
    assert line[:-1] == family * (len(line) // len(family))


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        *((f"{before}```dataviewjs\nx\n```", f"{before}```text dataviewjs\nx\n```")
          for before in ("", "[^1]: ", "- [ ] ", "> > [!note]- ", "\t", "1. > - ", "a\r", "> [!a] \t")),
        ("~~~~ dataview\nLIST\n~~~~", "~~~~ text dataview\nLIST\n~~~~"),
        ("\u1fef\u1fef\u1fefdataviewjs\nx", "```text dataviewjs\nx"),
        ("```dataviewjs\n$= x", "```text dataviewjs\ntext $= x"),
        ("``  $= a``, `\n> = a`, `\ufeff=\na`", "``  text $= a``, `\n> text = a`, `\ufefftext =\na`"),
        ("~~~js\n\n= x\n~~~", "~~~js\n\ntext = x\n~~~"),
        ("    $= x\n- \t= x\n\t  = x\n    \u00a0\ufeff= x",
         "    text $= x\n- \ttext = x\n\t  text = x\n    \u00a0\ufefftext = x"),
        *((f"{words} `= x`", f"{words} `text = x`") for words in (
            "a ` b\n\nc ` d", "\\`a", "<a b='`'>", "$`$", "| `a | b", "[a](`b)", "`a` `` `b`",
            "`a\nb` c `d`\n`e` f", "$5`$", "a $5 `$`", "`a|b`")),
        ("~~~ `a`\n\n= `x`", "~~~ `a`\n\ntext = `x`"),
        ("<code>= x</code><CODE\nid=a>&#61; x", "< code>= x</code>< CODE\nid=a>&#61; x"),
        ("<% tp %> {{query x}} `{{query y}}`", "< % tp %> { {query x}} `{ {query y}}`"),
        ("> ```\n\n{{query x}}\n```", "> ```\n\n{ {query x}}\n```"),
        ("```\n   ```\n{{query x}}\n```", "```\n   ```\n{ {query x}}\n```"),
        *((text, text) for text in (
            "a = b\n===\n- = x", "`==`, `=>`", "```python\nx = '{{y}}'\n```", "a <b> <codec> %>",
            "~5% < `a` = 1, `$B`=`c`\n- `d` = 2\n", "a\n\n`b` = 3\n\n`c`\n\n= d", "| `a` = 1 | `b` = 2 |\n|---|---|\n| `c` = $3 | d |", "$5 ($6) for `a` = b", "", "a\n\n", "`a`\n\n\n", "`${{ a.b }}` {{ c }}")),
    ],
)  # fmt: skip
def test_code_that_an_editor_would_run_is_plain(text: str, plain: str) -> None:
    assert not_run(text) == plain
    assert not_run(plain) == plain


@pytest.mark.parametrize(
    "part", ["```a", "`> ", "~~~\n\n", "[a]: ", "- \t", "<%{{", "```\n~~~\n", "`a`\n", "     \n"]
)
def test_much_of_it_costs_linear_time(part: str) -> None:
    assert is_linear(lambda size: not_run(part * size), 1_000, 8_000)
