"""What was done to memories, by whom, and how to take it back."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable

from vaultmem.adapter import Value
from vaultmem.errors import (
    FrontMatterError,
    LockedError,
    NoteChangedError,
    NoteNotFoundError,
    StateError,
    UsageError,
    VaultmemError,
)
from vaultmem.history import undo as undoing
from vaultmem.history.commits import Record
from vaultmem.memories import reads
from vaultmem.memories.asked import Asked
from vaultmem.memories.conversation import is_talk, put_away
from vaultmem.memories.desk import Session
from vaultmem.memories.reports import Report, header, unified
from vaultmem.text.times import stamp
from vaultmem.vault import pages
from vaultmem.vault.batches import Outcome, Wish
from vaultmem.vault.files import decode
from vaultmem.vault.places import ARCHIVE

log = logging.getLogger("vaultmem.memories")

MOST = 1_000
ALL = 10_000  # that are looked through for some of them
UNDO, LONGEST_WHY = "undo: ", 200  # how the entry of an undo begins, and its characters


def history(session: Session, asked: Asked) -> Report:
    """What was done, the newest first; of one memory, if one is named. The turns of conversations are left out unless
    somebody asks for them: they would be most of it."""
    _catch_up(session)
    path = _path(session, asked.text("id")) if asked.text("id") else None
    limit, by = asked.whole("limit"), asked.text("by") or None
    every = bool(path or by or asked.flag("conversations"))
    found = session.desk.history.log(path, limit if every else ALL, by, _since(session, asked))
    found = [one for one in found if every or not is_said(one)][:limit]
    return {"history": [_shown(one) for one in found], "count": len(found)}


def diff(session: Session, asked: Asked) -> Report:
    """What one commit changed."""
    _catch_up(session)
    history_ = session.desk.history
    commit = history_.resolve(asked.needed("commit"))
    return {**_shown(history_.show(commit)), "diff": history_.diff(commit)}


def undo(session: Session, asked: Asked) -> Report:
    """Take commits back, the newest first: exact bytes where nothing was changed since, else merged, else
    refused with the reason."""
    _remember(session)
    commits = _chosen(session, asked)
    who = header(asked, "", session.now)
    subjects = ", ".join(one.why for one in commits)
    past = session.desk.history
    undone = [
        undoing.Undone(past.files(one.commit), past.moved_since(one.commit)) for one in commits
    ]
    why = f"{UNDO}{subjects}"[:LONGEST_WHY]
    means = undoing.Means(
        session.desk.folder,
        session.desk.bytes_of,
        past.merged,
        _archived(session, who.by),
        lambda one, other: _id(session, one) == _id(session, other),
        put_away,
    )
    found, not_possible = undoing.wishes(undone, means, why)
    shown = [
        {"commit": one.commit, "by": one.by, "why": one.why, "at": stamp(one.at)} for one in commits
    ]
    refused = [{"path": path, "reason": reason} for path, reason in not_possible]
    if asked.flag("dry_run"):
        changes = [_previewed(session, wish) for wish in found]
        return {"undone": shown, "dry_run": True, "changes": changes, "refused": refused}
    outcome = session.desk.batches.apply(who._replace(why=why), found)
    if outcome.done:
        session.desk.written(outcome)
        session.desk.remember()
        if any(one.kind == "job" for one in commits):
            _keep_undone(session, outcome)
    refused += [{"path": path, "reason": reason} for path, reason in outcome.skipped]
    changes = [{"path": step.path, "target": step.target, "why": step.why} for step in outcome.done]
    return {"undone": shown, "dry_run": False, "changes": changes, "refused": refused}


def _id(session: Session, data: bytes) -> str:
    """The id that a file names, as far as it can be read."""
    style = session.desk.rules.page_style(f"{session.desk.folder}/{ARCHIVE}/-.md")
    return str(pages.read(style, decode(data)[0]).properties.get("id", ""))


def _archived(session: Session, by: str) -> Callable[[bytes], bytes]:
    """What makes an archived memory of the bytes of a live one."""
    sets: dict[str, Value] = {"deleted_at": stamp(session.now), "by": by}
    style = session.desk.rules.page_style(f"{session.desk.folder}/{ARCHIVE}/-.md")

    def archived(data: bytes) -> bytes:
        try:
            return pages.edited(style, data, sets, None)
        except FrontMatterError as error:  # one file of many, which the report then names
            raise NoteChangedError(str(error)) from error

    return archived


def _keep_undone(session: Session, outcome: Outcome) -> None:
    """A job shall not do again at once what a person has undone."""
    found = [session.desk.collection.at(step.target) for step in outcome.done]
    rows = [(each.id, each.path, each.hash) for each in found if each and not each.archived]
    reads.leave_undone(session.desk.ledger, rows, session.now)


def _previewed(session: Session, wish: Wish) -> dict[str, object]:
    old = None if wish.path is None else session.desk.bytes_of(wish.path)
    text = unified(wish.path, wish.target, old or b"", wish.render(old))
    return {"path": wish.path, "target": wish.target, "why": wish.why, "diff": text}


def _catch_up(session: Session) -> None:
    """Have the history know what was done, for who only reads it; where nothing can be written, it is as it was."""
    state = session.desk.state
    try:
        with contextlib.nullcontext() if state.holds_lock() else state.lock():
            session.desk.heal()
            _remember(session)
    except LockedError:
        raise
    except (StateError, OSError) as error:
        why = (isinstance(error, OSError) and error.strerror) or error
        log.warning("vaultmem: %s; what was done last may be missing here", why)


def _remember(session: Session) -> None:
    trouble = session.desk.history.trouble()
    if trouble:
        raise VaultmemError(trouble)
    session.desk.remember()


def _chosen(session: Session, asked: Asked) -> list[Record]:
    past = session.desk.history
    given, name = asked.text("commit"), asked.text("name")
    if sum(map(bool, (given, asked.flag("last"), name))) != 1:
        raise UsageError("name one of: a COMMIT (see vaultmem history), --last, --by NAME")
    if given:
        return [past.show(past.resolve(given))]
    since = _since(session, asked)
    if not asked.flag("last") and since is None:
        raise UsageError("--by NAME needs --since WHEN, such as 2h or 2026-11-22")
    done = past.log(limit=ALL if asked.flag("last") else MOST, by=name or None, since=since)
    found = [one for one in done if one.is_ours]  # what people do in their editor, they undo there
    if asked.flag("last"):
        # A turn of a chat that came in meanwhile is not what somebody wants back.
        own = [one for one in found if not is_said(one)][:1]
        if found and not own:
            raise VaultmemError(
                "there is nothing to undo but what conversations did; vaultmem history --conversations shows it, and"
                " vaultmem undo COMMIT takes it back"
            )
        found = own
    if not found:
        raise VaultmemError("there is nothing to undo; vaultmem history shows what was done")
    return found


def is_said(one: Record) -> bool:
    """Whether a conversation did it: a turn, what was learned from it, a summary."""
    return is_talk(one.by)


def _since(session: Session, asked: Asked) -> float | None:
    given = asked.text("since")
    return asked.moment("since", session.view.now, ahead=False) if given else None


def _path(session: Session, given: str) -> str:
    """The path of a memory, alive or archived, of an entry of a conversation, or of what was one."""
    try:
        return session.find(given, archived=True).path
    except NoteNotFoundError:
        said = session.desk.talks.find(given)
        if len(said) > 1:
            some = ", ".join(one.id for one in said[:3])
            raise NoteNotFoundError(
                f"{given[:40]!r} begins the ids of several entries: {some}"
            ) from None
        if said:
            return said[0].path
        if "/" in given:
            return given
        raise


def _shown(record: Record) -> dict[str, object]:
    files = [{"path": one.path, "target": one.target, "why": one.why} for one in record.files]
    return {
        "commit": record.commit, "at": stamp(record.at), "by": record.by, "kind": record.kind,
        "why": record.why, "files": files,
    }  # fmt: skip
