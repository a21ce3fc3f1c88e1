"""Reads the tensors of an ONNX file, and writes a graph as one. The package onnx does both but takes 50 MB; the
format is protocol buffers with a dozen fields (onnx.proto)."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

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
