"""Read a few lines of a note for showing them; light, because every search does it."""

from __future__ import annotations

import os
import stat

from vaultmem.store.inside import open_inside

MAX_BYTES = 8_000_000


def read_lines(folder: str, path: str, first: int, last: int) -> str:
    """Lines first to last (from 1) of a note as they are now; "" when it cannot be read."""
    data = read_regular(folder, path)
    if data is None:
        return ""
    text = data.decode(_encoding(data), "replace").replace("\r\n", "\n")
    return "\n".join(text.split("\n")[first - 1 : last]).strip("\n")


def _encoding(data: bytes) -> str:
    if data[:4] in (b"\xff\xfe\0\0", b"\0\0\xfe\xff"):
        return "utf-32"
    return "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"


def read_regular(folder: str, path: str) -> bytes | None:
    """The bytes of a regular file of the vault (no link, pipe or device), or None."""
    try:
        handle = open_inside(folder, path)
    except (OSError, ValueError):
        return None
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return None
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read(MAX_BYTES)
    except OSError:
        return None
    finally:
        os.close(handle)
