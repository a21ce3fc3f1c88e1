"""Which changes on the disk matter: a note, the settings, Git, or nothing at all.

Everything that is told is a hint. Who listens looks at the disk.
"""

from __future__ import annotations

import logging
import unicodedata
from collections.abc import Callable
from typing import Protocol

from vaultmem.store.walk import is_temporary

log = logging.getLogger("vaultmem.watch")

# What changes how notes are read. Not all of .obsidian: some of it is written at every click.
SETTINGS_FILES = frozenset(
    {
        ".obsidian/app.json",
        ".obsidian/daily-notes.json",
        ".obsidian/plugins/obsidian-kanban/data.json",
        ".obsidian/plugins/obsidian-tasks-plugin/data.json",
        ".obsidian/plugins/periodic-notes/data.json",
        ".vaultmem/config.yaml",
        "logseq/config.edn",
    }
)
_SETTINGS_FOLDERS = frozenset(
    path[:end] for path in SETTINGS_FILES for end in range(len(path)) if path[end] == "/"
)
_GIT_FILES = frozenset({"HEAD", "ORIG_HEAD", "index", "packed-refs"})


class Listener(Protocol):
    """Who is told. The calls come from several threads, must return at once, wait for nobody and
    neither start nor stop the watcher."""

    def touched(self, path: str) -> None:
        """A file appeared, changed, moved or went; the path as the disk spells it, in the vault."""

    def folder_touched(self, path: str) -> None:
        """Everything below a folder has to be looked at; "" is the whole vault."""

    def settings_touched(self) -> None:
        """A file that says how notes are read."""

    def git_touched(self) -> None:
        """Git moved its HEAD, index or refs: perhaps a checkout."""

    def lost(self) -> None:
        """Events were lost: everything has to be looked at."""

    def blind(self, what: str, fix: str) -> None:
        """Changes are not noticed, at all or in some folders; `fix` can be typed. Once per cause."""


class Sorter:
    """Turns paths into calls of a listener; must be cheap, there may be tens of thousands."""

    def __init__(self, root: str, listener: Listener, root_touched: Callable[[], None]) -> None:
        self.root = root
        self.root_touched = root_touched  # the vault itself came, went or moved
        self._listener = listener
        prefix = root.rstrip("/") + "/"
        # The system may spell the way to the vault in another form than we do.
        self._prefixes = (prefix, *(unicodedata.normalize(form, prefix) for form in ("NFC", "NFD")))

    def sort(self, path: str, is_folder: bool) -> None:
        """Tell of a change at a path of this machine."""
        inside = self._inside(path)
        if inside is None:
            if path == self.root:
                self.root_touched()
            else:
                self._listener.folder_touched("")
        elif is_folder:
            self._sort_folder(inside)
        else:
            self._sort_file(inside)

    def _inside(self, path: str) -> str | None:
        """The path from the vault on, or None when it is not below it."""
        for prefix in self._prefixes:
            if path.startswith(prefix):
                return path[len(prefix) :]
        return None

    def _sort_file(self, path: str) -> None:
        if path in SETTINGS_FILES:
            self._listener.settings_touched()
        if _is_visible(path, path):
            if not is_temporary(path):
                self._listener.touched(path)
        elif _shows_git(path):
            self._listener.git_touched()

    def _sort_folder(self, path: str) -> None:
        if path in _SETTINGS_FOLDERS:
            self._listener.settings_touched()
        if _is_visible(path, path + "/"):
            self._listener.folder_touched(path)
        elif _shows_git(path):
            self._listener.git_touched()


def tell(call: Callable[..., None], *words: object) -> None:
    """Tell somebody; what fails there must not end the thread that tells."""
    try:
        call(*words)
    except Exception:
        log.exception("a change could not be told")


def _is_visible(path: str, folders: str) -> bool:
    """Whether the vault's walk comes by there; `folders` is the path up to its last "/", or more."""
    if path.startswith(".") or "/." in path:
        return False
    return "node_modules/" not in folders or "/node_modules/" not in f"/{folders}"


def _shows_git(path: str) -> bool:
    """Whether a change there shows that HEAD, index or refs of a visible repository moved."""
    before, mark, inside = f"/{path}/".partition("/.git/")
    if not mark or "/." in before or path.endswith(".lock"):
        return False
    parts = inside.split("/")[:-1]
    for part in parts:
        if part in ("objects", "logs"):
            return False
        if part in ("refs", "reftable"):
            return True
    return not parts or parts[-1] in _GIT_FILES
