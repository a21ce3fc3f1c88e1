"""The text of "What changed.md": what was done to memories in the last weeks, for people to leaf through."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable, Mapping
from datetime import date, datetime, timedelta
from typing import NamedTuple

from vaultmem.errors import VaultmemError
from vaultmem.history.commits import FileChange
from vaultmem.history.commits import Record as Commit
from vaultmem.memories.desk import Desk, Session
from vaultmem.memories.draft import CREATE, EDIT, MOVE, RESTORE, TO_ARCHIVE
from vaultmem.memories.past import LONGEST_WHY, UNDO, is_said
from vaultmem.reminders import page_copies
from vaultmem.text.sanitize import LONGEST, quoted
from vaultmem.vault import files, pages, write
from vaultmem.vault.files import decode
from vaultmem.vault.moves import refuse_links
from vaultmem.vault.places import ARCHIVE as ARCHIVE_FOLDER
from vaultmem.vault.places import GENERATED

GENERATED_BY = "vaultmem"  # the property `generated` of notes that are never read
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
    action: str  # of memories.draft
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
        f"---\ngenerated: {GENERATED_BY}\n---\n"
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


# Keeps "What changed.md" in the memory folder true: written from the history, and only when it says something new.

log = logging.getLogger("vaultmem.memories")

NAME = GENERATED[1]
MOST_COMMITS = 10_000  # commits
_LONGEST = 10_000_000  # bytes of a copy
_READ = re.compile(r"read [\d,.]+ times?")  # by memories.dream
WEEK = 7 * 86_400.0


def keep(session: Session) -> bool:
    """Write it, if it is wanted and what it says has changed; whether it was written."""
    desk = session.desk
    _clear_copies(desk)
    if desk.config.text("dream.report") == "off" or desk.history.trouble():
        return False
    desk.remember()
    commits = desk.history.log(limit=MOST_COMMITS, since=session.now - (WEEKS + 1) * WEEK)
    records = [
        Record(
            _day(commit), commit.by, _action(one, desk.folder), _title(one), one.why or commit.why
        )
        for commit, one in standing(commits)
        if not is_said(commit)
    ]
    living = [memory.title for memory in desk.collection.live()]
    if not records:
        return False
    text = what_changed(records, session.view.now.date(), living).encode()
    try:
        return _written(desk, f"{desk.folder}/{NAME}", text)
    except VaultmemError as error:  # it only tells of what was done
        log.warning("%s", error)
        return False


class _Undoing:
    """One file that an undo has given back, followed to where the commits before had it."""

    def __init__(self, commit: Commit, change: FileChange) -> None:
        self.commit, self.change = commit, change
        self.is_told = True  # unless what was undone is found
        self._at = change.path
        self._names = commit.why.removeprefix(UNDO)  # of the commits it took back
        self._is_clipped = len(commit.why) >= LONGEST_WHY

    def undoes(self, commit: Commit, change: FileChange) -> bool:
        """Whether it took back this change."""
        named = self._is_clipped or commit.why in self._names
        return named and change.target is not None and change.target == self._at

    def found(self, commit: Commit, change: FileChange) -> None:
        """This is what it took back; it may have taken back more, that was done before."""
        self.is_told = False
        self._at = change.path
        self._names = self._names.replace(commit.why, "", 1)


def standing(commits: Iterable[Commit]) -> list[tuple[Commit, FileChange]]:
    """The changes of ours to tell of, of commits with the newest first: neither what was undone since nor its undoing,
    nor that a memory was read."""
    undoings: list[_Undoing] = []
    told: list[tuple[Commit, FileChange]] = []
    for commit in commits:
        if not commit.is_ours:
            continue
        for one in commit.files:
            by = next((each for each in undoings if each.undoes(commit, one)), None)
            if by is not None:
                by.found(commit, one)
            elif commit.why.startswith(UNDO):
                undoings.append(_Undoing(commit, one))
            elif not _READ.fullmatch(one.why):
                told.append((commit, one))
    return told + [(each.commit, each.change) for each in undoings if each.is_told]


def _day(commit: Commit) -> date:
    return datetime.fromtimestamp(commit.at).astimezone().date()


def _clear_copies(desk: Desk) -> None:
    """Put away the copies that sync programs have left beside it: they say nothing that the history does not."""
    for path in page_copies.named_after(desk.vault, f"{desk.folder}/{NAME}"):
        try:
            if _is_generated(files.content(f"{desk.vault}/{path}", _LONGEST)[0]):
                page_copies.put_away(desk.vault, path, desk.folder)
        except (OSError, ValueError, VaultmemError) as error:  # the next job tries again
            log.warning("%s: %s", path, error)


def _is_generated(data: bytes) -> bool:
    found = pages.read("frontmatter", decode(data)[0]).properties.get("generated")
    return found == GENERATED_BY


def _written(desk: Desk, path: str, text: bytes) -> bool:
    """Write it to where nothing is, or over what was generated before: never through a link, and never over a
    note that a person has given this name."""
    refuse_links(desk.vault, path)
    full = f"{desk.vault}/{path}"
    if not os.path.lexists(full):
        write.create(desk.vault, path, text)
        return True
    if not os.path.isfile(full):
        raise VaultmemError(f"{path} is no file; what changed is not written down there")

    def anew(found: bytes) -> bytes:
        if not _is_generated(found):
            raise VaultmemError(
                f"{path} is a note of yours; what changed is not written down there"
            )
        return text

    return write.change(desk.vault, path, anew, part=True)


def _title(change: FileChange) -> str:
    path = change.target or change.path or ""
    return path.rpartition("/")[2].removesuffix(".md")


def _action(change: FileChange, folder: str) -> str:
    away = f"{folder}/{ARCHIVE_FOLDER}/"
    if change.target is None or (change.target.startswith(away) and change.path != change.target):
        return TO_ARCHIVE
    if change.path is None:
        return CREATE
    if change.path == change.target:
        return EDIT
    return RESTORE if change.path.startswith(away) else MOVE
