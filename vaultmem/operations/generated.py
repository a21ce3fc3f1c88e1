"""Pages of the memory folder that vaultmem writes whole: never over a person's note, and never through a link."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from vaultmem.errors import VaultmemError
from vaultmem.memories.store import MemoryStore
from vaultmem.notes import pages
from vaultmem.notes.places import OUTLINE
from vaultmem.paths import read_json, replace_private
from vaultmem.progress import logger
from vaultmem.vault import conflicts, files, write
from vaultmem.vault.files import decode
from vaultmem.vault.walk import Entry as File

BY = "vaultmem"  # the property `generated` of notes that are never read back
ABOUT = "vaultmem writes this page; changes made here are lost."
_STATE_FILE = "pages.json"  # in the state folder
_LONGEST_COPY = 10_000_000  # bytes
log = logger("vaultmem.memories")


def head(style: str) -> str:
    """The beginning of a generated page."""
    return f"generated:: {BY}\n\n" if style == OUTLINE else f"---\ngenerated: {BY}\n---\n\n"


def is_generated(data: bytes) -> bool:
    """Whether it is a generated page, in either style: a folder can be open in both editors."""
    text = decode(data)[0]
    styles = ("frontmatter", OUTLINE)
    return any(pages.read(style, text).properties.get("generated") == BY for style in styles)


def is_taken(store: MemoryStore, path: str) -> bool:
    """Whether a person's note, or something that is not a file, has this name."""
    full = f"{store.vault}/{path}"
    if not os.path.lexists(full):
        return False
    with contextlib.suppress(OSError, ValueError):
        return not is_generated(files.content(full, _LONGEST_COPY)[0])
    return True


def of_others(store: MemoryStore, every: Iterable[File]) -> Iterator[tuple[str, str, float]]:
    """Generated pages whose content differs from what this machine wrote: path, content, and since when."""
    last = read_json(store.state.path(_STATE_FILE))
    for file in every:
        data = store.bytes_of(file.raw, _LONGEST_COPY)
        if data and last.get(file.path) != files.digest(data) and is_generated(data):
            page = pages.read(store.rules.page_style(file.path), decode(data)[0])
            yield file.path, page.content, max(file.mtime_ns, file.ctime_ns) / 1e9


def keep(store: MemoryStore, texts: Mapping[str, str], lacking: Collection[str] = ()) -> int:
    """Write pages where there is nothing, or over generated ones, if this machine has something new to say, a merge
    left both versions of one, or a sync program left a version that is `lacking` something. Returns how many."""
    last = read_json(store.state.path(_STATE_FILE))
    before, written = dict(last), 0
    try:
        for path, text in texts.items():
            data = text.encode("utf-8", "replace")
            is_merged = b"\n<<<<<<< " in (store.bytes_of(path, _LONGEST_COPY) or b"")
            is_whole = os.path.lexists(f"{store.vault}/{path}") and not is_merged
            if last.get(path) != files.digest(data) or not is_whole or path in lacking:
                written += write.put(store.vault, path, _replace_generated(path, data))
                last[path] = files.digest(data)
    finally:
        if last != before:
            with contextlib.suppress(OSError):  # then a page is rewritten once more than needed
                replace_private(store.state.path(_STATE_FILE), json.dumps(last))
    return written


def _replace_generated(path: str, data: bytes) -> Callable[[bytes | None], bytes]:
    def replace(before: bytes | None) -> bytes:
        if before is not None and not is_generated(before):
            raise VaultmemError(f"{path} is a note of yours and stays as it is")
        return data

    return replace


def clear_copies(store: MemoryStore, path: str) -> None:
    """Remove the copies that sync programs left beside it: they hold nothing new."""
    _clear(store, conflicts.copies_of(store.vault, path), conflicts.clear)


def put_away(store: MemoryStore, paths: Iterable[str]) -> None:
    """Archive pages that are no longer generated."""
    _clear(store, paths, lambda vault, path, folder, _: conflicts.archive_file(vault, path, folder))


def _clear(
    store: MemoryStore, paths: Iterable[str], clear: Callable[[str, str, str, bytes], object]
) -> None:
    for path in paths:
        try:
            data = files.content(f"{store.vault}/{path}", _LONGEST_COPY)[0]
            if is_generated(data):
                clear(store.vault, path, store.folder, data)
        except (OSError, ValueError, VaultmemError) as error:  # retried by the next job
            log.warning("%s: %s", path, error)
