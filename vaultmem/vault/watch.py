"""Hear of changes in a vault from the system, as long as it stands, and say when nothing is heard.

What watchdog passes over in silence is noticed here: lost events, folders that cannot be watched, a
vault that moved, threads that died.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable

from watchdog import events
from watchdog.events import DirDeletedEvent, DirMovedEvent, FileSystemEvent, FileSystemEventHandler
from watchdog.observers.api import BaseObserver
from watchdog.utils import BaseThread, UnsupportedLibcError

from vaultmem.text.values import OnError
from vaultmem.vault.watch_events import (
    Listener,
    Mounts,
    Sorter,
    count_folders,
    count_watches,
    more,
    open_queues,
    tell,
)

log = logging.getLogger("vaultmem.watch")

# Not opened, read or left: reading a folder would be an event, and where watchdog walks through many
# folders to watch them, it would never come to an end.
_FOLDER_EVENTS: list[type[FileSystemEvent]] = [
    events.DirCreatedEvent,
    DirMovedEvent,
    DirDeletedEvent,
]
_EVENTS: list[type[FileSystemEvent]] = [
    *_FOLDER_EVENTS, events.FileCreatedEvent, events.FileModifiedEvent, events.FileClosedEvent, events.FileMovedEvent,
    events.FileDeletedEvent,
]  # fmt: skip
# Seconds that watchdog waits for the second half of a rename. It waits 0.5 s, in its sleep: whatever
# comes after a note that left the vault waits as well, and so does each second save by rename.
_RENAME_WAIT = 0.02
_QUIET = 1.0  # seconds without new folders before they are counted
_RENEWAL_PAUSE = 2.0  # seconds between two renewals, however much goes wrong
_PATIENCE = (0.0, 0.2, 0.6)  # seconds between counts, before folders are called unwatched
_CLOSING = 1.0  # seconds that threads get to end
_NEVER = float("inf")
_WATCHES, _INSTANCES = 524_288, 1024  # limits of the kernel that leave room


class Watcher:
    """Tells a listener of changes in a folder, from start() to stop(), and again after that."""

    def __init__(self, folder: str, listener: Listener) -> None:
        self._folder = folder
        self._listener = listener
        self._observing: _Observing | None = None
        self._opening = threading.Lock()  # guards that one
        self._identity = (0, 0)
        self._is_whole = self._is_renewing = False
        self._reported: set[str] = set()
        self._thread: threading.Thread | None = None
        self._news = threading.Condition()  # guards what follows
        self._is_gone = False
        self._is_ending = False
        self._is_broken = False
        self._due = _NEVER
        self._renewed = -_NEVER

    def start(self) -> None:
        """Watch; returns when all folders are watched. Where that cannot be, it says so to blind();
        where the folder is not there, is_alive() says so."""
        self.stop()
        self._is_ending = self._is_broken = False
        self._due = _NEVER
        with self._opening:
            self._open()
        self._thread = threading.Thread(target=self._tend, name="vaultmem-watch", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Watch no more; no event comes after that."""
        with self._news:
            self._is_ending = True
            self._news.notify()
        if self._thread and self._thread is not threading.current_thread():
            self._thread.join()
        self._thread = None
        with self._opening:
            self._close()

    def is_whole(self) -> bool:
        """Whether all folders are watched, as they were counted last."""
        return self._is_whole

    def is_alive(self) -> bool:
        """Whether changes are noticed still: the threads live, and the folder is the one they watch.
        If not, start() has to be called again (when the folder is back)."""
        observing = self._observing
        if observing is None or self._thread is None:
            return self._is_renewing
        is_there = observing.is_alive() and self._is_same_folder()
        if not is_there and self._observing is observing:  # else it was renewed meanwhile
            self._say_gone()
        return not self._is_gone and self._thread.is_alive()

    def _open(self) -> None:
        self._is_whole = False
        root = os.path.realpath(self._folder)
        sorter = Sorter(root, self._listener, self._look)
        try:
            self._identity = _identity(root)
            self._is_gone = False
            self._observing = _Observing(_Inside(sorter, self._ask_renewal, self._ask_count))
        except (FileNotFoundError, NotADirectoryError):
            return
        except (OSError, RuntimeError, SystemError, UnsupportedLibcError) as error:
            # Each platform fails in a way of its own; the vault is still compared from time to time.
            self._say_blind(*_why_blind(error))
            return
        self._say_blind(self._count(), more("max_user_watches", _WATCHES))

    def _close(self) -> None:
        observing, self._observing = self._observing, None
        if observing is not None:
            observing.close()

    def _is_same_folder(self) -> bool:
        try:
            return _identity(self._folder) == self._identity
        except OSError:
            return False

    def _count(self) -> str:
        """Find out whether all folders are watched; what is wrong if not. Folders come and go
        meanwhile: only what is missing for a while is missing."""
        for pause in _PATIENCE:
            with self._news:
                self._news.wait_for(lambda: self._is_ending, pause)
            observing = self._observing
            if observing is None or self._is_ending:
                break
            folders = count_folders(os.path.realpath(self._folder))
            watched = observing.watched()
            self._is_whole = watched is None or watched >= folders
            if self._is_whole:
                break
        else:
            return (
                f"only {watched} of {folders} folders can be watched; other changes are seen late"
            )
        return ""

    def _say_blind(self, what: str, fix: str) -> None:
        if what and fix not in self._reported:
            self._reported.add(fix)
            tell(self._listener.blind, what, fix)

    def _tend(self) -> None:
        """The thread that counts, and watches again after losses. It sleeps until there is something to do."""
        while self._rest():
            was_whole = self._is_whole
            if self._is_broken or (self._count() and was_whole):
                self._renew()

    def _rest(self) -> bool:
        """Wait until there is something to do; False when it is to end."""
        with self._news:
            while not self._is_ending:
                left = self._due - time.monotonic()
                if left <= 0:
                    self._due = _NEVER
                    return True
                self._news.wait(None if left == _NEVER else left)
        return False

    def _renew(self) -> None:
        """Watch everything again, then have everything looked at: what happened meanwhile is seen."""
        with self._opening:
            self._is_renewing = True
            self._close()
            self._is_broken = False  # what the old ones lost until they ended is looked at below
            self._open()
            self._is_renewing = False
        self._renewed = time.monotonic()
        tell(self._listener.lost)

    def _ask_renewal(self) -> None:
        """Events were dropped, or folders left with their watches."""
        with self._news:
            self._is_broken = True
            self._due = max(time.monotonic(), self._renewed + _RENEWAL_PAUSE)
            self._news.notify()

    def _ask_count(self) -> None:
        """There are new folders: count them when no more come."""
        with self._news:
            if self._is_broken:
                return
            is_asleep = self._due == _NEVER
            self._due = time.monotonic() + _QUIET
            if is_asleep:
                self._news.notify()

    def _look(self) -> None:
        """Something happened to the vault itself."""
        if not self._is_same_folder():
            self._say_gone()

    def _say_gone(self) -> None:
        """Once, and for good: a new folder can have the old one's number."""
        with self._news:
            is_news = not self._is_gone
            self._is_gone = True
        if is_news:
            tell(self._listener.folder_touched, "")


class _Inside(FileSystemEventHandler):
    """Takes the events of the vault."""

    def __init__(self, sorter: Sorter, left: Callable[[], None], grew: Callable[[], None]) -> None:
        self.sorter = sorter
        self.left = left  # a folder went out of the vault
        self._grew = grew  # a folder is new

    def dispatch(self, event: FileSystemEvent) -> None:
        """One event of a file or folder in the vault, or of the vault itself."""
        if event.is_synthetic:  # below a folder that moved, which has an event of its own
            return
        for path in (event.src_path, event.dest_path):
            if path:
                tell(self.sorter.sort, os.fsdecode(path), event.is_directory)
        if isinstance(event, DirMovedEvent) and not event.dest_path:
            # The kernel watches it still, under its old name. When a new folder of that name came and
            # went, watchdog stumbles over the end of the old one, and its thread dies (KeyError in 7.1).
            # Renewed in time, that cannot happen; if it did, the renewal mends it.
            self.left()
        elif event.is_directory and not isinstance(event, DirDeletedEvent):
            self._grew()


class _Above(FileSystemEventHandler):
    """Sees the vault come and go, from the folder above: a rename does not show in the vault."""

    def __init__(self, sorter: Sorter) -> None:
        self._sorter = sorter

    def dispatch(self, event: FileSystemEvent) -> None:
        """One event of the folder above."""
        if self._sorter.root in (event.src_path, event.dest_path):
            tell(self._sorter.root_touched)


class _Observing:
    """One observer of watchdog with its threads and its queue in the kernel, until it is closed."""

    _taking = threading.Lock()  # what appears while one has it belongs to that one

    def __init__(self, inside: _Inside) -> None:
        # Watchdog warns when a folder comes back that it never stopped watching. That is no fault.
        warnings.filterwarnings("ignore", "Callback with id", RuntimeWarning)
        _notices.attach()
        self._threads: list[BaseThread] = []
        self._is_unmounted = False
        self._above = 0  # how many watches are not in the vault
        with self._taking:
            threads, queues = set(threading.enumerate()), open_queues()
            self._observer = _new_observer()
            self._mounts = Mounts()
            with OnError(self.close), contextlib.ExitStack() as stack:
                stack.callback(self._take, threads)
                self._observer.start()
                self._queues = open_queues() - queues
                self._schedule(inside)
        _notices.lost.update((thread.ident or 0, inside.left) for thread in self._threads)

    def _schedule(self, inside: _Inside) -> None:
        root = inside.sorter.root
        above = os.path.dirname(root)
        if sys.platform == "linux" and above != root:  # elsewhere the system tells of the root
            handler = _Above(inside.sorter)
            self._observer.schedule(handler, above, event_filter=_FOLDER_EVENTS)
            self._above = self.watched() or 0
        self._observer.schedule(inside, root, recursive=True, event_filter=_EVENTS)

    def _take(self, others: set[threading.Thread]) -> None:
        new = set(threading.enumerate()) - others
        self._threads = [thread for thread in new if isinstance(thread, BaseThread)]

    def is_alive(self) -> bool:
        """Whether all threads run, and the kernel watches something: not so after an unmount."""
        if self._mounts.changed() and self.watched() == 0:
            self._is_unmounted = True
        return not self._is_unmounted and all(thread.is_alive() for thread in self._threads)

    def watched(self) -> int | None:
        """How many folders of the vault the kernel watches; None where it does not say."""
        try:
            return count_watches(self._queues) - self._above if self._queues else None
        except OSError:
            return None

    def close(self) -> None:
        """End the threads, also when watchdog fails to."""
        self._mounts.close()
        for thread in self._threads:
            _notices.lost.pop(thread.ident or 0, None)
        for thread in (self._observer, *self._threads):
            if not thread.stopped_event.is_set():
                try:
                    thread.stop()
                except Exception:  # watchdog's own books may be in disorder by then
                    log.debug("watchdog failed to stop %s", thread, exc_info=True)
        end = time.monotonic() + _CLOSING
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(max(0.0, end - time.monotonic()))


class _Notices(logging.Handler):
    """Hears what watchdog only logs, and keeps it from the terminal."""

    def __init__(self) -> None:
        super().__init__()
        self.lost: dict[int, Callable[[], None]] = {}  # by thread: whom to tell of lost events

    def attach(self) -> None:
        """Stand between watchdog and whatever prints its log; once is enough."""
        logger = logging.getLogger("watchdog")
        logger.addHandler(self)
        logger.propagate = False
        logger.setLevel(logging.WARNING)

    def emit(self, record: logging.LogRecord) -> None:
        """One line of its log."""
        text = record.getMessage()
        log.debug("watchdog: %s", text)
        if "overflow" in text and (lost := self.lost.get(record.thread or 0)):
            lost()


_notices = _Notices()


def _new_observer() -> BaseObserver:
    if sys.platform != "linux":
        from watchdog.observers import Observer

        return Observer()
    from watchdog.observers.inotify import InotifyObserver
    from watchdog.observers.inotify_move_event_grouper import InotifyMoveEventGrouper

    InotifyMoveEventGrouper.delay = _RENAME_WAIT
    return InotifyObserver(generate_full_events=True)  # tells what left from what was deleted


def _identity(folder: str) -> tuple[int, int]:
    stat = os.stat(folder)
    return stat.st_dev, stat.st_ino


def _why_blind(error: Exception) -> tuple[str, str]:
    number = error.errno if isinstance(error, OSError) else None
    if number == errno.ENOSPC:
        what = "no folder can be watched, other programs watch too many"
        return what, more("max_user_watches", _WATCHES)
    if number == errno.EMFILE:
        what = "the vault cannot be watched, too many programs watch folders"
        return what, more("max_user_instances", _INSTANCES)
    return f"the vault cannot be watched: {error}", "vaultmem sync"
