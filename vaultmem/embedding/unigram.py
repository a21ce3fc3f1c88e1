"""A unigram tokenizer: splits a text into the most probable sequence of word pieces.

Only the hashes of the pieces are kept. As strings in a trie, as in the package tokenizers, the multilingual model's
250,000 pieces take 280 MB; hashes and ids take 5.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from tokenizers import Regex, normalizers

Codes = NDArray[np.uint64]  # code points
MARK = "▁"  # stands before each word
UNKNOWN_COST = 10.0  # below the score of any piece
_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd, and its bits look random


class Unigram:
    """SentencePiece's unigram model, as XLM-RoBERTa uses it. `around` are the special tokens before and after a
    text."""

    def __init__(self, pieces: bytes, ends: NDArray[np.uint32], scores: NDArray[np.float32], around: tuple[int, int],
                 unknown: int) -> None:  # fmt: skip
        """`ends` holds the offsets in `pieces` (UTF-8) at which each piece begins, and the end of the last one."""
        letters = np.frombuffer(pieces, np.uint8)
        before = np.concatenate(([0], np.cumsum(letters & 0xC0 != 0x80)))  # characters up to a byte
        places = before[ends]
        lengths = np.diff(places)
        self._longest = int(lengths.max())
        codes, hashes = _codes(pieces.decode()), np.zeros(len(lengths), np.uint64)
        for length, row in enumerate(_hashes(codes, self._longest), 1):
            some = lengths == length
            hashes[some] = row[places[:-1][some]]
        order = np.argsort(hashes)
        self._hashes, self._ids = hashes[order], order.astype(np.int32)
        self._scores = scores
        self._unknown, self._around = unknown, around
        self._unknown_score = float(self._scores.min()) - UNKNOWN_COST
        blanks = normalizers.Replace(Regex(" {2,}"), " ")
        self._normal = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), blanks])

    def encode(self, text: str) -> list[int]:
        """The token ids of a text, with the special tokens around it."""
        words = self._normal.normalize_str(text).replace(" ", MARK)
        if words and not words.startswith(MARK):
            words = MARK + words
        return [self._around[0], *self._best(words), self._around[1]]

    def _best(self, words: str) -> list[int]:
        """The ids of the pieces with the highest total score; a run of unknown characters is one unknown piece."""
        best = [0.0] + [-math.inf] * len(words)  # the best score up to a position
        back = [(0, 0)] * (len(words) + 1)  # the start of its last piece, and its id
        at = 0
        for start, end, piece, score in self._matches(words):
            while at < start:  # all pieces ending at the next position are known
                at += 1
                self._pass(at, best, back)
            if (total := best[start] + score) > best[end]:
                best[end], back[end] = total, (start, piece)
        for place in range(at + 1, len(words) + 1):
            self._pass(place, best, back)
        result: list[int] = []
        place = len(words)
        while place:
            place, piece = back[place]
            if not (piece == self._unknown and result and result[-1] == piece):
                result.append(piece)
        return result[::-1]

    def _pass(self, place: int, best: list[float], back: list[tuple[int, int]]) -> None:
        """Continue with an unknown piece if no single character is a piece."""
        total = best[place - 1] + self._unknown_score
        if total > best[place]:
            best[place], back[place] = total, (place - 1, self._unknown)

    def _matches(self, words: str) -> list[tuple[int, int, int, float]]:
        """The start, end, id and score of each piece within a word, by start and shortest first."""
        codes = _codes(words)
        marks = np.append(np.flatnonzero(codes == ord(MARK)), len(codes))
        room = marks[np.searchsorted(marks, np.arange(len(codes)), "right")] - np.arange(len(codes))
        starts, ends, numbers = [], [], []
        for length, hashes in enumerate(_hashes(codes, self._longest), 1):
            fits = np.flatnonzero(room[: len(hashes)] >= length)
            if not len(fits):
                break
            piece_hashes = hashes[fits]
            places = np.minimum(np.searchsorted(self._hashes, piece_hashes), len(self._hashes) - 1)
            is_known = self._hashes[places] == piece_hashes
            starts.append(fits[is_known])
            ends.append(fits[is_known] + length)
            numbers.append(self._ids[places[is_known]])
        if not starts:
            return []
        begin, end, piece = (np.concatenate(arrays) for arrays in (starts, ends, numbers))
        order = np.lexsort((end, begin))
        columns = begin, end, piece, self._scores[piece].astype(np.float64)
        return list(zip(*(column[order].tolist() for column in columns), strict=True))


def _codes(text: str) -> Codes:
    return np.frombuffer(text.encode("utf-32-le", "replace"), np.uint32).astype(np.uint64)


def _hashes(codes: Codes, longest: int) -> list[Codes]:
    """For each length, the hashes of all substrings of that length."""
    result = [codes * _FACTOR]
    while len(result) < min(longest, len(codes)):
        length = len(result)
        result.append((result[-1][:-1] ^ codes[length:]) * _FACTOR)
    return result
