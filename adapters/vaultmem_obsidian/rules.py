"""The rules of Obsidian: which files are notes, and how links find them. Rarely needed modules are imported late."""

from __future__ import annotations

import os
import zlib

from vaultmem.adapter import Note
from vaultmem.light import TYPE_CHECKING
from vaultmem_obsidian.habits import (
    COMPARED,
    Habits,
    fold,
    journal_day,
    read_habits,
    read_settings,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vaultmem.adapter import Completion, Folder, FrontMatter, Task
    from vaultmem_obsidian.habits import Settings

_VERSION = 2  # raise it when notes are parsed differently
_LINKABLE = frozenset(
    [
        *["canvas", "base", "pdf", "avif", "bmp", "gif", "jpeg", "jpg", "png", "svg", "webp"],
        *["flac", "m4a", "mp3", "ogg", "wav", "webm", "3gp", "mkv", "mov", "mp4", "ogv"],
    ]
)
_LEFTOVERS = ("~", ".swp", ".tmp")  # of editors and of sync programs


class ObsidianRules:
    """The rules of Obsidian with the settings of one vault."""

    dialect = "obsidian"
    mention_style = "words"
    uri_template = "obsidian://open?vault={vault}&file={path}"
    page_style = "frontmatter"

    def __init__(self, settings: Settings, habits: Habits, *, is_used: bool = False) -> None:
        """`is_used` says whether Obsidian itself opens this folder."""
        self.settings, self.habits, self.is_used = settings, habits, is_used
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
        patterns = self.settings.ignored_patterns
        return bool(patterns) and any(pattern.search(path, 0, COMPARED) for pattern in patterns)

    def is_template(self, path: str) -> bool:
        return path.startswith(self.settings.templates)

    def parse(self, path: str, text: str, front: FrontMatter) -> Note:
        if not (text or front.properties):
            # Only a name is tried: no text, so the reader is not needed.
            title = path.rpartition("/")[2][:-3]
            return Note(title, journal=journal_day(path, self.settings.day_formats))
        from vaultmem_obsidian.note import read_note

        return read_note(path, text, front, self.settings)

    def names(self, path: str, note: Note | None) -> tuple[str, ...]:  # noqa: ARG002 (aliases lead nowhere)
        return (fold(path.rpartition("/")[2]),)

    def lookups(self, key: str) -> tuple[str, ...]:
        return (key, key + ".md") if key else ()

    def affected(self, name: str) -> tuple[str, ...]:
        return (name, name[:-3]) if name.endswith(".md") else (name,)

    def resolve(self, path: str, key: str, source: str, candidates: Sequence[str]) -> str | None:
        from vaultmem_obsidian.links import choose

        return choose(path, source, candidates) if key else source

    def completed(self, path: str, text: str, task: Task, done: Completion) -> str | None:  # noqa: ARG002 - the contract
        from vaultmem_obsidian.ticking import Ticking

        return Ticking(self.settings, self.habits).completed(text, task, done)

    def views(self) -> Mapping[str, str]:
        """Views as Bases, if Obsidian opens this folder."""
        names = ("Memories.base", "Pending.base") if self.is_used else ()
        folder = os.path.dirname(__file__)
        texts = {}
        for name in names:
            with open(os.path.join(folder, name.lower()), encoding="utf-8") as file:
                texts[name] = file.read()
        return texts


class ObsidianDialect:
    """Obsidian, and any folder of Markdown notes that no other editor claims."""

    name = "obsidian"
    home: tuple[str, ...] = ()

    def claims(self, root: Folder) -> int:
        """2 if Obsidian's folder exists, else 1: it can read any notes."""
        return 2 if root.exists(".obsidian") else 1

    def open(self, root: Folder) -> ObsidianRules:
        """The rules of this vault, with the settings in its `.obsidian`."""
        is_used = root.exists(".obsidian")
        return ObsidianRules(read_settings(root), read_habits(root), is_used=is_used)
