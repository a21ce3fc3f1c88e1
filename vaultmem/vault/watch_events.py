"""Which changes on the disk matter: a note, the settings, Git, or nothing at all.

Every event is only a hint; the listener looks at the disk.
"""

from __future__ import annotations

import contextlib
import os
import sys
import unicodedata

from vaultmem.light import Protocol
from vaultmem.vault.walk import is_hidden, is_temporary

# Files that change how notes are read. Not all of .obsidian: some of it is written at every click.
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


GIT_QUIET = 1.0  # seconds; a checkout touches thousands of files, to be compared once it is over


class Listener(Protocol):
    """Receives changes. Its methods are called from several threads and must return at once without waiting."""

    def touched(self, path: str, *, folder: bool = False) -> None:
        """A file appeared, changed, moved or disappeared, or anything below a folder; the path is relative to the vault
        and spelled as on disk. "" is the whole vault."""

    def look_at_all(self, within: float = 0.0) -> None:
        """Anything may have changed: events were lost, Git moved its HEAD, index or refs, or a file that determines how
        notes are read changed."""


class Sorter:
    """Turns paths into calls of a listener. It must be fast, as there may be tens of thousands."""

    def __init__(self, root: str, listener: Listener) -> None:
        self.root = root
        self._listener = listener
        prefix = root.rstrip("/") + "/"
        # The system may spell the path to the vault in another Unicode form than we do.
        self._prefixes = (prefix, *(unicodedata.normalize(form, prefix) for form in ("NFC", "NFD")))

    def sort(self, path: str, is_folder: bool) -> None:
        """Report a change at an absolute path."""
        inside = self._inside(path)
        if inside is None:  # the vault itself, or a folder that left it
            self._listener.touched("", folder=True)
            return
        settings = _SETTINGS_FOLDERS if is_folder else SETTINGS_FILES
        if inside in settings:
            self._listener.look_at_all(GIT_QUIET)
        if _is_visible(inside, f"{inside}/" if is_folder else inside):
            if is_folder or not is_temporary(inside):
                self._listener.touched(inside, folder=is_folder)
        elif _shows_git(inside):
            self._listener.look_at_all(GIT_QUIET)

    def _inside(self, path: str) -> str | None:
        """The path relative to the vault; None when it is not below it."""
        for prefix in self._prefixes:
            if path.startswith(prefix):
                return path[len(prefix) :]
        return None


def _is_visible(path: str, folders: str) -> bool:
    """Whether the walk of the vault reaches a path; `folders` is the path up to its last "/", or more."""
    if is_hidden(path):
        return False
    return "node_modules/" not in folders or "/node_modules/" not in f"/{folders}"


def _shows_git(path: str) -> bool:
    """Whether a change at this path means that HEAD, index or refs of a visible repository changed."""
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


# The Linux kernel's watches on folders, and how to raise its limits.


def count_folders(root: str) -> int:
    """The number of folders to watch: those that can be listed, including hidden ones."""
    return sum(1 for _ in os.walk(root))


def open_queues() -> set[str]:
    """The inotify queues of this process, by file descriptor."""
    queues: set[str] = set()
    if sys.platform == "linux":
        for name in os.listdir("/proc/self/fd"):
            try:
                if os.readlink(f"/proc/self/fd/{name}").endswith("inotify"):
                    queues.add(name)
            except OSError:  # closed meanwhile
                continue
    return queues


def count_watches(queues: set[str]) -> int:
    """The number of folders that are watched through some queues. Takes 30 ms for 10,000."""
    count = 0
    for name in queues:
        with open(f"/proc/self/fdinfo/{name}", encoding="ascii") as lines:
            count += sum(line.startswith("inotify wd:") for line in lines)
    return count


LIMITS = "/proc/sys/fs/inotify"


def higher_limit(limit: str, number: int) -> int:
    """A number for a limit of the kernel that is at least twice what it is now."""
    with (
        contextlib.suppress(OSError, ValueError),
        open(f"{LIMITS}/{limit}", encoding="ascii") as file,
    ):
        number = max(number, 2 * int(file.read()))
    return number


def raise_limit(limit: str, number: int) -> str:
    """The command that raises a limit of the kernel."""
    return f"sudo sysctl fs.inotify.{limit}={higher_limit(limit, number)} && vaultmem restart"
