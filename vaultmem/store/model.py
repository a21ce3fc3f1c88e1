"""From the setting `embedding.model` to files that fastembed can run."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import NamedTuple

from vaultmem.errors import ModelError
from vaultmem.store import minilm

DEFAULT = "default"
OFF = "off"


class Model(NamedTuple):
    """One embedding model on this machine; `key` keeps the vectors of two models apart."""

    key: str  # short, fit for a folder name; other weights, tokenizer or pooling give another key
    name: str  # as fastembed or the user calls it
    dimensions: int
    folder: str  # holds the weights, tokenizer.json, tokenizer_config.json
    sha256: str  # of the weights
    weights: str = "model.onnx"  # path of the weights inside the folder
    pooling: str = ""  # how token vectors become one: mean, cls, none; "" when fastembed knows


def resolve_model(setting: str, models_dir: str) -> Model:
    """The model that the setting names, ready to load; cheap when it was ready before.

    `default` is the model that is installed with vaultmem, an absolute path (or one with ~) is a
    folder of one's own, all else is a name that fastembed knows and may be downloaded now. Raises
    ModelError with what to do.
    """
    models = Path(models_dir)
    if setting == DEFAULT:
        folder = minilm.prepare(models)
        key = model_key(minilm.NAME, minilm.SHA256)
        return Model(key, minilm.NAME, minilm.DIMENSIONS, str(folder), minilm.SHA256)
    if setting == OFF:
        raise ModelError("Search by meaning is switched off. Set embedding.model to `default`.")
    # The two rarer ways cost more imports than most runs want to pay.
    from vaultmem.store import other_models

    path = _as_folder(setting)
    if path is None:
        return other_models.named_model(setting, models)
    return other_models.folder_model(path, models)


def model_key(name: str, *parts: str) -> str:
    """A readable folder name that differs whenever one of the parts differs."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.rsplit("/", 1)[-1].lower()).strip("-")[:32]
    digest = hashlib.blake2b("\n".join(parts).encode(), digest_size=6).hexdigest()
    return f"{plain or 'model'}-{digest}"


def _as_folder(setting: str) -> Path | None:
    try:
        path = Path(setting).expanduser()
    except RuntimeError as error:
        raise ModelError(f"The model folder {setting} names no known home folder.") from error
    return path if path.is_absolute() else None
