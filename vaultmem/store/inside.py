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
        handle = self._folders.get(path)
        if handle is None:
            if path:
                outer, _, name = path.rpartition("/")
                handle = os.open(name, _FOLDER | _NO_LINK, dir_fd=self._folder(outer))
            else:
                handle = os.open(self._root, _FOLDER)
            self._folders[path] = handle
        return handle
