"""The history of memories, and undo."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping

from vaultmem.adapter import JsonObject, Value
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
from vaultmem.history.commits import OUTSIDE, Commit, author
from vaultmem.history.objects import SHORT
from vaultmem.ledger import reads
from vaultmem.light import TYPE_CHECKING, NamedTuple
from vaultmem.memories import item_answers
from vaultmem.memories.access import is_same
from vaultmem.memories.arguments import Arguments
from vaultmem.memories.conversation import is_talk, put_away
from vaultmem.memories.reports import diff_of, header, in_short
from vaultmem.memories.store import Session
from vaultmem.notes import pages
from vaultmem.notes.places import ARCHIVE
from vaultmem.operations.reading import find_removed
from vaultmem.progress import following_up, logger
from vaultmem.settings import SETTINGS
from vaultmem.text.times import stamp
from vaultmem.vault.batch_record import AnswerChange, Header, Outcome, PlannedWrite
from vaultmem.vault.files import decode

if TYPE_CHECKING:
    from vaultmem.memories.reports import ChangeReport, CommitReport, Skipped, UndoReport
    from vaultmem.synclog.log_entries import Written

log = logger("vaultmem.memories")

MOST = 1_000
ALL = 10_000  # commits searched
UNDO, REDO, LONGEST_WHY = "undo: ", "redo: ", 200  # prefixes of their entries; characters


def history(session: Session, params: Arguments) -> JsonObject:
    """The entries of the history, newest first; those of one memory, if one is named. Turns are included on request."""
    catch_up(session)
    path = _path(session, params.text("id")) if params.text("id") else None
    limit, by = params.whole("limit"), _is_by(params.text("by"))
    every = bool(path or by or params.flag("conversations"))
    commits = session.store.history.log(path, limit if every else ALL, by, _since(session, params))
    shown_commits = [commit for commit in commits if every or not is_by_conversation(commit)]
    elsewhere = session.store.pending.record.written_elsewhere()
    rows = [_commit_to_json(one, elsewhere) for one in shown_commits[:limit]]
    return {"history": rows, "count": len(rows), "left_out": len(commits) - len(shown_commits)}


def diff(session: Session, params: Arguments) -> CommitReport:
    """What one commit changed."""
    catch_up(session)
    history_ = session.store.history
    one = history_.show(params.needed("commit"))
    elsewhere = session.store.pending.record.written_elsewhere()
    return {**_commit_to_json(one, elsewhere), "diff": history_.diff(one.commit)}


def undo(session: Session, params: Arguments) -> UndoReport:
    """Undo commits, newest first: exact bytes, else a merge, else refused with the reason."""
    _remember(session)
    who = header(params, "", session.now)
    candidates = iter(_chosen(session, params))
    for each in candidates:
        taking = _taking(session, each, who.by)
        if taking.writes or taking.refused or taking.answers:
            break
    commits = taking.commits
    elsewhere = session.store.pending.record.written_elsewhere()
    named = {answer.id for commit in commits for answer in commit.answers}  # not also its other ids
    answers = tuple(answer for answer in taking.answers if answer.id in named)
    report: UndoReport = {
        "undone": [in_short(_commit_to_json(commit, elsewhere)) for commit in commits],
        "redone": params.flag("redo"),
        "dry_run": params.flag("dry_run"),
        "answers": [
            {"id": answer.id, "state": answer.after, "text": answer.text} for answer in answers
        ],
        "refused": taking.refused,
        # What --last would undo if this had not been refused.
        "before": next((candidate[0].commit for candidate in candidates), None),
        "changes": [],
    }
    if params.flag("dry_run"):
        report["changes"] = [_preview(session, write) for write in taking.writes]
        return report
    undoes = tuple(name for commit in commits for name in _names(commit, elsewhere))
    who = who._replace(why=taking.why, undoes=undoes, answers=answers)
    outcome = _carry_out(session, who, taking)
    report["changes"] = [
        {"path": change.path, "target": change.target, "why": change.why} for change in outcome.done
    ]
    report["refused"] += [{"path": path, "reason": reason} for path, reason in outcome.skipped]
    if taking.writes and not outcome.done:
        report["answers"] = []
    return report


class _Taking(NamedTuple):
    commits: list[Commit]
    why: str
    writes: list[PlannedWrite]
    answers: tuple[AnswerChange, ...]
    refused: list[Skipped]


def _taking(session: Session, commits: list[Commit], by: str) -> _Taking:
    past = session.store.history
    moved = past.moved_since([entry.commit for entry in commits])
    undone = [
        undoing.Undone(past.files(commit), each)
        for commit, each in zip(commits, moved, strict=True)
    ]
    live = {memory.id: memory.path for memory in session.store.collection.live()}
    means = undoing.Means(
        session.store.folder, session.store.bytes_of, past.merged, _archiver(session, by),
        lambda one, other: _id(session, one) == _id(session, other), put_away,
        lambda data: live.get(_id(session, data), ""),
    )  # fmt: skip
    plan = undoing.plan(undone, means)
    refused: list[Skipped] = [{"path": path, "reason": reason} for path, reason in plan.refused]
    answers, later = item_answers.answers_before(session, commits)
    back = {answer.id for answer in answers}
    taken = [
        commit
        for commit, is_undone in zip(commits, plan.undone, strict=True)
        if is_undone or any(answer.id in back for answer in commit.answers)
    ]
    commits = taken or commits
    subjects = ", ".join(commit.why for commit in commits)
    again = subjects.startswith(UNDO) and all(commit.undoes for commit in commits)
    why = (f"{REDO}{subjects.removeprefix(UNDO)}" if again else f"{UNDO}{subjects}")[:LONGEST_WHY]
    writes = [write._replace(why=why) for write in plan.writes]
    return _Taking(commits, why, writes, answers, [*refused, *later])


def _carry_out(session: Session, who: Header, taking: _Taking) -> Outcome:
    outcome = session.store.apply(who, taking.writes)
    if outcome.done:
        session.store.written(outcome)
    if outcome.done or not taking.writes:
        item_answers.keep_answers(session, who._replace(answers=taking.answers))
        with following_up(log):
            session.store.remember()
            if any(_is_of_job(session, commit) for commit in taking.commits):
                _keep_undone(session, outcome)
            _refresh_pages(session)
    return outcome


def _refresh_pages(session: Session) -> None:
    from vaultmem.operations import overviews  # that module imports this one

    if session.store.bytes_of(f"{session.store.folder}/{overviews.CHANGES}", 1) is not None:
        overviews.keep_changes(session)  # reported by a job
    overviews.keep_index(session)
    if searcher := session.reader.searcher_after_writes():
        session.store.pending.refresh(searcher.catalog, session.local_time)


def _id(session: Session, data: bytes) -> str:
    style = session.store.rules.page_style(f"{session.store.folder}/{ARCHIVE}/-.md")
    return str(pages.read(style, decode(data)[0]).properties.get("id", ""))


def _archiver(session: Session, by: str) -> Callable[[bytes], bytes]:
    sets: dict[str, Value] = {"deleted_at": stamp(session.now), "by": by}
    style = session.store.rules.page_style(f"{session.store.folder}/{ARCHIVE}/-.md")

    def archived(data: bytes) -> bytes:
        try:
            return pages.edit(style, data, sets, None)
        except FrontMatterError as error:  # one of many files; the report names it
            raise NoteChangedError(str(error)) from error

    return archived


def _is_of_job(session: Session, commit: Commit) -> bool:
    """Whether a job made the change, here or on another machine, whose jobs have the same names."""
    elsewhere = session.store.pending.record.written_elsewhere()
    return commit.kind == "job" or f"jobs.{_commit_to_json(commit, elsewhere)['by']}" in SETTINGS


def _keep_undone(session: Session, outcome: Outcome) -> None:
    """Keep jobs from repeating what a person just undid, on all machines."""
    collection, targets = session.store.collection, {step.target for step in outcome.done}
    memories = [memory for memory in map(collection.at, targets) if memory and not memory.archived]
    rows = [(memory.id, memory.path, memory.hash) for memory in memories]
    reads.leave_undone(session.store.ledger, rows, session.now)
    memories += [copy for copy, _ in collection.spare_copies() if copy.path in targets]
    at = stamp(session.now)
    marks = [
        item_answers.Answer(
            item_answers.undone_id(memory.id, memory.path, memory.hash),
            item_answers.DROPPED,
            at,
            text=f"{item_answers.UNDONE}{memory.title}",
        )
        for memory in memories
    ]
    session.store.pending.record.add(marks, [], session.now)


def _preview(session: Session, write: PlannedWrite) -> ChangeReport:
    old = None if write.path is None else session.store.bytes_of(write.path)
    diff = diff_of(write.path, write.target, old or b"", write.render(old))
    return {"path": write.path, "target": write.target, "why": write.why, "diff": diff}


def catch_up(session: Session) -> None:
    """Update the history before it is read; if nothing can be written, it stays as it is."""
    state = session.store.state
    try:
        with contextlib.nullcontext() if state.holds_lock() else state.lock():
            session.store.heal()
            _remember(session)
    except LockedError:
        raise
    except (StateError, OSError) as error:
        why = (isinstance(error, OSError) and error.strerror) or error
        log.warning("%s; what was done last may be missing here", why)


def _remember(session: Session) -> None:
    trouble = session.store.history.trouble()
    if trouble:
        raise VaultmemError(trouble)
    session.store.remember()


def _is_by(name: str) -> Callable[[str], bool] | None:
    """Whether a commit's author has this name, as its program or `connect` spells it; None matches everyone."""
    writer = author(name)
    return (lambda commit: is_same(author(commit), writer)) if name else None


def _chosen(session: Session, params: Arguments) -> list[list[Commit]]:
    """The candidates, likeliest first: one if a commit is named, several for the last change or undo."""
    past = session.store.history
    commit, name = params.text("commit"), params.text("name")
    is_last = params.flag("last") or params.flag("redo")
    if sum(map(bool, (commit, params.flag("last"), params.flag("redo"), name))) != 1:
        raise UsageError("name a COMMIT, or use --last, --redo or --by NAME; see vaultmem history")
    since = _since(session, params)
    if bool(name) != (since is not None):
        raise UsageError("--by NAME and --since WHEN go together")
    if commit:
        one = past.show(commit)
        if one.is_beginning:
            raise VaultmemError(
                f"{commit} is what was there when the history here began; nothing is known before it"
            )
        return [[*(_effects(session, one) if params.flag("effects") else ()), one]]
    done = past.log(limit=ALL if is_last else MOST, by=_is_by(name), since=since)
    # People undo in the editor what they did there.
    results = [[entry for entry in done if entry.is_ours]]
    if is_last:
        results = _last(session, done, redo=params.flag("redo"))
    if not any(results):
        what = "do again" if params.flag("redo") else "undo"
        raise VaultmemError(f"there is nothing to {what}; vaultmem history shows what was done")
    return results


def _effects(session: Session, one: Commit) -> list[Commit]:
    """Other changes made to an answer's file along with it, newest first: a note has several tasks."""
    holding = item_answers.holding(session.store.history.log(limit=MOST))[0]
    later = holding[: next(at for at, each in enumerate(holding) if each.commit == one.commit)]
    paths = {file.path for file in one.files}
    return [
        each for each in later
        if each.is_ours and each.at == one.at and each.files and {file.path for file in each.files} <= paths
    ]  # fmt: skip


def _last(session: Session, done: list[Commit], *, redo: bool) -> list[list[Commit]]:
    """The changes in effect, newest first; or the undos in effect, to redo what they reverted."""
    levels = item_answers.levels_of(done)
    holding, taken_back = item_answers.holding(done)
    if redo:
        return [[entry] for entry in holding if levels[entry.commit] % 2]
    # A turn of a chat that arrived meanwhile is not meant.
    ours = [entry for entry in holding if entry.is_ours and not levels[entry.commit]]
    candidates = [commit for commit in ours if not is_by_conversation(commit)]
    seen = holding[: holding.index(candidates[0])] if candidates else holding
    last = _last_elsewhere(session, seen, candidates, taken_back)
    if ours and not candidates and not last:
        raise VaultmemError(
            "there is nothing to undo but what conversations did; vaultmem history --conversations shows it, and"
            " vaultmem undo COMMIT takes it back"
        )
    return [[commit] for commit in [*last, *candidates]]


def _last_elsewhere(
    session: Session, seen: list[Commit], candidates: list[Commit], taken_back: set[str]
) -> list[Commit]:
    """What vaultmem last did, if on another machine: the files it wrote there at once, as seen here."""
    elsewhere = session.store.pending.record.written_elsewhere()
    marks = [
        (elsewhere[id_], one)
        for one in seen
        if not (one.is_ours or one.is_beginning)  # the previous content of that is unknown
        for id_ in one.contents
        if id_ in elsewhere and id_ not in taken_back
    ]
    if not marks:
        return []
    last, commit = max(marks, key=lambda pair: pair[0].at)
    if candidates and last.at < stamp(candidates[0].at):
        # Within one second, the later sighting here counts.
        return []
    batch = {
        mark.id for mark, one in marks if one == commit and (mark.at, mark.by) == (last.at, last.by)
    }
    files = tuple(file for file in commit.files if file.new[:SHORT] in batch)
    return [commit._replace(files=files)]


def _names(entry: Commit, elsewhere: Mapping[str, Written]) -> tuple[str, ...]:
    """How an undo refers to what it reverts: the commit, or the contents that another machine wrote."""
    remote_ids = () if entry.is_ours else tuple(id_ for id_ in entry.contents if id_ in elsewhere)
    return remote_ids or (entry.commit,)


def is_by_conversation(commit: Commit) -> bool:
    """Whether a conversation made it: a turn, what was learned from it, a summary."""
    return is_talk(commit.by)


def _since(session: Session, params: Arguments) -> float | None:
    value = params.text("since")
    return params.moment("since", session.local_time, ahead=False) if value else None


def _path(session: Session, text: str) -> str:
    try:
        return session.find(text, archived=True).path
    except NoteNotFoundError:
        if gone := find_removed(session, text):
            return gone.memory.path
        texts = session.store.talks.find(text)
        if len(texts) > 1:
            some = ", ".join(entry.id for entry in texts[:3])
            raise NoteNotFoundError(
                f"{text[:40]!r} begins the ids of several entries: {some}"
            ) from None
        if texts:
            return texts[0].path
        if "/" in text:
            return text
        raise


def _commit_to_json(record: Commit, elsewhere: Mapping[str, Written]) -> CommitReport:
    """A commit as JSON. A change from another machine has that machine's name, and its author there if it has only
    one."""
    remote_ids = () if record.is_ours else record.contents
    marks = [elsewhere[id_] for id_ in remote_ids if id_ in elsewhere]
    authors = {mark.by for mark in marks}
    by, why = record.by, record.why
    if len(authors) == 1 and len(marks) == len(remote_ids):
        by, why = authors.pop(), why.removesuffix(f" {OUTSIDE}")
    files = [{"path": file.path, "target": file.target, "why": file.why} for file in record.files]
    return {
        "commit": record.commit, "at": stamp(record.at), "by": by,
        "machine": ", ".join(sorted({mark.machine for mark in marks})), "kind": record.kind, "why": why,
        "files": files,
    }  # fmt: skip
