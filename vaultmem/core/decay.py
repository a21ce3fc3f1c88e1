"""How sure a memory still is: a pure function of its age, computed when read and never stored."""

from __future__ import annotations

HALF_LIFE_HOURS = 720.0  # despite its name, the time until confidence is 0
MIN_CONFIDENCE = 0.3
POLICIES = ("stable", "contextual", "reinforceable")

_BY_CATEGORY = {
    **dict.fromkeys(
        ("soul", "character", "people", "preferences", "decisions", "habits", "skills"), "stable"
    ),
    **dict.fromkeys(("knowledge", "lessons", "feedback"), "reinforceable"),
    **dict.fromkeys(("project", "date", "inbox", "reminders"), "contextual"),
}


def policy(given: object, category: str | None) -> str:
    """The decay policy: as written in the memory, else by its category, else stable."""
    if isinstance(given, str) and given in POLICIES:
        return given
    return _BY_CATEGORY.get(category or "", "stable")


def confidence(policy: str, created: float, reinforced: float | None, now: float) -> float:
    """Confidence from 0.0 to 1.0, rounded to four digits. Times are seconds since the epoch."""
    if policy == "stable":
        return 1.0
    since = reinforced if policy == "reinforceable" and reinforced is not None else created
    age_hours = (now - since) / 3600
    return round(min(1.0, max(0.0, 1.0 - age_hours / HALF_LIFE_HOURS)), 4)
