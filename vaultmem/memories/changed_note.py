"""The note "What changed.md": what was done to memories in the last weeks, for people to leaf through. Written after
jobs from the history, and only when it says something new."""

from __future__ import annotations

import logging
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import date, datetime, timedelta
from typing import NamedTuple

from vaultmem.errors import VaultmemError
from vaultmem.history.commits import FileChange
from vaultmem.history.commits import Record as Commit
from vaultmem.memories import generated
from vaultmem.memories.draft import CREATE, EDIT, MOVE, RESTORE, TO_ARCHIVE
from vaultmem.memories.past import LONGEST_WHY, UNDO, is_said
from vaultmem.memories.store import Session
from vaultmem.text.sanitize import LONGEST, quoted
from vaultmem.vault.places import ARCHIVE as ARCHIVE_FOLDER
from vaultmem.vault.places import GENERATED

NAME = GENERATED[1]
WEEKS = 8
WEEK = 7 * 86_400.0
MOST = 20  # titles in a line
MOST_COMMITS = 10_000
_VERBS = {
    CREATE: "wrote",
    EDIT: "changed",
    MOVE: "filed",
    TO_ARCHIVE: "archived",
    RESTORE: "brought back",
}
_ORDER = {action: number for number, action in enumerate(_VERBS)}
_READ = re.compile(r"read [\d,.]+ times?")  # by memories.dream
_PLAIN = str.maketrans({"`": "'", "#": "＃", "<": "‹"})
_HEAD = (
    f"---\ngenerated: {generated.BY}\n---\n"
    "Written by vaultmem after its jobs; changes made here are lost. `vaultmem history` knows more,"
    " and `vaultmem undo` takes any of it back."
)
log = logging.getLogger("vaultmem.memories")


class Record(NamedTuple):
    """One change of one memory."""

    day: date  # in the person's zone
    by: str  # an assistant, a job, "you"
    action: str  # of memories.draft
    title: str
    why: str = ""


def what_changed(records: Iterable[Record], today: date, living: Iterable[str]) -> str:
    """Sections by week, newest first, from this week on. `living` are the titles that may be linked to."""
    titles = {title.lower(): title for title in living}
    first = _monday(today) - timedelta(weeks=WEEKS - 1)
    weeks: dict[date, set[Record]] = defaultdict(set)
    for record in records:
        if first <= record.day <= today:
            weeks[_monday(record.day)].add(record)
    parts = [_HEAD, *(_week(monday, weeks[monday], titles) for monday in sorted(weeks, reverse=True))]  # fmt: skip
    if not weeks:
        parts.append(f"Nothing in the last {WEEKS} weeks.")
    return "\n\n".join(parts) + "\n"


def _monday(day: date) -> date:
    return day - timedelta(days=day.weekday())


def _week(monday: date, records: set[Record], titles: Mapping[str, str]) -> str:
    groups: dict[tuple[str, int, str], list[Record]] = defaultdict(list)
    for record in sorted(records):
        order = _ORDER.get(record.action, len(_ORDER))
        groups[record.by, order, record.action].append(record)
    lines = [_line(key[0], key[2], group, titles) for key, group in sorted(groups.items())]
    return "\n".join([f"## Week of {monday.isoformat()}", "", *lines])


def _line(by: str, action: str, records: list[Record], titles: Mapping[str, str]) -> str:
    """What one did of one kind: how often, and to what; of a few also why."""
    whys: dict[str, str] = {}
    for record in records:
        whys.setdefault(record.title, record.why)
    names = []
    for title, why in sorted(whys.items()):
        living = titles.get(title.lower())
        reason = f" ({_plain(why)})" if why and len(whys) <= 3 else ""
        names.append((f"[[{living}]]" if living else f"“{_plain(title)}”") + reason)
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    verb = _VERBS.get(action, quoted(action))
    return f"- {quoted(by)} {verb} {len(names)}: {', '.join(names[:MOST])}{more}"


def _plain(text: str) -> str:
    """Text in which nothing is a link, a tag or markup; cut between words where that costs little."""
    text = text.replace("[[", "“").replace("]]", "”").translate(_PLAIN)
    whole = quoted(text, 8 * LONGEST)
    if len(whole) <= LONGEST:
        return whole
    cut = whole[:LONGEST].rpartition(" ")[0].rstrip(" ,;:–-")
    return f"{cut}…" if len(cut) > LONGEST // 2 else quoted(text)


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
    if not records:
        return False
    living = [memory.title for memory in desk.collection.live()]
    text = what_changed(records, session.view.now.date(), living)
    try:
        return generated.keep(desk, path, text)
    except VaultmemError as error:  # the note only tells what was done
        log.warning("%s", error)
        return False


def _record(commit: Commit, change: FileChange, folder: str) -> Record:
    day = datetime.fromtimestamp(commit.at).astimezone().date()
    title = (change.target or change.path or "").rpartition("/")[2].removesuffix(".md")
    return Record(day, commit.by, _action(change, folder), title, change.why or commit.why)


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
            elif not _READ.fullmatch(change.why):
                changes.append((commit, change))
    return changes + [(undo.commit, undo.change) for undo in undos if undo.stands]
