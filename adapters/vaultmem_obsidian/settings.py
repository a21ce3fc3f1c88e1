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


class Habits(NamedTuple):
    """How the Tasks plugin writes when a task is ticked. They change nothing that is read."""

    plugin: bool = False  # whether it is there
    dataview: bool = False  # [completion:: 2026-11-22], not an emoji
    stamps_done: bool = True
    stamps_created: bool = False
    next_below: bool = False  # the next one of a recurring task stands below the one that is done
    drops_scheduled: bool = False  # the next one has no scheduled day


def read_habits(root: Folder) -> Habits:
    """The habits of the Tasks plugin in a vault, with its defaults."""
    tasks = _object(root, f"{_PLUGINS}/obsidian-tasks-plugin/data.json")
    return Habits(
        plugin=bool(tasks) or "obsidian-tasks-plugin" in _enabled(root),
        dataview=tasks.get("taskFormat") == "dataview",
        stamps_done=tasks.get("setDoneDate") is not False,
        stamps_created=tasks.get("setCreatedDate") is True,
        next_below=tasks.get("recurrenceOnNextLine") is True,
        drops_scheduled=tasks.get("removeScheduledDateOnRecurrence") is True,
    )


def _enabled(root: Folder) -> list[Value]:
    found = _json(root, ".obsidian/community-plugins.json")
    return found if isinstance(found, list) else []


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
    value = _json(root, path)
    return value if isinstance(value, dict) else {}


def _json(root: Folder, path: str) -> Value:
    try:
        value: Value = json.loads((root.read(path) or b"").decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None
    return value


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
