"""Renames that the system does in one step and Python has no name for: to a free place only, and two for each other."""

from __future__ import annotations

import errno
import os
import sys
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_HERE = -100  # AT_FDCWD of Linux
_MAC = sys.platform == "darwin"
_FREE, _EXCHANGE = (4, 2) if _MAC else (1, 2)  # flags of renamex_np() and of renameat2()
# What systems and drives say that cannot rename so; a sandbox may say that it is not permitted.
_UNABLE = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM}


def rename_to_free(source: str, place: str) -> bool:
    """Rename a file; FileExistsError when the place is taken. False where that cannot be done in one step."""
    return _renamed(source, place, _FREE)


def exchange(one: str, other: str) -> bool:
    """Let two files change places. False where that cannot be done in one step."""
    return _renamed(one, other, _EXCHANGE)


def _renamed(source: str, place: str, flag: int) -> bool:
    call = _system_rename()
    code = errno.ENOSYS if call is None else call(os.fsencode(source), os.fsencode(place), flag)
    if code in _UNABLE:
        return False
    if code:
        raise OSError(code, os.strerror(code), source)
    return True


@cache
def _system_rename() -> Callable[[bytes, bytes, int], int] | None:
    """The system's rename with flags, giving 0 or an error number."""
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)
    name = "renamex_np" if _MAC else "renameat2"
    if not hasattr(library, name):
        return None
    function = getattr(library, name)

    def renamed(source: bytes, place: bytes, flag: int) -> int:
        where = (source, place) if _MAC else (_HERE, source, _HERE, place)
        return ctypes.get_errno() if function(*where, flag) else 0

    return renamed
