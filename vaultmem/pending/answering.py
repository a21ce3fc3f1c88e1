"""The verbs on pending items, for every door: list them, answer one, carry answers out, notify of due items."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, time
from functools import cache

from vaultmem.errors import NoteChangedError, NoteNotFoundError, StateError, UsageError
from vaultmem.index.catalog import Catalog
from vaultmem.light import TYPE_CHECKING, NamedTuple, cast
from vaultmem.memories import access
from vaultmem.memories.arguments import Arguments
from vaultmem.memories.draft import RESTORE
from vaultmem.memories.item_answers import (
    DONE,
    DROPPED,
    OPEN,
    SNOOZED,
    Answer,
    approval_id,
    carried_out_id,
    completion_id,
    entry_of_answer,
    history_answers,
    is_closed,
    reason_of,
)
from vaultmem.memories.reports import ChangeReport, header, report_planned
from vaultmem.memories.store import MemoryStore, Session
from vaultmem.operations import own_notes
from vaultmem.pending import carrying
from vaultmem.pending.listing import is_hidden_now, note_of
from vaultmem.reminders.due import REMINDER, TASK, Due
from vaultmem.reminders.items import Item, days_later, is_listable, is_over, words_of
from vaultmem.schedule import LocalZone
from vaultmem.text.sanitize import one_line_or_placeholder
from vaultmem.text.times import seconds, stamp
from vaultmem.text.values import SHORTEST_ID
from vaultmem.vault.batch_record import Header

if TYPE_CHECKING:
    from vaultmem.adapter import JsonObject
    from vaultmem.api.rpc import Reader
    from vaultmem.memories.reports import AnswerReport, ItemReport

NOT_INDEXED = "the vault is not indexed; run vaultmem sync"
_DAY = 86_400  # seconds
_PREFIX = "vm-"
_MOST_NAMED = 5


# --- Without the store's lock: listing and notifying need not wait for a dream


def pending(store: MemoryStore, reader: Reader, params: Arguments) -> JsonObject:
    """All pending items, the chores that these only count, and on request the facts for an assistant's start."""
    now = _now(store)
    at, to = store.pending.at(_catalog(reader), now), access.viewer(params.text("by"))
    is_hidden = _hidden_from(to, store.vault)
    items = [
        item
        for item in at.items(params.whole("days"))
        if not (to.name and (item.asks or is_hidden(item)))
    ]
    chores = [] if to.name else at.chores()
    facts = at.facts() if params.flag("facts") else []
    return {
        "items": [dict(vars(item)) for item in items], "count": len(items), **({"facts": facts} if facts else {}),
        "chores": [dict(item.__dict__) for item in chores], "review": 0 if to.name else at.count(),
        "until": at.unchanged_until(),
    }  # fmt: skip


def notify(store: MemoryStore, reader: Reader, params: Arguments) -> JsonObject:
    """Read answers from the page, write it, and notify of due items."""
    catalog, now, waiting = _catalog(reader), _now(store), store.pending
    dry_run = params.flag("dry_run")
    refreshed = None if dry_run else waiting.refresh(catalog, now)
    planned = waiting.notify(catalog, now, dry_run=dry_run)
    notified = [
        {"title": alarm.title, "body": alarm.body, "urgent": alarm.urgent}
        for alarm in planned.alarms
    ]
    method = waiting.config.text("notify.method")
    report: JsonObject = {"told": notified, "method": method, "dry_run": dry_run}
    if refreshed is None:
        return report
    problem = waiting.notifier.problem
    return {
        **report, "page": waiting.path or None, "written": refreshed.written, "answered": len(refreshed.acks),
        "unsettled": waiting.unsettled, "troubles": [*refreshed.problems, *([problem] if problem else [])],
    }  # fmt: skip


def _hidden_from(to: access.Viewer, folder: str) -> Callable[[Item | Due], bool]:
    """Whether `to` may not see an item, by what the index knows and by its note as it is now."""
    hidden_at = cache(lambda path, memory: is_hidden_now(folder, path, to, memory=memory))

    def is_hidden(item: Item | Due) -> bool:
        path = item.path if isinstance(item, Due) else note_of(vars(item))
        is_hidden_by_index = bool(access.reason(item.scope, to, private=item.private))
        return is_hidden_by_index or hidden_at(path, bool(item.memory))

    return is_hidden


def _catalog(reader: Reader) -> Catalog:
    searcher = reader.searcher()
    if searcher is None:
        raise StateError(NOT_INDEXED)
    return searcher.catalog


def _now(store: MemoryStore) -> datetime:
    return datetime.fromtimestamp(store.now(), LocalZone())


# --- Answers


class _Target(NamedTuple):
    id: str
    text: str
    due: Due | None  # None for a question, or an item no longer due
    last: Answer | None  # the last answer so far


def settle(session: Session, params: Arguments) -> JsonObject:
    """Carry out all answers not carried out yet, whatever their origin."""
    session.store.pending.check_vault()
    return dict(vars(carrying.settle(session, dry_run=params.flag("dry_run"))))


def answer(session: Session, params: Arguments) -> AnswerReport:
    """Record an answer, and carry it out. A closed item is unchanged."""
    state, name = params.needed("state"), params.needed("id")
    now = _now(session.store)
    record = session.store.pending.record
    session.store.pending.check_vault()
    until = _until(params, now) if state == SNOOZED else ""
    place = own_notes.place(session, name)
    if place is not None and state == DONE and not params.text("by"):
        ticked = own_notes.tick(session, params, *place)
        if ticked is not None:
            return ticked
    target = _target(session, _id_at(session, place) if place else name, now)
    text = one_line_or_placeholder(target.text)
    who = header(params, reason_of(state, until, text), session.now)
    if who.kind == "assistant":
        _check_assistant_may(session, target, who.by)
    series = _series(session, target, state, params)
    last = record.answers().get(series) if series else target.last
    before = last.state if last else OPEN
    changed = before not in (DONE, DROPPED) if state != OPEN else before != OPEN
    report: AnswerReport = {
        "id": target.id, "state": state if changed else before, "text": text, "until": until or None,
        "was": before, "changed": changed,
    }  # fmt: skip
    if not changed:
        return report
    # The page of answers is not a private note.
    content = one_line_or_placeholder(words_of(target.due)) if target.due else text
    # After an earlier answer was carried out, also one of this second, or of a machine whose clock is ahead.
    mark = record.answers().get(carried_out_id(target.id))
    at = max(session.now, 1 + (seconds(mark.at) or 0.0) if mark else 0.0)
    answers = [Answer(target.id, state, stamp(at), who.by, until, content)]
    if series:  # its end is recorded under its own id
        answers = [answers[0]._replace(id=series), *(answers if state == OPEN else [])]
    if state == OPEN and (entry := entry_of_answer(session, answers[0].id, before)):
        return cast("AnswerReport", {**report, **_undo(session, params, target, entry)})
    if params.flag("dry_run"):
        return cast("AnswerReport", {**_dry_run(session, target.id, state, answers), **report})
    who = who._replace(answers=history_answers(record.answers(), answers))
    record.add(answers, [], session.now)
    return cast("AnswerReport", {**report, **_carry_out(session, params, target, who)})


def _series(session: Session, target: _Target, state: str, params: Arguments) -> str:
    """The id of the series that ends with this answer, or continues when it is taken back; "" for none."""
    if params.flag("series") and state == DROPPED:
        due = target.due
        if due is None or not due.series:
            where = f"{due.path}:{due.line}" if due and due.repeat else ""
            why = f"repeats in its note, {where}; end it there, or" if where else "does not repeat;"
            if due is None and target.last:
                why = "was answered; name its next occurrence, see vaultmem pending, or"
            raise UsageError(
                f"{one_line_or_placeholder(target.text)!r} ({target.id}) {why} leave --series out"
            )
        return due.series
    if state != OPEN:
        return ""
    series = target.due.series if target.due else carrying.series_of(session, target.id)
    return series if is_closed(session.store.pending.record.answers(), series) else ""


def _dry_run(session: Session, id_: str, state: str, answers: Iterable[Answer]) -> JsonObject:
    changes: list[ChangeReport] = []
    skipped: list[ItemReport] = []
    if state == OPEN:
        plan = carrying.restore_plan(session, id_)
        changes = report_planned(session, plan)["changes"] if plan else []
    else:
        settled = carrying.settle(session, dry_run=True, more=answers)
        changes = carrying.about(id_, settled.changes)
        skipped = carrying.about(id_, settled.skipped)
    return {"dry_run": True, "changes": changes, "findings": [], "skipped": skipped}


def _undo(session: Session, params: Arguments, target: _Target, commit: str) -> JsonObject:
    """Undo an answer and all its effects, by its entry in the history."""
    from vaultmem.operations import past  # brings the history, which due items do not need

    by, dry_run = params.text("by"), params.flag("dry_run")
    what = {"commit": commit, "by": by, "dry_run": dry_run, "effects": True}
    undone = past.undo(session, Arguments(what))
    if undone["refused"]:
        raise NoteChangedError(undone["refused"][0]["reason"])
    changes = [{**change, "action": RESTORE} for change in undone["changes"]]
    if dry_run:
        return {"dry_run": True, "changes": changes, "findings": [], "skipped": []}
    restored = changes[0]["target"] if changes else None
    return {"restored": restored, "gone": target.due is None and not restored}


def _carry_out(session: Session, params: Arguments, target: _Target, who: Header) -> JsonObject:
    more: JsonObject
    state = params.needed("state")
    if state == OPEN:
        restored = carrying.restore(session, who, target.id)
        more = {"restored": restored, "gone": target.due is None and not restored}
    else:
        settled = carrying.settle(session, entry=who)
        more = {
            "carried_out": carrying.about(target.id, settled.done),
            "skipped": carrying.about(target.id, settled.skipped),
            "asks": _question(session, target) if state == DONE else None,
        }
    if searcher := session.reader.searcher():
        session.store.pending.refresh(searcher.catalog, session.local_time)
    return more


def _question(session: Session, target: _Target) -> str | None:
    asks = session.store.config.text("pending.complete_in_notes") == "ask"
    if not asks or target.due is None or target.due.kind != TASK:
        return None
    question = completion_id(target.due.path)
    return None if is_closed(session.store.pending.record.answers(), question) else question


# --- Which item


def _target(session: Session, name: str, now: datetime) -> _Target:
    waiting, to = session.store.pending, session.viewer
    at = waiting.at(_catalog(session.reader), now)
    items = [*at.items(), *at.chores()]
    dues = {due.id: due for due in carrying.dues(session)}
    is_hidden = _hidden_from(to, session.store.vault)
    every: list[Item | Due] = [*items, *dues.values()]
    hidden = {item.id for item in every if is_hidden(item)}
    dues = {id_: due for id_, due in dues.items() if id_ not in hidden}
    texts = {item.id: item.text for item in items if item.id not in hidden}
    visible = {id_: words_of(due) for id_, due in dues.items()} | texts
    texts |= {id_: due.words for id_, due in dues.items()}
    answers = {id_: one for id_, one in waiting.record.answers().items() if id_ not in hidden}
    id_ = (
        _matching(name, texts)
        or _of_memory(name, dues.values())
        or _matching(name, [*answers, *carrying.answered_reminders(session)])
    )
    if not id_:
        from difflib import get_close_matches  # rarely needed

        near = get_close_matches(_whole(name), visible, 1, 0.85)  # one wrong character
        advice = (
            f"did you mean {near[0]} ({one_line_or_placeholder(visible[near[0]])})? "
            if near
            else ""
        )
        raise NoteNotFoundError(
            f"no pending item has the id {name[:40]!r}; {advice}vaultmem pending lists what is pending"
        )
    last = answers.get(id_)
    # Without its item nothing says who may see the text of an answer, besides its author.
    is_theirs = last is not None and (not to.name or access.is_same(last.by, to.name))
    text = texts.get(id_) or (last.text if last and is_theirs else "")
    return _Target(id_, text, dues.get(id_), last)


def _id_at(session: Session, place: tuple[str, int]) -> str:
    answers = session.store.pending.record.answers()
    is_hidden = _hidden_from(session.viewer, session.store.vault)
    at_place = (due for due in carrying.dues(session) if (due.path, due.line) == place)
    there = [due for due in at_place if not is_hidden(due)]
    if there:  # of a recurring item, the open occurrence
        return min(there, key=lambda due: is_over(due, answers)).id
    raise NoteNotFoundError(
        f"nothing is pending at {place[0]}:{place[1]}; vaultmem pending lists what is pending, and vaultmem tasks "
        "open tasks"
    )


def _matching(name: str, ids: Iterable[str]) -> str:
    prefix = _whole(name)
    fitting = sorted({id_ for id_ in ids if id_.startswith(prefix)})
    if prefix in fitting:
        return prefix
    if not fitting or len(prefix) < len(_PREFIX) + SHORTEST_ID:
        return ""
    if len(fitting) > 1:
        listed = ", ".join(fitting[:_MOST_NAMED])
        raise NoteNotFoundError(
            f"{name!r} could mean {len(fitting)} items: {listed}; give more of it"
        )
    return fitting[0]


def _whole(name: str) -> str:
    plain = name.strip().removeprefix("^").lower()
    return plain if plain.startswith(_PREFIX) else f"{_PREFIX}{plain}"


def _of_memory(name: str, dues: Iterable[Due]) -> str:
    prefix = name.strip().lower()
    ids = [due.id for due in dues if due.memory.startswith(prefix)]
    return ids[0] if len(ids) == 1 and len(prefix) >= SHORTEST_ID else ""


def _check_assistant_may(session: Session, target: _Target, name: str) -> None:
    """Raise unless the answer is to a due item, or takes back the assistant's own answer."""
    due, name_of = target.due, target.id
    if target.text:
        name_of = f"{one_line_or_placeholder(target.text)!r} ({target.id})"
    if due is not None and due.private:
        raise UsageError(f"{target.id} is private: only you can answer it, in pending.md")
    dues = carrying.dues(session)
    ids = {item.id for item in dues}
    ids |= {memory.id for memory in session.store.collection.live()}
    questions = {approval_id(id_) for id_ in ids} | {completion_id(item.path) for item in dues}
    answers = session.store.pending.record.answers()
    unapproved = due is not None and due.kind != REMINDER and not is_listable(due, answers)
    if target.id in questions or unapproved:
        raise UsageError(f"only you can approve {name_of}: tick it in pending.md")
    if due is None and not (target.last and access.is_same(target.last.by, name)):
        raise UsageError(
            f"{name_of} is not a due task or reminder: only you can answer it, in pending.md"
        )


# --- Until when


def _until(params: Arguments, now: datetime) -> str:
    """The local minute, or the day for midnight and spans of days; tomorrow if none is named."""
    if not params.has("until"):
        return days_later(now.date(), 1)
    end = params.moment("until", now, ahead=True)
    at = datetime.fromtimestamp(end, now.tzinfo).replace(tzinfo=None)
    until = at.date().isoformat() if at.time() == time() else at.isoformat(timespec="minutes")
    span = round(end - now.timestamp())
    if span % _DAY == 0:  # calendar days, which may have 23 hours
        until = days_later(now.date(), span // _DAY)
    if until <= f"{now:%Y-%m-%dT%H:%M}"[: len(until)]:
        option = params.spelled("until")
        raise UsageError(f"{option} must be still to come; {until.replace('T', ' ')} is not")
    return until
