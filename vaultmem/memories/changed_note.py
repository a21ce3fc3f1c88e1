"""The note "What changed.md": what was done to memories in the last weeks, for people to leaf through. Written after
jobs from the history, and only when it says something new."""

from __future__ import annotations

import logging
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import NamedTuple

from vaultmem.errors import VaultmemError
from vaultmem.history.commits import FileChange
from vaultmem.history.commits import Record as Commit
from vaultmem.memories import generated
from vaultmem.memories.draft import CREATE, EDIT, MOVE, RESTORE, TO_ARCHIVE
from vaultmem.memories.past import LONGEST_WHY, UNDO, is_said
from vaultmem.memories.store import Session
from vaultmem.text.sanitize import LONGEST, quote_text
from vaultmem.vault.places import ARCHIVE as ARCHIVE_FOLDER
from vaultmem.vault.places import GENERATED, file_name

NAME = GENERATED[1]
WEEKS = 8
WEEK = 7 * 86_400.0
MOST = 20  # memories of one week and kind
_ITEM = 3  # how deep the line of a memory stands
MOST_COMMITS = 10_000
_HEADINGS = {
    CREATE: "New",
    EDIT: "Changed",
    MOVE: "Filed",
    TO_ARCHIVE: "Archived",
    RESTORE: "Brought back",
}
_ORDER = {action: number for number, action in enumerate(_HEADINGS)}
# What a program alone needs to know, by memories.dream, classify and decay.
_SILENT = re.compile(r"read [\d,.]+ times?|judged: .*|reinforced")
_SAYS_NOTHING = frozenset(["", "written"])
_SCORES = re.compile(r"\s*\([01]\.\d+\)|\s[+-]\d+(?:\.\d+)?(?=[,;.\s]|$)")
_PLAIN = str.maketrans({"`": "'", "#": "＃", "<": "‹"})
_ABOUT = (
    "vaultmem writes this page after its jobs; changes made here are lost. `vaultmem undo` takes any of it back, and"
    " `vaultmem history` knows more."
)
log = logging.getLogger("vaultmem.memories")


class Record(NamedTuple):
    """One change of one memory."""

    day: date  # in the person's zone
    by: str  # an assistant, a job, "you"
    action: str  # of memories.draft
    title: str
    why: str = ""
    category: str = ""  # where it is filed now


def what_changed(
    records: Iterable[Record], today: date, living: Iterable[str], style: str = "frontmatter"
) -> str:
    """Sections by week, newest first, from this week on. `living` are the titles that may be linked to."""
    titles = {title.lower(): title for title in living}
    first = _monday(today) - timedelta(weeks=WEEKS - 1)
    weeks: dict[date, set[Record]] = defaultdict(set)
    for record in records:
        if first <= record.day <= today:
            weeks[_monday(record.day)].add(record)
    lines = [(0, _ABOUT)]
    for monday in sorted(weeks, reverse=True):
        lines.append((1, f"Week of {monday.day} {monday:%B %Y}"))
        lines += _week(weeks[monday], titles)
    if not weeks:
        lines.append((0, f"Nothing in the last {WEEKS} weeks."))
    shown = _as_outline(lines) if style == generated.OUTLINE else _as_note(lines)
    return generated.head(style) + shown


def _as_note(lines: Sequence[tuple[int, str]]) -> str:
    """Paragraphs (0), headings of weeks (1) and of what was done (2), and items (3), as Markdown."""
    text, before = "# What changed\n", 0
    for depth, line in lines:
        gap = "" if before == depth == _ITEM else "\n"
        text += f"{gap}{('', '## ', '### ', '- ')[depth]}{line}\n"
        before = depth
    return text


def _as_outline(lines: Sequence[tuple[int, str]]) -> str:
    marks = ("- ", "- ## ", "\t- ### ", "\t\t- ")
    return "".join(f"{marks[depth]}{line}\n" for depth, line in lines)


def _monday(day: date) -> date:
    return day - timedelta(days=day.weekday())


def _week(records: set[Record], titles: Mapping[str, str]) -> list[tuple[int, str]]:
    """What was done in one week: each memory once under what was done to it."""
    groups: dict[str, dict[str, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in sorted(records):
        groups[record.action][record.title].append(record)
    lines: list[tuple[int, str]] = []
    for action in sorted(groups, key=lambda one: (_ORDER.get(one, len(_ORDER)), one)):
        by_title = groups[action]
        lines.append((2, _HEADINGS.get(action) or quote_text(action).capitalize()))
        lines += [(_ITEM, _item(by_title[title], titles)) for title in sorted(by_title)[:MOST]]
        if len(by_title) > MOST:
            lines.append((_ITEM, f"and {len(by_title) - MOST:,} more"))
    return lines


def _item(records: Sequence[Record], titles: Mapping[str, str]) -> str:
    """One memory, what was done to it, for what reason and by whom."""
    title = records[0].title
    living = titles.get(title.lower())
    name = f"[[{living}]]" if living else f"“{_plain(title)}”"
    by = f" (by {_plain(', '.join(dict.fromkeys(one.by for one in records)))})"
    if records[0].action == MOVE:
        places = dict.fromkeys(one.category for one in records if one.category)
        return f"{name} under {' and '.join(places)}{by}" if places else f"{name}{by}"
    reasons = dict.fromkeys(_SCORES.sub("", one.why) for one in records)
    why = _plain("; ".join(one for one in reasons if one not in _SAYS_NOTHING))
    return f"{name}{f': {why}' if why else ''}{by}"


def _plain(text: str) -> str:
    """Text in which nothing is a link, a tag or markup; cut between words where that costs little."""
    text = text.replace("[[", "“").replace("]]", "”").translate(_PLAIN)
    whole = quote_text(text, 8 * LONGEST)
    if len(whole) <= LONGEST:
        return whole
    cut = whole[:LONGEST].rpartition(" ")[0].rstrip(" ,;:–-")
    return f"{cut}…" if len(cut) > LONGEST // 2 else quote_text(text)


def keep(session: Session) -> bool:
    """Write the note, if it is wanted and what it says has changed; whether it was written."""
    desk = session.desk
    path = f"{desk.folder}/{NAME}"
    generated.clear_copies(desk, path)
    if desk.config.text("dream.report") == "off" or desk.history.trouble():
        return False
    desk.remember()
    commits = desk.history.log(limit=MOST_COMMITS, since=session.now - (WEEKS + 1) * WEEK)
    records = [_record(*each, desk.folder) for each in standing(commits) if not is_said(each[0])]
    if not records and desk.bytes_of(path, 1) is None:
        return False  # with a page, the last of what it says was undone
    living = [memory.title for memory in desk.collection.live()]
    text = what_changed(records, session.view.now.date(), living, desk.rules.page_style(path))
    try:
        return generated.keep(desk, path, text)
    except VaultmemError as error:  # the note only tells what was done
        log.warning("%s", error)
        return False


def _record(commit: Commit, change: FileChange, folder: str) -> Record:
    day = datetime.fromtimestamp(commit.at).astimezone().date()
    title = file_name(change.target or change.path or "")
    category = (change.target or "")[len(folder) + 1 :].partition("/")[0]
    return Record(
        day, commit.by, _action(change, folder), title, change.why or commit.why, category
    )


def _action(change: FileChange, folder: str) -> str:
    away = f"{folder}/{ARCHIVE_FOLDER}/"
    if change.target is None or (change.target.startswith(away) and change.path != change.target):
        return TO_ARCHIVE
    if change.path is None:
        return CREATE
    if change.path == change.target:
        return EDIT
    return RESTORE if change.path.startswith(away) else MOVE


class _Undo:
    """One file that an undo has given back, followed to where the commits before had it."""

    def __init__(self, commit: Commit, change: FileChange) -> None:
        self.commit, self.change = commit, change
        self.stands = True  # unless what was undone is found
        self._at = change.path
        self._whys = commit.why.removeprefix(UNDO)  # of the commits it took back
        self._is_clipped = len(commit.why) >= LONGEST_WHY

    def undoes(self, commit: Commit, change: FileChange) -> bool:
        """Whether it took back this change; it may have taken back more, that was done before."""
        named = self._is_clipped or commit.why in self._whys
        if not named or change.target is None or change.target != self._at:
            return False
        self.stands = False
        self._at = change.path
        self._whys = self._whys.replace(commit.why, "", 1)
        return True


def standing(commits: Iterable[Commit]) -> list[tuple[Commit, FileChange]]:
    """The changes by vaultmem, of commits with the newest first: neither what was undone since nor its undoing, nor
    that a memory was read."""
    undos: list[_Undo] = []
    changes: list[tuple[Commit, FileChange]] = []
    for commit in commits:
        for change in commit.files if commit.is_ours else ():
            if any(undo.undoes(commit, change) for undo in undos):
                continue
            if commit.why.startswith(UNDO):
                undos.append(_Undo(commit, change))
            elif not _SILENT.fullmatch(change.why):
                changes.append((commit, change))
    return changes + [(undo.commit, undo.change) for undo in undos if undo.stands]
