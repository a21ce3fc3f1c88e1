"""Open a file of the vault so that no symbolic link on the way can lead out of it."""

from __future__ import annotations

import os

_FILE = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_BY_FOLDER = os.open in os.supports_dir_fd


def open_inside(root: str, path: str) -> int:
    """A file handle for reading; OSError when it is not there, or any part of its path is a link.

    Folder by folder, because a folder may be swapped for a link between the listing and the reading.
    Nonblocking: a fifo must not stop us. The root itself may be a link, the user chose it.
    """
    parts = path.split("/")
    if ".." in parts:
        raise PermissionError(1, "leads out of the vault", path)
    if not _BY_FOLDER:
        return os.open(os.path.join(root, path), _FILE | _NO_LINK)
    folder = os.open(root, _FOLDER)
    try:
        for part in parts[:-1]:
            inner = os.open(part, _FOLDER | _NO_LINK, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(parts[-1], _FILE | _NO_LINK, dir_fd=folder)
    finally:
        os.close(folder)
