"""What the Linux kernel says of its watches on folders, and what raises its limits.

It is asked through /proc, beside watchdog, which does not say what it failed to watch. Elsewhere there
is nothing to ask: a whole tree is watched as one.
"""

from __future__ import annotations

import contextlib
import os
import select
import sys


def count_folders(root: str) -> int:
    """How many folders there are to watch: those that can be listed, hidden ones as well."""
    count = 0
    waiting = [root]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as listing:
                waiting += [item.path for item in listing if item.is_dir(follow_symlinks=False)]
        except OSError:
            continue
        count += 1
    return count


def open_queues() -> set[str]:
    """The inotify queues of this process, by file descriptor."""
    found: set[str] = set()
    if sys.platform == "linux":
        for name in os.listdir("/proc/self/fd"):
            try:
                if os.readlink(f"/proc/self/fd/{name}").endswith("inotify"):
                    found.add(name)
            except OSError:  # closed meanwhile
                continue
    return found


def count_watches(queues: set[str]) -> int:
    """How many folders are watched through some queues. Takes 30 ms for 10,000."""
    count = 0
    for name in queues:
        with open(f"/proc/self/fdinfo/{name}", encoding="ascii") as lines:
            count += sum(line.startswith("inotify wd:") for line in lines)
    return count


class Mounts:
    """Tells whether disks came or went since it was asked last; close it."""

    def __init__(self) -> None:
        self._changes = select.poll()
        self._file = -1
        if sys.platform == "linux":
            with contextlib.suppress(OSError):
                self._file = os.open("/proc/self/mountinfo", os.O_RDONLY)
                self._changes.register(self._file, select.POLLPRI | select.POLLERR)

    def changed(self) -> bool:
        """Whether anything was mounted or unmounted; False where the system does not say."""
        return self._file >= 0 and bool(self._changes.poll(0))

    def close(self) -> None:
        """Ask no more."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def more(limit: str, number: int) -> str:
    """What raises a limit of the kernel."""
    with (
        contextlib.suppress(OSError, ValueError),
        open(f"/proc/sys/fs/inotify/{limit}", encoding="ascii") as file,
    ):
        number = max(number, 2 * int(file.read()))
    return f"sudo sysctl fs.inotify.{limit}={number} && vaultmem restart"
