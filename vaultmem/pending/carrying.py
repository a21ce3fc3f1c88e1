"""Carries out answers: a finished reminder goes to the archive, a task is ticked in its note, a fact learned in a
conversation becomes a memory; and restores what was archived when an answer is taken back."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import date, datetime
from functools import cache

from vaultmem import plugins
from vaultmem.adapter import Task, Value
from vaultmem.errors import NoteChangedError, VaultmemError
from vaultmem.light import TYPE_CHECKING
from vaultmem.memories.arguments import Arguments
from vaultmem.memories.draft import Plan, restored
from vaultmem.memories.item_answers import (
    DONE,
    OPEN,
    SNOOZED,
    Answer,
    Answers,
    carried_out_id,
    completion_id,
    is_carried_out,
    is_closed,
    proposal_id,
    reason_of,
    snoozed_since,
    state_of,
)
from vaultmem.memories.model import Memory
from vaultmem.memories.reports import ChangeReport, ItemReport, Settled, report_planned
from vaultmem.memories.store import YOU, Session
from vaultmem.operations import leaving, own_notes
from vaultmem.pending.person_facts import Learned
from vaultmem.reminders.due import REMINDER, TASK, Due, series_id
from vaultmem.reminders.items import is_over, words_of
from vaultmem.review import review
from vaultmem.review.proposals import Proposal
from vaultmem.text.recurrence import resume_rule
from vaultmem.text.sanitize import one_line
from vaultmem.text.times import seconds, stamp
from vaultmem.vault.batch_record import AnswerChange, Header

if TYPE_CHECKING:
    from typing import Any, TypeVar

    T = TypeVar("T", ItemReport, ChangeReport)

# The property of an archived reminder that names the answer by which it was archived.
ANSWERED = "answered"
CLOCKS = 300.0  # seconds by which the clocks of two machines may differ


def about(id_: str, reports: Iterable[T]) -> list[T]:
    """The part that concerns an item, or the question whether to tick it in its note."""
    return [
        report for report in reports if id_ in (report["due"], completion_id(report["path"] or ""))
    ]


def dues(session: Session, answers: Answers | None = None) -> Sequence[Due]:
    """All due items, answered or not; recurring ones move on once done or dropped."""
    searcher = session.reader.searcher()
    if searcher is None:
        return ()
    return session.store.pending.dues(searcher.catalog, session.local_time, answers)


def settle(
    session: Session, *, dry_run: bool = False, more: Iterable[Answer] = (), entry: Header | None = None
) -> Settled:  # fmt: skip
    """Carry out answers not carried out yet, each as an entry of the history; or preview that."""
    pending, entries = session.store.pending, [entry] if entry else []
    if not dry_run:
        pending.unsettled = False  # later answers are left for the next run
        ticked, pending.ticked = pending.ticked, []
        entries += [_entry(session, answer) for answer in ticked]
    answers = pending.record.answers()
    answers = {**answers, **{answer.id: answer for answer in more}}
    work = _Work(session, answers, entries, dry_run=dry_run)
    work.restore_snoozed()
    work.carry_out_dues()
    work.move_on()
    leaving.keep_ticked(session, answers, work.settled, dry_run=dry_run)
    work.promote_facts()
    work.accept_proposals()
    led_to = {report["due"] for report in work.settled.done}  # entries of their own
    for row in work.entries:
        if not any(answer.id in led_to for answer in row.answers):
            session.store.apply(row, [])
    return work.settled


def _entry(session: Session, answer: AnswerChange) -> Header:
    words = reason_of(answer.after, answer.after_until, one_line(answer.text))
    return Header(YOU, "person", words, session.now, answers=(answer,))


class _Work:
    def __init__(
        self, session: Session, answers: dict[str, Answer], entries: list[Header], *, dry_run: bool
    ) -> None:
        self.settled = Settled()
        self.entries = entries  # of the history, until recorded with an effect
        self._session, self._answers, self._dry_run = session, answers, dry_run
        self._dues = dues(session, answers)
        self._stat = cache(os.stat)
        self._same = defaultdict[object, list[Due]](list)  # the times of each reminder and task
        for due in self._dues:
            self._same[due.thing].append(due)

    @contextmanager
    def _or_skip(self, id_: str, path: str) -> Iterator[None]:
        """Carry out each item; an error in one does not stop the others."""
        try:
            yield
        except VaultmemError as error:
            self.settled.skip(id_, path, str(error))

    def restore_snoozed(self) -> None:
        """Bring back reminders that one machine archived before another, which did not know that yet, snoozed them."""
        snoozed = snoozed_since(self._answers)
        archived = answered_reminders(self._session) if snoozed else {}
        for answer in snoozed:
            memory = archived.get(answer.id)
            if memory is None or is_closed(self._answers, series_id(memory.id)):
                continue
            if answer.at > memory.text("deleted_at"):
                with self._or_skip(answer.id, memory.path):
                    self._restore(memory, answer)

    def _restore(self, memory: Memory, answer: Answer) -> None:
        # Every machine may do this, so it must give the same bytes on all of them.
        plan = _restoring(self._session, memory, "snoozed since", updated_at=answer.at)
        if self._dry_run:
            self.settled.add_changes(answer.id, report_planned(self._session, plan))
            return
        words = one_line(answer.text)
        who = Header(YOU, "person", reason_of(SNOOZED, answer.until, words), self._session.now)
        self._session.make(plan, who)
        path = plan.changes[0].target
        self.settled.reopened.append({"due": answer.id, "text": words, "path": path})

    def carry_out_dues(self) -> None:
        """Archive reminders, and tick tasks."""
        # From the last line up: the next occurrence of a recurring task is another line of its note.
        for due in sorted(self._dues, key=lambda one: (one.path, -one.line)):
            if answer := self._requested(due):
                with self._or_skip(due.id, due.path):
                    self._settle(due, answer)

    def move_on(self) -> None:
        """Give recurring reminders the day of their next occurrence, once the counted one is done or dropped."""
        rolling = {due.memory: due for due in self._dues if due.kind == REMINDER and due.rolls}
        for due in dues(self._session, {}) if rolling else ():
            following, answer = rolling.get(due.memory), self._answers.get(due.id)
            if following is None or answer is None or following.id == due.id:
                continue
            with self._or_skip(due.id, due.path):
                self._move_on(due, following, answer)

    def _move_on(self, due: Due, following: Due, answer: Answer) -> None:
        memory = self._memory_of(due)
        if memory is None or is_closed(self._answers, following.series):
            return
        sets = _next_times(memory, following)
        if not sets:
            return
        draft = self._session.draft()
        draft.set(memory, f"next on {following.at.replace('T', ' ')}", **sets)
        self._do(due, answer, draft.plan(answer.state), following.at)

    def promote_facts(self) -> None:
        """Make memories of facts of conversations that the person ticked."""
        searcher, store = self._session.reader.searcher(), self._session.store
        if searcher is None:
            return
        now = self._session.local_time
        for fact in store.pending.facts_to_promote(searcher.catalog, now, self._answers):
            with self._or_skip(fact.question, fact.path):
                self._promote(fact)

    def accept_proposals(self) -> None:
        """Make the proposed changes that the person ticked."""
        for proposal in review.open_for_notes(self._session.store.ledger, self._answers):
            id_ = proposal_id(proposal.id)
            if state_of(self._answers, id_) == DONE:
                with self._or_skip(id_, proposal.path):
                    self._accept(id_, proposal)

    def _accept(self, id_: str, proposal: Proposal) -> None:
        params = Arguments({"id": proposal.id, "dry_run": self._dry_run})
        ticked = [one for entry in self.entries for one in entry.answers if one.id == id_]
        report = review.accept(self._session, params, tuple(ticked))
        if "changes" in report:
            self.settled.add_changes(id_, report)
            return
        words, path = one_line(proposal.said), report["path"]
        self.settled.done.append({"due": id_, "text": words, "path": path, "action": "accepted"})

    def _answer_to(self, due: Due) -> Answer | None:
        is_ended = is_closed(self._answers, due.series)
        return self._answers.get(due.series if is_ended else due.id)

    def _requested(self, due: Due) -> Answer | None:
        """The answer to carry out, if any: of several times the last one, once all are answered."""
        answer, every = self._answer_to(due), self._same[due.thing]
        if answer is None or not all(is_over(each, self._answers) for each in every):
            return None
        # A recurring reminder is handled here only if no occurrence follows.
        if answer != max(filter(None, map(self._answer_to, every)), key=lambda one: one.at):
            return None
        if due.kind != TASK or answer.state != DONE:
            return answer if due.kind == REMINDER else None
        how = self._session.store.config.text("pending.complete_in_notes")
        consent = answer if how == "always" else self._answers.get(completion_id(due.path))
        if how == "never" or consent is None or consent.state != DONE:
            return None
        return max(answer, consent, key=lambda one: one.at)

    def _settle(self, due: Due, answer: Answer) -> None:
        """Carry it out unless that was done; if it has been reopened since, the person undid it."""
        plan = self._archive_reminder(due, answer) if due.kind == REMINDER else self._ticked(due)
        if plan is not None:
            self._do(due, answer, plan)

    def _do(self, due: Due, answer: Answer, plan: Plan, next_at: str = "") -> None:
        mark = carried_out_id(due.id)
        is_past = is_carried_out(answer, mark, self._answers)
        came, edited = self._written_since(mark, due.path)
        if is_past and not came:
            return
        if is_past and edited and not self._is_archived(due):
            ids = {id_ for each in self._same[due.thing] for id_ in (each.id, each.series)}
            ids &= self._answers.keys()
            self._reopen(due.id, ids, one_line(words_of(due)), due.path)
        elif self._dry_run:
            self.settled.add_changes(due.id, report_planned(self._session, plan))
        else:
            self._carry_out(due, answer, plan, next_at)

    def _is_archived(self, due: Due) -> bool:
        """Whether its reminder is in the archive, too: a sync program, and no person, has brought back a file that
        another machine edited before it knew."""
        return any(one.id == due.memory for one in self._session.store.collection.archived())

    def _memory_of(self, due: Due) -> Memory | None:
        live = self._session.store.collection.live()
        return next((candidate for candidate in live if candidate.id == due.memory), None)

    def _archive_reminder(self, due: Due, answer: Answer) -> Plan | None:
        memory = self._memory_of(due)
        if memory is None:
            return None
        draft = self._session.draft()
        draft.archive(memory, answer.by or YOU, answer.state)
        draft.set(memory, answer.state, **{ANSWERED: due.id})
        return draft.plan(answer.state)

    def _ticked(self, due: Due) -> Plan | None:
        if self._session.store.bytes_of(due.path) is None:
            return None

        def is_meant(task: Task) -> bool:
            times = [at for at in (task.due, task.scheduled, task.remind, task.start) if at]
            moved = bool(times) and due.due not in times
            return task.line == due.line and task.text == due.text and not moved

        task = own_notes.find_task(self._session, due.path, is_meant)
        if task is None:
            raise NoteChangedError(
                f"{due.path} was changed meanwhile: its line {due.line} is not this task"
            )
        return None if task.is_closed else task.ticked(self._session, due.id, self._done_at(due))

    def _done_at(self, due: Due) -> datetime:
        """When the person did it, which may be days before the note is changed."""
        now = self._session.local_time
        answer = self._answer_to(due)
        at = seconds(answer.at) if answer else None
        return now if at is None else datetime.fromtimestamp(min(at, now.timestamp()), now.tzinfo)

    def _carry_out(self, due: Due, answer: Answer, plan: Plan, next_at: str = "") -> None:
        session, words, by = self._session, one_line(due.text), answer.by or YOU
        kind = "person" if by == YOU else "assistant"
        ids = {due.id, due.series, completion_id(due.path)}
        fitting = (one for one in self.entries if any(each.id in ids for each in one.answers))
        entry = next(fitting, None)
        alone = Header(by, kind, f"{plan.name}: {words}"[:200], session.now)
        outcome = session.carry_out(plan, entry or alone)
        if entry and not outcome.skipped:
            self.entries.remove(entry)
        if outcome.skipped:
            self.settled.skip(due.id, due.path, outcome.skipped[0][1])
            return
        self._record(due.id, answer, by, one_line(words_of(due)))
        self.settled.done.append({
            "due": due.id, "text": words, "path": plan.changes[0].target, "action": plan.name, "next": next_at,
        })  # fmt: skip

    def _promote(self, fact: Learned) -> None:
        words, answer = one_line(fact.content), self._answers[fact.question]
        if is_carried_out(answer, carried_out_id(fact.id), self._answers):
            if all(self._written_since(carried_out_id(fact.id), fact.path)):
                self._reopen(fact.question, [fact.question], words, fact.path)
            return
        verb = plugins.load("vaultmem.verbs", "promote-fact")["promote-fact"]
        promote: Callable[..., Any] = plugins.resolve(verb.run)
        made = promote(self._session, Arguments({"id": fact.id, "dry_run": self._dry_run}))
        if self._dry_run:
            self.settled.add_changes(fact.question, made)
            return
        self.settled.done.append({
            "due": fact.question, "text": words, "path": made["path"], "action": "remember",
        })  # fmt: skip
        self._record(fact.id, answer, YOU, words)

    def _written_since(self, mark: str, path: str) -> tuple[bool, bool]:
        """Whether a note came after its item was carried out, and was edited after that, before this run. If it did
        not come, it is still to arrive from the machine which did that; if it came unedited, it is from a backup."""
        try:
            before = self._stat(f"{self._session.store.vault}/{path}")
        except OSError:
            return False, False
        at = (seconds(self._answers[mark].at) if mark in self._answers else None) or 0.0
        # Sync programs give a file the time of its edit on the other machine.
        return before.st_ctime >= at, before.st_mtime >= at - CLOCKS

    def _reopen(self, id_: str, ids: Iterable[str], words: str, path: str) -> None:
        self.settled.reopened.append({"due": id_, "text": words, "path": path})
        if not self._dry_run:
            at = stamp(self._session.now)
            answers = [Answer(item_id, OPEN, at, YOU, "", words) for item_id in ids]
            self._session.store.pending.record.add(answers, [], self._session.now)

    def _record(self, id_: str, answer: Answer, by: str, words: str) -> None:
        at = max(stamp(self._session.now), answer.at)
        mark = Answer(carried_out_id(id_), DONE, at, by, "", f"carried out: {words}")
        self._session.store.pending.record.add([mark], [], self._session.now)


def _next_times(memory: Memory, following: Due) -> dict[str, Value]:
    """The properties for a reminder's next occurrence; {} if it has them already, or has several times of its own."""
    remind, repeat = memory.properties.get("remind"), memory.properties.get("repeat")
    by = memory.properties.get("due")
    if not isinstance(remind, str) or not isinstance(repeat, str):
        return {}
    if not isinstance(by, (str, type(None))):
        return {}
    if remind.replace(" ", "T")[:16] == following.at:
        return {}
    rule = following.repeat
    with suppress(ValueError):
        rule = resume_rule(rule, date.fromisoformat((by or remind)[:10]))
    sets: dict[str, Value] = {"remind": following.at}
    if by:
        sets["due"] = following.due
    return sets if rule == following.repeat else {**sets, "repeat": rule}


# --- Reminders archived by an answer


def answered_reminders(session: Session) -> dict[str, Memory]:
    """The archived reminders, by the id of the item whose answer archived them."""
    archived = session.store.collection.archived()
    return {str(id_): memory for memory in archived if (id_ := memory.properties.get(ANSWERED))}


def series_of(session: Session, id_: str) -> str:
    """The id of the series whose end archived that item's reminder; "" if there is none."""
    memory = answered_reminders(session).get(id_)
    return series_id(memory.id) if memory else ""


def restore_plan(session: Session, id_: str) -> Plan | None:
    """The change that restores that item's reminder; None if none was archived for it."""
    memory = answered_reminders(session).get(id_)
    if memory is None:
        return None
    return _restoring(session, memory, "its answer was taken back")


def _restoring(session: Session, memory: Memory, why: str, **sets: Value) -> Plan:
    change = restored(session.view, memory, why, **{ANSWERED: None, **sets})
    return Plan("restore", (change,))


def restore(session: Session, who: Header, id_: str) -> str | None:
    """Restore it, and return its path. The answers of `who` go into the history in any case."""
    plan = restore_plan(session, id_)
    if plan is None:
        session.store.apply(who, [])
        return None
    session.make(plan, who)
    return plan.changes[0].target
