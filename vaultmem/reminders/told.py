"""Which memories were told unasked, at the start of a session, on the page or by the desktop: a file beside the ledger.

Not in the ledger itself: a start-up hook has no time to open it, and the listing that the next hook reads is out of
date when the ledger changes. Jobs take it into the ledger (store.reads) before they look which memories were used.
"""

from __future__ import annotations

import os

from vaultmem.core.values import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

NAME = "told"
MOST = 1_000_000  # bytes, if no job ever comes


def note(folder: str, ids: Iterable[str], now: float) -> None:
    """Memories were told, by the state folder. Where that cannot be written down, it is forgotten."""
    lines = "".join(f"{now:.0f} {id_}\n" for id_ in dict.fromkeys(ids) if id_)
    if not lines:
        return
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)
    try:
        handle = os.open(os.path.join(folder, NAME), flags, 0o600)
        try:
            if os.fstat(handle).st_size < MOST:
                os.write(handle, lines.encode())
        finally:
            os.close(handle)
    except OSError:
        return


def take(folder: str) -> dict[str, float]:
    """When each memory was told last, by id. It is told again until forget(): a kill loses none."""
    path = os.path.join(folder, NAME)
    found: dict[str, float] = {}
    try:
        if not os.path.exists(f"{path}.taken"):
            os.rename(path, f"{path}.taken")
        with open(f"{path}.taken", encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
    except OSError:
        return found
    for line in lines:
        at, _, id_ = line.partition(" ")
        if id_ and at.isdecimal():
            found[id_] = max(float(at), found.get(id_, 0.0))
    return found


def forget(folder: str) -> None:
    """What was taken is in the ledger."""
    os.unlink(os.path.join(folder, f"{NAME}.taken"))
