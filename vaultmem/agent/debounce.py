"""When to look at touched paths and what to believe: paths that settle, our own writes not yet indexed, and lost
files. A drive unmounted file by file is not a deletion by a person.

Our own writes do not wait to be indexed: many in a row are indexed together, when it is quiet or when someone
searches. Times are seconds of one steady clock.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future

from vaultmem.errors import VaultGoneError, VaultmemError
from vaultmem.index.compare import (
    Diff,
    Place,
    Report,
    check_vanished,
    find_moved,
    missing,
    refuse_if_lost,
    without,
)
from vaultmem.light import TYPE_CHECKING, NamedTuple
from vaultmem.progress import Progress
from vaultmem.vault import identity
from vaultmem.vault.walk import nfc, printable

if TYPE_CHECKING:
    from vaultmem.index.state import State

log = logging.getLogger("vaultmem.index")

QUIET, LONGEST = 0.25, 1.5
GONE_WAIT = 2.0  # a rename across folders, or a slow replacement, is not a deletion
EMPTY_WAIT = 2.0
SHRUNK_WAIT = 0.5  # less than half its former size: the rest may still be coming


class Touch(NamedTuple):
    """A path that was touched; with `folder`, everything below it too."""

    path: str
    folder: bool
    first: float
    last: float
    due: float
    known: bool = False  # already looked at, and not known to be behind
    doubted: float = math.inf  # since when it has looked as it does now without being believed


class Debounce:
    """Touched paths still to be compared, for the first time or again."""

    def __init__(self) -> None:
        self._touches: dict[str, Touch] = {}

    def __len__(self) -> int:
        return len(self._touches)

    def touch(self, path: str, now: float, *, folder: bool = False) -> float:
        """Record a touch at `path`. Returns when it is due."""
        touch = self._touches.get(path)
        first = min(touch.first, now) if touch else now
        whole = folder or (touch is not None and touch.folder)
        due = min(now + QUIET, max(first + LONGEST, now))
        self._touches[path] = Touch(path, whole, first, now, due)
        return due

    def again(self, touch: Touch, due: float, *, known: bool = False) -> None:
        """Look again at `due`, only as a check if what was there is `known` already."""
        if touch.path not in self._touches:  # else something has, and it is looked at anyway
            self._touches[touch.path] = touch._replace(first=due, due=due, known=known)

    def behind(self) -> int:
        """How many paths may differ from the index, not counting those only checked again."""
        return sum(not touch.known for touch in self._touches.values())

    def due(self) -> float | None:
        """When the next path is due; None when nothing was touched."""
        return min((touch.due for touch in self._touches.values()), default=None)

    def take(self, now: float) -> list[Touch]:
        """Remove and return what is due."""
        taken = [touch for touch in self._touches.values() if touch.due <= now]
        for touch in taken:
            del self._touches[touch.path]
        return taken

    def clear(self, before: float) -> None:
        """Drop touches from before a comparison of the whole vault."""
        self._touches = {p: touch for p, touch in self._touches.items() if touch.last >= before}


# Which of the differences at touched paths are believed now, and which are looked at again.


def place_of(touches: Iterable[Touch]) -> Place:
    """The part of the vault that the touches cover. A folder may have replaced a note of its name or the reverse, so
    both are looked for. A touched folder includes everything below it."""
    folders = {touch.path for touch in touches if touch.folder}
    outermost = {path for path in folders if folders.isdisjoint(_around(path))}
    files = (touch.path for touch in touches)
    apart = frozenset(path for path in files if outermost.isdisjoint(_around(path)))
    return Place(apart, frozenset(outermost))


def _around(path: str) -> Iterator[str]:
    """The folders that contain a path, innermost first and the vault itself ("") last."""
    while path:
        path = path.rpartition("/")[0]
        yield path


def too_early(diff: Diff, touches: list[Touch], now: float) -> tuple[set[str], dict[Touch, float]]:
    """Paths that may be about to be replaced, and the touches to look at again, with their times. Times start at the
    look that first sees a change: the hint may be old, and the second half of a rename may be on its way."""
    touches = [touch._replace(doubted=min(touch.doubted, now)) for touch in touches]
    waits = _waits(diff)
    early: set[str] = set()
    again: dict[Touch, float] = {}
    for path, covering in _covering(waits, touches).items():
        due = max(touch.doubted for touch in covering) + waits[path]
        if due > now:
            early.add(path)
            again |= {touch: min(due, again.get(touch, due)) for touch in covering}
    return early, again


def _waits(diff: Diff) -> dict[str, float]:
    """How long a deletion or change must last before it is believed."""
    elsewhere = find_moved(diff)
    waits = {path: settle_time(None, None, moved=path in elsewhere) for path in diff.gone.values()}
    for entry in diff.put:
        if before := diff.before.get(entry.path):
            waits[entry.path] = settle_time(entry.size, before.size)
    return waits


def settle_time(size: int | None, before: int | None, *, moved: bool = False) -> float:
    """How long a path must stay unchanged before it is believed, given its size now (None: nothing there) and when it
    was last read (None: it is new); `moved` if the same file is now elsewhere."""
    if size is None:
        return 0.0 if moved else GONE_WAIT
    if not before or size >= before:
        return 0.0
    if size == 0:
        return EMPTY_WAIT
    return SHRUNK_WAIT if size * 2 < before else 0.0


def _covering(paths: Iterable[str], touches: list[Touch]) -> dict[str, list[Touch]]:
    """The touches that cover each path, its own or a folder's; paths without one are left out."""
    by_path: dict[str, list[Touch]] = {}
    for touch in touches:
        by_path.setdefault(nfc(printable(touch.path)), []).append(touch)
    covering = {}
    for path in paths:
        near = [touch for each in _around(path) for touch in by_path.get(each, ()) if touch.folder]
        covering[path] = near + by_path.get(path, [])
    return {path: several for path, several in covering.items() if several}


# Writes through the agent that are not in the index yet: a search indexes them first.

# A file that we wrote is complete, so it is believed at once.
LONG_AGO = 0.0


class Writes:
    """Paths that we wrote or moved away. `wake` wakes the thread that indexes them. In case the agent is killed
    first, `state` records that something was written, and the next search indexes it."""

    def __init__(self, wake: Callable[[], None], state: State) -> None:
        self._wake, self._state = wake, state
        self._changed = threading.Condition()
        self._debounce = Debounce()
        self._written = self._taken = self._indexed = 0  # how many writes
        self._waiting = 0  # how many searches

    def add(self, paths: Iterable[str]) -> None:
        """Note paths that were just written."""
        now = time.monotonic()
        with self._changed:
            if not self.is_behind():
                self._state.fall_behind()
            for path in paths:
                self._debounce.touch(path, now)
            self._written += 1
        self._wake()

    def wait(self, within: float) -> bool:
        """Index all writes so far. Returns whether that finished in time."""
        with self._changed:
            target = self._written
            if self._indexed >= target:
                return True
            self._waiting += 1
        try:
            self._wake()
            with self._changed:
                return self._changed.wait_for(lambda: self._indexed >= target, within)
        finally:
            with self._changed:
                self._waiting -= 1

    def is_awaited(self) -> bool:
        """Whether a search is waiting for them."""
        return self._waiting > 0

    def is_behind(self) -> bool:
        """Whether any of them is not in the index yet."""
        return self._indexed < self._written

    # For the thread that indexes them

    def due(self) -> float | None:
        """When they are due; None when there are none."""
        with self._changed:
            is_awaited = len(self._debounce) and self._waiting
            return LONG_AGO if is_awaited else self._debounce.due()

    def take(self) -> list[Touch]:
        """Remove and return all of them."""
        with self._changed:
            self._taken = self._written
            taken = self._debounce.take(math.inf)
        return [touch._replace(doubted=LONG_AGO) for touch in taken]

    def done(self) -> None:
        """Record that the taken paths are indexed, or cannot be."""
        with self._changed:
            self._indexed = self._taken
            if not self.is_behind():
                self._state.catch_up()
            self._changed.notify_all()


# Requests to the reconciler, and its listeners.


class Stopped(BaseException):
    """The agent is ending."""


class Order(NamedTuple):
    """A comparison of the whole vault that a caller waits for."""

    done: Future[Report]
    progress: Progress
    rebuild: bool
    confirmed: bool

    def obey(self, work: Callable[[], Report]) -> None:
        """Run it unless the caller has given up."""
        if not self.done.set_running_or_notify_cancel():
            return
        try:
            report = work()
        except BaseException as error:
            self.done.set_exception(_ending() if isinstance(error, Stopped) else error)
            raise
        self.done.set_result(report)

    def refuse(self) -> None:
        """Fail it: the agent is ending."""
        if self.done.set_running_or_notify_cancel():
            self.done.set_exception(_ending())


def _ending() -> VaultmemError:
    return VaultmemError("the agent is ending; try again")


class Listeners(NamedTuple):
    """Listeners to what the reconciler did."""

    committed: Callable[[Iterable[int]], None]  # these notes are now searchable
    replaced: Callable[[], None]  # the index was replaced
    touched: Callable[[str], None]  # something happened at a path; "" for anywhere


# Lost files that are not believed to be deleted.

WINDOW = 60.0  # seconds
MOST_OURS = 20_000


class VanishGuard:
    """Files lost from the vault in the last minute, and those that the index keeps anyway.

    While the vault is `vanished`, that minute stands still; otherwise the remaining kept files would become few
    enough to be believed once earlier losses are forgotten.
    """

    def __init__(self, folder: str) -> None:
        self.vanished: str | None = None  # why the index keeps missing files
        self._folder = folder
        # Paths that we moved away and that are still in the index.
        self._ours: set[str] = set()
        self._lately: deque[tuple[float, int]] = deque()
        self._going = 0  # in a comparison of the whole vault

    def hold(self, why: str) -> None:
        """Believe no deletion from now on."""
        if why != self.vanished:
            log.error("%s", why)
        self.vanished = why

    def expect(self, paths: Iterable[str]) -> None:
        """Record paths that we moved away: they do not count as losses."""
        self._ours.update(paths)

    def missing(self, diff: Diff) -> list[str]:
        """Paths of files that are gone and were neither renamed nor moved by us."""
        return [path for path in missing(diff) if path not in self._ours]

    def check_root(self) -> None:
        """Raise VaultGoneError if the vault's folder is missing or has been replaced by another."""
        identity.check(self._folder)

    # A look at some paths

    def not_believed(self, diff: Diff, total: int, now: float) -> list[str]:
        """Of the missing files in a place, those that the index keeps; it holds `total` files."""
        gone = self.missing(diff)
        if gone and not self.vanished:
            try:
                self._check(len(gone), total, now)
            except VaultGoneError as error:
                self.hold(str(error))
        return gone if self.vanished else []

    def count(self, number: int, now: float, diff: Diff | None = None) -> None:
        """Count files removed from the index."""
        if diff is not None:
            self._ours.difference_update(diff.gone.values())
        if number:
            self._lately.append((now, number))

    # A look at everything

    def check(self, diff: Diff, now: float) -> None:
        """Raise VaultGoneError if too much is gone, at once or within a short time."""
        gone = self.missing(diff)
        check_vanished(self._folder, without(diff, self._ours))
        if gone:
            self._check(len(gone), len(diff.known) + len(diff.gone), now)
        self._going = len(gone)

    def end(self, now: float, *, confirmed: bool) -> None:
        """End it: everything has been looked at and indexed; a person may have confirmed removals."""
        if self.vanished:
            log.info("the vault is whole again")
        self.vanished = None
        if len(self._ours) > MOST_OURS:
            self._ours.clear()
        if confirmed:
            self._lately.clear()
        else:
            self.count(self._going, now)
        self._going = 0

    def _check(self, gone: int, total: int, now: float) -> None:
        """Raise VaultGoneError if these losses and those of the last minute are too many of `total` to believe."""
        if not self.vanished:
            while self._lately and self._lately[0][0] < now - WINDOW:
                self._lately.popleft()
        before = sum(number for _, number in self._lately)
        refuse_if_lost(self._folder, before + gone, total + before, empty=gone == total)
