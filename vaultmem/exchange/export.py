"""Memories going out, a page of lines at a time: every property, the content, where the file lies."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from typing import BinaryIO

from vaultmem.errors import NoteNotFoundError, UsageError, VaultmemError
from vaultmem.exchange.importing import FOLDER, ImportReport
from vaultmem.exchange.lines import (
    JSONL,
    WRITERS,
    Exchanged,
    File,
    json_line,
    line_of,
    memory,
    parse_line,
)
from vaultmem.light import TYPE_CHECKING, NamedTuple, TypedDict
from vaultmem.memories.arguments import Arguments
from vaultmem.memories.model import Memory
from vaultmem.memories.store import Session
from vaultmem.notes import pages
from vaultmem.paths import make_private
from vaultmem.progress import Silent, heard_by
from vaultmem.text.times import seconds
from vaultmem.vault.files import decode

if TYPE_CHECKING:
    from vaultmem.api.memory_vault import MemoryVault
    from vaultmem.progress import Progress


PAGE = 2_000_000  # characters of lines in one answer, more or less
_UNKNOWN = 1e18  # after all that are known


class _Place(NamedTuple):
    """Where a page begins: behind this memory in the order of all."""

    created: float
    id: str
    path: str


Page = TypedDict("Page", {
    "lines": list[str], "next": "str | None",  # where the next page begins; None at the end
    "left_out": int,  # files of which nothing can be told
})  # fmt: skip
"""Some lines."""


def export(session: Session, params: Arguments) -> Page:
    """The lines `after` a place ("[]" for the first ones)."""
    shape = params.text("shape") or JSONL
    after = _after(params)
    lines: list[str] = []
    size = 0
    for place, each in _chosen(session, params):
        if after is not None and place <= after:
            continue
        try:
            lines.append(_line(session, each, shape))
        except (NoteNotFoundError, OSError):  # a person has deleted it this very moment
            continue
        size += len(lines[-1])
        if size > PAGE:
            return {"lines": lines, "next": json.dumps(place), "left_out": 0}
    return {"lines": lines, "next": None, "left_out": len(session.store.collection.troubles())}


def _after(params: Arguments) -> _Place | None:
    try:
        value = json.loads(params.needed("after") if params.has("after") else "[]")
    except (ValueError, RecursionError):
        value = None
    match value:
        case []:
            return None
        case [float() | int() as created, str() as own, str() as path]:
            return _Place(float(created), own, path)
    raise UsageError('"after" must be "[]", or what "next" was')


def _chosen(session: Session, params: Arguments) -> list[tuple[_Place, Memory]]:
    """What is wanted, the oldest first."""
    collection = session.store.collection
    result = list(collection.live())
    if params.flag("include_archived"):
        result += collection.archived()
    scope, category = params.scope(), params.text("category")
    places = [
        (_Place(_created(each), each.id, each.path), each)
        for each in result
        if (not scope or each.scope == scope) and (not category or each.category == category)
    ]
    return sorted(places, key=lambda pair: pair[0])


def _created(each: Memory) -> float:
    """When it was written, by its own word: the time of a file is another one in another vault."""
    result = seconds(each.properties.get("created_at"))
    return _UNKNOWN if result is None else result


def _line(session: Session, each: Memory, shape: str) -> str:
    if shape != JSONL:
        return json_line(WRITERS[shape](session.record(each)))
    data = session.store.bytes_of(each.path)
    if data is None:
        raise NoteNotFoundError(f"there is no note {each.path}")
    style = session.store.rules.page_style(each.path)
    page = pages.read(style, decode(data)[0])
    inner = each.path[len(session.store.folder) + 1 :]
    plain = Exchanged(each.id, inner, each.archived, page.properties, page.content)
    line = line_of(plain)
    if _comes_back(line, style, data):
        return line
    return line_of(plain._replace(file=File(style, data)))


def _comes_back(line: str, style: str, data: bytes) -> bool:
    """Whether the file can be rewritten from the line, to the last byte."""
    try:
        back = memory(parse_line(line))
        return pages.compose(style, back.properties, back.content) == data
    except VaultmemError:
        return False


# Memories out of a vault and into another, as a command or a program asks for it: lines go by pages, files wait in
# the state folder.


def write_lines(
    vault: MemoryVault, on_left_out: Callable[[int], object], **which: object
) -> Iterator[str]:
    """All lines that are wanted, without their ends. `on_left_out` gets the number of files that cannot be exported."""
    after: object = "[]"
    while after is not None:
        page: Page = vault.ask("export", after=after, **which)
        yield from page["lines"]
        after = page["next"]
        if left_out := page["left_out"]:
            on_left_out(left_out)


def import_file(
    vault: MemoryVault, source: BinaryIO, progress: Progress | None = None, **how: object
) -> ImportReport:
    """Take in what can be read of a file. A copy waits in the state folder, where the sync agent finds it."""
    folder = make_private(vault.state.path(FOLDER))
    place = os.path.join(folder, f"{uuid.uuid4().hex}.jsonl")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(place, flags, 0o600), "wb") as file:
            shutil.copyfileobj(source, file)
        with heard_by(progress or Silent()):
            report: ImportReport = vault.ask("import", file=os.path.basename(place), **how)
            return report
    except OSError as error:
        raise VaultmemError(f"what is to be imported cannot be read: {error.strerror}") from error
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(place)
