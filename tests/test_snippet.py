"""Laws of snippets: they are cut from the text, fit the width, and mark words that were asked for."""

import random
import re
from importlib import resources

from hypothesis import given
from hypothesis import strategies as st

from vaultmem.index.keyword import analyzer, words
from vaultmem.search.snippet import STEM_ENDING, Marker

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
    shown = Marker(wanted, stem).snippet(text, width)
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


ANALYZER = analyzer()
CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
WORD = re.compile(rf"[{CJK}✨]|[^\W{CJK}]+")
ENDINGS = "s es ies ed ing y ational ization fulness iveness ivity bility bly ency ably ally ical ment li".split()
ALPHABET = "✨aA sS_eé ñßİıſ中のが한ヿゟ゛Ωя-…\u0301１ｗ①Ⅳǅyingd\n "


def tokens(word: str) -> list[str]:
    return list(ANALYZER.analyze(words(word)))


@given(st.text(ALPHABET, max_size=60) | st.text(max_size=200), st.randoms())
def test_the_marked_words_are_all_whose_tokens_are_wanted(text: str, rng: random.Random) -> None:
    words = WORD.findall(text)
    wanted = {token for word in rng.sample(words, min(3, len(words))) for token in tokens(word)}
    shown = Marker(wanted, tokens).snippet(text, width=10_000)
    marked: set[int] = set()
    for match in WORD.finditer(shown.text):
        if wanted & set(tokens(match[0].lower())):
            marked.update(range(*match.span()))
    assert {place for mark in shown.marks for place in range(*mark)} == marked


def test_no_stem_ends_otherwise_than_words_are_looked_for() -> None:
    vocabulary = (resources.files("vaultmem") / "data/minilm/vocab.txt").read_text("utf-8").split()
    plain = [word for word in vocabulary if word.isascii() and word.isalnum()]
    plain += [word + ending for word in plain[::7] for ending in ENDINGS]
    for word in plain:
        for token in ANALYZER.analyze(word):
            assert word.startswith(token[: max(1, len(token) - STEM_ENDING)]), word
