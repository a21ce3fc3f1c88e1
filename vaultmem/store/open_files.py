"""Whether some program has a file open for writing, as far as the system tells."""

from __future__ import annotations

import errno
import fcntl
import signal
import time

PAUSE = 0.002  # seconds between looks
UNKNOWN = 0.01  # what is waited where the system does not tell: an editor opens, writes and closes at once
_LEASES = hasattr(fcntl, "F_SETLEASE")  # Linux
_F_SETSIG = 10  # of fcntl(2); Python has no name for it


def wait_for_writers(handle: int, most: float) -> bool:
    """Wait until nobody has the file open for writing, at most so many seconds; whether that is so for sure. The
    handle must be one for reading, and the only one of this process."""
    deadline = time.monotonic() + most
    while (free := _is_free(handle)) is False:
        if time.monotonic() > deadline:
            return False
        time.sleep(PAUSE)
    if free is None:
        time.sleep(UNKNOWN)
    return bool(free)


def _is_free(handle: int) -> bool | None:
    """Whether nobody writes; None when the system does not tell.

    The kernel grants a read lease only on a file that nobody has open for writing. It is given back at once; who opens
    the file in that moment makes the kernel send a signal, for which one is chosen that does nothing.
    """
    if not _LEASES:
        return None
    try:
        fcntl.fcntl(handle, _F_SETSIG, signal.SIGURG)
        fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except OSError as error:
        return False if error.errno == errno.EAGAIN else None
    fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    return True
