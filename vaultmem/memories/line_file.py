"""A file of lines, read one by one whatever is in it: huge lines are passed over, broken ones told of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from vaultmem.core.exchange import JSONL, MEMORIES, Exchanged, memory, parsed
from vaultmem.core.exchange_shapes import READERS
from vaultmem.errors import VaultmemError

LONGEST = 16_000_000  # bytes of a line: a note of four megabytes, also in base64 and with its text
_PART = 1 << 16


class Line(NamedTuple):
    """One line that is not empty: a memory, or what is wrong with it."""

    number: int
    size: int
    memory: Exchanged | None
    trouble: str = ""


def lines_of(file: BinaryIO, shape: str) -> Iterator[Line]:
    """All lines but empty ones."""
    number = 0
    while data := file.readline(LONGEST + 1):
        number += 1
        if len(data) > LONGEST and not data.endswith(b"\n"):
            _pass_over(file)
            yield Line(number, 0, None, f"it is longer than {LONGEST:,} bytes")
            continue
        if number == 1:
            data = data.removeprefix(b"\xef\xbb\xbf")
        if data.strip():
            yield from _lines(number, data, shape)


def _pass_over(file: BinaryIO) -> None:
    """To the end of the line."""
    while part := file.readline(_PART):
        if part.endswith(b"\n"):
            return


def _lines(number: int, data: bytes, shape: str) -> Iterator[Line]:
    """What one line says: a memory, or all that a search of **memories** has answered (its section 4.2)."""
    try:
        found = parsed(data.decode())
    except UnicodeDecodeError:
        yield Line(number, len(data), None, "it is not UTF-8")
        return
    except VaultmemError as error:
        yield Line(number, len(data), None, str(error))
        return
    results = found.get("results") if shape == MEMORIES and "content" not in found else None
    if not isinstance(results, list):
        yield _line(number, len(data), found, shape)
        return
    for each in results:
        if isinstance(each, dict):
            yield _line(number, len(data) // len(results), each, shape)
        else:
            yield Line(number, 0, None, "one of its results is not an object of JSON")


def _line(number: int, size: int, found: dict[str, object], shape: str) -> Line:
    try:
        made = memory(found) if shape == JSONL else READERS[shape](found)
    except VaultmemError as error:
        return Line(number, size, None, str(error))
    return Line(number, size, made)
