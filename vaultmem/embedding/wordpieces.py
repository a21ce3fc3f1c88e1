"""The default model's WordPieces: its tokenizer, built from data/minilm/vocab.txt because the weights package has
none, and a token count, which a recall by words needs too (owner of tokenizers)."""

from __future__ import annotations

from functools import cache, lru_cache
from unicodedata import normalize

from vaultmem.light import TYPE_CHECKING
from vaultmem.text.values import file_text, lazy, normalize_text

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_LONGEST = 100  # longest word that is split, in characters
_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_REMEMBERED = 4_000  # cached counts


def tokenizer() -> Tokenizer:
    """The tokenizer of BERT's uncased models over our WordPieces, without truncation or padding."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    ids = {word: number for number, word in enumerate(read_words())}
    model = models.WordPiece(ids, unk_token="[UNK]", max_input_chars_per_word=_LONGEST)  # noqa: S106 - a token
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=True
    )
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", ids["[CLS]"]), ("[SEP]", ids["[SEP]"])],
    )
    tokenizer.decoder = decoders.WordPiece(prefix="##")
    tokenizer.add_special_tokens([*_SPECIAL])
    return tokenizer


def read_words() -> list[str]:
    """The WordPieces in the order of their ids."""
    return file_text("vaultmem", "data/minilm/vocab.txt").removesuffix("\n").split("\n")


# Accents are removed, and every punctuation mark is a token.
_PLAIN = {
    **{code: normalize("NFD", chr(code))[0] for code in range(0xC0, 0x180)},
    **dict.fromkeys(map(ord, "–—‘’“”…•«»¡¿"), "-"),
    **dict.fromkeys((*range(9), *range(11, 13), *range(14, 32), 127), ""),  # control characters
}
_PARTS = lazy(r"[a-z0-9]+|[^\sa-z0-9]")


@lru_cache(_REMEMBERED)
def count(text: str) -> int:
    """The number of tokens in a text, without special tokens. Text in the letters A to Z, with or without accents,
    does not need the tokenizer, which takes 30 ms to load."""
    plain = text if text.isascii() and text.isprintable() else text.translate(_PLAIN)
    if not plain.isascii() or any(mark in text for mark in _SPECIAL):
        return len(_shared_tokenizer().encode(normalize_text(text), add_special_tokens=False))
    return sum(map(_count_word, _PARTS.findall(plain.lower())))


@lru_cache(_REMEMBERED)
def _count_word(word: str) -> int:
    """The number of tokens in a word: its longest prefix that is a piece, then the longest of the rest, and so on; a
    word with an unknown part is one token."""
    vocabulary = _vocabulary()
    if len(word) == 1 or word in vocabulary or len(word) > _LONGEST:
        return 1
    pieces, start, mark = 0, 0, ""
    while start < len(word):
        end = len(word)
        while end > start and mark + word[start:end] not in vocabulary:
            end -= 1
        if end == start:
            return 1
        pieces, start, mark = pieces + 1, end, "##"
    return pieces


_vocabulary = cache(lambda: frozenset(read_words()))
_shared_tokenizer = cache(tokenizer)
