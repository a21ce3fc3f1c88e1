"""The tokenizers of our own give the ids of the models' own ones.

tests/data/minilm_token_ids.json holds the ids of the original tokenizer.json of
sentence-transformers/all-MiniLM-L6-v2, without truncation and padding.
"""

import json
from itertools import accumulate
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

from tests.laws import examples
from vaultmem.embedding import wordpieces
from vaultmem.embedding.unigram import Unigram
from vaultmem.text.values import normalize_text

RECORDED = json.loads(
    (Path(__file__).parent / "data" / "minilm_token_ids.json").read_text(encoding="utf-8")
)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.from_str(wordpieces.tokenizer().to_str())  # as the prepared folder has it


@pytest.mark.parametrize("script", RECORDED)
def test_ids_are_those_of_the_original(tokenizer: Tokenizer, script: str) -> None:
    assert tokenizer.encode(RECORDED[script]["text"]).ids == RECORDED[script]["ids"]


COUNTED = st.one_of(
    st.sampled_from(["the", "unaffable", "Ürün", "naïve—café", "l'été…", "[MASK]", "\x7f", "\u200b", "中", "ﬁ", "a" * 101, "x1y2z3"]),
    st.text(st.characters(max_codepoint=0x17F), max_size=12),
    st.text("abcdeinorst -.'0159", max_size=12),
    st.text(max_size=3),
)  # fmt: skip


@settings(max_examples=examples(1_500))
@given(st.lists(COUNTED, max_size=6).map(" ".join))
def test_tokens_are_counted_as_the_tokenizer_makes_them(tokenizer: Tokenizer, text: str) -> None:
    text = normalize_text(text)
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    assert wordpieces.count(text) == len(ids)


# No two ways to put a text together out of these cost the same.
SCORES = [
    0.0, 0.0, 0.0, -1.37, -2.91, -3.13, -4.71, -5.23, -6.47, -7.61, -3.31, -8.89, -9.97, -2.03, -11.51,
]  # fmt: skip
PIECES = [
    "<s>", "</s>", "<unk>", "▁", "▁t", "e", "▁tea", "茶", "茶叶", "ea", "a", "at", "é", "tea", "🍵",
]  # fmt: skip


def by_the_package() -> Tokenizer:
    one = Tokenizer(models.Unigram(list(zip(PIECES, SCORES, strict=True)), unk_id=2))
    blanks = normalizers.Replace(Regex(" {2,}"), " ")
    one.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), blanks])
    one.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    return one


@settings(max_examples=examples(900))
@given(st.text(st.sampled_from("tea 茶叶é🍵x▁\t\u200b\u3000ｔ<s>"), max_size=24))
def test_pieces_by_their_hashes_are_the_pieces_of_the_package(text: str) -> None:
    encoded = [piece.encode() for piece in PIECES]
    ends = np.array([0, *accumulate(map(len, encoded))], np.uint32)
    own = Unigram(b"".join(encoded), ends, np.array(SCORES, np.float32), (0, 1), 2)
    assert own.encode(text) == [0, *by_the_package().encode(text).ids, 1]
