"""Finds what waits by asking the index, and keeps it as the listing of the next one who asks."""

from __future__ import annotations

import contextlib
import json
import os
import time
from typing import TYPE_CHECKING, Any, Protocol

from vaultmem.core.access import EVERYBODY
from vaultmem.core.defused import one_line, words
from vaultmem.core.pending_items import PRIVATE
from vaultmem.core.pending_page import WORDS
from vaultmem.core.places import GENERATED, page_path
from vaultmem.errors import StateError
from vaultmem.paths import make_private
from vaultmem.reminders.listing import DAYS, NAME, Listed, stats, surroundings
from vaultmem.store.lines import SETTLED_NS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vaultmem.config import Config
    from vaultmem.reminders.listing import Row
    from vaultmem.store.state import State

_STALE = 60  # seconds after which whoever was writing has ended
_SHORT = 40  # characters of a repetition, or of a name


class Asked(Protocol):
    """A vault, as far as it is needed here (see vaultmem.api.Vault)."""

    path: str
    config: Config
    state: State

    def ask(self, verb: str, **params: object) -> Any:
        """What a verb of memories says."""


def gather(vault: Asked, now: float, days: int = DAYS, *, keep: bool = False) -> Listed:
    """What waits, found anew; with `keep`, the next one need not look again. Raises VaultmemError."""
    files = _files(vault) if keep else []
    before, given = stats(files), surroundings(vault.path, now)
    said = vault.ask("pending", days=days, facts=True)
    rows = [_row(item) for item in said["items"]]
    listed = Listed(rows, list(vault.config.warnings), said.get("facts", []))
    if keep and days == DAYS and _are_settled(before):
        kept = {"for": given, "files": before, "until": said.get("until") or ""}
        found = {"warnings": listed.warnings, "items": rows, "facts": listed.facts}
        _write(vault.state.folder, {**kept, **found})
    return listed


def _files(vault: Asked) -> list[str]:
    """All that what waits is read from. Copies of the page that a sync makes are seen by the folders they lie in."""
    state, folder = vault.state, vault.config.text("memory_folder")
    catalog = os.path.join(state.generation() or state.folder, "catalog.db")
    of_state = (state.path("manifest.json"), catalog, f"{catalog}-wal", state.path("ledger.db"))
    page = page_path(folder, vault.config.text("pending.path"))
    pages = [page, os.path.dirname(page)] if page else []
    ours = [*pages, folder, *(f"{folder}/{name}" for name in GENERATED if name == "answers.md")]
    return [*of_state, *(os.path.join(vault.path, each) for each in dict.fromkeys(ours))]


def _are_settled(files: Mapping[str, list[int]]) -> bool:
    """Whether another change of a file would show: within one tick of its clock, it need not."""
    now = time.time_ns()
    return all(not found or abs(now - found[2]) > SETTLED_NS for found in files.values())


def _row(item: Mapping[str, Any]) -> Row:
    """An item that may be shown to anybody."""
    repeat = item.get("repeat")
    return {
        "id": item["id"],
        "section": item["section"],
        "text": words(item["text"], WORDS),
        "due": item.get("due") or None,
        "source": item.get("source") or "",
        "place": "" if item["text"] == PRIVATE else one_line(item.get("source") or ""),
        "title": one_line(item.get("title") or ""),
        "scope": item.get("scope") or EVERYBODY,
        "repeat": one_line(repeat, _SHORT) if repeat else None,
        "author": one_line(item.get("author") or "", _SHORT),
        "memory": item.get("memory") or "",
    }


def _write(folder: str, listing: object) -> None:
    """Put it in its place, all or nothing. What cannot be kept is found anew each time."""
    with contextlib.suppress(OSError, StateError):
        path = os.path.join(make_private(folder), NAME)
        part = f"{path}.tmp"
        with contextlib.suppress(FileNotFoundError):
            if abs(time.time() - os.lstat(part).st_mtime) > _STALE:
                os.unlink(part)  # of a kill
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        with open(os.open(part, flags, 0o600), "w", encoding="utf-8") as file:
            json.dump(listing, file)
        os.replace(part, path)
