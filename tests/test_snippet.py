"""Laws of snippets: they are cut from the text, fit the width, and mark words that were asked for."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vaultmem.core.snippet import snippet

WORDS = st.lists(
    st.sampled_from(
        ["apple", "Apple", "roof", "x", "桥", "计划", "é", "a-b", "\n", "\t", "…", "word" * 90]
    ),
    max_size=120,
)


def stem(word: str) -> list[str]:
    return [word.rstrip("s")]


@given(
    WORDS.map(" ".join) | st.text(max_size=600),
    st.sets(st.sampled_from(["apple", "roof", "桥", "é", "none"])),
    st.integers(60, 400),
)
def test_laws(text: str, wanted: set[str], width: int) -> None:
    shown = snippet(text, wanted, stem, width)
    flat = " ".join(text.split())
    bare = shown.text.removeprefix("…").removesuffix("…") if shown.text not in flat else shown.text
    assert "".join(bare.split()) in "".join(flat.split())
    assert len(shown.text) <= width + 2
    assert "\n" not in shown.text
    end = 0
    for start, stop in shown.marks:
        assert end <= start < stop <= len(shown.text)
        end = stop
        assert shown.text[start:stop].lower().strip("s") in wanted or any(
            w in shown.text[start:stop].lower() for w in wanted
        )
    if not wanted & {w for w in ("apple", "roof", "桥", "é") if w in flat.lower()}:
        assert shown.marks == []


def test_the_window_is_where_the_words_are() -> None:
    text = "nothing here " * 100 + "a red apple on the roof " + "nothing there " * 100
    shown = snippet(text, {"apple", "roof"}, stem)
    assert [shown.text[a:b] for a, b in shown.marks] == ["apple", "roof"]
    assert shown.text.startswith("…")
    assert shown.text.endswith("…")


def test_different_words_beat_many_of_one() -> None:
    text = "apple " * 30 + "x " * 300 + "roof and apple " + "x " * 300
    shown = snippet(text, {"apple", "roof"}, stem)
    assert "roof" in [shown.text[a:b] for a, b in shown.marks]


def test_neighbouring_characters_are_one_mark() -> None:
    shown = snippet("这座桥梁很长", {"桥", "梁"}, stem)
    assert [shown.text[a:b] for a, b in shown.marks] == ["桥梁"]


def test_a_short_text_is_shown_whole() -> None:
    assert snippet("  one\n two  ", {"two"}, stem).text == "one two"
