"""A text is cut at its paragraphs and sentences, and nothing is lost."""

import re

from hypothesis import given
from hypothesis import strategies as st

from tests.effort import takes_less
from vaultmem.exchange.incoming import chunks, clean
from vaultmem.notes.blocks import MAX_TOKENS, MIN_TOKENS, count_tokens

LONG = "The boiler in the cellar was serviced in May, and it took the whole day. "


def test_short_paragraphs_join_and_long_ones_are_cut_at_sentences() -> None:
    assert chunks("One.\n\nTwo.\n\nThree.") == ["One.\n\nTwo.\n\nThree."]
    found = chunks((LONG * 40).strip())
    assert len(found) > 1
    assert all(part.endswith("day.") for part in found)
    assert all(MIN_TOKENS <= count_tokens(part) <= MAX_TOKENS for part in found)


def test_no_part_goes_over_a_heading() -> None:
    assert chunks("# A\n\n## B\n\nOne.\n\nTwo.\n\n## C\n\nThree.") == [
        "# A\n\n## B\n\nOne.\n\nTwo.",
        "## C\n\nThree.",
    ]
    assert chunks("One.\n\n#tag is none") == ["One.\n\n#tag is none"]


def test_chinese_is_cut_at_its_own_full_stops() -> None:
    found = chunks("锅炉在五月份做了保养，用了整整一天的时间。" * 40)
    assert len(found) > 2
    assert all(part.endswith("。") for part in found)


def test_a_fence_of_code_stays_in_one_piece() -> None:
    code = "```python\nx = 1\n\ny = 2\n```"
    assert code in chunks(clean(f"{LONG}\n\n{code}\n\n{LONG * 3}"))[0]


@given(
    st.lists(
        st.sampled_from(["word ", "A. ", "B!\n", "\n\n", "```\n", "锅炉。", "x" * 900, " "]),
        max_size=60,
    )
)
def test_no_word_is_lost_and_no_part_is_too_long(parts: list[str]) -> None:
    text = clean("".join(parts))
    found = chunks(text)
    assert re.sub(r"\s", "", "".join(found)) == re.sub(r"\s", "", text)
    assert all(count_tokens(part) <= MAX_TOKENS for part in found)


def test_it_takes_time_in_proportion() -> None:
    for hostile in ("`" * 100_000, "a" * 100_000, ". " * 50_000, "\n" * 100_000, "```\n" * 25_000):
        assert takes_less(2, lambda text=hostile: chunks(clean(text)))
