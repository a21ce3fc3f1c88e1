"""Notes for which dreams propose nothing: templates, drawings, and what lies in folders set aside for such things."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from vaultmem.adapter import Value
from vaultmem.plans.note_text import NoteText

_TEMPLATES = frozenset(["templates", "template", "_templates", "模板"])
_SET_ASIDE = frozenset(
    ["archive", "archives", "attachments", "assets", "归档", "歸檔", "附件", "存档"]
)
_SETTINGS = (  # where an editor keeps the folder of its templates, and of attachments
    (".obsidian/templates.json", "folder", True),
    (".obsidian/plugins/templater-obsidian/data.json", "templates_folder", True),
    (".obsidian/app.json", "attachmentFolderPath", False),
)
_DAILY = (".obsidian/daily-notes.json", "template")
_FILLED_IN = re.compile(
    r"<%[*_-]?\s|\{\{(?:date|time|title|name|content|value|VALUE|author)\b[^{}\n]{0,60}\}\}"
)
_DRAWN = re.compile(r"^(?:excalidraw-plugin|kanban-plugin)\s*:", re.MULTILINE)
_LOGSEQ = re.compile(r"^\s*(?:[-*]\s+)?template::", re.MULTILINE)

Bytes = Callable[[str], bytes | None]


class Spared:
    """Tells by path and text which notes to leave alone; `read` gives the bytes of a file of the vault."""

    def __init__(self, read: Bytes) -> None:
        self._read = read
        folders = [(self._setting(path, key), is_it) for path, key, is_it in _SETTINGS]
        self._templates = tuple(f"{folder}/" for folder, is_it in folders if folder and is_it)
        self._aside = tuple(f"{folder}/" for folder, is_it in folders if folder and not is_it)
        self._daily = self._setting(*_DAILY).removesuffix(".md") + ".md"

    def is_template(self, path: str, note: NoteText) -> bool:
        """Whether a note is a form for others, or drawn by a plugin: not text that a person reads."""
        parts = path.casefold().split("/")[:-1]
        if path == self._daily or path.startswith(self._templates or ("\0",)):
            return True
        if any(part in _TEMPLATES or part.endswith(("模板", " templates")) for part in parts):
            return True
        if path.casefold().endswith(".excalidraw.md") or _DRAWN.search(note.front):
            return True
        front = note.front
        return (
            "{{" in front
            or "<%" in front
            or bool(_FILLED_IN.search(note.text) or _LOGSEQ.search(note.text))
        )

    def is_aside(self, path: str) -> bool:
        """Whether a note lies with attachments or in an archive."""
        if path.startswith(self._aside or ("\0",)):
            return True
        parts = path.casefold().split("/")[:-1]
        return any(part in _SET_ASIDE or part.endswith(("归档", "歸檔")) for part in parts)

    def _setting(self, path: str, key: str) -> str:
        try:
            found: Value = json.loads((self._read(path) or b"").decode("utf-8-sig"))
        except (ValueError, RecursionError):
            return ""
        value = found.get(key) if isinstance(found, dict) else None
        return value.strip("/").removeprefix("./") if isinstance(value, str) else ""
