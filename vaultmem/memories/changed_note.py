"""Keeps "What changed.md" in the memory folder true: written from the history, and only when it says something new."""

from __future__ import annotations

from datetime import datetime

from vaultmem.core.changes import ARCHIVE, CREATE, EDIT, MOVE, RESTORE
from vaultmem.core.places import ARCHIVE as ARCHIVE_FOLDER
from vaultmem.core.places import GENERATED
from vaultmem.memories.desk import Session
from vaultmem.plans.report import WEEKS, Record, what_changed
from vaultmem.store import write
from vaultmem.store.commits import FileChange

NAME = GENERATED[1]
MOST = 10_000  # commits
WEEK = 7 * 86_400.0


def keep(session: Session) -> bool:
    """Write it, if it is wanted and what it says has changed; whether it was written."""
    desk = session.desk
    if desk.config.text("dream.report") == "off" or desk.history.trouble():
        return False
    desk.remember()
    records = []
    for commit in desk.history.log(limit=MOST, since=session.now - (WEEKS + 1) * WEEK):
        day = datetime.fromtimestamp(commit.at).astimezone().date()
        records += [
            Record(day, commit.by, _action(one, desk.folder), _title(one), one.why or commit.why)
            for one in commit.files
            if commit.is_ours
        ]
    living = [memory.title for memory in desk.collection.live()]
    if not records:
        return False
    text = what_changed(records, session.view.now.date(), living).encode()
    path = f"{desk.folder}/{NAME}"
    journal = desk.state.path("journal")
    if desk.bytes_of(path) is None:
        return write.create(desk.vault, path, text, journal).changed
    return write.change(desk.vault, path, lambda _: text, journal).changed


def _title(change: FileChange) -> str:
    path = change.target or change.path or ""
    return path.rpartition("/")[2].removesuffix(".md")


def _action(change: FileChange, folder: str) -> str:
    away = f"{folder}/{ARCHIVE_FOLDER}/"
    if change.target is None or (change.target.startswith(away) and change.path != change.target):
        return ARCHIVE
    if change.path is None:
        return CREATE
    if change.path == change.target:
        return EDIT
    return RESTORE if change.path.startswith(away) else MOVE
