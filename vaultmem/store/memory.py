"""Memory that glibc would keep for later: a process that lives for days gives it back.

After a storm of saves, or after embedding, that is some 60 to 150 MB. Other C libraries have no such calls,
and need none.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from typing import Any

_ARENA_MAX, _MMAP_THRESHOLD = -8, -3  # of mallopt(3)
ARENAS = 2  # by default eight for each processor, and every thread leaves its crumbs in another
# Bytes from which a piece has pages of its own, which the system has back when it is free. By default glibc raises
# this to 32 MB as it goes, and what a batch of texts has used lies between the crumbs for good.
LARGE = 131_072
NUMBERS = "numbers.bin"  # the file of a model that is mapped for reading only
_DONTNEED = 4  # of madvise(2)
# Held by whoever maps or unmaps the numbers of a model. What takes their place in memory would be wiped by give_back().
mapping = threading.RLock()


def give_back() -> None:
    """Return what is free to the system, and what can be read again from its file."""
    if trim := _call("malloc_trim"):
        trim(0)
    if advise := _call("madvise"):
        with mapping:
            for start, end in _mapped():
                advise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), _DONTNEED)


def _mapped() -> Iterator[tuple[int, int]]:
    """Where the numbers of a model are."""
    try:
        with open("/proc/self/maps", encoding="utf-8") as file:
            lines = [line.split() for line in file if line.rstrip().endswith(f"/{NUMBERS}")]
    except OSError:
        return
    for place, *_ in lines:
        start, _, end = place.partition("-")
        yield int(start, 16), int(end, 16)


def keep_together() -> None:
    """Let all threads share a few pools of memory, and nothing large be in them. To be called before there are
    threads."""
    if options := _call("mallopt"):
        options(_ARENA_MAX, ARENAS)
        options(_MMAP_THRESHOLD, LARGE)


def _call(name: str) -> Any:
    return getattr(ctypes.CDLL(None), name, None)
