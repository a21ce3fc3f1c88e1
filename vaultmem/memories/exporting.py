"""Memories going out, a page of lines at a time: every property, the content, where the file lies."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

from vaultmem.core.exchange import (
    JSONL,
    Exchanged,
    File,
    json_line,
    memory,
    parsed,
    written,
)
from vaultmem.core.exchange_shapes import WRITERS
from vaultmem.core.memory import Memory
from vaultmem.core.stamps import seconds
from vaultmem.errors import NoteNotFoundError, UsageError, VaultmemError
from vaultmem.memories.asked import Asked
from vaultmem.memories.desk import Session
from vaultmem.memories.reports import Report
from vaultmem.store import pages
from vaultmem.store.vault import decode

PAGE = 2_000_000  # characters of lines in one answer, more or less
_UNKNOWN = 1e18  # after all that are known


class _Place(NamedTuple):
    """Where a page begins: behind this memory in the order of all."""

    created: float
    id: str
    path: str


def export(session: Session, asked: Asked) -> Report:
    """The lines `after` a place ("[]" for the first ones): "lines", "next" (None at the end), and of how many files
    nothing can be told, "left_out"."""
    shape = asked.text("shape") or JSONL
    after = _after(asked)
    lines: list[str] = []
    size = 0
    for place, each in _chosen(session, asked):
        if after is not None and place <= after:
            continue
        try:
            lines.append(_line(session, each, shape))
        except (NoteNotFoundError, OSError):  # a person has deleted it this very moment
            continue
        size += len(lines[-1])
        if size > PAGE:
            return {"lines": lines, "next": json.dumps(place), "left_out": 0}
    return {"lines": lines, "next": None, "left_out": len(session.desk.collection.troubles())}


def _after(asked: Asked) -> _Place | None:
    try:
        given = json.loads(asked.needed("after"))
    except (ValueError, RecursionError):
        given = None
    match given:
        case []:
            return None
        case [float() | int() as created, str() as own, str() as path]:
            return _Place(float(created), own, path)
    raise UsageError('"after" must be "[]", or what "next" was')


def _chosen(session: Session, asked: Asked) -> Iterator[tuple[_Place, Memory]]:
    """What is asked for, the oldest first."""
    collection = session.desk.collection
    found = list(collection.live())
    if asked.flag("include_archived"):
        found += collection.archived()
    scope, category = asked.scope(), asked.text("category")
    places = [
        (_Place(_created(each), each.id, each.path), each)
        for each in found
        if (not scope or each.scope == scope) and (not category or each.category == category)
    ]
    return iter(sorted(places, key=lambda pair: pair[0]))


def _created(each: Memory) -> float:
    """When it was written, by its own word: the time of a file is another one in another vault."""
    found = seconds(each.properties.get("created_at"))
    return _UNKNOWN if found is None else found


def _line(session: Session, each: Memory, shape: str) -> str:
    if shape != JSONL:
        return json_line(WRITERS[shape](session.record(each)))
    data = session.desk.bytes_of(each.path)
    if data is None:
        raise NoteNotFoundError(f"there is no note {each.path}")
    style = session.desk.rules.page_style(each.path)
    page = pages.read(style, decode(data)[0])
    inner = each.path[len(session.desk.folder) + 1 :]
    plain = Exchanged(each.id, inner, each.archived, page.properties, page.content)
    line = written(plain)
    if _comes_back(line, style, data):
        return line
    return written(plain._replace(file=File(style, data)))


def _comes_back(line: str, style: str, data: bytes) -> bool:
    """Whether the file can be written anew from the line, to the last byte."""
    try:
        back = memory(parsed(line))
        return pages.compose(style, back.properties, back.content) == data
    except VaultmemError:
        return False
