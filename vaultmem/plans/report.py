"""The text of "What changed.md": what was done to memories in the last weeks, for people to leaf through."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from typing import NamedTuple

from vaultmem.plans.quote import LONGEST, quoted

GENERATED = "vaultmem"  # the property `generated` of notes that are never read
WEEKS = 8
MOST = 20  # titles in a line
_SAID = {
    "create": "wrote",
    "edit": "changed",
    "move": "filed",
    "archive": "archived",
    "restore": "brought back",
}
_ORDER = {action: number for number, action in enumerate(_SAID)}


class Record(NamedTuple):
    """One change of one memory."""

    day: date  # in the person's zone
    by: str  # an assistant, a job, "you"
    action: str  # of core.changes
    title: str
    why: str = ""


def what_changed(records: Iterable[Record], today: date, living: Iterable[str]) -> str:
    """Sections by week, newest first, from this week on. `living` are the titles that may be linked to."""
    titles = {title.lower(): title for title in living}
    first = _monday(today) - timedelta(weeks=WEEKS - 1)
    weeks: dict[date, set[Record]] = {}
    for record in records:
        if first <= record.day <= today:
            weeks.setdefault(_monday(record.day), set()).add(record)
    parts = [_head()]
    parts += [_week(monday, weeks[monday], titles) for monday in sorted(weeks, reverse=True)]
    if not weeks:
        parts.append(f"Nothing in the last {WEEKS} weeks.")
    return "\n\n".join(parts) + "\n"


def _head() -> str:
    return (
        f"---\ngenerated: {GENERATED}\n---\n"
        "Written by vaultmem after its jobs; changes made here are lost. `vaultmem history` knows more,"
        " and `vaultmem undo` takes any of it back."
    )


def _monday(day: date) -> date:
    return day - timedelta(days=day.weekday())


def _week(monday: date, records: set[Record], titles: Mapping[str, str]) -> str:
    groups: dict[tuple[str, int, str], list[Record]] = {}
    for record in records:
        group = record.by, _ORDER.get(record.action, len(_ORDER)), record.action
        groups.setdefault(group, []).append(record)
    lines = [_line(group[0], group[2], found, titles) for group, found in sorted(groups.items())]
    return "\n".join([f"## Week of {monday.isoformat()}", "", *lines])


def _line(by: str, action: str, records: list[Record], titles: Mapping[str, str]) -> str:
    """What one did of one kind: how often, and to what."""
    whys: dict[str, str] = {}
    for record in sorted(records):
        whys.setdefault(record.title, record.why)
    names = [_name(title, titles) + _because(whys[title], len(whys)) for title in sorted(whys)]
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    said = _SAID.get(action, quoted(action))
    return f"- {quoted(by)} {said} {len(names)}: {', '.join(names[:MOST])}{more}"


def _because(why: str, count: int) -> str:
    """Why, where there are few enough to tell."""
    return f" ({_plain(why)})" if why and count <= 3 else ""


def _name(title: str, titles: Mapping[str, str]) -> str:
    living = titles.get(title.lower())
    return f"[[{living}]]" if living else f"“{_plain(title)}”"


def _clipped(text: str) -> str:
    """Short enough for a line, and cut between words where that costs little."""
    whole = quoted(text, 8 * LONGEST)
    if len(whole) <= LONGEST:
        return whole
    cut = whole[:LONGEST].rpartition(" ")[0].rstrip(" ,;:–-")
    return f"{cut}…" if len(cut) > LONGEST // 2 else quoted(text)


def _plain(text: str) -> str:
    """Text in which nothing is a link, a tag or markup."""
    return _clipped(
        text.replace("[[", "“")
        .replace("]]", "”")
        .replace("`", "'")
        .replace("#", "＃")
        .replace("<", "‹")
    )
