"""Embeds texts offline, with our own graph or fastembed, in batches sorted by length."""

from __future__ import annotations

import gc
import os
import threading
from abc import ABC, abstractmethod
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from vaultmem import machine
from vaultmem.embedding import minilm, multilingual
from vaultmem.errors import ModelError
from vaultmem.light import TYPE_CHECKING, Protocol
from vaultmem.notes.blocks import count_tokens
from vaultmem.text.values import normalize_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from types import ModuleType

    import numpy as np
    from fastembed import TextEmbedding
    from numpy.typing import NDArray

    from vaultmem.embedding.bert import Session
    from vaultmem.embedding.models import Model

# onnxruntime (1.29 and newer) sends telemetry as soon as it is imported, and keeps a machine id in the home folder,
# unless these are set first (its pull requests 27379 and 29843).
for _switch in ("ORT_DISABLE_TELEMETRY", "ORT_TELEMETRY_DISABLED", "HF_HUB_DISABLE_TELEMETRY"):
    os.environ[_switch] = "1"

# About rows times longest text of one batch: as fast as larger ones, with constant memory.
BATCH_TOKENS = 512
LETTERS_PER_TOKEN = 64  # the model never reads beyond this; avoids copying megabytes of text
MOST_QUESTIONS = 64  # cached, as questions are often repeated with other filters or for `why`
OWN = {model.NAME: model for model in (minilm, multilingual)}  # models that our own graph runs
_registering = threading.Lock()  # fastembed keeps its list of extra models in one place per process


class TextEmbedder(ABC):
    """Turns texts into normalised vectors of one model. Thread-safe. Raises ModelError if it cannot."""

    model: Model
    is_local = True  # whether texts stay in this process

    def __init__(self) -> None:
        self._remembered = lru_cache(MOST_QUESTIONS)(self._question)

    @abstractmethod
    def is_loaded(self) -> bool:
        """Whether it can embed without loading first."""

    def load(self) -> None:
        """Make the next question quick, whichever it is: an earlier one needs no model."""
        if not self.is_loaded():
            self._question("")

    @abstractmethod
    def unload(self) -> None:
        """Free the model's memory; the next use loads it again."""

    @abstractmethod
    def batches(self, texts: Sequence[str]) -> Iterator[tuple[list[int], NDArray[np.float32]]]:
        """Yield indices into `texts` with their vectors, batch by batch, so that a caller can store each batch and
        stop in between."""

    @abstractmethod
    def _question(self, text: str) -> NDArray[np.float32]:
        """The vector of a question, which some models treat differently from other texts."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of the texts: an array of float32, one row per text, in their order."""
        import numpy as np

        vectors = np.empty((len(texts), self.model.dimensions), dtype=np.float32)
        for indices, rows in self.batches(texts):
            vectors[indices] = rows
        return vectors

    def query(self, text: str) -> NDArray[np.float32]:
        """The vector of a question."""
        vector = self._remembered(text)
        vector.setflags(write=False)
        return vector


class Embedder(TextEmbedder):
    """A model in this process. Loads on first use."""

    def __init__(self, model: Model, threads: int = 2) -> None:
        super().__init__()
        self.model = model
        self._threads = threads
        self._loading = threading.Lock()
        self._loaded: _Running | None = None

    def is_loaded(self) -> bool:
        """Whether the model is in memory."""
        return self._loaded is not None

    def unload(self) -> None:
        """Free the model; a batch in progress is finished first."""
        with self._loading:
            if self._loaded is None:
                return
            self._loaded = None
        gc.collect()  # the objects holding the session form a cycle
        machine.release_memory()

    def batches(self, texts: Sequence[str]) -> Iterator[tuple[list[int], NDArray[np.float32]]]:
        """As in TextEmbedder; short texts first."""
        if not texts:
            return
        running = self._running()
        longest = running.longest
        limit = longest * LETTERS_PER_TOKEN
        lengths = [count_tokens(text[:limit]) for text in texts]
        for indices in cut_batches(lengths, longest):
            batch = [normalize_text(texts[index][:limit]) for index in indices]
            yield indices, normalize_rows(running.passages(batch))
        machine.release_memory()

    def _question(self, text: str) -> NDArray[np.float32]:
        running = self._running()
        cut = normalize_text(text[: running.longest * LETTERS_PER_TOKEN])
        vector: NDArray[np.float32] = normalize_rows(running.question(cut))[0]
        return vector

    def _running(self) -> _Running:
        with self._loading:
            if self._loaded is None:
                self._loaded = _load(self.model, self._threads)
                machine.release_memory()
            return self._loaded


class _Running(Protocol):
    """A model in memory that reads at most `longest` tokens of a text."""

    longest: int

    def passages(self, texts: list[str]) -> Iterable[NDArray[np.generic]]:
        """A vector for each text, in their order."""

    def question(self, text: str) -> Iterable[NDArray[np.generic]]:
        """The one vector of a question."""


class _ByFastembed:
    def __init__(self, running: TextEmbedding) -> None:
        cut = getattr(running.model, "tokenizer", None)
        settings = cut.truncation if cut is not None else None
        self.longest = int(settings["max_length"]) if settings else BATCH_TOKENS
        self._running = running

    def passages(self, texts: list[str]) -> Iterable[NDArray[np.generic]]:
        """Vectors of texts."""
        return self._running.passage_embed(texts, batch_size=len(texts))

    def question(self, text: str) -> Iterable[NDArray[np.generic]]:
        """The vector of a question."""
        return self._running.query_embed(text)


def cut_batches(lengths: Sequence[int], longest: int) -> Iterator[list[int]]:
    """Indices by ascending length in tokens, in batches so that rows times longest row stays within BATCH_TOKENS.

    `longest` is where the model truncates a text. A text longer than a batch gets one of its own.
    """
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * min(lengths[index], longest) > BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def quiet_fastembed() -> type[TextEmbedding]:
    """fastembed's TextEmbedding, with its log lines kept off the terminal."""
    try:
        from loguru import logger

        logger.disable("fastembed")
        from fastembed import TextEmbedding
    except ImportError as error:
        raise ModelError(
            f"this model is run by fastembed, which cannot be imported ({error}). Add the extra `models`: "
            "pip install 'vaultmem[models]', or uv tool install '.[models]' in the checkout of vaultmem"
        ) from error
    return TextEmbedding


def _own(model: Model) -> ModuleType | None:
    """The module that runs the model if it is one of ours, else None. Under its fastembed name it would have other
    weights."""
    builtin = OWN.get(model.name)
    return builtin if builtin and model.sha256 == builtin.SHA256 else None


def _load(model: Model, threads: int) -> _Running:
    problem = f"The embedding model {model.name} cannot be loaded"
    with as_model_error(
        problem, "Install it again, or set embedding.model to another one or to `off`."
    ):
        builtin = _own(model)
        if builtin is None:
            return _ByFastembed(_open(model, threads))
        from vaultmem.embedding.bert import RunningBert, open_graph

        folder, weights = Path(model.folder), Path(model.folder) / model.weights
        numbers, tokenize = builtin.read(weights), builtin.tokenizer(weights)
        session = open_graph(folder, numbers, tokenize, lambda file: _session(file, threads))
        return RunningBert(numbers, tokenize, session, builtin.MAX_TOKENS, builtin.PREFIXES)


def _open(model: Model, threads: int) -> TextEmbedding:
    text_embedding = quiet_fastembed()
    from fastembed.common.preprocessor_utils import load_tokenizer
    from fastembed.text.onnx_embedding import OnnxTextEmbedding

    running = text_embedding(
        _register(text_embedding, model) if model.pooling else model.name,
        cache_dir=model.folder,  # unused, but without it fastembed creates a folder of its own
        specific_model_path=model.folder,
        providers=["CPUExecutionProvider"],
        lazy_load=True,
    )
    inner = running.model
    if isinstance(inner, OnnxTextEmbedding):
        # fastembed takes no session options; a lazy model accepts a session that is ready.
        inner.model = _session(str(Path(model.folder) / model.weights), threads)
        inner.tokenizer, inner.special_token_to_id = load_tokenizer(Path(model.folder))
    return running


def _session(weights: str | bytes, threads: int) -> Session:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False  # it holds the memory of the largest batch, no faster
    # Spinning threads waste processor time and gain nothing here.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    providers = ["CPUExecutionProvider"]
    session: Session = onnxruntime.InferenceSession(weights, options, providers=providers)
    return session


def _register(text_embedding: type[TextEmbedding], model: Model) -> str:
    """Register a model folder with fastembed. Returns the name under which it runs."""
    from fastembed.common.model_description import ModelSource, PoolingType

    kinds = {"mean": PoolingType.MEAN, "cls": PoolingType.CLS, "none": PoolingType.DISABLED}
    name = f"vaultmem/{model.key}"
    with _registering:
        if all(known["model"] != name for known in text_embedding.list_supported_models()):
            text_embedding.add_custom_model(
                model=name,
                pooling=kinds[model.pooling],
                normalization=True,
                sources=ModelSource(hf=name),  # required by fastembed, never used with a folder
                dim=model.dimensions,
                model_file=model.weights,
            )
    return name


def normalize_rows(rows: Iterable[NDArray[np.generic]]) -> NDArray[np.float32]:
    """The rows scaled to length 1, which not every fastembed model or service does."""
    import numpy as np

    vectors: NDArray[np.float32] = np.asarray(list(rows), dtype=np.float32)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors /= np.maximum(lengths, np.float32(1e-12))
    return vectors


def vector_of(numbers: object) -> NDArray[np.float32]:
    """A vector from a JSON list of numbers. Raises ValueError or TypeError for anything else."""
    import numpy as np

    vector: NDArray[np.float32] = np.asarray(numbers, dtype=np.float32)
    if vector.ndim != 1 or not len(vector) or not np.isfinite(vector).all():
        raise ValueError("not a vector")
    return vector


@contextmanager
def as_model_error(problem: str, advice: str) -> Iterator[None]:
    """Turn any exception of fastembed, its downloads, tokenizers or onnxruntime into a ModelError."""
    try:
        yield
    except ModelError:
        raise
    except Exception as error:
        raise ModelError(f"{problem}: {first_line(error)}. {advice}") from error


def first_line(error: BaseException) -> str:
    """The message of another library's error, short enough for one line."""
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0][:200].rstrip(".")
