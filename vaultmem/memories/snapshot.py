"""The memory folder at one moment: which files are memories, which are copies, and which id belongs to which."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property
from operator import attrgetter

from vaultmem.adapter import Value
from vaultmem.memories.memory_file import Stored, fold, title_of
from vaultmem.memories.model import Memory, provisional
from vaultmem.text.similarity import SIZE, resemblance
from vaultmem.text.values import ARCHIVE
from vaultmem.vault.conflicts import Places, conflict_original, conflicts, possible_copies

_COPY = 0.9  # resemblance above which "Plan 2.md" is a copy of "Plan.md" beside it
_COUNTED = ("access_count", "last_reinforced_at", "updated_at")  # each machine has its own


class Names:
    """The files of the memory folder, by names folded for case."""

    def __init__(self) -> None:
        self.files: dict[str, Stored] = {}
        self.paths: dict[str, str] = {}  # by their folded spelling
        # Paths of notes, by their folded titles.
        self.titles: defaultdict[str, set[str]] = defaultdict(set)

    def put(self, path: str, stored: Stored) -> None:
        """Add a file, or update it."""
        if path not in self.files:
            self.paths[fold(path)] = path
        else:
            self._forget_titles(path, self.files[path])
        for title in _titles(path, stored):
            self.titles[title].add(path)
        self.files[path] = stored

    def drop(self, path: str) -> Stored | None:
        """Remove a file, and return it."""
        stored = self.files.pop(path, None)
        if stored is not None:
            self.paths.pop(fold(path), None)
            self._forget_titles(path, stored)
        return stored

    def _forget_titles(self, path: str, stored: Stored) -> None:
        for title in _titles(path, stored):
            self.titles[title].discard(path)

    def of_title(self, title: str) -> list[str]:
        """The paths of the notes with a title, ignoring case."""
        return sorted(self.titles.get(fold(title), ()))


def _titles(path: str, stored: Stored) -> set[str]:
    """The folded titles of a note: its name for links, and its file name."""
    names = (title_of(path), stored.memory.title) if stored.memory else (title_of(path),)
    return set(map(fold, names)) if path[-3:].lower() == ".md" else set()


_path = attrgetter("path")


class Snapshot:
    """Everything derived from the files, each part computed on first use. Its lists never change."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._files = names.files

    def at(self, path: str) -> Memory | None:
        """The memory at a path, living or archived."""
        for memories in (self.live, self.archived):
            place = bisect_left(memories, path, key=_path)
            if memories[place : place + 1] and memories[place].path == path:
                return memories[place]
        return None

    def titled(self, title: str) -> Memory | None:
        """The living memory with a title; of several, the one whose path sorts first."""
        every = map(self.at, self._names.of_title(title))
        return next((memory for memory in every if memory and not memory.archived), None)

    @cached_property
    def copies(self) -> dict[str, str | None]:
        """Sync conflict copies, each with its original if that exists, perhaps in the archive."""
        places = Places(sorted(self._files))
        memories = {path: one for path in places.paths if (one := self._files[path].memory)}
        left = {_home(one): one for one in memories.values() if one.archived}
        results = {
            copy: self._spelling(original) or (left[original].path if original in left else None)
            for copy, original in conflicts(places).items()
        }
        for copy, original in possible_copies(Places({**left, **memories})):
            if copy not in memories or original in results:
                continue
            for of in filter(None, (left.get(original), memories.get(original))):
                if _is_copy(memories[copy], of):
                    results[copy] = of.path
        return results

    @cached_property
    def spare(self) -> list[tuple[Memory, Memory]]:
        """Copies by a sync program and their originals that differ at most in what each machine counts, and blanks; and
        copies that an original left behind when it was archived."""
        names = [(copy, of) for copy, of in self.copies.items() if of]
        pairs = ((self._files[copy].memory, self._files[of].memory) for copy, of in names)
        return [(copy, of) for copy, of in pairs if copy and of and _is_spare(copy, of)]

    @cached_property
    def archived(self) -> list[Memory]:
        """The archived memories, by path."""
        return [memory for memory in self._memories if memory.archived]

    @cached_property
    def live(self) -> list[Memory]:
        """The living memories, by path; ids are unique."""
        results = [memory for memory in self._memories if not memory.archived]
        if len({memory.id for memory in results if memory.adopted}) == len(results):
            return results
        owners = _owners(results)
        used = {*owners, *(memory.id for memory in self.archived)}
        return [
            memory if owners.get(memory.id) is memory else _with_own_id(memory, used)
            for memory in results
        ]

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
    def hashes(self) -> frozenset[str]:
        """The hashes of the contents of living memories."""
        return frozenset(memory.hash for memory in self.live)

    @cached_property
    def sketches(self) -> bytes:
        """The concatenated sketches of living memories; SIZE zeros if there is none."""
        return b"".join([memory.sketch or bytes(SIZE) for memory in self.live])

    def _spelling(self, path: str) -> str | None:
        return path if path in self._files else self._names.paths.get(fold(path))


def _home(memory: Memory) -> str:
    """Where an archived memory was."""
    folder, _, name = memory.path.rpartition(f"/{ARCHIVE}/")
    return f"{folder}/{memory.category}/{name}"


def _is_copy(one: Memory, other: Memory) -> bool:
    has_left = other.archived and not one.archived
    if one.id != other.id and (has_left or (one.adopted and other.adopted)):
        return False  # two memories, however alike
    return one.hash == other.hash or resemblance(one.sketch, other.sketch) >= _COPY


def _is_spare(copy: Memory, of: Memory) -> bool:
    if of.archived and not copy.archived:
        return (copy.id, copy.hash) == (of.id, of.hash)
    return bool(conflict_original(copy.path)) and _own(copy) == _own(of)


def _own(memory: Memory) -> tuple[str, dict[str, Value]]:
    own = {key: value for key, value in memory.properties.items() if key not in _COUNTED}
    return memory.hash, own


def _owners(memories: Iterable[Memory]) -> dict[str, Memory]:
    """By id, the memory that keeps it: of several files the one in its category's folder, then the oldest one."""
    owners: dict[str, Memory] = {}
    for memory in memories:
        if memory.adopted:
            current = owners.get(memory.id)
            owners[memory.id] = memory if current is None else min(current, memory, key=_seniority)
    return owners


def _seniority(memory: Memory) -> tuple[bool, str, str, int, str]:
    """Sort key, the same on all machines: by what the file says, then by its name, which a copy's begins with. File
    times differ between machines if Git brought the files."""
    is_elsewhere = memory.text("category") != memory.path.split("/")[-2]
    dates = memory.text("created_at"), memory.text("updated_at")
    return is_elsewhere, *dates, len(memory.path), memory.path


def _with_own_id(memory: Memory, used: set[str]) -> Memory:
    number = 1
    while (new_id := provisional(memory.path, number)) in used:
        number += 1
    used.add(new_id)
    return memory._replace(id=new_id, adopted=False)
