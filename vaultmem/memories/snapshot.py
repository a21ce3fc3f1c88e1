"""The memory folder at one moment: which files are memories, which are copies, and who has which id."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cached_property
from operator import attrgetter

from vaultmem.memories.memory_file import Stored, fold, title_of
from vaultmem.memories.model import Memory, provisional
from vaultmem.text.similarity import SIZE, resemblance
from vaultmem.text.values import lazy
from vaultmem.vault.conflicts import Places, conflicts, doubtful

_COPY = 0.9  # resemblance from which "Plan 2.md" is a copy of the "Plan.md" beside it
_SUSPECT = lazy(r" (?:\([0-9]{1,2}\)|[0-9]{1,2})\.md$|-[^/]*\.md$|onflict[^/]*$", re.IGNORECASE)


def is_suspect(path: str) -> bool:
    """Whether the name of a file could be that of a sync conflict copy."""
    return _SUSPECT.search(path) is not None


class _Suspects(Places):
    def __init__(self, suspects: Iterable[str], exists: Callable[[str], str | None]) -> None:
        super().__init__(suspects)
        self._exists = exists
        # Folded paths: nothing but a file at one of them could change what is found.
        self.looked_up: set[str] = set()

    def find(self, path: str, copy: str) -> str | None:
        """The path as it is in the vault, unless it is the copy itself or nothing."""
        self.looked_up.add(fold(path))
        match = self._exists(path)
        return None if match == copy else match


class Names:
    """The files of the memory folder, and what they are called without regard to case."""

    def __init__(self) -> None:
        self.files: dict[str, Stored] = {}
        self.paths: dict[str, str] = {}  # by their folded spelling
        self.titles: Counter[str] = Counter()  # of notes, folded

    def put(self, path: str, stored: Stored) -> None:
        """Add a file, or update it."""
        if path not in self.files:
            self.paths[fold(path)] = path
            if path[-3:].lower() == ".md":
                self.titles[fold(title_of(path))] += 1
        self.files[path] = stored

    def drop(self, path: str) -> Stored | None:
        """Remove a file, and return it."""
        stored = self.files.pop(path, None)
        if stored is not None:
            self.paths.pop(fold(path), None)
            if path[-3:].lower() == ".md":
                self.titles[fold(title_of(path))] -= 1
        return stored


_path = attrgetter("path")


class Snapshot:
    """All that follows from the files, each part worked out when it is first asked for. Its lists never change."""

    def __init__(self, names: Names, suspects: Iterable[str]) -> None:
        self._names = names
        self._files = names.files
        self._suspects = sorted(suspects)

    def take_in(self, path: str, old: Memory | None, new: Memory | None) -> bool:
        """Take in one file that has changed, where that changes nothing of others; False where all is to be computed
        again."""
        if self._bears_on_copies(path) or not (self._is_simple(old) and self._is_simple(new)):
            return False
        if old is None and new is None:
            return True  # no memory
        if old is not None:
            self.ids.discard(old.id)
        if new is not None:
            if new.id in self.ids:
                return False
            self.ids.add(new.id)
        known = self.__dict__
        if any(each is not None and each.archived for each in (old, new)):
            known["archived"] = _with(self.archived, path, new)
        else:
            live, contested = self._living
            known["_living"] = _with(live, path, new), contested
        for name in ("_memories", "by_title", "sketches"):
            known.pop(name, None)
        return True

    def _is_simple(self, memory: Memory | None) -> bool:
        return memory is None or (memory.adopted and memory.id not in self._living[1])

    def _bears_on_copies(self, path: str) -> bool:
        """Whether a file could make another a copy, or no copy any more, or be one itself."""
        copies, originals = self._copies_and_originals
        if path in copies or fold(path) in originals:
            return True
        if not is_suspect(path):
            return False
        alone = _Suspects([path], self._spelling)
        result = conflicts(alone) or doubtful(alone)
        originals.update(alone.looked_up)
        return bool(result)

    @cached_property
    def ids(self) -> set[str]:
        """All ids."""
        return {memory.id for memory in (*self.live, *self.archived)}

    def at(self, path: str) -> Memory | None:
        """The memory at a path, alive or archived."""
        for memories in (self.live, self.archived):
            place = bisect_left(memories, path, key=_path)
            if memories[place : place + 1] and memories[place].path == path:
                return memories[place]
        return None

    @cached_property
    def copies(self) -> dict[str, str | None]:
        """Sync conflict copies, each with its original when that is there."""
        return self._copies_and_originals[0]

    @cached_property
    def _copies_and_originals(self) -> tuple[dict[str, str | None], set[str]]:
        """The copies, and the folded paths of files that would make others copies, or no copies any more."""
        places = _Suspects(self._suspects, self._spelling)
        results = {copy: self._spelling(original) for copy, original in conflicts(places).items()}
        for copy, original in doubtful(places):
            one, other = self._files[copy].memory, self._files[original].memory
            if one and other and original not in results and _is_copy(one, other):
                results[copy] = original
        return results, places.looked_up

    @cached_property
    def archived(self) -> list[Memory]:
        """The archived memories, by path."""
        return [memory for memory in self._memories if memory.archived]

    @property
    def live(self) -> list[Memory]:
        """The living memories, by path; ids are unique."""
        return self._living[0]

    @cached_property
    def _living(self) -> tuple[list[Memory], set[str]]:
        """The living memories, and the ids that several files claim."""
        results = [memory for memory in self._memories if not memory.archived]
        owners = _owners(results)
        used = {*owners, *(memory.id for memory in self.archived)}
        live, contested = list[Memory](), set[str]()
        for memory in results:
            if memory.adopted and owners[memory.id] is memory:
                live.append(memory)
                continue
            live.append(_with_own_id(memory, used))
            if memory.adopted:
                contested.add(memory.id)
        return live, contested

    @cached_property
    def _memories(self) -> list[Memory]:
        copies = self.copies
        results = [
            stored.memory
            for path, stored in self._files.items()
            if stored.memory is not None and path not in copies
        ]
        return sorted(results, key=attrgetter("path"))

    @cached_property
    def by_title(self) -> dict[str, Memory]:
        """The living memories by folded title; of several the one whose path comes first."""
        return {fold(memory.title): memory for memory in reversed(self.live)}

    @cached_property
    def sketches(self) -> bytes:
        """The concatenated sketches of living memories; SIZE zeros for one without."""
        return b"".join([memory.sketch or bytes(SIZE) for memory in self.live])

    def _spelling(self, path: str) -> str | None:
        return path if path in self._files else self._names.paths.get(fold(path))


def _with(memories: list[Memory], path: str, new: Memory | None) -> list[Memory]:
    at = bisect_left(memories, path, key=_path)
    is_there = at < len(memories) and memories[at].path == path
    return [*memories[:at], *([new] if new else ()), *memories[at + is_there :]]


def _is_copy(one: Memory, other: Memory) -> bool:
    if one.adopted and other.adopted and one.id != other.id:
        return False  # two memories, however alike
    return one.hash == other.hash or resemblance(one.sketch, other.sketch) >= _COPY


def _owners(memories: Iterable[Memory]) -> dict[str, Memory]:
    """By id, the memory that keeps it: of several files the one in its category's folder, then the oldest."""
    owners: dict[str, Memory] = {}
    for memory in memories:
        if memory.adopted:
            known = owners.get(memory.id)
            owners[memory.id] = memory if known is None else min(known, memory, key=_seniority)
    return owners


def _seniority(memory: Memory) -> tuple[bool, float, float, float, str]:
    """What the files say comes first: when they came is another time on each machine, where Git has brought them."""
    is_elsewhere = memory.text("category") != memory.path.split("/")[-2]
    return is_elsewhere, memory.created, memory.updated, memory.mtime, memory.path


def _with_own_id(memory: Memory, used: set[str]) -> Memory:
    number = 1
    while (own := provisional(memory.path, number)) in used:
        number += 1
    used.add(own)
    return memory._replace(id=own, adopted=False)
