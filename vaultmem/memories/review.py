"""Proposals for a person's own notes, and those of a model for memories: shown with a diff, accepted or rejected one by
one."""

from __future__ import annotations

import contextlib

from vaultmem.core.changes import ARCHIVE, EDIT, Change, Plan
from vaultmem.core.places import ARCHIVED_NOTES
from vaultmem.core.titles import free_path
from vaultmem.errors import NoteChangedError, NoteNotFoundError, UsageError, VaultmemError
from vaultmem.memories import advising, proposing
from vaultmem.memories.advising import Advised
from vaultmem.memories.asked import Asked
from vaultmem.memories.desk import Session
from vaultmem.memories.reports import Report, header, planned, unified
from vaultmem.plans.proposals import DUPLICATE, Proposal, edit
from vaultmem.store import reviews
from vaultmem.store.reviews import ACCEPTED, OPEN, REJECTED
from vaultmem.store.vault import digest

_UTF8_BOM = b"\xef\xbb\xbf"


def propose(session: Session) -> int:
    """Look what there is to propose, and keep it for review; how many are open now."""
    found = [each for each in proposing.collect(session) if _shown(session, each)]
    fields = {each.id: {**each._asdict(), "evidence": list(each.evidence)} for each in found}
    reviews.replace_open(session.desk.ledger, fields, session.now)
    advising.forget_stale(session)
    of_notes = sum(_shown(session, each) is not None for each in _open(session))
    return of_notes + len(advising.opened(session))


def _open(session: Session) -> list[Proposal]:
    kept = [
        one
        for one in reviews.kept(session.desk.ledger)
        if one.state == OPEN and not one.is_of_model
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
    for each in advising.opened(session):
        with contextlib.suppress(VaultmemError):  # a person has just deleted it
            shown.append(advising.shown(session, each))
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
    reviews.decide(session.desk.ledger, proposal.id, ACCEPTED, session.now)
    change = next((one for one in plan.changes if one.path == proposal.path), plan.changes[0])
    return {"id": proposal.id, "accepted": True, "path": change.target, "said": proposal.said}


def _plan(session: Session, proposal: Proposal | Advised) -> Plan:
    if isinstance(proposal, Advised):
        return advising.plan(session, proposal)
    return Plan("review", (_change(session, proposal),))


def reject(session: Session, asked: Asked) -> Report:
    """Never propose it again."""
    proposal = _named(session, asked)
    if not asked.flag("dry_run"):
        reviews.decide(session.desk.ledger, proposal.id, REJECTED, session.now)
    return {"id": proposal.id, "rejected": True, "path": proposal.path, "said": proposal.said}


def _named(session: Session, asked: Asked) -> Proposal | Advised:
    given = asked.needed("id")
    every: list[Proposal | Advised] = [*_open(session), *advising.opened(session)]
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
        target, action = free_path(wanted, proposal.id, session.view.exists), ARCHIVE
    return Change(
        action, proposal.id, proposal.path, target, {}, None, digest(data), proposal.said, raw
    )
