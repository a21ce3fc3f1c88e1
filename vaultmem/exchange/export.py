"""Exports memories, one page of lines at a time: every property, the content, the path of the file."""

from __future__ import annotations

import contextlib
import json
import os
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
from vaultmem.text.times import seconds
from vaultmem.text.values import remembers_last
from vaultmem.vault import identity
from vaultmem.vault.files import decode

if TYPE_CHECKING:
    from vaultmem.api.memory_vault import MemoryVault


PAGE = 2_000_000  # characters in one answer, approximately
LARGEST = 10**9  # bytes of a file to import
TOO_LARGE = "the file to import has more than 1 GB; import it in parts"
_PART = 1 << 20
_UNKNOWN = 1e18  # sorts after all known times


class _Place(NamedTuple):
    """Where a page begins: after this memory, in the order of all memories."""

    created: float
    id: str
    path: str


Page = TypedDict("Page", {
    "lines": list[str], "next": "str | None",  # the start of the next page; None at the end
    "left_out": int,  # files that cannot be read
})  # fmt: skip
"""One page of lines."""


def export(session: Session, params: Arguments) -> Page:
    """The page of lines after the place `after` ("[]" for the first page)."""
    shape = params.text("shape") or JSONL
    after = _after(params)
    lines: list[str] = []
    size = 0
    collection = session.store.collection
    archived = collection.archived() if params.flag("include_archived") else []
    every = _chosen(collection.live(), archived, params.scope(), params.text("category"))
    for place, entry in every:
        if after is not None and place <= after:
            continue
        try:
            lines.append(_line(session, entry, shape))
        except (NoteNotFoundError, OSError):  # just deleted by a person
            identity.check(session.store.vault)
            continue
        size += len(lines[-1])
        if size > PAGE:
            return {"lines": lines, "next": json.dumps(place), "left_out": 0}
    return {"lines": lines, "next": None, "left_out": len(collection.troubles())}


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
    raise UsageError('"after" must be "[]" or the "next" of a previous answer')


@remembers_last  # for the next page
def _chosen(
    live: list[Memory], archived: list[Memory], scope: str | None, category: str | None
) -> list[tuple[_Place, Memory]]:
    """The memories to export, oldest first."""
    places = [
        (_Place(_created(entry), entry.id, entry.path), entry)
        for entry in (*live, *archived)
        if (not scope or entry.scope == scope) and (not category or entry.category == category)
    ]
    return sorted(places, key=lambda pair: pair[0])


def _created(entry: Memory) -> float:
    """When a memory was written, according to its property: file times differ in another vault."""
    result = seconds(entry.properties.get("created_at"))
    return _UNKNOWN if result is None else result


def _line(session: Session, entry: Memory, shape: str) -> str:
    if shape != JSONL:
        return json_line(WRITERS[shape](session.record(entry)))
    data = session.store.bytes_of(entry.path)
    if data is None:
        raise NoteNotFoundError(f"there is no note {entry.path}")
    style = session.store.rules.page_style(entry.path)
    page = pages.read(style, decode(data)[0])
    inner = entry.path[len(session.store.folder) + 1 :]
    plain = Exchanged(entry.id, inner, entry.archived, page.properties, page.content)
    line = line_of(plain)
    if _comes_back(line, style, data):
        return line
    return line_of(plain._replace(file=File(style, data)))


def _comes_back(line: str, style: str, data: bytes) -> bool:
    """Whether the file can be recreated from the line, byte for byte."""
    try:
        back = memory(parse_line(line))
        return pages.compose(style, back.properties, back.content) == data
    except VaultmemError:
        return False


# Export and import for commands and programs: lines are exported by pages, files to
# import wait in the state folder.


def write_lines(
    vault: MemoryVault, on_left_out: Callable[[int], object], **which: object
) -> Iterator[str]:
    """Yield all lines of an export, without line ends. `on_left_out` is called with the number of files that cannot
    be exported."""
    after: object = "[]"
    while after is not None:
        page: Page = vault.ask("export", after=after, **which)
        yield from page["lines"]
        after = page["next"]
        if left_out := page["left_out"]:
            on_left_out(left_out)


def import_file(vault: MemoryVault, source: BinaryIO, **how: object) -> ImportReport:
    """Import the readable lines of a file of at most a gigabyte. It is copied to the state folder, where the agent
    finds it."""
    folder = make_private(vault.state.path(FOLDER))
    place = os.path.join(folder, f"{uuid.uuid4().hex}.jsonl")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        try:
            with os.fdopen(os.open(place, flags, 0o600), "wb") as file:
                file.writelines(_parts(source))
        except OSError as error:
            raise VaultmemError(f"{place} cannot be written: {error.strerror}") from error
        report: ImportReport = vault.ask("import", file=os.path.basename(place), **how)
        return report
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(place)


def _parts(source: BinaryIO) -> Iterator[bytes]:
    size = 0
    try:
        while part := source.read(_PART):
            size += len(part)
            if size > LARGEST:
                raise VaultmemError(TOO_LARGE)
            yield part
    except OSError as error:
        raise VaultmemError(f"the file to import cannot be read: {error.strerror}") from error
