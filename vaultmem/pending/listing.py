"""What was pending at the last request: a file beside the index, so that the next request need not open the index.

<state>/pending.json holds the items and what they depend on: the day, the settings, the files they were read from. If
any of these differs, the listing is invalid. Light, because a start-up hook waits for it.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from functools import cache

from vaultmem import __version__, client, config, paths
from vaultmem.errors import VaultmemError, VaultNotFoundError
from vaultmem.memories.access import Viewer, hidden_now, reason
from vaultmem.text.values import TYPE_CHECKING, json_object, remembers_each, value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, TypedDict

    from vaultmem.adapter import JsonObject
    from vaultmem.api.memory_vault import MemoryVault

    class Row(TypedDict):
        """An item as displayed: one line of text without markup."""

        id: str
        section: str  # a key of reminders.items.HEADINGS
        text: str
        due: str | None  # an ISO day, or day and time
        source: str  # path:line, unchanged
        place: str  # the same, as an assistant may see it
        title: str
        scope: str  # who may see it
        private: bool  # in a private note, so hidden from assistants
        repeat: str | None
        author: str  # the assistant that wrote it; "" for the person
        memory: str
        known: str  # for a preference, its day

    class Fact(TypedDict):
        """A fact about the person or a project, in one line that is safe to show."""

        id: str  # of the memory
        text: str
        day: str  # the day it became known
        author: str  # the assistant that wrote it; "" for the person
        scope: str  # who may see it
        project: str  # "" for the person
        ends: str
        source: str  # its note


NAME = "pending.json"
DAYS = 31  # that a listing looks ahead
SECTIONS = ("today", "soon", "overdue", "older", "review", "preferences")
_MOST = 16_000_000  # bytes
_SHORT = 40  # characters of a rule, or of a name


@value
class Listed:
    """The pending items, with the warnings about the settings."""

    rows: list[Row]
    warnings: list[str]
    facts: list[Fact]
    review: int = 0  # how many things vaultmem review lists
    folder: str = ""  # the vault


def remark(row: Row) -> str:
    """How often an item repeats, and which assistant wrote it, in parentheses; "" for neither."""
    marks = ", ".join(filter(None, [row["repeat"], row["author"] and f"by {row['author']}"]))
    return f" ({marks})" if marks else ""


# --- Reading


def read(named: str | None, now: float) -> Listed | None:
    """The stored listing of the vault; None if it is outdated or missing."""
    try:
        folder = vault_of(named)
    except VaultmemError:
        return None  # opening the vault reports why
    listing = _read(os.path.join(paths.state_folder(folder), NAME))
    if listing.get("for") != _surroundings(folder, now):
        return None
    try:
        until, stats = listing["until"], listing["files"]
        if (until and minute(now) >= until) or stats != _stats(stats):
            return None
        return Listed(
            listing["items"], listing["warnings"], listing["facts"], listing["review"], folder
        )
    except (KeyError, TypeError, AttributeError):  # another shape: collect it again
        return None


def vault_of(named: str | None) -> str:
    """The named vault, or the default one. The settings are read last, as that takes longest."""
    try:
        return paths.choose_vault(named, None)
    except VaultNotFoundError:
        return config.choose_vault(named)


def by_section(listed: Listed, days: int, now: float, to: Viewer) -> dict[str, list[Row]]:
    """The items that `to` may see, by section; future ones only within `days`."""
    last = _days_later(now, days)
    hidden_at = cache(lambda path, memory: is_hidden_now(listed.folder, path, to, memory=memory))
    sections: dict[str, list[Row]] = {section: [] for section in SECTIONS}
    for row in listed.rows:
        is_far = row["section"] == "soon" and (row["due"] or "")[:10] > last
        if is_far or row["section"] not in sections:
            continue
        is_hidden = reason(row["scope"], to, private=row["private"])
        if not (is_hidden or hidden_at(note_of(row), bool(row["memory"]))):
            sections[row["section"]].append(row)
    return sections


def note_of(row: Mapping[str, object]) -> str:
    """The path of the note that contains an item."""
    source = str(row.get("source") or "")
    path, _, line = source.rpartition(":")
    return path if line.isdigit() else source


def is_hidden_now(folder: str, path: str, to: Viewer, *, memory: bool) -> bool:
    """Whether `to` may not see a note as it is now, which the index may not know yet."""
    if not to.name:
        return False
    try:
        with open(os.path.join(folder, path), "rb", buffering=0) as file:
            # To read gets memory for as many bytes as it may read.
            data = file.read(min(os.fstat(file.fileno()).st_size, _MOST))
    except FileNotFoundError:  # it is gone, or macOS has written its name
        from vaultmem.vault.files import on_disk  # rarely needed

        raw = None if path.isascii() else on_disk(folder, path)
        return raw not in (None, path) and is_hidden_now(folder, str(raw), to, memory=memory)
    except OSError:  # there is no note
        return False
    low = data.lower()
    # Most notes have no mark, no escape that may spell one, and are UTF-8; decoding takes longer.
    if not any(part in low for part in (b"private", b"scope", b"\\", b"\0")):
        return False
    if b"\0" in data:
        from vaultmem.vault.files import decode  # rarely needed

        text, _ = decode(data)
    else:
        text = data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    return bool(hidden_now(text, to, memory=memory))


def minute(now: float) -> str:
    """A local time: 2026-11-22T09:00."""
    return time.strftime("%Y-%m-%dT%H:%M", time.localtime(now))


def _days_later(now: float, days: int) -> str:
    """The calendar day that many days later."""
    year, month, day = time.localtime(now)[:3]
    noon = time.mktime((year, month, day + days, 12, 0, 0, 0, 0, -1))
    return minute(noon)[:10]


def _surroundings(folder: str, now: float) -> JsonObject:
    """What items depend on besides files, ready for JSON: the day, the settings, the zone, and the collecting
    process."""
    signature = [None if part is None else list(part) for part in config.signature(folder)]
    return {
        "version": [__version__, *_CODE],
        "day": minute(now)[:10],
        "settings": client.settings(),
        "files": signature,
    }


def _stats(files: Iterable[str]) -> dict[str, list[int]]:
    """A fingerprint of the files; an empty file counts as missing."""
    stats: dict[str, list[int]] = {}
    for path in files:
        stats[path] = []
        try:
            stamp = paths.stamp(path)
        except (OSError, ValueError):
            continue
        stats[path] = [*stamp] if stamp[1] else []
    return stats


_CODE = _stats([__file__])[__file__]  # as it was loaded: another checkout may have other rows


def _read(path: str) -> dict[str, Any]:
    """The content of the file; None unless it is complete and of this version."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        with open(handle, "rb") as file:
            return json_object(file.read(_MOST))
    except (OSError, ValueError):
        return {}


# --- Collecting


def gather(vault: MemoryVault, now: float, days: int = DAYS, *, keep: bool = False) -> Listed:
    """Collect the pending items from the index; with `keep`, store them for the next request. Raises VaultmemError."""
    before = _stats(_files(vault)) if keep else {}
    surroundings = _surroundings(vault.path, now)
    answer = vault.ask("pending", days=days, facts=True)
    rows = _rows(answer["items"])
    warnings, facts = list(vault.config.warnings), answer.get("facts", [])
    listed = Listed(rows, warnings, facts, answer["review"], vault.path)
    if keep and days == DAYS and _are_settled(before):
        listing = {
            "for": surroundings, "files": before, "until": answer.get("until") or "",
            "warnings": warnings, "items": rows, "facts": facts, "review": listed.review,
        }  # fmt: skip
        _write(vault.state.folder, listing)
    return listed


def to_row(item: Mapping[str, Any]) -> Row:
    """An item that anyone may see."""
    hidden, words, line = _cleaning()
    repeat = item.get("repeat")
    return {
        "id": item["id"], "section": item["section"], "text": words(item["text"]),
        "due": item.get("due") or None, "source": item.get("source") or "",
        "place": "" if item["text"] == hidden else line(item.get("source") or ""),
        "title": line(item.get("title") or ""), "scope": item.get("scope") or "global",
        "private": bool(item.get("private")), "repeat": line(repeat, _SHORT) if repeat else None,
        "author": line(item.get("author") or "", _SHORT), "memory": item.get("memory") or "",
        "known": item.get("known") or "",
    }  # fmt: skip


_rows = remembers_each(to_row)


@cache
def _cleaning() -> tuple[str, Callable[[str], str], Callable[..., str]]:
    """The mark of private words, and what makes a text, and a name, safe to show: a start-up hook needs none of it."""
    from vaultmem.reminders.items import PRIVATE, WORDS
    from vaultmem.text.sanitize import one_line, one_line_or_placeholder
    from vaultmem.text.secrets import redact

    return PRIVATE, lambda text: one_line_or_placeholder(redact(text).text, WORDS), one_line


def _files(vault: MemoryVault) -> list[str]:
    """All files that pending items are read from. Sync copies of the page are noticed by their folders."""
    from vaultmem.notes.places import page_path
    from vaultmem.text.values import SYNC

    state, folder = vault.state, vault.config.text("memory_folder")
    catalog = os.path.join(state.generation() or state.folder, "catalog.db")
    of_state = (state.path("manifest.json"), catalog, f"{catalog}-wal", state.path("ledger.db"))
    page = page_path(folder, vault.config.text("pending.path"))
    pages = [page, os.path.dirname(page)] if page else []
    logs = f"{folder}/{SYNC}"
    if os.path.isdir(full := os.path.join(vault.path, logs)):
        pages += [f"{logs}/{name}" for name in sorted(os.listdir(full))]
    ours = dict.fromkeys([*pages, folder, logs])
    return [*of_state, *(os.path.join(vault.path, each) for each in ours)]


def _are_settled(stats: Mapping[str, list[int]]) -> bool:
    """Whether another change to a file would be noticed: within one clock tick it may not be."""
    from vaultmem.vault.files import SETTLED_NS

    now = time.time_ns()
    return all(not stat or abs(now - stat[2]) > SETTLED_NS for stat in stats.values())


def _write(folder: str, listing: object) -> None:
    """Write the listing atomically. Without it, items are collected each time."""
    with suppress(OSError, VaultmemError):
        paths.replace_private(os.path.join(paths.make_private(folder), NAME), json.dumps(listing))


# --- Memories used unasked, at a session's start, on the page or in a notification: a file beside the
# ledger

USED = "told"
MOST = 1_000_000  # bytes, if no job ever reads it


def note(folder: str, ids: Iterable[str], now: float) -> None:
    """Record the use of memories in the state folder; errors are ignored."""
    lines = "".join(f"{now:.0f} {id_}\n" for id_ in dict.fromkeys(ids) if id_)
    if not lines:
        return
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)
    try:
        handle = os.open(os.path.join(folder, USED), flags, 0o600)
        with open(handle, "ab", buffering=0) as file:
            if os.fstat(handle).st_size < MOST:
                file.write(lines.encode())
    except OSError:
        return


def take(folder: str) -> dict[str, float]:
    """When each memory was last used, by id. Returned again until forget(), so that a kill loses nothing."""
    path = os.path.join(folder, USED)
    used: dict[str, float] = {}
    try:
        if not os.path.exists(f"{path}.taken"):
            os.rename(path, f"{path}.taken")
        with open(f"{path}.taken", encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
    except OSError:
        return used
    for line in lines:
        at, _, id_ = line.partition(" ")
        if id_ and at.isdecimal():
            used[id_] = max(float(at), used.get(id_, 0.0))
    return used


def forget(folder: str) -> None:
    """Drop what take() returned, once it is in the ledger."""
    os.unlink(os.path.join(folder, f"{USED}.taken"))
