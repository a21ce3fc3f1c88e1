"""From the settings `embedding.model` and `recall.reranker` to a model."""

from __future__ import annotations

import difflib
import hashlib
import json
import math
import re
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from vaultmem import plugins
from vaultmem.embedding import minilm, multilingual
from vaultmem.embedding.embed import Embedder, TextEmbedder, as_model_error, quiet_fastembed
from vaultmem.errors import ModelError
from vaultmem.index import refuse_if_off
from vaultmem.light import TYPE_CHECKING, NamedTuple, Protocol, cast
from vaultmem.paths import read_json, replace_private, sha256_of
from vaultmem.text.values import file_text, normalize_text

if TYPE_CHECKING:
    from fastembed import TextEmbedding
    from fastembed.rerank.cross_encoder import TextCrossEncoder

    from vaultmem.adapter.services import Settings

DEFAULT, MULTILINGUAL = "default", "multilingual"


class Model(NamedTuple):
    """An embedding model on this machine; `key` separates the vectors of different models."""

    key: str  # a short folder name; different weights, tokenizer or pooling give a different key
    name: str  # as fastembed or the user calls it
    dimensions: int
    folder: str  # its files: the tokenizer, or files derived from the weights
    sha256: str  # of the weights
    weights: str = "model.onnx"  # path of the weights in the folder
    pooling: str = ""  # how token vectors are pooled: mean, cls, none; "" when fastembed knows
    mean: float = minilm.MEAN  # mean cosine of unrelated texts
    across: float = 0.0  # the same for texts in two scripts; 0 if not measured


def resolve_model(setting: str, models_dir: str) -> Model:
    """The model that the setting names, ready to load; fast if it was prepared before.

    `default` is the model installed with vaultmem, an absolute path (or one with ~) is a folder of the user's, and
    anything else is a name that fastembed knows, which may be downloaded now. Raises ModelError with advice.
    """
    models = Path(models_dir)
    if setting == DEFAULT:
        weights, folder = minilm.prepare(models)
        key, sha = model_key(minilm.NAME, minilm.SHA256), minilm.SHA256
        return Model(key, minilm.NAME, minilm.DIMENSIONS, str(folder), sha, str(weights))
    if setting == MULTILINGUAL:
        return _multilingual(models)
    refuse_if_off(setting)
    path = _as_folder(setting)
    return folder_model(path, models) if path else named_model(setting, models)


def _multilingual(models: Path) -> Model:
    one = multilingual
    if not one.is_ready(models):
        raise ModelError(
            "The multilingual model is not installed. Run: vaultmem model use multilingual"
        )
    key, folder = model_key(one.NAME, one.SHA256), str(one.folder_in(models))
    return Model(
        key, one.NAME, one.DIMENSIONS, folder, one.SHA256, one.WEIGHTS, "", one.MEAN, one.ACROSS
    )


def model_key(name: str, *parts: str) -> str:
    """A readable folder name that differs whenever a part differs."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.rsplit("/", 1)[-1].lower()).strip("-")[:32]
    digest = hashlib.blake2b("\n".join(parts).encode(), digest_size=6).hexdigest()
    return f"{plain or 'model'}-{digest}"


def _as_folder(setting: str) -> Path | None:
    try:
        path = Path(setting).expanduser()
    except RuntimeError as error:
        raise ModelError(f"The model folder {setting} names no known home folder.") from error
    return path if path.is_absolute() else None


# Embedding models named by the user: a folder, or a model that fastembed can fetch.

WEIGHTS = ("model.onnx", "onnx/model.onnx", "model_optimized.onnx", "onnx/model_quantized.onnx")
TOKENIZER = ("tokenizer.json", "tokenizer_config.json")
POOLING = "1_Pooling/config.json"  # the file of sentence-transformers


class Fetching(Protocol):
    """The members of fastembed's model classes that we use and their common base does not declare."""

    model_description: object

    def download_model(
        self, model: object, cache_dir: str, *, local_files_only: bool
    ) -> str | Path: ...


def folder_model(folder: Path, models: Path) -> Model:
    """The model in a folder of the user's, used in place. Raises ModelError."""
    weights = next((name for name in WEIGHTS if (folder / name).is_file()), None)
    if weights is None:
        raise ModelError(
            f"{folder} is not an embedding model: it has none of {', '.join(WEIGHTS)}."
        )
    lacking = [name for name in TOKENIZER if not (folder / name).is_file()]
    if lacking:
        raise ModelError(f"{folder} is not an embedding model: it lacks {', '.join(lacking)}.")
    record = models / f"measured-{_fingerprint(folder, (weights, *TOKENIZER, POOLING))}.json"
    return _read_record(record) or _record(record, _inspect(folder, weights))


def named_model(name: str, models: Path) -> Model:
    """A model that fastembed knows, downloaded into `models` the first time. Raises ModelError."""
    record = models / f"{model_key('fetched', name.lower())}.json"
    recorded = _read_record(record)
    if recorded and (Path(recorded.folder) / recorded.weights).is_file():
        return recorded
    text_embedding = quiet_fastembed()
    described = {model["model"]: model for model in text_embedding.list_supported_models()}
    proper = {known_name.lower(): known_name for known_name in described}.get(name.lower())
    if proper is None:
        raise ModelError(_unknown(name, list(described)))
    folder = _fetch(text_embedding, proper, models)
    weights = str(described[proper]["model_file"])
    digest = sha256_of(folder / weights)
    key = model_key(proper, digest)
    result = Model(key, proper, int(described[proper]["dim"]), str(folder), digest, weights)
    return _record(record, result)


def _fetch(text_embedding: type[TextEmbedding], name: str, models: Path) -> Path:
    advice = "Check the connection, or set embedding.model to `default` or a local folder."
    with as_model_error(f"The embedding model {name} cannot be downloaded", advice):
        running = text_embedding(name, cache_dir=str(models), lazy_load=True)
        inner = cast("Fetching", running.model)
        # The second call finds the files of the first and returns their path.
        return Path(
            inner.download_model(inner.model_description, str(models), local_files_only=True)
        )


def _unknown(name: str, names: list[str]) -> str:
    by_end = {model.rsplit("/", 1)[-1].lower(): model for model in names}
    close = difflib.get_close_matches(name.rsplit("/", 1)[-1].lower(), by_end, n=3, cutoff=0.4)
    meant = ", ".join(by_end[end] for end in close) or "sentence-transformers/all-MiniLM-L6-v2"
    return (
        f"fastembed knows no embedding model {name!r}. Near names: {meant}. "
        "Set embedding.model to one of them, to `default`, to `off`, or to an absolute folder."
    )


def _inspect(folder: Path, weights: str) -> Model:
    """Load the weights once to determine the output. Returns the model."""
    with as_model_error(f"{folder / weights} cannot be loaded", "Replace it by an intact copy."):
        import onnxruntime

        session = onnxruntime.InferenceSession(
            str(folder / weights), providers=["CPUExecutionProvider"]
        )
        shape = session.get_outputs()[0].shape
    dimensions = shape[-1] if shape else None
    if not isinstance(dimensions, int) or len(shape) not in (2, 3):
        raise ModelError(f"{folder / weights} gives no text vectors (output shape {shape}).")
    pooling = "none" if len(shape) == 2 else _pooling(folder)
    digest = sha256_of(folder / weights)
    tokenizers = [sha256_of(folder / name) for name in TOKENIZER]
    key = model_key(folder.name, digest, pooling, *tokenizers)
    return Model(key, str(folder), dimensions, str(folder), digest, weights, pooling)


def _pooling(folder: Path) -> str:
    """The pooling: mean, as for most models, unless the folder says to use the first token."""
    return "cls" if read_json(folder / POOLING).get("pooling_mode_cls_token") is True else "mean"


def _fingerprint(folder: Path, names: tuple[str, ...]) -> str:
    """A digest that changes when one of the files does, computed without reading them."""
    lines = [str(folder)]
    for name in names:
        path = folder / name
        if path.is_file():
            status = path.stat()
            lines.append(f"{name} {status.st_size} {status.st_mtime_ns}")
    seen = "\n".join(lines).encode("utf-8", "surrogateescape")
    return hashlib.blake2b(seen, digest_size=6).hexdigest()


def _read_record(record: Path) -> Model | None:
    try:
        return Model(**read_json(record))
    except TypeError:  # there is none, or of an earlier form
        return None


def _record(record: Path, model: Model) -> Model:
    """Save a model's record, with the mean cosine of unrelated texts. Returns the model."""
    import numpy as np

    texts = file_text("vaultmem", "data/unrelated.txt").splitlines()
    vectors = Embedder(model).embed(texts)
    cosines = (vectors @ vectors.T)[~np.eye(len(texts), dtype=bool)]
    model = model._replace(mean=min(0.99, round(float(cosines.mean()), 3)))
    try:
        record.parent.mkdir(parents=True, exist_ok=True)
        replace_private(str(record), json.dumps(model._asdict()))
    except OSError as error:
        raise ModelError(
            f"{record.parent} cannot be written: {error.strerror}. Make the folder writable."
        ) from error
    return model


def open_embedder(settings: Settings, folder: str, threads: int, setting: str = "") -> TextEmbedder:
    """The embedder of the settings, or of another value of embedding.model; `folder` holds the records of models."""
    if settings.text("embedding.base_url") and not setting:
        return plugins.models().open_embedder(settings, folder)
    return Embedder(resolve_model(setting or settings.text("embedding.model"), folder), threads)


# Cross-encoders, which score a question and a text together, from a folder or by their fastembed name.

RERANKER_WEIGHTS = (
    "model.onnx",
    "onnx/model.onnx",
    "onnx/model_quantized.onnx",
    "model_quantized.onnx",
)
RERANKER_NEEDS = ("tokenizer.json", "tokenizer_config.json", "config.json")
LONGEST = 4_000  # letters of a text; the model reads 512 tokens
_registering = threading.Lock()  # fastembed keeps its list of extra models in one place per process


class Reranker:
    """The cross-encoder that the setting `recall.reranker` names. Loads on first use. Thread-safe."""

    def __init__(self, setting: str, models: str, threads: int) -> None:
        self.setting = setting
        self._models, self._threads = models, threads
        self._lock = threading.Lock()
        self._running: TextCrossEncoder | None = None
        self._trouble: ModelError | None = None

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        """How well each text answers the question: one logit per text, in their order. Raises ModelError."""
        running = self._load()
        pieces = [normalize_text(text[:LONGEST]) for text in texts]
        with _usable_reranker(self.setting):
            results = [
                float(score) for score in running.rerank(normalize_text(question[:LONGEST]), pieces)
            ]
        if len(results) != len(pieces) or any(map(math.isnan, results)):
            raise ModelError(f"The reranker {self.setting} gives no number for some texts.")
        return results

    def _load(self) -> TextCrossEncoder:
        with self._lock:
            if self._trouble is not None:
                # Do not look for a missing model at every question.
                raise self._trouble
            if self._running is None:
                try:
                    self._running = _open_reranker(self.setting, self._models, self._threads)
                except ModelError as error:
                    self._trouble = error
                    raise
            return self._running


def _open_reranker(setting: str, models: str, threads: int) -> TextCrossEncoder:
    quiet_fastembed()
    with _usable_reranker(setting):
        from fastembed.rerank.cross_encoder import TextCrossEncoder

        folder = Path(setting).expanduser()
        is_own = folder.is_absolute()
        return TextCrossEncoder(
            _register_reranker(folder) if is_own else setting, cache_dir=models, threads=threads,
            specific_model_path=str(folder) if is_own else None, providers=["CPUExecutionProvider"],
        )  # fmt: skip


def _register_reranker(folder: Path) -> str:
    from fastembed.common.model_description import ModelSource
    from fastembed.rerank.cross_encoder import TextCrossEncoder

    weights = next((name for name in RERANKER_WEIGHTS if (folder / name).is_file()), None)
    lacking = [name for name in RERANKER_NEEDS if not (folder / name).is_file()]
    if weights is None or lacking:
        missing = ", ".join(lacking) if weights else " or ".join(RERANKER_WEIGHTS)
        raise ModelError(f"{folder} is not a reranker: it lacks {missing}.")
    name = f"vaultmem/{hashlib.blake2b(f'{folder}/{weights}'.encode(), digest_size=8).hexdigest()}"
    with _registering:
        if all(known["model"] != name for known in TextCrossEncoder.list_supported_models()):
            TextCrossEncoder.add_custom_model(
                model=name, sources=ModelSource(hf=name), model_file=weights
            )
    return name


def _usable_reranker(setting: str) -> AbstractContextManager[None]:
    return as_model_error(
        f"The reranker {setting} cannot be used",
        "Set recall.reranker to another one, to a local folder, or to `off`.",
    )
