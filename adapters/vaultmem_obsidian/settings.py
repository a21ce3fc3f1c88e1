"""What of a vault's `.obsidian` folder changes how its notes are read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from vaultmem_obsidian.days import DayFormat, day_format
from vaultmem_obsidian.filters import path_patterns

if TYPE_CHECKING:
    import re

    from vaultmem.adapter import Folder, Value

_PLUGINS = ".obsidian/plugins"


class Settings(NamedTuple):
    """Obsidian's own settings and those of three plugins, with the editor's defaults."""

    ignored: tuple[str, ...] = ()  # path prefixes of "Excluded files"
    ignored_patterns: tuple[re.Pattern[str], ...] = ()
    all_files: bool = False  # "Show all file types"
    global_filter: str = ""  # Tasks: only lines with this text are tasks
    day_formats: tuple[DayFormat, ...] = ()
    date_trigger: str = "@"  # Kanban
    time_trigger: str = "@@"


def read_settings(root: Folder) -> Settings:
    """The settings of a vault; what is missing or cannot be read is as in a new vault."""
    app = _object(root, ".obsidian/app.json")
    tasks = _object(root, f"{_PLUGINS}/obsidian-tasks-plugin/data.json")
    kanban = _object(root, f"{_PLUGINS}/obsidian-kanban/data.json")
    filters = app.get("userIgnoreFilters")
    texts = [f for f in filters if isinstance(f, str) and f] if isinstance(filters, list) else []
    return Settings(
        ignored=tuple(f for f in texts if not _is_pattern(f)),
        ignored_patterns=path_patterns([f for f in texts if _is_pattern(f)]),
        all_files=app.get("showUnsupportedFiles") is True,
        global_filter=_text(tasks, "globalFilter", "").strip(),
        day_formats=_day_formats(root),
        date_trigger=_text(kanban, "date-trigger", "@"),
        time_trigger=_text(kanban, "time-trigger", "@@"),
    )


def _object(root: Folder, path: str) -> dict[str, Value]:
    try:
        value = json.loads((root.read(path) or b"").decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _text(settings: dict[str, Value], key: str, default: str) -> str:
    value = settings.get(key)
    return value if isinstance(value, str) and value else default


def _is_pattern(text: str) -> bool:
    return len(text) > 2 and text.startswith("/") and text.endswith("/")


def _day_formats(root: Folder) -> tuple[DayFormat, ...]:
    core = _object(root, ".obsidian/daily-notes.json")
    periodic = _object(root, f"{_PLUGINS}/periodic-notes/data.json").get("daily")
    sources = [core, periodic if isinstance(periodic, dict) else {}]
    found = [day_format(_text(s, "format", ""), _text(s, "folder", "")) for s in sources]
    return tuple(f for f in found if f)
