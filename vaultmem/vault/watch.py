"""Watches a vault for changes through the system, and reports when changes may be missed.

It notices what watchdog ignores: lost events, folders that cannot be watched, a vault that moved, threads that died;
and then watches again.
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

from vaultmem.light import TypedDict
from vaultmem.text.values import OnError
from vaultmem.vault.watch_events import (
    Listener,
    Sorter,
    count_folders,
    count_watches,
    open_queues,
    raise_limit,
)

log = logging.getLogger("vaultmem.watch")

# Not opened, read or closed: reading a folder would be an event, and where watchdog walks through many folders to
# watch them, that would never end.
_EVENTS: list[type[FileSystemEvent]] = [
    events.DirCreatedEvent, DirMovedEvent, DirDeletedEvent, events.FileCreatedEvent, events.FileModifiedEvent,
    events.FileClosedEvent, events.FileMovedEvent, events.FileDeletedEvent,
]  # fmt: skip
# Seconds that watchdog waits for the second half of a rename. Its own 0.5 s block its thread: all events after a note
# that left the vault wait, too, and so does every second save by rename.
_RENAME_WAIT = 0.02
_QUIET = 1.0  # seconds without new folders before folders are counted
_RENEWAL_PAUSE = 2.0  # least seconds between two renewals
_PATIENCE = (0.0, 0.2, 0.6)  # seconds between counts before folders are reported as unwatched
_CLOSING = 1.0  # seconds that threads have to end
_NEVER = float("inf")
_WATCHES, _INSTANCES = 524_288, 1024  # suggested limits of the kernel
CHECK_EVERY = 30.0  # seconds between checks of the watches, or full comparisons while they fail
GONE_EVERY = 5.0  # and between checks whether a missing vault is back


WatchState = TypedDict("WatchState", {"alive": bool, "whole": bool, "trouble": "str | None"})
"""The state of the watcher."""


class Watcher(threading.Thread):
    """Reports changes in a folder to a listener, until stop(); watches again when the folder is back, or after watchdog
    failed."""

    def __init__(self, folder: str, listener: Listener) -> None:
        super().__init__(name="watching", daemon=True)
        self.trouble: str | None = None  # why changes are not noticed, at all or in some folders
        self._folder = folder
        self._listener = listener
        self._observing: _Observing | None = None
        self._identity = (0, 0)
        self._is_whole = False
        self._logged: set[str] = set()
        self._news = threading.Condition()  # guards the following
        self._is_ending = self._is_broken = False
        self._due = _NEVER
        self._renewed = -_NEVER

    def run(self) -> None:
        """Watch until stop()."""
        self._open()
        log.info("watching %s", self._folder)
        self._listener.look_at_all()  # changes may be older than the watch
        while self._rest():
            self._check()
        self._close()

    def stop(self) -> None:
        """Ask the thread to end."""
        with self._news:
            self._is_ending = True
            self._news.notify()

    def as_dict(self) -> WatchState:
        """The state of the watcher, as data."""
        alive = self._observing is not None
        return {"alive": alive, "whole": self._is_whole, "trouble": self.trouble}

    def _open(self) -> None:
        self._is_whole, self.trouble = False, None
        root = os.path.realpath(self._folder)
        sorter = Sorter(root, self._listener)
        try:
            self._identity = _identity(root)
            self._observing = _Observing(_Inside(sorter, self._ask_renewal, self._ask_count))
        except (FileNotFoundError, NotADirectoryError):
            return
        except (OSError, RuntimeError, SystemError, UnsupportedLibcError) as error:
            # Each platform fails in its own way; the vault is still compared from time to time.
            self._say_blind(*_why_blind(error))
            return
        if problem := self._count():
            self._say_blind(problem, raise_limit("max_user_watches", _WATCHES))

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
        """Check whether all folders are watched. Returns the problem, or "". Folders come and go meanwhile, so only a
        lasting difference counts."""
        for pause in _PATIENCE:
            with self._news:
                self._news.wait_for(lambda: self._is_ending, pause)
            if self._observing is None or self._is_ending:
                break
            folders = count_folders(os.path.realpath(self._folder))
            watched = self._observing.watched()
            self._is_whole = watched is None or watched >= folders
            if self._is_whole:
                break
        else:
            return f"only {watched} of {folders} folders can be watched; changes elsewhere are noticed late"
        return ""

    def _say_blind(self, what: str, fix: str) -> None:
        self.trouble = f"{what}; {fix}"
        if fix not in self._logged:
            self._logged.add(fix)
            until = f"until then the vault is compared every {CHECK_EVERY:.0f} s"
            log.warning("%s; to mend it: %s; %s", what, fix, until)

    def _rest(self) -> bool:
        """Wait for work, or until the next check. Returns False when the thread should end."""
        is_there = self._observing is not None or os.path.isdir(self._folder)
        check_at = time.monotonic() + (CHECK_EVERY if is_there else GONE_EVERY)
        with self._news:
            while not self._is_ending:
                left = min(self._due, check_at) - time.monotonic()
                if left <= 0:
                    return True
                self._news.wait(left)
        return False

    def _check(self) -> None:
        """Count folders after new ones came, and watch everything again where that does not work any more."""
        with self._news:
            is_due, self._due = self._due <= time.monotonic(), _NEVER
        if self._is_broken or not self._still_watches() or (is_due and self._count()):
            self._renew()
        elif self._is_whole:
            self.trouble = None
        else:
            self._listener.look_at_all()

    def _still_watches(self) -> bool:
        """Whether it watches the folder that it was started for."""
        observing = self._observing
        return observing is not None and observing.is_alive() and self._is_same_folder()

    def _renew(self) -> None:
        """Watch everything again, then have the vault compared, so that nothing in between is missed."""
        was_there = self._observing is not None
        self._close()
        self._is_broken = False  # events lost by the old ones are made up for below
        self._open()
        self._renewed = time.monotonic()
        if os.path.isdir(self._folder):
            self._listener.look_at_all()
        elif was_there:  # otherwise it is still missing
            self._listener.touched("", folder=True)

    def _ask_renewal(self) -> None:
        """Request a renewal: events were dropped, or watched folders left the vault."""
        with self._news:
            self._is_broken = True
            self._due = max(time.monotonic(), self._renewed + _RENEWAL_PAUSE)
            self._news.notify()

    def _ask_count(self) -> None:
        """Request a count once no more new folders appear; it is needless if some are known to be unwatched."""
        with self._news:
            if self._is_broken or not self._is_whole:
                return
            is_asleep = self._due == _NEVER
            self._due = time.monotonic() + _QUIET
            if is_asleep:
                self._news.notify()


class _Inside(FileSystemEventHandler):
    """Handles the events inside the vault."""

    def __init__(self, sorter: Sorter, left: Callable[[], None], grew: Callable[[], None]) -> None:
        self.sorter = sorter
        self.left = left  # called when a folder left the vault
        self._grew = grew  # called when a folder is new

    def dispatch(self, event: FileSystemEvent) -> None:
        """Handle one event of a file or folder in the vault, or of the vault itself."""
        if event.is_synthetic:  # below a folder that moved, which has its own event
            return
        for path in (event.src_path, event.dest_path):
            if path:
                try:
                    self.sorter.sort(os.fsdecode(path), event.is_directory)
                except Exception:  # a fault of the listener must not end watchdog's thread
                    log.exception("a change could not be reported")
        if isinstance(event, DirMovedEvent) and not event.dest_path:
            # The kernel still watches it under its old name. When a new folder of that name comes and goes, the end
            # of the old watch kills watchdog's thread (KeyError in 7.1). A timely renewal prevents that, and a late
            # one repairs it.
            self.left()
        elif event.is_directory and not isinstance(event, DirDeletedEvent):
            self._grew()


class _Observing:
    """One observer of watchdog with its threads and its queue in the kernel, until it is closed."""

    _taking = threading.Lock()  # threads that start while it is held belong to the holder

    def __init__(self, inside: _Inside) -> None:
        # Watchdog warns when a folder comes back that it never stopped watching, which is harmless.
        warnings.filterwarnings("ignore", "Callback with id", RuntimeWarning)
        _notices.attach()
        self._threads: list[BaseThread] = []
        with self._taking:
            threads, queues = set(threading.enumerate()), open_queues()
            self._observer = _new_observer()
            with OnError(self.close), contextlib.ExitStack() as stack:
                stack.callback(self._take, threads)
                self._observer.start()
                self._queues = open_queues() - queues
                root = inside.sorter.root
                self._observer.schedule(inside, root, recursive=True, event_filter=_EVENTS)
        _notices.lost.update((thread.ident or 0, inside.left) for thread in self._threads)

    def _take(self, others: set[threading.Thread]) -> None:
        new = set(threading.enumerate()) - others
        self._threads = [thread for thread in new if isinstance(thread, BaseThread)]

    def is_alive(self) -> bool:
        """Whether all threads run and the kernel still watches something, which it does not after an unmount."""
        return self.watched() != 0 and all(thread.is_alive() for thread in self._threads)

    def watched(self) -> int | None:
        """The number of folders of the vault that the kernel watches; None where it is unknown."""
        try:
            return count_watches(self._queues) if self._queues else None
        except OSError:
            return None

    def close(self) -> None:
        """End the threads, even when watchdog fails to."""
        for thread in self._threads:
            _notices.lost.pop(thread.ident or 0, None)
        for thread in (self._observer, *self._threads):
            if not thread.stopped_event.is_set():
                try:
                    thread.stop()
                except Exception:  # watchdog's own state may be inconsistent by then
                    log.debug("watchdog failed to stop %s", thread, exc_info=True)
        end = time.monotonic() + _CLOSING
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(max(0.0, end - time.monotonic()))


class _Notices(logging.Handler):
    """Reads from watchdog's log what it reports nowhere else, and keeps it off the terminal."""

    def __init__(self) -> None:
        super().__init__()
        self.lost: dict[int, Callable[[], None]] = {}  # by thread: the callback for lost events

    def attach(self) -> None:
        """Install the handler on watchdog's logger, once."""
        logger = logging.getLogger("watchdog")
        logger.addHandler(self)
        logger.propagate = False
        logger.setLevel(logging.WARNING)

    def emit(self, record: logging.LogRecord) -> None:
        """Handle one log record."""
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
    return InotifyObserver(generate_full_events=True)  # distinguishes moved from deleted files


def _identity(folder: str) -> tuple[int, int]:
    stat = os.stat(folder)
    return stat.st_dev, stat.st_ino


def _why_blind(error: Exception) -> tuple[str, str]:
    number = error.errno if isinstance(error, OSError) else None
    if number == errno.ENOSPC:
        what = "no folder can be watched: other programs watch too many"
        return what, raise_limit("max_user_watches", _WATCHES)
    if number == errno.EMFILE:
        what = "the vault cannot be watched: too many programs watch folders"
        return what, raise_limit("max_user_instances", _INSTANCES)
    return f"the vault cannot be watched: {error}", "vaultmem sync"
