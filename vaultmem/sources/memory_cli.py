"""The store of memory-cli (the seed of that name): its memories as lines of its own export, its settings as ours."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from vaultmem.core.exchange import json_line
from vaultmem.errors import VaultmemError
from vaultmem.sources import Passed
from vaultmem.sources.tree import Tree
from vaultmem.store import pages, yaml12

_CONFIG = "config.yaml"
_MEMORY = re.compile(r"^[^/]+/[^/]+\.md$")
_SETTINGS = {  # theirs, and ours
    "storage.short_term_ttl": "memories.inbox_ttl",
    "daemon.decay_threshold": "memories.decay_after",
    "daemon.upgrade_access_threshold": "memories.upgrade_reads",
    "notification.timezone": "notify.timezone",
}
_METHODS = {"osascript": "desktop", "file": "file"}


class Store(NamedTuple):
    """What there is in a store."""

    lines: bytes  # a memory each, in the shape memory-cli
    paths: list[str]  # of its files, one for each line
    settings: dict[str, object]  # of vaultmem, that mean the same


def store(folder: str) -> Store:
    """All of a store. Raises VaultmemError where there is none."""
    root = os.path.abspath(os.path.expanduser(folder))
    config = _config(root)
    elsewhere = config.get("storage.root")
    if not os.path.isdir(f"{root}/categories") and isinstance(elsewhere, str):
        root = os.path.expanduser(elsewhere)
    if not os.path.isdir(f"{root}/categories"):
        raise VaultmemError(f"{folder} is no store of memory-cli: it has no folder categories")
    lines: list[str] = []
    found: list[str] = []
    for each in Tree(f"{root}/categories").texts(_MEMORY):
        found.append(f"categories/{each.path}")
        if isinstance(each, Passed):
            lines.append("{}")
            continue
        page = pages.read("frontmatter", each.text)
        lines.append(json_line({**page.properties, "content": page.content.strip("\n")}))
    return Store("".join(f"{line}\n" for line in lines).encode(), found, _meant(config))


def _config(root: str) -> dict[str, object]:
    """Its settings by their full names."""
    try:
        with open(f"{root}/{_CONFIG}", encoding="utf-8", errors="replace") as file:
            given = yaml12.read(file.read(65_536)).properties
    except (OSError, yaml12.UnreadableError):
        return {}
    return {
        f"{part}.{key}": value
        for part, held in given.items()
        if isinstance(held, dict)
        for key, value in held.items()
    }


def _meant(config: dict[str, object]) -> dict[str, object]:
    """What they are called in vaultmem."""
    meant = {ours: config[theirs] for theirs, ours in _SETTINGS.items() if theirs in config}
    method = config.get("notification.method")
    if config.get("notification.enabled") is False:
        meant["notify.method"] = "none"
    elif isinstance(method, str) and method in _METHODS:
        meant["notify.method"] = _METHODS[method]
    for name in ("logseq", "obsidian", "claude", "car-agent", "fingersaver"):
        own = config.get(f"ingestion.{name}")
        for key in ("path", "enabled"):
            if isinstance(own, dict) and key in own:
                value = own[key]
                given = ("on" if value else "off") if isinstance(value, bool) else value
                meant[f"ingestion.{name}.{key}"] = given
    return meant
