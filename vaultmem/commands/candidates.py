"""What a shell completes: notes, memories, assistants, tags and pending items as the index and pending.md know them.
Answers within a keystroke: no model, no agent, no look at the notes themselves."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress

from vaultmem import config
from vaultmem.index.catalog import Catalog, below, spoken
from vaultmem.index.state import State
from vaultmem.memories.access import ASSISTANTS
from vaultmem.text.values import ARCHIVE, ENTRIES
from vaultmem.vault.places import page_path

Candidate = tuple[str, str]  # a value, and what it means
_MOST = 200  # more than anybody reads; the next letter finds others
_SHORT_ID = 8
_LONGEST = 60  # characters of what a value means
_ITEM = re.compile(r"^- \[.\] (.+?) \^(vm-[0-9a-z]+)\s*$", re.MULTILINE)
_NOTES = """SELECT n.title, f.path FROM files f JOIN notes n ON n.id = f.id WHERE n.excluded = 0
    AND NOT (f.path >= ? AND f.path < ?) AND (n.title LIKE ? ESCAPE '!' OR f.path LIKE ? ESCAPE '!')
    ORDER BY n.title LIMIT ?"""
_MEMORIES = """SELECT json_extract(n.properties, '$.id'), n.title FROM files f JOIN notes n ON n.id = f.id
    WHERE f.path >= ? AND f.path < ? AND NOT (f.path >= ? AND f.path < ?)
    AND (n.title LIKE ? ESCAPE '!' OR json_extract(n.properties, '$.id') LIKE ? ESCAPE '!')
    ORDER BY f.mtime_ns DESC LIMIT ?"""
_AGENTS = "SELECT DISTINCT json_extract(properties, '$.agent') FROM notes WHERE properties LIKE '%\"agent\"%'"
_TAGS = "SELECT DISTINCT tag FROM tags WHERE folded LIKE ? ESCAPE '!' ORDER BY folded LIMIT ?"


def notes(word: str, vault: str | None) -> Iterator[Candidate]:
    """Notes by their titles, or by their paths where these are typed."""
    start = _like(word)
    rows = _rows(vault, _NOTES, lambda folder: (*below(f"{folder}/{ENTRIES}"), start, start, _MOST))
    seen: set[str] = set()
    for title, path in rows:
        if title.lower().startswith(word.lower()) and title not in seen:
            seen.add(title)
            yield title, os.path.dirname(path)
        elif path.lower().startswith(word.lower()):
            yield path, ""


def memories(word: str, vault: str | None) -> Iterator[Candidate]:
    """Memories by id, with their titles, the newest first; by their titles where one is typed."""
    start = _like(word)
    rows = _rows(
        vault,
        _MEMORIES,
        lambda folder: (*below(folder), *below(f"{folder}/{ENTRIES}"), start, start, _MOST),
    )
    for id_, title in rows:
        if id_ and str(id_).startswith(word):
            yield str(id_)[:_SHORT_ID], title[:_LONGEST]
        elif id_:
            yield title, ""


def archived(word: str, vault: str | None) -> Iterator[Candidate]:
    """What lies in the archive, by its titles."""
    with suppress(OSError):
        root = config.choose_vault(vault)
        folder = f"{root}/{config.load(root).text('memory_folder')}/{ARCHIVE}"
        for name in sorted(os.listdir(folder)):
            if name.endswith(".md") and name.lower().startswith(word.lower()):
                yield name[:-3], ""


def pending(word: str, vault: str | None) -> Iterator[Candidate]:
    """The items of pending.md, by their ids."""
    root = config.choose_vault(vault)
    own = config.load(root)
    path = page_path(own.text("memory_folder"), own.text("pending.path"))
    with suppress(OSError), open(f"{root}/{path}", encoding="utf-8", errors="replace") as file:
        for text, id_ in _ITEM.findall(file.read()):
            if id_.startswith(word):
                yield id_, text[:_LONGEST]


def assistants(word: str, vault: str | None) -> Iterator[Candidate]:
    """Assistants: those that are known, and those that wrote a memory."""
    writers = [row[0] for row in _rows(vault, _AGENTS, lambda _: ()) if isinstance(row[0], str)]
    names = sorted({*ASSISTANTS, *writers})
    return ((name, "") for name in names if name.startswith(word))


def tags(word: str, vault: str | None) -> Iterator[Candidate]:
    """Tags of notes and memories."""
    return ((row[0], "") for row in _rows(vault, _TAGS, lambda _: (_like(word.lower()), _MOST)))


def files(word: str, *, folders: bool) -> Iterator[Candidate]:
    """Folders, and files where they are wanted, as the file system has them."""
    head, name = os.path.split(word)
    with suppress(OSError):
        for each in sorted(os.scandir(os.path.expanduser(head) or "."), key=lambda one: one.name):
            is_printed = each.name.startswith(name) and (
                name.startswith(".") or not each.name.startswith(".")
            )
            if is_printed and (each.is_dir() or not folders):
                yield os.path.join(head, each.name) + ("/" if each.is_dir() else ""), ""


def _like(word: str) -> str:
    """What begins so, in SQL."""
    return re.sub("([!%_])", r"!\1", word) + "%"


def _rows(
    vault: str | None, statement: str, values: Callable[[str], Sequence[object]]
) -> list[tuple[str, str]]:
    """Rows of the catalog; none where there is no index, or a damaged one."""
    root = config.choose_vault(vault)
    generation = State(root).generation()
    if generation is None:
        return []
    with spoken(), closing(Catalog(f"{generation}/catalog.db")) as catalog:
        own = values(config.load(root).text("memory_folder"))
        return catalog.db.execute(statement, own).fetchall()
