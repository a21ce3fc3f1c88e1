"""Open a file of the vault so that no symbolic link on the way can lead out of it."""

from __future__ import annotations

import os

_FILE = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
MOST_OPEN = (
    64  # folders; a process may have 256 files open on some systems, and eight searches at once
)
_BY_FOLDER = os.open in os.supports_dir_fd


def open_inside(root: str, path: str) -> int:
    """A file handle for reading; OSError when it is not there, or any part of its path is a link.

    Folder by folder, because a folder may be swapped for a link between the listing and the reading.
    Nonblocking: a fifo must not stop us. The root itself may be a link, the user chose it.
    """
    with Inside(root) as inside:
        return inside.open(path)


class Inside:
    """Opens files of a vault as open_inside() does; of many, each folder is opened once."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._folders: dict[str, int] = {}

    def __enter__(self) -> Inside:
        return self

    def __exit__(self, *_: object) -> None:
        for handle in self._folders.values():
            os.close(handle)
        self._folders.clear()

    def open(self, path: str) -> int:
        """A file handle for reading; OSError as open_inside()."""
        if ".." in path.split("/"):
            raise PermissionError(1, "leads out of the vault", path)
        if not _BY_FOLDER:
            return os.open(os.path.join(self._root, path), _FILE | _NO_LINK)
        folder, _, name = path.rpartition("/")
        return os.open(name, _FILE | _NO_LINK, dir_fd=self._folder(folder))

    def _folder(self, path: str) -> int:
        """The handle of a folder, from the innermost one that is open already."""
        missing = []
        while path not in self._folders and path:
            path, _, name = path.rpartition("/")
            missing.append(name)
        if path not in self._folders:
            self._folders[path] = os.open(self._root, _FOLDER)
        for name in reversed(missing):
            outer = self._folders[path]
            path = f"{path}/{name}" if path else name
            self._folders[path] = os.open(name, _FOLDER | _NO_LINK, dir_fd=outer)
        handle = self._folders[path]
        if len(self._folders) > MOST_OPEN:
            self._close_all_but(path)
        return handle

    def _close_all_but(self, path: str) -> None:
        kept = self._folders.pop(path)
        for handle in self._folders.values():
            os.close(handle)
        self._folders = {path: kept}
