"""Obsidian's rules with the settings of one vault: the door through which vaultmem reads notes."""

from __future__ import annotations

import re
import zlib
from itertools import chain
from typing import TYPE_CHECKING

from vaultmem.adapter import Note
from vaultmem.adapter.scan import hidden, line_at, line_starts, without
from vaultmem_obsidian.completing import Ticking
from vaultmem_obsidian.days import journal_day
from vaultmem_obsidian.filters import any_matches
from vaultmem_obsidian.links import find_links, property_links
from vaultmem_obsidian.pieces import read_pieces
from vaultmem_obsidian.settings import Habits
from vaultmem_obsidian.tags import find_tags, merged, property_aliases, property_tags
from vaultmem_obsidian.targets import choose, folded
from vaultmem_obsidian.tasks import find_tasks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vaultmem.adapter import Completion, FrontMatter, Task
    from vaultmem_obsidian.settings import Settings

NO_PLUGIN = Habits()
_VERSION = 2  # raise it when the same note is read differently
_LINKABLE = frozenset(
    [
        *["canvas", "base", "pdf", "avif", "bmp", "gif", "jpeg", "jpg", "png", "svg", "webp"],
        *["flac", "m4a", "mp3", "ogg", "wav", "webm", "3gp", "mkv", "mov", "mp4", "ogv"],
    ]
)
_LEFTOVERS = ("~", ".swp", ".tmp")  # of editors and of sync programs
_ANCHOR = re.compile(r"\^(?<!\S\^)([A-Za-z0-9-]+)[ \t]*+$", re.MULTILINE)


class ObsidianRules:
    """How Obsidian reads the notes of one vault."""

    dialect = "obsidian"
    mention_style = "words"
    uri_template = "obsidian://open?vault={vault}&file={path}"
    page_style = "frontmatter"

    def __init__(self, settings: Settings, habits: Habits = NO_PLUGIN) -> None:
        self.settings = settings
        self.habits = habits
        self.fingerprint = f"{_VERSION}-{zlib.crc32(repr(settings).encode()):08x}"

    def kind(self, path: str) -> str:
        if path.startswith(".") or "/." in path:
            return ""
        if "node_modules" in path and "node_modules" in path.split("/"):
            return ""
        name = path.rpartition("/")[2].lower()
        ending = name.rpartition(".")[2] if "." in name else ""
        if ending == "md":
            return "note"
        if name.endswith(_LEFTOVERS):
            return ""
        return "file" if ending in _LINKABLE or self.settings.all_files else ""

    def excluded(self, path: str) -> bool:
        if path.startswith(self.settings.ignored or ("\0",)):
            return True
        return any_matches(self.settings.ignored_patterns, path)

    def parse(self, path: str, text: str, front: FrontMatter) -> Note:
        body = front.body
        spans = hidden(text, body, indented=True)
        plain = without(text, spans)
        starts = line_starts(text)
        found = find_links(text, plain, body, starts)
        drawing = path.lower().endswith(".excalidraw.md") or "excalidraw-plugin" in front.properties
        content = read_pieces(text, line_at(starts, body), spans, drawing=drawing)
        properties = front.properties
        return Note(
            title=path.rpartition("/")[2][:-3],
            pieces=tuple(content.pieces),
            properties=properties,
            frontmatter_error=front.error,
            aliases=property_aliases(properties) if properties else (),
            tags=merged(chain(property_tags(properties), find_tags(plain, body, found.spans))),
            headings=tuple(content.headings),
            links=(*(property_links(text, front) if properties else ()), *found.links),
            tasks=tuple(find_tasks(text, plain, body, starts, self.settings)),
            anchors=_anchors(plain, body, starts),
            journal=journal_day(path, self.settings.day_formats),
        )

    def names(self, path: str, note: Note | None) -> tuple[str, ...]:  # noqa: ARG002 (aliases lead nowhere)
        return (folded(path.rpartition("/")[2]),)

    def lookups(self, key: str) -> tuple[str, ...]:
        return (key, key + ".md") if key else ()

    def affected(self, name: str) -> tuple[str, ...]:
        return (name, name[:-3]) if name.endswith(".md") else (name,)

    def resolve(self, path: str, key: str, source: str, candidates: Sequence[str]) -> str | None:
        return choose(path, source, candidates) if key else source

    def completed(self, path: str, text: str, task: Task, done: Completion) -> str | None:  # noqa: ARG002 - the contract
        return Ticking(self.settings, self.habits).completed(text, task, done)


def _anchors(plain: str, body: int, starts: list[int]) -> dict[str, int]:
    if plain.find("^", body) < 0:
        return {}
    return {match[1]: line_at(starts, match.start()) for match in _ANCHOR.finditer(plain, body)}
