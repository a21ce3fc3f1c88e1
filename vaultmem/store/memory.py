"""Memory that glibc would keep for later: a process that lives for days gives it back.

After a storm of saves, or after embedding, that is some 60 to 150 MB. Other C libraries have no such calls,
and need none.
"""

from __future__ import annotations

import ctypes
from typing import Any

_ARENA_MAX = -8  # M_ARENA_MAX of mallopt(3)
ARENAS = 2  # by default eight for each processor, and every thread leaves its crumbs in another


def give_back() -> None:
    """Return what is free to the system."""
    if trim := _call("malloc_trim"):
        trim(0)


def keep_together() -> None:
    """Let all threads share a few pools of memory. To be called before there are threads."""
    if options := _call("mallopt"):
        options(_ARENA_MAX, ARENAS)


def _call(name: str) -> Any:
    return getattr(ctypes.CDLL(None), name, None)
