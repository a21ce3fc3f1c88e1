"""Where in the memory folder what lies: categories, archive, conversations, what is written by us."""

from __future__ import annotations

CATEGORIES = {
    "soul": "core identity, values, mission",
    "character": "personality traits, communication style",
    "people": "people and relationships",
    "project": "project context, repositories, deployments",
    "date": "deadlines, schedules, events",
    "knowledge": "technical knowledge, facts, patterns",
    "feedback": "feedback, suggestions, improvements",
    "preferences": "what a user or agent prefers",
    "decisions": "choices made",
    "lessons": "lessons learned, gotchas",
    "habits": "behaviour, routines",
    "skills": "skills, capabilities",
    "inbox": "not classified yet",
    "reminders": "what is to be remembered at a time",
}
INBOX, REMINDERS = "inbox", "reminders"
ARCHIVE, ENTRIES = "archive", "entries"  # folders beside those of the categories
ARCHIVED_NOTES = (
    f"{ARCHIVE}/notes"  # what a person's own notes keep their paths in, when they are put away
)
GENERATED = (  # written by us in the memory folder, no memories
    "pending.md", "What changed.md", "answers.md",
)  # fmt: skip


def category_of(inner: str, given: object) -> str:
    """The category of the file at `inner`, its path in the memory folder, with that property. A person who moves
    it into the folder of a category means that; in the inbox, or in a folder of no category, its word counts."""
    folder = inner.partition("/")[0] if "/" in inner else ""
    said = given if isinstance(given, str) and given in CATEGORIES else ""
    if folder in CATEGORIES and folder != INBOX:
        return folder
    return said or INBOX


def in_conversation(path: str, folder: str) -> bool:
    """Whether the file at a path of the vault is an entry of a conversation: nobody's memory yet."""
    return path.startswith(f"{folder}/{ENTRIES}/")


def page_path(folder: str, given: str) -> str:
    """Where pending.md is kept, by the setting pending.path; "" for nowhere."""
    return "" if given == "off" else given or f"{folder}/{GENERATED[0]}"


def ours_as(path: str, folder: str, page: str = "") -> str:
    """What the index takes a note for: what is generated from the index ("") must not come back into it, such as the
    page of pending items, and what was put away is a "file", which can be linked to and is not found."""
    if path == page:
        return ""
    if not path.startswith(folder + "/"):
        return "note"
    inner = path[len(folder) + 1 :]
    parts = inner.split("/")
    if inner in GENERATED:
        return ""
    away = parts[0] == ARCHIVE or (parts[0] == ENTRIES and parts[2:3] == ["deleted"])
    return "file" if away else "note"
