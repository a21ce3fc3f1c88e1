"""Forwards file events to the reconciler, and restarts the watcher when it dies."""

from __future__ import annotations

import logging
import os
import threading

from vaultmem.agent.reconciler import Reconciler
from vaultmem.light import TypedDict
from vaultmem.vault.watch import Watcher

log = logging.getLogger("vaultmem.watch")

GIT_QUIET = 1.0  # a checkout touches thousands of files; compare when it is over
BLIND_EVERY = 30.0  # seconds between looks whether changes are noticed, and at everything while they are not (wholly)
GONE_EVERY = 5.0  # and between looks whether a vault that went has come back


WatchState = TypedDict("WatchState", {"alive": bool, "whole": bool, "trouble": "str | None"})
"""The state of the watcher."""


class Watching(threading.Thread):
    """Starts the watcher, which may take a while, and again when the vault has come back."""

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
        """Watch until stop(); look at everything more often while that does not work."""
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
                return  # still gone; the reconciler keeps what it knows
            if self._watcher.is_alive():
                log.info("watching again")
            self._reconciler.look_at_all()
        elif not self._watcher.is_whole():
            self._reconciler.look_at_all()
        else:
            self.trouble = None

    # The watcher's Listener

    def touched(self, path: str) -> None:
        """A file."""
        self._reconciler.touched(path)

    def folder_touched(self, path: str) -> None:
        """A folder, and all that is below."""
        self._reconciler.touched(path, folder=True)
        if not path:
            self._news.set()  # the vault itself may have gone: from now on, see whether it comes back

    def settings_touched(self) -> None:
        """How notes are read may have changed."""
        self._reconciler.look_at_all(GIT_QUIET)

    def git_touched(self) -> None:
        """Perhaps a checkout."""
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
