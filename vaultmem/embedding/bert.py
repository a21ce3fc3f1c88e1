"""Runs models of the BERT family with our own graph: fused operators, int8 matrices, one text at a time.

A single text needs no padding, costs less than its share of a batch, and always gets the same vector. The word table
stays in its file, from which a text's rows are read.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vaultmem.embedding.onnx_file import GraphWriter
from vaultmem.light import NamedTuple, Protocol
from vaultmem.paths import replace_private

Floats = NDArray[np.float32]
BYTES, EXACT = "int8.onnx", "exact.onnx"  # the two variants; a prepared folder has one of them
FAITHFUL = 0.97  # least cosine between the two; lower if a processor's additions overflow
_TAKES = "rows"
_SAMPLES = (
    "Mr Ansah services the boiler every November.",
    "The tenancy of the flat in Lisbon ends in March; the deposit is held by the agent until the keys are back.",
    "Use a write-ahead log so that a reader never waits for a writer, and keep transactions short. "
    * 4,
)


class Linear(NamedTuple):
    """An int8 matrix (inputs × outputs) with a scale per column, and a bias."""

    matrix: NDArray[np.int8]
    scales: Floats
    bias: Floats

    def exact(self) -> Floats:
        """The matrix as float32."""
        return self.matrix.astype(np.float32) * self.scales


class Norm(NamedTuple):
    """A layer normalization."""

    weight: Floats
    bias: Floats


class Layer(NamedTuple):
    """One transformer layer."""

    attention: Linear  # query, key and value side by side
    output: Linear
    after_attention: Norm
    inner: Linear
    outer: Linear
    after_feed: Norm


class Bert(NamedTuple):
    """The weights of a model."""

    rows: Callable[[NDArray[np.int64]], Floats]  # of the word table
    positions: Floats  # plus the embedding of the only token type
    norm: Norm
    layers: list[Layer]
    heads: int
    epsilon: float = 1e-12


def side_by_side(parts: list[Linear]) -> Linear:
    """Several matrices with the same inputs, joined into one."""
    return Linear(*(np.concatenate(arrays, axis=-1) for arrays in zip(*parts, strict=True)))


def graph(model: Bert, *, exact: bool = False) -> bytes:
    """The bytes of an ONNX file that maps rows of the word table to token vectors."""
    writer = GraphWriter()
    attention, times = (_exact_attention, _exact_product) if exact else (_attention, _product)
    how = {"epsilon": model.epsilon}

    def added(before: str, value: str, part: Linear, norm: Norm) -> str:
        product = times(writer, value, part)
        numbers = [writer.constant(weights) for weights in (*norm, part.bias)]
        return writer.add_own("SkipLayerNormalization", [before, product, *numbers], **how)

    norm = [writer.constant(weights) for weights in model.norm]
    now = writer.add("LayerNormalization", [_TAKES, *norm], axis=-1, **how)
    for layer in model.layers:
        mixed = attention(writer, now, layer.attention, model.heads)
        now = added(now, mixed, layer.output, layer.after_attention)
        bias = writer.constant(layer.inner.bias)
        inner = writer.add_own("BiasGelu", [times(writer, now, layer.inner), bias])
        now = added(now, inner, layer.outer, layer.after_feed)
    return writer.model(_TAKES, now, model.positions.shape[1])


def _attention(writer: GraphWriter, value: str, part: Linear, heads: int) -> str:
    data, scale, zero = writer.quantize(value)
    matrix, bias = writer.constant(part.matrix), writer.constant(part.bias)
    zeros = writer.constant(np.zeros(part.scales.shape, np.int8))
    inputs = [data, matrix, bias, scale, writer.constant(part.scales), "", zero, zeros]
    return writer.add_own("QAttention", inputs, num_heads=heads)


def _exact_attention(writer: GraphWriter, value: str, part: Linear, heads: int) -> str:
    inputs = [value, writer.constant(part.exact()), writer.constant(part.bias)]
    return writer.add_own("Attention", inputs, num_heads=heads)


def _product(writer: GraphWriter, value: str, part: Linear) -> str:
    zeros = writer.constant(np.zeros(part.scales.shape, np.int8))
    matrix, scales = writer.constant(part.matrix), writer.constant(part.scales)
    return writer.add_own("DynamicQuantizeMatMul", [value, matrix, scales, zeros])


def _exact_product(writer: GraphWriter, value: str, part: Linear) -> str:
    return writer.add("MatMul", [value, writer.constant(part.exact())])


# From a text to its token ids, with the model's special tokens.
Tokenize = Callable[[str], list[int]]


class Session(Protocol):
    """The part of onnxruntime's session that is used."""

    def run(self, names: None, inputs: dict[str, Floats]) -> list[Floats]:
        """The outputs."""


Opener = Callable[[str | bytes], Session]  # opens a session for a file or its content


class RunningBert:
    """A model in memory. `prefixes` are put before questions and before all other texts."""

    def __init__(
        self,
        model: Bert,
        tokenize: Tokenize,
        session: Session,
        longest: int,
        prefixes: tuple[str, str] = ("", ""),
    ) -> None:
        self.longest = longest
        self._rows, self._positions = model.rows, model.positions
        self._tokenize, self._prefixes, self._session = tokenize, prefixes, session

    def passages(self, texts: list[str]) -> Iterable[NDArray[np.generic]]:
        """One vector per text: the mean over its tokens."""
        return [self._mean(self._prefixes[1] + text) for text in texts]

    def question(self, text: str) -> Iterable[NDArray[np.generic]]:
        """The vector of a question, in an iterable of one."""
        return [self._mean(self._prefixes[0] + text)]

    def _mean(self, text: str) -> NDArray[np.generic]:
        ids = self._tokenize(text)
        if len(ids) > self.longest:
            ids = [*ids[: self.longest - 1], ids[-1]]  # keeping the end token
        rows = self._rows(np.array(ids)) + self._positions[: len(ids)]
        mean: NDArray[np.generic] = self._session.run(None, {_TAKES: rows[None]})[0][0].mean(axis=0)
        return mean


def open_graph(folder: Path, model: Bert, tokenize: Tokenize, opener: Opener) -> Session:
    """A session of the variant that suits this machine, determined once: int8 halves the work on most processors, but
    is slower or wrong on some."""
    for cached in (folder / name for name in (BYTES, EXACT)):
        if cached.is_file():
            try:
                return opener(str(cached))
            except Exception:  # noqa: BLE001 - damaged, in whatever words: it is made again
                cached.unlink(missing_ok=True)
    forms = {BYTES: graph(model), EXACT: graph(model, exact=True)}
    sessions = {name: opener(data) for name, data in forms.items()}
    chosen = BYTES if _is_better(model, tokenize, sessions) else EXACT
    with contextlib.suppress(OSError):  # without room on the disk, it is built again next time
        replace_private(str(folder / chosen), forms[chosen], sync=True)
    return sessions[chosen]


def _is_better(model: Bert, tokenize: Tokenize, sessions: dict[str, Session]) -> bool:
    """Whether int8 gives nearly the same vectors in less time."""
    longest = len(model.positions)
    vectors, seconds = {}, {}
    for name, session in sessions.items():
        running = RunningBert(model, tokenize, session, longest)
        rows = np.asarray(running.passages([*_SAMPLES]), np.float32)
        vectors[name] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        seconds[name] = min(_seconds(running) for _ in range(3))
    cosines = (vectors[BYTES] * vectors[EXACT]).sum(axis=1)
    return bool(cosines.min() >= FAITHFUL) and seconds[BYTES] < seconds[EXACT]


def _seconds(running: RunningBert) -> float:
    begun = time.thread_time()
    running.passages([*_SAMPLES])
    return time.thread_time() - begun
