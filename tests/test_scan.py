"""Code, maths and comments hide their contents; nothing else does, and no line moves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.effort import is_linear
from vaultmem.adapter.scan import blank_hidden, blank_spans, hidden_spans, line_at, line_starts

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
    seen = blank_hidden(text)
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
    seen = blank_spans(text, hidden_spans(text, indented=True))
    assert "HIDE" not in seen
    assert ("SHOW" in seen) == ("SHOW" in text)


@given(MARKDOWN, st.booleans())
def test_hidden_spans_are_ordered_and_apart(text: str, indented: bool) -> None:
    last = 0
    for begin, end, _ in hidden_spans(text, indented=indented):
        assert last <= begin < end <= len(text)
        last = end


@given(MARKDOWN)
def test_every_character_keeps_its_place(text: str) -> None:
    seen = blank_hidden(text)
    assert len(seen) == len(text)
    assert all(
        new == old or (new == " " and old != "\n") for new, old in zip(seen, text, strict=True)
    )


@given(MARKDOWN, st.integers(0, 50))
def test_what_stands_before_the_body_is_left_alone(text: str, start: int) -> None:
    start = min(start, len(text))
    assert blank_hidden(text, start)[:start] == text[:start]


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
