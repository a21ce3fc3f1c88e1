"""When to look at what was touched. Pure: times come from outside, in seconds of one steady clock.

A path is looked at when it has been quiet for QUIET, or LONGEST after it was touched first. What seems to be
gone, or has been emptied, is looked at again later: editors and sync programs replace a note in several steps.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

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
