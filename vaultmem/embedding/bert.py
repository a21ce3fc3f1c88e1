"""Runs models of the BERT family with our own graph: fused operators, int8 matrices, one text at a time.

A single text needs no padding, costs less than its share of a batch, and always gets the same vector. The word table
stays in its file, from which a text's rows are read.
"""

from __future__ import annotations

import contextlib
import struct
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

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


# Reads the tensors of an ONNX file, and writes a graph as one. The package onnx does both but has 50 MB; the format is
# protocol buffers with a dozen fields (onnx.proto).

Array = NDArray[np.generic]
_IR_VERSION, _OPSET = 8, 17
_MICROSOFT = "com.microsoft"  # operators that onnxruntime adds
_TYPES = {"float32": 1, "int8": 3, "int32": 6, "int64": 7, "bool": 9}
_DTYPES = {number: np.dtype(name) for name, number in _TYPES.items()}
_GRAPH, _INITIALIZER = 7, 5  # fields of a model and of its graph


def read_numbers(data: memoryview) -> dict[str, Array]:
    """The arrays of a model by name, as views into `data`. Raises ValueError for anything that is not an ONNX file."""
    try:
        graph = next(part for field, part in _fields(data) if field == _GRAPH)
        tensors = (part for field, part in _fields(_bytes(graph)) if field == _INITIALIZER)
        return dict(_tensor(_bytes(tensor)) for tensor in tensors)
    except (StopIteration, IndexError, KeyError, TypeError) as error:
        raise ValueError(f"not the expected model: {error!r}") from error


def _tensor(data: memoryview) -> tuple[str, Array]:
    shape: list[int] = []
    kind, name, numbers = 0, "", memoryview(b"")
    for field, part in _fields(data):
        if field == 1 and isinstance(part, int):
            shape.append(part)
        elif field == 2 and isinstance(part, int):
            kind = part
        elif field == 8:
            name = bytes(_bytes(part)).decode()
        elif field == 9:
            numbers = _bytes(part)
    return name, np.frombuffer(numbers, _DTYPES[kind]).reshape(shape)


def _fields(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        width = {1: 8, 5: 4}.get(key & 7)
        if key & 7 == 0:
            value, at = _varint(data, at)
            yield key >> 3, value
            continue
        if width is None:
            width, at = _varint(data, at)
        yield key >> 3, data[at : at + width]
        at += width


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        shift, at = shift + 7, at + 1
        if byte < 128:
            return value, at


def _bytes(part: int | memoryview) -> memoryview:
    if isinstance(part, int):
        raise TypeError("a number where there should be bytes")
    return part


class GraphWriter:
    """Builds a graph, operator by operator. Methods return the name of what they add."""

    def __init__(self) -> None:
        self._nodes: list[bytes] = []
        self._constants: list[bytes] = []
        self._count = 0

    def constant(self, numbers: Array) -> str:
        """Add a constant tensor."""
        name = self._name()
        shape = b"".join(_number(1, size) for size in numbers.shape)
        kind = _number(2, _TYPES[numbers.dtype.name])
        raw = np.ascontiguousarray(numbers).tobytes()
        self._constants.append(shape + kind + _text(8, name) + _part(9, raw))
        return name

    def add(self, operator: str, inputs: Sequence[str], **attributes: float) -> str:
        """Add a standard operator with one output."""
        return self._add(operator, "", inputs, 1, attributes)[0]

    def add_own(self, operator: str, inputs: Sequence[str], **attributes: float) -> str:
        """Add an operator of onnxruntime with one output."""
        return self._add(operator, _MICROSOFT, inputs, 1, attributes)[0]

    def quantize(self, value: str) -> list[str]:
        """Quantize a value to bytes. Returns the names of the bytes, their scale and their zero point."""
        return self._add("DynamicQuantizeLinear", "", [value], 3, {})

    def model(self, takes: str, gives: str, width: int) -> bytes:
        """The bytes of the file; its input and output are rows of vectors of `width`."""
        shaped = _tensor_type(width)
        graph = b"".join(
            [
                *(_part(1, node) for node in self._nodes), _text(2, "text"),
                *(_part(5, constant) for constant in self._constants),
                _part(11, _text(1, takes) + shaped), _part(12, _text(1, gives) + shaped),
            ]
        )  # fmt: skip
        versions = {"": _OPSET, _MICROSOFT: 1}
        sets = [
            _part(8, _text(1, domain) + _number(2, version)) for domain, version in versions.items()
        ]
        return _number(1, _IR_VERSION) + _part(_GRAPH, graph) + b"".join(sets)

    def _add(
        self,
        operator: str,
        domain: str,
        inputs: Sequence[str],
        count: int,
        attributes: Mapping[str, float],
    ) -> list[str]:
        outputs = [self._name() for _ in range(count)]
        parts = [_text(1, name) for name in inputs] + [_text(2, name) for name in outputs]
        parts += [_text(4, operator)]
        parts += [_part(5, _attribute(name, value)) for name, value in attributes.items()]
        self._nodes.append(b"".join([*parts, _text(7, domain)]))
        return outputs

    def _name(self) -> str:
        self._count += 1
        return f"v{self._count}"


def _attribute(name: str, value: float) -> bytes:
    if isinstance(value, int):
        return _text(1, name) + _number(3, value) + _number(20, 2)
    return _text(1, name) + _key(2, 5) + struct.pack("<f", value) + _number(20, 1)


def _tensor_type(width: int) -> bytes:
    """The type of one text: float32 vectors of `width`, one per token."""
    sizes = [_number(1, 1), _text(2, "tokens"), _number(1, width)]
    shape = b"".join(_part(1, size) for size in sizes)
    return _part(2, _part(1, _number(1, _TYPES["float32"]) + _part(2, shape)))


def _key(field: int, wire: int) -> bytes:
    return _as_varint(field << 3 | wire)


def _number(field: int, value: int) -> bytes:
    return _key(field, 0) + _as_varint(value & (1 << 64) - 1)


def _part(field: int, data: bytes) -> bytes:
    return _key(field, 2) + _as_varint(len(data)) + data


def _text(field: int, text: str) -> bytes:
    return _part(field, text.encode())


def _as_varint(value: int) -> bytes:
    result = bytearray()
    while value > 127:
        result.append(value & 127 | 128)
        value >>= 7
    return bytes([*result, value])
