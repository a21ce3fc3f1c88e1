"""The tokenizer built from the word list gives the ids of the model's own tokenizer.

tests/data/minilm_token_ids.json holds the ids of the original tokenizer.json of
sentence-transformers/all-MiniLM-L6-v2, without truncation and padding.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from vaultmem.index import minilm

RECORDED = json.loads(
    (Path(__file__).parent / "data" / "minilm_token_ids.json").read_text(encoding="utf-8")
)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.from_str(minilm.tokenizer().to_str())  # as the prepared folder has it


@pytest.mark.parametrize("script", RECORDED)
def test_ids_are_those_of_the_original(tokenizer: Tokenizer, script: str) -> None:
    assert tokenizer.encode(RECORDED[script]["text"]).ids == RECORDED[script]["ids"]


def test_the_recorded_ids_say_something() -> None:
    """Ids that were all [UNK] would agree with any tokenizer."""
    telling = [case["ids"] for case in RECORDED.values() if len(set(case["ids"]) - {100}) > 5]
    assert len(telling) >= 15


def test_a_pair_is_marked_as_the_original_does(tokenizer: Tokenizer) -> None:
    pair = tokenizer.encode("a", "b")
    assert (pair.ids, pair.type_ids) == ([101, 1037, 102, 1038, 102], [0, 0, 0, 1, 1])


def test_the_word_list_is_whole() -> None:
    words = minilm.read_words()
    assert (len(words), len(set(words))) == (30_522, 30_522)
    assert [words[n] for n in (0, 100, 101, 102, 103)] == [
        "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]",
    ]  # fmt: skip
