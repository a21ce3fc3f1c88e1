"""What a text may hold: secrets are taken out, and nothing else is; quoted text is one line that nobody takes for markup or an
instruction; code, maths and comments hide their contents."""

import json
import re
import unicodedata
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.effort import is_linear
from tests.laws import examples
from tests.secret_corpus import PLAIN, SECRETS
from vaultmem.adapter.scan import blank_hidden, blank_spans, hidden_spans, line_at, line_starts
from vaultmem.text.sanitize import MOST, not_run, one_line
from vaultmem.text.secret_values import Form, forms
from vaultmem.text.secrets import redact, text_for_title


@pytest.mark.parametrize(("text", "gone"), SECRETS)
def test_a_secret_is_replaced_by_a_visible_mark_and_nothing_else(text: str, gone: str) -> None:
    found = redact(text)
    assert found.kinds, text
    assert "[redacted: " in found.text
    assert gone not in found.text
    within = redact(f"Anne said:\n\n{text}\n\nThen she left. 再见").text
    assert within.startswith("Anne said:\n\n")
    assert within.endswith("\n\nThen she left. 再见")


@pytest.mark.parametrize("sign", ["\u200b", "\u2060", "\xad", "\u202e"])
def test_a_sign_that_nobody_sees_hides_no_secret(sign: str) -> None:
    """As web pages leave them in what is copied; who shows the text leaves them out."""
    for text, gone in SECRETS:
        if text.isascii():
            found = redact(sign.join(text)).text
            assert gone not in found.replace(sign, ""), text
            assert redact(found) == (found, ())


def test_what_is_no_secret_stays_to_the_letter() -> None:
    for text in (*PLAIN, "\n\n".join(PLAIN), "\n\n".join(reversed(PLAIN))):
        assert redact(text) == (text, ()), text


words = st.sampled_from([text for text, _ in SECRETS] + PLAIN)
pieces = st.one_of(words, st.text(max_size=30), st.sampled_from(["-----BEGIN PRIVATE KEY-----", "password", ": ", "=", "\n", "\u200b"]))  # fmt: skip


@settings(max_examples=examples(300))
@given(st.lists(pieces, max_size=8).map("".join))
def test_redacting_again_changes_nothing(text: str) -> None:
    once = redact(text)
    assert redact(once.text) == (once.text, ())


# --- titles


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("No mark at all.", "No mark at all."),
        ("[redacted: GitHub token]\nFor the build of the site.", "For the build of the site."),
        ("password: [redacted: password]\n\nThe guest network", "\nThe guest network"),
        ("The router's password: [redacted: password]", "The router's password"),
        ("[redacted: GitHub token]", "Redacted GitHub token"),
        ("[redacted: token]\n\n---\n", "Redacted token"),
        ("密码：[redacted: password]", "密码"),
    ],
)
def test_a_name_comes_from_what_is_left(text: str, name: str) -> None:
    assert text_for_title(text) == name


# --- time

LARGE = 80_000  # characters: what takes quadratic time takes a minute
HOSTILE = [
    "pwd=", "password is ", "secret_token=a1", "://a:", "login a ", "machine a login b ", "curl ", "bearer a1", "--token ",
    "<password>", "-----BEGIN PRIVATE KEY-----\n", "-----BEGIN PRIVATE KEY-----\nab ", "api_key:\n", "ghp_\n", "aB3dE6\n", "> a1\n",
    "Private-Lines: 1\n", "eyJaaaaaaaaaaa.", "a", " ", "\n", "\\\n", "密码：",
]  # fmt: skip


@pytest.mark.parametrize(
    "form", forms("forms") + forms("places"), ids=lambda form: f"{form.kind} {form.sign}"
)
def test_each_form_takes_linear_time(form: Form) -> None:
    inner = "eyJ" if form.sign == "eyJ" else "aB3-"
    for part in (f" {form.sign}", f" {form.sign}{inner * 40}", f"{form.sign}{inner}."):
        assert is_linear(partial(_done, form.pattern.findall, part), LARGE // 8, LARGE)


@pytest.mark.parametrize("part", HOSTILE)
def test_all_of_it_takes_linear_time(part: str) -> None:
    assert is_linear(partial(_done, redact, part), LARGE // 8, LARGE)


def _done(work: Callable[[str], object], part: str, length: int) -> None:
    work(part * (length // len(part)))


DATA = json.loads((Path(__file__).parent / "data" / "hostile_notes.json").read_text("utf-8"))
NOTES = DATA["notes"]
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


@pytest.mark.parametrize("note", NOTES, ids=[note["name"] for note in NOTES])
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


MARKDOWN = st.text(alphabet="`~$<!->[]\\ \n\ta1#|*.-中%", max_size=200)


@pytest.mark.parametrize(
    "text",
    [
        "`HIDE`", "``HIDE ` HIDE``", "a `HIDE\nHIDE` b", "$HIDE$", "$HIDE HIDE$", "$$HIDE$$",
        "$$\nHIDE\n\nHIDE\n$$", "<!-- HIDE -->", "x <!-- HIDE\n\nHIDE --> y",
        "```\nHIDE\n```", "~~~\nHIDE\n~~~", "````\n```\nHIDE\n```\n````", "```js\nHIDE\n````",
        "  ```\nHIDE\n  ```", "- ```\n  HIDE\n  ```", "1. item\n   ```\n   HIDE\n   ```",
        "> ```\n> HIDE\n> ```", "> [!note]\n> ~~~\n> HIDE\n> ~~~", "```\nHIDE",
        "~~~\nHIDE\n```\nHIDE",
        "- a\n\t- ```\n\t  HIDE\n\t  ```", "```\n> ```\nHIDE\n```", "```\n    ```\nHIDE\n```",
        "~~~ a`b\nHIDE\n~~~", "> - ```\n>   HIDE\n>   ```", "\\\\`HIDE`", "$a\\$HIDE$",
        "<!--\nHIDE",
        "SHOW", "%% SHOW %%", "a ` SHOW", "a `` SHOW ` b", "\\`SHOW\\`", "it costs $5 SHOW or 6$7",
        "$ SHOW$", "$SHOW $", "\\$SHOW$", "$a\nSHOW$", "$$ SHOW", "a ``` b\nSHOW", "``` a`b\nSHOW",
        "x ~~~\nSHOW", "`a\n\nSHOW`", "- `a\n- SHOW`", "# `a\n# SHOW`", "~~SHOW~~", "<!- SHOW -->",
        "```\na\n```\nSHOW", "> ```\n> a\nSHOW", "[[a$b]] SHOW [[c$d]]", "a <!-- SHOW",
        "$$$SHOW$$$",
        "`a` SHOW `b`", "<!--> SHOW -->", "| `a | SHOW |\n| b` |",
    ],
)  # fmt: skip
def test_what_code_maths_and_comments_hold_is_hidden_and_nothing_else(text: str) -> None:
    assert_hidden(text, blank_hidden(text))


def assert_hidden(text: str, seen: str) -> None:
    assert "HIDE" not in seen
    assert ("SHOW" in seen) == ("SHOW" in text)


@pytest.mark.parametrize(
    "text",
    [
        "\n    HIDE", "a\n\n    HIDE\n    HIDE\n\n\tHIDE", "a\n\n  \tHIDE", "- a\n\nb\n\n    HIDE",
        "a\n\n    ```\n    HIDE\n\nb", "a\n \n    HIDE `\n\nb `HIDE`", "```\n\n    HIDE\n```",
        "    SHOW", "a\n    SHOW", "- a\n\n    SHOW", "1. a\n\tSHOW", "- a\n\n  b\n\n\tSHOW", "a\n\n   SHOW",
        "- a\nb\n\n    SHOW", "[^1]: a\n\n    SHOW", "a\n\n    b\nSHOW", "<!--\n\n    -->\nSHOW",
        "```\n\n    a\n```\nSHOW", "a\n\n    ```\nSHOW", "a\n\n    <!--\n\nSHOW",
    ],
)  # fmt: skip
def test_indented_code_is_hidden_where_a_dialect_has_it(text: str) -> None:
    assert_hidden(text, blank_spans(text, hidden_spans(text, indented=True)))


@given(MARKDOWN, st.booleans())
def test_hidden_spans_are_ordered_and_apart(text: str, indented: bool) -> None:
    last = 0
    for begin, end, _ in hidden_spans(text, indented=indented):
        assert last <= begin < end <= len(text)
        last = end


@given(MARKDOWN, st.integers(0, 50))
def test_every_character_keeps_its_place_and_before_the_body_itself(text: str, start: int) -> None:
    pairs = [*zip(blank_hidden(text, start), text, strict=True)]
    assert all(new == old or (new == " " and old != "\n") for new, old in pairs)
    assert all(new == old for new, old in pairs[:start])


@given(st.text(alphabet="a\n中", max_size=80))
def test_lines_are_counted_from_one(text: str) -> None:
    starts = line_starts(text.split("\n"))
    for offset in range(len(text)):
        assert line_at(starts, offset) == text.count("\n", 0, offset) + 1


@pytest.mark.parametrize(
    "part",
    ["`", "` `` ", "``` ", "```\n", "> ```\n", "~~~ ", "$", "$1 ", "$$ ", "$$a", "$a\n", "<!--",
     "\n\n    a `", "a <!--", "[", "[[", "[[a ", "\\", "`a\n", "- ```\n", "``` `\n"],
)  # fmt: skip
def test_hostile_text_takes_linear_time(part: str) -> None:
    assert is_linear(
        lambda size: hidden_spans(part * (size // len(part)), indented=True), 8_000, 64_000
    )
