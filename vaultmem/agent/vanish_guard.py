"""What has gone and is not believed to be gone: a drive that is unmounted file by file is no deletion by a person."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from vaultmem.errors import VaultGoneError
from vaultmem.index.compare import (
    Diff,
    Place,
    check_vanished,
    missing,
    moved,
    refuse_if_lost,
    without,
)
from vaultmem.vault import identity
from vaultmem.vault.walk import nfc, printable

log = logging.getLogger("vaultmem.index")

WINDOW = 60.0  # seconds
MOST_OURS = 20_000


class Losses:
    """Files that have gone from the vault in the last minute, and those that the index keeps all the same.

    While the vault has `vanished` that minute stands still: else what is kept would be few enough to be
    believed as soon as what had gone before it is forgotten.
    """

    def __init__(self, folder: str) -> None:
        self.vanished: str | None = None  # why the index keeps what is not there
        self._folder = folder
        self._ours: set[str] = (
            set()
        )  # what we have moved away ourselves, and the index has not heard of yet
        self._lately: deque[tuple[float, int]] = deque()
        self._kept: set[str] | None = None  # None: nobody knows which they are
        self._going = 0

    def hold(self, why: str) -> None:
        """From now on, nothing that has gone is believed to be gone."""
        if why != self.vanished:
            log.error("%s", why)
        self.vanished = why

    def expect(self, paths: Iterable[str]) -> None:
        """What is gone from these paths was moved away by us, and is no loss."""
        self._ours.update(paths)

    def missing(self, diff: Diff) -> list[str]:
        """The paths of files that are gone, and neither renamed nor moved by us."""
        return [path for path in missing(diff) if path not in self._ours]

    def check_root(self) -> None:
        """Raise VaultGoneError when the vault itself is not there, or is another folder than before."""
        identity.check(self._folder)

    # A look at some paths

    def not_believed(self, diff: Diff, known: int, now: float) -> list[str]:
        """Of what is gone there, what the index keeps; it holds `known` files."""
        gone = self.missing(diff)
        if gone and not self.vanished:
            try:
                self._check(len(gone), known, now)
            except VaultGoneError as error:
                self.hold(str(error))
                self._kept = set()
        if not self.vanished:
            return []
        if self._kept is not None:
            self._kept.update(gone)
        return gone

    def are_back(self, diff: Diff) -> bool | None:
        """Whether all that was kept is there again; None when nothing of it is, as far as has been looked."""
        if self._kept is None:
            return True  # perhaps
        before = len(self._kept)
        self._kept.difference_update(diff.known)
        return None if len(self._kept) == before else not self._kept

    def count(self, number: int, now: float, diff: Diff | None = None) -> None:
        """So many have been removed from the index, of what differed."""
        if diff is not None:
            self._ours.difference_update(diff.gone.values())
        if number:
            self._lately.append((now, number))

    # A look at everything

    def begin(self) -> None:
        """Everything is going to be looked at."""
        self._kept, self._going = None, 0

    def check(self, diff: Diff, now: float) -> None:
        """Raises VaultGoneError when too much is gone, at once or in a short time."""
        gone = self.missing(diff)
        try:
            check_vanished(self._folder, without(diff, self._ours))
            if gone:
                self._check(len(gone), len(diff.known) + len(diff.gone), now)
        except VaultGoneError:
            self._kept = set(gone)
            raise
        self._going = len(gone)

    def end(self, now: float, *, confirmed: bool) -> None:
        """Everything has been looked at, and is in the index as it is there; a person may have confirmed it."""
        if self.vanished:
            log.info("the vault is whole again")
        self.vanished = None
        if len(self._ours) > MOST_OURS:
            self._ours.clear()
        if confirmed:
            self._lately.clear()
        self.count(self._going, now)

    def _check(self, count: int, known: int, now: float) -> None:
        """Raises VaultGoneError when, with those of the last minute, so many cannot be believed; `known` is how
        many the index holds, these among them."""
        if not self.vanished:
            while self._lately and self._lately[0][0] < now - WINDOW:
                self._lately.popleft()
        before = sum(number for _, number in self._lately)
        refuse_if_lost(self._folder, before + count, known + before, empty=count == known)


# When to look at what was touched. Pure: times come from outside, in seconds of one steady clock.

QUIET, LONGEST = 0.25, 1.5
GONE_WAIT = 2.0  # a rename across folders, or a slow replacement, is no deletion
EMPTY_WAIT = 2.0
SHRUNK_WAIT = 0.5  # less than half of what it was: perhaps the rest is still being written


class Touch(NamedTuple):
    """A path that something happened to; with `folder`, everything below is meant."""

    path: str
    folder: bool
    first: float
    last: float
    due: float
    known: bool = False  # it has been looked at, and nothing is known to be behind


class Pace:
    """The touched paths that are to be looked at, for the first time or again."""

    def __init__(self) -> None:
        self._touches: dict[str, Touch] = {}

    def __len__(self) -> int:
        return len(self._touches)

    def touch(self, path: str, now: float, *, folder: bool = False) -> float:
        """Something happened at `path`; when it is due."""
        known = self._touches.get(path)
        first = min(known.first, now) if known else now
        whole = folder or (known is not None and known.folder)
        due = min(now + QUIET, max(first + LONGEST, now))
        self._touches[path] = Touch(path, whole, first, now, due)
        return due

    def again(self, touch: Touch, due: float, *, known: bool = False) -> None:
        """Look once more at `due`; nothing has happened there since the touch. With `known`, what was found
        has been believed, and is only looked at to be sure."""
        if touch.path not in self._touches:  # else something has, and it is looked at anyway
            self._touches[touch.path] = touch._replace(first=due, due=due, known=known)

    def behind(self) -> int:
        """How many paths may be other than is known: not those that are looked at again to be sure."""
        return sum(not touch.known for touch in self._touches.values())

    def due(self) -> float | None:
        """When the next path is due; None when nothing was touched."""
        return min((touch.due for touch in self._touches.values()), default=None)

    def take(self, now: float) -> list[Touch]:
        """Take what is due."""
        taken = [touch for touch in self._touches.values() if touch.due <= now]
        for touch in taken:
            del self._touches[touch.path]
        return taken

    def clear(self, before: float) -> None:
        """Forget what happened before a moment since which the whole vault has been looked at."""
        self._touches = {p: touch for p, touch in self._touches.items() if touch.last >= before}


class Seen(NamedTuple):
    """What a look has found at a path: its size now (None: nothing there) and when it was last read."""

    path: str
    size: int | None
    size_before: int | None  # None: it is new
    moved: bool  # it is gone, and the same file is somewhere else now


def look_again(found: Iterable[Seen], last: dict[str, float], now: float) -> dict[str, float]:
    """The paths that need more time, and when to look at them again. `last` tells when something last
    happened to each; what it does not name has had all its time."""
    later = {}
    for seen in found:
        quiet_since = last.get(seen.path)
        if quiet_since is None:
            continue
        due = quiet_since + _patience(seen)
        if due > now:
            later[seen.path] = due
    return later


def _patience(seen: Seen) -> float:
    """How long a path has to be quiet before its state is believed."""
    if seen.size is None:
        return 0.0 if seen.moved else GONE_WAIT
    if not seen.size_before or seen.size >= seen.size_before:
        return 0.0
    if seen.size == 0:
        return EMPTY_WAIT
    return SHRUNK_WAIT if seen.size * 2 < seen.size_before else 0.0


# Which of the differences at touched paths are believed now, and which are looked at again.


def place_of(touches: Iterable[Touch]) -> Place:
    """The part of the vault that the touches mean. A folder may have taken the place of a note of its name,
    or a note that of a folder, so both are looked for. What is below a touched folder is looked at with it."""
    folders = {touch.path for touch in touches if touch.folder}
    outermost = {path for path in folders if folders.isdisjoint(_around(path))}
    files = (touch.path for touch in touches)
    apart = frozenset(path for path in files if outermost.isdisjoint(_around(path)))
    return Place(apart, frozenset(outermost))


def _around(path: str) -> Iterator[str]:
    """The folders that a path is in, the innermost first, the vault itself ("") last."""
    while path:
        path = path.rpartition("/")[0]
        yield path


def too_early(diff: Diff, touches: list[Touch], now: float) -> tuple[set[str], dict[Touch, float]]:
    """Paths that seem to be gone or cut off, but may be about to be replaced; and the touches to look at
    again, with the time to do so."""
    covering = _covering(_paths(diff), touches)
    last = {
        path: max(touch.last for touch in around) for path, around in covering.items() if around
    }
    later = look_again(_seen(diff), last, now)
    again: dict[Touch, float] = {}
    for path, due in later.items():
        for touch in covering[path]:
            again[touch] = min(due, again.get(touch, due))
    return set(later), again


def _paths(diff: Diff) -> Iterator[str]:
    yield from diff.gone.values()
    for entry in diff.put:
        if entry.path in diff.before:
            yield entry.path


def _covering(paths: Iterable[str], touches: list[Touch]) -> dict[str, list[Touch]]:
    """The touches that mean each path: of itself, or of a folder around it."""
    files: dict[str, list[Touch]] = {}
    folders: dict[str, list[Touch]] = {}
    for touch in touches:
        path = nfc(printable(touch.path))
        files.setdefault(path, []).append(touch)
        if touch.folder:
            folders.setdefault(path, []).append(touch)
    covering = {}
    for path in paths:
        around = [touch for above in _around(path) for touch in folders.get(above, ())]
        covering[path] = around + files.get(path, [])
    return covering


def _seen(diff: Diff) -> Iterator[Seen]:
    elsewhere = moved(diff)
    for path in diff.gone.values():
        yield Seen(path, None, diff.before[path].size, path in elsewhere)
    for entry in diff.put:
        before = diff.before.get(entry.path)
        yield Seen(entry.path, entry.size, before.size if before else None, moved=False)
