"""Memories whose files a person has removed: the history has their last bytes, so they are found and come back like
those of the archive."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from vaultmem.memories.collection import chosen
from vaultmem.memories.memory_file import Reader
from vaultmem.memories.model import Memory
from vaultmem.memories.store import Session
from vaultmem.vault import pages
from vaultmem.vault.files import decode

MOST_COMMITS = 1_000  # in which they are searched


class Removed(NamedTuple):
    """A file that was removed by hand, as it was."""

    path: str
    data: bytes
    memory: Memory | None  # None: it was no memory

    def content(self, style: Callable[[str], str]) -> str:
        """What it said."""
        return pages.read(style(self.path), decode(self.data)[0]).content


def removed(session: Session) -> list[Removed]:
    """All that is known of and not back yet, the last removed first; nothing where there is no history."""
    desk = session.desk
    if desk.history.trouble():
        return []
    reader = Reader(desk.folder, desk.rules.page_style)
    there = {one.id for one in (*desk.collection.live(), *desk.collection.archived())}
    results = []
    for path, data, at in desk.history.removed(MOST_COMMITS):
        memory = reader.parsed(path, data, at)
        if (memory.id if memory else path) in there or desk.collection.exists(path):
            continue
        there.add(memory.id if memory else path)
        if memory is None or session.sees(memory):
            results.append(Removed(path, data, memory and memory._replace(archived=True)))
    return results


def find(session: Session, text: str) -> Removed | None:
    """The one that is meant by an id, the beginning of one, a title or a path."""
    every = removed(session)
    memories = {one.path: one for one in every if one.memory}
    memory = chosen(text, session.desk.folder, [one.memory for one in every if one.memory])
    return memories[memory.path] if memory else _called(text, every)


def _called(text: str, every: Iterable[Removed]) -> Removed | None:
    """What was no memory, by its path or name."""
    wanted = text.strip().removeprefix("[[").removesuffix("]]").lower().removesuffix(".md")
    for one in every:
        name = one.path.lower().removesuffix(".md")
        if wanted in (name, name.rpartition("/")[2]):
            return one
    return None
