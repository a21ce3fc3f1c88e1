"""Undoes commits: plans which files become what. Nothing is deleted, and later edits are kept."""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Callable, Iterable, Mapping

from vaultmem.errors import NoteChangedError
from vaultmem.history.commits import Difference
from vaultmem.light import NamedTuple
from vaultmem.notes.places import ARCHIVE, is_our_page
from vaultmem.vault.batch_record import PlannedWrite

Refused = tuple[str, str]  # path and reason


class Undone(NamedTuple):
    """A commit to undo."""

    files: Iterable[Difference]
    moved_since: Mapping[str, str]  # see History.moved_since()


class Means(NamedTuple):
    """What an undo needs from the vault."""

    folder: str  # the memory folder
    read: Callable[[str], bytes | None]  # the current bytes of a file; None when it does not exist
    merge: Callable[[bytes, bytes, bytes], bytes | None]  # base, ours, theirs; see History.merged()
    # A memory's bytes with the properties of a deleted one.
    archived: Callable[[bytes], bytes]
    same: Callable[[bytes, bytes], bool] = lambda _, __: True  # whether both are the same memory
    # where an archived entry of a conversation goes, in the memory folder; "" for other files
    put_away: Callable[[str], str] = lambda _: ""
    # the path of the living memory that has the id in these bytes; "" for none
    alive: Callable[[bytes], str] = lambda _: ""


class _File:
    """A file as the undo has changed it so far."""

    def __init__(self, path: str | None, data: bytes) -> None:
        self.path = path  # its path on disk; None when it does not exist
        self.place: str = path or ""
        self.before = self.data = data
        self.edits: list[Callable[[bytes], bytes]] = []

    def edit(self, edit: Callable[[bytes], bytes]) -> None:
        """Apply one more edit; if it raises, the file stays as it was."""
        self.data = edit(self.data)
        self.edits.append(edit)

    def render(self, newest: bytes | None) -> bytes:
        """Apply all edits to the file's newest bytes."""
        data = self.before if newest is None else newest
        for edit in self.edits:
            data = edit(data)
        return data


class Plan(NamedTuple):
    """The writes that undo commits as one batch, what cannot be undone, and whether each commit is undone in part at
    least."""

    writes: list[PlannedWrite]
    refused: list[Refused]
    undone: list[bool]


def plan(commits: Iterable[Undone], means: Means) -> Plan:
    """The plan for undoing these commits (newest first).

    A file unchanged since its commit gets exactly its old bytes; later changes to other lines are kept; a created
    file goes to the archive.
    """
    undo, undone = _Undo(means), []
    for commit in commits:
        taken = False
        for file in commit.files:
            try:
                undo.take(file, commit.moved_since)
                taken = True
            except NoteChangedError as error:
                undo.refuse(file, commit.moved_since, str(error))
        undone.append(taken)
    return Plan(undo.ordered(), undo.refused, undone)


class _Undo:
    """The vault as it will be after the undo."""

    def __init__(self, means: Means) -> None:
        self._means = means
        self._files: dict[str, _File | None] = {}  # by current path
        self._all: list[_File] = []
        self._stays: set[str] = set()  # paths of files with changes that could not be undone
        self.refused: list[Refused] = []

    def refuse(self, difference: Difference, moved: Mapping[str, str], why: str) -> None:
        """Record that a file of a commit cannot be undone; earlier changes to that file stay, too, for that reason."""
        paths = {path for path in (difference.path, difference.target) if path is not None}
        if difference.target is not None:
            paths.add(moved.get(difference.target, difference.target))
        if paths.isdisjoint(self._stays):
            self.refused.append((difference.target or difference.path or "", why))
        self._stays |= paths

    def take(self, difference: Difference, moved: Mapping[str, str]) -> None:
        """Undo one file of a commit. Raises NoteChangedError if that is impossible."""
        if difference.target is None:
            self._bring_back(difference)
            return
        file = self._now(moved.get(difference.target, difference.target)) or self._at(
            difference.target
        )
        if file is None and difference.path is None:
            return  # the written content is gone
        if file is None:
            raise NoteChangedError(f"{difference.target} no longer exists")
        inside = f"{self._means.folder}/"
        is_inside = difference.target.startswith(inside)
        if (
            difference.path is None
            and is_inside
            and is_our_page(difference.target.removeprefix(inside))
        ):
            file.edit(
                self._reverse(difference.target, difference.new or b"", b"")
            )  # empty, so not a memory
            return
        if difference.path is None or difference.old is None or difference.new is None:
            self._expect_ours(difference, file)
            self._archive(file)
            return
        self._expect_free(difference, file.place)
        file.edit(self._reverse(difference.target, difference.new, difference.old))
        if difference.path != difference.target:
            self._move(file, difference.path)

    def _reverse(self, name: str, new: bytes, old: bytes) -> Callable[[bytes], bytes]:
        def reverse(data: bytes) -> bytes:
            if data == new:
                return old
            merged = self._means.merge(new, data, old)
            if merged is None:
                raise NoteChangedError(f"the same lines of {name} were changed since")
            return merged

        return reverse

    def _expect_ours(self, difference: Difference, file: _File) -> None:
        """Raise NoteChangedError unless the file is the memory that was written and may be archived."""
        if not file.place.startswith(f"{self._means.folder}/"):
            raise NoteChangedError(f"{file.place} is a note outside the memory folder, so it stays")
        if difference.new is not None and not self._means.same(difference.new, file.data):
            raise NoteChangedError(f"{file.place} is now another file, so it stays")
        if file.place in self._stays:
            raise NoteChangedError(
                f"{file.place} stays, because a later change to it could not be undone"
            )

    def _expect_free(self, difference: Difference, place: str) -> None:
        """Raise NoteChangedError unless a moved file can return to its old path."""
        if difference.path is None or difference.path == difference.target:
            return
        if place != difference.target:
            raise NoteChangedError(f"{difference.target} was moved on to {place}; undo that first")
        if self._at(difference.path) is not None:
            raise NoteChangedError(f"{place} cannot go back: another file is at {difference.path}")

    def _bring_back(self, difference: Difference) -> None:
        """Restore a file that a person removed."""
        assert difference.path is not None
        there = self._at(difference.path)
        if there is not None and there.data == difference.old:
            return
        if there is not None:
            raise NoteChangedError(f"another file is at {difference.path}")
        if place := self._means.alive(difference.old or b""):
            raise NoteChangedError(f"{difference.path} is {place} now")
        file = _File(None, difference.old or b"")
        file.place = difference.path
        self._files[difference.path] = file
        self._all.append(file)

    def _archive(self, file: _File) -> None:
        """Move a created file to the archive, or to its conversation's folder of deleted entries."""
        inside = f"{self._means.folder}/{ARCHIVE}"
        away = self._means.put_away(file.place[len(self._means.folder) + 1 :])
        if away:
            inside = f"{self._means.folder}/{posixpath.dirname(away)}"
        if file.place.startswith(f"{inside}/"):
            return
        file.edit(self._means.archived)
        stem, ending = posixpath.splitext(posixpath.basename(file.place))
        mark = hashlib.sha256(file.place.encode("utf-8", "surrogateescape") + file.data).hexdigest()
        names = (stem, f"{stem}, undone", f"{stem}, undone {mark[:6]}", f"{stem}, undone {mark}")
        self._move(
            file,
            next(
                path
                for path in (f"{inside}/{name}{ending}" for name in names)
                if self._at(path) is None
            ),
        )

    def _move(self, file: _File, place: str) -> None:
        self._files[file.place] = None
        self._files[place] = file
        file.place = place

    def _now(self, path: str) -> _File | None:
        """The file with this path on disk, wherever the undo has moved it."""
        if path not in self._files:
            return self._at(path)
        return next((file for file in self._all if file.path == path), None)

    def _at(self, path: str) -> _File | None:
        """The file at this path in the undo so far."""
        if path not in self._files:
            data = self._means.read(path)
            self._files[path] = file = None if data is None else _File(path, data)
            if file:
                self._all.append(file)
        return self._files[path]

    def ordered(self) -> list[PlannedWrite]:
        """A planned write for each changed file, those that free a path first."""
        left = [file for file in self._all if (file.path, file.before) != (file.place, file.data)]
        ordered: list[PlannedWrite] = []
        while left:
            waiting = {file.path for file in left}
            ready = [file for file in left if file.place == file.path or file.place not in waiting]
            if not ready:
                self.refused += [(file.place, "two files have changed places") for file in left]
                return ordered
            ordered += [PlannedWrite(file.path, file.place, file.render, "") for file in ready]
            left = [file for file in left if file not in ready]
        return ordered
