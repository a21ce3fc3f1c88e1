"""Likeness: what counts as the same content, and how well sketches estimate the rest."""

import random
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.laws import examples
from vaultmem.text.similarity import (
    bands,
    content_hash,
    jaccard,
    normal_form,
    resemblance,
    shingles,
    sketch,
)

CONTENTS = st.text(st.sampled_from("ab \t\n\r\0é笔e\u0301\ud800.🎉"), max_size=60) | st.text(
    max_size=60
)


@given(CONTENTS)
@settings(max_examples=examples(300))
def test_blanks_at_the_edges_and_line_ends_do_not_count(content: str) -> None:
    whole = normal_form(content)
    assert normal_form(whole) == whole
    unix = content.replace("\r\n", "\n").replace("\r", "\n")
    same = content_hash(content)
    assert content_hash("\n \n" + unix.replace("\n", "  \t\n") + "\n\n") == same
    assert content_hash(unix.replace("\n", "\r\n")) == same
    assert content_hash(whole) == same


@given(CONTENTS)
@settings(max_examples=examples(200))
def test_a_sketch_is_of_the_content_that_counts(content: str) -> None:
    made = sketch(content)
    assert len(made) in {0, 32}
    assert all(0 <= value < 256 for value in made)
    assert made == sketch(f"\n{content}  \n".swapcase().swapcase())
    assert bool(made) == bool(shingles(content)) == bool(bands(made))
    assert resemblance(made, made) == (1.0 if made else 0.0)
    assert jaccard(content, content) == (1.0 if made else 0.0)


def test_shingles_and_sketches_are_the_same_in_every_process() -> None:
    code = (
        "from vaultmem.text.similarity import *;"
        "print(sorted(shingles('one two three four')), sketch('one two three four'))"
    )
    told = [
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2")
    ]  # fmt: skip
    expected = f"{sorted(shingles('one two three four'))} {sketch('one two three four')}\n"
    assert told == [expected, expected]


def pair(words: int, least: float, rng: random.Random) -> tuple[str, str]:
    """Two texts whose Jaccard is just above `least`."""
    first = [f"w{rng.randrange(10**6)}" for _ in range(words)]
    second = list(first)
    while True:
        third = list(second)
        third[rng.randrange(words)] = f"z{rng.randrange(10**6)}"
        if jaccard(" ".join(first), " ".join(third)) < least:
            return " ".join(first), " ".join(second)
        second = third


@pytest.mark.parametrize("words", [15, 40, 150])
def test_similar_contents_share_a_key_and_sketches_tell_how_similar(words: int) -> None:
    rng = random.Random(words)
    pairs = [pair(words, 0.7, rng) for _ in range(150)]
    shared = sum(bool(set(bands(sketch(a))) & set(bands(sketch(b)))) for a, b in pairs)
    assert shared > 0.95 * len(pairs)
    errors = [resemblance(sketch(a), sketch(b)) - jaccard(a, b) for a, b in pairs]
    assert abs(sum(errors)) / len(errors) < 0.03
    assert (sum(error * error for error in errors) / len(errors)) ** 0.5 < 0.1
