"""Carry out what answers ask for: a reminder that is done goes to the archive, a task is ticked in its note, and what
a conversation learned becomes a memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from vaultmem.adapter import Task, Value
from vaultmem.chat import conversations
from vaultmem.errors import NoteChangedError, UsageError, VaultmemError
from vaultmem.languages import recurrence, reminder_phrase, when
from vaultmem.languages.reminder_phrase import Phrase
from vaultmem.memories import leaving, own_notes
from vaultmem.memories.asked import Asked
from vaultmem.memories.draft import RESTORE, Change, Plan
from vaultmem.memories.model import Memory, category_of
from vaultmem.memories.reports import Report, header, planned
from vaultmem.memories.store import YOU, Session
from vaultmem.memories.writing import write
from vaultmem.reminders import learned, pending_items
from vaultmem.reminders.answers import DONE, DROPPED, OPEN, Answer, closed
from vaultmem.reminders.due import REMINDER, TASK, Due
from vaultmem.reminders.due_texts import series_id
from vaultmem.reminders.pending_page import item_id
from vaultmem.text.sanitize import one_line
from vaultmem.text.times import stamp
from vaultmem.text.titles import free_path
from vaultmem.vault.batches import Header

ANSWERED = (
    "answered"  # the property of an archived reminder that says by which answer it was put away
)


class _Step(NamedTuple):
    """One thing that an answer asks for."""

    due: Due
    word: Answer  # by which it is done
    mark: str  # under which is kept that it was done
    plan: Plan


class _Settled:
    """What became of the answers."""

    def __init__(self) -> None:
        self.done: list[object] = []
        self.reopened: list[object] = []
        self.skipped: list[object] = []
        self.changes: list[object] = []

    def skip(self, id_: str, path: str, reason: str) -> None:
        """It could not be done."""
        self.skipped.append({"due": id_, "path": path, "reason": reason})

    def report(self) -> Report:
        """All of it."""
        return dict(self.__dict__)


def listed(found: object) -> list[object]:
    """What a report lists."""
    return list(found) if isinstance(found, list) else []


def about(id_: str, found: object) -> list[dict[str, str]]:
    """What of this is about an item, or about the question whether to tick it in its note."""
    due = [one for one in listed(found) if isinstance(one, dict)]
    return [one for one in due if id_ in (one["due"], pending_items.completion(one["path"]))]


def dues(session: Session) -> list[Due]:
    """All that is due, answered or not. What repeats goes on after it was done or dropped."""
    searcher = session.reader.searcher()
    if searcher is None:
        return []
    now = datetime.fromtimestamp(session.now).astimezone()
    return session.desk.waiting.dues(searcher.catalog, now, session.desk.waiting.record.answers())


def settle(session: Session, *, dry_run: bool = False, more: Iterable[Answer] = ()) -> Report:
    """Do what is to be done and was not yet; only say so in a dry run, in which there may be `more` answers."""
    settled = _Settled()
    if not dry_run:
        session.desk.waiting.unsettled = False  # what is answered from now on is for the next time
    answers = session.desk.waiting.record.answers()
    answers = {**answers, **{word.id: word for word in more}}
    # From the last line up: the next one of what comes round again is another line of its note.
    for due in sorted(dues(session), key=lambda one: (one.path, -one.line)):
        for word, mark in _words(session, due, answers):
            try:
                step = _step(session, due, word, mark)
            except VaultmemError as error:
                settled.skip(due.id, due.path, str(error))
                continue
            if step is None:
                continue
            if mark in answers and answers[mark].at >= word.at:
                _reopen(session, step, answers, settled, dry_run=dry_run)
            elif dry_run:
                settled.changes += _changes(due.id, planned(session, step.plan))
            else:
                _carry_out(session, step, settled)
    kept = leaving.keep(session, answers, dry_run=dry_run)
    settled.done += kept.done
    settled.skipped += kept.skipped
    settled.changes += kept.changes
    _remember(session, answers, settled, dry_run=dry_run)
    return settled.report()


def _remember(
    session: Session, answers: Mapping[str, Answer], settled: _Settled, *, dry_run: bool
) -> None:
    """Make memories of the facts of conversations that the person has ticked."""
    searcher, desk = session.reader.searcher(), session.desk
    found = learned.learned(searcher.catalog, desk.vault, desk.folder) if searcher else []
    for fact in learned.answered(found, answers, desk.vault):
        mark, words = item_id(fact.id, "carried out"), one_line(fact.content)
        about = {"due": fact.question, "text": words, "path": fact.path}
        word = answers[fact.question]
        if mark in answers and answers[mark].at >= word.at:  # an undo has brought the fact back
            settled.reopened.append(about)
            said = Answer(fact.question, OPEN, stamp(session.now), YOU, "", words)
        else:
            try:
                made = conversations.promote_one(session, fact.id, dry_run=dry_run)
            except VaultmemError as error:
                settled.skip(fact.question, fact.path, str(error))
                continue
            if dry_run:
                settled.changes += _changes(fact.question, made)
                continue
            settled.done.append({**about, "path": made["path"], "action": "remember"})
            at = max(stamp(session.now), word.at)
            said = Answer(mark, DONE, at, YOU, "", f"carried out: {words}")
        if not dry_run:
            desk.waiting.record.add([said], [], session.now)


def _changes(id_: str, report: Report) -> list[object]:
    found = report["changes"]
    return [{**one, "due": id_} for one in found] if isinstance(found, list) else []


def _words(
    session: Session, due: Due, answers: Mapping[str, Answer]
) -> Iterator[tuple[Answer, str]]:
    """The answer by which something is to be done, if there is one, and the mark of its being done."""
    given = answers.get(due.series) if closed(answers, due.series) else answers.get(due.id)
    if given is None or given.state not in (DONE, DROPPED):
        return
    if due.kind == REMINDER and (given.id == due.series or not due.rolls):
        others = (other for other in dues(session) if other.memory == due.memory)
        if given.id == due.series or all(closed(answers, other.id) for other in others):
            yield given, pending_items.carried_out(due)  # else it has another time to come
    elif due.kind == TASK and given.state == DONE:
        how = session.desk.config.text("pending.complete_in_notes")
        asked = given if how == "always" else answers.get(pending_items.completion(due.path))
        if how == "never" or asked is None or asked.state != DONE:
            return
        word = max(given, asked, key=lambda one: one.at)
        mark = pending_items.carried_out(due)
        elsewhere, beside = (answers.get(other) for other in pending_items.marks(due))
        if mark in answers or beside or elsewhere is None or elsewhere.at < word.at:
            yield word, mark


def _step(session: Session, due: Due, word: Answer, mark: str) -> _Step | None:
    """What is to be done; None when it is so already. Raises VaultmemError where it cannot be done."""
    plan = _archived(session, due, word) if due.kind == REMINDER else _ticked(session, due)
    return _Step(due, word, mark, plan) if plan else None


def _archived(session: Session, due: Due, word: Answer) -> Plan | None:
    memory = next((one for one in session.desk.collection.live() if one.id == due.memory), None)
    if memory is None:
        return None
    draft = session.draft()
    draft.archive(memory, word.by or YOU, word.state)
    draft.set(memory, word.state, **{ANSWERED: due.id})
    return draft.plan(word.state)


def _ticked(session: Session, due: Due) -> Plan | None:
    if session.desk.bytes_of(due.path) is None:
        return None

    def is_meant(task: Task) -> bool:
        times = [at for at in (task.due, task.scheduled, task.remind, task.start) if at]
        moved = bool(times) and due.due not in times
        return task.line == due.line and task.text == due.text and not moved

    found = own_notes.find_task(session, due.path, is_meant)
    if found is None:
        raise NoteChangedError(
            f"{due.path} was changed meanwhile: its line {due.line} is not this task"
        )
    return None if found.is_closed else found.ticked(session, due.id)


def _carry_out(session: Session, step: _Step, settled: _Settled) -> None:
    due, word = step.due, step.word
    words = one_line(due.text)
    kind = "person" if word.by in ("", YOU) else "assistant"
    who = Header(word.by or YOU, kind, f"{step.plan.name}: {words}"[:200], session.now)
    outcome = session.carry_out(step.plan, who)
    if outcome.skipped:
        settled.skip(due.id, due.path, outcome.skipped[0][1])
        return
    at = max(stamp(session.now), word.at)
    said = Answer(step.mark, DONE, at, word.by or YOU, "", f"carried out: {words}")
    marks = {step.mark, *(pending_items.marks(due) if due.kind == TASK else ())}
    session.desk.waiting.record.add([said._replace(id=mark) for mark in marks], [], session.now)
    target = step.plan.changes[0].target
    settled.done.append({"due": due.id, "text": words, "path": target, "action": step.plan.name})


def _reopen(
    session: Session,
    step: _Step,
    answers: Mapping[str, Answer],
    settled: _Settled,
    *,
    dry_run: bool,
) -> None:
    """It was carried out, and is open again: the person took it back, in the note, by undo or by restore."""
    due, words = step.due, one_line(step.due.text)
    settled.reopened.append({"due": due.id, "text": words, "path": due.path})
    if dry_run:
        return
    at = stamp(session.now)
    taken_back = [
        Answer(id_, OPEN, at, YOU, "", words) for id_ in (due.id, due.series) if id_ in answers
    ]
    session.desk.waiting.record.add(taken_back, [], session.now)


# Bring back the reminder that an answer has put away.


def plan(session: Session, id_: str) -> Plan | None:
    """How the reminder of that item comes back; None when none was put away for it."""
    memory = _put_away(session, id_)
    if memory is None:
        return None
    view = session.view
    category = category_of("", memory.properties.get("category"))
    wanted = f"{view.folder}/{category}/{memory.path.rpartition('/')[2]}"
    target = free_path(wanted, memory.id, view.exists)
    now: dict[str, Value] = {
        "deleted_at": None,
        "by": None,
        ANSWERED: None,
        "updated_at": stamp(session.now),
    }
    why = "its answer was taken back"
    change = Change(RESTORE, memory.id, memory.path, target, now, None, memory.hash, why)
    return Plan("restore", (change,))


def _put_away(session: Session, id_: str) -> Memory | None:
    archived = session.desk.collection.archived()
    return next((one for one in archived if one.properties.get(ANSWERED) == id_), None)


def put_away(session: Session) -> dict[str, str]:
    """The items whose reminders are in the archive, with their titles."""
    archived = session.desk.collection.archived()
    return {
        str(one.properties.get(ANSWERED)): one.title
        for one in archived
        if one.properties.get(ANSWERED)
    }


def series(session: Session, id_: str) -> str:
    """The id of the series whose end has put the reminder of that item away, if it did; "" for no such reminder."""
    memory = _put_away(session, id_)
    return series_id(memory.id) if memory else ""


def restore(session: Session, asked: Asked, id_: str) -> str | None:
    """Bring it back; where it is now."""
    found = plan(session, id_)
    if found is None:
        return None
    target = found.changes[0].target
    who = header(asked, f"taken back: {target.rpartition('/')[2]}", session.now)
    outcome = session.carry_out(found, who)
    if outcome.skipped:
        raise NoteChangedError(outcome.skipped[0][1])
    return target


# Reminders that somebody sets: what, when, and how often.


def remind(session: Session, asked: Asked) -> dict[str, object]:
    """Write a reminder. Its words say when, unless `at` does; a repetition is in the words or in `repeat`. What is not
    understood is refused: half of it would be another time."""
    now = session.view.now
    given = asked.text("at")
    phrase = reminder_phrase.alone(given, now) if given else _in_words(asked, now)
    moment = phrase.moment
    if not moment or not when.is_to_come(moment, now) or (given and phrase.rest):
        raise _no_time(given, phrase)
    repeat = _rule(asked.text("repeat"), now) or moment.repeat
    times: dict[str, Value] = {"remind": when.iso(moment)}
    if repeat:
        times["repeat"] = repeat
    # One that is there already has times of its own.
    return {**times, "understood": phrase.words, **write(session, asked, times)}


def _in_words(asked: Asked, now: datetime) -> Phrase:
    phrase = reminder_phrase.read(asked.content(), now)
    if phrase.rest and not asked.text("repeat"):
        named = ", ".join(f'"{each}"' for each in phrase.rest)
        raise VaultmemError(
            f"when? {named} is not understood; say it in other words, or give the time with --at and what comes round "
            "with --repeat: the words stay as they are then"
        )
    return phrase


def _rule(given: str, now: datetime) -> str:
    if not given or recurrence.read_rule(given):
        return given
    phrase = reminder_phrase.alone(given, now)
    if phrase.rest or not phrase.moment or not phrase.moment.repeat:
        raise UsageError(
            f"repeat must be a rule such as every day or every week on Monday, not {given!r}"
        )
    return phrase.moment.repeat


def _no_time(given: str, phrase: Phrase) -> VaultmemError:
    if given:
        named = ", ".join(f'"{each}"' for each in phrase.rest if each != given)
        more = f"; {named} is not understood" if named else ""
        return UsageError(
            f"--at must be a time that is still to come, such as tomorrow at 9, not {given!r}{more}"
        )
    return VaultmemError(
        "when? the words name no time that is still to come; add one, such as tomorrow at 9, or give it with --at"
    )
