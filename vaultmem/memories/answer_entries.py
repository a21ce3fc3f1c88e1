"""Answers to pending items as entries of the history have them: recorded with what they led to, and taken back."""

from __future__ import annotations

from collections.abc import Iterable

from vaultmem.history.commits import Record
from vaultmem.memories.item_answers import DONE, DROPPED, OPEN, Answer, Answers, carried_out_id
from vaultmem.memories.store import Session
from vaultmem.text.times import stamp
from vaultmem.vault.batches import Answered, Header

MOST = 1_000  # entries in which the last answer is searched


def answered(known: Answers, answers: Iterable[Answer]) -> tuple[Answered, ...]:
    """New answers as the history has them, by what is known so far."""
    results = []
    for one in answers:
        last = known.get(one.id)
        before = (last.state, last.until) if last else (OPEN, "")
        results.append(Answered(one.id, *before, one.state, one.until, one.text))
    return tuple(results)


def back(
    session: Session, commits: list[Record]
) -> tuple[tuple[Answered, ...], list[dict[str, str]]]:
    """The answers to pending items as they were before; those that were answered again since stay."""
    known = session.desk.pending.record.answers()
    now = {one.id: (one.state, one.until) for one in known.values()}
    back: list[Answered] = []
    refused = []
    for one in (each for commit in commits for each in reversed(commit.answers)):
        if now.get(one.id, (OPEN, "")) == (one.after, one.after_until):
            back.append(one.reversed())
            now[one.id] = one.before, one.before_until
        elif now.get(one.id, (OPEN, "")) != (one.before, one.before_until):
            refused.append({"path": one.id, "reason": f"{one.text} ({one.id}) was answered since"})
    return tuple(back), refused


def keep(session: Session, who: Header) -> None:
    """Record answers to pending items as the entry of the history has them; those that close an item were carried out,
    if they had to be, by the files of that entry."""
    at = stamp(session.now)
    answers: list[Answer] = []
    for one in who.answers:
        answers.append(Answer(one.id, one.after, at, who.by, one.after_until, one.text))
        if one.after in (DONE, DROPPED):
            answers.append(Answer(carried_out_id(one.id), DONE, at, who.by, "", one.text))
    if answers:
        session.desk.pending.record.add(answers, [], session.now)


def entry_of_answer(session: Session, id_: str, state: str) -> str | None:
    """The entry that gave an item this answer last, if it holds and there is a history."""
    if session.desk.history.trouble():
        return None
    session.desk.remember()
    for one in holding(session.desk.history.log(limit=MOST))[0]:
        if any((each.id, each.after) == (id_, state) for each in one.answers):
            return one.commit
    return None


def holding(done: Iterable[Record]) -> tuple[list[Record], set[str]]:
    """The entries that no later one takes back, the newest first; and what is taken back."""
    taken_back: set[str] = set()
    holding = []
    for one in done:
        if one.commit not in taken_back:
            taken_back.update(one.undoes)
            holding.append(one)
    return holding, taken_back
