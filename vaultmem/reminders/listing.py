"""What waits, as it was found last: a file beside the index, so that whoever asks again need not open that.

<state>/pending.json holds the items and what they depend on: the day, the settings, the files they were read from.
When any of that is another, the listing counts for nothing. Light, because a start-up hook waits for it.
"""

from __future__ import annotations

import json
import os
import time

from vaultmem import __version__, client, config, paths
from vaultmem.errors import VaultmemError, VaultNotFoundError
from vaultmem.text.values import TYPE_CHECKING, value

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypedDict

    class Row(TypedDict):
        """An item as it may be shown to anybody: its words are one line, and nothing in them is markup."""

        id: str
        section: str  # a key of reminders.pending_page.HEADINGS
        text: str
        due: str | None  # an ISO day, or day and time
        source: str  # path:line, as it is
        place: str  # the same, as an assistant may be shown it
        title: str
        scope: str  # who sees it
        repeat: str | None
        author: str  # the assistant that wrote it; "" for the person
        memory: str

    class Fact(TypedDict):
        """What holds about the person or a project, in one line that is safe to show."""

        id: str  # of the memory
        text: str
        day: str  # since when it is known
        author: str  # the assistant that wrote it; "" for the person
        scope: str  # who is told
        project: str  # "" for the person
        ends: str


NAME = "pending.json"
DAYS = 31  # that a listing looks ahead
SECTIONS = ("today", "soon", "overdue", "older", "review", "preferences")
_MOST = 16_000_000  # bytes
_WORDS = ("id", "section", "text", "source", "place", "title", "scope", "author", "memory")
_OR_NONE = ("due", "repeat")
_OF_FACTS = ("id", "text", "day", "author", "scope", "project", "ends")


@value
class Listed:
    """What waits, with what there is to say about the settings by which it was found."""

    rows: list[Row]
    warnings: list[str]
    facts: list[Fact]


def kept(named: str | None, now: float) -> Listed | None:
    """What waits in the vault that is named or meant; None where it has to be found anew."""
    try:
        folder = vault_of(named)
    except VaultmemError:
        return None  # whoever opens it says why
    found = _read(os.path.join(paths.state_folder(folder), NAME))
    if found is None or found.get("for") != surroundings(folder, now):
        return None
    files, until, said = found.get("files"), found.get("until"), found.get("warnings")
    if not isinstance(files, dict) or not isinstance(until, str) or not isinstance(said, list):
        return None
    if (until and minute(now) >= until) or files != stats(files):
        return None
    rows = _rows(found.get("items"))
    facts = _facts(found.get("facts"))
    if rows is None or facts is None:
        return None
    return Listed(rows, [str(one) for one in said], facts)


def vault_of(named: str | None) -> str:
    """The vault that is named or meant. The settings are read last: that takes longest."""
    try:
        return paths.choose_vault(named, None)
    except VaultNotFoundError:
        return paths.choose_vault(named, config.load(None).text("vault"))


def by_section(rows: list[Row], days: int, now: float) -> dict[str, list[Row]]:
    """What waits by its section; of what is due later, only what is so within `days`."""
    last = _day_after(now, days)
    found: dict[str, list[Row]] = {section: [] for section in SECTIONS}
    for row in rows:
        is_far = row["section"] == "soon" and (row["due"] or "")[:10] > last
        if row["section"] in found and not is_far:
            found[row["section"]].append(row)
    return found


def _day_after(now: float, days: int) -> str:
    """The day on the calendar that many days later."""
    year, month, day = time.localtime(now)[:3]
    noon = time.mktime((year, month, day + days, 12, 0, 0, 0, 0, -1))
    return minute(noon)[:10]


def surroundings(folder: str, now: float) -> dict[str, object]:
    """What items depend on beside files, ready for JSON: the day, the settings, the zone, and who has found them."""
    signature = [None if one is None else list(one) for one in config.signature(folder)]
    return {
        "version": __version__,
        "day": minute(now)[:10],
        "settings": client.settings(),
        "files": signature,
    }


def minute(now: float) -> str:
    """A moment on the clock on the wall: 2026-11-22T09:00."""
    return time.strftime("%Y-%m-%dT%H:%M", time.localtime(now))


def stats(files: Iterable[str]) -> dict[str, list[int]]:
    """What changes when one of the files does; of one that is empty or not there, nothing. What SQLite keeps beside
    a file comes and goes without saying anything."""
    found: dict[str, list[int]] = {}
    for path in files:
        try:
            status = os.stat(path)
        except (OSError, ValueError):
            status = None
        there = status is not None and status.st_size
        found[path] = (
            [status.st_ino, status.st_size, status.st_mtime_ns] if status and there else []
        )
    return found


def _read(path: str) -> dict[str, object] | None:
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        with open(handle, "rb") as file:
            found = json.loads(file.read(_MOST))
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _rows(items: object) -> list[Row] | None:
    """The items, if each is one."""
    if not isinstance(items, list) or not all(map(_is_row, items)):
        return None
    return items


def _facts(given: object) -> list[Fact] | None:
    """The facts, if each is one."""
    if not isinstance(given, list):
        return None
    whole = all(
        isinstance(one, dict) and all(isinstance(one.get(name), str) for name in _OF_FACTS)
        for one in given
    )
    return given if whole else None


def _is_row(item: object) -> bool:
    return (
        isinstance(item, dict)
        and all(isinstance(item.get(name), str) for name in _WORDS)
        and all(isinstance(item.get(name), str | None) for name in _OR_NONE)
    )


# Which memories were told unasked, at the start of a session, on the page or by the desktop: a file beside the ledger.

TOLD = "told"
MOST = 1_000_000  # bytes, if no job ever comes


def note(folder: str, ids: Iterable[str], now: float) -> None:
    """Memories were told, by the state folder. Where that cannot be written down, it is forgotten."""
    lines = "".join(f"{now:.0f} {id_}\n" for id_ in dict.fromkeys(ids) if id_)
    if not lines:
        return
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)
    try:
        handle = os.open(os.path.join(folder, TOLD), flags, 0o600)
        try:
            if os.fstat(handle).st_size < MOST:
                os.write(handle, lines.encode())
        finally:
            os.close(handle)
    except OSError:
        return


def take(folder: str) -> dict[str, float]:
    """When each memory was told last, by id. It is told again until forget(): a kill loses none."""
    path = os.path.join(folder, TOLD)
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
    os.unlink(os.path.join(folder, f"{TOLD}.taken"))
