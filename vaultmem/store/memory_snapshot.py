"""The memory folder at one moment: which files are memories, which are copies, and who has which id."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cached_property
from operator import attrgetter

from vaultmem.core.conflicts import Places, conflicts, doubtful
from vaultmem.core.likeness import resemblance
from vaultmem.core.memory import Memory
from vaultmem.store.memory_file import Stored, folded, provisional, title_of

_COPY = 0.9  # resemblance from which "Plan 2.md" is a copy of the "Plan.md" beside it
_SUSPECT = re.compile(
    r" (?:\([0-9]{1,2}\)|[0-9]{1,2})\.md$|-[^/]*\.md$|onflict[^/]*$", re.IGNORECASE
)


def is_suspect(path: str) -> bool:
    """Whether the name of a file could be that of a sync conflict copy."""
    return _SUSPECT.search(path) is not None


class _Suspects(Places):
    """The files with such names, among all others."""

    def __init__(self, suspects: Iterable[str], exists: Callable[[str], str | None]) -> None:
        super().__init__(suspects)
        self._exists = exists

    def find(self, path: str, copy: str) -> str | None:
        """The path as it is in the vault, unless it is the copy itself or nothing."""
        found = self._exists(path)
        return None if found == copy else found


class Names:
    """The files of the memory folder, and what they are called without regard to case."""

    def __init__(self) -> None:
        self.files: dict[str, Stored] = {}
        self.paths: dict[str, str] = {}  # by their folded spelling
        self.titles: Counter[str] = Counter()  # of notes, folded

    def put(self, path: str, stored: Stored) -> None:
        """A file is there."""
        if path not in self.files:
            self.paths[folded(path)] = path
            if path[-3:].lower() == ".md":
                self.titles[folded(title_of(path))] += 1
        self.files[path] = stored

    def drop(self, path: str) -> Stored | None:
        """A file is gone; what it was."""
        stored = self.files.pop(path, None)
        if stored is not None:
            self.paths.pop(folded(path), None)
            if path[-3:].lower() == ".md":
                self.titles[folded(title_of(path))] -= 1
        return stored


def _with(
    memories: list[Memory], old: Memory | None, new: Memory | None, *, archived: bool
) -> list[Memory]:
    """A list by path without the one and with the other, as far as they belong in it."""
    if not any(each is not None and each.archived is archived for each in (old, new)):
        return memories
    found = list(memories)
    if old is not None and old.archived is archived:
        at = bisect_left(found, old.path, key=_path)
        del found[at]
    if new is not None and new.archived is archived:
        found.insert(bisect_left(found, new.path, key=_path), new)
    return found


_path = attrgetter("path")


class Snapshot:
    """All that follows from the files, each part worked out when it is first asked for."""

    def __init__(self, names: Names, suspects: Iterable[str]) -> None:
        self._names = names
        self._files = names.files
        self._suspects = sorted(suspects)

    def with_one(self, old: Memory | None, new: Memory | None) -> Snapshot | None:
        """The next moment, when one memory has come, gone or changed, and that changes no other; else None."""
        if self._suspects or not self._is_simple(old) or not self._is_simple(new):
            return None
        ids = self.ids
        if old is not None:
            ids.discard(old.id)
        if new is not None:
            if new.id in ids:
                return None
            ids.add(new.id)
        made = Snapshot(self._names, ())
        made.__dict__ |= {
            "copies": {},
            "ids": ids,
            "live": _with(self.live, old, new, archived=False),
            "archived": _with(self.archived, old, new, archived=True),
        }
        return made

    def _is_simple(self, memory: Memory | None) -> bool:
        return memory is None or memory.adopted

    @cached_property
    def ids(self) -> set[str]:
        """All ids; handed on from one moment to the next."""
        return {memory.id for memory in (*self.live, *self.archived)}

    @cached_property
    def by_path(self) -> dict[str, Memory]:
        """All of them, alive or archived."""
        return {memory.path: memory for memory in (*self.archived, *self.live)}

    @cached_property
    def copies(self) -> dict[str, str | None]:
        """Sync conflict copies, each with its original when that is there."""
        if not self._suspects:
            return {}
        places = _Suspects(self._suspects, self._spelled)
        found = {copy: self._spelled(original) for copy, original in conflicts(places).items()}
        for copy, original in doubtful(places):
            one, other = self._files[copy].memory, self._files[original].memory
            if one and other and original not in found and _is_copy(one, other):
                found[copy] = original
        return found

    @cached_property
    def archived(self) -> list[Memory]:
        """What was put away, by path."""
        return [memory for memory in self._memories if memory.archived]

    @cached_property
    def live(self) -> list[Memory]:
        """What lives, by path; each has an id of its own."""
        found = [memory for memory in self._memories if not memory.archived]
        owners = _owners(found)
        taken = {*owners, *(memory.id for memory in self.archived)}
        return [
            memory
            if memory.adopted and owners[memory.id] is memory
            else _with_own_id(memory, taken)
            for memory in found
        ]

    @cached_property
    def _memories(self) -> list[Memory]:
        copies = self.copies
        found = [
            stored.memory
            for path, stored in self._files.items()
            if stored.memory is not None and path not in copies
        ]
        return sorted(found, key=attrgetter("path"))

    @cached_property
    def by_title(self) -> dict[str, Memory]:
        """Those that live by their folded titles; of several the one whose path comes first."""
        return {folded(memory.title): memory for memory in reversed(self.live)}

    def _spelled(self, path: str) -> str | None:
        return path if path in self._files else self._names.paths.get(folded(path))


def _is_copy(one: Memory, other: Memory) -> bool:
    return one.hash == other.hash or resemblance(one.sketch, other.sketch) >= _COPY


def _owners(memories: Iterable[Memory]) -> dict[str, Memory]:
    """By id, the memory that keeps it: of several files the one in its category's folder, then the oldest."""
    owners: dict[str, Memory] = {}
    for memory in memories:
        if memory.adopted:
            known = owners.get(memory.id)
            owners[memory.id] = memory if known is None else min(known, memory, key=_seniority)
    return owners


def _seniority(memory: Memory) -> tuple[bool, float, float, str]:
    parts = memory.path.split("/")
    return memory.text("category") != parts[-2], memory.created, memory.mtime, memory.path


def _with_own_id(memory: Memory, taken: set[str]) -> Memory:
    number = 1
    while (own := provisional(memory.path, number)) in taken:
        number += 1
    taken.add(own)
    return (
        memory
        if not memory.adopted and own == memory.id
        else memory._replace(id=own, adopted=False)
    )
