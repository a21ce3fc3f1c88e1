"""The marks of a note: its scope and privacy are read from its text as its parser reads them."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vaultmem.memories import access
from vaultmem.notes import pages

KEY = st.sampled_from(["scope", "Scope", "'private'", "private ", "vaultmem", "? scope\n", "a", r'"sc\u006fpe"', '"priv\\\nate"', "? private # c\n", "a: &k private\n*k "])  # fmt: skip
SIGN = st.sampled_from([": ", ":: ", ":\n  ", "=", ": >-\n  ", ": !!str "])
VALUE = st.sampled_from(
    [
        "agent:claude",
        "global",
        "user:x",
        "'no'",
        "no way",
        "true",
        "id scope=user:x v=1",
        "{b: 1}",
        "",
        "|",
    ]
)
LINES = st.lists(st.tuples(st.sampled_from(["", "  ", "{", "- "]), KEY, SIGN, VALUE, st.sampled_from(["", "}", " # c"])).map("".join), max_size=3)  # fmt: skip
OPENING, END = (
    st.sampled_from(["", "---\n", "--- \n", "\ufeff---\n"]),
    st.sampled_from(["", "\n---\n", "\n--- \n"]),
)


@example("---\n", "vaultmem: abc scope=agent:claude version=1", "\n---\n", False)
@example("---\n", "? private\n: true", "\n---\n", False)
@example("--- \n", "'scope ' : agent:claude", "\n---\n", False)
@example("---\n", "scope: agent:claude\nscope: global", "\n---\n", False)
@example("---\n", "scope: global\nscope: agent:claude", "\n---\n", False)
@example("", "a:: 1\n\nscope:: agent:claude", "", False)
@example("---\n", "a:\n  private: true", "\n---\n", False)
@example("---\n", r'"sc\u006fpe": agent:claude', "\n---\n", False)
@example("\ufeff---\r\n", r'"priv\x61te": true', "\r\n---\r\n", False)
@example("---\n", "? private # c\n: true", "\n---\n", False)
@example("---\n", "a: &k private\n*k : true", "\n---\n", False)
@given(OPENING, LINES.map("\n".join), END, st.booleans())
def test_marks_are_read_from_a_text_as_by_its_parser(
    opening: str, lines: str, end: str, memory: bool
) -> None:
    text, cursor = f"{opening}{lines}{end}body\n", access.viewer("cursor")
    readings = [
        pages.read(style, text.removeprefix("\ufeff")).properties for style in ("", "outline")
    ]
    parsed = any(access.hidden(one, cursor, memory=memory) for one in readings)
    assert bool(access.hidden_now(text, cursor, memory=memory)) == parsed


def test_the_marks_of_a_memory_need_no_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "read", pytest.fail)
    text = "---\nid: x\nscope: agent:claude\nprivate: true\n---\nThe scope is wide, private too.\n"
    assert access.marks(text) == {"scope": "agent:claude", "private": "true"}
