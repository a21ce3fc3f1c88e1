"""A cross-encoder, which scores a question and a text together, from a folder or by its fastembed name."""

from __future__ import annotations

import hashlib
import math
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from vaultmem.embedding.embed import as_model_error, quiet_fastembed
from vaultmem.errors import ModelError
from vaultmem.light import TYPE_CHECKING
from vaultmem.text.values import normalize_text

if TYPE_CHECKING:
    from fastembed.rerank.cross_encoder import TextCrossEncoder

WEIGHTS = ("model.onnx", "onnx/model.onnx", "onnx/model_quantized.onnx", "model_quantized.onnx")
NEEDED = ("tokenizer.json", "tokenizer_config.json", "config.json")
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
        with _usable(self.setting):
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
                    self._running = _open(self.setting, self._models, self._threads)
                except ModelError as error:
                    self._trouble = error
                    raise
            return self._running


def _open(setting: str, models: str, threads: int) -> TextCrossEncoder:
    quiet_fastembed()
    with _usable(setting):
        from fastembed.rerank.cross_encoder import TextCrossEncoder

        folder = Path(setting).expanduser()
        is_own = folder.is_absolute()
        return TextCrossEncoder(
            _register(folder) if is_own else setting, cache_dir=models, threads=threads,
            specific_model_path=str(folder) if is_own else None, providers=["CPUExecutionProvider"],
        )  # fmt: skip


def _register(folder: Path) -> str:
    """Register a model folder with fastembed. Returns the name under which it runs."""
    from fastembed.common.model_description import ModelSource
    from fastembed.rerank.cross_encoder import TextCrossEncoder

    weights = next((name for name in WEIGHTS if (folder / name).is_file()), None)
    lacking = [name for name in NEEDED if not (folder / name).is_file()]
    if weights is None or lacking:
        missing = ", ".join(lacking) if weights else " or ".join(WEIGHTS)
        raise ModelError(f"{folder} is not a reranker: it lacks {missing}.")
    name = f"vaultmem/{hashlib.blake2b(f'{folder}/{weights}'.encode(), digest_size=8).hexdigest()}"
    with _registering:
        if all(known["model"] != name for known in TextCrossEncoder.list_supported_models()):
            TextCrossEncoder.add_custom_model(
                model=name, sources=ModelSource(hf=name), model_file=weights
            )
    return name


def _usable(setting: str) -> AbstractContextManager[None]:
    return as_model_error(
        f"The reranker {setting} cannot be used",
        "Set recall.reranker to another one, to a local folder, or to `off`.",
    )
