"""Forwards file events to the reconciler, and restarts the watcher when it dies."""

from __future__ import annotations

import logging
import os
import threading

from vaultmem.agent.reconciler import Reconciler
from vaultmem.light import TypedDict
from vaultmem.vault.watch import Watcher

log = logging.getLogger("vaultmem.watch")

GIT_QUIET = 1.0  # a checkout touches thousands of files; compare once it is over
BLIND_EVERY = 30.0  # seconds between checks of the watcher, or full comparisons while it fails
GONE_EVERY = 5.0  # and between checks whether a missing vault is back


WatchState = TypedDict("WatchState", {"alive": bool, "whole": bool, "trouble": "str | None"})
"""The state of the watcher."""


class Watching(threading.Thread):
    """Starts the watcher, which may take a while, and again when the vault is back."""

    def __init__(self, folder: str, reconciler: Reconciler) -> None:
        super().__init__(name="watching", daemon=True)
        self.trouble: str | None = None
        self._folder = folder
        self._reconciler = reconciler
        self._watcher = Watcher(folder, self)
        self._alive = self._whole = False
        self._news = threading.Event()
        self._stopping = False

    def run(self) -> None:
        """Watch until stop(); compare everything more often while watching fails."""
        self._watcher.start()
        log.info("watching %s", self._folder)
        while True:
            self._alive, self._whole = self._watcher.is_alive(), self._watcher.is_whole()
            self._news.wait(self._pause())
            self._news.clear()
            if self._stopping:
                break
            self._check()
        self._watcher.stop()

    def stop(self) -> None:
        """Ask the thread to end."""
        self._stopping = True
        self._news.set()

    def as_dict(self) -> WatchState:
        """The state of the watcher, as data."""
        return {"alive": self._alive, "whole": self._whole, "trouble": self.trouble}

    def _pause(self) -> float:
        is_gone = not self._alive and not os.path.isdir(self._folder)
        return GONE_EVERY if is_gone else BLIND_EVERY

    def _check(self) -> None:
        if not self._watcher.is_alive():
            self._watcher.start()
            if not self._watcher.is_alive() and not os.path.isdir(self._folder):
                return  # still missing; the reconciler keeps its index
            if self._watcher.is_alive():
                log.info("watching again")
            self._reconciler.look_at_all()
        elif not self._watcher.is_whole():
            self._reconciler.look_at_all()
        else:
            self.trouble = None

    # The watcher's Listener

    def touched(self, path: str) -> None:
        """A file was touched."""
        self._reconciler.touched(path)

    def folder_touched(self, path: str) -> None:
        """A folder and everything below it were touched."""
        self._reconciler.touched(path, folder=True)
        if not path:
            self._news.set()  # the vault itself may be gone: watch for its return

    def settings_touched(self) -> None:
        """The rules by which notes are read may have changed."""
        self._reconciler.look_at_all(GIT_QUIET)

    def git_touched(self) -> None:
        """There may have been a checkout."""
        self._reconciler.look_at_all(GIT_QUIET)

    def lost(self) -> None:
        """Hints were lost."""
        log.warning("the system lost some file events; comparing the whole vault")
        self._reconciler.look_at_all()

    def blind(self, what: str, fix: str) -> None:
        """Changes are not noticed, at all or in some folders."""
        self.trouble = f"{what}; {fix}"
        log.warning(
            "%s; to mend it: %s. Until then the vault is compared every %.0f s",
            what,
            fix,
            BLIND_EVERY,
        )
