"""Proposals for a person's own notes, and those of a model for memories: shown with a diff, accepted or rejected one by
one."""

from __future__ import annotations

import contextlib
from typing import NamedTuple

from vaultmem.errors import NoteChangedError, NoteNotFoundError, UsageError, VaultmemError
from vaultmem.llm.request import CLASSIFY, CONTRADICTION, FILES, MERGE, REASON, SAME
from vaultmem.memories import proposing, reads
from vaultmem.memories.asked import Asked
from vaultmem.memories.classify import due, times_of
from vaultmem.memories.consulting import (
    Meant,
    are_of_a_kind,
    doubt_id,
    may_be_asked,
    name_other_numbers,
)
from vaultmem.memories.desk import YOU, Session
from vaultmem.memories.draft import EDIT, TO_ARCHIVE, Change, Draft, Plan
from vaultmem.memories.merge import join
from vaultmem.memories.model import REMINDERS, Memory
from vaultmem.memories.proposals import DUPLICATE, Proposal, edit
from vaultmem.memories.reads import ACCEPTED, ASKED, OPEN, REJECTED
from vaultmem.memories.reports import Report, diff, header, planned, unified
from vaultmem.text.sanitize import one_line, quoted
from vaultmem.text.titles import free_path
from vaultmem.vault.files import digest
from vaultmem.vault.places import ARCHIVED_NOTES

# What a model has advised about memories, as proposals to a person: kept, shown, and carried out when accepted.

MOST_DIFFS = 20  # files that a proposal is shown with


class Advised(NamedTuple):
    """One proposal of a model, about memories as they are now."""

    id: str
    kind: str
    memories: Meant  # of a contradiction, the one that holds comes last
    choice: str  # the category; of others, the id of what holds, or ""
    reason: str
    model: str

    @property
    def path(self) -> str:
        """The memory that would change most."""
        return self.memories[0].path

    @property
    def said(self) -> str:
        """One line for a person."""
        if self.kind == CLASSIFY:
            return f"a model would file it under {self.choice}"
        other = quoted(self.memories[-1].title)
        if self.kind == MERGE:
            return f"a model says that it states the same as “{other}”"
        return f"a model says that it no longer holds, because of “{other}”"


# --- Keeping


def advise(session: Session, asked: Asked) -> Report:
    """Keep what a model said about doubts: "answers", each with "id", "memories", "choice", "reason". No memory is
    changed by it. How many proposals are new, and how many are open."""
    by_id = _living(session)
    model = one_line(asked.told("model"), 80) if asked.told("model") else ""
    made: dict[str, tuple[str, dict[str, object]]] = {}
    for answer in asked.records("answers"):
        ids, choice = answer.get("memories"), str(answer.get("choice", ""))
        names = [str(one) for one in ids] if isinstance(ids, list) else []
        group = tuple(by_id[one] for one in names if one in by_id)
        own = doubt_id(group)
        if not 1 <= len(group) == len(names) <= 2 or own != answer.get("id"):
            continue  # it says something else by now
        kind = CLASSIFY if len(group) == 1 else MERGE if choice == SAME else CONTRADICTION
        fields: dict[str, object] = {
            "kind": kind, "memories": names, "hashes": [one.hash for one in group], "choice": choice,
            "reason": _reason(answer.get("reason")), "model": model, "category": group[0].category,
        }  # fmt: skip
        is_advice = _is_advice(kind, choice, group) and are_of_a_kind(session, kind, group)
        if is_advice and kind == MERGE:
            is_advice = not name_other_numbers(session, group)
        made[own] = (OPEN if is_advice else ASKED), fields
    before = {one.id for one in reads.kept(session.desk.ledger)}
    reads.advised(session.desk.ledger, made, session.now)
    new = [own for own, (state, _) in made.items() if state == OPEN and own not in before]
    return {"proposed": len(new), "open": len(opened(session))}


def _reason(given: object) -> str:
    return one_line(given, REASON) if isinstance(given, str) and given.strip() else ""


def _is_advice(kind: str, choice: str, group: Meant) -> bool:
    if kind == CLASSIFY:
        return choice in FILES and choice != group[0].category
    return kind == MERGE or choice in [one.id for one in group]


def _living(session: Session) -> dict[str, Memory]:
    return {one.id: one for one in session.view.memories() if may_be_asked(one)}


# --- Showing


def opened(session: Session) -> list[Advised]:
    """All that are open and can be followed still, in the order of paths."""
    by_id = _living(session)
    kept = [one for one in reads.kept(session.desk.ledger) if one.is_of_model and one.state == OPEN]
    found = [advised for one in kept if (advised := _advised(session, one, by_id)) is not None]
    return sorted(found, key=lambda each: (each.path, each.kind, each.id))


def _advised(session: Session, kept: reads.Kept, by_id: dict[str, Memory]) -> Advised | None:
    """A proposal with its memories; None when they are not as they were when the model was asked."""
    own = kept.fields
    kind, choice = str(own.get("kind", "")), str(own.get("choice", ""))
    group = _same(kept, by_id)
    if group is None or not are_of_a_kind(session, kind, group):
        return None
    if kind == CLASSIFY and group[0].category != own.get("category"):
        return None  # somebody has filed it elsewhere by now
    if kind == CONTRADICTION:
        group = tuple(sorted(group, key=lambda one: one.id == choice))
    reason, model = (str(own.get(key, "")) for key in ("reason", "model"))
    return Advised(kept.id, kind, group, choice, reason, model)


def _same(kept: reads.Kept, by_id: dict[str, Memory]) -> Meant | None:
    ids, hashes = kept.fields.get("memories"), kept.fields.get("hashes")
    if not (isinstance(ids, list) and isinstance(hashes, list)) or len(ids) != len(hashes):
        return None
    group = [by_id.get(str(one)) for one in ids]
    found = tuple(one for one in group if one is not None)
    is_same = len(found) == len(ids) and [one.hash for one in found] == hashes
    return found if found and is_same else None


def forget_stale(session: Session) -> None:
    """What was proposed or asked about memories that say something else by now. What a person has decided stays."""
    by_id = _living(session)
    rows = [one for one in reads.kept(session.desk.ledger) if one.is_of_model]
    gone = [
        one.id
        for one in rows
        if (one.state == ASKED and _same(one, by_id) is None)
        or (one.state == OPEN and _advised(session, one, by_id) is None)
    ]
    reads.forget(session.desk.ledger, gone, session.now)


def shown_advice(session: Session, one: Advised) -> Report:
    """A proposal as JSON, with what it would change."""
    changes = plan_of_advice(session, one).changes[:MOST_DIFFS]
    model = f"a model ({one.model})" if one.model else "a model"
    says = f"{model}: “{one.reason}”" if one.reason else f"{model} gave no reason"
    texts = [f"{each.path}: “{quoted(session.view.content(each))}”" for each in one.memories]
    return {
        "id": one.id, "kind": one.kind, "path": one.path, "line": 0, "said": one.said, "evidence": [says, *texts],
        "old": "", "new": changes[0].target if changes else one.path, "column": 0, "who": reads.MODEL,
        "reason": one.reason, "memories": [each.id for each in one.memories],
        "diff": "".join(diff(session, change) for change in changes),
    }  # fmt: skip


# --- Carrying out


def plan_of_advice(session: Session, one: Advised) -> Plan:
    """What is done when it is accepted. Raises NoteChangedError when it cannot be done any more."""
    draft = session.draft()
    if one.kind == CLASSIFY:
        _file(draft, one)
    elif one.kind == MERGE:
        join(draft, one.memories[0], one.memories[1], "you accepted that they say the same")
    else:
        old, new = one.memories
        draft.archive(old, YOU, f"“{new.title}” holds instead, as you accepted", new.id)
    found = draft.plan("review")
    if not found.changes:
        raise NoteChangedError(f"{one.path} is not as it was when this was proposed")
    return found


def _file(draft: Draft, one: Advised) -> None:
    memory, why = one.memories[0], f"{one.choice}: as you accepted"
    draft.move(memory, one.choice, why)
    if one.choice == REMINDERS and not memory.text("remind"):
        moment = due(draft, memory, draft.content(memory))
        if moment is not None:
            draft.set(memory, why, **times_of(moment))


_UTF8_BOM = b"\xef\xbb\xbf"


def propose(session: Session) -> int:
    """Look what there is to propose, and keep it for review; how many are open now."""
    found = [each for each in proposing.collect(session) if _shown(session, each)]
    fields = {each.id: {**each._asdict(), "evidence": list(each.evidence)} for each in found}
    reads.replace_open(session.desk.ledger, fields, session.now)
    forget_stale(session)
    of_notes = sum(_shown(session, each) is not None for each in _open(session))
    return of_notes + len(opened(session))


def _open(session: Session) -> list[Proposal]:
    kept = [
        one for one in reads.kept(session.desk.ledger) if one.state == OPEN and not one.is_of_model
    ]
    found = [_proposal(one.fields) for one in kept]
    return sorted(found, key=lambda each: (each.path, each.line, each.kind, each.id))


def _proposal(fields: dict[str, object]) -> Proposal:
    evidence = fields.get("evidence")
    known = {name: fields[name] for name in Proposal._fields if name in fields}
    return Proposal(**{**known, "evidence": tuple(evidence) if isinstance(evidence, list) else ()})  # type: ignore[arg-type] # as we wrote them


def proposals(session: Session, asked: Asked) -> Report:  # noqa: ARG001 - every verb has the same form
    """What waits for the person, each with what it would change."""
    shown = [report for each in _open(session) if (report := _shown(session, each))]
    for each in opened(session):
        with contextlib.suppress(VaultmemError):  # a person has just deleted it
            shown.append(shown_advice(session, each))
    return {"proposals": shown, "count": len(shown)}


def _shown(session: Session, proposal: Proposal) -> Report | None:
    """A proposal with what it would change; None where the note has changed, until the next dream looks again."""
    try:
        change = _change(session, proposal)
    except VaultmemError:
        return None
    diff = _diff(session, change)
    return {**proposal._asdict(), "evidence": list(proposal.evidence), "diff": diff}


def _diff(session: Session, change: Change) -> str:
    assert change.path is not None
    assert change.raw is not None
    old = session.desk.bytes_of(change.path) or b""
    text = unified(change.path, change.target, old, change.raw)
    return (
        text
        if change.path == change.target
        else f"{change.path} -> {change.target}\n{text}".strip() + "\n"
    )


def accept(session: Session, asked: Asked) -> Report:
    """Make a proposed change. It is in the history, and can be undone."""
    proposal = _named(session, asked)
    plan = _plan(session, proposal)
    if asked.flag("dry_run"):
        return planned(session, plan)
    outcome = session.carry_out(
        plan, header(asked, f"accepted: {proposal.said}"[:200], session.now)
    )
    if outcome.skipped:
        raise NoteChangedError(f"{outcome.skipped[0][1]}")
    reads.decide(session.desk.ledger, proposal.id, ACCEPTED, session.now)
    change = next((one for one in plan.changes if one.path == proposal.path), plan.changes[0])
    return {"id": proposal.id, "accepted": True, "path": change.target, "said": proposal.said}


def _plan(session: Session, proposal: Proposal | Advised) -> Plan:
    if isinstance(proposal, Advised):
        return plan_of_advice(session, proposal)
    return Plan("review", (_change(session, proposal),))


def reject(session: Session, asked: Asked) -> Report:
    """Never propose it again."""
    proposal = _named(session, asked)
    if not asked.flag("dry_run"):
        reads.decide(session.desk.ledger, proposal.id, REJECTED, session.now)
    return {"id": proposal.id, "rejected": True, "path": proposal.path, "said": proposal.said}


def _named(session: Session, asked: Asked) -> Proposal | Advised:
    given = asked.needed("id")
    every: list[Proposal | Advised] = [*_open(session), *opened(session)]
    found = [each for each in every if each.id.startswith(given)]
    if len(found) == 1:
        if isinstance(found[0], Advised) and asked.text("by"):
            raise UsageError("only you can decide on what a model proposes; leave --by out")
        return found[0]
    if found:
        ids = ", ".join(each.id for each in found[:5])
        raise NoteNotFoundError(
            f"{given!r} could mean {len(found)} proposals: {ids}; give more of it"
        )
    raise NoteNotFoundError(f"no open proposal has the id {given!r}; vaultmem review lists them")


def _change(session: Session, proposal: Proposal) -> Change:
    """The change of bytes. Raises NoteChangedError when the note is not as it was when this was proposed."""
    data = session.desk.bytes_of(proposal.path)
    if data is None:
        raise NoteNotFoundError(f"{proposal.path} is gone")
    mark = _UTF8_BOM if data.startswith(_UTF8_BOM) else b""
    try:
        text = data[len(mark) :].decode()
    except UnicodeDecodeError as error:
        raise NoteChangedError(f"{proposal.path} is not UTF-8; change it in your editor") from error
    raw = mark + edit(proposal, text).encode()
    target, action = proposal.path, EDIT
    if proposal.kind == DUPLICATE:
        if session.view.sources(proposal.path):
            raise NoteChangedError(f"{proposal.path} is linked to by now")
        wanted = f"{session.desk.folder}/{ARCHIVED_NOTES}/{proposal.path}"
        target, action = free_path(wanted, proposal.id, session.view.exists), TO_ARCHIVE
    return Change(
        action, proposal.id, proposal.path, target, {}, None, digest(data), proposal.said, raw
    )
